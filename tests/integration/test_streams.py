"""Listeners without HTTP: TCP and UDP straight to a pool (P15)."""
# ctest: timeout=120

import json
import socket
import struct
import threading

import harness


class UdpServer:
    """Echoes each datagram after its name."""

    def __init__(self, name=b"", port=0):
        self.name = name
        self.seen = []  # (bytes, address)
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", port))
        self.port = self.sock.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def _serve(self):
        while True:
            try:
                data, peer = self.sock.recvfrom(65536)
            except OSError:
                return
            if data == b"the end":
                return
            self.seen.append((data, peer))
            self.sock.sendto(self.name + data, peer)

    def stop(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"the end", ("127.0.0.1", self.port))
        self.thread.join(harness.WAIT)
        self.sock.close()


def named(name):
    def serve(sock, _):
        sock.sendall(name)
        while data := sock.recv(65536):
            sock.sendall(data)

    return serve


class Case(harness.TestCase):
    def udp(self, *args, **kwargs):
        server = UdpServer(*args, **kwargs)
        self.addCleanup(server.stop)
        return server

    def streams(self, pool, keys="", **kwargs):
        """An edge with one listener of the kind beside its usual one."""
        self.port = harness.free_port()
        self.listener = (f'[[listener]]\nname = "raw"\naddress = "127.0.0.1:{self.port}"\n'
                         f'pool = "app"\n{keys}\n')
        return self.edge(self.listener + pool + harness.pool("127.0.0.1:9", name="web") +
                         harness.route("web"), **kwargs)

    def connect(self):
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=harness.WAIT)
        self.addCleanup(sock.close)
        return sock

    def client(self):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect(("127.0.0.1", self.port))
        sock.settimeout(harness.WAIT)
        self.addCleanup(sock.close)
        return sock


class Tcp(Case):
    def test_bytes_and_ends(self):
        def serve(sock, _):
            data = b""
            while more := sock.recv(65536):
                data += more
            sock.sendall(data[::-1])

        edge = self.streams(harness.pool(self.backend(serve).address))
        sock = self.connect()
        payload = bytes(range(256)) * 8192
        sender = threading.Thread(
            target=lambda: (sock.sendall(payload), sock.shutdown(socket.SHUT_WR)))
        sender.start()
        answer = b""
        while more := sock.recv(65536):
            answer += more
        sender.join()
        self.assertEqual(answer, payload[::-1])
        line = edge.wait_access(where=lambda r: r["listener"] == "raw")[0]
        self.assertEqual((line["http_version"], line["pool"], line["route"]),
                         ("stream/tcp", "app", "raw"))
        self.assertEqual((line["bytes_in"], line["bytes_out"]), (len(payload), len(payload)))
        metrics = edge.metrics()
        self.assertEqual(metrics['pqedge_stream_connections_total{listener="raw"}'], 1)
        self.assertEqual(metrics['pqedge_stream_received_bytes_total{listener="raw"}'], len(payload))

    def test_the_server_speaks_first_and_ends_first(self):
        edge = self.streams(harness.pool(self.backend(lambda s, _: s.sendall(b"220 hi\r\n")).address))
        sock = self.connect()
        data = b""
        while more := sock.recv(100):
            data += more
        self.assertEqual(data, b"220 hi\r\n")
        sock.close()
        edge.wait_access(where=lambda r: r["listener"] == "raw" and r["bytes_out"] == 8)

    def test_https_of_a_server_behind_it(self):
        certificate = harness.Certificate(self.directory, stem="behind")
        tls_port = harness.free_port()
        web = self.nginx(listen=f"; listen 127.0.0.1:{tls_port} ssl; "
                                f"ssl_certificate {certificate.chain}; "
                                f"ssl_certificate_key {certificate.key}")
        (web.root / "page").write_text("end to end")
        self.streams(harness.pool(f"127.0.0.1:{tls_port}"))
        done = harness.run("curl", "-sS", "--cacert", certificate.chain, "--resolve",
                           f"localhost:{self.port}:127.0.0.1", f"https://localhost:{self.port}/page")
        self.assertEqual(done.stdout, b"end to end", done.stderr)

    def test_tls_is_taken_off(self):
        def serve(sock, _):
            sock.sendall(b"in the clear " + sock.recv(100))

        edge = self.streams(harness.pool(self.backend(serve).address), "tls = true")
        done = harness.run(
            "openssl", "s_client", "-quiet", "-verify_return_error", "-CAfile",
            edge.certificate.chain, "-servername", "localhost", "-alpn", "imap", "-groups",
            "X25519MLKEM768", "-connect", f"127.0.0.1:{self.port}", input=b"hello\n")
        self.assertIn(b"in the clear hello", done.stdout, done.stderr)
        line = edge.wait_access(where=lambda r: r["listener"] == "raw")[0]
        self.assertEqual((line["http_version"], line["group"]), ("stream/tls", "X25519MLKEM768"))

    def test_the_next_server_where_one_is_dead(self):
        dead = f"127.0.0.1:{harness.free_port()}"
        alive = self.backend(named(b"alive"))
        edge = self.streams(harness.pool(dead, alive.address))
        for _ in range(10):
            sock = self.connect()
            self.assertEqual(sock.recv(5), b"alive")
            sock.close()
        edge.wait_access(10, where=lambda r: r["listener"] == "raw")

    def test_no_server_at_all(self):
        edge = self.streams(harness.pool(f"127.0.0.1:{harness.free_port()}"))
        sock = self.connect()
        with self.subTest("closed, with nothing sent"):
            try:
                self.assertEqual(sock.recv(100), b"")
            except ConnectionResetError:
                pass
        line = edge.wait_access(where=lambda r: r["listener"] == "raw")[0]
        self.assertIn("refused", line["reason"])
        self.assertEqual(edge.metrics()['pqedge_stream_failed_total{listener="raw"}'], 1)

    def test_proxy_headers_in_and_out(self):
        heads = []

        def serve(sock, _):
            heads.append(sock.recv(65536))
            sock.sendall(b"ok")

        self.streams(harness.pool(self.backend(serve).address, send_proxy="v2"),
                     'proxy_from = ["127.0.0.1"]')
        sock = self.connect()
        sock.sendall(b"PROXY TCP4 192.0.2.7 198.51.100.1 4711 25\r\nhello")
        self.assertEqual(sock.recv(2), b"ok")
        head = heads[0]
        self.assertEqual(head[:12], b"\r\n\r\n\0\r\nQUIT\n")
        self.assertEqual(socket.inet_ntoa(head[16:20]), "192.0.2.7")
        self.assertEqual(struct.unpack(">H", head[24:26])[0], 4711)

    def test_idle_and_reload(self):
        backend = self.backend(named(b"one"))
        other = self.backend(named(b"two"))
        edge = self.streams(harness.pool(backend.address), 'idle_timeout = "2s"')
        first = self.connect()
        self.assertEqual(first.recv(3), b"one")
        text = edge.config_path.read_text()[len(edge._head):]
        edge.write_config(text.replace(json.dumps(backend.address), json.dumps(other.address)))
        self.assertEqual(edge.reload()[0], 200)
        first.sendall(b"still there")  # a connection keeps what it began with
        self.assertEqual(first.recv(100), b"still there")
        second = self.connect()
        self.assertEqual(second.recv(3), b"two")
        edge.wait_access(2, where=lambda r: r["reason"] == "idle timeout")
        edge.write_config(text[text.index("[[pool]]"):])
        self.assertEqual(edge.reload()[0], 200)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", self.port), timeout=harness.WAIT)

    def test_a_slow_client_holds_its_server_back(self):
        sent = 0
        stalled = threading.Event()

        def serve(sock, _):
            nonlocal sent
            sock.settimeout(0.5)
            piece = b"x" * 65536
            while sent < 256 * 1024 * 1024:
                try:
                    sent += sock.send(piece)
                except TimeoutError:
                    stalled.set()
                    return

        edge = self.streams(harness.pool(self.backend(serve).address))
        before = edge.memory_kib()
        self.connect()
        self.assertTrue(stalled.wait(harness.WAIT))
        self.assertLess(sent, 32 * 1024 * 1024)
        self.assertLess(edge.memory_kib() - before, 16 * 1024)


