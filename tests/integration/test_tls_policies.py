"""TLS policies by host: K2, K4, K34, and what a policy holds a client to."""
# ctest: timeout=120

import socket
import ssl

import harness
import pki


class Policies(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.ca = pki.Authority(self.directory)
        self.toml = harness.pool(self.origin.address) + harness.route()

    def policy(self, *hosts, **keys):
        import json
        lines = [f"[[tls_policy]]\nhosts = {json.dumps(list(hosts))}"]
        lines += [f"{k} = {json.dumps(v)}" for k, v in keys.items()]
        return "\n".join(lines) + "\n"

    def secret(self, *hosts):
        return self.policy(*hosts, client_auth="required", client_ca=str(self.ca.certificate))

    def status(self, edge, host, authority=None, *args, http="2"):
        """Of a request whose SNI is `host`; None where the handshake or the request failed."""
        extra = ("-H", f"Host: {authority}") if authority else ()
        done = edge.curl("/", "-k", "-o", "/dev/null", "-w", "%{http_code}", *extra, *args, host=host,
                         http=http)
        code = done.stdout.decode()
        return int(code) if done.returncode == 0 and code != "000" else None

    def test_an_authority_under_another_policy_gets_421(self):
        # K4: the wildcard protects the authority; the name in the hello is open.
        edge = self.edge(self.toml + self.secret("*.secret.test", "exact.test"))
        for http in harness.ALL_VERSIONS:
            spellings = ("A.Secret.TEST", "a.b.secret.test", "exact.test", "a.secret.test.",
                         f"a.secret.test:{edge.port}")
            for authority in ("a.secret.test", *(spellings if http == "2" else ())):
                with self.subTest(http=http, authority=authority):
                    self.assertEqual(self.status(edge, "open.test", authority, http=http), 421)
        self.assertEqual(self.origin.requests, [])
        # The other way round, with a certificate: it was shown for another policy.
        alice = self.ca.issue("alice")
        for http in harness.ALL_VERSIONS:
            self.assertEqual(
                self.status(edge, "a.secret.test", None, *alice.curl(), http=http), 200)
            self.assertEqual(
                self.status(edge, "a.secret.test", "open.test", *alice.curl(), http=http), 421)

    def test_names_of_one_policy_share_a_connection(self):
        # K34: the same policy, in the file once or twice.
        edge = self.edge(self.toml + self.secret("x.test") +
                         self.policy("one.test", "two.test", groups="hybrid-required") +
                         self.policy("three.test", name="again", groups="hybrid-required"))
        for http in harness.ALL_VERSIONS:
            for sni, authority, wanted in (
                    ("a.test", "b.test", 200), ("one.test", "two.test", 200),
                    ("one.test", "three.test", 200), ("a.test", "one.test", 421),
                    ("one.test", "a.test", 421), ("a.test", "x.test", 421)):
                with self.subTest(http=http, sni=sni, authority=authority):
                    self.assertEqual(self.status(edge, sni, authority, http=http), wanted)

    def hello_in_records(self, edge, pieces, name="a.secret.test", certificate=None):
        """A handshake whose hello is cut over records, then a GET. What came back; None: refused."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if certificate:
            context.load_cert_chain(certificate.chain, certificate.key)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        record = outgoing.read()
        message = record[5:]
        size = -(-len(message) // pieces)
        cut = b"".join(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part
                       for part in (message[i:i + size] for i in range(0, len(message), size)))
        with socket.create_connection(("127.0.0.1", edge.port), timeout=harness.WAIT) as sock:
            sock.sendall(cut)
            asked, answer = False, b""
            while True:
                try:
                    if not asked:
                        tls.do_handshake()
                        tls.write(f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
                        asked = True
                    while part := tls.read(65536):
                        answer += part
                    return answer
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLError:
                    return answer or None
                if data := outgoing.read():
                    try:
                        sock.sendall(data)
                    except OSError:
                        return answer or None
                try:
                    data = sock.recv(65536)
                except OSError:
                    return answer or None
                if not data:
                    return answer or None
                incoming.write(data)

    def test_a_hello_in_pieces_gets_no_weaker_policy(self):
        # K2: the fragments are put together before the name is looked for.
        edge = self.edge(self.toml + self.secret("*.secret.test"))
        for pieces in (1, 2, 3, 40):
            with self.subTest(pieces=pieces):
                self.assertIsNone(self.hello_in_records(edge, pieces))
        self.assertEqual(self.origin.requests, [])
        alice = self.ca.issue("alice")
        for pieces in (1, 2, 3, 40):
            with self.subTest(pieces=pieces, certificate=True):
                answer = self.hello_in_records(edge, pieces, certificate=alice)
                self.assertIn(b"200 OK", answer or b"")

    def test_what_a_policy_holds_clients_to(self):
        edge = self.edge(self.toml + self.policy("*.strict.test", groups="hybrid-required") +
                         self.policy("old.test", min_version="1.2") +
                         self.policy("page.test", classical_clients="403"))

        def s_client(name, *args):
            done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}",
                               "-servername", name, "-ign_eof", *args,
                               input=f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n"
                               .encode())
            return (done.stdout + done.stderr).decode("latin-1")

        for name, args, wanted in (
                ("a.test", ("-groups", "X25519"), "200 OK"),
                ("a.strict.test", ("-groups", "X25519"), "handshake failure"),
                ("A.B.STRICT.test", ("-groups", "X25519"), "handshake failure"),
                ("a.strict.test", ("-groups", "X25519MLKEM768"), "200 OK"),
                ("strict.test", ("-groups", "X25519"), "200 OK"),  # the wildcard is for names below
                ("a.test", ("-tls1_2",), "alert protocol version"),
                ("old.test", ("-tls1_2",), "200 OK"),
                ("page.test", ("-groups", "X25519"), "403 Forbidden"),
                ("a.test", ("-groups", "X25519"), "200 OK")):
            with self.subTest(name=name, args=args):
                self.assertIn(wanted, s_client(name, *args))
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                self.assertIsNone(self.status(edge, "a.strict.test", None, "--curves", "X25519",
                                              http=http))
                self.assertEqual(self.status(edge, "a.strict.test", http=http), 200)
                self.assertEqual(self.status(edge, "page.test", None, "--curves", "X25519",
                                             http=http), 403)

    def test_tickets_are_bound_to_their_policy(self):
        edge = self.edge(self.toml + self.secret("secret.test") +
                         self.policy("twin.test", groups="hybrid-required"))
        session = self.directory / "session"

        def s_client(name, *args):
            done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}",
                               "-servername", name, "-ign_eof", *args,
                               input=f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n"
                               .encode())
            return (done.stdout + done.stderr).decode("latin-1")

        self.assertIn("200 OK", s_client("open.test", "-sess_out", session))
        self.assertIn("Reused, TLSv1.3", s_client("other.test", "-sess_in", session))
        self.assertIn("200 OK", s_client("open.test", "-sess_out", session))
        text = s_client("twin.test", "-sess_in", session)
        self.assertIn("New, TLSv1.3", text)
        self.assertIn("200 OK", text)
        self.assertIn("200 OK", s_client("open.test", "-sess_out", session))
        self.assertNotIn("200 OK", s_client("secret.test", "-sess_in", session))
        # Nothing is resumed where clients show certificates.
        alice = self.ca.issue("alice")
        shown = ("-cert", alice.chain, "-key", alice.key)
        session.unlink()
        self.assertIn("200 OK", s_client("secret.test", *shown, "-sess_out", session))
        self.assertFalse(session.exists() and session.stat().st_size > 0 and "Reused" in
                         s_client("secret.test", *shown, "-sess_in", session))

    def test_plain_http_does_not_reach_hosts_with_client_certificates(self):
        plain = harness.free_port()
        edge = self.edge(f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{plain}"\ntls = false\n'
                         + self.toml + self.secret("*.secret.test"))
        for host, wanted in (("open.test", "200"), ("a.secret.test", "421")):
            done = harness.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H",
                               f"Host: {host}", f"http://127.0.0.1:{plain}/")
            self.assertEqual(done.stdout.decode(), wanted, edge.log()[-2000:])

    def test_a_reload_that_asks_for_certificates(self):
        # A connection made before goes on for other hosts, and gets 421 for that one.
        edge = self.edge(self.toml)
        import http.client
        c = http.client.HTTPConnection("a.secret.test")
        c.sock = edge.tls(server_name="a.secret.test")

        def get(host):
            c.request("GET", "/", headers={"Host": host})
            answer = c.getresponse()
            answer.read()
            return answer.status

        self.assertEqual(get("a.secret.test"), 200)
        edge.write_config(self.toml + self.secret("*.secret.test"))
        status, body = edge.reload()
        self.assertEqual(status, 200, body)
        self.assertEqual(get("a.secret.test"), 421)
        # And where the policy of its name did not change, nothing does.
        other = http.client.HTTPConnection("a.test")
        other.sock = edge.tls(server_name="a.test")
        other.request("GET", "/", headers={"Host": "a.test"})
        self.assertEqual(other.getresponse().read() and 200, 200)
        edge.write_config(self.toml + self.secret("*.secret.test") +
                          '[tls]\nclassical_clients = "log"\n')
        self.assertEqual(edge.reload()[0], 200)
        other.request("GET", "/", headers={"Host": "a.test"})
        self.assertEqual(other.getresponse().status, 200)
        c.close()
        other.close()

    def test_what_is_wrong_with_a_policy_is_said(self):
        missing = self.directory / "missing.pem"
        for toml, words in (
                (self.policy("192.0.2.1"), ("tls_policy[0].hosts[0]", "an address")),
                (self.policy("a.test") + self.policy("A.test"), ("has a policy already",)),
                (self.policy("a.test", groups=["X25519MLKEM999"]),
                 ("tls_policy[0].groups", "did you mean")),
                (self.policy("a.test", client_auth="required"),
                 ("tls_policy[0].client_ca", "is missing")),
                (self.policy("a.test", client_ca=str(self.ca.certificate)),
                 ("tls_policy[0].client_ca", "has no effect")),
                (self.policy("a.test", client_auth="required", client_ca=str(missing)),
                 ("tls_policy[0].client_ca", "cannot open", "missing.pem")),
                (self.policy("a.test", client_auth="required", client_ca=str(self.ca.certificate),
                             client_crls=[str(self.ca.certificate)]),
                 ("tls_policy[0].client_crls", "no certificate revocation list")),
                (self.policy("a.test", ticket_lifetime="1h"), ("is not a key",)),
                ("[[tls_policy]]\n", ("tls_policy[0].hosts", "is missing"))):
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
