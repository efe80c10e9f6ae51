"""pqcost calculate over records that pqcost made and metrics that a pqedge served (M21)."""
# ctest: timeout=300

import json
import os

import harness

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")


def pqcost(*arguments):
    return harness.run(PQCOST, *arguments, timeout=200 * harness.SLOW)


class Calculate(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        """All that is asked for below, measured for a moment."""
        done = pqcost("run", "tls", "signatures", "bulk", "chains", "tokens", "--suite",
                      "X25519MLKEM768", "--suite", "ML-DSA-44", "--suite", "AES-256-GCM",
                      "--iterations", "20", "--seconds", "0.5", "--threads", "0", "--quiet",
                      "--format", "json")
        assert done.returncode == 0, done.stderr.decode()
        cls.text = done.stdout.decode()
        cls.record = json.loads(cls.text)

    def setUp(self):
        super().setUp()
        self.path = self.directory / "record.json"
        self.path.write_text(self.text)

    def calculate(self, *arguments):
        done = pqcost("calculate", "--record", self.path, "--allow-withheld", "--format", "json",
                      *arguments)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def terms(self, calculation):
        return {(t["name"], t["unit"]): t for g in calculation["groups"] for t in g["terms"]}

    def suite(self, track, name):
        suites = next(t for t in self.record["tracks"] if t["name"] == track)["suites"]
        return next(s for s in suites if s["name"] == name)

    def phase(self, suite, name):
        return next(p["mean_us"] for p in self.suite("signatures", suite)["phases"]
                    if p["name"] == name)

    def flight(self, chain, group, transport):
        return next(f for f in self.record["flights"] if (f["chain"], f["group"], f["transport"])
                    == (chain, group, transport))

    def test_terms_follow_from_the_record(self):
        terms = self.terms(self.calculate(
            "--connections-per-second", "1000", "--rtt-ms", "40", "--after-chain", "ML-DSA-44",
            "--before-token", "ES256", "--after-token", "ML-DSA-44", "--response-bytes", "1000"))
        full = terms["full handshake", "us"]
        for side, group, key in (("before", "X25519", "ECDSA-P256"),
                                 ("after", "X25519MLKEM768", "ML-DSA-44")):
            server = self.suite("tls", group)["server"]["mean_us"]
            self.assertAlmostEqual(full[side], server + self.phase(key, "Sign"))
            sent = self.flight("ECDSA P-256" if key == "ECDSA-P256" else key, group, "tcp")
            self.assertEqual(terms["sent by the server, full handshake", "B"][side],
                             sent["server_flight"])
        token = next(t for t in self.record["tokens"] if t["algorithm"] == "ML-DSA-44")
        self.assertEqual(terms["received in tokens, one connection", "B"]["after"],
                         token["first_request"]["hpack"])
        cores = terms["cores", "cores"]
        self.assertAlmostEqual(cores["after"], terms["mean connection", "us"]["after"] / 1000)
        self.assertTrue(any("tracks.tls.X25519MLKEM768.server" in s for s in
                            terms["key exchange, server's share", "us"]["sources"]))

    def test_each_http_version(self):
        for version, transport in (("1.1", "tcp"), ("2", "tcp"), ("3", "quic")):
            terms = self.terms(self.calculate("--connections-per-second", "1", "--http", version,
                                              "--rtt-ms", "100"))
            self.assertEqual(terms["sent by the server, full handshake", "B"]["after"],
                             self.flight("ECDSA P-256", "X25519MLKEM768",
                                         transport)["server_flight"])
            flight = self.flight("ECDSA P-256", "X25519MLKEM768", transport)
            trips = {"tcp": 2, "quic": 1 + flight["extra_round_trips"]}[transport]
            self.assertAlmostEqual(terms["full handshake", "ms"]["after"], 100 * trips, delta=50)

    def test_options_win_over_the_file(self):
        toml = self.directory / "in.toml"
        toml.write_text('connections_per_second = 7\nrtt_ms = 9\n[after]\nchain = "ML-DSA-44"\n')
        found = self.calculate("--input", toml, "--rtt-ms", "11")
        self.assertEqual(found["inputs"]["connections_per_second"], 7)
        self.assertEqual(found["inputs"]["rtt_ms"], 11)
        self.assertEqual(found["inputs"]["after"]["chain"], "ML-DSA-44")

    def test_traffic_of_a_running_pqedge(self):
        edge = harness.Edge(self.directory, "", listener=True)
        self.addCleanup(edge.stop)
        for group in ("X25519", "X25519MLKEM768", "X25519MLKEM768"):
            done = harness.run("curl", "-sk", "--curves", group, "-o", "/dev/null",
                               f"https://localhost:{edge.port}/")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
        url = f"http://127.0.0.1:{edge.admin_port}/metrics"
        # Counters are read until the three handshakes are in them.
        page = harness.wait_for(
            lambda: (lambda text: text if self.handshakes(text) == 3 else None)(
                edge.admin("/metrics")[1]), "three handshakes")
        started = next(float(line.split()[1]) for line in page.splitlines()
                       if line.startswith("process_start_time_seconds "))
        done = pqcost("calculate", "--record", self.path, "--from-metrics", url)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a minute at least", done.stderr.decode())

        saved = self.directory / "page"
        saved.write_text(page)
        os.utime(saved, (started + 300, started + 300))  # as if it were five minutes old
        found = self.calculate("--from-metrics", saved)
        self.assertAlmostEqual(found["inputs"]["connections_per_second"], 3 / 300, places=4)
        self.assertTrue(any("66.7 % of its handshakes used X25519MLKEM768" in n
                            for n in found["notes"]), found["notes"])

    @staticmethod
    def handshakes(page):
        return sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines()
                   if line.startswith("pqedge_tls_handshakes_total{"))

    def test_mistakes(self):
        for arguments, status, says in (
            ([], 1, "connections_per_second is not given"),
            (["--connections-per-second", "1", "--resumption", "60"], 1, "it may be 0 to 1"),
            (["--connections-per-second", "1", "--after-group", "X448"], 1, "pqcost run chains"),
            (["--connections-per-second", "1", "--after-chain", "none"], 1, '"ML-DSA-44"'),
            (["--connections-per-second", "1", "--after-token", "HS256"], 1, "pqcost run tokens"),
            (["--connections-per-second", "1", "--provider", "Nobody"], 1, "by Nobody"),
            (["--from-metrics", "http://127.0.0.1:1/metrics"], 1, "cannot read http://127.0.0.1:1"),
            (["--from-metrics", "/none"], 1, "No such file"),
            (["--input", "/none"], 1, "No such file"),
            (["--connections-per-second", "many"], 2, "connections-per-second"),
        ):
            with self.subTest(arguments):
                done = pqcost("calculate", "--record", self.path, "--allow-withheld", *arguments)
                self.assertEqual(done.returncode, status, done.stderr.decode())
                self.assertIn(says, done.stderr.decode())


if __name__ == "__main__":
    harness.main()
