# ctest: timeout=120
"""P18: 103 Early Hints, by a route's own rules and from the backend, to clients of each version.
curl is the client: it shows each head as it comes."""

import os
import selectors
import subprocess
import tempfile
import threading
import time
import unittest

import harness
from harness import WAIT, Backend, Edge

STYLE = "</site.css>; rel=preload; as=style"
FONT = '</font.woff2>; rel="preload"; as=font; crossorigin'
BACKEND = "</of-the-backend.js>; rel=preload; as=script"

HINTS = (
    "HTTP/1.1 103 Early Hints\r\n"
    f"Link: {BACKEND}\r\n"
    "X-Told: yes\r\n"
    "Connection: x-hop\r\n"
    "X-Hop: no\r\n"
    'Alt-Svc: h3=":1"\r\n'
    "\r\n"
).encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nend"

TOML = """
[[pool]]
name = "app"
servers = ["{backend}"]
[[route]]
name = "own"
path_prefix = "/own"
pool = "app"
early_hints = ['{style}', '{font}']
[[route]]
name = "silent"
path_prefix = "/silent"
pool = "app"
pass_early_hints = false
[[route]]
name = "rest"
pool = "app"
"""


class Reader:
    """Runs curl and reads what it shows, as it comes."""

    def __init__(self, edge, path, http, *args):
        version = {"1.0": "--http1.0", "1.1": "--http1.1", "2": "--http2", "3": "--http3-only"}[http]
        self.process = subprocess.Popen(
            ["stdbuf", "-o0", "curl", "-sS", "-i", "-N", "--cacert", str(edge.certificate.chain), version,
             "--max-time", str(int(WAIT)), "--resolve", f"localhost:{edge.port}:127.0.0.1",
             *args, edge.url(path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.text = b""

    def until(self, condition):
        end = time.monotonic() + WAIT
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not condition(self.text):
                if not selector.select(max(0, end - time.monotonic())):
                    raise AssertionError(f"waited in vain; came: {self.text!r}")
                more = os.read(self.process.stdout.fileno(), 65536)
                if not more:
                    raise AssertionError(f"ended; came: {self.text!r} {self.process.stderr.read()!r}")
                self.text += more
        return self.text.decode().lower()

    def end(self):
        rest, errors = self.process.communicate(timeout=WAIT)
        assert self.process.returncode == 0, errors
        return (self.text + rest).decode().lower()


class EarlyHints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.released = threading.Event()

        def serve(sock, _):
            data = b""
            while more := sock.recv(65536):
                data += more
                while b"\r\n\r\n" in data:
                    head, _, data = data.partition(b"\r\n\r\n")
                    if b"/hints" in head.split(b"\r\n")[0]:
                        sock.sendall(HINTS)
                    if b"/wait" in head.split(b"\r\n")[0]:
                        cls.released.wait(WAIT)
                    sock.sendall(ANSWER)

        cls.backend = Backend(serve)
        cls.directory = tempfile.TemporaryDirectory()
        cls.edge = Edge(cls.directory.name, TOML.format(backend=cls.backend.address, style=STYLE,
                                                        font=FONT))

    @classmethod
    def tearDownClass(cls):
        assert cls.edge.stop() == 0, cls.edge.log()
        cls.backend.stop()
        cls.directory.cleanup()

    def heads(self, path, http, *args):
        """The heads that curl showed, each a text in lower case."""
        shown = Reader(self.edge, path, http, *args).end()
        return [h for h in shown.replace("\r\n", "\n").split("\n\n") if h.startswith("http/")]

    def test_the_route_speaks_before_the_backend(self):
        for http in ("1.1", "2", "3"):
            with self.subTest(http=http):
                self.released.clear()
                reader = Reader(self.edge, "/own/wait", http)
                before = reader.until(lambda t: b"font" in t and t.endswith(b"\r\n\r\n"))
                self.assertIn(" 103", before.split("\r\n")[0])
                self.assertIn(f"link: {STYLE}", before)
                self.assertIn(f"link: {FONT}", before)
                self.assertNotIn(" 200", before)
                self.released.set()
                after = reader.end()
                self.assertIn(" 200", after)
                self.assertTrue(after.endswith("end"))

    def test_the_backends_are_passed_on_at_once(self):
        for http in ("1.1", "2", "3"):
            with self.subTest(http=http):
                self.released.clear()
                reader = Reader(self.edge, "/hints/wait", http)
                before = reader.until(lambda t: b"\r\n\r\n" in t)
                self.assertIn(" 103", before.split("\r\n")[0])
                self.assertIn(f"link: {BACKEND}", before)
                self.assertIn("x-told: yes", before)
                for gone in ("alt-svc", "x-hop", "connection"):
                    self.assertNotIn(gone, before)
                self.released.set()
                self.assertIn(" 200", reader.end())

    def test_both(self):
        for http in ("1.1", "2", "3"):
            heads = self.heads("/own/hints", http)
            self.assertEqual([" 103" in h for h in heads], [True, True, False], heads)
            self.assertIn(STYLE, heads[0])
            self.assertIn(BACKEND, heads[1])

    def test_who_gets_none(self):
        for http in ("1.1", "2", "3"):
            for path, args in (("/own", ("-d", "x")), ("/own", ("-H", "Sec-Fetch-Mode: cors")),
                               ("/silent/hints", ()), ("/", ())):
                with self.subTest(http=http, path=path, args=args):
                    heads = self.heads(path, http, *args)
                    self.assertEqual(len(heads), 1, heads)
                    self.assertIn(" 200", heads[0])
            heads = self.heads("/own", http, "-H", "Sec-Fetch-Mode: navigate")
            self.assertEqual(len(heads), 2, heads)
        # RFC 9110 15.2: HTTP/1.0 knows no 1xx.
        for path in ("/own", "/hints"):
            heads = self.heads(path, "1.0")
            self.assertEqual(len(heads), 1, heads)

    def test_a_client_of_keep_alive_stays_in_step(self):
        done = self.edge.curl("/own/hints", self.edge.url("/own"), "-w", "%{num_connects} ",
                              http="1.1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.decode(), "end1 end0 ")

    def test_the_recipe(self):
        with tempfile.TemporaryDirectory() as directory:
            edge = Edge(directory, harness.pool(self.backend.address)
                        + harness.recipe("early-hints"), names=("www.example.com",))
            try:
                for http in ("1.1", "2", "3"):
                    shown = edge.curl("/", "-i", http=http, host="www.example.com").stdout.decode()
                    self.assertIn(" 103", shown.split("\r\n")[0])
                    self.assertIn("</site.css>; rel=preload; as=style", shown)
                    self.assertIn("<https://cdn.example.com>; rel=preconnect", shown)
            finally:
                edge.stop()

    def test_they_are_counted(self):
        own = 'pqedge_early_hints_total{source="route"}'
        theirs = 'pqedge_early_hints_total{source="backend"}'
        before = self.edge.metrics()
        self.heads("/own/hints", "2")
        after = self.edge.metrics()
        self.assertEqual(after[own] - before.get(own, 0), 1)
        self.assertEqual(after[theirs] - before.get(theirs, 0), 1)

    def test_what_is_no_link_is_refused(self):
        base = ('version = 1\n[[listener]]\naddress = "127.0.0.1:1"\ntls = false\n'
                '[[pool]]\nname = "p"\nservers = ["127.0.0.1:2"]\n[[route]]\n')
        cases = {
            "pool = 'p'\nearly_hints = ['/site.css']": "does not begin with <TARGET>",
            "pool = 'p'\nearly_hints = ['</a>; rel=preload, </b>; rel=preload']":
                "holds more than one link",
            "pool = 'p'\nearly_hints = ['</a>; as=style']": "has no rel",
            "pool = 'p'\nearly_hints = ['</a>; rel=\"preload']": "quoted text that does not end",
            "pool = 'p'\nearly_hints = ['</a b>; rel=x']": "a target that is no URL",
            "status = 204\nearly_hints = ['</a>; rel=preload']": "has no effect without a pool",
        }
        for toml, expected in cases.items():
            with self.subTest(toml=toml), tempfile.TemporaryDirectory() as d:
                path = os.path.join(d, "e.toml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(base + toml + "\n")
                done = harness.run(harness.PQEDGE, "check", path)
                text = (done.stdout + done.stderr).decode()
                self.assertNotEqual(done.returncode, 0, text)
                self.assertIn(expected, text)
                self.assertIn("e.toml:", text)
                self.assertIn("early_hints", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
