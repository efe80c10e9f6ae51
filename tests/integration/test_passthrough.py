"""TLS passed on by the name in its hello, over TCP (T13, P14; K2's and K5's kind: any cut of a hello)."""

# ctest: timeout=240

import contextlib
import os
import random
import re
import shutil
import socket
import ssl
import struct
import threading

import harness

HELLO = 1


def client_hello(*args):
    """The bytes that a real client, openssl s_client, begins its connection with."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(harness.WAIT)
        port = server.getsockname()[1]
        client = harness.Process(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *args],
                                 os.devnull)
        try:
            sock, _ = server.accept()
            with sock:
                sock.settimeout(harness.WAIT)
                data = b""
                while len(data) < 5 or len(data) < 5 + struct.unpack(">H", data[3:5])[0]:
                    data += sock.recv(65536)
        finally:
            client.kill()
    assert data[0] == 22 and data[5] == HELLO
    return data


def records(message, size):
    """The handshake message in TLS records of `size` bytes."""
    cuts = [message[i : i + size] for i in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(c)) + c for c in cuts)


class Recorder(harness.Backend):
    """Keeps what each connection sends, and says how many bytes came whenever `until` did."""

    def __init__(self, until):
        self.until = until
        self.seen = []
        super().__init__(self._serve)

    def _serve(self, sock, number):
        data = b""
        while len(data) < self.until:
            more = sock.recv(65536)
            if not more:
                break
            data += more
        self.seen.append(data)
        sock.sendall(b"%d" % len(data))


class Passthrough(harness.TestCase):
    def front(self, passthroughs, pools="", **kwargs):
        """An edge with one worker, a TLS and a plain listener; it answers "front" itself."""
        self.plain = harness.free_port()
        toml = (f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{self.plain}"\ntls = false\n'
                '[[route]]\nname = "front"\nstatus = 200\nbody = "front"\n' + pools + passthroughs)
        self.proxy = self.edge(toml, **kwargs)
        return self.proxy

    def pass_to(self, address, hosts='["a.test", "*.b.test"]', pool_settings="", **settings):
        lines = "".join(f"{k} = {v}\n" for k, v in settings.items())
        addresses = address if isinstance(address, str) else '", "'.join(address)
        return self.front(
            f'[[passthrough]]\nname = "sites"\nhosts = {hosts}\npool = "behind"\n{lines}',
            f'[[pool]]\nname = "behind"\nservers = ["{addresses}"]\n{pool_settings}\n')

    def connect(self):
        sock = socket.create_connection(("127.0.0.1", self.proxy.port), timeout=harness.WAIT)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def barrier(self):
        """When this returns the one worker has seen everything that was sent to it before."""
        with socket.create_connection(("127.0.0.1", self.plain), timeout=harness.WAIT) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while sock.recv(4096):
                pass

    def in_pieces(self, wire, cuts):
        """One connection for each cut; the rest of it is sent when the first piece was read."""
        answers = []
        for begin in range(0, len(cuts), 250):
            batch = cuts[begin : begin + 250]
            with contextlib.ExitStack() as stack:
                socks = [stack.enter_context(self.connect()) for _ in batch]
                for sock, cut in zip(socks, batch):
                    sock.sendall(wire[:cut])
                self.barrier()
                for sock, cut in zip(socks, batch):
                    sock.sendall(wire[cut:])
                for sock in socks:
                    answers.append(sock.recv(65536))
        return answers

    def tls(self, name, pieces=lambda wire: [wire], alpn=("http/1.1",), barrier=False):
        """A whole handshake and one request: the answer's body. `pieces` cuts the first flight."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(list(alpn))
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
        first = True
        with self.connect() as sock:
            def flush():
                nonlocal first
                data = outgoing.read()
                for piece in pieces(data) if first and data else [data]:
                    sock.sendall(piece)
                    if first and barrier:
                        self.barrier()
                first = False

            def step(call):
                while True:
                    try:
                        return call()
                    except ssl.SSLWantReadError:
                        flush()
                        data = sock.recv(65536)
                        if not data:
                            raise AssertionError("the connection ended")
                        incoming.write(data)

            step(tls.do_handshake)
            tls.write(b"GET /who HTTP/1.1\r\nHost: " + (name or "x").encode() +
                      b"\r\nConnection: close\r\n\r\n")
            flush()
            answer = b""
            while b"\r\n\r\n" not in answer or len(answer.partition(b"\r\n\r\n")[2]) < 1:
                answer += step(lambda: tls.read(65536))
            return answer.partition(b"\r\n\r\n")[2].decode()

    def tls_backend(self, text="backend", proxy=False):
        certificate = harness.Certificate(self.directory, ("a.test",), stem="behind")
        listen = "ssl" + (" proxy_protocol" if proxy else "")
        body = "$proxy_protocol_addr $proxy_protocol_port $proxy_protocol_server_port" if proxy \
            else text
        return self.nginx(listen=listen, server=f'ssl_certificate {certificate.chain}; '
                          f'ssl_certificate_key {certificate.key}; '
                          f'location /who {{ return 200 "{body}"; }}')

    # ---- every cut of a hello ----------------------------------------------------------------

    def test_every_two_way_split(self):
        hello = client_hello("-servername", "a.test")
        self.assertGreater(len(hello), 1200)  # with ML-KEM in it
        backend = Recorder(len(hello))
        self.addCleanup(backend.stop)
        self.pass_to(backend.address)
        cuts = list(range(1, len(hello)))
        for answer in self.in_pieces(hello, cuts):
            self.assertEqual(answer, b"%d" % len(hello))
        self.assertEqual(backend.seen, [hello] * len(cuts))
        harness.wait_for(lambda: self.proxy.metrics()[
            'pqedge_passthrough_connections{passthrough="sites",transport="tcp"}'] == 0, "the ends")

    def test_every_two_way_split_that_is_terminated(self):
        self.pass_to("127.0.0.1:1")
        # The same name length; a classical hello, since the server's answer to ML-KEM costs more.
        hello = client_hello("-servername", "c.test", "-groups", "X25519")
        for answer in self.in_pieces(hello, list(range(1, len(hello)))):
            self.assertEqual((answer[0], answer[5]), (22, 2), answer[:8])  # a ServerHello
        hello = client_hello("-servername", "c.test")
        for answer in self.in_pieces(hello, list(range(1, len(hello), 23))):
            self.assertEqual((answer[0], answer[5]), (22, 2), answer[:8])

    def test_single_bytes_and_many_records(self):
        # K2, K5: whole handshakes, of names that are passed on and of ours.
        backend = self.tls_backend()
        self.pass_to(backend.address)
        one_by_one = lambda data: [data[i : i + 1] for i in range(len(data))]
        ways = {"bytes": one_by_one}
        for size in (1, 2, 37, 700, 1200):
            ways[f"records of {size}"] = lambda d, n=size: [records(d[5:], n)]
        ways["records of 50 by single bytes"] = lambda d: one_by_one(records(d[5:], 50))
        for way, pieces in ways.items():
            with self.subTest(way):
                self.assertEqual(self.tls("a.test", pieces), "backend")
                self.assertEqual(self.tls("c.test", pieces), "front")
        few = lambda d: [d[:1], d[1:4], d[4:6], d[6:100], d[100:]]
        self.assertEqual(self.tls("a.test", few, barrier=True), "backend")
        self.assertEqual(self.tls("c.test", few, barrier=True), "front")

    # ---- who answers -------------------------------------------------------------------------

    def test_names(self):
        backend = self.tls_backend()
        self.pass_to(backend.address)
        for name, who in (("a.test", "backend"), ("A.Test", "backend"), ("x.b.test", "backend"),
                          ("y.x.b.test", "backend"), ("b.test", "front"), ("c.test", "front"),
                          (None, "front")):
            with self.subTest(name):
                self.assertEqual(self.tls(name), who)
        # A dot at the end, as openssl sends it and Python does not.
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{self.proxy.port}",
                           "-servername", "a.test.", input=b"")
        self.assertIn(b"CN=a.test", done.stdout.replace(b" ", b""))
        self.assertIn(b"CN=localhost",
                      harness.run("openssl", "s_client", "-connect",
                                  f"127.0.0.1:{self.proxy.port}", "-servername", "c.test",
                                  input=b"").stdout.replace(b" ", b""))

    def test_http_on_the_tls_port_still_gets_its_answer(self):
        self.pass_to("127.0.0.1:1")
        with self.connect() as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assertIn(b"400 Bad Request", sock.recv(4096))

    def test_hellos_that_are_refused(self):
        backend = Recorder(1)
        self.addCleanup(backend.stop)
        self.pass_to(backend.address)
        hello = client_hello("-servername", "a.test")[5:]
        twice = bytearray(hello)
        at = twice.index(b"a.test")
        twice[at : at + 6] = b"a\0test"  # malformed
        cases = {
            "longer than 16 KiB": records(b"\1\0\x80\0" + bytes(20_000), 16384),
            "an empty record": records(hello[:100], 100) + b"\x16\x03\x01\0\0" + records(hello[100:], 9999),
            "data between": records(hello[:100], 100) + b"\x17\x03\x01\0\x01x",
            "a name that is none": records(bytes(twice), 9999),
        }
        for what, wire in cases.items():
            with self.subTest(what), self.connect() as sock:
                sock.sendall(wire)
                alert = sock.recv(100)
                self.assertEqual((alert[0], alert[5]), (21, 2), alert)
                self.assertEqual(sock.recv(100), b"")
        self.assertEqual(backend.connections, 0)
        self.assertEqual(self.proxy.metric("pqedge_passthrough_hellos_refused_total"), 3)

    # ---- bytes, both ways ----------------------------------------------------------------------

    def test_half_close_and_the_line_in_the_log(self):
        hello = client_hello("-servername", "a.test")
        blob = os.urandom(3_000_000)

        def serve(sock, number):
            data = b""
            while more := sock.recv(65536):
                data += more
            sock.sendall(data[::-1])  # after the client's end

        backend = self.backend(serve)
        self.pass_to(backend.address)
        with self.connect() as sock:
            reader = threading.Thread(target=lambda: (sock.sendall(hello + blob),
                                                      sock.shutdown(socket.SHUT_WR)))
            reader.start()
            data = b""
            while more := sock.recv(65536):
                data += more
            reader.join()
        self.assertEqual(data, (hello + blob)[::-1])
        line = self.proxy.wait_access(where=lambda r: r["http_version"] == "passthrough/tcp")[0]
        self.assertEqual(
            (line["sni"], line["route"], line["pool"], line["backend"], line["bytes_in"],
             line["bytes_out"], line["status"], line["reason"], line["listener"]),
            ("a.test", "sites", "behind", backend.address, len(data), len(data), 0, "", "https"))
        self.assertEqual(line["client"], "127.0.0.1")

    def test_a_slow_server_slows_the_client(self):
        hello = client_hello("-servername", "a.test")
        go = threading.Event()
        total = 64 << 20
        counted = []

        def serve(sock, number):
            go.wait(harness.WAIT)
            n = 0
            while more := sock.recv(1 << 20):
                n += len(more)
            counted.append(n)

        backend = self.backend(serve)
        self.addCleanup(go.set)
        self.pass_to(backend.address)
        sent = 0
        with self.connect() as sock:
            sock.sendall(hello)
            before = self.proxy.memory_kib()
            sock.setblocking(False)
            piece = bytes(1 << 20)
            stalled = 0
            while sent < total and stalled < 20:
                try:
                    sent += sock.send(piece[: min(len(piece), total - sent)])
                    stalled = 0
                except BlockingIOError:
                    self.barrier()  # the worker had its chance
                    stalled += 1
            self.assertLess(sent, total)  # it was held
            self.assertLess(self.proxy.memory_kib() - before, 8192)
            go.set()
            sock.settimeout(harness.WAIT)
            sock.sendall(bytes(total - sent))
            sock.shutdown(socket.SHUT_WR)
            self.assertEqual(sock.recv(1), b"")
        self.assertEqual(counted, [len(hello) + total])

    def test_idle_connections_end(self):
        backend = self.backend(lambda sock, number: sock.recv(1 << 20) and sock.recv(1))
        self.pass_to(backend.address, idle_timeout='"1s"')
        with self.connect() as sock:
            sock.sendall(client_hello("-servername", "a.test"))
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(sock.recv(1), b"")
        self.proxy.wait_access(where=lambda r: r["reason"] == "idle timeout")

    def test_the_next_server_is_tried(self):
        backend = self.tls_backend()
        dead = harness.free_port()
        self.pass_to([f"127.0.0.1:{dead}", backend.address])
        for _ in range(4):
            self.assertEqual(self.tls("a.test"), "backend")

    def test_no_server_is_there(self):
        self.pass_to(f"127.0.0.1:{harness.free_port()}")
        with self.connect() as sock:
            sock.sendall(client_hello("-servername", "a.test"))
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(sock.recv(1), b"")
        line = self.proxy.wait_access(where=lambda r: r["http_version"] == "passthrough/tcp")[0]
        self.assertIn("cannot connect", line["reason"])
        self.assertEqual(self.proxy.metric("pqedge_passthrough_failed_total"), 1)

    # ---- the PROXY header (P14) ----------------------------------------------------------------

    def test_proxy_headers_to_nginx(self):
        backend = self.tls_backend(proxy=True)
        for version in ("v1", "v2"):
            with self.subTest(version):
                front = self.pass_to(backend.address, protocols='["tls"]',
                                     pool_settings=f'send_proxy = "{version}"')
                address, port, server_port = self.tls("a.test").split()
                self.assertEqual((address, server_port), ("127.0.0.1", str(front.port)))
                front.wait_access(where=lambda r: r["client_port"] == int(port))
                front.stop()

    def test_proxy_header_to_haproxy(self):
        haproxy = shutil.which("haproxy") or "/usr/sbin/haproxy"
        certificate = harness.Certificate(self.directory, ("a.test",), stem="behind")
        both = self.directory / "both.pem"
        both.write_bytes(certificate.chain.read_bytes() + certificate.key.read_bytes())
        port = harness.free_port()
        conf = self.directory / "haproxy.cfg"
        conf.write_text(
            "defaults\n mode http\n timeout client 20s\n timeout connect 5s\n timeout server 20s\n"
            f"frontend f\n bind 127.0.0.1:{port} ssl crt {both} accept-proxy\n"
            " http-request return status 200 content-type text/plain lf-string "
            "\"%[src] %[src_port] %[dst_port] %[fc_pp_authority]\"\n")
        server = harness.Process([haproxy, "-f", conf, "-db"], self.directory / "haproxy.log")
        self.addCleanup(server.kill)

        def listening():
            self.assertTrue(server.alive(), server.log())
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return True

        harness.wait_for(listening, "haproxy")
        front = self.pass_to(f"127.0.0.1:{port}", pool_settings='send_proxy = "v2"')
        address, client_port, own, authority = self.tls("a.test").split()
        self.assertEqual((address, own, authority), ("127.0.0.1", str(front.port), "a.test"))

    # ---- reload and shutdown -------------------------------------------------------------------

    def test_a_reload_keeps_what_runs(self):
        hello = client_hello("-servername", "a.test")
        echo = lambda sock, number: [sock.sendall(d) for d in iter(lambda: sock.recv(65536), b"")]
        first, second = self.backend(echo), self.backend(echo)
        front = self.pass_to(first.address)

        def say(sock, data):
            sock.sendall(data)
            got = b""
            while len(got) < len(data):
                got += sock.recv(65536)
            self.assertEqual(got, data)

        with self.connect() as old:
            say(old, hello)
            text = front.config_path.read_text().replace(first.address, second.address)
            front.config_path.write_text(text)
            status, body = front.reload()
            self.assertEqual(status, 200, body)
            with self.connect() as new:
                say(new, hello)
            say(old, b"still here")
            self.assertEqual((first.connections, second.connections), (1, 1))
            # What is passed on no more is ours from the next connection on.
            front.config_path.write_text(text.replace('"a.test", ', ""))
            self.assertEqual(front.reload()[0], 200)
            self.assertEqual(self.tls("a.test"), "front")
            say(old, b"and still")

    def test_a_drain_waits_for_what_is_passed_on(self):
        hello = client_hello("-servername", "a.test")
        echo = lambda sock, number: [sock.sendall(d) for d in iter(lambda: sock.recv(65536), b"")]
        backend = self.backend(echo)
        front = self.pass_to(backend.address)
        with self.connect() as sock:
            sock.sendall(hello)
            self.assertTrue(sock.recv(65536))
            front.control_request("/drain")
            harness.wait_for(lambda: "draining" in front.admin("/readyz")[1] or
                             front.admin("/readyz")[0] == 503, "the drain")
            sock.sendall(b"more")
            while b"more" not in sock.recv(65536):
                pass
        harness.wait_for(lambda: not front.alive(), "the end of the process")

    # ---- the configuration ---------------------------------------------------------------------

    def test_what_is_wrong_is_said(self):
        base = ('version = 1\n[[listener]]\nname = "s"\naddress = "127.0.0.1:1443"\n'
                f'[[certificate]]\nchain = "c.pem"\nkey = "c.key"\n'
                '[[pool]]\nname = "p"\nservers = ["127.0.0.1:1"]\n[[route]]\npool = "p"\n')
        harness.Certificate(self.directory, stem="c")
        cases = {
            '[[passthrough]]\nhosts = ["a.test"]\n': "passthrough[0].pool: is missing",
            '[[passthrough]]\npool = "p"\n': "passthrough[0].hosts: is missing",
            '[[passthrough]]\nhosts = ["a.test"]\npool = "q"\n': 'there is no pool "q"',
            '[[passthrough]]\nhosts = ["a.test"]\npool = "p"\nlistener = "s"\n':
                'did you mean "listeners"',
            '[[passthrough]]\nhosts = ["a.test"]\npool = "p"\nprotocols = []\n':
                "passthrough[0].protocols: is empty",
            '[[passthrough]]\nhosts = ["a.test"]\npool = "p"\n[[passthrough.server_ids]]\n'
            'server = "127.0.0.1:1"\nprefix = "xy"\n': '"xy" is no row of bytes',
        }
        for number, (text, wanted) in enumerate(cases.items()):
            with self.subTest(wanted):
                path = self.directory / f"{number}.toml"
                path.write_text(base + text)
                done = harness.run(harness.PQEDGE, "check", path)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(wanted, (done.stdout + done.stderr).decode())

    def test_the_recipe_is_valid(self):
        text = (harness.SOURCE / "docs/recipes/passthrough.md").read_text()
        blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
        self.assertEqual(len(blocks), 2)
        harness.Certificate(self.directory, stem="c")
        head = ('version = 1\n[[certificate]]\nchain = "c.pem"\nkey = "c.key"\n'
                '[[route]]\nstatus = 404\n')
        shared = blocks[0].partition("[[passthrough]]")[0]
        for number, block in enumerate((blocks[0], shared + blocks[1])):
            path = self.directory / f"{number}.toml"
            path.write_text(head + block)
            done = harness.run(harness.PQEDGE, "check", path)
            self.assertEqual(done.returncode, 0, (done.stdout + done.stderr).decode())

    def test_random_cuts_of_many_hellos(self):
        # Names, cuts and records at random; one seed, so that a failure comes again.
        dice = random.Random(26)
        backend = self.tls_backend()
        self.pass_to(backend.address)

        def cut(data):
            wire = records(data[5:], dice.choice((3, 64, 500, 16000)))
            pieces = []
            while wire:
                n = dice.randrange(1, len(wire) + 1)
                pieces.append(wire[:n])
                wire = wire[n:]
            return pieces

        for _ in range(40):
            name, who = dice.choice((("a.test", "backend"), ("z.b.test", "backend"),
                                     ("c.test", "front")))
            self.assertEqual(self.tls(name, cut), who)


if __name__ == "__main__":
    harness.main()
