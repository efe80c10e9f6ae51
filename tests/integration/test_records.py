"""Logs and metrics: what clients write cannot forge or grow them (O5, O6, S13; K66, K67)."""

import json
import os
import signal
import socket
import stat

import harness


class Records(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route())

    def raw(self, request, name="localhost"):
        with self.proxy.tls(server_name=name) as sock:
            sock.sendall(request)
            while sock.recv(65536):
                pass

    def test_no_control_byte_reaches_a_line(self):
        # K67: every line is one valid JSON object of valid UTF-8.
        nasty = [b"/%0d%0a{\"status\":200}", b"/\x1b[31m", b"/\xff\xfe", b"/\xc2\x85", b"/a\x7fb",
                 b"/\"quote\\", b"/\xe2\x80\xa8", b"/\xf0\x9f\x98\x80"]
        count = 0
        for target in nasty:
            for request in (b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n",
                            b"GET /?" + target + b" HTTP/1.1\r\nHost: localhost\r\n",
                            b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: " + target + b"\r\n",
                            b"GET / HTTP/1.1\r\nHost: " + target + b"\r\n"):
                self.raw(request + b"Connection: close\r\n\r\n")
                count += 1
        records = self.proxy.wait_access(count)
        self.assertEqual(len(records), count)
        data = self.proxy.access_path.read_bytes()
        self.assertFalse(set(data) & (set(range(32)) - {10}) | (set(data) & {0x7F}))
        self.assertNotIn("\x85", data.decode("utf-8"))
        error_log = self.proxy.log_path.read_bytes()
        self.assertFalse(set(error_log) & (set(range(32)) - {10}))

    def test_client_names_do_not_grow_the_metrics(self):
        # K66.
        self.proxy.get("/")
        before = len(self.proxy.metrics())
        with self.proxy.tls() as sock:
            for i in range(3000):
                sock.sendall(b"ZZ%d /%d HTTP/1.1\r\nHost: h%d.test\r\nUser-Agent: u%d\r\n\r\n"
                             % (i, i, i, i))
                harness.read_response(sock)
        after = self.proxy.metrics()
        self.assertLess(len(after), before + 30)
        self.assertFalse([name for name in after if "h7.test" in name or "ZZ7" in name])

    def test_metrics_by_route_backend_version_and_group(self):
        for http in harness.ALL_VERSIONS:
            self.proxy.get("/", http=http)
        self.proxy.wait_access(3)
        text = self.proxy.admin("/metrics")[1]
        for part in ('route="all"', f'server="{self.origin.address}"', 'version="HTTP/3"',
                     'group="X25519MLKEM768"', "# TYPE pqedge_requests_total counter",
                     "# HELP pqedge_requests_total", "pqedge_request_duration_seconds_bucket",
                     'le="+Inf"'):
            self.assertIn(part, text)
        self.assertEqual(self.proxy.metric('pqedge_requests_total{route="all",class="2xx"}'), 3)

    def test_logs_are_reopened_on_sigusr1(self):
        self.proxy.get("/before")
        self.proxy.wait_access(1)
        moved = self.proxy.access_path.with_suffix(".1")
        self.proxy.access_path.rename(moved)
        self.proxy.send_signal(signal.SIGUSR1)
        harness.wait_for(self.proxy.access_path.exists, "the new file")
        self.proxy.get("/after")
        self.assertEqual([r["path"] for r in self.proxy.wait_access(1)], ["/after"])
        self.assertIn(b"/before", moved.read_bytes())

    def test_times_in_a_record(self):
        self.proxy.get("/")
        record = self.proxy.wait_access(1)[0]
        self.assertRegex(record["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertGreaterEqual(record["duration_ms"], record["first_byte_ms"])
        self.assertGreaterEqual(record["first_byte_ms"], record["connect_ms"])
        self.assertGreaterEqual(record["connect_ms"], 0)

    def test_a_request_id_is_taken_from_trusted_peers_only(self):
        _, fields, _ = self.proxy.get("/", "-H", "X-Request-ID: mine")
        self.assertNotIn(b"mine", self.origin.requests[-1][0])
        self.proxy.write_config(harness.pool(self.origin.address) + harness.route() +
                                '[identity]\ntrusted_proxies = ["127.0.0.0/8"]\n')
        self.assertEqual(self.proxy.reload()[0], 200)
        self.proxy.get("/", "-H", "X-Request-ID: mine", "-H", "X-Forwarded-For: 203.0.113.7")
        head = self.origin.requests[-1][0]
        self.assertIn(b"X-Request-ID: mine\r\n", head)
        self.assertIn(b"X-Forwarded-For: 203.0.113.7, 127.0.0.1\r\n", head)
        record = self.proxy.wait_access(1, lambda r: r["request_id"] == "mine")[0]
        self.assertEqual(record["client"], "203.0.113.7")


class Admin(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route())

    def test_health_and_readiness(self):
        self.assertEqual(self.proxy.admin("/healthz")[0], 200)
        self.assertEqual(self.proxy.admin("/readyz")[0], 200)
        self.assertEqual(self.proxy.admin("/nothing")[0], 404)

    def test_tcp_is_read_only(self):
        for path in ("/reload", "/drain", "/reopen-logs", "/metrics"):
            self.assertIn(self.proxy.admin(path, "POST")[0], (404, 405))
        self.assertTrue(self.proxy.alive())

    def test_other_hosts_are_refused(self):
        # DNS rebinding: a page of another site must not read the metrics.
        for host in ("evil.test", "localhost.evil.test", f"evil.test:{self.proxy.admin_port}"):
            self.assertEqual(self.proxy.admin("/metrics", host=host)[0], 403)
        for host in ("localhost", "127.0.0.1", f"127.0.0.1:{self.proxy.admin_port}"):
            self.assertEqual(self.proxy.admin("/metrics", host=host)[0], 200)

    def test_no_cors_headers(self):
        done = harness.run("curl", "-sS", "-i", "-H", "Origin: https://evil.test",
                           f"http://127.0.0.1:{self.proxy.admin_port}/metrics")
        self.assertNotIn(b"access-control", done.stdout.lower())

    def test_control_socket(self):
        mode = stat.S_IMODE(os.stat(self.proxy.control).st_mode)
        self.assertEqual(mode, 0o600)
        status, text = self.proxy.control_request("/status", "GET")
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(text)["workers"], 1)
        self.assertEqual(self.proxy.control_request("/drain")[0] // 100, 2)
        self.assertEqual(self.proxy.process.wait(harness.WAIT), 0)
        self.assertFalse(self.proxy.control.exists())


class Debugging(harness.TestCase):
    def test_key_log_only_for_the_named_client(self):
        origin = self.echo()
        secrets = self.directory / "secrets"
        edge = self.edge(harness.pool(origin.address) + harness.route(),
                         extra_args=["--debug-client", "127.0.0.1", "--keylog", secrets])
        for http in harness.ALL_VERSIONS:
            edge.get("/", http=http)
        text = secrets.read_text()
        self.assertGreaterEqual(text.count("CLIENT_HANDSHAKE_TRAFFIC_SECRET"), 3)
        self.assertEqual(stat.S_IMODE(os.stat(secrets).st_mode), 0o600)

        directory = self.directory / "other"
        directory.mkdir()
        other = directory / "secrets"
        edge = harness.Edge(directory, harness.pool(origin.address) + harness.route(),
                            extra_args=["--debug-client", "192.0.2.1", "--keylog", other])
        self.addCleanup(edge.kill)
        for http in harness.ALL_VERSIONS:
            edge.get("/", http=http)
        self.assertEqual(other.read_text() if other.exists() else "", "")

    def test_qlog_only_for_the_named_client(self):
        origin = self.echo()
        for client, files in (("127.0.0.1", 1), ("192.0.2.1", 0)):
            with self.subTest(client):
                directory = self.directory / client
                qlog = directory / "qlog"
                qlog.mkdir(parents=True)
                edge = harness.Edge(directory, harness.pool(origin.address) + harness.route(),
                                    extra_args=["--debug-client", client, "--qlog", qlog])
                self.addCleanup(edge.kill)
                edge.get("/", http="3")
                edge.stop()
                written = list(qlog.glob("*.sqlog"))
                self.assertEqual(len(written), files)
                for path in written:
                    events = [json.loads(line) for line in
                              path.read_text().replace("\x1e", "").splitlines() if line.strip()]
                    self.assertTrue(any("packet_received" in str(e) for e in events))


if __name__ == "__main__":
    harness.main()
