"""Headless Chromium over HTTP/3 on links that lose and reorder, and with an MTU of 1,280: 1 MB down and up.
Needs root for the namespaces of the link emulator."""

import os
import pathlib
import shutil
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / name)
                for name in ("integration", "conformance", "browser")]
import harness  # noqa: E402
from http3 import links  # noqa: E402
from test_chromium import spki_hash  # noqa: E402


class Links(harness.TestCase):
    def setUp(self):
        super().setUp()
        if reason := links.why_not():
            self.skipTest(reason)
        self.chromium = shutil.which("chromium")
        if not self.chromium:
            if os.environ.get("CI"):
                self.fail("chromium is not installed")
            self.skipTest("chromium is not installed")

    def load(self, link):
        return links.run(self, link, 1_000_000, lambda directory, certificate: (
            self.chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={directory}/profile",
            f"--ignore-certificate-errors-spki-list={spki_hash(certificate.chain)}",
            "--origin-to-force-quic-on=10.77.0.2:443", "--virtual-time-budget=60000", "--dump-dom",
            "https://10.77.0.2/page"))

    def test_transfers(self):
        for link in ("delay=2ms,loss=2%,reorder=10%:4ms,duplicate=5%", "delay=1ms,mtu=1280,icmp=drop"):
            with self.subTest(link):
                self.assertIn("same 1000000 bytes over h3 h3", self.load(link))


if __name__ == "__main__":
    harness.main()
