"""HTTP/2 toward backends (U1), the pool of connections (U7), GOAWAY (K33), connections that know
their user (K53)."""
# ctest: timeout=240

import os
import pathlib
import shutil
import signal
import socket
import threading
import time

import h2.errors
import h2.settings

import batch
import h2_backend
import harness
import pki
from revocation import recipe

H2LOAD = shutil.which("h2load")


def request_line(text):
    return text.decode().splitlines()[0]


class Http2(harness.TestCase):
    def edge(self, toml, **kwargs):
        """The one before is stopped first, also where a part of a test failed."""
        before = getattr(self, "running", None)
        if before is not None and before.alive():
            before.stop()
        self.running = super().edge(toml, **kwargs)
        return self.running

    def h2(self, *args, **kwargs):
        backend = h2_backend.H2Backend(*args, **kwargs)
        self.addCleanup(backend.stop)
        return backend

    def h2c(self, backend, **settings):
        return self.edge(harness.pool(backend.address, protocol="h2c", **settings)
                         + harness.route())

    def asks(self, edge, *requests, times=1):
        """Each of these (path, curl arguments...) from each version; (version, path, answer) each."""
        all_of = [(version, *request) for version in harness.ALL_VERSIONS for request in requests * times]
        return [(r[0], r[1], answer) for r, answer in zip(all_of, batch.ask(edge, all_of), strict=True)]

    def statuses(self, edge, *requests, times=1):
        return [answer.status for _, _, answer in self.asks(edge, *requests, times=times)]

    def h2load(self, edge, *args, requests=2000, clients=8, streams=8, path="/"):
        done = harness.run(H2LOAD, "-n", requests, "-c", clients, "-m", streams, *args,
                           edge.url(path).replace("localhost", "127.0.0.1"))
        text = done.stdout.decode()
        self.assertIn("succeeded", text, text + done.stderr.decode())
        return text

    def assert_all_2xx(self, text, requests):
        self.assertIn(f"{requests} succeeded, 0 failed, 0 errored, 0 timeout", text, text)
        self.assertIn(f"status codes: {requests} 2xx, 0 3xx, 0 4xx, 0 5xx", text, text)


