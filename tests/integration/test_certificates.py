"""Certificates: forms of keys, several for one name, files that change (T4, T5, T16; K6, K10)."""

# ctest: timeout=120

import os
import re
import shutil
import signal
import types

import harness
from authority import Authority, Pair, new_key, openssl
from load import Load


class Certificates(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import pathlib
        import tempfile
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="pqedge-ca-"))
        cls.ca = Authority(cls.shared)
        # Many tests want a key, few a new one.
        cls.keys = {kind: new_key(cls.shared / f"shared-{kind}.key", kind)
                    for kind in ("P-256", "RSA", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87")}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared, ignore_errors=True)
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.toml = harness.pool(self.origin.address) + harness.route()

    def issue(self, stem, *args, kind="P-256", **kwargs):
        kwargs.setdefault("key", self.keys.get(kind))
        kwargs.setdefault("folder", self.directory)
        return self.ca.issue(stem, *args, kind=kind, **kwargs)

    def serve(self, toml, **kwargs):
        """An edge with the certificates of `toml` alone."""
        port = harness.free_port()
        listener = f'[[listener]]\nname = "https"\naddress = "127.0.0.1:{port}"\n'
        edge = harness.Edge(self.directory, self.toml + listener + toml, listener=False, **kwargs)
        edge.port = port
        edge.certificate = types.SimpleNamespace(chain=self.ca.chain)
        self.addCleanup(self._end_edge, edge)
        return edge

    def s_client(self, edge, *args, name="localhost", quic=False):
        """What openssl s_client prints of the handshake."""
        how = ["-quic", "-alpn", "h3"] if quic else ["-alpn", "http/1.1"]
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}",
                           "-servername", name, "-CAfile", self.ca.chain, *how, *args, input=b"")
        return (done.stdout + done.stderr).decode("latin-1")

    def serial(self, edge, *args, **kwargs):
        text = self.s_client(edge, *args, **kwargs)
        found = re.search(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", text, re.S)
        if not found:
            return text
        done = harness.run("openssl", "x509", "-noout", "-serial", input=found[0].encode())
        return int(done.stdout.decode().strip().split("=")[1], 16)

    def stale(self, edge, path):
        return edge.metric('pqedge_certificate_stale{certificate="%s"' % path)

    # ---- T4 ----

    def test_every_kind_and_form_of_key(self):
        forms = ("seed-priv", "priv-only", "seed-only", "oqskeypair", "bare-seed", "bare-priv")
        kinds = [("ML-DSA-65", form) for form in forms]
        kinds += [("ML-DSA-44", "seed-priv"), ("ML-DSA-87", "priv-only")]
        kinds += [(kind, None) for kind in
                  ("P-256", "P-384", "P-521", "RSA", "RSA-PSS", "ED25519", "ED448")]
        pairs = []
        for i, (kind, form) in enumerate(kinds):
            more = [] if form is None else ["-provparam", f"ml-dsa.output_formats={form}"]
            key = new_key(self.directory / f"made{i}.key", kind, *more)
            pairs.append(self.issue(f"c{i}", (f"n{i}.test",), key=key))
        edge = self.serve("".join(p.toml() for p in pairs))
        for i, (kind, form) in enumerate(kinds):
            with self.subTest(kind=kind, form=form):
                text = self.s_client(edge, name=f"n{i}.test")
                self.assertIn("Verify return code: 0 (ok)", text)
                self.assertIn(f"CN=n{i}.test", text.replace(" ", ""))
        for i in (0, 7, 8, 11, 12):
            text = self.s_client(edge, name=f"n{i}.test", quic=True)
            self.assertIn("Verify return code: 0 (ok)", text)

    def test_what_tls_cannot_serve_is_refused_with_the_reason(self):
        key = new_key(self.directory / "slh.key", "SLH-DSA-SHA2-128f")
        pair = self.issue("slh", key=key)
        edge = harness.Edge(self.directory, self.toml + pair.toml(), wait=False)
        self.addCleanup(edge.kill)
        self.assertEqual(edge.process.wait(harness.WAIT), 1)
        self.assertRegex(edge.log(), r"slh\.pem: .*cannot serve a certificate with this "
                                     r"SLH-DSA-SHA2-128f key")
        self.assertIn("certificate[1].chain", edge.log())

    def test_the_strongest_that_the_client_lists(self):
        # K6, over TCP and QUIC.
        pairs = {kind: self.issue(kind.lower(), kind=kind)
                 for kind in ("RSA", "P-256", "ML-DSA-65", "ML-DSA-44")}
        edge = self.serve("".join(p.toml() for p in pairs.values()))
        chain = ":ecdsa_secp256r1_sha256"  # what the CA signs with
        for schemes, kind in (
                ("mldsa65:rsa_pss_rsae_sha256", "ML-DSA-65"),
                ("rsa_pss_rsae_sha256:mldsa65", "ML-DSA-65"),
                ("mldsa44:mldsa65" + chain, "ML-DSA-65"),
                ("rsa_pss_rsae_sha256:mldsa44" + chain, "ML-DSA-44"),
                ("rsa_pss_rsae_sha256:ecdsa_secp256r1_sha256", "P-256"),
                ("ecdsa_secp256r1_sha256:rsa_pss_rsae_sha256", "P-256"),
                ("rsa_pss_rsae_sha256", "RSA")):
            for quic in (False, True):
                with self.subTest(schemes=schemes, quic=quic):
                    self.assertEqual(self.serial(edge, "-sigalgs", schemes, quic=quic),
                                     pairs[kind].serial)
        self.assertEqual(self.serial(edge), pairs["ML-DSA-65"].serial)

    def test_the_chain_counts_too(self):
        # signature_algorithms_cert (RFC 8446 4.2.3): who cannot verify the CA's ML-DSA gets the other.
        folder = self.directory / "pq"
        folder.mkdir()
        pq_ca = Authority(folder, "ML-DSA-87")
        strong = pq_ca.issue("strong", key=self.keys["ML-DSA-65"])
        weak = self.issue("weak", kind="ML-DSA-44")
        edge = self.serve(strong.toml() + weak.toml())
        self.assertEqual(self.serial(edge), strong.serial)
        self.assertEqual(self.serial(edge, "-sigalgs", "mldsa65:mldsa44:ecdsa_secp256r1_sha256"),
                         weak.serial)

    # ---- T5 ----

    def test_a_kubernetes_volume(self):
        # K10: `..data` is renamed over three times, under load; each swap is seen, nothing is lost.
        volume = self.directory / "volume"
        volume.mkdir()

        def swap(n):
            version = volume / f"..2026_{n}"
            version.mkdir()
            pair = self.issue("tls", folder=version)
            pair.chain.rename(version / "tls.crt")
            link = volume / "..data_tmp"
            link.symlink_to(version.name)
            link.rename(volume / "..data")
            shutil.rmtree(volume / f"..2026_{n - 1}", ignore_errors=True)
            return pair.serial

        first = swap(0)
        for name in ("tls.crt", "tls.key"):
            (volume / name).symlink_to(f"..data/{name}")
        edge = self.serve(Pair(volume / "tls.crt", volume / "tls.key", first).toml(), workers=2)
        self.assertEqual(self.serial(edge), first)
        loads = [Load(self, edge, "h2", "-c", "2", "--handshake-each", "-r", "20", name="new"),
                 Load(self, edge, "h3", "-c", "2", "--handshake-each", "-r", "20", name="new"),
                 Load(self, edge, "h2", "-c", "2", "-r", "100")]
        harness.wait_for(lambda: edge.metric("pqedge_requests_total") > 20, "load")
        for n in (1, 2, 3):
            serial = swap(n)
            harness.wait_for(lambda: self.serial(edge) == serial, f"swap {n}")
            self.assertEqual(self.serial(edge, quic=True), serial)
        for load in loads:
            record = load.stop()
            self.assertGreater(record["requests"], 0)
            self.assertEqual(record["failures"], {})
        self.assertEqual(edge.metric('pqedge_certificate_reads_total{result="taken"}'), 3)

    def test_certificate_and_key_that_come_apart(self):
        # K10: the certificate first, its key later.
        pair = self.issue("one")
        edge = self.serve(pair.toml())
        other = self.issue("two", kind="RSA")
        os.replace(other.chain, pair.chain)
        harness.wait_for(lambda: self.stale(edge, pair.chain) == 1, "the alarm")
        self.assertEqual(self.serial(edge), pair.serial)
        harness.wait_for(lambda: "does not fit" in edge.log(), "the line in the log")
        self.assertIn("the certificate read before stays in use", edge.log())
        os.replace(other.key, pair.key)
        harness.wait_for(lambda: self.serial(edge) == other.serial, "the new pair")
        harness.wait_for(lambda: self.stale(edge, pair.chain) == 0, "the end of the alarm")

    def test_a_damaged_file_and_one_that_is_gone(self):
        pair = self.issue("one")
        edge = self.serve(pair.toml())
        good = pair.chain.read_text()
        pair.chain.write_text(good[:200])
        harness.wait_for(lambda: self.stale(edge, pair.chain) == 1, "the alarm")
        self.assertEqual(self.serial(edge), pair.serial)
        pair.chain.unlink()
        harness.wait_for(lambda: f"cannot open {pair.chain}" in edge.log(), "the line in the log")
        self.assertEqual(self.serial(edge), pair.serial)
        fresh = self.issue("fresh")
        os.replace(fresh.key, pair.key)
        os.replace(fresh.chain, pair.chain)
        harness.wait_for(lambda: self.serial(edge) == fresh.serial, "the new pair")

    def test_a_directory_of_certificates(self):
        folder = self.directory / "certs"
        (folder / "live").mkdir(parents=True)
        one = self.issue("one", ("one.test",), folder=folder)
        live = self.issue("two", ("two.test",), folder=folder / "live")
        live.chain.rename(folder / "live" / "fullchain.pem")
        live.key.rename(folder / "live" / "privkey.pem")
        together = self.issue("three", ("three.test",), folder=folder)
        together.chain.write_text(together.chain.read_text() + together.key.read_text())
        together.chain.chmod(0o600)
        together.key.unlink()
        (folder / "notes.txt").write_text("left alone")
        edge = self.serve(f'[[certificate]]\ndirectory = "{folder}"\n')
        for name, pair in (("one.test", one), ("two.test", live), ("three.test", together)):
            self.assertEqual(self.serial(edge, name=name), pair.serial, name)
        # One comes, one changes, one is damaged, one goes.
        four = self.issue("four", ("four.test",))
        shutil.move(four.key, folder)
        shutil.move(four.chain, folder)
        harness.wait_for(lambda: self.serial(edge, name="four.test") == four.serial, "a new one")
        again = self.issue("again", ("one.test",))
        os.replace(again.key, one.key)
        os.replace(again.chain, one.chain)
        harness.wait_for(lambda: self.serial(edge, name="one.test") == again.serial, "another")
        (folder / "five.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n")
        (folder / "five.key").write_text("x")
        harness.wait_for(lambda: self.stale(edge, folder / "five.pem") == 1, "the alarm")
        self.assertEqual(self.serial(edge, name="two.test"), live.serial)

    def test_reloads_by_request(self):
        pair = self.issue("one")
        edge = self.serve(pair.toml() + "[tls]\nwatch_certificates = false\n")
        status, text = edge.control_request("/reload-certificates")
        self.assertEqual((status, text), (200, "certificates: 0 read anew, 0 removed\n"))
        fresh = self.issue("fresh")  # for the same key
        os.replace(fresh.chain, pair.chain)
        status, text = edge.control_request("/reload-certificates")
        self.assertEqual((status, text), (200, "certificates: 1 read anew, 0 removed\n"))
        self.assertEqual(self.serial(edge), fresh.serial)
        rsa = self.issue("rsa", kind="RSA")
        os.replace(rsa.chain, pair.chain)
        status, text = edge.control_request("/reload-certificates")
        self.assertEqual(status, 422)
        self.assertIn("does not fit", text)
        os.replace(rsa.key, pair.key)
        self.assertEqual(edge.control_request("/reload-certificates")[0], 200)
        self.assertEqual(self.serial(edge), rsa.serial)
        # And by SIGHUP, with the whole configuration.
        last = self.issue("last", kind="P-256")
        os.replace(last.key, pair.key)
        os.replace(last.chain, pair.chain)
        edge.send_signal(signal.SIGHUP)
        harness.wait_for(lambda: self.serial(edge) == last.serial, "the reload")

    def test_expiry_is_told(self):
        soon = self.issue("soon", ("soon.test",), days=20)
        late = self.issue("late", ("late.test",), days=400)
        edge = self.serve(late.toml() + soon.toml())
        metrics = {k: v for k, v in edge.metrics().items()
                   if k.startswith("pqedge_certificate_expiry_seconds{")}
        ends = openssl("x509", "-noout", "-enddate", "-dateopt", "iso_8601", "-in", soon.chain)
        import datetime
        when = datetime.datetime.strptime(ends.strip().split("=")[1], "%Y-%m-%d %H:%M:%SZ")
        when = when.replace(tzinfo=datetime.timezone.utc).timestamp()
        self.assertEqual([v for k, v in metrics.items() if "soon.test" in k], [when])
        self.assertEqual(len(metrics), 2)
        # A third of its life is what an expiry is spoken of from, within 30 days.
        self.assertNotIn("expires in", edge.log())
        os.replace(self.issue("next", ("soon.test",), days=0).chain, soon.chain)
        harness.wait_for(lambda: re.search(r"soon\.pem: the certificate for soon\.test.* has expired",
                                           edge.log()), "the line in the log")

    # ---- T16 ----

    def test_strict_mode_holds_for_what_is_read_later(self):
        folder = self.directory / "certs"
        folder.mkdir()
        pair = self.issue("one", folder=folder)
        edge = self.serve(f'[[certificate]]\ndirectory = "{folder}"\n'
                          "[tls]\nstrict_key_files = true\n")
        fresh = self.issue("fresh")
        fresh.key.chmod(0o640)
        os.replace(fresh.key, pair.key)
        os.replace(fresh.chain, pair.chain)
        harness.wait_for(lambda: self.stale(edge, pair.chain) == 1, "the alarm")
        harness.wait_for(lambda: "mode is 0640" in edge.log(), "the line in the log")
        self.assertEqual(self.serial(edge), pair.serial)
        pair.key.chmod(0o600)
        harness.wait_for(lambda: self.serial(edge) == fresh.serial, "the new pair")
        self.assertEqual(edge.stop(), 0)
        self.assertNotIn("PRIVATE KEY", edge.log())
        # A chain with its key in one file is a key's file.
        (folder / "both.pem").write_text(pair.chain.read_text() + pair.key.read_text())
        (folder / "both.pem").chmod(0o644)
        pair.key.unlink()
        pair.chain.unlink()
        again = harness.Process([harness.PQEDGE, "check", edge.config_path],
                                self.directory / "check.log")
        self.addCleanup(again.kill)
        self.assertEqual(again.process.wait(harness.WAIT), 1)
        self.assertIn("mode is 0644", again.log())

    def test_what_a_directory_setting_refuses(self):
        empty = self.directory / "empty"
        empty.mkdir()
        for toml, words in (
                (f'directory = "{empty}"', "holds no certificate"),
                (f'directory = "{empty}/none"', "cannot read the directory"),
                (f'directory = "{empty}"\nkey = "x.key"', "cannot be given beside directory")):
            with self.subTest(toml=toml):
                path = self.directory / "bad.toml"
                path.write_text("version = 1\n[[listener]]\nname = \"a\"\n"
                                f'address = "127.0.0.1:{harness.free_port()}"\n'
                                f"[[certificate]]\n{toml}\n")
                done = harness.run(harness.PQEDGE, "check", path)
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr.decode())
                self.assertIn("bad.toml:", done.stderr.decode())


if __name__ == "__main__":
    harness.main()
