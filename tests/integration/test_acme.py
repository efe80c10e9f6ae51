"""ACME against a CA that fails in each way, renewal information, on-demand issuance (T9; K11, K13)."""
# ctest: timeout=180

import concurrent.futures
import http.server
import os
import re
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

import harness
from acme_ca import AcmeCa
from cryptography import x509


class AskServer:
    """The operator's URL: allows names that `allow` says; counts what it was asked."""

    def __init__(self, allow):
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
                name = query["domain"][0]
                outer.asked.append(name)
                self.send_response(200 if allow(name) else 403)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/allowed"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Acme(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.http_port = harness.free_port()
        self.ca = AcmeCa(self.directory, self.http_port)
        self.addCleanup(self.ca.stop)
        self.storage = self.directory / "acme"

    def start(self, names=("a.test",), extra="", tables="", name="edge", **kwargs):
        folder = self.directory / name
        folder.mkdir(exist_ok=True)
        certificates = "".join(
            f'[[certificate]]\nnames = {list(n if isinstance(n, tuple) else (n,))!r}\nacme = true\n'
            for n in names).replace("'", '"')
        plain = (f'[[listener]]\nname = "http"\naddress = "127.0.0.1:{self.http_port}"\ntls = false\n'
                 "redirect_to_https = true\n") if name == "edge" else ""
        toml = (f"{plain}{certificates}[acme]\ndirectory = \"{self.ca.directory}\"\n"
                f'email = "admin@a.test"\naccept_terms = true\nstorage = "{self.storage}"\n'
                f'ca_file = "{self.ca.root_file}"\nretry_min = "100ms"\nretry_max = "300ms"\n'
                f"{extra}\n{tables}\n"
                '[[route]]\nname = "all"\nstatus = 200\nbody = "hello"\n')
        edge = harness.Edge(folder, toml, names=("default.test",), **kwargs)
        self.addCleanup(self._end_edge, edge)
        return edge

    def served(self, edge, name):
        """The certificate that a client gets."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", edge.port), timeout=harness.WAIT) as raw:
            with context.wrap_socket(raw, server_hostname=name) as tls:
                return x509.load_der_x509_certificate(tls.getpeercert(True))

    def wait_served(self, edge, name, number):
        """Until the CA's certificate of that number is in use."""
        harness.wait_for(
            lambda: len(self.ca.certificates) > number and
            self.served(edge, name) == self.ca.certificates[number],
            f"certificate {number} of {name}\n{edge.log()}")

    def wait_log(self, edge, text, count=1):
        harness.wait_for(lambda: edge.log().count(text) >= count, f"{text!r} in the log")

    def test_issues_stores_and_survives_a_restart(self):
        edge = self.start(names=("a.test", ("b.test", "c.test")), workers=3)
        harness.wait_for(lambda: len(self.ca.certificates) == 2, "two certificates")
        for name in ("a.test", "b.test", "c.test"):
            harness.wait_for(lambda name=name: self.served(edge, name) in self.ca.certificates, name)
        done = harness.run(
            "curl", "-sS", "--cacert", self.ca.root_file, "--http3-only", "--resolve",
            f"c.test:{edge.port}:127.0.0.1", f"https://c.test:{edge.port}/")
        self.assertEqual(done.stdout, b"hello", done.stderr)
        self.assertEqual(edge.metric('pqedge_acme_orders_total{result="issued"'), 2)
        self.assertGreaterEqual(edge.metric("pqedge_acme_challenges_answered_total"), 3)
        files = [p for p in self.storage.rglob("*") if p.is_file() and p.suffix != ".lock"]
        self.assertEqual(len(files), 4, files)
        for f in files:
            self.assertEqual(f.stat().st_mode & 0o777, 0o600, f)
        # What is not a challenge of ours is redirected as ever.
        with socket.create_connection(("127.0.0.1", self.http_port)) as c:
            c.sendall(b"GET /.well-known/acme-challenge/other HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assertEqual(harness.read_response(c)[0], 308)
        self.assertNotIn("PRIVATE", edge.log())
        self.assertEqual(edge.stop(), 0)

        edge = self.start(names=("a.test", ("b.test", "c.test")))
        self.assertIn(self.served(edge, "a.test"), self.ca.certificates)
        self.assertIn(self.served(edge, "b.test"), self.ca.certificates)
        # A reload brings a further name, and orders for that alone.
        edge.write_config(edge.config_path.read_text().removeprefix(edge._head).replace(
            "[acme]", '[[certificate]]\nnames = ["d.test"]\nacme = true\n[acme]'))
        self.assertEqual(edge.reload()[0], 200)
        harness.wait_for(lambda: self.served(edge, "d.test") in self.ca.certificates, "d.test")
        self.assertEqual([o["names"] for o in self.ca.orders[2:]], [["d.test"]])

    def test_renews_by_share_of_the_lifetime(self):
        self.ca.lifetime = 4  # seconds: a rule of days would renew it never, or all the time
        edge = self.start()
        self.wait_served(edge, "a.test", 0)
        first = time.monotonic()
        self.wait_served(edge, "a.test", 1)
        # With a third left, less a twentieth of that; what a busy machine adds is not told apart.
        self.assertGreater(time.monotonic() - first, 1)
        self.assertEqual(edge.metric("pqedge_acme_failing"), 0)

    def test_a_window_in_the_past_renews_once_and_at_once(self):
        # K11: 6-minute certificates, and a CA that says "now" of every one of them.
        self.ca.lifetime = 360
        self.ca.window = lambda number: (time.time() - 7200, time.time() - 3600)
        edge = self.start()
        self.wait_served(edge, "a.test", 1)
        self.wait_log(edge, "the CA wants the certificate renewed", 2)
        # The first at once, but for a hundredth of its lifetime; the second not before a sixth.
        waits = [int(s) for s in re.findall(r"wants the certificate renewed in (\d+) s", edge.log())]
        self.assertLessEqual(waits[0], 4)
        self.assertGreaterEqual(waits[1], 50)
        self.assertEqual(len(self.ca.orders), 2)
        self.assertEqual(self.ca.replaces, [None, self.ca.renewal_id(0)])
        self.assertEqual(edge.metric('pqedge_acme_orders_total{result="issued"'), 2)

    def test_a_window_to_come_is_obeyed(self):
        self.ca.lifetime = 360
        start = time.time()
        self.ca.window = lambda number: (start + 1, start + 2) if number == 0 else \
            (start + 300, start + 310)
        edge = self.start()
        self.wait_served(edge, "a.test", 1)
        self.assertGreaterEqual(time.time(), int(start + 1))
        self.assertEqual(len(self.ca.orders), 2)

    def test_a_ca_that_fails_in_every_way(self):
        """The old certificate is kept, an alarm raised, memory bounded; then it works again."""
        # Of that certificate a tenth of the lifetime is left: not renewed as soon as it is issued,
        # but after a restart.
        self.ca.lifetime, self.ca.backdate = 400, 3600
        edge = self.start(extra='timeout = "1s"')
        self.wait_served(edge, "a.test", 0)
        self.wait_log(edge, "renewal in")
        self.assertEqual(edge.stop(), 0)
        self.assertEqual(len(self.ca.orders), 1)
        self.ca.faults = {"/directory": "500"}
        stored = next(self.storage.rglob("a.test.pem"))
        kept = stored.read_bytes()
        edge = self.start(extra='timeout = "1s"')
        faults = [
            ({"/directory": "hang"}, "the CA cannot be reached"),
            ({"/directory": "garbage"}, "is no ACME directory: the answer is not JSON"),
            ({"/directory": "deep"}, "nested"),
            ({"/nonce": "500"}, "no nonce from the CA: status 500"),
            ({"/order": "500"}, "the CA has a fault of its own (serverInternal): the database"),
            ({"/order": "html"}, "the order: the answer is not JSON"),
            ({"/order": "huge"}, "longer than"),
            ({"/order": "nonce"}, "badNonce"),
            ({"/authz": "empty"}, "the answer is not JSON"),
            ({"/challenge": "close"}, "/challenge/"),
            ({"/finalize": "429"}, "rateLimited): too many certificates"),
            ({"/finalize": "lie"}, "what the CA issued is not for a.test"),
            ({"/cert": "garbage"}, "what the CA issued"),
            ({"/cert": "hang"}, "/cert/"),
        ]
        self.ca.retry_after = 1
        before = edge.memory_kib()
        for fault, text in faults:
            known = edge.log().count(text)
            self.ca.faults = fault
            try:
                harness.wait_for(lambda: edge.log().count(text) > known, text)
            except AssertionError as e:
                raise AssertionError(f"{e}\n{edge.log()[-3000:]}") from None
            self.assertEqual(self.served(edge, "a.test"), self.ca.certificates[0], fault)
            self.assertEqual(edge.metric("pqedge_acme_failing"), 1)
        self.assertLess(edge.memory_kib(), before + 20_000)
        self.assertIn("the old certificate is kept (valid for another", edge.log())
        self.assertEqual(stored.read_bytes(), kept)
        issued = len(self.ca.certificates)
        self.ca.faults, self.ca.lifetime, self.ca.backdate = {}, 86400, 0
        harness.wait_for(lambda: len(self.ca.certificates) > issued, "a certificate")
        harness.wait_for(lambda: self.served(edge, "a.test") == self.ca.certificates[-1], "its use")
        harness.wait_for(lambda: edge.metric("pqedge_acme_failing") == 0, "the end of the alarm")
        self.assertNotEqual(stored.read_bytes(), kept)

    def test_retry_after_is_obeyed_and_the_name_is_served_meanwhile(self):
        self.ca.faults = {"/order": "429"}
        self.ca.retry_after = 4000
        edge = self.start()
        self.wait_log(edge, "next attempt in 67 min")
        self.assertEqual(edge.metric("pqedge_acme_failing"), 1)
        own = self.served(edge, "a.test")  # of our own making, until the CA's is there
        self.assertEqual(own.issuer, own.subject)
        attempts = sum(p == "/order" for _, p in self.ca.requests)
        self.assertEqual(attempts, 1)

    def test_a_failed_check_is_said_in_plain_words(self):
        self.ca.http_port = harness.free_port()  # nobody is there

        def look(order, i):
            return False

        self.ca._look = look
        edge = self.start()
        self.wait_log(edge, "a.test: the CA's check failed: the CA's check got a wrong answer")
        self.wait_log(edge, "(incorrectResponse): the answer was another")
        # It is tried again, not only when there is a certificate to be renewed.
        self.wait_log(edge, "a.test: no certificate", 3)
        del self.ca._look
        self.ca.http_port = self.http_port
        self.wait_served(edge, "a.test", 0)
        harness.wait_for(lambda: edge.metric("pqedge_acme_failing") == 0, "the end of the alarm")

    def test_processes_share_a_folder(self):
        self.ca.http_port = None  # only one of them has the port
        with concurrent.futures.ThreadPoolExecutor() as pool:
            first = pool.submit(self.start)
            second = pool.submit(self.start, name="second")
            edges = [first.result(), second.result()]
        for edge in edges:
            self.wait_served(edge, "a.test", 0)
        self.assertEqual(len(self.ca.orders), 1)

    def test_a_full_folder_is_said_before_the_ca_is_asked(self):
        self.start().stop()  # an account, and perhaps a certificate
        folder = next(self.storage.iterdir()) / "certificates"
        for f in folder.iterdir():
            f.unlink()
        orders = len(self.ca.orders)
        # Files larger than this cannot be written: the certificate's room cannot be had.
        limited = self.directory / "limited"
        limited.write_text(f'#!/bin/bash\nulimit -f 40\nexec "{os.path.abspath(harness.PQEDGE)}" "$@"\n')
        limited.chmod(0o755)
        program, harness.PQEDGE = harness.PQEDGE, str(limited)
        try:
            edge = self.start(extra="", tables='[logging]\nlevel = "info"\n')
        finally:
            harness.PQEDGE = program
        self.wait_log(edge, "cannot write")
        self.assertIn("File too large", edge.log())
        self.assertEqual(len(self.ca.orders), orders)
        self.assertEqual([f.name for f in folder.iterdir() if f.suffix == ".new"], [])

    # ---- on demand -------------------------------------------------------------------------------

    def on_demand(self, ask, **settings):
        lines = [f'ask = "{ask.url}"'] + [f"{k} = {v}" for k, v in settings.items()]
        return "[acme.on_demand]\n" + "\n".join(lines)

    def ask_server(self, allow):
        ask = AskServer(allow)
        self.addCleanup(ask.stop)
        return ask

    def test_a_new_name_waits_for_its_certificate(self):
        ask = self.ask_server(lambda name: name.startswith("good"))
        edge = self.start(names=(), tables=self.on_demand(ask), workers=2)
        for name, version in (("good1.test", "--http2"), ("good2.test", "--http3-only")):
            done = harness.run(
                "curl", "-sS", "--cacert", self.ca.root_file, version, "--resolve",
                f"{name}:{edge.port}:127.0.0.1", f"https://{name}:{edge.port}/")
            self.assertEqual(done.stdout, b"hello", done.stderr.decode() + edge.log())
        self.assertEqual(ask.asked, ["good1.test", "good2.test"])
        # A refused one gets what there is, and is not asked about again.
        for _ in range(3):
            self.assertEqual(self.served(edge, "bad.test").subject.rfc4514_string(),
                             "CN=default.test")
        self.assertEqual(ask.asked.count("bad.test"), 1)
        # Many clients, one question, one order.
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            got = list(pool.map(lambda _: self.served(edge, "good3.test"), range(20)))
        self.assertEqual(set(got), {self.ca.certificates[-1]})
        self.assertEqual(ask.asked.count("good3.test"), 1)
        self.assertEqual(len(self.ca.orders), 3)
        # They are there after a restart, without a question.
        self.assertEqual(edge.stop(), 0)
        asked = len(ask.asked)
        edge = self.start(names=(), tables=self.on_demand(ask))
        self.assertIn(self.served(edge, "good1.test"), self.ca.certificates)
        self.assertEqual(len(ask.asked), asked)

    def test_a_deadline_ends_the_wait(self):
        self.ca.faults = {"/finalize": "hang"}
        ask = self.ask_server(lambda name: True)
        edge = self.start(names=(), tables=self.on_demand(ask, wait='"500ms"'))
        began = time.monotonic()
        self.assertEqual(self.served(edge, "slow.test").subject.rfc4514_string(), "CN=default.test")
        self.assertGreaterEqual(time.monotonic() - began, 0.5)
        # The worker went on with others meanwhile, and goes on.
        self.assertEqual(edge.get("/", host="default.test")[0], 200)

    def test_scanners_do_not_get_certificates_without_end(self):
        # K13.
        ask = self.ask_server(lambda name: name == "www.customer.test")
        edge = self.start(names=(), workers=2,
                          tables=self.on_demand(ask, asks_per_minute=20, max_names=5))
        names = [".".join(["www"] * (i % 12)) + f"{'.' if i % 12 else ''}n{i}.test"
                 for i in range(970)]
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE

        def hello(name):
            with socket.create_connection(("127.0.0.1", edge.port), timeout=harness.WAIT) as raw:
                with context.wrap_socket(raw, server_hostname=name):
                    pass

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(hello, ["www.customer.test"] + names + [None] * 24))
        for address in ("127.0.0.1", "10.0.0.1", "::1", "[::1]", "*.a.test", "localhost"):
            harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                        address, stdin=subprocess.DEVNULL)
        # What a minute allows, and what a slow machine adds to a minute.
        self.assertLessEqual(len(ask.asked), 20 + 20)
        self.assertEqual(len(ask.asked), len(set(ask.asked)))
        for name in ask.asked:
            self.assertRegex(name, r"^[a-z0-9-]+(\.[a-z0-9-]+){1,9}$")
            self.assertIsNone(re.fullmatch(r"[0-9.]+", name))
        self.assertEqual([o["names"] for o in self.ca.orders], [["www.customer.test"]])
        turned_away = sum(edge.metric(f'pqedge_acme_on_demand_total{{verdict="{verdict}"')
                          for verdict in ("limited", "full", "bad name"))
        self.assertGreater(turned_away, 900)
        self.assertEqual(self.served(edge, "www.customer.test"), self.ca.certificates[0])


if __name__ == "__main__":
    harness.main()
