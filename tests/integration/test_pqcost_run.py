"""pqcost run: what it writes is read back and checked against the standards' own numbers."""
# ctest: timeout=240

import json
import os
import pathlib
import signal
import subprocess
import time

import harness

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")

# One exchange: how often each phase is done, and by whom.
WEIGHTS = {
    "KEM keygen": (1, "client"),
    "KEM encapsulate": (1, "server"),
    "KEM decapsulate": (1, "client"),
    "Classical keygen": (2, "both"),
    "Classical derive": (2, "both"),
    "Second share keygen": (1, "client"),
}

# Client to server, server to client: FIPS 203, RFC 7748, RFC 8446 4.2.8.2, RFC 10024, RFC 10042,
# RFC 5903 (x and y alone), RFC 3526.
BYTES = {
    "tls": {
        "X25519": (32, 32),
        "MLKEM768": (1184, 1088),
        "SecP256r1MLKEM768": (1249, 1153),
        "X25519MLKEM768": (1216, 1120),
        "SecP384r1MLKEM1024": (1665, 1665),
        "X25519MLKEM768 + X25519 share": (1248, 1120),
    },
    "ssh": {
        "curve25519-sha256": (32, 32),
        "mlkem768x25519-sha256": (1216, 1120),
        "mlkem768nistp256-sha256": (1249, 1153),
        "sntrup761x25519-sha512": (1190, 1071),
    },
    "ipsec": {
        "curve25519": (32, 32),
        "ecp256": (64, 64),
        "mlkem768": (1184, 1088),
        "curve25519+mlkem768": (1216, 1120),
        "ecp256+mlkem768": (1248, 1152),
        "MODP-2048": (256, 256),
        "MODP-3072": (384, 384),
    },
}
SUMS = {"MLKEM768": 2272, "X25519": 64, "SecP256r1MLKEM768": 2402, "X25519MLKEM768": 2336,
        "SecP384r1MLKEM1024": 3330, "ecp256": 128, "ecp256+mlkem768": 2400}


def pqcost(*arguments):
    return harness.run(PQCOST, "run", *arguments, timeout=200 * harness.SLOW)


