#!/usr/bin/python3
"""pqcost run chains and tokens: the record of the real program."""
# ctest: timeout=180

import json
import os
import subprocess
import unittest

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")


def run(*args):
    done = subprocess.run([PQCOST, "run", *args, "--format", "json", "--quiet"],
                          capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class ChainsAndTokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.record = run("chains", "tokens", "--segment", "1460", "--segment", "1220")

    def test_every_chain_is_there(self):
        chains = {c["name"]: c for c in self.record["chains"]}
        self.assertEqual([a for a in self.record.get("absent", []) if "chain" in a["algorithm"]], [])
        # Published elsewhere for names of the same lengths (Q-Advantage, 2026-08-30).
        for name, multiple in (("RSA-2048", 1.88), ("RSA-3072", 2.45), ("ML-DSA-44", 9.01),
                               ("ML-DSA-65", 12.42), ("ML-DSA-87", 16.78)):
            self.assertAlmostEqual(chains[name]["multiple_of_p256"] / multiple, 1, delta=0.03)
        self.assertFalse(chains["SLH-DSA-SHA2-128s"]["captured"])
        self.assertTrue(chains["ML-DSA-65 issuer, ECDSA P-256 leaf"]["captured"])
        self.assertIn("synthetic", chains["ML-DSA-44, 2 SCTs"]["note"])

    def test_flights_are_held_against_the_windows_asked_for(self):
        flights = {(f["chain"], f["transport"], f["group"]): f for f in self.record["flights"]}
        flight = flights["ML-DSA-44", "tcp", "X25519MLKEM768"]
        self.assertEqual([w["window"] for w in flight["windows"]], [14600, 12200])
        self.assertEqual([w["fits"] for w in flight["windows"]], [True, True])
        # Two SCTs of the same scheme are too many for ten segments.
        self.assertFalse(flights["ML-DSA-44, 2 SCTs", "tcp", "X25519MLKEM768"]["fits"])
        self.assertFalse(flights["ML-DSA-65", "tcp", "X25519MLKEM768"]["fits"])
        for f in flights.values():
            self.assertEqual(sum(f["parts"].values()), f["server_flight"])
        hybrid = flights["ML-DSA-44", "quic", "X25519MLKEM768"]
        self.assertEqual((hybrid["client_datagrams"], hybrid["window"]), (2, 7200))
        self.assertEqual(flights["ML-DSA-44", "quic", "X25519"]["window"], 3600)

    def test_tokens(self):
        tokens = {t["algorithm"]: t for t in self.record["tokens"]}
        self.assertEqual(len(self.record["token_claims"]), 210)
        self.assertEqual({n: tokens[n]["total"] for n in ("ES256", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87")},
                         {"ES256": 404, "ML-DSA-44": 3551, "ML-DSA-65": 4736, "ML-DSA-87": 6494})
        limits = {x["name"] for x in self.record["documented_limits"]}
        for t in tokens.values():
            self.assertEqual(set(t["fits_in"]) | set(t["too_large_for"]), limits)
        if "FN-DSA-512" in tokens:  # where PQClean is built in
            self.assertFalse(tokens["FN-DSA-512"]["registered"])
            self.assertEqual(tokens["FN-DSA-512"]["total"], 1213)


class WrongInput(unittest.TestCase):
    def test_a_datagram_too_small(self):
        done = subprocess.run([PQCOST, "run", "chains", "--datagram", "1199"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("1200", done.stderr)


if __name__ == "__main__":
    unittest.main()