class Versions(Http2):
    def test_every_client_version_to_h2c(self):
        origin = self.h2(h2_backend.echo)
        edge = self.h2c(origin)
        upload = self.directory / "upload"
        upload.write_bytes(os.urandom(600_000))
        for _, path, answer in self.asks(edge, ("/a?b", "-H", "X-One: 1"),
                                         ("/up", "--data-binary", f"@{upload}")):
            if path == "/up":
                self.assertIn(b"\nbody: 600000\n", answer.body)
            else:
                self.assertEqual((answer.status, request_line(answer.body)), (200, "GET /a?b"))
                self.assertIn(b"\nx-one: 1\n", answer.body)
        # Without a length.
        body = edge.get("/up", "--data-binary", f"@{upload}", "-H", "Transfer-Encoding: chunked",
                        http="1.1")[2]
        self.assertIn(b"\nbody: 600000\n", body)
        self.assertEqual(origin.connections, 1)
        request = origin.requests[0]
        self.assertEqual(request.head[":authority"], f"{batch.VERSIONS['1.1'][1]}:{edge.port}")
        self.assertEqual(request.head[":scheme"], "https")
        self.assertNotIn("host", request.head)
        self.assertNotIn("connection", request.head)

    def test_large_answers_and_trailers(self):
        body = os.urandom(3_000_000)

        def respond(request):
            request.answer(body=body, trailers=[("x-sum", "abc")])

        edge = self.h2c(self.h2(respond))
        for _, _, answer in self.asks(edge, ("/",)):
            self.assertTrue(answer.body == body)
        with edge.tls(("http/1.1",)) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nTE: trailers\r\n\r\n")
            text = b""
            while not text.endswith(b"abc\r\n\r\n"):
                more = sock.recv(65536)
                self.assertTrue(more)
                text = text[-64:] + more
            self.assertIn(b"\r\n0\r\nx-sum: abc\r\n\r\n", text.replace(b"X-Sum", b"x-sum"))

    def test_many_at_a_time_on_one_connection(self):
        held, lock, go = [], threading.Lock(), threading.Event()

        def respond(request):  # all of 30 are there before the first is answered
            with lock:
                held.append(request)
                if len(held) == 30:
                    for r in reversed(held):
                        r.answer(body=r.path.encode())
                    go.set()

        origin = self.h2(respond)
        edge = self.h2c(origin)
        done = edge.curl("/[1-30]", "-Z", "--parallel-immediate", "--parallel-max", "30",
                         "-w", " %{http_code}\n", http="2")
        self.assertEqual(done.stdout.count(b"200"), 30, done.stdout + done.stderr)
        self.assertEqual(origin.connections, 1)

    def test_as_many_streams_as_the_server_allows(self):
        most, running, lock = [0], [0], threading.Lock()

        def head(request):
            with lock:
                running[0] += 1
                most[0] = max(most[0], sum(1 for r in origin.requests
                                           if r.peer is request.peer and not r.trailers))

        def respond(request):
            request.trailers = {"done": "1"}
            request.answer(body=b"x")

        origin = self.h2(respond, head,
                         settings={h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 3})
        edge = self.h2c(origin)
        edge.get("/")  # its SETTINGS have come
        self.assert_all_2xx(self.h2load(edge, requests=200), 200)
        self.assertLessEqual(most[0], 3)
        self.assertEqual(origin.resets, [])

    def test_nginx_over_tls_by_alpn(self):
        ca = pki.Authority(self.directory, name="Backend CA")
        certificate = ca.issue("backend", subject="/CN=app", sans="DNS:app.internal")
        tls = {"tls": True, "tls_ca": str(ca.certificate), "tls_server_name": "app.internal"}
        server = (f"ssl_certificate {certificate.chain}; ssl_certificate_key {certificate.key};"
                  'location / { return 200 "$server_protocol"; }')
        without = harness.free_port()
        nginx = self.nginx(listen="ssl", server="http2 on;" + server, http=(
            f"server {{ listen 127.0.0.1:{without} ssl; http2 off; {server} }}"))
        cases = {"/h2": (nginx.address, "h2", b"HTTP/2.0"), "/auto": (nginx.address, "auto", b"HTTP/2.0"),
                 "/auto1": (f"127.0.0.1:{without}", "auto", b"HTTP/1.1"),
                 "/none": (f"127.0.0.1:{without}", "h2", None), "/one": (nginx.address, "http/1.1", b"HTTP/1.1")}
        edge = self.edge("".join(
            harness.pool(address, name=path[1:], protocol=protocol, **tls)
            + harness.route(path[1:], name=path[1:], path=path)
            for path, (address, protocol, _) in cases.items()))
        for version, path, answer in self.asks(edge, *((path,) for path in cases)):
            with self.subTest(version=version, path=path):
                expected = cases[path][2]
                self.assertEqual(answer.status, 200 if expected else 502)
                if expected:
                    self.assertEqual(answer.body, expected)
        for record in edge.wait_access(3, lambda r: r["status"] == 502):
            self.assertIn("no application protocol", record["reason"])

    def test_unix_sockets(self):
        path = self.directory / "app.sock"
        self.nginx(server=f'listen unix:{path}; http2 on; '
                          'location / { return 200 "$server_protocol"; }')
        edge = self.edge(harness.pool(f"unix:{path}", name="two", protocol="h2c")
                         + harness.pool(f"unix:{path}", name="one") + harness.route("one", name="one", path="/one")
                         + harness.route("two"))
        for _, asked, answer in self.asks(edge, ("/",), ("/one",)):
            self.assertEqual(answer.body, b"HTTP/1.1" if asked == "/one" else b"HTTP/2.0")

    def test_as_the_recipe_says(self):
        ca = pki.Authority(self.directory, stem="internal-ca")
        certificate = ca.issue("backend", subject="/CN=app", sans="DNS:app.internal")
        path = self.directory / "app.sock"
        nginx = self.nginx(server=(
            f"listen unix:{path}; listen 127.0.0.1:{(port := harness.free_port())} ssl; http2 on;"
            f"ssl_certificate {certificate.chain}; ssl_certificate_key {certificate.key};"
            'location / { return 200 "$server_protocol"; }'))
        for toml in recipe("http2-to-backends", {
                "10.0.0.7:8080": nginx.address, "/run/app.sock": path,
                "10.0.0.7:8443": f"127.0.0.1:{port}"}):
            edge = self.edge(toml if "[[route]]" in toml else toml + harness.route())
            for _, _, answer in self.asks(edge, ("/",), times=2):
                self.assertEqual(answer.body, b"HTTP/2.0")

    def test_http11_where_the_server_wants_it(self):
        # RFC 9113 7, HTTP_1_1_REQUIRED: the request goes again, POST too.
        def serve(sock):
            reader = harness.RequestReader(sock)
            while (request := reader.read()) is not None:
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(request[1])
                             + request[1])

        ca = pki.Authority(self.directory, name="Backend CA")
        certificate = ca.issue("backend", subject="/CN=app", sans="DNS:app.internal")
        origin = self.h2(on_head=lambda r: r.reset(h2.errors.ErrorCodes.HTTP_1_1_REQUIRED),
                         certificate=certificate, alpn=("h2", "http/1.1"), serve_http1=serve)
        edge = self.edge(harness.pool(origin.address, protocol="auto", tls=True,
                                      tls_ca=str(ca.certificate), tls_server_name="app.internal")
                         + harness.route())
        for _, _, answer in self.asks(edge, ("/", "-d", "hello")):
            self.assertEqual((answer.status, answer.body), (200, b"hello"))
        self.assertEqual(len(origin.requests), 1)


