"""Where requests come in (P16, P17): sockets of the service manager, redirects to https."""

import socket
import ssl

import harness

NOT_FOUND = '[[route]]\nname = "none"\nstatus = 404\n'


class Activation(harness.TestCase):
    """sd_listen_fds(3): the service manager binds, pqedge serves."""

    def bound(self, port, kind):
        s = socket.socket(socket.AF_INET, kind)
        self.addCleanup(s.close)
        s.bind(("127.0.0.1", port))
        if kind == socket.SOCK_STREAM:
            s.listen(100)
        return s

    def served(self, workers):
        origin = self.echo()
        port = harness.free_port()
        sockets = [self.bound(port, socket.SOCK_STREAM), self.bound(port, socket.SOCK_DGRAM)]
        toml = (f'[[listener]]\naddress = "127.0.0.1:{port}"\n' + harness.pool(origin.address) +
                harness.route())
        proxy = self.edge(toml, workers=workers, sockets=sockets)
        return proxy, port, sockets

    def get(self, proxy, port, http):
        flag = {"1.1": "--http1.1", "2": "--http2", "3": "--http3-only"}[http]
        done = harness.run("curl", "-sS", flag, "--cacert", proxy.certificate.chain, "--resolve",
                           f"localhost:{port}:127.0.0.1", "-o", "/dev/null", "-w", "%{http_code}",
                           f"https://localhost:{port}/")
        return done.stdout.decode(), done.stderr.decode()

    def test_every_version_is_served_on_passed_sockets(self):
        for workers in (1, 3):
            with self.subTest(workers=workers):
                self.setUp()
                proxy, port, _ = self.served(workers)
                for http in harness.ALL_VERSIONS:
                    for _ in range(5):
                        self.assertEqual(self.get(proxy, port, http), ("200", ""), proxy.log())
                self.doCleanups()

    def test_a_restart_refuses_nobody(self):
        # The queue is the service manager's: who connects in between waits.
        proxy, port, sockets = self.served(1)
        self.assertEqual(self.get(proxy, port, "2"), ("200", ""))
        self.assertEqual(proxy.stop(), 0)
        with socket.create_connection(("127.0.0.1", port), timeout=harness.WAIT) as early:
            again = harness.Process([harness.PQEDGE, "--config", proxy.config_path],
                                    self.directory / "again.log", sockets=sockets)
            self.addCleanup(again.stop)
            early.settimeout(harness.WAIT)
            early.sendall(b"no TLS at all\r\n\r\n")
            early.recv(100)  # an alert: somebody accepted it
        self.assertEqual(self.get(proxy, port, "3"), ("200", ""))

    def test_a_socket_that_no_listener_takes_stops_the_start(self):
        stray = self.bound(harness.free_port(), socket.SOCK_STREAM)
        proxy = self.edge(NOT_FOUND, sockets=[stray], wait=False)
        self.assertEqual(proxy.process.wait(harness.WAIT), 1)
        self.assertIn(f"127.0.0.1:{stray.getsockname()[1]}", proxy.log())
        self.assertIn("no listener takes", proxy.log())

    def test_what_is_no_listening_socket_is_refused(self):
        port = harness.free_port()
        idle = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.addCleanup(idle.close)
        idle.bind(("127.0.0.1", port))
        proxy = self.edge(NOT_FOUND, sockets=[idle], wait=False)
        self.assertEqual(proxy.process.wait(harness.WAIT), 1)
        self.assertIn("neither a listening stream socket", proxy.log())


class Redirect(harness.TestCase):
    def test_only_listed_hosts_are_redirected(self):
        port = harness.free_port()
        self.edge(f'[[listener]]\naddress = "127.0.0.1:{port}"\ntls = false\n'
                  'redirect_to_https = true\nredirect_hosts = ["WWW.a.test", "*.b.test"]\n'
                  + NOT_FOUND)
        for host, status, location in (
                ("www.a.test", "308", "https://www.a.test/x?y"),
                ("WWW.A.TEST:80", "308", "https://www.a.test/x?y"),
                ("deep.er.b.test", "308", "https://deep.er.b.test/x?y"),
                ("b.test", "421", ""), (".b.test", "4", ""), ("evil.test", "421", ""),
                ("www.a.test.evil.test", "421", "")):
            with self.subTest(host=host):
                done = harness.run("curl", "-sS", "--http1.1", "-H", f"Host: {host}", "-o",
                                   "/dev/null", "-w", "%{http_code} %{redirect_url}",
                                   f"http://127.0.0.1:{port}/x?y")
                code, _, url = done.stdout.decode().partition(" ")
                self.assertTrue(code.startswith(status), code)
                self.assertEqual(url, location)


