"""TLS to backends (T12): verified, key shares remembered (K1), groups told (K8)."""
# ctest: timeout=120

import contextlib
import re
import shutil
import socket
import ssl

import harness
import pki


class TlsEcho(harness.EchoBackend):
    """The echo of harness.py behind Python's TLS. Says goodbye unless `rude`."""

    def __init__(self, certificate, client_ca=None, rude=False, proxy=False):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate.chain, certificate.key)
        self.context.set_alpn_protocols(["http/1.1"])
        if client_ca:
            self.context.load_verify_locations(client_ca)
            self.context.verify_mode = ssl.CERT_REQUIRED
        self.rude, self.proxy = rude, proxy
        self.peers, self.names, self.preludes, self.alpn = [], [], [], []
        self.context.sni_callback = lambda sock, name, context: self.names.append(name)
        super().__init__()

    def _echo(self, sock, number):
        if self.proxy:
            line = b""
            while not line.endswith(b"\r\n"):
                line += sock.recv(1)
            self.preludes.append(line)
        tls = self.context.wrap_socket(sock, server_side=True)
        self.peers.append(tls.getpeercert())
        self.alpn.append(tls.selected_alpn_protocol())
        self.serve_tls(tls, number)
        if not self.rude:
            with contextlib.suppress(OSError):
                tls.unwrap()
        tls.close()

    def serve_tls(self, tls, number):
        super()._echo(tls, number)


class Closing(TlsEcho):
    """Answers with a body that ends with the connection."""

    def serve_tls(self, tls, number):
        if harness.RequestReader(tls).read() is not None:
            tls.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of it")


class Server(harness.Process):
    """openssl s_server that answers with its status page."""

    def __init__(self, directory, certificate, *args, stem="s_server"):
        self.port = harness.free_port()
        super().__init__(["openssl", "s_server", "-accept", f"127.0.0.1:{self.port}", "-www", "-msg",
                          "-cert", certificate.chain, "-key", certificate.key, *args],
                         directory / f"{stem}.log")
        harness.wait_for(lambda: "ACCEPT" in self.log(), "s_server to listen")

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def hellos(self):
        return len(re.findall(r"<<< [^\n]*, ClientHello", self.log()))


