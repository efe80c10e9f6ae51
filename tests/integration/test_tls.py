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
