"""A real browser over HTTP/3 and HTTP/2: headless Chromium loads a page through the edge (P3)."""

import base64
import hashlib
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness  # noqa: E402

PAGE = b"""<!doctype html><title>page</title><p id=version>not yet</p>
<script>
addEventListener('load', async () => {
  await fetch('/second').then(r => r.text());
  const e = performance.getEntriesByType('navigation')[0];
  document.getElementById('version').textContent = 'loaded over ' + e.nextHopProtocol;
});
</script>"""


def spki_hash(chain):
    public = harness.run("openssl", "x509", "-in", chain, "-pubkey", "-noout").stdout
    der = harness.run("openssl", "pkey", "-pubin", "-outform", "DER", input=public).stdout
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


class Chromium(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.chromium = shutil.which("chromium")
        if not self.chromium:
            if os.environ.get("CI"):
                self.fail("chromium is not installed")
            self.skipTest("chromium is not installed")

        def serve(sock, number):
            reader = harness.RequestReader(sock)
            while reader.read() is not None:
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d"
                             b"\r\n\r\n" % len(PAGE) + PAGE)

        self.origin = self.backend(serve)
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route())

    def load(self, *args):
        done = harness.run(
            self.chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={self.directory}/profile",
            f"--ignore-certificate-errors-spki-list={spki_hash(self.proxy.certificate.chain)}",
            "--virtual-time-budget=8000", "--dump-dom", *args,
            f"https://127.0.0.1:{self.proxy.port}/", timeout=90 * harness.SLOW)
        return done.stdout.decode()

    def test_http3(self):
        dom = self.load(f"--origin-to-force-quic-on=127.0.0.1:{self.proxy.port}")
        self.assertIn("loaded over h3", dom)
        records = self.proxy.wait_access(2)
        self.assertTrue(all(r["http_version"] == "HTTP/3" for r in records), records)
        # What browsers send today.
        self.assertEqual(records[0]["group"], "X25519MLKEM768")

    def test_http2(self):
        dom = self.load("--disable-quic")
        self.assertIn("loaded over h2", dom)
        self.assertEqual(self.proxy.wait_access(2)[0]["group"], "X25519MLKEM768")


if __name__ == "__main__":
    harness.main()
