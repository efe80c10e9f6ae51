"""Which route takes a request (R1), on all versions, and that `pqedge explain` says the same."""
# ctest: timeout=120
import pathlib
import tempfile
import unittest

import harness

ROUTES = """
[[route]]
name = "blue"
hosts = ["a.test"]
path_prefix = "/api"
headers = [{ name = "x-tenant", value = "blue" }]
status = 200
body = "blue"

[[route]]
name = "api"
hosts = ["a.test"]
path_prefix = "/api"
status = 200
body = "api"

[[route]]
name = "numbers"
hosts = ["a.test"]
path_regex = "/[0-9]+"
methods = ["GET", "HEAD"]
status = 200
body = "numbers"

[[route]]
name = "wild"
hosts = ["*.test"]
path_prefix = "/w/"
status = 200
body = "wild"

[[route]]
name = "beta"
query = [{ name = "beta", regex = "[01]" }]
status = 200
body = "beta"

[[route]]
name = "inside"
client_networks = ["127.0.0.0/8"]
path_prefix = "/inside"
priority = 10
status = 200
body = "inside"

[[route]]
name = "outside"
client_networks = ["192.0.2.0/24"]
path_prefix = "/outside"
status = 200
body = "outside"
"""

# Method, target, fields, and the route that takes it.
CASES = [
    ("GET", "/api/v1", {"x-tenant": "blue"}, "blue"),
    ("GET", "/api/v1", {"x-tenant": "green"}, "api"),
    ("GET", "/api", {}, "api"),
    ("GET", "/123", {}, "numbers"),
    ("POST", "/123", {}, None),
    ("GET", "/w/x", {}, "wild"),
    ("GET", "/w", {}, None),
    ("GET", "/x?a=1&b%65ta=%31", {}, "beta"),
    ("GET", "/x?beta=2", {}, None),
    ("GET", "/inside/x?beta=1", {}, "inside"),
    ("GET", "/outside/x", {}, None),
]


def explain(*arguments):
    return harness.run(harness.PQEDGE, "explain", *arguments)


class Explain(harness.TestCase):
    def test_the_edge_and_explain_decide_the_same(self):
        edge = self.edge(ROUTES)
        for method, target, fields, route in CASES:
            extra = [x for k, v in fields.items() for x in ("-H", f"{k}: {v}")]
            with self.subTest(method=method, target=target, fields=fields):
                for version in harness.ALL_VERSIONS:
                    status, _, body = edge.get(target, "-X", method, *extra, http=version,
                                               host="a.test")
                    self.assertEqual((status, body.decode()) if route else status,
                                     (200, route) if route else 404, version)
                said = explain("-c", edge.config_path, method, f"https://a.test{target}",
                               "--client", "127.0.0.1", *extra)
                self.assertEqual(said.returncode, 0 if route else 3, said.stderr)
                taken = [line.split()[1] for line in said.stdout.decode().splitlines()
                         if line.startswith("-> ")]
                self.assertEqual(taken, [route] if route else [])

    def test_each_route_has_its_reason(self):
        edge = self.edge(ROUTES)
        said = explain("-c", edge.config_path, "GET", "https://a.test/api?beta=1", "-H",
                       "X-Tenant: blue", "--client", "198.51.100.1")
        text = said.stdout.decode()
        line = {one.split()[1 if one.startswith("->") else 0]: one
                for one in text.splitlines()[3:] if one.strip()}
        self.assertIn("takes it: answers 200", line["blue"])
        self.assertIn("\"blue\" goes before it: it asks for more", line["api"])
        self.assertIn("\"blue\" goes before it: its host is more specific", line["beta"])
        self.assertIn("its pattern \"/[0-9]+\" does not match the path", line["numbers"])
        self.assertIn("the path is not at or below its prefix \"/w/\"", line["wild"])
        self.assertIn("prefix \"/inside\"", line["inside"])
        for name in ("blue", "api", "beta"):
            self.assertRegex(line[name], r"\(.*edge\.toml:[0-9]+:[0-9]+\)")

    def test_what_cannot_be_asked_is_said(self):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "edge.toml"
            file.write_text("version = 1\n[[route]]\nname = \"a\"\nstatus = 200\nmethods = [\"get\"]\n")
            broken = explain("-c", file, "GET", "https://a.test/")
            self.assertEqual(broken.returncode, 1)
            self.assertIn(b"methods are case-sensitive", broken.stderr)
        for arguments, what in (
                (("GET", "a.test/x"), b"has no scheme"),
                (("GET", "ftp://a.test/x"), b"neither https nor http"),
                (("GET", "https://a.test/../x"), b"refused with 400"),
                (("GET", "https://a.test/", "-H", "nothing"), b"is no header field"),
                (("GET", "https://a.test/", "--client", "x"), b"is no IP address")):
            done = explain(*arguments)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(what, done.stderr)


if __name__ == "__main__":
    harness.main()
