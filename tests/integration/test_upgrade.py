"""A new process takes over: no connection is refused, no request fails, on any version (O3)."""

# ctest: timeout=180

import os
import shutil
import signal
import stat
import threading

import harness
import successor
from load import Load
from relay import Relay

QUICK = 'drain_linger = "200ms"\n'


class Gate:
    """A backend whose answer stops in its middle until it is told to go on."""

    def __init__(self, test):
        self.go_on = threading.Event()
        self.begun = threading.Semaphore(0)
        self.backend = test.backend(self._serve)
        test.addCleanup(self.go_on.set)

    def _serve(self, sock, number):
        reader = harness.RequestReader(sock)
        while (request := reader.read()) is not None:
            if b" /slow" not in request[0]:
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                continue
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"a" * 100_000)
            self.begun.release()
            self.go_on.wait(harness.WAIT)
            sock.sendall(b"b" * 100_000)


class Upgrade(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.toml = harness.pool(self.origin.address) + harness.route()

    def loads(self, edge):
        return [
            Load(self, edge, "h1", "-c", "2", "-r", "60"),
            Load(self, edge, "h2", "-c", "2", "-m", "4", "-r", "60"),
            Load(self, edge, "h3", "-c", "2", "-m", "4", "-r", "60"),
            Load(self, edge, "h1", "-c", "2", "--handshake-each", "-r", "10", name="new"),
            Load(self, edge, "h2", "-c", "2", "--handshake-each", "-r", "10", name="new"),
            Load(self, edge, "h3", "-c", "4", "--handshake-each", "-r", "20", name="new"),
        ]

    def upgrade_under_load(self, edge, times):
        loads = self.loads(edge)
        for _ in range(times):
            harness.wait_for(lambda: edge.metric("pqedge_requests_total") > 100, "load")
            old = successor.upgrade(edge)
            self.assertEqual(old.wait(harness.WAIT), 0)
            successor.wait_alone(edge)
        harness.wait_for(lambda: edge.metric("pqedge_requests_total") > 100, "load")
        for load in loads:
            record = load.stop()
            self.assertGreater(record["requests"], 0)
            self.assertEqual(record["failures"], {}, f"{load.out.name}\n{edge.log()[-3000:]}")

    def test_under_load_nothing_fails(self):
        edge = self.edge(self.toml, workers=2, server_toml=QUICK)
        self.upgrade_under_load(edge, 2)

    def test_under_load_with_retry_nothing_fails(self):
        # The ID that a Retry gave names the old process; the connection is the new one's.
        edge = self.edge(self.toml + '[quic]\nretry = "always"\n', workers=2, server_toml=QUICK)
        self.upgrade_under_load(edge, 1)

    def test_running_downloads_end_whole_in_the_old_process(self):
        gate = Gate(self)
        edge = self.edge(harness.pool(gate.backend.address) + harness.route())
        results = {}

        def download(http):
            results[http] = edge.curl("/slow", http=http)

        clients = [threading.Thread(target=download, args=(h,)) for h in harness.ALL_VERSIONS]
        for c in clients:
            c.start()
        for _ in clients:
            self.assertTrue(gate.begun.acquire(timeout=harness.WAIT))
        old = successor.upgrade(edge)
        self.assertEqual(successor.status(edge)["process_before"], old.pid)
        for http in harness.ALL_VERSIONS:  # the new one, while the old one goes on
            self.assertEqual(edge.get("/", http=http)[0], 200)
        self.assertIsNone(old.poll())
        gate.go_on.set()
        for c in clients:
            c.join()
        for http, done in results.items():
            self.assertEqual(done.returncode, 0, f"{http}: {done.stderr}\n{edge.log()}")
            self.assertEqual(len(done.stdout), 200_000, http)
        self.assertEqual(old.wait(harness.WAIT), 0)
        successor.wait_alone(edge)
        self.assertGreater(edge.metric("pqedge_quic_passed_to_process_total"), 0)

    def test_a_handshake_under_way_goes_on(self):
        # A hello with ML-KEM takes two datagrams. The second, held until the other process reads
        # the socket, has an ID that the client made itself: nobody can tell whose it is.
        edge = self.edge(self.toml, server_toml=QUICK)
        first_sent, go_on = threading.Event(), threading.Event()
        seen = []

        def hold_second(datagrams):
            seen.extend(datagrams)
            if len(seen) == 1:
                return datagrams
            first_sent.set()
            return datagrams if go_on.is_set() else []  # lost: it comes again

        # An acknowledgement would tell the client an ID that names the process.
        relay = Relay(edge.port, to_server=hold_second,
                      to_client=lambda datagrams: datagrams if go_on.is_set() else [])
        self.addCleanup(relay.stop)
        result = []
        client = threading.Thread(target=lambda: result.append(harness.run(
            "curl", "-sS", "--http3-only", "--cacert", edge.certificate.chain, "--max-time", "20",
            "--connect-to", f"localhost:{edge.port}:127.0.0.1:{relay.port}", edge.url("/"))))
        client.start()
        self.assertTrue(first_sent.wait(harness.WAIT))
        old = successor.upgrade(edge)
        go_on.set()
        client.join()
        self.assertEqual(result[0].returncode, 0, result[0].stderr)
        self.assertEqual(edge.metric("pqedge_tls_handshakes_total"), 0)  # the old one made it
        self.assertEqual(old.wait(harness.WAIT), 0)

    def test_what_cannot_start_changes_nothing(self):
        binary = self.directory / "pqedge"
        shutil.copy2(harness.PQEDGE, binary)
        real, harness.PQEDGE = harness.PQEDGE, str(binary)
        try:
            edge = self.edge(self.toml)
        finally:
            harness.PQEDGE = real
        pid = edge.process.pid
        good = edge.config_path.read_text()
        edge.config_path.write_text(good + "[[pool]]\nname = 5\n")
        code, text = edge.control_request("/upgrade")
        self.assertEqual(code, 422)
        self.assertIn("pool", text)  # what the new process found
        self.assertIn("serves on", text)
        edge.config_path.write_text(good)
        binary.unlink()
        binary.write_text("#!/bin/sh\nexit 7\n")
        binary.chmod(0o755)
        code, text = edge.control_request("/upgrade")
        self.assertEqual(code, 422)
        self.assertIn("status 7", text)
        binary.unlink()
        code, text = edge.control_request("/upgrade")
        self.assertEqual(code, 422)
        self.assertIn(str(binary), text)
        for http in harness.ALL_VERSIONS:
            self.assertEqual(edge.get("/", http=http)[0], 200)
        self.assertEqual(successor.status(edge)["process"], pid)
        shutil.copy2(real, binary)
        old = successor.upgrade(edge)  # the program that is there now
        self.assertEqual(old.wait(harness.WAIT), 0)
        self.assertEqual(edge.get("/", http="3")[0], 200)

    def test_by_signal_with_what_else_belongs_to_a_process(self):
        pid_file = self.directory / "pid"
        socket = self.directory / "http.sock"
        plain = (f'[[listener]]\nname = "plain"\naddress = "unix:{socket}"\ntls = false\n'
                 'protocols = ["http/1.1"]\n')
        edge = self.edge(self.toml + plain, server_toml=QUICK + f'pid_file = "{pid_file}"\n')
        first = edge.process.pid
        self.assertEqual(pid_file.read_text(), f"{first}\n")
        session = self.directory / "session"
        base = ["openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                "localhost", "-ign_eof"]
        request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        harness.run(*base, "-sess_out", session, input=request)
        edge.send_signal(signal.SIGUSR2)
        harness.wait_for(lambda: pid_file.read_text() != f"{first}\n", "the new process")
        old = successor.adopt(edge, int(pid_file.read_text()))
        self.assertEqual(old.wait(harness.WAIT), 0)
        # The files of sockets are the new one's: the old one's end has removed none of them.
        self.assertTrue(stat.S_ISSOCK(os.stat(edge.control).st_mode))
        self.assertEqual(pid_file.read_text(), f"{edge.process.pid}\n")
        done = harness.run("curl", "-sS", "--unix-socket", socket, "http://localhost/")
        self.assertEqual(done.returncode, 0, done.stderr)
        again = harness.run(*base, "-sess_in", session, input=request)
        self.assertIn(b"Reused, TLSv1.3", again.stdout)
        self.assertEqual(successor.status(edge)["generation"], 1)
        edge.send_signal(signal.SIGTERM)
        self.assertEqual(edge.process.wait(harness.WAIT), 0)
        self.assertFalse(pid_file.exists())
        self.assertFalse(edge.control.exists())

    def test_one_at_a_time(self):
        gate = Gate(self)
        edge = self.edge(harness.pool(gate.backend.address) + harness.route(),
                         server_toml='upgrade_drain_timeout = "1h"\n' + QUICK)
        client = threading.Thread(target=lambda: edge.curl("/slow"))
        client.start()
        self.assertTrue(gate.begun.acquire(timeout=harness.WAIT))
        old = successor.upgrade(edge)
        code, text = edge.control_request("/upgrade")
        self.assertEqual(code, 422)
        self.assertIn(str(old.pid), text)
        old.send_signal(signal.SIGTERM)  # as the text says
        self.assertEqual(old.wait(harness.WAIT), 0)
        client.join()
        successor.wait_alone(edge)
        successor.upgrade(edge).wait(harness.WAIT)

    def test_upgrade_drain_timeout_cuts_what_still_runs(self):
        gate = Gate(self)
        edge = self.edge(harness.pool(gate.backend.address) + harness.route(),
                         server_toml='upgrade_drain_timeout = "300ms"\n' + QUICK)
        results = []
        client = threading.Thread(target=lambda: results.append(edge.curl("/slow", http="3")))
        client.start()
        self.assertTrue(gate.begun.acquire(timeout=harness.WAIT))
        old = successor.upgrade(edge)
        self.assertEqual(old.wait(harness.WAIT), 0)
        client.join()
        self.assertNotEqual(results[0].returncode, 0)
        harness.wait_for(lambda: "upgrade_drain_timeout passed" in edge.log(), "the log line")


if __name__ == "__main__":
    harness.main()
