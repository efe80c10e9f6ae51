"""Canaries and blue-green (R13), with the configurations of their recipes."""
# ctest: timeout=180
import json
import re

import harness


def recipe(name, **addresses):
    """The configuration in docs/recipes/NAME.md, with the addresses of this test."""
    text = (harness.SOURCE / "docs" / "recipes" / f"{name}.md").read_text()
    toml = "\n".join(re.findall(r"```toml\n(.*?)```", text, re.S))
    for old, new in addresses.items():
        port = old.removeprefix("port_")
        assert f"127.0.0.1:{port}" in toml
        toml = toml.replace(f"127.0.0.1:{port}", new)
    return toml


class Canary(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.failing = False
        self.stable = self.backend(lambda sock, number: self.serve(sock, b"stable"))
        self.next = self.backend(lambda sock, number: self.serve(sock, b"next"))

    def serve(self, sock, name):
        reader = harness.RequestReader(sock)
        while reader.read() is not None:
            status = b"500 Broken" if self.failing and name == b"next" else b"200 OK"
            sock.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(name) + 1,
                                                                         name + b"\n"))

    def start(self, name, extra=("", "")):
        self.toml = recipe(name, port_9000=self.stable.address, port_9100=self.next.address)
        self.toml = self.toml.replace(*extra)
        self.proxy = self.edge(self.toml, workers=2)

    def canary(self):
        status, body = self.proxy.control_request("/canaries", method="GET")
        self.assertEqual(status, 200)
        return json.loads(body)[0]

    def set_share(self, percent):
        return self.proxy.control_request(f"/canaries/app?percent={percent}")

    def sides(self, count, *args, http="2"):
        """Who answered, by one curl on one connection."""
        more = [self.proxy.url("/")] * (count - 1)
        done = self.proxy.curl("/", *more, *args, http=http)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = done.stdout.decode().split()
        self.assertEqual(len(names), count)
        return names

    def test_the_share_follows_the_control_socket(self):
        self.start("canary", ('sticky_cookie = "side"', ""))
        self.assertEqual(self.canary()["percent"], 5)
        self.assertEqual(self.canary()["state"], "on")
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.assertEqual(self.set_share("100")[0], 200)
                self.assertEqual(set(self.sides(10, http=http)), {"next"})
                self.assertEqual(self.set_share("0")[0], 200)
                self.assertEqual(set(self.sides(10, http=http)), {"stable"})
                self.assertEqual(self.canary()["state"], "off")
                # 200 draws at a half: that one side has none is impossible (2^-199).
                self.assertEqual(self.set_share("50")[0], 200)
                self.assertEqual(set(self.sides(200, http=http)), {"next", "stable"})
                # Testers choose, whatever the share is.
                self.assertEqual(set(self.sides(10, "-H", "X-Canary: never", http=http)), {"stable"})
                self.assertEqual(set(self.sides(10, "-H", "X-Canary: always", http=http)), {"next"})
        self.assertEqual(self.set_share("101")[0], 422)
        self.assertEqual(self.set_share("x")[0], 422)
        self.assertEqual(self.proxy.control_request("/canaries/none?percent=1")[0], 422)
        self.assertIn(self.proxy.admin("/canaries/app?percent=1", method="POST")[0], (401, 403, 404))

    def test_a_client_keeps_its_side(self):
        self.start("canary")
        self.set_share("50")
        jar = self.directory / "jar"
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                jar.unlink(missing_ok=True)
                self.assertEqual(len(set(self.sides(20, "-b", jar, "-c", jar, http=http))), 1)
                number = int(re.search(r"\tside\t(\d+)", jar.read_text()).group(1))
                self.assertIn("#HttpOnly_localhost", jar.read_text())
                # The share rises past its number: it is on the canary, and stays there.
                self.set_share(f"{(number // 100) + 1}")
                self.assertEqual(set(self.sides(5, "-b", f"side={number}", http=http)), {"next"})
                self.set_share(f"{number // 100}.00" if number % 100 else "0")
                self.assertEqual(set(self.sides(5, "-b", f"side={number}", http=http)), {"stable"})
                self.set_share("50")

    def test_errors_roll_back(self):
        self.start("canary", ('sticky_cookie = "side"', ""))
        always = ("-H", "X-Canary: always")
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.failing = False
                self.assertEqual(self.set_share("100")[0], 200)
                self.sides(60, http=http)
                self.failing = True
                # 60 good ones: the seventh failure is 10 of a hundred.
                self.assertEqual(self.sides(6, http=http), ["next"] * 6)
                self.assertEqual(self.canary()["state"], "on")
                self.assertEqual(self.sides(2, http=http), ["next", "stable"])
                self.assertEqual(self.canary()["state"], "rolled_back")
                self.assertEqual(self.canary()["window_errors"], 7)
                self.assertEqual(set(self.sides(10, http=http)), {"stable"})
                self.assertEqual(set(self.sides(2, *always, http=http)), {"next"})
        self.assertIn("route app: rolled back", self.proxy.log())
        self.assertEqual(self.proxy.metric("pqedge_canary_rollbacks_total"), 3)

    def test_what_was_set_by_hand_survives_a_reload_of_the_same_file(self):
        self.start("canary")
        self.set_share("42.5")
        self.proxy.write_config(self.toml + '[[route]]\nname = "x"\npath = "/x"\nstatus = 204\n')
        self.assertEqual(self.proxy.reload()[0], 200)
        self.assertEqual(self.canary()["percent"], 42.5)
        self.proxy.write_config(self.toml.replace("percent = 5", "percent = 7"))
        self.assertEqual(self.proxy.reload()[0], 200)
        self.assertEqual(self.canary()["percent"], 7)

    def test_blue_green(self):
        self.start("blue-green")
        with self.proxy.tls() as sock:
            for percent, name in (("0", b"stable"), ("100", b"next"), ("0", b"stable")):
                self.assertEqual(self.set_share(percent)[0], 200)
                sock.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
                _, fields, body, _ = harness.read_response(sock)
                self.assertEqual(body.strip(), name)
                self.assertEqual(fields["x-pool"], ["green" if name == b"next" else "blue"])
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.assertEqual(self.sides(1, "-H", "X-Green: always", http=http), ["next"])


if __name__ == "__main__":
    harness.main()