class BackendTls(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.ca = pki.Authority(self.directory, name="Backend CA")
        self.certificate = self.ca.issue("backend", subject="/CN=app", sans="DNS:app.internal")

    def start(self, backend):
        self.addCleanup(backend.stop if isinstance(backend, harness.Backend) else backend.kill)
        return backend

    def pool(self, *addresses, **settings):
        settings = {"tls": True, "tls_ca": str(self.ca.certificate),
                    "tls_server_name": "app.internal", **settings}
        return harness.pool(*addresses, **{k: v for k, v in settings.items() if v is not None})

    def status(self, edge, path="/", *args, http="1.1"):
        done = edge.curl(path, "-k", "-o", "/dev/null", "-w", "%{http_code}", *args, http=http)
        return int(done.stdout) if done.returncode == 0 else None

    def test_nginx_verified_by_an_own_authority(self):
        nginx = self.nginx(listen="ssl", server=(
            f"ssl_certificate {self.certificate.chain}; ssl_certificate_key {self.certificate.key};"
            "location /facts { return 200 \"$ssl_server_name $ssl_protocol $ssl_session_reused\"; }"))
        (nginx.root / "file").write_bytes(bytes(range(256)) * 4096)
        edge = self.edge(self.pool(nginx.address) + harness.route())
        for http in harness.ALL_VERSIONS:
            status, _, body = edge.get("/file", "-k", http=http)
            self.assertEqual((status, len(body)), (200, 1 << 20), edge.log()[-2000:])
            self.assertEqual(body, (nginx.root / "file").read_bytes())
            self.assertEqual(edge.get("/facts", "-k", http=http)[2][:20], b"app.internal TLSv1.3")
        record = edge.wait_access(6)[0]
        self.assertEqual((record["backend_tls_version"], record["backend_group"]),
                         ("TLSv1.3", "X25519MLKEM768"))
        self.assertEqual(edge.metric("pqedge_backend_tls_handshakes_total"), 1)

    def test_sessions_are_resumed(self):
        nginx = self.nginx(listen="ssl", http="keepalive_timeout 0;", server=(
            f"ssl_certificate {self.certificate.chain}; ssl_certificate_key {self.certificate.key};"
            "location / { return 200 \"$ssl_session_reused\"; }"))
        edge = self.edge(self.pool(nginx.address) + harness.route())
        bodies = [edge.get("/", "-k")[2] for _ in range(3)]
        self.assertEqual(bodies, [b".", b"r", b"r"])
        self.assertEqual(edge.metric("pqedge_backend_tls_resumptions_total"), 2)
        edge.write_config(self.pool(nginx.address, tls_resumption=False) + harness.route())
        self.assertEqual(edge.reload()[0], 200)
        self.assertEqual([edge.get("/", "-k")[2] for _ in range(2)], [b".", b"."])

    def test_bodies_both_ways(self):
        backend = self.start(TlsEcho(self.certificate))
        edge = self.edge(self.pool(backend.address) + harness.route())
        upload = self.directory / "upload"
        upload.write_bytes(b"0123456789abcdef" * (3 << 16))
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                status, _, body = edge.get("/", "-k", "--data-binary", f"@{upload}", http=http)
                self.assertEqual(status, 200)
                self.assertTrue(body.endswith(upload.read_bytes()))
        self.assertEqual(set(backend.names), {"app.internal"})
        self.assertEqual(set(backend.alpn), {"http/1.1"})

    def test_haproxy_behind_a_proxy_header(self):
        haproxy = shutil.which("haproxy") or "/usr/sbin/haproxy"
        both = self.directory / "both.pem"
        both.write_text(self.certificate.chain.read_text() + self.certificate.key.read_text())
        port = harness.free_port()
        conf = self.directory / "haproxy.cfg"
        conf.write_text(f"""
global
  stats socket {self.directory}/haproxy.sock
defaults
  mode http
  timeout client 20s
  timeout server 20s
  timeout connect 5s
frontend f
  bind 127.0.0.1:{port} accept-proxy ssl crt {both} alpn http/1.1
  http-request return status 200 content-type text/plain lf-string "%[src] %[ssl_fc_sni] %[ssl_fc_protocol]"
""")
        process = harness.Process([haproxy, "-db", "-f", conf], self.directory / "haproxy.log")
        self.addCleanup(process.kill)
        harness.wait_for(lambda: self.listens(port), "haproxy to listen")
        for version in ("v1", "v2"):
            edge = self.edge(self.pool(f"127.0.0.1:{port}", send_proxy=version) + harness.route())
            for http in harness.ALL_VERSIONS:
                status, _, body = edge.get("/", "-k", http=http)
                self.assertEqual((status, body), (200, b"127.0.0.1 app.internal TLSv1.3"),
                                 edge.log()[-2000:])
            edge.stop()

    @staticmethod
    def listens(port):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            return False

    def test_the_proxy_header_comes_before_the_hello(self):
        backend = self.start(TlsEcho(self.certificate, proxy=True))
        edge = self.edge(self.pool(backend.address, send_proxy="v1") + harness.route())
        for _ in range(2):
            self.assertEqual(self.status(edge), 200)
        self.assertEqual(len(backend.preludes), 2)
        for line in backend.preludes:
            self.assertTrue(line.startswith(b"PROXY TCP4 127.0.0.1 127.0.0.1 "), line)

    def test_failures_are_told_apart(self):
        wrong = self.ca.issue("wrong", sans="DNS:other.internal")
        old = self.ca.issue("old", sans="DNS:app.internal", begins=-3, ends=-1)
        stranger = pki.Authority(self.directory, stem="other", name="Other CA").issue(
            "stranger", sans="DNS:app.internal")
        named = self.ca.issue("named", subject="/CN=app.internal")  # a common name is no name
        silent = self.backend(lambda sock, number: sock.recv(1 << 20) and sock.recv(1))
        plain = self.backend(lambda sock, number: (
            sock.recv(100), sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
            sock.recv(1 << 20), sock.recv(1)))
        closing = self.backend(lambda sock, number: sock.recv(100))
        groups = self.start(Server(self.directory, self.certificate, "-groups", "P-521"))
        old_version = self.start(Server(self.directory, self.certificate, "-tls1_2", stem="tls12"))
        cases = (
            ("version", old_version.address, {}, 502, "no_common_version", "no TLS version"),
            ("name", self.start(TlsEcho(wrong)).address, {}, 502, "name_mismatch",
             "not for the name"),
            ("cn", self.start(TlsEcho(named)).address, {}, 502, "name_mismatch", "not for the name"),
            ("old", self.start(TlsEcho(old)).address, {}, 502, "expired", "has expired"),
            ("stranger", self.start(TlsEcho(stranger)).address, {}, 502, "unknown_authority",
             "not trusted here"),
            ("system", self.start(TlsEcho(self.certificate)).address, {"tls_ca": None}, 502,
             "unknown_authority", "not trusted here"),
            ("groups", groups.address, {}, 502, "no_common_group", "key-exchange group"),
            ("plain", plain.address, {}, 502, "not_tls", "does not speak TLS"),
            ("closing", closing.address, {}, 502, "closed", "during the handshake"),
            ("silent", silent.address, {"tls_handshake_timeout": "100ms"}, 504, "timeout",
             "took too long"))
        toml = "".join(self.pool(address, name=name, retries=0, **extra) +
                       harness.route(name, name=name, path_prefix=f"/{name}")
                       for name, address, extra, *_ in cases)
        edge = self.edge(toml)
        for http in ("1.1", "3"):
            for name, _, _, status, reason, words in cases if http == "1.1" else cases[:2]:
                with self.subTest(http=http, name=name):
                    self.assertEqual(self.status(edge, f"/{name}", http=http), status)
                    series = f'pqedge_backend_tls_failures_total{{pool="{name}",reason="{reason}"'
                    self.assertGreaterEqual(edge.metric(series), 1)
                    harness.wait_for(
                        lambda name=name, words=words: re.search(
                            rf"pool '{name}', server [^ ]*: TLS: .*{words}", edge.log()), words)
        for name, _, _, status, _, words in cases:
            record = edge.wait_access(1, lambda r, n=name: r["route"] == n)[0]
            self.assertEqual(record["status"], status)
            self.assertIn(words, record["reason"])

    def test_a_server_by_its_address(self):
        # Without a name the certificate is held to the address that was connected to.
        certificate = harness.Certificate(self.directory, ("x.test",), stem="by-address")
        good = self.start(TlsEcho(certificate))
        bad = self.start(TlsEcho(self.certificate))
        own = {"tls_server_name": None, "retries": 0}
        edge = self.edge(
            self.pool(good.address, name="good", **{**own, "tls_ca": str(certificate.chain)}) +
            self.pool(bad.address, name="bad", **own) +
            harness.route("good", name="good", path_prefix="/good") +
            harness.route("bad", name="bad", path_prefix="/bad"))
        self.assertEqual(self.status(edge, "/good"), 200, edge.log()[-2000:])
        self.assertEqual(self.status(edge, "/bad"), 502)
        self.assertEqual(good.names, [None])

    def test_another_server_takes_over(self):
        # Nothing of the request was sent: whatever its method, a server with a good certificate gets it.
        wrong = self.start(TlsEcho(self.ca.issue("wrong", sans="DNS:other.internal")))
        good = self.start(TlsEcho(self.certificate))
        edge = self.edge(self.pool(wrong.address, good.address) + harness.route())
        for _ in range(2):
            self.assertEqual(self.status(edge, "/", "--data", "x"), 200, edge.log()[-2000:])
        self.assertEqual(len(good.requests), 2)

    def test_tls12_where_it_is_asked_for(self):
        server = self.start(Server(self.directory, self.certificate, "-tls1_2"))
        edge = self.edge(self.pool(server.address, tls_min_version="1.2") + harness.route())
        for _ in range(2):
            self.assertEqual(self.status(edge), 200, edge.log()[-2000:])
        self.assertEqual(edge.wait_access(1)[0]["backend_tls_version"], "TLSv1.2")

    def test_another_name_in_the_certificate(self):
        backend = self.start(TlsEcho(self.certificate))
        edge = self.edge(self.pool(backend.address, tls_server_name="front.internal",
                                   tls_verify_name="app.internal") + harness.route())
        self.assertEqual(self.status(edge), 200, edge.log()[-2000:])
        self.assertEqual(backend.names, ["front.internal"])

    def test_a_certificate_is_shown_to_the_backend(self):
        clients = pki.Authority(self.directory, stem="clients", name="Clients CA")
        edge_certificate = clients.issue("edge-client", subject="/CN=edge")
        backend = self.start(TlsEcho(self.certificate, client_ca=clients.certificate))
        shown = {"tls_certificate": str(edge_certificate.chain), "tls_key": str(edge_certificate.key)}
        edge = self.edge(self.pool(backend.address, **shown) + harness.route())
        self.assertEqual(self.status(edge), 200, edge.log()[-2000:])
        self.assertEqual(backend.peers[-1]["subject"], ((("commonName", "edge"),),))
        edge.write_config(self.pool(backend.address, retries=0) + harness.route())
        self.assertEqual(edge.reload()[0], 200)
        self.assertEqual(self.status(edge), 502)
        harness.wait_for(lambda: "does not take our certificate, or wants one" in edge.log(),
                         "the line")

    def test_key_shares_are_remembered(self):
        # K1: a hello for a hybrid group, a HelloRetryRequest; the second connection sends one hello.
        server = self.start(Server(self.directory, self.certificate, "-groups", "X25519"))
        edge = self.edge(self.pool(server.address) + harness.route(), workers=2)
        self.assertEqual(self.status(edge), 200, edge.log()[-2000:])
        harness.wait_for(lambda: server.hellos() >= 2, "the first connection's hellos")
        self.assertEqual(server.hellos(), 2)
        for more in (1, 2, 3):
            self.assertEqual(self.status(edge), 200)
            harness.wait_for(lambda more=more: server.hellos() >= 2 + more, "the next hello")
            self.assertEqual(server.hellos(), 2 + more)
        self.assertEqual(edge.metric("pqedge_backend_tls_hello_retries_total"), 1)
        self.assertEqual(edge.wait_access(4)[0]["backend_group"], "X25519")

    def test_key_shares_are_set(self):
        server = self.start(Server(self.directory, self.certificate, "-groups", "X25519"))
        edge = self.edge(self.pool(server.address, tls_key_shares=["X25519MLKEM768", "X25519"]) +
                         harness.route())
        self.assertEqual(self.status(edge), 200, edge.log()[-2000:])
        harness.wait_for(lambda: server.hellos() >= 1, "the hello")
        self.assertEqual(server.hellos(), 1)
        self.assertEqual(edge.metric("pqedge_backend_tls_hello_retries_total"), 0)

    def test_groups_of_both_sides_are_logged(self):
        # K8: which client and which backend still use a classical group.
        old = self.start(Server(self.directory, self.certificate, "-groups", "X25519", stem="old"))
        new = self.start(Server(self.directory, self.certificate, "-groups", "X25519MLKEM768",
                                stem="new"))
        edge = self.edge(self.pool(old.address, name="old") + self.pool(new.address, name="new") +
                         harness.route("old", name="old", path_prefix="/old") +
                         harness.route("new", name="new", path_prefix="/new"))
        for group in ("X25519", "X25519MLKEM768"):
            for path in ("/old", "/new"):
                self.assertEqual(self.status(edge, path, "--curves", group), 200)
        seen = [(r["route"], r["group"], r["backend_group"]) for r in edge.wait_access(4)]
        self.assertEqual(sorted(seen), [
            ("new", "X25519", "X25519MLKEM768"), ("new", "X25519MLKEM768", "X25519MLKEM768"),
            ("old", "X25519", "X25519"), ("old", "X25519MLKEM768", "X25519")])
        for name, group in (("old", "X25519"), ("new", "X25519MLKEM768")):
            self.assertGreaterEqual(edge.metric(
                f'pqedge_backend_tls_handshakes_total{{group="{group}",pool="{name}"'), 1)

    def test_an_end_without_goodbye_is_no_end(self):
        # RFC 9112 8, RFC 8446 6.1: a body that ends with the connection.
        rude = self.start(Closing(self.certificate, rude=True))
        good = self.start(Closing(self.certificate))
        edge = self.edge(self.pool(rude.address, name="rude") + self.pool(good.address, name="good") +
                         harness.route("rude", name="rude", path_prefix="/rude") +
                         harness.route("good", name="good", path_prefix="/good"))
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.assertEqual(edge.get("/good", "-k", http=http)[2], b"half of it")
                done = edge.curl("/rude", "-k", http=http)
                self.assertNotEqual(done.returncode, 0, done)
        record = edge.wait_access(1, lambda r: r["route"] == "rude")[0]
        self.assertIn("without a close_notify", record["reason"])
        self.assertGreaterEqual(edge.metric("pqedge_backend_tls_truncations_total"), 3)

    def test_verification_is_switched_off_by_two_hands(self):
        backend = self.start(TlsEcho(self.certificate))
        toml = self.pool(backend.address, tls_verify=False, tls_ca=None) + harness.route()
        edge = self.edge(toml, wait=False)
        self.assertEqual(edge.process.wait(harness.WAIT), 1)
        self.assertRegex(edge.log(), r"edge\.toml:\d+:\d+: pool\[0\]\.tls_verify: ")
        self.assertIn("--allow-insecure-backends", edge.log())
        self.assertEqual(harness.run(harness.PQEDGE, "check", edge.config_path).returncode, 1)
        done = harness.run(harness.PQEDGE, "check", edge.config_path, "--allow-insecure-backends")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"whoever takes the servers' place is trusted", done.stderr)
        edge = self.edge(toml, extra_args=("--allow-insecure-backends",))
        self.assertEqual(self.status(edge), 200)

    def test_connections_of_other_settings_are_not_used_again(self):
        backend = self.start(TlsEcho(self.certificate))
        edge = self.edge(self.pool(backend.address) + harness.route())
        self.assertEqual(self.status(edge), 200)
        edge.write_config(self.pool(backend.address, tls_verify_name="other.internal", retries=0) +
                          harness.route())
        self.assertEqual(edge.reload()[0], 200)
        self.assertEqual(self.status(edge), 502)

    def test_what_is_wrong_is_said(self):
        for settings, words in (
                ({"tls_groups": ["X25519"], "tls_key_shares": ["X25519MLKEM768"]},
                 ("pool[0].tls_key_shares[0]", "is not one of tls_groups")),
                ({"tls_ca": str(self.directory / "no.pem")}, ("pool[0].tls_ca", "no.pem")),
                ({"tls_certificate": str(self.certificate.chain)}, ("pool[0].tls_key", "is missing")),
                ({"tls": False}, ("pool[0].tls_server_name", "has no effect without tls = true")),
                ({"tls_server_name": "a b"}, ("pool[0].tls_server_name", "is not a host name")),
                ({"tls_handshake_timeout": "1h"}, ("pool[0].tls_handshake_timeout",))):
            with self.subTest(words=words):
                path = self.directory / "bad.toml"
                path.write_text("version = 1\n[[listener]]\naddress = \"127.0.0.1:1\"\ntls = false\n"
                                + self.pool("127.0.0.1:9", **settings) + harness.route())
                done = harness.run(harness.PQEDGE, "check", path)
                self.assertEqual(done.returncode, 1)
                for word in words:
                    self.assertIn(word, done.stderr.decode())


if __name__ == "__main__":
    harness.main()
