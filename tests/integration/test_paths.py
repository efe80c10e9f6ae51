"""One canonical path for every decision, and the bytes to the backend as they came (R2, K64)."""
# ctest: timeout=120
import harness

SENT_ON = [  # arrive as they are
    "/api/a%2Fb", "/api/a;x=1/b", "/api/a%3Bb", "/api/%E2%82%AC", "/api/a//b",
    "/api/a%20b?q=%2e%2e%2f", "/api/%7Euser/%41", "/api/...", "/api/a..b", "/api/a%5Cb",
    "/ap%69/x", "//api/x", "/api/.well-known/x",
]
REFUSED = [
    "/api/../admin", "/api/..%2fadmin", "/api/%2e%2e/admin", "/api/%2E%2e%2Fadmin", "/api/.%2e/admin",
    "/api/%252e%252e%252fadmin", "/api/..%252fadmin", "/api/..%5cadmin", "/api/%2e%2e%5cadmin",
    "/api/..;/admin", "/api/..;x=1/admin", "/api/./x", "/api/%2e/x", "/api/%c0%ae%c0%ae/admin",
    "/api/..", "/api/a%00b", "/api/a%0ab", "/api/%zz", "/api/..%00/admin",
]
TOML = """
[[route]]
name = "admin"
path_prefix = "/admin"
status = 403
[[route]]
name = "api"
path_prefix = "/api"
pool = "app"
[[route]]
name = "strict"
hosts = ["strict.test"]
path_prefix = "/api"
pool = "app"
encoded_slash = "refuse"
"""


class Paths(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.proxy = self.edge(harness.pool(self.origin.address) + TOML,
                               names=("localhost", "strict.test"))

    def statuses(self, paths, http, host="localhost"):
        """By one curl, one request after the other."""
        first, *others = paths
        more = [a for p in others for a in ("-o", "/dev/null", self.proxy.url(p, host))]
        done = self.proxy.curl(first, "--path-as-is", "-g", "-w", "%{http_code}\n", *more, "-o",
                               "/dev/null", http=http, host=host)
        self.assertEqual(done.returncode, 0, done.stderr)
        codes = [int(line) for line in done.stdout.split()]
        # curl takes the URL at the end of its command line last.
        return dict(zip([*others, first], codes, strict=True))

    def seen(self):
        return [head.split(b" ", 2)[1].decode() for head, _ in self.origin.requests]

    def test_allowed_paths_arrive_unchanged(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.origin.requests.clear()
                self.assertEqual(self.statuses(SENT_ON, http), dict.fromkeys(SENT_ON, 200))
                self.assertEqual(sorted(self.seen()), sorted(SENT_ON))

    def test_even_the_case_of_hexadecimal_digits(self):  # curl writes them in upper case
        with self.proxy.tls() as sock:
            sock.sendall(b"GET /api/a%2fb%c3%a9 HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assertEqual(harness.read_response(sock)[0], 200)
        self.assertEqual(self.seen(), ["/api/a%2fb%c3%a9"])

    def test_dot_segments_in_any_spelling_are_refused(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.assertEqual(self.statuses(REFUSED, http), dict.fromkeys(REFUSED, 400))
        self.assertEqual(self.origin.requests, [])

    def test_a_rule_holds_for_every_spelling_of_its_path(self):
        spellings = ["/admin", "/%61dmin", "//admin/x", "/admin//y", "/%61%64min/x"]
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.assertEqual(self.statuses(spellings, http), dict.fromkeys(spellings, 403))

    def test_encoded_slashes_by_route(self):
        paths = ["/api/a%2Fb", "/api/a%2fb", "/api/ab"]
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.assertEqual(list(self.statuses(paths, http).values()), [200, 200, 200])
                strict = self.statuses(paths, http, "strict.test")
                self.assertEqual([strict[p] for p in paths], [400, 400, 200])


if __name__ == "__main__":
    harness.main()
