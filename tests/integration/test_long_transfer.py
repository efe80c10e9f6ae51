"""A file of 1 GiB, down and up, ten at once, over each version (P1 to P3)."""

import concurrent.futures
import hashlib
import os
import subprocess

import harness

SIZE = 1 << 30


class LongTransfer(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.nginx(server="location /up/ { dav_methods PUT; }")
        (self.origin.root / "up").mkdir()
        digest = hashlib.sha256()
        block = os.urandom(1 << 20)
        with open(self.origin.root / "file", "wb") as f:
            for i in range(SIZE >> 20):
                piece = block[i:] + block[:i]
                f.write(piece)
                digest.update(piece)
        self.sum = digest.hexdigest()
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route(), workers=2)

    def curl(self, http, path, *args):
        version = {"1.1": "--http1.1", "2": "--http2", "3": "--http3-only"}[http]
        return ["curl", "-sS", "--fail", "--cacert", str(self.proxy.certificate.chain), "--max-time",
                "900", "--resolve", f"localhost:{self.proxy.port}:127.0.0.1", version, *args,
                self.proxy.url(path)]

    def download(self, http):
        """SHA-256 of what comes, without a file in between."""
        with subprocess.Popen(self.curl(http, "/file"), stdout=subprocess.PIPE) as client:
            digest = hashlib.sha256()
            while block := client.stdout.read(1 << 20):
                digest.update(block)
        self.assertEqual(client.returncode, 0)
        return digest.hexdigest()

    def upload(self, http, number):
        target = f"/up/{http}-{number}"
        done = subprocess.run(self.curl(http, target, "-T", str(self.origin.root / "file"),
                                        "-o", os.devnull), capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        stored = self.origin.root / target.lstrip("/")
        with open(stored, "rb") as f:
            digest = hashlib.file_digest(f, "sha256").hexdigest()
        stored.unlink()
        return digest

    def test_ten_downloads_at_once(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http), concurrent.futures.ThreadPoolExecutor(10) as threads:
                self.assertEqual(set(threads.map(self.download, [http] * 10)), {self.sum})

    def test_ten_uploads_at_once(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http), concurrent.futures.ThreadPoolExecutor(10) as threads:
                sums = threads.map(lambda n, h=http: self.upload(h, n), range(10))
                self.assertEqual(set(sums), {self.sum})


if __name__ == "__main__":
    harness.main()
