"""Signatures that take long are made beside the workers (T19)."""

import os
import pathlib
import shutil
import socket
import ssl
import tempfile
import types

import harness
from authority import Authority


class SlowSignatures(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="pqedge-ca-"))
        cls.ca = Authority(cls.shared)
        cls.slow = cls.ca.issue("slow", kind="RSA-4096")
        cls.quick = cls.ca.issue("quick", kind="RSA")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared, ignore_errors=True)
        super().tearDownClass()

    def serve(self, toml, **kwargs):
        port = harness.free_port()
        origin = self.echo()
        edge = harness.Edge(
            self.directory,
            f'[[listener]]\nname = "https"\naddress = "127.0.0.1:{port}"\n' + toml
            + harness.pool(origin.address) + harness.route(), listener=False, **kwargs)
        edge.port = port
        edge.certificate = types.SimpleNamespace(chain=self.ca.chain)
        self.addCleanup(self._end_edge, edge)
        return edge

    # On a busy machine a signature waits long.
    PATIENT = '[signing]\nthreads = 1\ndeadline = "60s"\n'

    def made(self, edge):
        return edge.metric("pqedge_slow_signatures_made_total")

    def results(self, edge, result):
        return edge.metric('pqedge_slow_signatures_total{result="%s"}' % result)

    def test_over_each_version(self):
        edge = self.serve(self.slow.toml() + '[tls]\nmin_version = "1.2"\n'
                          '[signing]\ndeadline = "60s"\n')
        for i, http in enumerate(harness.ALL_VERSIONS, 1):
            self.assertEqual(edge.get("/", http=http)[0], 200)
            self.assertEqual(self.made(edge), i)
        # A HelloRetryRequest signs nothing; TLS 1.2 signs its key exchange.
        self.assertEqual(edge.get("/", "--curves", "X25519:X25519MLKEM768")[0], 200)
        self.assertEqual(edge.get("/", "--curves", "X25519:X25519MLKEM768", http="3")[0], 200)
        self.assertEqual(edge.get("/", "--tls-max", "1.2")[0], 200)
        self.assertEqual(self.made(edge), 6)
        self.assertEqual(edge.metric("pqedge_slow_signatures_waiting"), 0)
        names = [pathlib.Path(p, "comm").read_text().strip()
                 for p in pathlib.Path(f"/proc/{edge.pid}/task").iterdir()]
        self.assertEqual(sorted(n for n in names if n.startswith("signing/")),
                         ["signing/0", "signing/1"])

    def hellos(self, edge, count):
        """Connections whose hello was sent, all at once."""
        context = ssl.create_default_context(cafile=str(self.ca.chain))
        clients = []
        for _ in range(count):
            sock = socket.create_connection(("127.0.0.1", edge.port), timeout=harness.WAIT)
            self.addCleanup(sock.close)
            into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = context.wrap_bio(into, out, server_hostname="localhost")
            with self.assertRaises(ssl.SSLWantReadError):
                tls.do_handshake()
            clients.append((sock, tls, into, out.read()))
        for sock, _, _, hello in clients:
            sock.sendall(hello)
        return clients

    def outcome(self, client):
        """Whether the handshake comes to its end, as the client sees it."""
        sock, tls, into, _ = client
        while True:
            try:
                tls.do_handshake()
                return True
            except ssl.SSLWantReadError:
                data = sock.recv(65536)
                if not data:
                    return False
                into.write(data)
            except ssl.SSLError:
                return False

    def test_slhdsa_stalls_nobody(self):
        # With a provider that gives TLS a scheme for it, which OpenSSL 3.5 lacks. A signature of
        # SLH-DSA-SHA2-128s takes a good part of a second.
        module = pathlib.Path(harness.PQEDGE).resolve().parent / "tests" / "slhdsa-tls.so"
        conf = self.directory / "openssl.cnf"
        # Of two providers with one algorithm the properties choose.
        conf.write_text("openssl_conf = main\n[main]\nproviders = list\nalg_section = evp\n"
                        "[evp]\ndefault_properties = ?provider=slhdsa-tls\n[list]\n"
                        "slhdsa-tls = slhdsa\ndefault = builtin\n"
                        f"[slhdsa]\nmodule = {module}\nactivate = 1\n"
                        "[builtin]\nactivate = 1\n")
        env = dict(os.environ, OPENSSL_CONF=str(conf))
        pair = self.ca.issue("slhdsa", ("slhdsa.test",), kind="SLH-DSA-SHA2-128s",
                             folder=self.directory)
        quick = self.ca.issue("ecdsa", folder=self.directory)
        edge = self.serve(quick.toml() + pair.toml() + self.PATIENT
                          + '[tls]\nhandshake_timeout = "60s"\n[quic]\n'
                          'handshake_timeout = "60s"\n', env=env)

        def client(number, *how):
            return harness.Process(
                ["openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                 "slhdsa.test", "-CAfile", self.ca.chain, "-brief", *how],
                self.directory / f"client{number}.log", env=env)

        clients = [client(0), client(1, "-quic", "-alpn", "h3")]
        for c in clients:
            self.addCleanup(c.kill)
        waiting = "pqedge_slow_signatures_waiting"
        harness.wait_for(lambda: edge.metric(waiting) > 0, "a slow signature")
        # The only worker has others to serve.
        for http in harness.ALL_VERSIONS:
            self.assertEqual(edge.get("/", http=http)[0], 200)
        self.assertGreater(edge.metric(waiting), 0)
        for c in clients:
            self.assertEqual(c.process.wait(3 * harness.WAIT), 0, c.log())
            self.assertIn("Verification: OK", c.log())
            self.assertIn("CN=slhdsa.test", c.log().replace(" ", ""))
        # A client without that scheme cannot verify the certificate.
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}",
                           "-servername", "slhdsa.test", input=b"")
        self.assertIn(b"handshake failure", done.stderr)

    def test_an_address_has_its_share(self):
        edge = self.serve(self.slow.toml() + self.PATIENT + "share = 1\n")
        done = [self.outcome(c) for c in self.hellos(edge, 60)]
        self.assertEqual(done.count(True), self.made(edge))
        self.assertEqual(done.count(False), self.results(edge, "refused"))
        self.assertGreater(done.count(True), 0)
        self.assertGreater(done.count(False), 0)
        self.assertEqual(edge.metric("pqedge_slow_signatures_over_share_total"),
                         done.count(False))
        self.assertEqual(edge.get("/")[0], 200)

    def test_beyond_it_another_certificate_is_served(self):
        edge = self.serve(self.slow.toml() + self.quick.toml()
                          + self.PATIENT + "queue = 1\n")
        done = [self.outcome(c) for c in self.hellos(edge, 60)]
        self.assertEqual(done.count(False), 0, edge.log()[-3000:])
        self.assertGreater(self.results(edge, "other_certificate"), 0)
        self.assertEqual(self.results(edge, "other_certificate") + self.made(edge), 60)
        self.assertEqual(self.results(edge, "refused"), 0)

    def test_clients_that_leave_meanwhile(self):
        edge = self.serve(self.slow.toml() + self.PATIENT + "share = 200\n")
        for client in self.hellos(edge, 60):
            client[0].close()
        self.assertEqual(edge.get("/")[0], 200)
        harness.wait_for(lambda: edge.metric("pqedge_slow_signatures_waiting") == 0, "the queue")
        self.assertEqual(edge.get("/", http="3")[0], 200)
        self.assertLess(self.made(edge), 60)

    def test_stopping_with_a_full_queue(self):
        edge = self.serve(self.slow.toml() + self.PATIENT + "share = 200\n")
        clients = self.hellos(edge, 60)
        self.assertEqual(edge.stop(), 0)
        del clients

    def test_without_threads_the_workers_sign(self):
        edge = self.serve(self.slow.toml() + "[signing]\nthreads = 0\n")
        self.assertEqual(edge.get("/", http="3")[0], 200)
        self.assertEqual(edge.get("/")[0], 200)
        self.assertEqual(self.made(edge), 0)
        self.assertEqual(self.results(edge, "queued"), 0)

    def test_settings_are_checked_and_reloaded(self):
        edge = self.serve(self.slow.toml() + "[signing]\nshare = 4\n")
        good = edge.config_path.read_text()
        for bad, words in (("share = 0", "signing.share"), ("deadline = \"1h\"", "signing.deadline"),
                           ("threads = 0\nqueue = 3", "has no effect with threads = 0"),
                           ("threads = 65", "signing.threads")):
            edge.config_path.write_text(good.replace("share = 4", bad))
            status, text = edge.reload()
            self.assertEqual(status, 422)
            self.assertIn(words, text)
        edge.config_path.write_text(good.replace("share = 4", "threads = 3"))
        status, text = edge.reload()
        self.assertEqual(status, 200)
        self.assertIn("signing.threads changes with a restart", text)


if __name__ == "__main__":
    harness.main()
