"""HTTP/1.1 from raw sockets: one strict parse, one framing out (P1, S8; K35, K36, K40)."""

import itertools
import socket

import harness


class Strict(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.proxy = self.edge(
            harness.pool(self.origin.address) + harness.route() +
            '[limits]\nmax_body = "1MiB"\nmax_head = "16KiB"\nmax_target = "4KiB"\nmax_fields = 60\n')

    def answers(self, raw, method="GET"):
        """The statuses that come for the bytes, until the connection ends, and whether it did."""
        statuses = []
        with self.proxy.tls() as sock:
            sock.sendall(raw)
            sock.settimeout(2 * harness.SLOW)
            data = b""
            try:
                while more := sock.recv(65536):
                    data += more
                closed = True
            except TimeoutError:
                closed = False
        import re
        statuses = [int(m) for m in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]
        return statuses, closed

    def refused(self, raw, status=400, name=None):
        with self.subTest(name or raw[:60]):
            before = len(self.origin.requests)
            statuses, closed = self.answers(raw)
            self.assertEqual(statuses, [status])
            self.assertTrue(closed)
            self.assertEqual(len(self.origin.requests), before)

    def test_length_and_transfer_encoding_together(self):
        # K35: RFC 9112 6.1, 6.3. Twelve spellings, the length before and after, two lengths.
        spellings = [b"chunked", b"Chunked", b"chunked,", b",chunked", b"chunked ", b"\tchunked",
                     b"chunked, chunked", b"gzip, chunked", b"identity", b"xchunked", b"chunked;a=b",
                     b'"chunked"']
        for te, first, length in itertools.product(spellings, (True, False), (b"0", b"5")):
            lines = [b"Content-Length: " + length, b"Transfer-Encoding: " + te]
            if not first:
                lines.reverse()
            raw = b"POST / HTTP/1.1\r\nHost: a.test\r\n" + b"\r\n".join(lines)
            self.refused(raw + b"\r\n\r\n0\r\n\r\n", name=(te, first, length))

    def test_transfer_encoding_that_is_not_exactly_chunked(self):
        for te in (b"chunked,", b"chunked, chunked", b"xchunked", b"identity", b"\x0bchunked"):
            with self.subTest(te):
                statuses, closed = self.answers(
                    b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: " + te +
                    b"\r\n\r\n0\r\n\r\n")
                self.assertTrue(statuses[0] in (400, 501) and len(statuses) == 1 and closed, statuses)
        self.assertEqual(self.origin.requests, [])

    def test_lengths(self):
        for value in (b"5, 5", b"+5", b"-1", b"5 5", b"0x5", b"", b"18446744073709551616", b"5;"):
            self.refused(b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + value +
                         b"\r\n\r\nhello", name=value)
        self.refused(b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n"
                     b"Content-Length: 5\r\n\r\nhello")

    def test_chunk_framing(self):
        # K36: RFC 9112 7.1.
        for body in (b"2\nab\r\n0\r\n\r\n", b"2;\nab\r\n0\r\n\r\n", b"2;a\rb\r\nab\r\n0\r\n\r\n", b"2x\r\nab\r\n0\r\n\r\n",
                     b"+2\r\nab\r\n0\r\n\r\n", b"0x2\r\nab\r\n0\r\n\r\n",
                     b"00000000000000002\r\nab\r\n0\r\n\r\n", b"\r\nab\r\n0\r\n\r\n",
                     b"2\nab\n0\n\n", b"2\r\nabc\r\n0\r\n\r\n", b"-2\r\nab\r\n0\r\n\r\n",
                     b" 2\r\nab\r\n0\r\n\r\n"):
            with self.subTest(body):
                statuses, closed = self.answers(
                    b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
                self.assertEqual((statuses, closed), ([400], True))

    def test_chunk_extensions_are_not_forwarded(self):
        statuses, _ = self.answers(b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n"
                                   b"Connection: close\r\n\r\n2;name=value\r\nab\r\n0\r\n\r\n")
        self.assertEqual(statuses, [200])
        self.assertEqual(self.origin.requests[-1][1], b"ab")

    def test_malformed_heads(self):
        host = b"Host: a.test\r\n"
        for raw in (b"GET / HTTP/1.1\nHost: a.test\n\n",
                    b"GET / HTTP/1.1\r\n" + host + b"X: 1\r\n 2\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + host + b"X : 1\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + host + b"X: a\x00b\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + host + b"X: a\rb\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + host + b"(X): 1\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + host + b"no colon\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + host + host + b"\r\n",
                    b"GET / HTTP/1.1\r\n\r\n",
                    b"GET  / HTTP/1.1\r\n" + host + b"\r\n",
                    b"GET /a b HTTP/1.1\r\n" + host + b"\r\n",
                    b"G@T / HTTP/1.1\r\n" + host + b"\r\n",
                    b"GET nonsense HTTP/1.1\r\n" + host + b"\r\n",
                    b" GET / HTTP/1.1\r\n" + host + b"\r\n",
                    b"GET / HTTP/1.1\r\n X: 1\r\n" + host + b"\r\n",
                    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            with self.subTest(raw[:50]):
                before = len(self.origin.requests)
                statuses, closed = self.answers(raw)
                self.assertTrue(closed)
                self.assertTrue(not statuses or (len(statuses) == 1 and statuses[0] in (400, 505)),
                                statuses)
                self.assertEqual(len(self.origin.requests), before)

    def test_malformed_hosts(self):
        # RFC 9112 3.2. The framing is sound: the connection may live.
        for value in (b"a b", b"a.test, b.test", b"user@a.test", b"a.test:port", b"[::1", b"a/b"):
            with self.subTest(value):
                self.refused_open(b"GET / HTTP/1.1\r\nConnection: close\r\nHost: " + value +
                                  b"\r\n\r\n", 400)

    def test_sizes(self):
        host = b"Host: a.test\r\n"
        self.refused(b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n" + host + b"\r\n", 414, "long target")
        self.refused(b"GET / HTTP/1.1\r\n" + host + b"X: " + b"a" * 20_000 + b"\r\n\r\n", 431, "field")
        self.refused(b"GET / HTTP/1.1\r\n" + host + b"X: 1\r\n" * 100 + b"\r\n", 431, "many fields")

    def test_methods(self):
        for method, status in ((b"TRACE", 405), (b"CONNECT", 501)):
            target = b"a.test:443" if method == b"CONNECT" else b"/"
            statuses, _ = self.answers(method + b" " + target + b" HTTP/1.1\r\nHost: a.test:443\r\n"
                                       b"Connection: close\r\n\r\n")
            self.assertEqual(statuses, [status])
        statuses, _ = self.answers(b"OPTIONS * HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
        self.assertEqual(len(statuses), 1)
        self.assertIn(statuses[0], (200, 204))

    def test_absolute_form(self):
        # RFC 9112 3.2.2: its authority stands for the Host field's.
        statuses, _ = self.answers(b"GET https://b.test/x HTTP/1.1\r\nHost: a.test\r\n"
                                   b"Connection: close\r\n\r\n")
        self.assertEqual(statuses, [200])
        head = self.origin.requests[-1][0]
        self.assertTrue(head.startswith(b"GET /x HTTP/1.1\r\n"))
        self.assertIn(b"Host: b.test\r\n", head)
        # RFC 9110 7.4: another scheme than the connection's.
        self.refused_open(b"GET http://b.test/x HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n",
                          421)

    def refused_open(self, raw, status):
        before = len(self.origin.requests)
        statuses, _ = self.answers(raw)
        self.assertEqual(statuses, [status])
        self.assertEqual(len(self.origin.requests), before)

    def test_dot_segments_and_bad_escapes(self):
        # K64: whatever the spelling.
        for target in (b"/a/../b", b"/..", b"/a/%2e%2e/b", b"/a/.%2E/b", b"/a/..;x/b", b"/a/..%5cb",
                       b"/a/%252e%252e%252fb", b"/%00", b"/%", b"/%zz", b"/a/./b"):
            with self.subTest(target):
                self.refused_open(b"GET " + target + b" HTTP/1.1\r\nHost: a.test\r\n"
                                  b"Connection: close\r\n\r\n", 400)
        for target in (b"/a%2Fb", b"/a;b", b"/a/...", b"/.well-known/x", b"/a//b", b"/%7Euser"):
            with self.subTest(target):
                statuses, _ = self.answers(b"GET " + target + b" HTTP/1.1\r\nHost: a.test\r\n"
                                           b"Connection: close\r\n\r\n")
                self.assertEqual(statuses, [200])
                self.assertTrue(self.origin.requests[-1][0].startswith(b"GET " + target + b" "))

    def test_pipelining_keeps_step(self):
        # RFC 9112 9.3.2; two HEADs among them must not shift what follows.
        get = b"GET /%d HTTP/1.1\r\nHost: a.test\r\n\r\n"
        head = b"HEAD /h%d HTTP/1.1\r\nHost: a.test\r\n\r\n"
        post = b"POST /p HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello"
        with self.proxy.tls() as sock:
            sock.sendall(get % 1 + head % 1 + head % 2 + post + get % 2)
            buffered = _Buffered(sock)
            for method in ("GET", "HEAD", "HEAD", "POST", "GET"):
                self.assertEqual(buffered.response(method)[0], 200)
        lines = [r[0].split(b" HTTP")[0] for r in self.origin.requests]
        self.assertEqual(lines, [b"GET /1", b"HEAD /h1", b"HEAD /h2", b"POST /p", b"GET /2"])

    def test_expect_continue(self):
        with self.proxy.tls() as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n"
                         b"Expect: 100-continue\r\n\r\n")
            self.assertEqual(sock.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n")
            sock.sendall(b"hello")
            self.assertEqual(harness.read_response(sock)[0], 200)
        self.assertEqual(self.origin.requests[-1][1], b"hello")
        self.refused_open(b"GET / HTTP/1.1\r\nHost: a.test\r\nExpect: cake\r\nConnection: close\r\n\r\n",
                          417)

    def test_http10(self):
        with self.proxy.tls() as sock:
            sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
            status, fields, body, _ = harness.read_response(sock)
            self.assertEqual(status, 200)
            self.assertEqual(sock.recv(1), b"")
        with self.proxy.tls() as sock:
            sock.sendall(b"GET / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n")
            status, fields, _, _ = harness.read_response(sock)
            self.assertEqual((status, fields["connection"]), (200, ["keep-alive"]))
            sock.sendall(b"GET / HTTP/1.0\r\nHost: a.test\r\n\r\n")
            self.assertEqual(harness.read_response(sock)[0], 200)

    def test_half_close_is_answered(self):
        with socket.create_connection(("127.0.0.1", self.plain_port()), timeout=harness.WAIT) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            sock.shutdown(socket.SHUT_WR)
            self.assertEqual(harness.read_response(sock)[0], 200)

    def plain_port(self):
        port = harness.free_port()
        self.proxy.write_config(
            harness.pool(self.origin.address) + harness.route() +
            f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{port}"\ntls = false\n'
            'protocols = ["http/1.1"]\n')
        self.assertEqual(self.proxy.reload()[0], 200)
        return port

    def test_upload_beyond_the_limit_is_always_413(self):
        # K40: never a reset instead of the answer.
        big = self.directory / "big"
        big.write_bytes(b"b" * 30_000_000)
        for http in harness.ALL_VERSIONS:
            for extra in ((), ("-H", "Transfer-Encoding: chunked") if http == "1.1" else
                          ("-H", "Content-Length:")):
                for _ in range(7):
                    with self.subTest(http=http, extra=extra):
                        done = self.proxy.curl("/", "-T", big, "-H", "Expect:", *extra,
                                               "-o", "/dev/null", "-w", "%{http_code}", http=http)
                        self.assertEqual(done.stdout, b"413", done.stderr)

    def test_slow_head_is_408(self):
        self.proxy.write_config(harness.pool(self.origin.address) + harness.route() +
                                '[timeouts]\nheader = "1s"\nbody = "1s"\n')
        self.assertEqual(self.proxy.reload()[0], 200)
        with self.proxy.tls() as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: a")
            self.assertEqual(harness.read_response(sock)[0], 408)
        with self.proxy.tls() as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
            self.assertEqual(harness.read_response(sock)[0], 408)


class _Buffered:
    """Reads several answers from one connection."""

    def __init__(self, sock):
        self.sock = sock
        self.data = b""

    def recv(self, n):
        if self.data:
            out, self.data = self.data, b""
            return out
        return self.sock.recv(n)

    def response(self, method):
        while b"\r\n\r\n" not in self.data:
            self.data += self.sock.recv(65536)
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        status, fields = harness.parse_head(head + b"\r\n\r\n")
        if method != "HEAD":
            length = int(fields["content-length"][0])
            while len(self.data) < length:
                self.data += self.sock.recv(65536)
            self.data = self.data[length:]
        return status, fields


if __name__ == "__main__":
    harness.main()