class ProxyProtocol(harness.TestCase):
    """P14: HAProxy in front, and bytes by hand."""

    def start(self, trusted="127.0.0.1"):
        self.origin = self.echo()
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route(),
                               listener_toml=f'proxy_from = ["{trusted}"]')

    def haproxy(self, option):
        port = harness.free_port()
        config = self.directory / "haproxy.cfg"
        config.write_text(
            "defaults\n mode tcp\n timeout connect 10s\n timeout client 10s\n"
            f" timeout server 10s\nlisten l\n bind 127.0.0.1:{port}\n"
            f" server e 127.0.0.1:{self.proxy.port} {option}\n")
        balancer = harness.Process(["haproxy", "-f", config], self.directory / "haproxy.log")
        self.addCleanup(balancer.kill)
        harness.wait_for(lambda: self.connects(port), "haproxy")
        return port

    def connects(self, port):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            return False

    def test_haproxy_tells_the_clients_address(self):
        self.start()
        for option in ("send-proxy", "send-proxy-v2"):
            for http in ("1.1", "2"):
                with self.subTest(option=option, http=http):
                    port = self.haproxy(option)
                    done = harness.run(
                        "curl", "-sS", f"--http{http}", "--interface", "127.0.0.9", "--cacert",
                        self.proxy.certificate.chain, "--connect-to",
                        f"localhost:{self.proxy.port}:127.0.0.1:{port}", self.proxy.url("/x"))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    head, _ = self.origin.requests[-1]
                    self.assertIn(b"X-Forwarded-For: 127.0.0.9\r\n", head)
        records = self.proxy.wait_access(4, lambda r: r["path"] == "/x")
        self.assertEqual({r["client"] for r in records}, {"127.0.0.9"})

    def test_backends_hear_of_the_client(self):
        # nginx (ngx_http_core_module, listen ... proxy_protocol) takes the header as its client's address; one request a connection.
        origin = self.nginx(listen="proxy_protocol",
                            server='location / { return 200 "$proxy_protocol_addr $connection"; }')
        for version in ("v1", "v2"):
            self.proxy = self.edge(harness.pool(origin.address, send_proxy=version) +
                                   harness.route())
            seen = set()
            for http in harness.ALL_VERSIONS:
                with self.subTest(version=version, http=http):
                    status, _, body = self.proxy.get("/", "--interface", "127.0.0.5", http=http)
                    self.assertEqual(status, 200)
                    address, connection = body.decode().split()
                    self.assertEqual(address, "127.0.0.5")
                    seen.add(connection)
            self.assertEqual(len(seen), 3)
            self.proxy.stop()

    def test_the_header_to_backends_tells_the_group(self):
        heads = []

        def serve(sock, number):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += sock.recv(4096)
            heads.append(head)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        backend = self.backend(serve)
        self.proxy = self.edge(harness.pool(backend.address, send_proxy="v2") + harness.route())
        for http in harness.ALL_VERSIONS:
            self.assertEqual(self.proxy.get("/", http=http)[0], 200)
        for head, alpn in zip(heads, (b"http/1.1", b"h2", b"h3")):
            self.assertTrue(head.startswith(b"\r\n\r\n\0\r\nQUIT\n\x21\x11"))
            size = 16 + int.from_bytes(head[14:16], "big")
            self.assertEqual(head[size : size + 4], b"GET ")
            values = head[28:size]
            self.assertIn(b"\x01\0" + bytes([len(alpn)]) + alpn, values)
            self.assertIn(b"\x26\0\x0eX25519MLKEM768", values)
            self.assertIn(b"\x21\0\x07TLSv1.3", values)

    def raw(self, head, pieces=1):
        """Sends `head`, then a TLS request: the status line, or what ended it."""
        raw = socket.create_connection(("127.0.0.1", self.proxy.port), timeout=harness.WAIT)
        self.addCleanup(raw.close)
        size = max(1, len(head) // pieces)
        for i in range(0, len(head), size):
            raw.sendall(head[i : i + size])
        context = ssl.create_default_context(cafile=str(self.proxy.certificate.chain))
        try:
            tls = context.wrap_socket(raw, server_hostname="localhost")
            tls.sendall(b"GET /raw HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return tls.recv(12)
        except (OSError, ssl.SSLError):
            return b"closed"

    def test_headers_by_hand(self):
        self.start()
        v1 = b"PROXY TCP4 192.0.2.7 198.51.100.1 4000 443\r\n"
        v2 = (b"\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x24" + bytes.fromhex("20010db8") + bytes(11) + b"\x07" +
              bytes.fromhex("20010db8") + bytes(11) + b"\x01" + b"\x0f\xa0\x01\xbb")
        local = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"
        for head, client in ((v1, "192.0.2.7"), (v2, "2001:db8::7"), (local, "127.0.0.1"),
                             (b"PROXY UNKNOWN\r\n", "127.0.0.1")):
            for pieces in (1, len(head)):
                with self.subTest(head=head, pieces=pieces):
                    before = len(self.origin.requests)
                    self.assertEqual(self.raw(head, pieces), b"HTTP/1.1 200")
                    seen, _ = self.origin.requests[before]
                    self.assertIn(b"X-Forwarded-For: %s\r\n" % client.encode(), seen)

    def test_no_header_and_bad_ones_are_closed(self):
        self.start()
        for head in (b"", b"PROXY TCP4 1.2.3.4\r\n", b"PROXY TCP4 " + b"1" * 200,
                     b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\x0c" + bytes(12)):
            with self.subTest(head=head):
                self.assertEqual(self.raw(head), b"closed")
        self.assertEqual(self.proxy.metric("pqedge_proxy_headers_refused_total"), 4)
        self.assertEqual(self.origin.requests, [])

    def test_others_are_not_believed(self):
        self.start(trusted="192.0.2.0/24")
        self.assertEqual(self.raw(b"PROXY TCP4 192.0.2.7 198.51.100.1 4000 443\r\n"), b"closed")
        self.assertEqual(self.raw(b""), b"HTTP/1.1 200")
        seen, _ = self.origin.requests[0]
        self.assertIn(b"X-Forwarded-For: 127.0.0.1\r\n", seen)


if __name__ == "__main__":
    harness.main()