class Run(harness.TestCase):
    def record(self, *arguments):
        done = pqcost(*arguments, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout), done.stderr.decode()

    def suites(self, record, track):
        found = [t for t in record["tracks"] if t["name"] == track]
        self.assertEqual(len(found), 1, track)
        return {s["name"]: s for s in found[0]["suites"]}

    def check_sum(self, suite):
        """M7, from the written figures alone."""
        total = 0.0
        for phase in suite["phases"]:
            weight, side = WEIGHTS[phase["name"]]
            self.assertEqual((phase["weight"], phase["side"]), (weight, side), phase["name"])
            total += weight * phase["mean_us"]
        composed = suite["composed"]["mean_us"]
        self.assertLessEqual(abs(composed - total), 2e-5 * total, suite["name"])
        shares = suite["client"]["mean_us"] + suite["server"]["mean_us"]
        self.assertLessEqual(abs(composed - shares), 2e-5 * total, suite["name"])

    def test_key_exchanges(self):
        record, told = self.record("tls", "ssh", "ipsec", "--iterations", "40", "--seconds", "1",
                                   "--threads", "2")
        self.assertIn("suites take about", told)
        self.assertTrue(record["schema"].startswith("pqcost-record/"))
        self.assertTrue(record["complete"])
        self.assertIsInstance(record["environment"]["pinned_core"], int)
        for track, bytes_by_suite in BYTES.items():
            suites = self.suites(record, track)
            self.assertEqual(list(suites), list(bytes_by_suite))
            baseline = [s for s in suites.values() if s.get("baseline")]
            self.assertEqual([s["name"] for s in baseline], [next(iter(bytes_by_suite))])
            for name, sent in bytes_by_suite.items():
                suite = suites[name]
                if suite.get("absent"):
                    self.assertEqual(name, "sntrup761x25519-sha512", suite["absent"])
                    continue
                with self.subTest(track=track, suite=name):
                    self.check_suite(suite, sent)
                    # Nothing is compared with a baseline that does not count.
                    compared = not suite["baseline"] and "withheld" not in baseline[0]
                    self.assertEqual("against_baseline" in suite, compared)
        self.check_throughput(record)

    def check_suite(self, suite, sent):
        self.check_sum(suite)
        by_direction = suite["wire_bytes_by_direction"]
        self.assertEqual(
            (by_direction["client_to_server"], by_direction["server_to_client"]), sent)
        self.assertEqual(suite["wire_bytes"], sum(sent))
        if suite["name"] in SUMS:
            self.assertEqual(suite["wire_bytes"], SUMS[suite["name"]])
        self.assertTrue(all(d["source"] for d in suite["wire_details"]))
        for phase in suite["phases"]:
            self.assertGreaterEqual(phase["iterations"], 10)
            self.assertLessEqual(phase["min_us"], phase["median_us"])
            if phase["iterations"] < 100:
                self.assertIsNone(phase["p99_us"])
        self.assertAlmostEqual(
            suite["end_to_end_ratio"],
            suite["end_to_end"]["median_us"] / suite["composed"]["median_us"])
        self.assertTrue(suite["provider"] and suite["provider_version"])

    def check_throughput(self, record):
        tls = next(t for t in record["tracks"] if t["name"] == "tls")
        seen = {(t["suite"], t["threads"]) for t in tls["throughput"]}
        self.assertEqual(seen, {(name, n) for name in BYTES["tls"] for n in (1, 2)})
        for t in tls["throughput"]:
            self.assertAlmostEqual(t["per_second"], t["threads"] * t["per_second_per_thread"])

    def test_whole_packets_and_fragments(self):
        record, _ = self.record("ssh", "ipsec", "--iterations", "10", "--threads", "0", "-q")
        ssh = self.suites(record, "ssh")

        def detail(suite, start):
            return next(d for d in suite["wire_details"] if d["name"].startswith(start))

        for name, packets in (("curve25519-sha256", 240), ("mlkem768x25519-sha256", 2512)):
            sent = detail(ssh[name], "whole packets")["bytes"]
            self.assertEqual(sent["client_to_server"] + sent["server_to_client"], packets)
        ipsec = self.suites(record, "ipsec")
        self.assertIn("discouraged", ipsec["mlkem768"]["note"])
        hybrid = ipsec["curve25519+mlkem768"]
        for limit, request, response in (("IPv4 packets of at most 576", 3, 3),
                                         ("IPv6 packets of at most 1,280", 2, 1),
                                         ("IPv4 packets of at most 1,500", 1, 1)):
            name = f"IKE_INTERMEDIATE request in {limit}"
            self.assertEqual(detail(hybrid, name)["fragments"], request)
            name = f"IKE_INTERMEDIATE response in {limit}"
            self.assertEqual(detail(hybrid, name)["fragments"], response)

    def test_signatures_and_bulk(self):
        record, _ = self.record("signatures", "bulk", "--suite", "ML-DSA-44", "--suite", "Ed25519",
                                "--iterations", "120", "--seconds", "1", "--threads", "1", "-q",
                                "--samples")
        suites = self.suites(record, "signatures")
        self.assertEqual(list(suites), ["ECDSA-P256", "Ed25519", "ML-DSA-44"])
        self.assertEqual(suites["ML-DSA-44"]["family"], "lattice")
        self.assertEqual(suites["ECDSA-P256"]["family"], "classical")
        # FIPS 204 table 2, RFC 8032; an SPKI of Ed25519 is 44 bytes (RFC 8410), of ML-DSA-44 22
        # more than the key (RFC 9881).
        for name, public, spki, signature in (("ML-DSA-44", 1312, 1334, 2420),
                                              ("Ed25519", 32, 44, 64)):
            sizes = suites[name]["sizes"]
            self.assertEqual((sizes["public_key"], sizes["spki"], sizes["signature"]),
                             (public, spki, signature))
        self.assertIn(suites["ECDSA-P256"]["sizes"]["signature"], (70, 71, 72))
        for suite in suites.values():
            self.assertEqual([p["name"] for p in suite["phases"]], ["Keygen", "Sign", "Verify"])
            for phase in suite["phases"]:
                self.assertEqual(len(phase["samples_us"]), phase["iterations"])
        bulk = self.suites(record, "bulk")
        self.assertEqual(bulk["AES-256-GCM"]["sizes"]["plaintext"], 16384)

    def test_quick_takes_less_than_20_seconds(self):
        begin = time.monotonic()
        done = pqcost("tls", "--quick", "--output", self.directory / "runs")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertLess(time.monotonic() - begin, 20 * harness.SLOW)
        self.assertIn("X25519MLKEM768", done.stdout.decode())
        self.assertEqual(len(list((self.directory / "runs").glob("*.json"))), 1)

    def test_repeat(self):
        folder = self.directory / "runs"
        done = pqcost("tls", "--suite", "MLKEM768", "--iterations", "20", "--threads", "0",
                      "--repeat", "7", "--output", folder, "-q")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        records = [json.loads(p.read_text()) for p in folder.glob("*.json")]
        self.assertEqual(len({r["id"] for r in records}), 7)
        text = done.stdout.decode()
        withheld = [r for r in records if r.get("withheld")] + [
            s for r in records for s in r["tracks"][0]["suites"] if s.get("withheld")]
        if withheld:  # the machine was busy: then no range may be claimed
            self.assertIn("make no range", text)
        else:
            self.assertIn("Median and range over the runs that count", text)
            self.assertNotIn("make no range", text)

    def test_interrupted(self):
        folder = self.directory / "runs"
        process = subprocess.Popen(
            [PQCOST, "run", "tls", "--iterations", "1000000", "--seconds", "60", "--output", folder],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        told = b""
        while b"Classical keygen" not in told:
            line = process.stderr.readline()
            self.assertTrue(line, told.decode())
            told += line
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=harness.WAIT)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err.decode())
        self.assertIn("Interrupted", out.decode())
        (path,) = folder.iterdir()
        record = json.loads(path.read_text())
        self.assertFalse(record["complete"])
        (suite,) = record["tracks"][0]["suites"]
        self.assertEqual([p["name"] for p in suite["phases"]], ["Classical keygen"])
        self.assertNotIn("composed", suite)

    def test_bad_input(self):
        for arguments, status, words in (
            (["tsl"], 2, ["no track", "tsl", "tls"]),
            (["tls", "--suite", "X25519MLKEM786"], 2, ["X25519MLKEM786", 'mean "X25519MLKEM768"']),
            (["signatures", "--suite", "ML-DSA-45"], 2, ["ML-DSA-45", 'mean "ML-DSA-44"']),
            (["tls", "--provider", "GnuTLS"], 2, ["GnuTLS", "OpenSSL"]),
            (["tls", "--format", "yaml"], 2, ["yaml"]),
            (["tls", "--iterations", "1"], 2, ["--iterations"]),
            (["tls", "--core", "9999"], 1, ["9999"]),
            (["tls", "--repeat", "2", "--format", "json"], 2, ["--output"]),
        ):
            with self.subTest(arguments=arguments):
                done = pqcost(*arguments)
                self.assertEqual(done.returncode, status, done.stderr.decode())
                self.assertEqual(done.stdout, b"")
                for word in words:
                    self.assertIn(word, done.stderr.decode())

    def test_full_standard_output(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [PQCOST, "run", "tls", "--suite", "X25519", "--iterations", "10", "--threads", "0",
                 "-q", "--format", "json"], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", done.stderr.decode())

    def test_full_disk_leaves_nothing_half_written(self):
        folder = self.directory / "full"
        folder.mkdir()
        mounted = harness.run("mount", "-t", "tmpfs", "-o", "size=4k", "none", folder)
        if mounted.returncode != 0:
            self.skipTest("only root may mount a small file system")
        self.addCleanup(harness.run, "umount", folder)
        done = pqcost("tls", "--suite", "X25519", "--iterations", "10", "--threads", "0", "-q",
                      "--output", folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", done.stderr.decode())
        self.assertIn("X25519", done.stdout.decode())
        self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


if __name__ == "__main__":
    harness.main()
