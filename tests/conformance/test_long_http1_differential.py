"""The differential fuzzer of HTTP/1.1 for ten minutes, each time of another seed, which it prints."""

# ctest: timeout=1500

import os
import sys
import time
import unittest

import harness

sys.path.insert(0, str(harness.SOURCE / "tests" / "differential"))

import run  # noqa: E402

SECONDS = float(os.environ.get("PQEDGE_DIFFERENTIAL_SECONDS", "600"))


class Differential(unittest.TestCase):
    def test_no_second_request_comes_through(self):
        findings = run.session(seed=os.environ.get("PQEDGE_SEED", str(int(time.time()))), seconds=SECONDS)
        self.assertEqual(findings, [], "\n".join(map(str, findings)))


if __name__ == "__main__":
    harness.main()
