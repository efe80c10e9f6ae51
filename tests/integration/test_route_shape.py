"""How routes change what passes: header rules, rewrites, redirects, spelling, limits, pages (R3, R4,
R5 with K50, R8, R12, R21 with K68)."""
# ctest: timeout=180
import json
import re
import threading
import wsgiref.simple_server

import harness


def head_lines(raw):
    return raw.decode("latin-1").split("\r\n")


def fields_of(raw):
    fields = {}
    for line in head_lines(raw)[1:]:
        name, _, value = line.partition(":")
        if name:
            fields.setdefault(name.lower(), []).append(value.strip())
    return fields


class Shape(harness.TestCase):
    def start(self, routes, fields=b"", **kwargs):
        self.origin = self.echo(fields=fields)
        self.proxy = self.edge(harness.pool(self.origin.address) + routes,
                               names=("localhost", "wsgi.test", "named.test", "words.test"), **kwargs)

    def target_of(self, path, *args, http="2", **kwargs):
        self.assertEqual(self.proxy.get(path, "--path-as-is", *args, http=http, **kwargs)[0], 200)
        return self.origin.requests[-1][0].split(b" ", 2)[1].decode()


class Headers(Shape):
    ROUTES = """
[headers]
response = [{ set = "X-Content-Type-Options", value = "nosniff" }]
[[route]]
name = "teapot"
path = "/teapot"
status = 418
response_headers = [{ set = "X-Made-By", value = "${route} ${status}" }]
[[route]]
name = "all"
pool = "app"
request_headers = [
  { set = "X-Client", value = "${client_ip} ${group} ${http_version} ${sni}" },
  { set = "X-Old", value = "was ${header.X-Old}" },
  { add = "X-Tag", value = "edge" },
  { set = "X-Subject", value = "${client_subject}" },
  { remove = "X-Debug-*" },
]
response_headers = [
  { set = "Strict-Transport-Security", value = "max-age=31536000" },
  { set = "Server", value = "edge" },
  { remove = "X-Powered-By" },
  { add = "X-Answer", value = "${status} of ${route} by ${pool} for ${path}" },
]
"""

    def test_both_directions_on_all_versions(self):
        self.start(self.ROUTES, fields=b"Server: old\r\nX-Powered-By: PHP\r\nX-Answer: 1\r\n")
        for http, name in (("1.1", "HTTP/1.1"), ("2", "HTTP/2"), ("3", "HTTP/3")):
            with self.subTest(http=http):
                status, fields, _ = self.proxy.get(
                    "/%61?b", "-H", "X-Old: x", "-H", "X-Tag: theirs", "-H", "X-Subject: CN=root",
                    "-H", "x-debug-a: 1", "-H", "X_Debug_B: 1", "-H", "X-Debugger: kept", http=http)
                seen = fields_of(self.origin.requests[-1][0])
                self.assertEqual(seen["x-client"], [f"127.0.0.1 X25519MLKEM768 {name} localhost"])
                self.assertEqual(seen["x-old"], ["was x"])
                self.assertEqual(seen["x-tag"], ["theirs", "edge"])
                self.assertEqual(seen["x-debugger"], ["kept"])
                for gone in ("x-subject", "x-debug-a", "x_debug_b"):
                    self.assertNotIn(gone, seen)
                self.assertEqual(status, 200)
                self.assertEqual(fields["server"], ["edge"])
                self.assertEqual(fields["strict-transport-security"], ["max-age=31536000"])
                self.assertEqual(fields["x-content-type-options"], ["nosniff"])
                self.assertEqual(fields["x-answer"], ["1", "200 of all by app for /a"])
                self.assertNotIn("x-powered-by", fields)
                # Answers of our own too.
                status, fields, _ = self.proxy.get("/teapot", http=http)
                self.assertEqual((status, fields["x-made-by"]), (418, ["teapot 418"]))
                self.assertEqual(fields["x-content-type-options"], ["nosniff"])


