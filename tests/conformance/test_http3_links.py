"""HTTP/3 over links that lose, reorder and double packets, with an MTU of 1,280 bytes, and behind a NAT
that gives new ports: 1 MB each way completes, with curl and with aioquic (RFC 9000, RFC 9002). Needs root
for the namespaces of the link emulator."""
# ctest: timeout=240
# ctest: processors=2

import concurrent.futures
import sys
import unittest

import harness
from http3 import links

SIZE = 1_000_000
LINKS = {
    "RFC 9002 6: loss": ("delay=2ms,loss=3%", False),
    "RFC 9002 6.1.1: reordering": ("delay=2ms,reorder=20%:4ms", False),
    "RFC 9000 12.3: duplication": ("delay=2ms,duplicate=30%", False),
    "all of them, jitter, and a narrow link":
        ("delay=2ms,jitter=2ms,loss=1%,duplicate=5%,reorder=5%:3ms,rate=50mbit", False),
    "RFC 9000 14.1: an MTU of 1,280": ("delay=1ms,mtu=1280", False),
    "RFC 9000 14.3: an MTU of 1,280 that nobody tells of": ("delay=1ms,mtu=1280,icmp=drop", False),
    "RFC 9000 9.3: a NAT with new ports, and loss": ("delay=2ms,loss=1%", True),
}


class Links(harness.TestCase):
    def test_transfers(self):
        if reason := links.why_not():
            raise unittest.SkipTest(reason)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = {name: pool.submit(links.over, self, link, SIZE, rebind)
                    for name, (link, rebind) in LINKS.items()}
        for name, run in runs.items():
            with self.subTest(name):
                found = run.result()
                print(f"{name}: " + ", ".join(f"{what} {one['seconds']} s"
                                              for what, one in found.items()), file=sys.stderr)
                for what, one in found.items():
                    self.assertIs(one["result"], True, f"{what}: {one['result']}")


if __name__ == "__main__":
    harness.main()
