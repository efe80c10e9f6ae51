"""The differential fuzzer of HTTP/1.1, bounded: the kept cases and some made of one seed.

tests/differential/run.py makes others; docs/internals/differential.md says what is compared.
"""

import sys
import unittest

import harness

sys.path.insert(0, str(harness.SOURCE / "tests" / "differential"))

import run  # noqa: E402


class Differential(unittest.TestCase):
    def test_no_second_request_comes_through(self):
        findings = run.session(seed=9112, count=120)
        self.assertEqual(findings, [], "\n".join(map(str, findings)))


if __name__ == "__main__":
    harness.main()
