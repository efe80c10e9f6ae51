"""OCSP stapling (T8, K14): openssl's responder, responders that lie, hang or are gone, restarts."""
# ctest: timeout=180

import contextlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import harness
import revocation


class Ocsp(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.authority = revocation.Authority(self.directory)
        self.cache = self.directory / "ocsp"
        self.cache.mkdir()
        self.origin = self.echo()

    def responder(self, respond):
        server = revocation.WebServer(respond)
        self.addCleanup(server.stop)
        return server

    def good_responder(self, **times):
        """Answers about every certificate of the authority."""
        def respond(method, path, body):
            serial = revocation.asked_for(method, path, body)
            return 200, {}, self.authority.answer(self.authority.issued[serial], **times)
        return self.responder(respond)

    def openssl_responder(self, port, *issued, revoked=()):
        """`openssl ocsp` on `port`, which knows these certificates."""
        index = self.directory / "index.txt"
        lines = []
        for i in issued:
            serial = f"{i.serial:X}"
            serial = serial if len(serial) % 2 == 0 else "0" + serial
            lines.append(f"R\t361231235959Z\t261101000000Z,keyCompromise\t{serial}\tunknown\t/CN=x\n"
                         if i in revoked else f"V\t361231235959Z\t\t{serial}\tunknown\t/CN=x\n")
        index.write_text("".join(lines))
        process = harness.Process(
            ["openssl", "ocsp", "-index", index, "-CA", self.authority.file, "-rsigner",
             self.authority.file, "-rkey", self.authority.key_file, "-port", port,
             "-nmin", "10"], self.directory / "ocsp.log")
        self.addCleanup(process.kill)

        # Not by connecting: one that goes without a question holds this responder for ever.
        harness.wait_for(lambda: "waiting for OCSP client connections" in process.log(),
                         "openssl ocsp")
        return process

    def start(self, *issued, tls="", cached=True, **kwargs):
        toml = harness.pool(self.origin.address) + harness.route()
        toml += "[tls]\nocsp_local_responders = true\nocsp_retry = \"1s\"\nocsp_timeout = \"1s\"\n"
        if cached:
            toml += f'ocsp_cache_dir = "{self.cache}"\n'
        toml += tls
        toml += "".join(i.toml() for i in issued)
        return self.edge(toml, names=("localhost",), **kwargs)

    def staple(self, edge, host, *args):
        """What openssl's client is told: "good", "revoked", or "" where there is no response."""
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                           host, "-status", "-CAfile", self.authority.file, *args, input=b"")
        text = done.stdout.decode("latin-1")
        self.assertIn("Verify return code: 0 (ok)", text)
        if "OCSP response: no response sent" in text:
            return ""
        self.assertIn("OCSP Response Status: successful", text)
        return text.split("Cert Status: ")[1].split()[0]

    def status(self, edge, issued):
        _, text = edge.control_request("/status", "GET")
        for entry in json.loads(text)["stapling"]:
            if entry["certificate"] == str(issued.chain):
                return entry["ocsp"]
        return None

    def wait_stapled(self, edge, count=1):
        harness.wait_for(lambda: edge.metric("pqedge_ocsp_stapled_certificates") == count,
                         "the responses")
        # The workers have them a moment later.
        harness.wait_for(lambda: self.settled(edge), "the responses to reach the workers")

    def settled(self, edge):
        _, text = edge.control_request("/status", "GET")
        stapled = sum(e["ocsp"]["stapled"] for e in json.loads(text)["stapling"])
        return stapled == edge.metric("pqedge_ocsp_stapled_certificates")

    def lines(self, edge, issued):
        """What was said of a certificate's responses."""
        return [l for l in edge.log().splitlines() if " ocsp: " in l and str(issued.chain) in l]

    def wait_line(self, edge, text, count=1):
        harness.wait_for(lambda: edge.log().count(text) >= count, f"{text!r} in the log")

    def wait_staple(self, edge, host, wanted):
        try:
            harness.wait_for(lambda: self.staple(edge, host) == wanted, host)
        except AssertionError:
            self.fail(f"{host} has never {wanted!r}:\n{edge.log()[-4000:]}")

    def test_the_responder_of_openssl_over_every_version(self):
        port = harness.free_port()
        url = f"http://127.0.0.1:{port}"
        good, bad = self.authority.issue("good.test", url), self.authority.issue("bad.test", url)
        self.openssl_responder(port, good, bad, revoked=[bad])
        edge = self.start(good, bad)
        self.wait_staple(edge, "good.test", "good")
        for http in harness.ALL_VERSIONS:
            done = edge.curl("/", "--cacert", self.authority.file, "--cert-status", http=http,
                             host="good.test")
            self.assertEqual(done.returncode, 0, (http, done.stderr))
        # A certificate that names no responder: quiet, and no response.
        done = edge.curl("/", "--cert-status", http="2")
        self.assertEqual(done.returncode, 91, done.stderr)  # CURLE_SSL_INVALIDCERTSTATUS
        self.assertEqual(self.lines(edge, edge.certificate), [])
        self.assertEqual(self.status(edge, good)["status"], "good")
        self.assertGreaterEqual(edge.metric("pqedge_tls_ocsp_responses_sent_total"), 4)
        # The revoked one: loud, and no response either.
        self.wait_line(edge, f"{bad.chain}: the certificate was REVOKED at 2026-11-01T00:00:00Z, "
                             "keyCompromise")
        self.assertEqual(self.staple(edge, "bad.test"), "")
        self.assertEqual(edge.metric("pqedge_ocsp_revoked_certificates"), 1)
        self.assertEqual(self.status(edge, bad)["status"], "revoked")

    def test_a_restart_has_the_response_at_once(self):
        responder = self.good_responder()
        issued = self.authority.issue("a.test", responder.url, must_staple=True)
        edge = self.start(issued)
        self.wait_staple(edge, "a.test", "good")
        kept = self.cache / f"{issued.fingerprint}.ocsp"
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        self.assertEqual([f.name for f in self.cache.iterdir()], [kept.name])
        edge.stop()
        asked = len(responder.requests)
        responder.stop()
        edge = self.start(issued)
        self.assertEqual(self.staple(edge, "a.test"), "good")
        self.assertEqual(edge.metric("pqedge_ocsp_must_staple_missing"), 0)
        self.assertEqual(len(responder.requests), asked)
        edge.stop()
        # What is in the folder is not believed: not of another certificate, not damaged.
        for wrong in (self.authority.answer(self.authority.issue("other.test")), b"garbage",
                      kept.read_bytes()[:-1]):
            kept.write_bytes(wrong)
            edge = self.start(issued)
            self.assertEqual(self.staple(edge, "a.test"), "")
            self.wait_line(edge, "is of no use")
            edge.stop()

    def test_the_recipe(self):
        responder = self.good_responder()
        issued = self.authority.issue("a.test", responder.url)
        block, = revocation.recipe("ocsp-stapling", {"/var/lib/pqedge/ocsp": self.cache})
        edge = self.edge(harness.pool(self.origin.address) + harness.route() + issued.toml()
                         + block + "ocsp_local_responders = true\n", names=("localhost",))
        self.wait_staple(edge, "a.test", "good")
        self.assertEqual(len(list(self.cache.iterdir())), 1)

    def test_dead_responders_stop_nothing(self):
        # K14: no responder, a closed port, must-staple without and with a responder.
        closed = f"http://127.0.0.1:{harness.free_port()}"
        quiet = self.authority.issue("quiet.test")
        dead = self.authority.issue("dead.test", closed)
        must = self.authority.issue("must.test", closed, must_staple=True)
        alone = self.authority.issue("alone.test", must_staple=True)
        edge = self.start(quiet, dead, must, alone)
        for path in (dead, must):
            self.wait_line(edge, f"{path.chain}: no OCSP response: {closed}: ")
        self.wait_line(edge, "alone.test.pem: the certificate names no OCSP responder; the certificate "
                             "demands one (must-staple)")
        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(lambda i: edge.curl(
                "/", "--cacert", self.authority.file, "-o", "/dev/null", http="23"[i % 2],
                host=("quiet", "dead", "must", "alone")[i % 4] + ".test"), range(100)))
        self.assertEqual([d.returncode for d in done], [0] * 100)
        self.assertEqual(edge.reload()[0], 200)
        self.assertEqual(edge.metric("pqedge_ocsp_failing_certificates"), 2)
        self.assertEqual(edge.metric("pqedge_ocsp_must_staple_missing"), 2)
        # Tried again, each is said once at that level.
        harness.wait_for(lambda: edge.metric('pqedge_ocsp_questions_total{result="failed"}') >= 4,
                         "further questions")
        for path in (dead, must):
            lines = [l for l in self.lines(edge, path) if " warning " in l]
            self.assertEqual(len(lines), 1, lines)
        self.assertIn("(must-staple)", self.lines(edge, must)[0])
        self.assertEqual(self.lines(edge, quiet), [])

    # How a responder can fail: (what it does, what the log says).
    FAULTS = {
        "garbage": "what came is no OCSP response",
        "html": "what came is no OCSP response",
        "long": "the answer is longer than",
        "other": "about other certificates",
        "stranger": "not signed by the certificate's issuer",
        "old": "ran out",
        "future": "clock",
        "unknown": "does not know the certificate",
        "error": "HTTP status 500",
        "hang": "timed out",
        "loop": "redirects",
        "file": "Protocol",
        "trickle": "timed out",
    }

    def faulty(self, method, path, body):
        kind = path.split("/")[1]
        issued = self.authority.issued[revocation.asked_for(method, path, body)]
        answer = self.authority.answer
        if kind == "garbage":
            return 200, {}, bytes(range(256))
        if kind == "html":
            return 200, {"Content-Type": "text/html"}, b"<html>Welcome</html>"
        if kind == "long":
            return 200, {}, answer(issued) + bytes(64 * 1024)
        if kind == "other":
            return 200, {}, answer(self.other)
        if kind == "stranger":
            return 200, {}, answer(issued, signer=self.stranger)
        if kind == "old":
            return 200, {}, answer(issued, -7200, -3600)
        if kind == "future":
            return 200, {}, answer(issued, 3600, 7200)
        if kind == "unknown":
            return 200, {}, answer(issued, status="unknown")
        if kind == "error":
            return 500, {}, b"no"
        if kind == "loop":
            return 302, {"Location": path}, b""
        if kind == "file":
            return 302, {"Location": "file:///etc/passwd"}, b""
        return None

    def trickle(self, sock, number):
        """A byte now and then, for ever."""
        harness.RequestReader(sock).read()
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            sock.sendall(b"0")
            if self.done.wait(0.05):
                return

    def test_responders_that_lie_or_hang(self):
        self.other = self.authority.issue("none.test")
        (self.directory / "stranger").mkdir()
        self.stranger = revocation.Authority(self.directory / "stranger")  # of the same name
        self.done = threading.Event()
        self.addCleanup(self.done.set)
        slow = self.backend(self.trickle)
        responder = self.responder(self.faulty)
        urls = {kind: f"{responder.url}/{kind}" for kind in self.FAULTS}
        urls["trickle"] = f"http://{slow.address}/trickle"
        # One that is there behind a faulty one is found.
        good = self.good_responder()
        second = self.authority.issue("second.test", [urls["garbage"], good.url])
        faulty = {kind: self.authority.issue(f"{kind}.test", url) for kind, url in urls.items()}
        edge = self.start(second, *faulty.values())
        for kind, said in self.FAULTS.items():
            with self.subTest(kind):
                start = f"{faulty[kind].chain}: no OCSP response: "
                self.wait_line(edge, start)
                line = next(l for l in edge.log().splitlines() if start in l)
                self.assertIn(said, line)
        self.wait_staple(edge, "second.test", "good")
        harness.wait_for(lambda: edge.metric("pqedge_ocsp_failing_certificates") == len(self.FAULTS),
                         "the metric")
        self.assertEqual(edge.metric("pqedge_ocsp_stapled_certificates"), 1)
        for kind in ("hang", "old", "stranger"):
            self.assertEqual(self.staple(edge, f"{kind}.test"), "")
        # An answer to GET that is no good is asked for by POST too.
        self.assertEqual({m for m, p, _ in responder.requests if p.startswith("/garbage")},
                         {"GET", "POST"})
        self.done.set()

    def test_refreshed_in_time_and_kept_until_it_ends(self):
        alive = threading.Event()
        alive.set()

        def respond(method, path, body):
            if not alive.is_set():
                return 503, {}, b""
            serial = revocation.asked_for(method, path, body)
            return 200, {}, self.authority.answer(self.authority.issued[serial], 0, 4)

        responder = self.responder(respond)
        issued = self.authority.issue("short.test", responder.url)
        edge = self.start(issued)
        self.wait_staple(edge, "short.test", "good")
        first = self.status(edge, issued)["valid_until"]
        harness.wait_for(lambda: self.status(edge, issued)["valid_until"] > first, "a newer one")
        self.assertEqual(self.staple(edge, "short.test"), "good")
        # The responder goes: what there is serves on, with an alarm, and no longer than it holds.
        alive.clear()
        harness.wait_for(lambda: edge.metric("pqedge_ocsp_failing_certificates") == 1, "the alarm")
        self.assertEqual(edge.metric("pqedge_ocsp_stapled_certificates"), 1)
        self.assertEqual(self.staple(edge, "short.test"), "good")
        self.wait_line(edge, "the last OCSP response ran out, and none is sent now")
        self.assertEqual(self.staple(edge, "short.test"), "")
        self.assertEqual(edge.metric("pqedge_ocsp_stapled_certificates"), 0)
        alive.set()
        self.wait_staple(edge, "short.test", "good")
        self.wait_line(edge, "answers again")
        self.assertEqual(edge.metric("pqedge_ocsp_failing_certificates"), 0)

    def test_local_addresses_only_when_allowed(self):
        responder = self.good_responder()
        issued = self.authority.issue("local.test", responder.url)
        edge = self.start(issued, tls="")
        self.wait_staple(edge, "local.test", "good")
        edge.stop()
        for f in self.cache.iterdir():
            f.unlink()
        before = len(responder.requests)
        toml = harness.pool(self.origin.address) + harness.route() + issued.toml()
        edge = self.edge(toml)
        self.wait_line(edge, "127.0.0.1 is a loopback, link-local or otherwise special address")
        self.assertEqual(len(responder.requests), before)
        # A reload allows it, another switches all off.
        edge.write_config(toml + "[tls]\nocsp_local_responders = true\nocsp_retry = \"1s\"\n")
        self.assertEqual(edge.reload()[0], 200)
        self.wait_staple(edge, "local.test", "good")
        edge.write_config(toml + "[tls]\nocsp_stapling = false\n")
        self.assertEqual(edge.reload()[0], 200)
        self.wait_staple(edge, "local.test", "")
        self.assertEqual(edge.metric("pqedge_ocsp_stapled_certificates"), 0)

    def test_a_folder_that_cannot_be_written(self):
        # It is said once, and the response is sent all the same.
        responder = self.good_responder()
        issued = self.authority.issue("full.test", responder.url)
        blocked = self.cache / f"{issued.fingerprint}.ocsp"
        blocked.mkdir()
        (blocked / "in the way").write_text("")
        edge = self.start(issued)
        self.wait_staple(edge, "full.test", "good")
        self.wait_line(edge, "the response is kept in memory alone")

    def test_a_full_disk(self):
        mounted = harness.run("mount", "-t", "tmpfs", "-o", "size=32k", "none", self.cache)
        if mounted.returncode != 0:
            self.skipTest("only root may mount a small file system")
        self.addCleanup(harness.run, "umount", "-l", self.cache)
        filler = self.cache / "filler"

        def fill():
            with open(filler, "wb", buffering=0) as f, contextlib.suppress(OSError):
                while f.write(bytes(4096)):
                    pass

        def names():
            return {f.name for f in self.cache.iterdir()}

        def respond(method, path, body):
            serial = revocation.asked_for(method, path, body)
            return 200, {}, self.authority.answer(self.authority.issued[serial], 0, 4)

        responder = self.responder(respond)
        issued = self.authority.issue("full.test", responder.url)
        kept = self.cache / f"{issued.fingerprint}.ocsp"
        fill()
        edge = self.start(issued)
        self.wait_staple(edge, "full.test", "good")
        self.wait_line(edge, "the response is kept in memory alone")
        self.assertIn("No space left on device", edge.log())
        harness.wait_for(lambda: names() == {"filler"}, "nothing half-written")
        # There is room again: the next one is kept.
        filler.unlink()
        harness.wait_for(kept.exists, "the response")
        harness.wait_for(lambda: names() == {kept.name}, "the file alone")
        # Full once more: what is there stays whole, and clients get what is newer.
        fill()
        whole = kept.read_bytes()
        asked = len(responder.requests)
        harness.wait_for(lambda: len(responder.requests) > asked + 1, "a newer response")
        harness.wait_for(lambda: names() == {"filler", kept.name}, "nothing half-written")
        self.assertEqual(kept.read_bytes(), whole)
        self.wait_staple(edge, "full.test", "good")
        self.assertEqual(edge.log().count("the response is kept in memory alone"), 2)

    def test_settings_are_checked(self):
        toml = (harness.pool(self.origin.address) + harness.route()
                + self.authority.issue("a.test").toml())
        for setting, said in (
                ('ocsp_cache_dir = "nowhere"', "there is no directory"),
                ('ocsp_timeout = "1ms"', "ocsp_timeout"),
                ('ocsp_retry = "0s"', "ocsp_retry"),
                ('ocsp_stapling = false\nocsp_timeout = "1s"', "has no effect"),
                ('ocsp_stapling = "yes"', "ocsp_stapling"),
                ('ocsp_stable = true', 'did you mean "ocsp_stapling"')):
            with self.subTest(setting):
                code, text = revocation.check(self.directory, toml + f"[tls]\n{setting}\n")
                self.assertEqual(code, 1)
                self.assertIn(said, text)


if __name__ == "__main__":
    harness.main()
