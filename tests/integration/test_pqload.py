"""The load generator against nginx: what it says it did is what nginx's log says was done (M22)."""

import collections
import hashlib
import json
import os
import signal
import subprocess
import threading
import time

import harness

PQLOAD = os.environ.get("PQLOAD_BIN", "build/pqload")
BODY = bytes(i * 7 % 251 for i in range(70000))
VERSIONS = {"h1": "HTTP/1.1", "h2": "HTTP/2.0", "h3": "HTTP/3.0"}


class Pqload(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.port = harness.free_port()
        self.log = self.directory / "access.log"
        certificate = harness.Certificate(self.directory)
        (self.directory / "www").mkdir()
        (self.directory / "www" / "body").write_bytes(BODY)
        temporary = "".join(
            f"{kind}_temp_path {self.directory}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        configuration = self.directory / "nginx.conf"
        configuration.write_text(f"""
            daemon off; worker_processes 1; pid {self.directory}/nginx.pid; user root;
            error_log {self.directory}/error.log warn;
            events {{ worker_connections 1024; }}
            http {{
              {temporary}
              log_format facts '$server_protocol $ssl_curve $ssl_cipher $ssl_session_reused '
                               '$status $connection $request_length "$http_x_mark"';
              access_log {self.directory}/access.log facts;
              keepalive_requests 100000;
              server {{
                listen 127.0.0.1:{self.port} ssl; listen 127.0.0.1:{self.port} quic;
                http2 on; client_max_body_size 0;
                ssl_protocols TLSv1.3; ssl_ecdh_curve X25519MLKEM768:X25519:P-256;
                ssl_certificate {certificate.chain}; ssl_certificate_key {certificate.key};
                root {self.directory}/www;
                location = /short {{ return 200 "short"; }}
                location /put/ {{ root {self.directory}; dav_methods PUT; create_full_put_path on; }}
                location = /limited {{ return 429; }}
              }}
            }}""")
        self.nginx = harness.Process(
            ["nginx", "-p", self.directory, "-c", configuration], self.directory / "nginx.out"
        )
        self.addCleanup(self.nginx.stop)
        harness.wait_for(lambda: (self.directory / "nginx.pid").exists(), "nginx")

    def load(self, protocol, path, *arguments, status=0):
        done = harness.run(PQLOAD, "-p", protocol, "--json", "-", *arguments,
                           f"https://127.0.0.1:{self.port}{path}")  # fmt: skip
        self.assertEqual(done.returncode, status, done.stderr.decode() + done.stdout.decode())
        return json.loads(done.stdout)

    def worker(self):
        return int(harness.run("pgrep", "-P", self.nginx.pid).stdout.split()[0])

    def logged(self, count):
        """nginx writes a line once the answer is sent, a little after the client has read it."""
        harness.wait_for(lambda: len(self.log.read_text().splitlines()) >= count, f"{count} log lines")
        return [line.split() for line in self.log.read_text().splitlines()]

    def test_counts_and_tls_facts_are_those_of_the_server(self):
        for protocol, streams in (("h1", 1), ("h2", 4), ("h3", 4)):
            with self.subTest(protocol=protocol):
                self.log.write_text("")
                said = self.load(protocol, "/body", "-n", 60, "-c", 3, "-m", streams,
                                 "--groups", "X25519", "-H", "X-Mark: here",
                                 "--ciphers", "TLS_CHACHA20_POLY1305_SHA256",
                                 "--expect-sha256", hashlib.sha256(BODY).hexdigest())  # fmt: skip
                lines = self.logged(60)
                self.assertEqual(said["requests"], 60)
                self.assertEqual(said["failed"], 0)
                self.assertEqual(said["statuses"], {"200": 60})
                self.assertEqual(said["traffic"]["body_bytes"], 60 * len(BODY))
                self.assertEqual(said["handshakes"], 3)
                self.assertEqual(len(lines), 60)
                self.assertEqual({line[0] for line in lines}, {VERSIONS[protocol]})
                if protocol != "h3":  # there nginx numbers requests, not connections
                    self.assertEqual(len({line[5] for line in lines}), 3)
                self.assertEqual({line[1].lower() for line in lines}, {said["tls"]["group"].lower()})
                self.assertEqual({line[2] for line in lines}, {said["tls"]["cipher"]})
                self.assertEqual({line[7] for line in lines}, {'"here"'})

    def test_a_handshake_for_each_request_full_or_resumed(self):
        for protocol in VERSIONS:
            for resume in (False, True):
                with self.subTest(protocol=protocol, resume=resume):
                    self.log.write_text("")
                    said = self.load(protocol, "/short", "-n", 30, "-c", 2, "--handshake-each",
                                     "--groups", "X25519", *(["--resume"] if resume else []))  # fmt: skip
                    lines = self.logged(30)
                    self.assertEqual(said["handshakes"], 30)
                    self.assertEqual(len({line[5] for line in lines}), 30)
                    reused = sum(line[3] == "r" for line in lines)
                    self.assertEqual(said["handshakes_resumed"], reused)
                    # All but the first two, which had nothing to resume.
                    self.assertEqual(reused, 28 if resume else 0)

    def test_uploads_arrive_whole(self):
        stored = set()
        for protocol in VERSIONS:
            self.load(protocol, f"/put/{protocol}", "-n", 1, "-X", "PUT", "--upload", 3_000_001,
                      "--expect-status", 201)  # fmt: skip
            stored.add((self.directory / "put" / protocol).read_bytes())
        (content,) = stored
        self.assertEqual(len(content), 3_000_001)

    def test_unexpected_answers_are_failures(self):
        for protocol in VERSIONS:
            with self.subTest(protocol=protocol):
                said = self.load(protocol, "/limited", "-n", 5, status=1)
                self.assertEqual(said["failures"], {"status": 5})
                self.assertEqual(said["statuses"], {"429": 5})
                said = self.load(protocol, "/short", "-n", 5, "--expect-size", 6, status=1)
                self.assertEqual(said["failures"], {"body": 5})
                said = self.load(protocol, "/short", "-n", 5, "--expect-sha256", "00" * 32, status=1)
                self.assertEqual(said["failures"], {"body": 5})

    def test_what_cannot_connect_says_so(self):
        nobody = harness.free_port()
        for protocol in VERSIONS:
            done = harness.run(PQLOAD, "-p", protocol, "-n", 1, "--json", "-", f"https://127.0.0.1:{nobody}/")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(set(json.loads(done.stdout)["failures"]), {"connect"})
        # A group that the server does not have.
        said = self.load("h1", "/short", "-n", 1, "--groups", "P-521", status=1)
        self.assertEqual(set(said["failures"]), {"handshake"})
        for wrong in (["-p", "h1", "-m", "2", "https://x/"], ["ftp://x/"], ["--resume", "https://x/"]):
            self.assertEqual(harness.run(PQLOAD, *wrong).returncode, 2)

    def test_a_server_that_dies_is_seen(self):
        for protocol in ("h1", "h2"):
            with self.subTest(protocol=protocol):
                self.log.write_text("")
                running = subprocess.Popen(
                    [PQLOAD, "-p", protocol, "-c", "4", "-t", "60", "--warm-up", "0", "--json", "-",
                     f"https://127.0.0.1:{self.port}/body"],
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
                self.logged(100)
                os.kill(self.worker(), signal.SIGKILL)
                # The master starts another worker: the load goes on over new connections.
                self.log.write_text("")
                self.logged(100)
                running.send_signal(signal.SIGINT)
                said = json.loads(running.communicate()[0])
                self.assertEqual(running.returncode, 1)
                # What was in flight: at most a request a connection, and a connection refused or
                # reset while there was no worker.
                self.assertIn("closed", said["failures"])
                self.assertLessEqual(said["failures"]["closed"], 4)
                self.assertLessEqual(set(said["failures"]), {"closed", "connect", "handshake"})
                self.assertGreater(said["handshakes"], 4)

    def test_an_open_loop_does_not_wait_for_a_stalled_server(self):
        # The worker stands still for half a second of a second and a half. At 400 a second a third
        # of the requests falls due meanwhile, and each waits for the rest of the stall.
        worker = self.worker()

        def stall():
            self.logged(50)
            os.kill(worker, signal.SIGSTOP)
            time.sleep(0.5)
            os.kill(worker, signal.SIGCONT)

        thread = threading.Thread(target=stall)
        thread.start()
        said = self.load("h2", "/short", "-c", 4, "-r", 400, "-t", 1.5, "--warm-up", 0)
        thread.join()
        self.assertEqual(said["latency_us"]["count"], 600)
        # A closed loop would have one slow answer a connection, and a p90 of milliseconds.
        self.assertGreater(said["latency_us"]["p90"], 200_000)
        self.assertGreater(said["latency_us"]["max"], 400_000)

    def test_the_open_loop_offers_its_rate(self):
        for protocol in VERSIONS:
            said = self.load(protocol, "/short", "-c", 5, "-r", 200, "-t", 1, "--warm-up", 0.2)
            self.assertEqual(said["latency_us"]["count"], 200)
        times = collections.Counter(line[0] for line in self.logged(3 * 240))
        self.assertEqual(set(times.values()), {240})


if __name__ == "__main__":
    harness.main()
