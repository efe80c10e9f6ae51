"""Headless Chromium takes a certificate in brotli, over HTTP/2 and HTTP/3 (T15)."""

import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness  # noqa: E402
from test_chromium import spki_hash  # noqa: E402

PAGE = b"<!doctype html><title>page</title><p>loaded"


class CompressedCertificate(harness.TestCase):
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
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route()
                               + '[tls]\ncertificate_compression = ["zlib", "brotli", "zstd"]\n')

    def load(self, *args):
        done = harness.run(
            self.chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={self.directory}/profile",
            f"--ignore-certificate-errors-spki-list={spki_hash(self.proxy.certificate.chain)}",
            "--dump-dom", *args, f"https://127.0.0.1:{self.proxy.port}/", timeout=90 * harness.SLOW)
        return done.stdout.decode()

    def sent(self, algorithm):
        return self.proxy.metric(
            f'pqedge_tls_compressed_certificates_total{{algorithm="{algorithm}"}}')

    def test_brotli_is_taken(self):
        self.assertIn("loaded", self.load("--disable-quic"))
        over_tcp = self.sent("brotli")
        self.assertGreaterEqual(over_tcp, 1)
        self.assertIn("loaded", self.load(
            f"--origin-to-force-quic-on=127.0.0.1:{self.proxy.port}"))
        self.assertGreater(self.sent("brotli"), over_tcp)
        self.assertEqual(self.sent("zlib") + self.sent("zstd"), 0)


if __name__ == "__main__":
    harness.main()
