"""Reload: atomic, whole, and no request is lost by it (O2; K16, K42)."""

import os
import signal

import harness
from load import Load

class Reload(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.good = harness.pool(self.origin.address) + harness.route()

    def test_reloads_under_load_lose_nothing(self):
        # K16: new QUIC connections are among the load, and old ones live through it.
        edge = self.edge(self.good, workers=2)
        loads = [
            Load(self, edge, "h1", "-c", "4", "-r", "200"),
            Load(self, edge, "h2", "-c", "2", "-m", "4", "-r", "200"),
            Load(self, edge, "h3", "-c", "2", "-m", "4", "-r", "200"),
            Load(self, edge, "h3", "-c", "2", "--handshake-each", "-r", "20", name="new"),
            Load(self, edge, "h2", "-c", "2", "--handshake-each", "-r", "20", name="new"),
        ]
        harness.wait_for(lambda: edge.metric("pqedge_requests_total") > 100, "load")
        before = edge.memory_kib()
        threads = len(os.listdir(f"/proc/{edge.pid}/task"))
        for i in range(200):
            edge.write_config(self.good + harness.route(name=f"r{i}", path=f"/only/{i}"))
            status, text = edge.reload()
            self.assertEqual(status, 200, text)
        seen = edge.metric("pqedge_requests_total")
        harness.wait_for(lambda: edge.metric("pqedge_requests_total") > seen + 100, "more load")
        for load in loads:
            record = load.stop()
            self.assertGreater(record["requests"], 0)
            self.assertEqual(record["failures"], {}, load.out.name)
        # K42: nothing of the old generations stays.
        self.assertLess(edge.memory_kib(), before * 1.5 + 20_000)
        self.assertEqual(len(os.listdir(f"/proc/{edge.pid}/task")), threads)

    def test_a_bad_file_changes_nothing(self):
        edge = self.edge(self.good)
        for bad, where in (
            ("[[pool]]\nname = 5\n", "pool"),
            (self.good + "[limits]\nmax_feilds = 3\n", "max_feilds"),
            ("this is not toml", ""),
            (harness.route(), "app"),
        ):
            edge.write_config(bad)
            status, text = edge.reload()
            self.assertNotEqual(status, 200)
            self.assertIn(where, text)
            self.assertIn(str(edge.config_path), text)
            self.assertEqual(edge.get("/")[0], 200)
        edge.write_config(self.good)
        self.assertEqual(edge.reload()[0], 200)

    def test_sighup_reloads(self):
        edge = self.edge(self.good)
        edge.write_config(self.good + '[[route]]\nname = "teapot"\npath = "/teapot"\n'
                                      'status = 418\nbody = "short and stout"\n')
        edge.send_signal(signal.SIGHUP)
        harness.wait_for(lambda: edge.get("/teapot")[0] == 418, "the new route")
        harness.wait_for(lambda: "reloaded" in edge.log(), "the log line")

    def test_listeners_come_and_go(self):
        edge = self.edge(self.good)
        extra = harness.free_port()
        plain = (f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{extra}"\ntls = false\n'
                 'protocols = ["http/1.1"]\n')
        edge.write_config(self.good + plain)
        self.assertEqual(edge.reload()[0], 200)
        url = f"http://127.0.0.1:{extra}/"
        self.assertEqual(harness.run("curl", "-sS", url).returncode, 0)
        edge.write_config(self.good)
        self.assertEqual(edge.reload()[0], 200)
        self.assertNotEqual(harness.run("curl", "-sS", url).returncode, 0)
        self.assertEqual(edge.get("/")[0], 200)

    def test_a_port_in_use_refuses_the_reload(self):
        edge = self.edge(self.good)
        blocker = self.backend(lambda sock, n: None)
        edge.write_config(self.good + f'[[listener]]\nname = "second"\n'
                                      f'address = "127.0.0.1:{blocker.port}"\n')
        status, text = edge.reload()
        self.assertNotEqual(status, 200)
        self.assertIn("second", text)
        self.assertIn(str(blocker.port), text)
        self.assertEqual(edge.get("/", http="3")[0], 200)

    def test_a_new_certificate_serves_new_connections(self):
        edge = self.edge(self.good)
        with edge.tls() as old:
            first = old.getpeercert(binary_form=True)
            harness.Certificate(self.directory, ("localhost",))
            self.assertEqual(edge.reload()[0], 200)
            with edge.tls() as new:
                self.assertNotEqual(new.getpeercert(binary_form=True), first)
            # The old connection goes on.
            old.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(harness.read_response(old)[0], 200)

    def test_a_certificate_that_does_not_fit_changes_nothing(self):
        edge = self.edge(self.good)
        other = harness.Certificate(self.directory, ("localhost",), stem="other")
        kept = edge.certificate.key.read_bytes()
        edge.certificate.key.write_bytes(other.key.read_bytes())
        status, text = edge.reload()
        self.assertNotEqual(status, 200)
        self.assertIn("cert", text)
        self.assertEqual(edge.get("/")[0], 200)
        edge.certificate.key.write_bytes(kept)
        self.assertEqual(edge.reload()[0], 200)

    def test_session_tickets_survive_a_reload(self):
        # T6: one ring of keys for all workers and reloads.
        edge = self.edge(self.good, workers=2)
        session = self.directory / "session"
        base = ["openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                "localhost", "-ign_eof"]
        request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        first = harness.run(*base, "-sess_out", session, input=request)
        self.assertTrue(session.exists(), first.stderr)
        self.assertEqual(edge.reload()[0], 200)
        for _ in range(6):  # whichever worker takes it
            done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}",
                               "-servername", "localhost", "-ign_eof", "-sess_in", session,
                               input=request)
            self.assertIn(b"Reused, TLSv1.3", done.stdout)


if __name__ == "__main__":
    harness.main()
