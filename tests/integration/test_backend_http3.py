"""HTTP/3 toward backends (U1): nginx and aioquic are the servers, curl the client of each version."""
# ctest: timeout=240

import os
import socket
import threading

from aioquic.buffer import encode_uint_var

import batch
import h3_backend
import harness
import pki


class Http3(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.ca = pki.Authority(self.directory, name="Backend CA")
        self.certificate = self.ca.issue("backend", subject="/CN=app", sans="DNS:app.internal")

    def h3(self, *args, **kwargs):
        backend = h3_backend.H3Backend(self.certificate, *args, **kwargs)
        self.addCleanup(backend.stop)
        return backend

    def pool(self, *addresses, **settings):
        return harness.pool(*addresses, **{
            "protocol": "h3", "tls": True, "tls_ca": str(self.ca.certificate),
            "tls_server_name": "app.internal", "tls_key_shares": ["X25519MLKEM768", "X25519"],
            **settings})

    def asks(self, edge, *requests, times=1):
        """Each of these (path, curl arguments...) from each version; (version, path, answer) each."""
        all_of = [(version, *request) for version in harness.ALL_VERSIONS for request in requests * times]
        return [(r[0], r[1], answer) for r, answer in zip(all_of, batch.ask(edge, all_of), strict=True)]

    def quic_nginx(self, name="n", server=""):
        directory = self.directory / name
        directory.mkdir()
        port = harness.free_port()
        nginx = harness.Nginx(directory, http=f"""
            server {{
              listen 127.0.0.1:{port} quic; root {directory}/www;
              ssl_certificate {self.certificate.chain}; ssl_certificate_key {self.certificate.key};
              ssl_protocols TLSv1.3; ssl_ecdh_curve X25519MLKEM768:X25519;
              location /facts {{ return 200 "$server_protocol $ssl_curve $ssl_server_name"; }}
              {server}
            }}""")
        self.addCleanup(nginx.kill)
        nginx.quic = f"127.0.0.1:{port}"
        return nginx


class Versions(Http3):
    def test_nginx_with_ml_kem(self):
        nginx = self.quic_nginx()
        blob = os.urandom(4_000_000)
        (nginx.root / "file").write_bytes(blob)
        edge = self.edge(self.pool(nginx.quic) + harness.route())
        answers = self.asks(edge, ("/facts",), ("/file",), ("/file", "-I"), ("/none",))
        for n, (version, path, answer) in enumerate(answers):
            with self.subTest(version=version, path=path):
                self.assertEqual((answer.status, answer.failed), (404 if path == "/none" else 200, 0))
                if path == "/facts":
                    protocol, group, name = answer.body.split()
                    self.assertEqual((protocol, name), (b"HTTP/3.0", b"app.internal"))
                    self.assertIn(group, (b"X25519MLKEM768", b"0x11ec"))  # which OpenSSL 3.5 does not name
                elif path == "/file":
                    self.assertEqual(answer.fields["content-length"], ["4000000"])
                    self.assertTrue(answer.body == blob or n % 4 == 2)
        record = edge.wait_access(12)[0]
        self.assertEqual((record["backend_tls_version"], record["backend_group"]),
                         ("TLSv1.3", "X25519MLKEM768"))
        self.assertEqual(edge.metric("pqedge_backend_tls_handshakes_total"), 1)

    def test_aioquic_takes_what_each_client_sends(self):
        origin = self.h3(h3_backend.echo)
        edge = self.edge(self.pool(origin.address) + harness.route())
        upload = self.directory / "upload"
        upload.write_bytes(os.urandom(700_000))
        for version, path, answer in self.asks(edge, ("/a?b", "-H", "X-One: 1"),
                                               ("/up", "--data-binary", f"@{upload}")):
            body = answer.body
            if path == "/up":
                self.assertIn(b"\ncontent-length: 700000\n", body)
                self.assertIn(b"\nbody: 700000\n", body)
                continue
            self.assertEqual((answer.status, answer.fields["x-from"]), (200, ["h3"]))
            self.assertTrue(body.startswith(b"GET /a?b\n"), body)
            self.assertIn(b"\nx-one: 1\n", body)
            self.assertIn(b"\n:scheme: https\n", body)
            self.assertIn(f"\n:authority: {batch.VERSIONS[version][1]}:{edge.port}\n".encode(), body)
            for gone in (b"\nhost:", b"\nconnection:", b"\ntransfer-encoding:"):
                self.assertNotIn(gone, body)
        body = edge.get("/up", "--data-binary", f"@{upload}", "-H", "Transfer-Encoding: chunked",
                        http="1.1")[2]
        self.assertNotIn(b"\ncontent-length:", body)
        self.assertIn(b"\nbody: 700000\n", body)
        self.assertEqual(origin.connections, 1)

    def test_what_answers_there_are(self):
        def respond(request):
            if request.path == "/hints":
                request.inform(103, [("link", "</a>; rel=preload")])
                request.answer(body=b"hinted")
            elif request.path == "/empty":
                request.answer(204)
            elif request.path == "/trailers":
                request.answer(body=b"summed", trailers=[("x-sum", "abc")])
            elif request.path == "/zero":
                request.answer(fields=[("content-length", "0")])
            elif request.path == "/head":
                request.answer(fields=[("content-length", "77")])
            else:
                request.begin(200)
                for _ in range(50):
                    request.send(b"0123456789" * 1000)
                request.send(b"", end=True)

        edge = self.edge(self.pool(self.h3(respond).address) + harness.route())
        expected = {"/hints": (200, b"hinted"), "/empty": (204, b""), "/zero": (200, b""),
                    "/trailers": (200, b"summed"), "/long": (200, b"0123456789" * 50_000)}
        for version, path, answer in self.asks(edge, *((path,) for path in expected), ("/head", "-I")):
            with self.subTest(version=version, path=path):
                self.assertEqual(answer.failed, 0)
                if path == "/head":
                    self.assertEqual((answer.status, answer.fields["content-length"]), (200, ["77"]))
                    continue
                self.assertEqual((answer.status, answer.body), expected[path])
                if path == "/hints":
                    hint = answer.head.decode().lower().split("\r\n\r\n")[0]
                    self.assertIn(" 103", hint.split("\r\n")[0])
                    self.assertIn("link: </a>; rel=preload", hint)
        with edge.tls(("http/1.1",)) as sock:
            sock.sendall(b"GET /trailers HTTP/1.1\r\nHost: localhost\r\nTE: trailers\r\n\r\n")
            text = b""
            while not text.endswith(b"0\r\nx-sum: abc\r\n\r\n"):
                more = sock.recv(65536)
                self.assertTrue(more, text)
                text += more

    def test_the_recipe(self):
        nginx = self.quic_nginx()
        toml = harness.recipe("http3-to-backends")
        for old, new in (("10.0.0.5:8443", nginx.quic), ("internal-ca.pem", str(self.ca.certificate)),
                         (', "10.0.0.6:8443"', "")):
            self.assertIn(old, toml)
            toml = toml.replace(old, new)
        edge = self.edge(toml + harness.route())
        for _, _, answer in self.asks(edge, ("/facts",)):
            self.assertTrue(answer.body.startswith(b"HTTP/3.0 "))


class Multiplexing(Http3):
    def test_many_at_a_time_on_one_connection(self):
        held = []

        def respond(request):  # all of 30 are there before the first is answered
            held.append(request)
            if len(held) == 30:
                for r in reversed(held):
                    r.answer(body=r.path.encode())

        origin = self.h3(respond)
        edge = self.edge(self.pool(origin.address) + harness.route())
        done = edge.curl("/[1-30]", "-Z", "--parallel-immediate", "--parallel-max", "30",
                         "-w", " %{http_code}\n", http="2")
        self.assertEqual(done.stdout.count(b" 200"), 30, done.stdout + done.stderr)
        self.assertEqual(origin.connections, 1)

    def test_no_more_than_the_server_allows(self):
        running, most = [0], [0]

        def head(request):
            running[0] += 1
            most[0] = max(most[0], running[0])

        def respond(request):
            def finish():
                running[0] -= 1
                request.answer(body=b"x" * 10_000)

            request.peer.backend.loop.call_later(0.02, finish)

        origin = self.h3(respond, head)
        edge = self.edge(self.pool(origin.address, max_streams=4) + harness.route())
        done = edge.curl("/[1-40]", "-Z", "--parallel-immediate", "--parallel-max", "20", "-o",
                         "/dev/null", "-w", "%{http_code}\n", http="3")
        self.assertEqual(done.stdout.split(), [b"200"] * 40, done.stderr)
        self.assertLessEqual(most[0], 4 * origin.connections)

    def test_a_client_that_reads_slowly_holds_up_itself_alone(self):
        def respond(request):
            request.answer(body=b"x" * (8_000_000 if request.path == "/large" else 100))

        origin = self.h3(respond)
        edge = self.edge(self.pool(origin.address) + harness.route(), workers=1)
        with edge.tls(("http/1.1",)) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            slow.recv(100)
            before = edge.memory_kib()
            for _, _, answer in self.asks(edge, ("/small",), times=2):
                self.assertEqual(len(answer.body), 100)
            self.assertLess(edge.memory_kib() - before, 5_000)
        self.assertEqual(origin.connections, 1)
        harness.wait_for(lambda: origin.resets, "the stream to be given up")
        self.assertEqual(edge.get("/small")[0], 200)


class Faults(Http3):
    def test_nothing_listens(self):
        port = harness.free_port()
        edge = self.edge(self.pool(f"127.0.0.1:{port}", retries=0) + harness.route())
        self.assertEqual([a.status for _, _, a in self.asks(edge, ("/",))], [502] * 3)
        self.assertIn("refused", edge.wait_access(3)[0]["reason"].lower())

    def test_a_silent_server(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            edge = self.edge(self.pool(f"127.0.0.1:{silent.getsockname()[1]}", retries=0,
                                       connect_timeout="200ms") + harness.route())
            self.assertEqual(edge.get("/")[0], 504)
            # The hello has a share of ML-KEM: it takes two datagrams.
            self.assertGreaterEqual(len(silent.recv(2000)), 1200)
            self.assertGreaterEqual(len(silent.recv(2000)), 1200)

    def test_certificates(self):
        origin = self.h3(h3_backend.echo)
        for settings, reason in (({"tls_server_name": "other.internal"}, "not for the name"),
                                 ({"tls_ca": None}, "not trusted")):
            settings = {**settings}
            toml = self.pool(origin.address, retries=0, **settings)
            if settings.get("tls_ca", "") is None:
                toml = "".join(l for l in toml.splitlines(True) if not l.startswith("tls_ca"))
            edge = self.edge(toml + harness.route())
            self.assertEqual(edge.get("/")[0], 502)
            edge.wait_access(1, lambda r, wanted=reason: wanted in r["reason"])
            self.assertEqual(edge.metric("pqedge_backend_tls_failures_total"), 1)
            edge.stop()
        self.assertEqual(origin.requests, [])

    def test_what_was_not_processed_goes_elsewhere(self):
        refused = []

        def refuse(request):
            refused.append(request)
            request.reset(h3_backend.REQUEST_REJECTED)

        bad, good = self.h3(None, refuse), self.h3(h3_backend.echo)
        edge = self.edge(self.pool(bad.address, good.address, balance="round_robin")
                         + harness.route())
        for _, _, answer in self.asks(edge, ("/p", "-d", "abc"), times=2):  # POST too
            self.assertEqual(answer.status, 200)
            self.assertIn(b"\nbody: 3\n", answer.body)
        self.assertTrue(refused)

    def test_goaway(self):
        first = []

        def head(request):
            if not first:
                first.append(request)
                request.peer.goaway(request.id)  # not even this one

        origin = self.h3(lambda r: None if r in first else h3_backend.echo(r), head)
        edge = self.edge(self.pool(origin.address) + harness.route())
        for _, _, answer in self.asks(edge, ("/p", "-d", "abc")):
            self.assertEqual((answer.status, b"\nbody: 3\n" in answer.body), (200, True))
        self.assertEqual(origin.connections, 2)
        harness.wait_for(lambda: origin.ended, "the first connection to end")

    def test_broken_answers(self):
        def respond(request):
            kind = request.path
            if kind == "/reset":
                request.reset(h3_backend.INTERNAL_ERROR)
            elif kind == "/short":
                request.begin(fields=[("content-length", "10")])
                request.send(b"12345", end=True)
            elif kind == "/long":
                request.begin(fields=[("content-length", "3")])
                request.send(b"12345", end=True)
            elif kind == "/cut":
                request.begin()
                request.send(b"12345")
                request.peer.backend.loop.call_later(0.1, request.reset, h3_backend.INTERNAL_ERROR)
            elif kind == "/bytes":  # DATA first
                request.raw(encode_uint_var(0) + encode_uint_var(3) + b"abc", end=True)
            elif kind == "/none":
                request.raw(b"", end=True)
            else:
                request.answer(body=b"fine")

        origin = self.h3(respond)
        edge = self.edge(self.pool(origin.address, retries=0) + harness.route())
        kinds = ("/reset", "/none", "/bytes", "/short", "/long", "/cut")
        for version, path, answer in self.asks(edge, *(r for kind in kinds for r in ((kind,), ("/",)))):
            with self.subTest(version=version, path=path):
                if path == "/":  # after each of them
                    self.assertEqual((answer.failed, answer.body), (0, b"fine"))
                elif path in kinds[:3]:
                    self.assertEqual(answer.status, 502)
                else:  # a failure that the client sees
                    self.assertNotEqual(answer.failed, 0, answer.body)
        self.assertGreaterEqual(edge.metric("pqedge_backend_http3_bad_responses_total"), 6)

    def test_a_killed_server_costs_no_request(self):
        servers = [self.quic_nginx(f"n{i}") for i in range(3)]
        edge = self.edge(self.pool(*(s.quic for s in servers), balance="round_robin", retries=2)
                         + harness.route())
        self.assertEqual([a.status for _, _, a in self.asks(edge, ("/facts",))], [200] * 3)
        servers[0].kill()
        self.assertEqual([a.status for _, _, a in self.asks(edge, ("/facts",), times=3)], [200] * 9)

    def test_a_server_that_stops_is_noticed(self):
        origin = self.h3(h3_backend.echo)
        edge = self.edge(self.pool(origin.address) + harness.route())
        self.assertEqual(edge.get("/")[0], 200)
        port = origin.port
        origin.stop()
        again = h3_backend.H3Backend(self.certificate, h3_backend.echo, port=port)
        self.addCleanup(again.stop)
        self.assertEqual([a.status for _, _, a in self.asks(edge, ("/",))], [200] * 3)

    def test_a_client_that_leaves(self):
        seen = threading.Semaphore(0)
        origin = self.h3(None, lambda request: seen.release())
        edge = self.edge(self.pool(origin.address) + harness.route())
        done = {}
        clients = [threading.Thread(target=lambda v=v: done.update({v: edge.curl("/", "--max-time", "1", http=v)}))
                   for v in harness.ALL_VERSIONS]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        for version, curl in done.items():
            self.assertEqual(curl.returncode, 28, (version, curl.stderr))
            self.assertTrue(seen.acquire(timeout=harness.WAIT))
        harness.wait_for(lambda: len(origin.resets) == 3, "the requests to be cancelled")
        self.assertEqual({code for _, code, *_ in origin.resets}, {h3_backend.REQUEST_CANCELLED})
        self.assertEqual(origin.connections, 1)


class Configuration(Http3):
    def test_what_does_not_go_with_http3(self):
        for settings, expected in (
                ({"tls": False, "protocol": "h3"}, "is spoken over TLS"),
                ({"send_proxy": "v2"}, "has no place before HTTP/3"),
        ):
            lines = self.pool("127.0.0.1:9", **settings) + harness.route()
            self.check(lines, expected)
        self.check(self.pool("unix:/run/app.sock") + harness.route(), "is a Unix socket")

    def check(self, lines, expected):
        path = self.directory / "checked.toml"
        path.write_text('version = 1\n[[listener]]\naddress = "127.0.0.1:1"\ntls = false\n' + lines)
        done = harness.run(harness.PQEDGE, "check", path)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(expected, (done.stdout + done.stderr).decode())

    def test_a_reload_changes_the_protocol(self):
        nginx = self.quic_nginx(server="")
        origin = self.h3(h3_backend.echo)
        edge = self.edge(self.pool(nginx.quic) + harness.route())
        self.assertIn(b"HTTP/3.0", edge.get("/facts")[2])
        edge.write_config(self.pool(origin.address) + harness.route())
        self.assertEqual(edge.reload()[0], 200)
        self.assertIn(b"GET /facts", edge.get("/facts")[2])


if __name__ == "__main__":
    harness.main()