class Udp(Case):
    def test_datagrams_both_ways(self):
        server = self.udp(b"echo ")
        edge = self.streams(harness.pool(server.address), 'protocols = ["udp"]\nudp_timeout = "1s"')
        a, b = self.client(), self.client()
        for i in range(3):
            for sock, text in ((a, b"a%d" % i), (b, b"b%d" % i)):
                sock.send(text)
                self.assertEqual(sock.recv(100), b"echo " + text)
        a.send(b"x" * 9000)  # in fragments
        self.assertEqual(len(a.recv(65536)), 9005)
        self.assertEqual(len({peer for _, peer in server.seen}), 2)  # a socket a client
        self.assertEqual(edge.metrics()["pqedge_stream_udp_sessions"], 2)
        lines = edge.wait_access(2, where=lambda r: r["listener"] == "raw")
        self.assertEqual({r["http_version"] for r in lines}, {"stream/udp"})
        self.assertEqual(sorted(r["bytes_in"] for r in lines), [6, 9006])
        self.assertEqual(edge.metrics()["pqedge_stream_udp_sessions"], 0)
        with self.assertRaises(ConnectionRefusedError):  # "udp" alone binds no TCP
            self.connect()

    def test_a_client_stays_with_its_server(self):
        servers = [self.udp(b"%d:" % i) for i in range(3)]
        self.streams(harness.pool(*[s.address for s in servers]), 'protocols = ["udp"]', workers=2)
        used = set()
        for _ in range(12):
            sock = self.client()
            sock.send(b"q")
            first = sock.recv(10)
            used.add(first)
            for _ in range(5):
                sock.send(b"q")
                self.assertEqual(sock.recv(10), first)
        self.assertEqual(len(used), 3)

    def test_the_next_server_where_one_is_dead(self):
        alive = self.udp(b"alive ")
        self.streams(harness.pool(f"127.0.0.1:{harness.free_port()}", alive.address),
                     'protocols = ["udp"]')
        for _ in range(6):
            sock = self.client()
            sock.send(b"?")  # once: the edge sends it again elsewhere
            self.assertEqual(sock.recv(100), b"alive ?")

    def test_a_proxy_header(self):
        server = self.udp()
        self.streams(harness.pool(server.address, send_proxy="v2"), 'protocols = ["udp"]')
        sock = self.client()
        sock.send(b"first")
        self.assertTrue(sock.recv(100).endswith(b"first"))
        sock.send(b"second")
        self.assertEqual(sock.recv(100), b"second")
        head = server.seen[0][0]
        self.assertEqual(head[:12], b"\r\n\r\n\0\r\nQUIT\n")
        self.assertEqual(head[13], 0x12)  # UDP over IPv4
        self.assertEqual(struct.unpack(">H", head[24:26])[0], sock.getsockname()[1])

    def test_no_more_clients_than_there_are_places_for(self):
        server = self.udp()
        edge = self.streams(harness.pool(server.address),
                            'protocols = ["udp"]\nudp_sessions = 4')
        known = [self.client() for _ in range(4)]
        for sock in known:
            sock.send(b"hello")
            self.assertEqual(sock.recv(10), b"hello")
        self.client().send(b"one too many")
        harness.wait_for(lambda: edge.metrics()["pqedge_stream_udp_dropped_total"] == 1, "the drop")
        known[0].send(b"again")
        self.assertEqual(known[0].recv(10), b"again")

    def test_quic_through_it(self):
        """HTTP/3 by curl to this edge's own listener, over its UDP listener."""
        self.port = harness.free_port()
        edge = self.edge(harness.pool(self.echo().address) + harness.route())
        text = edge.config_path.read_text()[len(edge._head):]
        edge.write_config(f'[[listener]]\nname = "raw"\naddress = "127.0.0.1:{self.port}"\n'
                          f'pool = "self"\nprotocols = ["tcp", "udp"]\n' + text +
                          harness.pool(f"127.0.0.1:{edge.port}", name="self"))
        self.assertEqual(edge.reload()[0], 200)
        for version in ("--http1.1", "--http2", "--http3-only"):
            done = harness.run("curl", "-sS", version, "--cacert", edge.certificate.chain,
                               "--resolve", f"localhost:{self.port}:127.0.0.1",
                               f"https://localhost:{self.port}/through")
            self.assertIn(b"GET /through", done.stdout, done.stderr)