class Folding(Shape):
    """K50: CGI and WSGI take X_Forwarded_User for X-Forwarded-User."""

    FORGED = ["X_Forwarded_User", "x.forwarded.user", "X_Real_IP", "X.Real.IP", "X_Forwarded-For",
              "X-Authenticated_User", "X_Authenticated_User", "X.Authenticated.User", "x_team",
              "X.Team", "X-TEAM", "X_Request_ID", "Client_Cert"]
    ROUTES = """
[identity]
protected_fields = ["X-Authenticated-User"]
[[route]]
name = "wsgi"
hosts = ["wsgi.test"]
pool = "wsgi"
request_headers = [{ set = "X-Team", value = "blue" }]
[[route]]
name = "all"
pool = "app"
request_headers = [{ set = "X-Team", value = "blue" }]
"""

    def wsgi(self):
        def application(environ, start):
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps({k: v for k, v in environ.items() if k.startswith("HTTP_")}).encode()]

        class Quiet(wsgiref.simple_server.WSGIRequestHandler):
            def log_message(self, *args):
                pass

        server = wsgiref.simple_server.make_server("127.0.0.1", 0, application, handler_class=Quiet)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"127.0.0.1:{server.server_port}"

    def test_no_spelling_of_a_protected_name_arrives(self):
        self.start(harness.pool(self.wsgi(), name="wsgi") + self.ROUTES)
        forged = [a for name in self.FORGED for a in ("-H", f"{name}: forged")]
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.proxy.get("/", *forged, http=http)
                head = self.origin.requests[-1][0]
                self.assertNotIn(b"forged", head)
                self.assertEqual(fields_of(head)["x-team"], ["blue"])
                environ = json.loads(self.proxy.get("/", *forged, http=http, host="wsgi.test")[2])
                self.assertEqual(environ["HTTP_X_TEAM"], "blue")
                self.assertEqual(environ["HTTP_X_REAL_IP"], "127.0.0.1")
                self.assertNotIn("HTTP_X_AUTHENTICATED_USER", environ)
                self.assertNotIn("forged", json.dumps(environ))

    def test_nor_in_trailers(self):
        trailers = []

        def serve(sock, number):
            reader = harness.RequestReader(sock)
            reader.read()
            trailers.extend(getattr(reader, "trailers", []))
            sock.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

        origin = self.backend(serve)
        self.proxy = self.edge(harness.pool(origin.address) +
                               self.ROUTES.replace('pool = "wsgi"', 'pool = "app"'))
        forged = b"".join(n.encode() + b": forged\r\n" for n in self.FORGED)
        with self.proxy.tls() as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
                         b"1\r\nx\r\n0\r\nX-Checksum: 7\r\n" + forged + b"\r\n")
            self.assertEqual(harness.read_response(sock)[0], 204)
        self.assertEqual([t.lower() for t in trailers], [b"x-checksum: 7"])


class Rewrites(Shape):
    ROUTES = """
[[route]]
name = "strip"
path_prefix = "/api"
pool = "app"
rewrite = { strip_prefix = "/api", host = "app.internal:8080" }
response_headers = [{ set = "X-Came", value = "${authority} ${target}" }]
[[route]]
name = "replace"
path_prefix = "/old/v1"
pool = "app"
rewrite = { prefix = "/v2" }
[[route]]
name = "regex"
path_regex = "/user/([0-9]+)(/.*)?"
pool = "app"
rewrite = { path = "/users${2}?id=${1}" }
[[route]]
name = "dots"
path_regex = "/dots/(.*)-(.*)"
pool = "app"
rewrite = { path = "/x/${1}.${2}/y" }
[[route]]
name = "moved"
path_prefix = "/moved"
redirect = { to = "https://www.example.com/new${rest}", status = 301 }
[[route]]
name = "post"
path_regex = "/blog/([0-9]+)-.*"
redirect = { to = "/posts/${1}", status = 308, keep_query = false }
"""
    CASES = [
        ("/api/v1?x=1", "/v1?x=1"), ("/api", "/"), ("/api/", "/"), ("/%61pi/a%2Fb//c?q=%41",
                                                                  "/a%2Fb//c?q=%41"),
        ("/api//evil", "/evil"), ("/old/v1/x", "/v2/x"), ("/old/v1", "/v2"),
        ("/user/7", "/users?id=7"), ("/user/7/x?id=8", "/users/x?id=7&id=8"),
        ("/dots/a-b", "/x/a.b/y"),
    ]

    def test_on_all_versions(self):
        self.start(self.ROUTES)
        for http in harness.ALL_VERSIONS:
            for came, sent in self.CASES:
                with self.subTest(http=http, path=came):
                    self.assertEqual(self.target_of(came, http=http), sent)
            with self.subTest(http=http):
                _, fields, _ = self.proxy.get("/api/x", http=http)
                seen = fields_of(self.origin.requests[-1][0])
                self.assertEqual(seen["host"], ["app.internal:8080"])
                self.assertEqual(seen["x-forwarded-host"], [f"localhost:{self.proxy.port}"])
                self.assertEqual(fields["x-came"], [f"localhost:{self.proxy.port} /api/x"])
                # A template makes no path that no client may send.
                count = len(self.origin.requests)
                self.assertEqual(self.proxy.get("/dots/-", http=http)[0], 400)
                self.assertEqual(len(self.origin.requests), count)
        records = self.proxy.wait_access(1, lambda r: r["path"] == "/user/7/x?id=8")
        self.assertEqual(records[0]["route"], "regex")

    def test_redirects_keep_the_rest_and_the_query(self):
        self.start(self.ROUTES)
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                status, fields, _ = self.proxy.get("/moved/a%2Fb/c?x=1&y", http=http)
                self.assertEqual(status, 301)
                self.assertEqual(fields["location"], ["https://www.example.com/new/a%2Fb/c?x=1&y"])
                status, fields, _ = self.proxy.get("/moved", http=http)
                self.assertEqual(fields["location"], ["https://www.example.com/new"])
                status, fields, _ = self.proxy.get("/blog/7-hello?x", "-d", "body", http=http)
                self.assertEqual((status, fields["location"]), (308, ["/posts/7"]))
        self.assertEqual(self.origin.requests, [])


