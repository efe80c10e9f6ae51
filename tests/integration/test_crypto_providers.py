"""FIPS, fast key exchange and Encrypted Client Hello as the configuration asks for them (T14, T17).

pqedge-fast.so is there after `make fast-crypto`; without it its tests are left out, unless
PQEDGE_REQUIRE_FAST_CRYPTO=1 says that it must be there.
"""
# ctest: timeout=180

import os
import pathlib
import re

import harness

BUILD = pathlib.Path(harness.PQEDGE).resolve().parent
FAST = BUILD / "pqedge-fast.so"
WRONG = BUILD / "tests" / "wrong-fast.so"
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Providers(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.toml = harness.pool(self.origin.address) + harness.route()

    def s_client(self, edge, *args, request=REQUEST):
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                           "localhost", "-CAfile", edge.certificate.chain, "-ign_eof", *args,
                           input=request)
        return (done.stdout + done.stderr).decode("latin-1")

    def assert_group(self, edge, group):
        text = self.s_client(edge, "-groups", group)
        self.assertRegex(text, rf"(Negotiated TLS1\.3 group: |Peer Temp Key: ){group}\b")
        self.assertIn("HTTP/1.1 200 OK", text, group)

    def refused(self, toml):
        """What pqedge says when it does not start."""
        edge = self.edge(self.toml + toml, wait=False)
        self.assertEqual(edge.process.wait(harness.WAIT), 1, edge.log())
        text = edge.log()
        self.doCleanups()
        self.setUp()
        return text


class Fips(Providers):
    """With Debian's openssl-provider-fips."""

    def setUp(self):
        super().setUp()
        self.module = self.directory / "fipsmodule.cnf"
        modules = harness.run("openssl", "version", "-m").stdout.decode()
        folder = pathlib.Path(re.search(r'"(.*)"', modules).group(1))
        done = harness.run("openssl", "fipsinstall", "-quiet", "-module", folder / "fips.so", "-out",
                           self.module)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.fips = f'[crypto]\nfips = true\nfips_module_config = "{self.module}"\n'

    def test_everything_is_of_the_module(self):
        edge = self.edge(self.toml + self.fips)
        self.assertEqual(edge.metric("pqedge_crypto_fips"), 1)
        log = harness.wait_for(lambda: edge.log() if "session tickets" in edge.log() else "", "the report")
        self.assertRegex(log, r"FIPS: on: OpenSSL FIPS Provider \d")
        there = re.search(r"FIPS: groups there: (.*?)[\"\n]", log).group(1).split(", ")
        absent = re.search(r"FIPS: groups not there: (.*?)[\"\n]", log).group(1).split(", ")
        for group in ("X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024", "MLKEM768",
                      "MLKEM1024", "P-256", "P-384"):
            self.assertIn(group, there)
        self.assertIn("X25519", absent)
        self.assertIn("X448", absent)
        for group in ("X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024"):
            self.assert_group(edge, group)
        # Not in the module, so not in the preset: without FIPS this client is served.
        self.assertNotIn("HTTP/1.1 200", self.s_client(edge, "-groups", "X25519"))
        text = self.s_client(edge, "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256")
        self.assertNotIn("HTTP/1.1 200", text)
        for http in harness.ALL_VERSIONS:
            self.assertEqual(edge.get("/", http=http)[0], 200, http)
        self.assertEqual(edge.metric('pqedge_tls_handshakes_total{group="X25519"'), 0)

    def test_tickets_resume(self):
        edge = self.edge(self.toml + self.fips)
        session = self.directory / "session.pem"
        self.s_client(edge, "-sess_out", session)
        self.assertIn("Reused, TLSv1.3", self.s_client(edge, "-sess_in", session))

    def test_what_the_module_has_not_is_refused(self):
        for toml, words in (('[tls]\ngroups = ["X25519"]\n', '"X25519" is not in the FIPS provider'),
                            ('[tls]\ngroups = ["X25519MLKEM768", "X25519"]\n', '"X25519" is not in'),
                            ('[tls]\nciphers = ["TLS_CHACHA20_POLY1305_SHA256"]\n',
                             "tls.ciphers[0]: \"TLS_CHACHA20_POLY1305_SHA256\" is not in the FIPS"),
                            ):
            with self.subTest(toml=toml):
                text = self.refused(toml + self.fips)
                self.assertIn(words, text)
                self.assertRegex(text, r"edge\.toml:\d+:\d+: tls\.")

    def test_a_module_that_is_not_the_one_measured_does_not_start(self):
        text = self.module.read_text()
        mac = re.search(r"module-mac = ([0-9A-F:]+)", text).group(1)
        self.module.write_text(text.replace(mac, "00" + mac[2:]))
        toml = self.fips
        self.assertIn("FIPS provider does not start", self.refused(toml))

    def test_a_missing_configuration_says_how_to_make_it(self):
        text = self.refused('[crypto]\nfips = true\nfips_module_config = "/nowhere/fipsmodule.cnf"\n')
        self.assertIn("cannot read /nowhere/fipsmodule.cnf", text)
        self.assertIn("openssl fipsinstall -module", text)

    def test_it_is_not_mixed_with_what_is_not_fips(self):
        text = self.refused(self.fips + f'fast_provider = "{WRONG}"\n')
        self.assertIn("crypto.fast_provider", text)
        self.assertIn("is not FIPS", text)
        self.assertIn("has no effect without fips = true",
                      self.refused(f'[crypto]\nfips_module_config = "{self.module}"\n'))

    def test_it_changes_with_a_restart_alone(self):
        edge = self.edge(self.toml + self.fips)
        edge.write_config(self.toml)
        for _ in range(2):
            status, text = edge.reload()
            self.assertEqual(status, 200, text)
            self.assertIn("the section crypto changes with a restart", text)
        self.assertNotIn("HTTP/1.1 200", self.s_client(edge, "-groups", "X25519"))


