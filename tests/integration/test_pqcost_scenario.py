"""Handshakes and commands over the emulated link (M19). Needs root for the namespaces."""
# ctest: timeout=180

import errno
import json
import os
import pathlib
import sys
import unittest

import harness

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")


def scenario(*arguments, **kwargs):
    return harness.run(PQCOST, "scenario", *arguments, **kwargs)


def why_not():
    """Why there can be no namespaces here, or None: asked of the program itself."""
    done = scenario("exec", "--", "true")
    return None if done.returncode == 0 else done.stderr.decode().strip()


class WithoutRoot(harness.TestCase):
    def test_help_lists_the_scenarios(self):
        text = scenario("--help").stdout.decode()
        for name in ("mismatch", "downgrade", "retry", "concurrency", "rtt", "loss", "mtu",
                     "middlebox", "fragments", "exec"):
            self.assertRegex(text, rf"\n  {name} ")

    def test_bad_arguments(self):
        for arguments in (("los",), ("loss", "--link", "delay=5"), ("loss", "--quic"),
                          ("loss", "--runs", "0"), ("fragments", "--server", "true"), (),
                          ("exec",), ("exec", "--link", "loss=2", "--", "true")):
            with self.subTest(arguments=arguments):
                done = scenario(*arguments)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(b'did you mean "loss"', scenario("los").stderr)

    def test_without_root_it_says_so(self):
        if os.geteuid() != 0:
            done = scenario("loss", "--runs", "1")
        else:
            # As nobody, from a place that nobody may read.
            binary = self.directory / "pqcost"
            binary.write_bytes(pathlib.Path(PQCOST).read_bytes())
            binary.chmod(0o755)
            self.directory.chmod(0o755)
            done = harness.run(binary, "scenario", "loss", "--runs", "1", user=65534, group=65534,
                               extra_groups=[])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"needs root", done.stderr)