class Failures(Http2):
    def test_goaway_costs_nothing(self):
        # K33: a backend that closes each connection after one request.
        pathlib.Path(self.directory / "body").write_bytes(b"x" * 100)
        nginx = self.nginx(server="http2 on; location / { return 200 ok; }",
                           http="keepalive_requests 1;")
        edge = self.h2c(nginx)
        requests = 1500
        self.assert_all_2xx(self.h2load(edge, requests=requests), requests)
        self.assert_all_2xx(self.h2load(edge, "-d", str(self.directory / "body"),
                                        requests=requests), requests)
        # The server stays in good standing.
        self.assertEqual(edge.metric("pqedge_backend_resets_total"), 0)
        self.assertGreaterEqual(edge.metric("pqedge_backend_http2_goaways_total"), requests)
        self.assertEqual(self.statuses(edge, ("/", "-d", "x")), [200] * 3)

    def test_streams_above_goaway_go_again(self):
        # Of four that it holds the first connection takes one; POST goes again too.
        held, lock = [], threading.Lock()

        def respond(request):
            if request.peer.number > 0:
                return request.answer(body=request.body)
            with lock:
                held.append(request)
                if len(held) < 4:
                    return
                request.peer.goaway(held[0].id)
                held[0].answer(body=held[0].body)

        for version in harness.ALL_VERSIONS:
            with self.subTest(version):
                held.clear()
                origin = self.h2(respond)
                edge = self.h2c(origin)
                answers = []
                threads = [threading.Thread(target=lambda i=i: answers.append(
                    edge.get("/", "-d", f"post {i}", http=version)[::2])) for i in range(4)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
                self.assertEqual(sorted(answers), [(200, b"post %d" % i) for i in range(4)])
                self.assertEqual(edge.metric("pqedge_backend_http2_refused_streams_total"), 3)
                edge.stop()

    def test_refused_streams_go_again(self):
        refused = set()

        def head(request):
            if request.path not in refused:
                refused.add(request.path)
                request.reset(h2.errors.ErrorCodes.REFUSED_STREAM)

        def respond(request):
            request.answer(body=b"ok")

        origin = self.h2(respond, head)
        edge = self.h2c(origin)
        for answer in batch.ask(edge, [(v, f"/{v}", "-d", "x") for v in harness.ALL_VERSIONS]):
            self.assertEqual((answer.status, answer.body), (200, b"ok"))
        self.assertEqual(len(refused), 3)

    def test_broken_answers_are_visible(self):
        def respond(request):
            request.begin(fields=[("content-length", "100")] if request.path == "/length" else ())
            request.send(b"half")
            if request.path == "/reset":
                request.reset(h2.errors.ErrorCodes.NO_ERROR)
            elif request.path == "/length":
                request.peer.h2.end_stream(request.id)
            else:
                request.peer.closing = True
                request.peer.flush()

        edge = self.h2c(self.h2(respond))
        for version, path, answer in self.asks(edge, ("/reset",), ("/length",), ("/close",)):
            self.assertNotEqual(answer.failed, 0, f"{version} {path}: {answer.body}")

    def test_not_http2_is_502(self):
        def serve(sock, number):
            sock.recv(1000)
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            sock.recv(1000)

        edge = self.h2c(self.backend(serve))
        self.assertEqual(self.statuses(edge, ("/",)), [502] * 3)
        for record in edge.wait_access(3):
            self.assertIn("does not speak HTTP/2", record["reason"])

    def test_a_slow_client_holds_up_no_other(self):
        chunk = b"z" * 16384
        large = 8_000_000

        def respond(request):
            if request.path == "/large":
                request.begin()
                request.send(chunk * (large // len(chunk)), end=True)
            else:
                request.answer(body=b"quick")

        origin = self.h2(respond)
        edge = self.h2c(origin)
        before = edge.memory_kib()
        with edge.tls(("http/1.1",)) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            slow.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            peer = harness.wait_for(lambda: origin.peers and origin.peers[0], "the request")
            sent = [0]

            def stalled():
                same = sent[0] == peer.sent > 0
                sent[0] = peer.sent
                time.sleep(0.1)
                return same

            harness.wait_for(stalled, "the backend to be held up")
            # What it could send is the stream's window and what lies in sockets on the way.
            self.assertLess(peer.sent, large)
            for _, _, answer in self.asks(edge, ("/quick",), times=5):
                self.assertEqual(answer.body, b"quick")
            self.assertEqual(origin.connections, 1)
            self.assertLess(edge.memory_kib() - before, 24 * 1024)

    def test_a_stopped_server_is_given_up(self):
        nginx = self.nginx(server="http2 on; location / { return 200 ok; }")
        edge = self.h2c(nginx, response_timeout="300ms", connect_timeout="200ms", retries=0)
        self.assertEqual(edge.get("/")[0], 200)
        nginx.send_signal(signal.SIGSTOP)
        try:
            self.assertEqual(self.statuses(edge, ("/",)), [504] * 3)
            harness.wait_for(lambda: edge.metric("pqedge_backend_http2_dead_peers_total") >= 1,
                             "a PING without an answer")
        finally:
            nginx.send_signal(signal.SIGCONT)
        self.assertEqual(self.statuses(edge, ("/",)), [200] * 3)


class Pool(Http2):
    """Limits of connections; HTTP/1.1 and HTTP/2."""

    def test_used_for_so_many_requests(self):
        for protocol in ("http/1.1", "h2c"):
            with self.subTest(protocol):
                origin = self.h2(h2_backend.echo) if protocol == "h2c" else self.echo()
                edge = self.edge(harness.pool(origin.address, protocol=protocol,
                                              max_connection_requests=3) + harness.route())
                self.assertEqual(self.statuses(edge, ("/",), times=3), [200] * 9)
                self.assertEqual(origin.connections, 3)
                edge.stop()

    def test_used_for_so_long_and_kept_for_so_long(self):
        origins, toml = {}, ""
        for protocol in ("http/1.1", "h2c"):
            for key in ("max_connection_age", "idle_timeout"):
                name = f"{protocol[-1]}-{key}"
                origins[name] = self.h2(h2_backend.echo) if protocol == "h2c" else self.echo()
                toml += (harness.pool(origins[name].address, name=name, protocol=protocol, **{key: "1ms"})
                         + harness.route(name, name=name, path=f"/{name}"))
        edge = self.edge(toml)
        # Between two for the same pool there is a handshake of the client.
        self.assertEqual(self.statuses(edge, *((f"/{name}",) for name in origins)), [200] * 12)
        self.assertEqual({name: origin.connections for name, origin in origins.items()},
                         dict.fromkeys(origins, 3))

    def test_no_more_connections_than_allowed(self):
        for protocol in ("http/1.1", "h2c"):
            with self.subTest(protocol):
                go = threading.Event()
                if protocol == "h2c":
                    def respond(request):
                        if request.path == "/held":
                            go.wait(harness.WAIT)
                        request.answer(body=b"ok")
                    origin = self.h2(respond)
                else:
                    def serve(sock, number):
                        reader = harness.RequestReader(sock)
                        while (request := reader.read()) is not None:
                            if b" /held " in request[0]:
                                go.wait(harness.WAIT)
                            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    origin = self.backend(serve)
                edge = self.edge(harness.pool(origin.address, protocol=protocol, max_connections=1,
                                              max_streams=1) + harness.route()
                                 if protocol == "h2c" else
                                 harness.pool(origin.address, max_connections=1) + harness.route())
                held = []
                thread = threading.Thread(target=lambda: held.append(edge.get("/held")[0]))
                thread.start()
                harness.wait_for(lambda: origin.connections == 1, "the request that is held")
                self.assertEqual(self.statuses(edge, ("/",)), [503] * 3)
                go.set()
                thread.join()
                self.assertEqual(held, [200])
                self.assertEqual(self.statuses(edge, ("/",)), [200] * 3)
                self.assertEqual(origin.connections, 1)
                edge.stop()

    def test_a_reload_changes_what_is_spoken(self):
        nginx = self.nginx(server='http2 on; location / { return 200 "$server_protocol"; }')
        def toml(protocol):
            return harness.pool(nginx.address, protocol=protocol) + harness.route()
        edge = self.edge(toml("h2c"))
        for protocol, expected in (("h2c", b"HTTP/2.0"), ("http/1.1", b"HTTP/1.1"),
                                   ("h2c", b"HTTP/2.0")):
            edge.write_config(toml(protocol))
            self.assertEqual(edge.reload()[0], 200)
            for _, _, answer in self.asks(edge, ("/",)):
                self.assertEqual(answer.body, expected)

    def test_wrong_settings_are_named(self):
        for text, words in (
                ('protocol = "h2"', "spoken over TLS"),
                ('protocol = "auto"', "spoken over TLS"),
                ('protocol = "h4"', "h4"),
                ('protocol = "h2c"\ntls = true\ntls_server_name = "a.test"', "without TLS"),
                ("max_streams = 10", "has no effect"),
                ('protocol = "h2c"\nmax_streams = 0', "max_streams"),
                ("max_connection_requests = -1", "max_connection_requests"),
                ('max_connection_age = "31d"', "max_connection_age")):
            path = self.directory / "bad.toml"
            path.write_text('version = 1\n[[listener]]\naddress = "127.0.0.1:0"\ntls = false\n'
                            f'[[pool]]\nname = "app"\nservers = ["127.0.0.1:9"]\n{text}\n'
                            + harness.route())
            done = harness.run(harness.PQEDGE, "check", path)
            self.assertNotEqual(done.returncode, 0, text)
            said = (done.stdout + done.stderr).decode()
            self.assertIn(words, said)
            self.assertRegex(said, r"bad\.toml:\d+:\d+")


class Users(Http2):
    """K53: NTLM and Negotiate prove the user to a connection."""

    def ntlm(self, scheme="NTLM"):
        """Remembers the user of each TCP connection."""

        def serve(sock, number):
            reader, user = harness.RequestReader(sock), None
            while (request := reader.read()) is not None:
                for line in request[0].split(b"\r\n"):
                    if line.lower().startswith(b"authorization: "):
                        user = line.split()[-1]
                if user is None:
                    sock.sendall(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: "
                                 + scheme.encode() + b"\r\nContent-Length: 0\r\n\r\n")
                else:
                    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(user) + user)

        return self.backend(serve)

    def check(self, origin, scheme, version):
        reached, go = threading.Event(), threading.Event()

        def hold(sock, number):
            reader = harness.RequestReader(sock)
            while reader.read() is not None:
                reached.set()
                go.wait(harness.WAIT)
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nheld")

        edge = self.edge(harness.pool(origin.address) + harness.pool(
            self.backend(hold).address, name="hold") + harness.route("hold", "hold", path="/hold")
            + harness.route())
        # Over one connection: says who it is, asks again without, and stays there.
        alice = []
        common = ["-sS", "--cacert", edge.certificate.chain, {
            "1.1": "--http1.1", "2": "--http2", "3": "--http3-only"}[version]]
        thread = threading.Thread(target=lambda: alice.append(harness.run(
            "curl", *common, "-H", f"Authorization: {scheme} alice", edge.url("/a"), "--next",
            *common, edge.url("/b"), edge.url("/hold")).stdout))
        thread.start()
        self.assertTrue(reached.wait(harness.WAIT))
        self.assertEqual(self.statuses(edge, ("/",)), [401] * 3, version)
        go.set()
        thread.join()
        self.assertEqual(alice, [b"alicealiceheld"])
        # Nor when it has gone; and one that asks for a proof is not shared either.
        self.assertEqual(self.statuses(edge, ("/",)), [401] * 3, version)
        harness.wait_for(lambda: edge.metric('pqedge_backend_connections{pool="app"') == 0,
                         "the connections that belong to clients to be closed")
        edge.stop()

    def test_one_client_connection_alone(self):
        for scheme, version in (("NTLM", "1.1"), ("NTLM", "2"), ("NTLM", "3"), ("Negotiate", "2")):
            with self.subTest(scheme=scheme, version=version):
                self.check(self.ntlm(scheme), scheme, version)

    def test_other_credentials_bind_nothing(self):
        origin = self.echo()
        edge = self.edge(harness.pool(origin.address) + harness.route())
        self.assertEqual(self.statuses(edge, *(
            ("/", "-H", f"Authorization: {value}") for value in ("Basic YTpi", "Bearer Negotiate", "NTLMv9 x"))),
            [200] * 9)
        self.assertEqual(origin.connections, 1)

    def test_http2_connections_too(self):
        # A server that takes such a proof over HTTP/2 gets a connection for it.
        def respond(request):
            value = request.head.get("authorization")
            if value:
                request.peer.user = value.split()[-1]
            user = request.peer.user
            if user is None:
                request.answer(401, fields=[("www-authenticate", "Negotiate")])
            else:
                request.answer(body=user.encode())

        for version in harness.ALL_VERSIONS:
            edge = self.h2c(self.h2(respond))
            self.assertEqual(edge.get("/", http=version)[0], 401)
            self.assertEqual(edge.get("/", "-H", "Authorization: Negotiate alice",
                                      http=version)[::2], (200, b"alice"))
            self.assertEqual(self.statuses(edge, ("/",)), [401] * 3)
            edge.stop()


if __name__ == "__main__":
    harness.main()
