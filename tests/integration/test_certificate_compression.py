"""Certificate compression (T15): what openssl unpacks, over TCP and QUIC."""
# ctest: timeout=120

import re

import harness
import revocation


class Compression(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.authority = revocation.Authority(self.directory)
        self.issued = self.authority.issue("a.test")
        self.origin = self.echo()
        self.toml = harness.pool(self.origin.address) + harness.route() + self.issued.toml()

    def start(self, *names):
        return self.edge(self.toml + f"[tls]\ncertificate_compression = {list(names)!r}\n",
                         names=("localhost",))

    def trace(self, edge, *args):
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                           "a.test", "-CAfile", self.authority.file, "-trace", *args, input=b"")
        text = done.stdout.decode("latin-1")
        self.assertIn("Verify return code: 0 (ok)", text)
        return text

    def algorithm(self, text):
        found = re.search(r"Compression type=(\w+)", text)
        return found[1] if found else None

    def sent(self, edge, algorithm):
        return edge.metric(f'pqedge_tls_compressed_certificates_total{{algorithm="{algorithm}"}}')

    def test_zlib_and_zstd_with_openssl(self):
        for name in ("zlib", "zstd"):
            with self.subTest(name):
                edge = self.start(name)
                text = self.trace(edge)
                self.assertIn("CompressedCertificate", text)
                self.assertEqual(self.algorithm(text), name)
                self.assertNotRegex(text, r"\n +Certificate, Length")
                sizes = re.search(r"Uncompressed length=(\d+)\s+Compressed length=(\d+), Ratio", text)
                self.assertLess(int(sizes[2]), int(sizes[1]))
                # Over QUIC, and by clients that do not ask for it.
                self.assertIn("Verify return code: 0 (ok)", self.trace(edge, "-no_rx_cert_comp"))
                self.assertEqual(self.sent(edge, name), 1)
                done = harness.run("openssl", "s_client", "-quic", "-alpn", "h3", "-connect",
                                   f"127.0.0.1:{edge.port}", "-servername", "a.test", "-CAfile",
                                   self.authority.file, input=b"")
                self.assertIn(b"Verify return code: 0 (ok)", done.stdout)
                self.assertEqual(self.sent(edge, name), 2)
                for http in harness.ALL_VERSIONS:
                    self.assertEqual(edge.get("/", "--cacert", self.authority.file, http=http,
                                              host="a.test")[0], 200)
                self.assertEqual(self.sent(edge, name), 5)
                self.assertGreater(edge.metric("pqedge_tls_certificate_bytes_saved_total"), 0)
                edge.stop()

    def test_the_first_that_the_client_takes(self):
        # openssl offers zlib and zstd; brotli is for Chromium (tests/browser).
        edge = self.start("brotli", "zstd", "zlib")
        self.assertEqual(self.algorithm(self.trace(edge)), "zstd")
        self.assertEqual(self.algorithm(self.trace(edge)), "zstd")
        self.assertEqual([self.sent(edge, n) for n in ("brotli", "zstd", "zlib")], [0, 2, 0])

    def test_resumed_handshakes_send_none(self):
        edge = self.start("brotli", "zlib")
        session = self.directory / "session"
        harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                    "a.test", "-sess_out", session, "-ign_eof",
                    input=b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
        self.assertEqual(self.sent(edge, "zlib"), 1)
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                           "a.test", "-sess_in", session, input=b"")
        self.assertIn(b"Reused, TLSv1.3", done.stdout)
        self.assertEqual(self.sent(edge, "zlib"), 1)

    def test_the_recipe(self):
        block, = revocation.recipe("certificate-compression", {})
        edge = self.edge(self.toml + block, names=("localhost",))
        self.assertEqual(self.algorithm(self.trace(edge)), "zstd")

    def test_off_by_default(self):
        edge = self.edge(self.toml, names=("localhost",))
        self.assertIsNone(self.algorithm(self.trace(edge)))

    def test_settings_are_checked_and_follow_a_reload(self):
        for setting, said in (('["gzip"]', "is not known here"), ('["zlib", "zlib"]', "there twice"),
                              ('["brotly"]', 'did you mean "brotli"'), ("3", "certificate_compression")):
            with self.subTest(setting):
                code, text = revocation.check(
                    self.directory, self.toml + f"[tls]\ncertificate_compression = {setting}\n")
                self.assertEqual(code, 1)
                self.assertIn(said, text)
        edge = self.start()
        self.assertIsNone(self.algorithm(self.trace(edge)))
        edge.write_config(self.toml + '[tls]\ncertificate_compression = ["zstd"]\n')
        self.assertEqual(edge.reload()[0], 200)
        self.assertEqual(self.algorithm(self.trace(edge)), "zstd")


if __name__ == "__main__":
    harness.main()