class Exec(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        if reason := why_not():
            raise unittest.SkipTest(reason)

    def probe(self, link, count, size=100, gap=0.002):
        script = pathlib.Path(__file__).with_name("link_probe.py")
        done = scenario("exec", "--link", link, "--server", f"exec {sys.executable} {script} echo",
                        "--wait-port", "5007", "--", sys.executable, script, "ask", str(count),
                        str(size), str(gap))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_link_delays_both_ways(self):
        times = self.probe("delay=30ms", 5, gap=0.1)["ms"]
        self.assertEqual(len(times), 5)
        for time in times:
            self.assertGreaterEqual(time, 60)
        self.assertLess(times[0], 75)

    def test_one_seed_loses_the_same_packets(self):
        first = self.probe("up.loss=30%,seed=5", 60)["came"]
        self.assertGreater(len(first), 25)
        self.assertLess(len(first), 58)
        self.assertEqual(first, self.probe("up.loss=30%,seed=5", 60)["came"])
        self.assertNotEqual(first, self.probe("up.loss=30%,seed=6", 60)["came"])

    def test_mtu_is_told_or_swallowed(self):
        fits = self.probe("mtu=1400", 3, size=1372)  # and 28 of headers
        self.assertEqual((fits["came"], fits["mtu"]), ([0, 1, 2], 1500))
        told = self.probe("mtu=1400", 3, size=1373)
        self.assertEqual((told["came"], told["mtu"]), ([], 1400))
        self.assertIn(errno.EMSGSIZE, told["errors"])
        hole = self.probe("mtu=1400,icmp=drop", 3, size=1373)
        self.assertEqual((hole["came"], hole["mtu"], hole["errors"]), ([], 1500, []))

    def test_status_environment_and_missing_commands(self):
        done = scenario("exec", "--", "sh", "-c", "echo $PQCOST_SERVER_IP; exit 7")
        self.assertEqual((done.returncode, done.stdout), (7, b"10.77.0.2\n"))
        done = scenario("exec", "--", "/no/such/command")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"/no/such/command", done.stderr)
        done = scenario("exec", "--server", "exit 3", "--wait-port", "443", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"ended at its start", done.stderr)

    def test_live_over_the_link_to_openssl(self):
        certificate = harness.Certificate(self.directory)
        server = (f"exec openssl s_server -accept 10.77.0.2:443 -cert {certificate.chain} "
                  f"-key {certificate.key} -quiet")
        done = scenario("exec", "--link", "delay=10ms", "--server", server, "--wait-port", "443",
                        "--", PQCOST, "live", "10.77.0.2", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = json.loads(done.stdout)["live"][0]
        self.assertEqual(seen["group"], "X25519MLKEM768")
        # TCP and TLS 1.3: two round trips of 20 ms.
        self.assertGreaterEqual(seen["times_us"]["finished"], 40_000)
        self.assertGreaterEqual(seen["times_us"]["round_trip"], 20_000)
        # MTU 1500 gives an MSS of 1448 with timestamps: SYN, two for the hello, and so on.
        self.assertEqual(seen["sizes"]["tcp_mss"], 1448)


class Named(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        if reason := why_not():
            raise unittest.SkipTest(reason)

    def run_one(self, name, *arguments):
        done = scenario(name, "--runs", "1", "--format", "json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        record = json.loads(done.stdout)
        self.assertEqual(record["environment"]["network"]["congestion_control"], "cubic")
        for one in record["scenarios"]:
            self.assertIn("TUN relay", one["emulator"])
            self.assertGreater(one["added_delay_us"], 0)
        return {one["variant"]: one for one in record["scenarios"]}, record

    def test_retry_costs_one_round_trip(self):
        variants, record = self.run_one("retry", "--rtt", "40")
        finished = {name: one["times_us"]["finished"]["median"] / 1000
                    for name, one in variants.items()}
        two = finished["two shares, 40 ms; classical server"]
        one = finished["hybrid share alone, 40 ms; classical server"]
        self.assertGreaterEqual(one - two, 30)
        self.assertLess(one - two, 70)
        retried = {live["scenario"]["variant"] for live in record["live"]
                   if live["hello_retry_request"]}
        self.assertEqual(retried, {"hybrid share alone, 40 ms; classical server",
                                   "classical share alone, 40 ms; hybrid server"})

    def test_mismatch_and_downgrade(self):
        variants, record = self.run_one("mismatch", "--rtt", "1")
        alone = variants["X25519MLKEM768 alone; server has X25519 alone"]
        self.assertEqual(alone["outcomes"], {"alert handshake_failure (40)": 1})
        groups = {live["scenario"]["variant"]: live.get("group") for live in record["live"]}
        self.assertEqual(groups["share of X25519MLKEM768; server has P-256 alone"], "P-256")
        _, record = self.run_one("downgrade", "--rtt", "1")
        groups = {live["scenario"]["variant"]: live.get("group") for live in record["live"]}
        # Without tuples a classical share at hand beats the hybrid that both know.
        share = "both groups, share of X25519 alone"
        self.assertEqual(groups[f"{share}; server takes a share at hand (one tuple)"], "X25519")
        self.assertEqual(groups[f"{share}; server insists on the hybrid (two tuples)"],
                         "X25519MLKEM768")

    def test_middleboxes(self):
        variants, _ = self.run_one("middlebox", "--rtt", "2", "--timeout", "0.5")
        outcome = {name: list(one["outcomes"]) for name, one in variants.items()}
        classical, hybrid = "X25519, ECDSA P-256 chain", "X25519MLKEM768, ECDSA P-256 chain"
        for box in ("no middlebox", "splits the hello after 100 bytes",
                    "delays a hello's further segments by 200 ms"):
            self.assertEqual(outcome[f"{box}, {hybrid}"], ["handshake"], box)
        for box in ("drops hellos above 1,400 bytes", "wants the whole hello in the first segment"):
            self.assertEqual(outcome[f"{box}, {classical}"], ["handshake"], box)
        self.assertEqual(outcome[f"drops hellos above 1,400 bytes, {hybrid}"], ["timeout"])
        self.assertEqual(outcome[f"wants the whole hello in the first segment, {hybrid}"], ["reset"])
        delay = variants[f"delays a hello's further segments by 200 ms, {hybrid}"]
        self.assertGreaterEqual(delay["times_us"]["finished"]["median"], 200_000)

    def test_fragments(self):
        variants, _ = self.run_one("fragments", "--rtt", "2", "--timeout", "0.4")
        outcome = {name: list(one["outcomes"]) for name, one in variants.items()}
        for name, found in outcome.items():
            # ML-KEM-768 in one IKE_INTERMEDIATE just fits 1,280 bytes; in IKE_SA_INIT it does not.
            lost = "are dropped" in name and ("alone in IKE_SA_INIT" in name or
                                              "576 bytes" in name and "one message" in name)
            self.assertEqual(found, ["no answer"] if lost else ["handshake"], name)

    def test_another_server(self):
        certificate = harness.Certificate(self.directory)
        variants, record = self.run_one(
            "rtt", "--rtt", "4", "--server",
            f"exec openssl s_server -accept 10.77.0.2:443 -cert {certificate.chain} -key {certificate.key} "
            "-quiet")
        self.assertEqual({live["group"] for live in record["live"]}, {"X25519", "X25519MLKEM768"})
        self.assertEqual(len(variants), 3)


    def test_quic_to_pqedge(self):
        certificate = harness.Certificate(self.directory)
        configuration = self.directory / "edge.toml"
        configuration.write_text(f"""version = 1
[server]
workers = 1
[admin]
control_socket = "{self.directory}/control.sock"
[[listener]]
name = "https"
address = "10.77.0.2:443"
[[certificate]]
chain = "{certificate.chain}"
key = "{certificate.key}"
{harness.pool("127.0.0.1:9")}{harness.route()}""")
        variants, record = self.run_one("rtt", "--rtt", "100", "--quic", "--sni", "localhost",
                                        "--server", f"exec {harness.PQEDGE} --config {configuration}")
        hybrid = variants["100 ms, X25519MLKEM768, ECDSA P-256 chain"]
        self.assertEqual(hybrid["outcomes"], {"handshake": 1})
        # One round trip, and no second for the server's small flight.
        self.assertGreaterEqual(hybrid["times_us"]["finished"]["median"], 100_000)
        self.assertLess(hybrid["times_us"]["finished"]["median"], 200_000)
        self.assertEqual({live["transport"] for live in record["live"]}, {"quic"})


if __name__ == "__main__":
    harness.main()
