"""The same transfers as test_http3_links, longer and over worse links, each with several seeds."""

import unittest

import harness
from http3 import links

SIZE = 8_000_000
LINKS = ("delay=20ms,loss=2%", "delay=20ms,loss=5%,rate=100mbit", "delay=10ms,reorder=50%:15ms",
         "delay=10ms,jitter=20ms,loss=1%,duplicate=50%,reorder=20%:30ms", "delay=40ms,mtu=1280,loss=1%",
         "delay=20ms,rate=10mbit,queue=20k")


class LongLinks(harness.TestCase):
    def test_transfers(self):
        if reason := links.why_not():
            raise unittest.SkipTest(reason)
        for link in LINKS:
            for seed, rebind in ((1, False), (2, False), (3, True)):
                with self.subTest(link, seed=seed, rebind=rebind):
                    found = links.over(self, f"{link},seed={seed}", SIZE, rebind)
                    for what, one in found.items():
                        self.assertIs(one["result"], True, f"{what}: {one['result']}")


if __name__ == "__main__":
    harness.main()
