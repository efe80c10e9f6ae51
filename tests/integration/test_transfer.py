"""Files and uploads arrive whole over every version: 0 B, 1 KB, 64 KB and more, ten at once (P1-P3)."""

import concurrent.futures
import hashlib
import os
import unittest

import harness

SIZES = {"empty": 0, "small": 1024, "record": 64 * 1024, "large": 24 * 1024 * 1024 + 7}


class Transfer(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.backend = self.nginx(
            server="location /up/ { dav_methods PUT; client_body_in_file_only off; }"
        )
        self.sums = {}
        for name, size in SIZES.items():
            data = os.urandom(size)
            (self.backend.root / name).write_bytes(data)
            self.sums[name] = hashlib.sha256(data).hexdigest()
        (self.backend.root / "up").mkdir()
        self.proxy = self.edge(
            harness.pool(self.backend.address) + harness.route(), workers=2
        )

    def download(self, name, http, number=0):
        out = self.directory / f"down-{name}-{http}-{number}"
        done = self.proxy.curl(f"/{name}", "-o", out, "-w", "%{http_code} %{http_version}", http=http)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.decode(), f"200 {http}")
        data = out.read_bytes() if out.exists() else b""
        out.unlink(missing_ok=True)
        return hashlib.sha256(data).hexdigest()

    def test_downloads(self):
        for http in harness.ALL_VERSIONS:
            for name in SIZES:
                with self.subTest(http=http, file=name):
                    self.assertEqual(self.download(name, http), self.sums[name])

    def test_ten_downloads_at_once(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http), concurrent.futures.ThreadPoolExecutor(10) as threads:
                sums = threads.map(lambda n: self.download("large", http, n), range(10))
                self.assertEqual(set(sums), {self.sums["large"]})

    def upload(self, name, http, number=0, chunked=False):
        extra = ["-H", "Transfer-Encoding: chunked"] if chunked and http == "1.1" else []
        if chunked and http != "1.1":
            extra = ["-H", "Content-Length:"]
        target = f"/up/{name}-{http}-{number}{'-c' if chunked else ''}"
        done = self.proxy.curl(target, "-T", self.backend.root / name, *extra, "-o", os.devnull,
                               "-w", "%{http_code}", http=http)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(done.stdout.decode(), ("201", "204"))
        stored = self.backend.root / target.lstrip("/")
        digest = hashlib.sha256(stored.read_bytes()).hexdigest()
        stored.unlink()
        return digest

    def test_uploads(self):
        for http in harness.ALL_VERSIONS:
            for name in SIZES:
                with self.subTest(http=http, file=name):
                    self.assertEqual(self.upload(name, http), self.sums[name])

    def test_uploads_of_unknown_length(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.assertEqual(self.upload("record", http, chunked=True), self.sums["record"])

    def test_ten_uploads_at_once(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http), concurrent.futures.ThreadPoolExecutor(10) as threads:
                sums = threads.map(lambda n: self.upload("large", http, n), range(10))
                self.assertEqual(set(sums), {self.sums["large"]})


if __name__ == "__main__":
    harness.main()
