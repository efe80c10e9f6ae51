"""SIGTERM: announced, drained, and no request on an accepted connection fails by it (O3)."""

import signal
import socket
import threading

import harness
from load import Load


def answered(edge, version):
    """Requests of this HTTP version that were answered."""
    label = f'version="HTTP/{version}"'
    return sum(value for name, value in edge.metrics().items()
               if name.startswith("pqedge_request_duration_seconds_count") and label in name)


class Shutdown(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.toml = harness.pool(self.origin.address) + harness.route()

    def test_under_load_no_request_fails(self):
        edge = self.edge(self.toml, workers=2)
        loads = [Load(self, edge, "h1", "-c", "8"),
                 Load(self, edge, "h2", "-c", "4", "-m", "8"),
                 Load(self, edge, "h3", "-c", "4", "-m", "8")]
        # Of each: on a busy machine one load may be far ahead of another.
        for version in ("1.1", "2", "3"):
            harness.wait_for(lambda: answered(edge, version) > 100, f"load over HTTP/{version}")
        edge.send_signal(signal.SIGTERM)
        self.assertEqual(edge.process.wait(harness.WAIT), 0)
        for load in loads:
            record = load.stop()
            self.assertGreater(record["requests"], 0)
            # New connections are refused, of course (a new QUIC one in its handshake); nothing else
            # may fail.
            self.assertLessEqual(set(record["failures"]), {"connect", "handshake"}, load.out.name)

    def test_idle_http1_connection_lingers_for_a_request_under_way(self):
        edge = self.edge(self.toml, server_toml='drain_linger = "20s"')
        with edge.tls() as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            status, fields, _, _ = harness.read_response(sock)
            self.assertEqual(status, 200)
            self.assertNotIn("connection", fields)
            edge.send_signal(signal.SIGTERM)
            harness.wait_for(lambda: edge.admin("/readyz")[0] == 503, "readiness to turn false")
            self.assertEqual(edge.admin("/healthz")[0], 200)
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            status, fields, _, _ = harness.read_response(sock)
            self.assertEqual((status, fields["connection"]), (200, ["close"]))
            self.assertEqual(sock.recv(1), b"")
        self.assertEqual(edge.process.wait(harness.WAIT), 0)

    def test_idle_http1_connection_is_closed_after_the_linger_time(self):
        edge = self.edge(self.toml, server_toml='drain_linger = "100ms"')
        with edge.tls() as sock:
            edge.send_signal(signal.SIGTERM)
            self.assertEqual(sock.recv(1), b"")
        self.assertEqual(edge.process.wait(harness.WAIT), 0)

    def test_a_running_download_ends_whole(self):
        go_on, begun = threading.Event(), threading.Event()

        def serve(sock, number):
            harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"a" * 100_000)
            begun.set()
            go_on.wait(harness.WAIT)
            sock.sendall(b"b" * 100_000)

        origin = self.backend(serve)
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                go_on.clear()
                begun.clear()
                directory = self.directory / http
                directory.mkdir()
                edge = harness.Edge(directory, harness.pool(origin.address) + harness.route())
                self.addCleanup(edge.kill)
                result = []
                client = threading.Thread(target=lambda: result.append(edge.curl("/", http=http)))
                client.start()
                self.assertTrue(begun.wait(harness.WAIT))
                edge.send_signal(signal.SIGTERM)
                harness.wait_for(lambda: edge.admin("/readyz")[0] == 503, "the drain")
                harness.wait_for(lambda: self.refuses(edge.port), "the listener to close")
                go_on.set()
                client.join()
                self.assertEqual(result[0].returncode, 0, result[0].stderr)
                self.assertEqual(len(result[0].stdout), 200_000)
                self.assertEqual(edge.process.wait(harness.WAIT), 0)

    def refuses(self, port):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=2).close()
            return False
        except OSError:
            return True

    def test_drain_timeout_cuts_what_still_runs(self):
        forever = threading.Event()
        self.addCleanup(forever.set)

        def serve(sock, number):
            harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            forever.wait(harness.WAIT)

        origin = self.backend(serve)
        edge = self.edge(harness.pool(origin.address) + harness.route(),
                         server_toml='drain_timeout = "300ms"\ndrain_linger = "100ms"')
        results = []
        clients = [threading.Thread(target=lambda h=h: results.append(edge.curl("/", http=h)))
                   for h in harness.ALL_VERSIONS]
        for c in clients:
            c.start()
        harness.wait_for(lambda: origin.connections == 3, "three requests")
        edge.send_signal(signal.SIGTERM)
        self.assertEqual(edge.process.wait(harness.WAIT), 0)
        for c in clients:
            c.join()
        self.assertTrue(all(r.returncode != 0 for r in results))
        self.assertIn("drain_timeout", edge.log())

    def test_second_signal_stops_at_once(self):
        edge = self.edge(self.toml, server_toml='drain_linger = "1h"\ndrain_timeout = "1h"')
        with edge.tls():
            edge.send_signal(signal.SIGTERM)
            harness.wait_for(lambda: edge.admin("/readyz")[0] == 503, "the drain")
            edge.send_signal(signal.SIGTERM)
            self.assertEqual(edge.process.wait(harness.WAIT), 0)


if __name__ == "__main__":
    harness.main()
