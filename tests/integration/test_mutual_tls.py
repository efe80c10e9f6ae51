"""Client certificates (T11), and the identity fields that nobody can forge (K15)."""
# ctest: timeout=120

import base64
import json

import harness
import pki


class MutualTls(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.ca = pki.Authority(self.directory)
        self.toml = harness.pool(self.origin.address) + harness.route()

    def tls(self, mode="required", **keys):
        keys = {"client_auth": mode, "client_ca": str(self.ca.certificate), **keys}
        return "[tls]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in keys.items())

    def seen(self, edge, *args, http="2"):
        """The fields that the backend got; None where the client got no 200."""
        done = edge.curl("/", "-k", "-w", "\n%{http_code}", *args, http=http)
        body, _, code = done.stdout.rpartition(b"\n")
        if done.returncode != 0 or code != b"200":
            return None
        fields = {}
        for line in body.decode("latin-1").split("\r\n")[1:]:
            name, colon, value = line.partition(":")
            if colon:
                fields.setdefault(name.lower(), []).append(value.strip())
        return fields

    def status(self, edge, path, *args, http="2", host="localhost"):
        done = edge.curl(path, "-k", "-o", "/dev/null", "-w", "%{http_code}", *args, http=http,
                         host=host)
        return int(done.stdout) if done.returncode == 0 else None

    def test_a_certificate_is_required_and_told_to_the_backend(self):
        edge = self.edge(self.toml + self.tls())
        alice = self.ca.issue("alice", sans="DNS:alice.test,email:alice@example.org,"
                                            "URI:spiffe://example.org/a,IP:192.0.2.7")
        der = base64.b64encode(pki._openssl("x509", "-in", alice.chain, "-outform", "DER")).decode()
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.assertIsNone(self.seen(edge, http=http))
                fields = self.seen(edge, *alice.curl(), http=http)
                self.assertIsNotNone(fields, edge.log()[-3000:])
                self.assertEqual(fields["x-ssl-client-verify"], ["SUCCESS"])
                self.assertEqual(fields["x-ssl-client-dn"], ["CN=alice,O=Example"])
                self.assertEqual(fields["x-ssl-client-issuer-dn"], ["CN=Test CA"])
                self.assertEqual(fields["x-ssl-client-san"],
                                 ["DNS:alice.test, email:alice@example.org, "
                                  "URI:spiffe://example.org/a, IP:192.0.2.7"])
                self.assertEqual(fields["x-ssl-client-serial"], [alice.serial()])
                self.assertEqual(fields["x-ssl-client-sha256"], [alice.fingerprint()])
                self.assertEqual(fields["client-cert"], [f":{der}:"])  # RFC 9440 2.2
        self.assertEqual(len(self.origin.requests), 3)
        record = edge.wait_access(1, lambda r: r["status"] == 200)[0]
        self.assertEqual(record["client_subject"], "CN=alice,O=Example")
        harness.wait_for(lambda: edge.metric(
            'pqedge_tls_handshake_failures_total{reason="no_client_certificate"}') >= 2, "the counter")

    def test_what_is_wrong_with_a_certificate(self):
        edge = self.edge(self.toml + self.tls())
        other = pki.Authority(self.directory, stem="other", name="Other CA")
        for issued, why in ((self.ca.issue("old", begins=-3, ends=-1), "expired"),
                            (self.ca.issue("young", begins=1, ends=2), "not yet valid"),
                            (other.issue("stranger"), "unknown authority"),
                            (self.ca.issue("server", purpose="serverAuth"), "not for this purpose")):
            with self.subTest(why=why):
                self.assertIsNone(self.seen(edge, *issued.curl(), http="1.1"))
                line = f"the client's certificate is not accepted: {why}"
                harness.wait_for(lambda line=line: line in edge.log(), line)
        self.assertEqual(self.origin.requests, [])

    def test_post_quantum_certificates(self):
        ca = pki.Authority(self.directory, stem="pq", name="PQ CA", algorithm="ML-DSA-65")
        edge = self.edge(self.toml + self.tls(client_ca=str(ca.certificate)))
        bob = ca.issue("bob", subject="/CN=bob", algorithm="ML-DSA-44")
        for http in harness.ALL_VERSIONS:
            fields = self.seen(edge, *bob.curl(), http=http)
            self.assertIsNotNone(fields, edge.log()[-3000:])
            self.assertEqual(fields["x-ssl-client-dn"], ["CN=bob"], http)

    def test_optional_and_request_any(self):
        other = pki.Authority(self.directory, stem="other", name="Other CA")
        stranger, alice = other.issue("stranger"), self.ca.issue("alice")
        edge = self.edge(self.toml + self.tls("optional"))
        self.assertEqual(self.seen(edge)["x-ssl-client-verify"], ["NONE"])
        self.assertEqual(self.seen(edge, *alice.curl())["x-ssl-client-verify"], ["SUCCESS"])
        self.assertIsNone(self.seen(edge, *stranger.curl()))
        edge.write_config(self.toml + self.tls("request_any"))
        self.assertEqual(edge.reload()[0], 200)
        for http in harness.ALL_VERSIONS:
            fields = self.seen(edge, *stranger.curl(), http=http)
            self.assertEqual(fields["x-ssl-client-verify"], ["FAILED:unknown authority"])
            self.assertEqual(fields["x-ssl-client-sha256"], [stranger.fingerprint()])
        self.assertEqual(self.seen(edge, *alice.curl())["x-ssl-client-verify"], ["SUCCESS"])
        self.assertNotIn("x-ssl-client-dn", self.seen(edge))

    def test_routes_for_certain_clients(self):
        alice = self.ca.issue("alice", sans="DNS:alice.svc.test,email:alice@example.org")
        bob = self.ca.issue("bob", subject="/O=Example/CN=bob", sans="DNS:bob.other.test")
        other = pki.Authority(self.directory, stem="other", name="Other CA")
        pinned = other.issue("pinned", subject="/CN=pinned")
        routes = (harness.pool(self.origin.address) + harness.route() +
                  harness.route(name="any", path_prefix="/any", client_certificate=True) +
                  harness.route(name="svc", path_prefix="/svc", client_names=["*.svc.test"]) +
                  harness.route(name="mail", path_prefix="/mail",
                                client_names=["alice@example.org"]) +
                  harness.route(name="subject", path_prefix="/subject",
                                client_subjects=["CN=bob,O=Example"]) +
                  harness.route(name="pin", path_prefix="/pin",
                                client_fingerprints=[pinned.fingerprint().upper()]))
        edge = self.edge(routes + self.tls("request_any"))
        wanted = {  # path: (nobody, alice, bob, pinned)
            "/": (200, 200, 200, 200), "/any": (403, 200, 200, 403), "/svc/x": (403, 200, 403, 403),
            "/mail": (403, 200, 403, 403), "/subject": (403, 403, 200, 403),
            "/pin": (403, 403, 403, 200)}
        for http in harness.ALL_VERSIONS:
            for path, statuses in wanted.items():
                if http != "2" and path != "/svc/x":
                    continue
                for client, status in zip((None, alice, bob, pinned), statuses):
                    with self.subTest(http=http, path=path, client=client and client.chain.name):
                        shown = client.curl() if client else ()
                        self.assertEqual(self.status(edge, path, *shown, http=http), status)

    def test_revocation(self):
        alice, bob = self.ca.issue("alice"), self.ca.issue("bob", subject="/CN=bob")
        self.ca.revoke(bob)
        crl = self.ca.revocation_list(self.directory / "crl.pem")
        edge = self.edge(self.toml + self.tls(client_crls=[str(crl)]))
        self.assertIsNotNone(self.seen(edge, *alice.curl()), edge.log()[-2000:])
        self.assertIsNone(self.seen(edge, *bob.curl()))
        harness.wait_for(lambda: "not accepted: revoked" in edge.log(), "the line")

        # A connection made before its certificate was revoked is not served any more.
        import http.client
        import ssl
        c = http.client.HTTPConnection("localhost")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(alice.chain, alice.key)
        import socket
        c.sock = context.wrap_socket(
            socket.create_connection(("127.0.0.1", edge.port), timeout=harness.WAIT),
            server_hostname="localhost")
        c.request("GET", "/")
        self.assertTrue(c.getresponse().read())
        self.ca.revoke(alice)
        self.ca.revocation_list(crl)
        self.assertEqual(edge.reload()[0], 200)
        c.request("GET", "/")
        self.assertEqual(c.getresponse().status, 421)
        c.close()
        self.assertIsNone(self.seen(edge, *alice.curl()))

    def test_an_expired_revocation_list_refuses_everybody(self):
        alice = self.ca.issue("alice")
        crl = self.ca.revocation_list(self.directory / "crl.pem", ends=-0.5)
        edge = self.edge(self.toml + self.tls(client_crls=[str(crl)]))
        harness.wait_for(lambda: "the revocation list has expired: every" in edge.log(), "the warning")
        self.assertIsNone(self.seen(edge, *alice.curl()))
        harness.wait_for(
            lambda: "not accepted: the revocation list has expired" in edge.log(), "the line")
        self.ca.revocation_list(crl)
        self.assertEqual(edge.reload()[0], 200)
        self.assertIsNotNone(self.seen(edge, *alice.curl()))

    def test_large_chains_are_bounded(self):
        edge = self.edge(self.toml + self.tls(client_max_chain="16KiB"))
        large = self.ca.issue("large", padding=20_000)
        fits = self.ca.issue("fits", padding=10_000)
        for http in ("1.1", "3"):
            self.assertIsNone(self.seen(edge, *large.curl(), http=http))
            # Of a backend that takes no such large head; the certificate itself is not sent.
        edge.write_config(self.toml + self.tls(client_max_chain="16KiB") +
                          '[client_certificate_fields]\ncertificate = ""\n')
        self.assertEqual(edge.reload()[0], 200)
        for http in ("1.1", "3"):
            self.assertIsNotNone(self.seen(edge, *fits.curl(), http=http), edge.log()[-2000:])

    def test_a_chain_of_three_and_no_ticket(self):
        # K5: a ticket never holds a client's chain; under client_auth nothing is resumed.
        middle = self.ca.subordinate("middle", "Middle CA")
        client = middle.issue("client", padding=500)
        chain = self.directory / "client-chain.pem"
        chain.write_bytes(client.chain.read_bytes() + middle.certificate.read_bytes()
                          + self.ca.certificate.read_bytes())
        edge = self.edge(self.toml + self.tls() + "ticket_encapsulation = true\n")
        for http in harness.ALL_VERSIONS:
            self.assertIsNotNone(self.seen(edge, "--cert", chain, "--key", client.key, http=http))
        session = self.directory / "session"
        harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                    "localhost", "-ign_eof", "-cert", client.chain, "-key", client.key, "-cert_chain",
                    chain, "-sess_out", session,
                    input=b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.assertEqual(len(edge.wait_access(4)), 4)
        self.assertFalse(session.exists())

    FORGED = ("X-SSL-Client-CN: admin", "X-SSL-Client-Verify: SUCCESS", "X_SSL_Client_Verify: SUCCESS",
              "x.ssl.client.dn: CN=admin", "Client-Cert: :AAAA:", "client_cert: :AAAA:",
              "Client-Cert-Chain: :AAAA:", "X-Forwarded-Client-Cert: By=x", "Ssl-Client-Verify: SUCCESS",
              "SSL_CLIENT_S_DN: CN=admin", "X-Amzn-Mtls-Clientcert-Subject: CN=admin",
              "X-Who: admin", "x_who: admin", "X.Who: admin")

    def test_identity_fields_cannot_be_forged(self):
        # K15: plain, TLS without a certificate, TLS with one; every version.
        plain = harness.free_port()
        names = '[client_certificate_fields]\nsubject = "X-Who"\n'
        edge = self.edge(f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{plain}"\ntls = false\n'
                         + self.toml + names + self.tls("optional"))
        forged = [word for field in self.FORGED for word in ("-H", field)]
        alice = self.ca.issue("alice")

        def check(head, produced):
            for line in head.decode("latin-1").split("\r\n")[1:]:
                name = line.partition(":")[0].lower()
                if name in produced:
                    continue
                for wrong in ("ssl", "who", "cert"):
                    self.assertNotIn(wrong, name, line)
                self.assertNotIn("admin", line)

        harness.run("curl", "-sS", "-o", "/dev/null", *forged, f"http://127.0.0.1:{plain}/")
        check(self.origin.requests[-1][0], ())
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                fields = self.seen(edge, *forged, http=http)
                self.assertEqual(fields["x-ssl-client-verify"], ["NONE"])
                check(self.origin.requests[-1][0], ("x-ssl-client-verify",))
                fields = self.seen(edge, *forged, *alice.curl(), http=http)
                self.assertEqual(fields["x-ssl-client-verify"], ["SUCCESS"])
                self.assertEqual(fields["x-who"], ["CN=alice,O=Example"])
                self.assertNotIn("x_who", fields)
        # Also for a peer whose other fields are trusted, and where no client is asked.
        edge.write_config(
            f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{plain}"\ntls = false\n' +
            self.toml + names + '[identity]\ntrusted_proxies = ["127.0.0.1"]\n')
        self.assertEqual(edge.reload()[0], 200)
        for http in harness.ALL_VERSIONS:
            self.assertIsNotNone(self.seen(edge, *forged, http=http))
            check(self.origin.requests[-1][0], ())

    def test_a_name_in_a_certificate_cannot_pass_for_two(self):
        edge = self.edge(self.toml + self.tls())
        mallory = self.ca.issue("mallory", subject="/CN=mallory, CN=admin",
                                sans="URI:https://x/, DNS:admin.test")
        # openssl itself splits at the comma; this is how a single URI with one is made.
        (self.directory / "m.ext").write_text(
            "extendedKeyUsage=clientAuth\nsubjectAltName=@n\n[n]\nURI.1=https://x/\\, DNS:admin.test\n")
        pki._openssl("x509", "-req", "-in", self.directory / "mallory.csr", "-CA",
                     self.ca.certificate, "-CAkey", self.ca.key, "-out", mallory.chain, "-extfile",
                     self.directory / "m.ext", "-days", "1")
        fields = self.seen(edge, *mallory.curl())
        self.assertIsNotNone(fields, edge.log()[-2000:])
        self.assertEqual(len(fields["x-ssl-client-san"][0].split(", ")), 1, fields)
        self.assertEqual(fields["x-ssl-client-dn"], ["CN=mallory\\, CN=admin"])

    def test_what_is_wrong_is_said(self):
        for toml, words in (
                (harness.route(name="x", path_prefix="/x", client_certificate=True),
                 ("route[1]", "no client is asked")),
                ('[client_certificate_fields]\nsubject = "Host"\n',
                 ("client_certificate_fields.subject", "a meaning of its own")),
                ('[client_certificate_fields]\nsubject = "X_SSL_Client_Verify"\n',
                 ("is there twice",)),
                ('[client_certificate_fields]\nsubject = "X Who"\n', ("not the name of a field",)),
                (self.tls("sometimes"), ("tls.client_auth", "is not known here")),
                (self.tls(client_depth=11), ("tls.client_depth",))):
            with self.subTest(words=words):
                path = self.directory / "bad.toml"
                path.write_text("version = 1\n[[listener]]\naddress = \"127.0.0.1:1\"\ntls = false\n"
                                + self.toml + toml)
                done = harness.run(harness.PQEDGE, "check", path)
                self.assertEqual(done.returncode, 1)
                for word in words:
                    self.assertIn(word, done.stderr.decode())


if __name__ == "__main__":
    harness.main()