class Spelling(Shape):
    """K68: what old HTTP/1.1 devices want."""

    ROUTES = """
[[route]]
name = "named"
hosts = ["named.test"]
pool = "app"
header_names = ["X-CamelCase", "SOAPAction", "X-OLDDevice"]
[[route]]
name = "words"
hosts = ["words.test"]
pool = "app"
header_case = "words"
[[route]]
name = "all"
pool = "app"
"""

    def names(self, host, http):
        done = self.proxy.curl("/", "-D", "-", "-o", "/dev/null", "-H", "X-CamelCase: 1", "-H",
                               "soapaction: 2", "-H", "x-other-one: 3", http=http, host=host)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = [line.split(":")[0] for line in head_lines(self.origin.requests[-1][0])]
        got = [line.split(":")[0] for line in head_lines(done.stdout)]
        return seen, got

    def test_names_by_route(self):
        self.start(self.ROUTES, fields=b"x-olddevice: 1\r\nX-KeptCase: 1\r\n")
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                first = http == "1.1"
                seen, got = self.names("localhost", http)
                self.assertIn("X-CamelCase" if first else "x-camelcase", seen)
                self.assertIn("X-KeptCase" if first else "x-keptcase", got)
                seen, got = self.names("named.test", http)
                self.assertIn("X-CamelCase", seen)
                self.assertIn("SOAPAction", seen)
                self.assertIn("x-other-one", seen)
                self.assertIn("X-OLDDevice" if first else "x-olddevice", got)
                seen, got = self.names("words.test", http)
                self.assertIn("X-Other-One", seen)
                self.assertIn("Soapaction", seen)
                self.assertIn("User-Agent", seen)
                self.assertIn("X-Olddevice" if first else "x-olddevice", got)
                self.assertIn("X-KeptCase" if first else "x-keptcase", got)


class Switching(harness.TestCase):
    def test_a_length_with_101_for_the_devices_that_want_one(self):  # K68
        def serve(sock, number):
            reader = harness.RequestReader(sock)
            head, _ = reader.read()
            if b"websocket" in head:
                sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                             b"Connection: Upgrade\r\nContent-Length: 0\r\n"
                             b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nhello")
                sock.recv(1)
            else:
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        rule = "response_headers = [{ set = \"Content-Length\", value = \"0\" }]\n"
        proxy = self.edge(harness.pool(self.backend(serve).address) + harness.route() +
                          harness.route(name="old", path_prefix="/old") + rule)
        upgrade = (b"Host: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                   b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        for path, length in ((b"/old", ["0"]), (b"/", None)):
            with self.subTest(path=path), proxy.tls() as sock:
                sock.sendall(b"GET " + path + b" HTTP/1.1\r\n" + upgrade)
                status, fields, rest, _ = harness.read_response(sock)
                self.assertEqual((status, fields.get("content-length")), (101, length))
                while len(rest) < 5:
                    rest += sock.recv(100)
                self.assertEqual(rest, b"hello")
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):  # any other answer keeps its own
                status, fields, body = proxy.get("/old", http=http)
                self.assertEqual((status, fields["content-length"], body), (200, ["2"], b"ok"))