class Fast(Providers):
    def setUp(self):
        super().setUp()
        if not FAST.exists():
            if os.environ.get("PQEDGE_REQUIRE_FAST_CRYPTO") == "1":
                self.fail(f"{FAST} is missing: make fast-crypto")
            self.skipTest("make fast-crypto builds pqedge-fast.so")

    def test_one_name_leaves_the_module(self):
        done = harness.run("nm", "-D", "--defined-only", FAST)
        names = [line.split()[-1] for line in done.stdout.decode().splitlines()]
        self.assertEqual(names, ["OSSL_provider_init"])
        # And it needs none of the two libraries' names from elsewhere (weak ones are hooks of AWS-LC).
        done = harness.run("nm", "-D", "--undefined-only", FAST)
        needed = [line.split()[-1] for line in done.stdout.decode().splitlines() if " U " in line]
        self.assertGreater(len(needed), 10)
        for line in needed:
            self.assertNotRegex(line, r"\b(OSSL|EVP|ERR|RAND|CRYPTO|OPENSSL|BN|EC|ml_kem|X25519)_")

    def test_it_is_found_checked_and_used(self):
        edge = self.edge(self.toml + '[tls]\ngroups = ["X25519MLKEM768", "MLKEM512", "MLKEM768", '
                                     '"MLKEM1024", "SecP256r1MLKEM768", "X25519", "P-256"]\n')
        self.assertEqual(edge.metric("pqedge_crypto_fast_provider"), 1)
        self.assertEqual(edge.metric("pqedge_crypto_alarm"), 0)
        harness.wait_for(lambda: "fast cryptography: ML-KEM, X25519" in edge.log(), "the report")
        for group in ("X25519MLKEM768", "MLKEM512", "MLKEM768", "MLKEM1024", "X25519",
                      "SecP256r1MLKEM768"):
            self.assert_group(edge, group)
        # By other implementations: GnuTLS, and the one that curl's QUIC has.
        done = harness.run("gnutls-cli", "--priority", "NORMAL:-GROUP-ALL:+GROUP-X25519", "--no-ca-verification",
                           "-p", edge.port, "127.0.0.1", "--sni-hostname", "localhost",
                           input=REQUEST)
        self.assertIn(b"HTTP/1.1 200 OK", done.stdout, done.stdout + done.stderr)
        for http in harness.ALL_VERSIONS:
            self.assertEqual(edge.get("/", "--curves", "X25519MLKEM768", http=http)[0], 200, http)

    def test_classical_groups_and_tls12(self):
        """TLS 1.2 makes the client's key from the parameters of the server's."""
        edge = self.edge(self.toml + '[tls]\nmin_version = "1.2"\n')
        for arguments in (("-tls1_2",), ("-tls1_2", "-groups", "X25519:P-256"), ("-groups", "X25519"),
                          ("-groups", "P-256"), ("-groups", "X25519MLKEM768"),
                          ("-groups", "SecP256r1MLKEM768")):
            with self.subTest(arguments=arguments):
                done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}",
                                   "-CAfile", edge.certificate.chain, *arguments, input=b"")
                self.assertIn(b"Verify return code: 0 (ok)", done.stdout, done.stderr)
                self.assertNotIn(b"alert", done.stderr)

    def test_off_is_off(self):
        edge = self.edge(self.toml + '[crypto]\nfast_provider = "off"\n')
        self.assertEqual(edge.metric("pqedge_crypto_fast_provider"), 0)
        self.assert_group(edge, "X25519MLKEM768")