class Recipe(Case):
    def test_the_recipe(self):
        text = (harness.SOURCE / "docs" / "recipes" / "tcp-and-udp.md").read_text()
        toml = text.split("```toml")[1].split("```")[0]
        imaps, self.port = harness.free_port(), harness.free_port()
        dns = self.udp(b"answer to ")
        mail = self.backend(lambda sock, _: (sock.sendall(b"* OK\r\n"), sock.recv(1000)))
        for old, new in (("127.0.0.1:9993", f"127.0.0.1:{imaps}"),
                         ("127.0.0.1:9053", f"127.0.0.1:{self.port}"),
                         ("127.0.0.1:143", mail.address), ("127.0.0.1:53", dns.address)):
            self.assertIn(f'"{old}"', toml)
            toml = toml.replace(f'"{old}"', f'"{new}"')
        edge = self.edge(toml)
        sock = self.client()
        sock.send(b"a question")
        self.assertEqual(sock.recv(100), b"answer to a question")
        edge.port = imaps
        with edge.tls(alpn=("imap",)) as secured:
            self.assertEqual(secured.recv(100), b"* OK\r\n")


class Settings(Case):
    def test_wrong_settings_are_refused(self):
        base = 'version = 1\n[[listener]]\naddress = "127.0.0.1:1"\n'
        pool = harness.pool("127.0.0.1:9")
        for keys, what in (('pool = "nope"', "there is no pool"),
                           ('protocols = ["tcp"]\ntls = false', "no pool is named"),
                           ('pool = "app"\nprotocols = ["tcp", "h2"]', "has HTTP beside pool"),
                           ('pool = "app"\nprotocols = ["udp"]\ntls = true', "has no effect"),
                           ('pool = "app"\nprotocols = ["udp"]\nidle_timeout = "1s"', "idle_timeout"),
                           ('pool = "app"\nudp_timeout = "1s"', "udp_timeout"),
                           ('pool = "app"\nredirect_to_https = true', "redirect_to_https")):
            path = self.directory / "bad.toml"
            path.write_text(base + keys + "\n" + pool)
            done = harness.run(harness.PQEDGE, "check", path)
            text = (done.stdout + done.stderr).decode()
            self.assertNotEqual(done.returncode, 0, keys)
            self.assertIn(what, text)
            self.assertRegex(text, r"bad\.toml:\d+:\d+")
        good = self.directory / "good.toml"
        good.write_text(base + 'pool = "app"\n' + pool)
        done = harness.run(harness.PQEDGE, "check", good)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(b"is used by no route", done.stdout + done.stderr)



if __name__ == "__main__":
    harness.main()
