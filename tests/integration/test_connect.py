"""CONNECT by routes with a list of targets (P20), from HTTP/1.1, 2 and 3."""
# ctest: timeout=120

import socket
import threading

import harness
import websocket_clients as ws


def upper(sock, _):
    """To the end of what comes: all of it in capitals, then the end."""
    data = b""
    while more := sock.recv(65536):
        data += more
    sock.sendall(data.upper())


class Connect(harness.TestCase):
    def edge_for(self, address, **settings):
        settings.setdefault("connect", ["db.test:5432", "*.ssh.test:22", "[2001:db8::1]:*"])
        return self.edge(harness.pool(address) + harness.route(name="tunnel", **settings) +
                         harness.pool(self.echo().address, name="web") +
                         harness.route("web", name="web"))

    def http1(self, edge, target, early=b""):
        sock = edge.tls()
        self.addCleanup(sock.close)
        sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode() + early)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            more = sock.recv(1)
            if not more:
                break
            head += more
        return sock, int(head.split()[1]), head

    def test_bytes_both_ways(self):
        edge = self.edge_for(self.backend(upper).address)
        port = harness.free_port()
        edge.write_config(f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{port}"\n'
                          'tls = false\nprotocols = ["http/1.1"]\n' +
                          edge.config_path.read_text()[len(edge._head):])
        self.assertEqual(edge.reload()[0], 200)
        with socket.create_connection(("127.0.0.1", port), timeout=harness.WAIT) as sock:
            # The first bytes come with the request.
            sock.sendall(b"CONNECT db.test:5432 HTTP/1.1\r\nHost: db.test:5432\r\n\r\nselect ")
            status, fields, rest, head = harness.read_response(sock, "HEAD")
            self.assertEqual(status, 200)
            for name in (b"content-length", b"transfer-encoding", b"upgrade"):  # RFC 9110 9.3.6
                self.assertNotIn(name, head.lower())
            sock.sendall(b"one")
            sock.shutdown(socket.SHUT_WR)
            while more := sock.recv(65536):
                rest += more
            self.assertEqual(rest, b"SELECT ONE")
        for session in (ws.H2Session(edge), ws.H3Session(edge)):
            self.addCleanup(session.close)
            stream = session.open(protocol=None, authority="a.ssh.test:22")
            self.assertEqual(stream.status, 200)
            stream.raw = True
            large = b"x" * 1_000_000
            stream.send(large, end=True)
            session.wait(lambda: stream.ended)
            self.assertEqual(stream.data, large.upper())
        lines = edge.wait_access(3, where=lambda r: r["method"] == "CONNECT")
        self.assertEqual({(r["path"], r["status"], r["route"]) for r in lines},
                         {("db.test:5432", 200, "tunnel"), ("a.ssh.test:22", 200, "tunnel")})
        self.assertEqual(edge.metrics()['pqedge_tunnels_total{protocol="connect"}'], 3)

    def test_curl_through_it(self):
        web = self.nginx()
        (web.root / "page").write_text("by a tunnel")
        edge = self.edge_for(web.address, connect=["site.test:80"])
        for version in ("--proxy-http1.0", "--proxy-http2"):
            arguments = [] if version == "--proxy-http1.0" else [version]
            done = harness.run("curl", "-sS", "--proxytunnel", *arguments, "--proxy-insecure", "-x",
                               f"https://127.0.0.1:{edge.port}", "http://site.test/page")
            self.assertEqual(done.stdout, b"by a tunnel", done.stderr)

    def test_other_targets(self):
        edge = self.edge_for(self.backend(upper).address)
        for target in ("db.test:5433", "ssh.test:22", "db.test.evil:5432", "127.0.0.1:5432",
                       "[2001:db8::2]:5432"):
            sock, status, head = self.http1(edge, target, early=b"GET / HTTP/1.1\r\n\r\n")
            self.assertEqual(status, 403, target)
            # What came after it was meant for the tunnel: it is never taken for a request.
            self.assertIn(b"connection: close", head.lower())
        for session in (ws.H2Session(edge), ws.H3Session(edge)):
            self.addCleanup(session.close)
            self.assertEqual(session.open(protocol=None, authority="db.test:5433").status, 403)
            self.assertEqual(session.open(protocol=None, authority="db.test").status, 403)
            ok = session.open(protocol=None, authority="[2001:db8::1]:7")
            self.assertEqual(ok.status, 200)
            ok.cut()
        edge.wait_access(6, where=lambda r: "no route takes CONNECT" in r.get("reason", ""))

    def test_without_such_a_route_it_is_501(self):
        edge = self.edge(harness.pool(self.echo().address) + harness.route())
        self.assertEqual(self.http1(edge, "a.test:443")[1], 501)
        for session in (ws.H2Session(edge), ws.H3Session(edge)):
            self.addCleanup(session.close)
            self.assertEqual(session.open(protocol=None, authority="a.test:443").status, 501)

    def test_a_body_has_no_place(self):
        edge = self.edge_for(self.backend(upper).address)
        sock = edge.tls()
        self.addCleanup(sock.close)
        sock.sendall(b"CONNECT db.test:5432 HTTP/1.1\r\nHost: db.test:5432\r\n"
                     b"Content-Length: 5\r\n\r\nhello")
        self.assertEqual(harness.read_response(sock)[0], 400)

    def test_a_dead_server(self):
        edge = self.edge_for(f"127.0.0.1:{harness.free_port()}")
        self.assertEqual(self.http1(edge, "db.test:5432")[1], 502)
        for session in (ws.H2Session(edge), ws.H3Session(edge)):
            self.addCleanup(session.close)
            self.assertEqual(session.open(protocol=None, authority="db.test:5432").status, 502)

    def test_other_requests_go_elsewhere(self):
        edge = self.edge_for(self.backend(upper).address)
        for version in harness.ALL_VERSIONS:
            status, _, body = edge.get("/x", http=version)
            self.assertEqual(status, 200)
            self.assertIn(b"GET /x", body)

    def test_many_at_once(self):
        edge = self.edge_for(self.backend(upper).address)
        failures = []

        def one(i):
            sock, status, _ = self.http1(edge, "db.test:5432", early=b"%d" % i)
            if status != 200:
                failures.append(status)
            sock.sendall(b"abc")

        threads = [threading.Thread(target=one, args=(i,)) for i in range(50)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])
        self.assertEqual(edge.metrics()['pqedge_tunnels{protocol="connect"}'], 50)

    def test_the_recipe(self):
        text = (harness.SOURCE / "docs" / "recipes" / "connect.md").read_text()
        toml = text.split("```toml")[1].split("```")[0].replace("client_certificate = true\n", "")
        edge = self.edge(toml.replace("127.0.0.1:22", self.backend(upper).address))
        self.assertEqual(self.http1(edge, "git.example.com:22")[1], 200)
        self.assertEqual(self.http1(edge, "git.example.com:23")[1], 403)

    def test_wrong_settings_are_refused(self):
        for keys, what in (('connect = ["a.test"]', "no target of CONNECT"),
                           ('connect = ["a.test:0"]', "no target of CONNECT"),
                           ('connect = ["a_:1"]\nhosts = ["b.test"]', "has no place in a route"),
                           ('connect = ["a.test:1"]\npath = "/x"', "has no place in a route"),
                           ('connect = ["a.test:1", "a.test:1"]', "is there twice"),
                           ('methods = ["CONNECT"]', "names no target")):
            path = self.directory / "bad.toml"
            path.write_text('version = 1\n[[listener]]\naddress = "127.0.0.1:1"\ntls = false\n'
                            + harness.pool("127.0.0.1:9") + harness.route() + keys + "\n")
            done = harness.run(harness.PQEDGE, "check", path)
            self.assertNotEqual(done.returncode, 0)
            text = (done.stdout + done.stderr).decode()
            self.assertIn(what, text)
            self.assertRegex(text, r"bad\.toml:\d+:\d+")


if __name__ == "__main__":
    harness.main()
