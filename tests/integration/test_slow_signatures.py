"""Signatures that take long are made beside the workers (T19)."""

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

    def made(self, edge):
        return edge.metric("pqedge_slow_signatures_made_total")

    def results(self, edge, result):
        return edge.metric('pqedge_slow_signatures_total{result="%s"}' % result)

    def test_over_each_version(self):
        edge = self.serve(self.slow.toml() + '[tls]\nmin_version = "1.2"\n')
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

    def test_an_address_has_its_share(self):
        edge = self.serve(self.slow.toml() + "[signing]\nthreads = 1\nshare = 1\n")
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
                          + "[signing]\nthreads = 1\nqueue = 1\n")
        done = [self.outcome(c) for c in self.hellos(edge, 60)]
        self.assertEqual(done.count(False), 0, edge.log()[-3000:])
        self.assertGreater(self.results(edge, "other_certificate"), 0)
        self.assertEqual(self.results(edge, "other_certificate") + self.made(edge), 60)
        self.assertEqual(self.results(edge, "refused"), 0)

    def test_clients_that_leave_meanwhile(self):
        edge = self.serve(self.slow.toml() + "[signing]\nthreads = 1\nshare = 200\n")
        for client in self.hellos(edge, 60):
            client[0].close()
        self.assertEqual(edge.get("/")[0], 200)
        harness.wait_for(lambda: edge.metric("pqedge_slow_signatures_waiting") == 0, "the queue")
        self.assertEqual(edge.get("/", http="3")[0], 200)

    def test_stopping_with_a_full_queue(self):
        edge = self.serve(self.slow.toml() + "[signing]\nthreads = 1\nshare = 200\n")
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