class Recipe(Shape):
    def test_the_recipe_for_old_peers(self):
        text = (harness.SOURCE / "docs/recipes/old-http1-peers.md").read_text()
        self.origin = self.echo()
        toml = re.search(r"```toml\n(.*?)```", text, re.S).group(1)
        self.assertIn("127.0.0.1:9000", toml)
        self.proxy = self.edge(toml.replace("127.0.0.1:9000", self.origin.address))
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.proxy.get("/", "-H", "soapaction: 1", "-H", "x-camelcase: 1", "-H",
                               "x-other-one: 1", http=http)
                seen = [line.split(":")[0] for line in head_lines(self.origin.requests[-1][0])]
                for name in ("SOAPAction", "X-CamelCase", "X-Other-One", "Host"):
                    self.assertIn(name, seen)


class Limits(Shape):
    ROUTES = """
[[route]]
name = "small"
path_prefix = "/small"
pool = "app"
max_head = "2KiB"
max_body = "1KiB"
[[route]]
name = "all"
pool = "app"
"""

    def test_sizes_by_route(self):
        self.start(self.ROUTES)
        big = "x" * 3000
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.assertEqual(self.proxy.get("/small", http=http)[0], 200)
                count = len(self.origin.requests)
                self.assertEqual(self.proxy.get("/small", "-H", f"X-Big: {big}", http=http)[0], 431)
                self.assertEqual(self.proxy.get("/small", "-d", big, http=http)[0], 413)
                self.assertEqual(self.proxy.get("/small", "-d", big, "-H", "Content-Length:", "-H",
                                                "Transfer-Encoding: chunked", http="1.1")[0], 413)
                self.assertEqual(len(self.origin.requests), count)
                self.assertEqual(self.proxy.get("/", "-H", f"X-Big: {big}", "-d", big, http=http)[0],
                                 200)


class Pages(Shape):
    def test_pages_by_route_and_status(self):
        def failing(sock, number):
            reader = harness.RequestReader(sock)
            while reader.read() is not None:
                sock.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 7\r\nX-Backend: 1\r\n\r\nbackend")

        page = self.directory / "sorry.html"
        page.write_text("<p>${status} ${reason} ${request_id} ${other}</p>")
        (self.directory / "robots.txt").write_text("User-agent: *\n")
        self.start(harness.pool(self.backend(failing).address, name="failing") +
                   harness.pool("127.0.0.1:1", name="dead") + """
[[error_page]]
status = "5xx"
file = "sorry.html"
[[error_page]]
status = [404, 503]
routes = ["shop"]
body = "shop ${status}"
backend_errors = true
content_type = "text/x-shop"
[[error_page]]
status = 404
body = "nothing here"
[[route]]
name = "shop"
path_prefix = "/shop"
pool = "failing"
[[route]]
name = "plain"
path_prefix = "/plain"
pool = "failing"
[[route]]
name = "dead"
path_prefix = "/dead"
pool = "dead"
[[route]]
name = "gone"
path_prefix = "/gone"
status = 404
[[route]]
name = "robots"
path = "/robots.txt"
status = 200
body_file = "robots.txt"
""")
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                status, fields, body = self.proxy.get("/shop", http=http)
                self.assertEqual((status, body), (503, b"shop 503"))
                self.assertEqual(fields["content-type"], ["text/x-shop"])
                self.assertNotIn("x-backend", fields)
                status, fields, body = self.proxy.get("/plain", http=http)
                self.assertEqual((status, body), (503, b"backend"))
                status, fields, body = self.proxy.get("/dead", http=http)
                request_id = fields["x-request-id"][0]
                self.assertEqual(body.decode(), f"<p>502 Bad Gateway {request_id} ${{other}}</p>")
                self.assertEqual(fields["content-type"], ["text/html; charset=utf-8"])
                for path in ("/gone", "/nowhere"):
                    self.assertEqual(self.proxy.get(path, http=http)[::2], (404, b"nothing here"))
                status, fields, body = self.proxy.get("/robots.txt", http=http)
                self.assertEqual((status, body), (200, b"User-agent: *\n"))
                status, fields, body = self.proxy.get("/shop", "-I", http=http)
                self.assertEqual((status, fields["content-length"], body[-4:]),
                                 (503, ["8"], b"\r\n\r\n"))
        page.write_text("new")
        self.assertEqual(self.proxy.reload()[0], 200)
        self.assertEqual(self.proxy.get("/dead")[2], b"new")
        page.unlink()
        status, text = self.proxy.reload()
        self.assertEqual(status, 422)
        self.assertIn("error_page[0].file: cannot read", text)


if __name__ == "__main__":
    harness.main()
