"""Backends that fail in each way, and what clients of each version see (P16, R15, U7, U9)."""

import socket
import struct
import threading
import time
import unittest

import harness


def respond(text, close=True):
    """A backend that reads one request and then sends `text`, again and again unless `close`."""

    def serve(sock, number):
        reader = harness.RequestReader(sock)
        while reader.read() is not None:
            sock.sendall(text)
            if close:
                return

    return serve


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Faults(harness.TestCase):
    def start(self, serve, **settings):
        self.origin = self.backend(serve)
        self.proxy = self.edge(
            harness.pool(self.origin.address, **settings) + harness.route())

    def status(self, http, *args, path="/"):
        status, fields, body = self.proxy.get(path, *args, http=http)
        return status, fields, body

    def last_reason(self, count):
        return self.proxy.wait_access(count)[-1]

    def test_refused_connection_is_502(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.proxy = self.edge(harness.pool(f"127.0.0.1:{port}") + harness.route())
        for http in harness.ALL_VERSIONS:
            status, fields, body = self.status(http)
            self.assertEqual(status, 502)
            self.assertIn(b"502 Bad Gateway", body)
            request_id = fields["x-request-id"][0]
            self.assertIn(request_id.encode(), body)
            record = self.proxy.wait_access(1, lambda r: r["request_id"] == request_id)[0]
            self.assertEqual(record["status"], 502)
            self.assertIn("refused", record["reason"].lower())

    def test_garbage_is_502(self):
        for name, text in {
            "no status line": b"hello there\r\n\r\n",
            "bad version": b"HTTP/9.9 200 OK\r\n\r\n",
            "bad status": b"HTTP/1.1 2x0 OK\r\n\r\n",
            "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
            "length and chunked": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                                  b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "folded field": b"HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\nContent-Length: 2\r\n\r\nok",
            "unexpected 101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "nothing": b"",
        }.items():
            with self.subTest(name):
                self.setUp()
                self.start(respond(text))
                for http in harness.ALL_VERSIONS:
                    self.assertEqual(self.status(http)[0], 502)
                self.doCleanups()

    def test_space_before_a_colon_is_taken_out(self):
        # RFC 9112 5.1: of an answer the proxy must remove it.
        self.start(respond(b"HTTP/1.1 200 OK\r\nX-Odd : 1\r\nContent-Length: 2\r\n\r\nok"))
        for http in harness.ALL_VERSIONS:
            status, fields, _ = self.status(http)
            self.assertEqual((status, fields["x-odd"]), (200, ["1"]))

    def test_large_response_head_is_502_with_a_reason(self):
        # K32: never a bare reset.
        head = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 1000)
                                                  for i in range(70))
        self.start(respond(head + b"Content-Length: 2\r\n\r\nok"))
        for n, http in enumerate(harness.ALL_VERSIONS, 1):
            self.assertEqual(self.status(http)[0], 502)
            self.assertTrue(self.last_reason(n)["reason"])

    def test_informational_answers_then_a_body(self):
        self.start(respond(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n" * 2 + OK))
        for http in harness.ALL_VERSIONS:
            done = self.proxy.curl("/", "-D", "-", http=http)
            self.assertEqual(done.stdout.count(b" 103"), 2, done.stdout)
            self.assertTrue(done.stdout.endswith(b"ok"))

    def test_death_in_the_middle_of_a_body_is_visible(self):
        for name, text in {
            "length": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
            "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "inside a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello",
        }.items():
            with self.subTest(name):
                self.setUp()
                self.start(respond(text))
                for n, http in enumerate(harness.ALL_VERSIONS, 1):
                    done = self.proxy.curl("/", http=http)
                    self.assertNotEqual(done.returncode, 0, f"a short success: {done.stdout}")
                    self.assertTrue(self.last_reason(n)["reason"])
                self.doCleanups()

    def test_close_delimited_body_is_whole(self):
        self.start(respond(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"z" * 100_000))
        for http in harness.ALL_VERSIONS:
            status, _, body = self.status(http)
            self.assertEqual((status, len(body)), (200, 100_000))

    def test_http10_backend(self):
        self.start(respond(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold but fine"))
        for http in harness.ALL_VERSIONS:
            self.assertEqual(self.status(http)[2], b"old but fine")

    def test_silent_backend_is_504(self):
        quiet = threading.Event()
        self.addCleanup(quiet.set)
        self.start(lambda sock, n: quiet.wait(harness.WAIT), response_timeout="300ms")
        for http in harness.ALL_VERSIONS:
            status, fields, body = self.status(http)
            self.assertEqual(status, 504)

    def test_stall_in_the_body_ends_the_stream(self):
        quiet = threading.Event()
        self.addCleanup(quiet.set)

        def serve(sock, number):
            harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            quiet.wait(harness.WAIT)

        self.start(serve, read_timeout="300ms")
        for http in harness.ALL_VERSIONS:
            self.assertNotEqual(self.proxy.curl("/", http=http).returncode, 0)

    def test_full_pool_is_503(self):
        hold, begun = threading.Event(), threading.Event()
        self.addCleanup(hold.set)

        def serve(sock, number):
            harness.RequestReader(sock).read()
            begun.set()
            hold.wait(harness.WAIT)
            sock.sendall(OK)

        self.start(serve, max_connections=1)
        first = threading.Thread(target=self.proxy.curl, args=("/",))
        first.start()
        self.assertTrue(begun.wait(harness.WAIT))
        for http in harness.ALL_VERSIONS:
            self.assertEqual(self.status(http)[0], 503)
        hold.set()
        first.join()

    def test_dead_pooled_connection_get_goes_again(self):
        # K51: the backend closes the idle connection just as the next request goes out.
        served = []

        def serve(sock, number):
            reader = harness.RequestReader(sock)
            request = reader.read()
            if request is None:
                return
            served.append(request[0].split(b" ")[0])
            sock.sendall(OK)
            # The next request is read from the socket's buffer, never answered.
            try:
                sock.settimeout(harness.WAIT)
                if sock.recv(1, socket.MSG_PEEK):
                    reset(sock)
            except OSError:
                pass

        self.start(serve)
        for http in harness.ALL_VERSIONS:
            for _ in range(6):
                self.assertEqual(self.status(http)[0], 200)

    def test_unanswered_post_is_not_sent_twice(self):
        # K51: a POST that was read may have been processed.
        seen = []

        def serve(sock, number):
            reader = harness.RequestReader(sock)
            while (request := reader.read()) is not None:
                seen.append(request[0].split(b" ")[0])
                if request[0].startswith(b"POST"):
                    reset(sock)
                    return
                sock.sendall(OK)

        self.start(serve)
        for http in harness.ALL_VERSIONS:
            self.assertEqual(self.status(http)[0], 200)  # a kept connection now
            before = seen.count(b"POST")
            self.assertEqual(self.status(http, "-X", "POST")[0], 502)
            self.assertEqual(seen.count(b"POST"), before + 1)

    def test_killed_server_of_a_pool_costs_no_get(self):
        first, second = self.echo(), self.echo()
        self.proxy = self.edge(harness.pool(first.address, second.address) + harness.route())
        for http in harness.ALL_VERSIONS:
            self.assertEqual(self.status(http)[0], 200)
        first.stop()
        for http in harness.ALL_VERSIONS:
            for _ in range(10):
                self.assertEqual(self.status(http)[0], 200)

    def test_bytes_after_an_answer_poison_nothing(self):
        # What comes unasked on a kept connection must not become the next client's answer.
        def serve(sock, number):
            reader = harness.RequestReader(sock)
            while reader.read() is not None:
                sock.sendall(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")

        self.start(serve)
        for http in harness.ALL_VERSIONS:
            for _ in range(5):
                status, _, body = self.status(http)
                self.assertEqual((status, body), (200, b"ok"))

    def test_early_answer_to_an_upload(self):
        def serve(sock, number):
            data = b""
            while b"\r\n\r\n" not in data:
                data += sock.recv(4096)
            sock.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!")
            while sock.recv(65536):
                pass

        self.start(serve)
        big = self.directory / "big"
        big.write_bytes(b"b" * 3_000_000)
        for http in harness.ALL_VERSIONS:
            done = self.proxy.curl("/", "-T", big, "-H", "Expect:", "-w", "%{http_code}", http=http)
            self.assertIn(b"403", done.stdout, done.stderr)

    def test_trailers_pass(self):
        self.start(respond(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                           b"2\r\nok\r\n0\r\nX-Sum: 42\r\n\r\n"))
        for http in harness.ALL_VERSIONS:
            done = self.proxy.curl("/", "-D", "-", "-H", "TE: trailers", http=http)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"x-sum: 42", done.stdout.lower())

    def test_trailers_that_must_not_cross_do_not(self):
        # RFC 9110 6.5.1, K50: framing, credentials, and what only a proxy may say.
        self.start(respond(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
                           b"Content-Length: 9\r\nSet-Cookie: a=b\r\nX-Sum: 1\r\n\r\n"))
        for http in harness.ALL_VERSIONS:
            done = self.proxy.curl("/", "-D", "-", "-H", "TE: trailers", http=http)
            head = done.stdout.lower()
            self.assertIn(b"x-sum: 1", head)
            self.assertNotIn(b"content-length: 9", head)

    def test_request_trailers(self):
        seen = []

        def serve(sock, number):
            reader = harness.RequestReader(sock)
            while reader.read() is not None:
                seen.extend(getattr(reader, "trailers", []))
                reader.trailers = []
                sock.sendall(OK)

        self.start(serve)
        with self.proxy.tls() as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n"
                         b"Trailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n"
                         b"X_Forwarded_For: 6.6.6.6\r\nX-Forwarded-For: 6.6.6.6\r\n"
                         b"Authorization: x\r\n\r\n")
            self.assertEqual(harness.read_response(sock)[0], 200)
        self.assertEqual([t.lower() for t in seen], [b"x-sum: 1"])

    def test_answers_without_body(self):
        for status in (204, 304):
            with self.subTest(status):
                self.setUp()
                self.start(respond(b"HTTP/1.1 %d X\r\nETag: \"a\"\r\n\r\n" % status, close=False))
                for http in harness.ALL_VERSIONS:
                    got, fields, body = self.status(http)
                    self.assertEqual((got, body), (status, b""))
                    self.assertNotIn("transfer-encoding", fields)
                self.doCleanups()


if __name__ == "__main__":
    harness.main()
