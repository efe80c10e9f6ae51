"""TLS as openssl, curl and Python's ssl see it (T1, T2, T5, T6)."""

import re
import ssl

import harness


class Tls(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.toml = harness.pool(self.origin.address) + harness.route()

    def s_client(self, edge, *args, request=None, name="localhost"):
        request = request or (b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}",
                           "-servername", name, "-CAfile", edge.certificate.chain, "-ign_eof", *args,
                           input=request)
        return done.returncode, (done.stdout + done.stderr).decode("latin-1")

    def test_the_hybrid_group_is_negotiated(self):
        edge = self.edge(self.toml)
        _, text = self.s_client(edge, "-groups", "X25519MLKEM768")
        self.assertRegex(text, r"Negotiated TLS1\.3 group: X25519MLKEM768")
        self.assertIn("HTTP/1.1 200 OK", text)

    def test_post_quantum_first_whatever_the_client_lists_first(self):
        # K1: a classical share in hand, ML-KEM listed: HelloRetryRequest (RFC 8446 4.1.4).
        edge = self.edge(self.toml)
        code, text = self.s_client(edge, "-groups", "*X25519:X25519MLKEM768", "-msg")
        self.assertRegex(text, r"Negotiated TLS1\.3 group: X25519MLKEM768")
        self.assertEqual(len(re.findall(r">>> TLS 1\.3, Handshake \[length [0-9a-f]+\], ClientHello",
                                        text)), 2, text)
        record = edge.wait_access(1)[0]
        self.assertEqual(record["group"], "X25519MLKEM768")

    def test_classical_clients_are_served_by_default(self):
        edge = self.edge(self.toml)
        for group in ("X25519", "P-256", "P-384"):
            _, text = self.s_client(edge, "-groups", group)
            self.assertIn("HTTP/1.1 200 OK", text, group)

    def test_hybrid_required_refuses_classical_clients(self):
        edge = self.edge(self.toml + '[tls]\ngroups = "hybrid-required"\n')
        _, text = self.s_client(edge, "-groups", "X25519MLKEM768")
        self.assertIn("HTTP/1.1 200 OK", text)
        _, text = self.s_client(edge, "-groups", "X25519")
        self.assertNotIn("HTTP/1.1 200", text)
        self.assertIn("handshake failure", text)
        harness.wait_for(lambda: edge.metric("pqedge_tls_handshake_failures_total") >= 1, "the counter")

    # T3: what each kind of client gets, over every version.
    CLIENTS = {"post-quantum": "X25519MLKEM768:X25519", "downgraded": "MLKEM512:X25519",
               "classical": "X25519"}

    def statuses(self, edge, http):
        """Status by kind of client; "alert" where the handshake was refused."""
        seen = {}
        for kind, groups in self.CLIENTS.items():
            done = edge.curl("/", "-o", "/dev/null", "-w", "%{http_code}", "--curves", groups,
                             http=http)
            seen[kind] = done.stdout.decode() if done.returncode == 0 else "alert"
        return seen

    def test_classical_handshakes_by_policy(self):
        for setting, wanted in (
                ("", ("200", "200", "200")),
                ('downgraded_clients = "refuse"', ("200", "alert", "200")),
                ('classical_clients = "refuse"', ("200", "200", "alert")),
                ('downgraded_clients = "403"\nclassical_clients = "421"', ("200", "403", "421"))):
            self.setUp()
            edge = self.edge(self.toml + f"[tls]\n{setting}\n")
            for http in harness.ALL_VERSIONS:
                with self.subTest(setting=setting, http=http):
                    self.assertEqual(self.statuses(edge, http),
                                     dict(zip(self.CLIENTS, wanted)), edge.log()[-2000:])
            alerts = wanted.count("alert") * len(harness.ALL_VERSIONS)
            self.assertEqual(
                edge.metric('pqedge_tls_handshake_failures_total{reason="classical"}'), alerts)
            self.doCleanups()

    def test_the_page_says_why(self):
        edge = self.edge(self.toml + '[tls]\nclassical_clients = "403"\n')
        status, fields, body = edge.get("/", "--curves", "X25519", http="2")
        self.assertEqual((status, fields["content-type"]), (403, ["text/html; charset=utf-8"]))
        self.assertIn(b"X25519MLKEM768", body)
        self.assertEqual(self.origin.requests, [])

    def test_classical_handshakes_are_counted_and_logged_apart(self):
        edge = self.edge(self.toml + '[tls]\ndowngraded_clients = "log"\n')
        for http in ("2", "3"):
            self.statuses(edge, http)
        name = 'pqedge_tls_classical_handshakes_total{client="%s"}'
        self.assertEqual(edge.metric(name % "offered_post_quantum"), 2)
        self.assertEqual(edge.metric(name % "classical_only"), 2)
        line = "offers post-quantum groups, but none of those served"
        harness.wait_for(lambda: edge.log().count(line) >= 2, "the lines in the log")
        self.assertEqual(edge.log().count(line), 2)
        self.assertNotIn("offers no post-quantum group", edge.log())

    def test_the_alert_of_a_refused_group(self):
        # RFC 8446 6.2: insufficient_security.
        edge = self.edge(self.toml + '[tls]\nclassical_clients = "refuse"\n')
        _, text = self.s_client(edge, "-groups", "X25519")
        self.assertIn("alert insufficient security", text)
        # A hello with a classical share that lists ML-KEM is asked again, not refused.
        _, text = self.s_client(edge, "-groups", "*X25519:X25519MLKEM768")
        self.assertIn("HTTP/1.1 200 OK", text)

    def test_a_policy_for_classical_clients_must_have_an_effect(self):
        for toml, words in (
                ('[tls]\ngroups = "hybrid-required"\nclassical_clients = "403"\n', "has no effect"),
                ('[tls]\ngroups = ["X25519"]\nclassical_clients = "refuse"\n', "every client away"),
                ('[tls]\nclassical_clients = "404"\n', "404")):
            with self.subTest(toml=toml):
                self.setUp()
                edge = self.edge(self.toml + toml, wait=False)
                self.assertEqual(edge.process.wait(harness.WAIT), 1)
                self.assertIn(words, edge.log())
                self.assertIn("tls.classical_clients", edge.log())
                self.doCleanups()

    def test_strict_key_files(self):
        # T16: the file's mode, looked at when the configuration is loaded.
        one = harness.Certificate(self.directory, ("one.test",), stem="one")
        toml = (self.toml + "[tls]\nstrict_key_files = true\n"
                f'[[certificate]]\nchain = "{one.chain}"\nkey = "{one.key}"\n')
        edge = self.edge(toml)
        one.key.chmod(0o640)
        status, body = edge.reload()
        self.assertEqual(status, 422, body)
        self.assertIn("0640", body)
        self.assertIn("certificate[1].key", body)
        self.assertEqual(edge.get("/")[0], 200)
        self.assertEqual(edge.stop(), 0)
        again = harness.Process([harness.PQEDGE, "--config", edge.config_path],
                                self.directory / "again.log")
        self.addCleanup(again.kill)
        self.assertEqual(again.process.wait(harness.WAIT), 1)
        self.assertIn("chmod 600", again.log())

    def test_a_key_that_everyone_reads_is_warned_of_once(self):
        edge = self.edge(self.toml)
        edge.certificate.key.chmod(0o644)
        edge.reload()
        # The log has a thread of its own; what a reload says last comes last.
        harness.wait_for(lambda: "reloaded" in edge.log(), "the end of the reload")
        self.assertEqual(edge.log().count("can be read by everyone"), 1, edge.log())

    def test_an_own_list_of_groups(self):
        edge = self.edge(self.toml + '[tls]\ngroups = ["SecP384r1MLKEM1024", "P-384"]\n')
        _, text = self.s_client(edge, "-groups", "P-384:SecP384r1MLKEM1024")
        self.assertIn("group: SecP384r1MLKEM1024", text)

    def test_tls12_is_refused_by_default_and_served_when_configured(self):
        edge = self.edge(self.toml)
        _, text = self.s_client(edge, "-tls1_2")
        self.assertIn("alert protocol version", text)

        directory = self.directory / "twelve"
        directory.mkdir()
        old = harness.Edge(directory, self.toml + '[tls]\nmin_version = "1.2"\n')
        self.addCleanup(old.kill)
        _, text = self.s_client(old, "-tls1_2")
        self.assertIn("HTTP/1.1 200 OK", text)
        # RFC 9113 9.2.2: suites without forward secrecy, or without AEAD.
        _, text = self.s_client(old, "-tls1_2", "-cipher", "AES128-GCM-SHA256:ECDHE-ECDSA-AES128-SHA")
        self.assertIn("handshake failure", text)

    def test_certificates_by_name(self):
        one = harness.Certificate(self.directory, ("one.test", "*.wild.test"), stem="one")
        two = harness.Certificate(self.directory, ("two.test",), "ML-DSA-65", stem="two")
        edge = self.edge(self.toml + "".join(
            f'[[certificate]]\nchain = "{c.chain}"\nkey = "{c.key}"\n' for c in (one, two)))
        for name, subject in (("one.test", "one.test"), ("ONE.test", "one.test"),
                              ("a.wild.test", "one.test"), ("two.test", "two.test"),
                              ("a.b.wild.test", "localhost"), ("unknown.test", "localhost")):
            _, text = self.s_client(edge, name=name)
            self.assertRegex(text, rf"subject=CN ?= ?{re.escape(subject)}", name)
        _, text = self.s_client(edge, name="two.test")
        self.assertIn("mldsa65", text.lower().replace("-", ""))

    def test_alpn(self):
        edge = self.edge(self.toml)
        for offered, chosen in ((["h2", "http/1.1"], "h2"), (["http/1.1"], "http/1.1"),
                                (["http/1.1", "h2"], "h2"), ([], None)):
            with edge.tls(alpn=offered) as sock:
                self.assertEqual(sock.selected_alpn_protocol(), chosen)
        with self.assertRaises(ssl.SSLError):
            # RFC 7301 3.2: no overlap is an alert, never a guess.
            edge.tls(alpn=["gopher"]).close()

    def test_a_listener_without_h2_offers_none(self):
        edge = self.edge(self.toml, listener_toml='protocols = ["http/1.1"]')
        with edge.tls(alpn=["h2", "http/1.1"]) as sock:
            self.assertEqual(sock.selected_alpn_protocol(), "http/1.1")
        _, fields, _ = edge.get("/", http="1.1")
        self.assertNotIn("alt-svc", fields)

    def test_plain_http_on_the_tls_port_is_told_so(self):
        edge = self.edge(self.toml)
        done = harness.run("curl", "-sS", "-i", f"http://127.0.0.1:{edge.port}/")
        self.assertTrue(done.returncode != 0 or b" 400 " in done.stdout, done.stdout)
        self.assertEqual(edge.get("/")[0], 200)

    def test_tickets_resume_on_every_worker(self):
        edge = self.edge(self.toml, workers=4)
        session = self.directory / "session"
        self.s_client(edge, "-sess_out", session)
        for _ in range(8):
            _, text = self.s_client(edge, "-sess_in", session)
            self.assertIn("Reused, TLSv1.3", text)
        records = edge.wait_access(9)
        self.assertEqual([r["resumed"] for r in records].count(True), 8)

    def test_http3_negotiates_the_hybrid_group(self):
        edge = self.edge(self.toml)
        edge.get("/", http="3")
        record = edge.wait_access(1)[0]
        self.assertEqual((record["http_version"], record["group"]), ("HTTP/3", "X25519MLKEM768"))
        edge.get("/", "--curves", "X25519:X25519MLKEM768", http="3")
        self.assertEqual(edge.wait_access(2)[1]["group"], "X25519MLKEM768")

    def test_handshake_timeout(self):
        import socket
        edge = self.edge(self.toml + '[tls]\nhandshake_timeout = "1s"\n')
        with socket.create_connection(("127.0.0.1", edge.port), timeout=harness.WAIT) as sock:
            sock.sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a ClientHello, no more
            while sock.recv(100):  # an alert, then the end
                pass
        self.assertEqual(edge.get("/")[0], 200)


if __name__ == "__main__":
    harness.main()