class WrongModule(Providers):
    def test_a_module_that_computes_wrongly_is_never_used(self):
        edge = self.edge(self.toml + f'[crypto]\nfast_provider = "{WRONG}"\n')
        self.assertEqual(edge.metric("pqedge_crypto_fast_provider"), 0)
        self.assertEqual(edge.metric("pqedge_crypto_alarm"), 1)
        harness.wait_for(lambda: "computes wrongly (ML-KEM-512: key generation)" in edge.log(), "the alarm")
        for group in ("X25519MLKEM768", "X25519"):
            self.assert_group(edge, group)

    def test_a_file_that_is_no_module_is_refused(self):
        for path, words in (("/nowhere/pqedge-fast.so", "cannot load the module"),
                            (harness.run("sh", "-c", "ls /usr/lib/*/libz.so.1").stdout.decode().strip(),
                             "is no provider")):
            with self.subTest(path=path):
                self.assertIn(words, self.refused(f'[crypto]\nfast_provider = "{path}"\n'))


class EncryptedClientHello(Providers):
    """What the build against OpenSSL 3.5 says of it; tests/openssl4 has the rest."""

    def test_the_setting_is_refused_where_it_cannot_be_served(self):
        version = harness.run(harness.PQEDGE, "version").stdout.decode()
        if "OpenSSL 3." not in version:
            self.skipTest("this build has it")
        text = self.refused('[tls]\n[tls.ech]\nkeys = ["ech.pem"]\npublic_name = "cover.example"\n')
        self.assertRegex(text, r"edge\.toml:\d+:\d+: tls\.ech: cannot be served: this pqedge is built "
                               r"with 3\.5\.\d+, and Encrypted Client Hello came with OpenSSL 4\.0; "
                               r"make openssl4")

    def test_keys_are_made_and_shown_all_the_same(self):
        key = self.directory / "ech.pem"
        done = harness.run(harness.PQEDGE, "ech-keys", "generate", "--public-name", "cover.example",
                           "--out", key)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(key.stat().st_mode & 0o777, 0o600)
        before = key.read_bytes()
        done = harness.run(harness.PQEDGE, "ech-keys", "generate", "--public-name", "cover.example",
                           "--out", key)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"never overwritten", done.stderr)
        self.assertEqual(key.read_bytes(), before)
        self.assertEqual([p.name for p in self.directory.glob("ech*")], ["ech.pem"])
        done = harness.run(harness.PQEDGE, "ech-keys", "show", key, "--host", "www.example")
        self.assertRegex(done.stdout.decode(),
                         r'\nwww\.example\. 3600 IN HTTPS 1 \. alpn="h3,h2" ech="AE[A-Za-z0-9+/]+=*"\n')
        self.assertNotIn(before.split(b"\n")[1], done.stdout)
        done = harness.run(harness.PQEDGE, "ech-keys", "generate", "--public-name", "192.0.2.1", "--out",
                           self.directory / "other.pem")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"public name", done.stderr)


if __name__ == "__main__":
    harness.main()
