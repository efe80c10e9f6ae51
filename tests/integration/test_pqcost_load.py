"""pqcost load against nginx: what it says it did is what nginx's log says was done (M22)."""

import collections
import json
import os
import threading

import harness

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")


class Load(harness.TestCase):
    def start(self, extra=""):
        self.port = harness.free_port()
        self.certificate = harness.Certificate(self.directory)
        self.log = self.directory / "facts.log"
        self.nginx(http=f"""
            log_format facts '$server_protocol $ssl_curve $ssl_session_reused $status $connection '
                             '$ssl_client_verify';
            server {{
              listen 127.0.0.1:{self.port} ssl; listen 127.0.0.1:{self.port} quic; http2 on;
              access_log {self.log} facts; ssl_protocols TLSv1.3;
              ssl_ecdh_curve X25519MLKEM768:X25519;
              ssl_certificate {self.certificate.chain};
              ssl_certificate_key {self.certificate.key}; {extra}
              location = /short {{ return 200 "short"; }}
              location = /limited {{ return 429; }}
            }}""")

    def load(self, path, *arguments, status=0):
        done = harness.run(PQCOST, "load", "--format", "json",
                           f"https://127.0.0.1:{self.port}{path}", *arguments)
        self.assertEqual(done.returncode, status, done.stderr.decode() + done.stdout.decode())
        return json.loads(done.stdout)["loads"][0] if done.stdout else done.stderr.decode()

    def logged(self, count):
        harness.wait_for(lambda: len(self.log.read_text().splitlines()) >= count, f"{count} lines")
        return [line.split() for line in self.log.read_text().splitlines()]

    def test_open_loop_over_each_version(self):
        self.start()
        for protocol, version in (("h1", "HTTP/1.1"), ("h2", "HTTP/2.0"), ("h3", "HTTP/3.0")):
            with self.subTest(protocol=protocol):
                self.log.write_text("")
                said = self.load("/short", "-p", protocol, "--rate", "200", "-t", "1", "--warm-up",
                                 "0", "-c", "2", "--groups", "X25519")
                self.assertTrue(said["open"])
                self.assertEqual(said["group"].lower(), "x25519")
                # 200 a second for a second, each appointed: not one more or less.
                lines = self.logged(200)
                self.assertEqual(len(lines), 200)
                self.assertEqual({line[0] for line in lines}, {version})
                self.assertEqual(said["statuses"], {"200": said["requests"]})
                self.assertEqual(sum(said["histogram_count"]), 200)
                self.assertEqual(said["histogram_upper_us"], sorted(said["histogram_upper_us"]))
                self.assertIn("p99", said["latency_us"])
                self.assertNotIn("p99.9", said["latency_us"])  # of 200 there is none

    def test_connection_rate_and_share_of_resumption(self):
        self.start("ssl_session_tickets on;")
        said = self.load("/short", "-p", "h1", "--connection-rate", "100", "-t", "1",
                         "--warm-up", "0", "--resumption", "0.5", "-c", "16")
        lines = self.logged(100)
        self.assertEqual(len({line[4] for line in lines}), 100)  # a connection each
        reused = collections.Counter(line[2] for line in lines)["r"]
        self.assertEqual(reused, said["resumed"])
        self.assertIn(reused, range(45, 51))
        self.assertEqual(said["handshakes"], 100)

    def test_client_certificates(self):
        client = harness.Certificate(self.directory, algorithm="ML-DSA-44", stem="client")
        self.start("ssl_verify_client optional_no_ca;")
        self.load("/short", "--connection-rate", "20", "-t", "0.5", "--warm-up", "0",
                  "--cert", client.chain, "--key", client.key)
        self.assertNotIn("NONE", {line[5] for line in self.logged(10)})

    def test_a_stall_shows_in_every_request_it_delayed(self):
        # Freedom from coordinated omission: the server sleeps for the first of requests that are
        # appointed every 10 ms on one connection; those behind it count from their own times.
        def serve(sock, _):
            reader = harness.RequestReader(sock)
            first = True
            while reader.read() is not None:
                if first:
                    threading.Event().wait(0.5)
                first = False
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        peer = self.backend(serve)
        done = harness.run(PQCOST, "load", "--format", "json", "-p", "h1", "--rate", "100", "-t",
                           "1", "--warm-up", "0", f"http://{peer.address}/")
        said = json.loads(done.stdout)["loads"][0]
        slow = sum(count for upper, count in
                   zip(said["histogram_upper_us"], said["histogram_count"]) if upper > 100_000)
        self.assertGreaterEqual(slow, 30)  # about 40 were appointed in the first 400 ms
        self.assertLess(said["service_time_us"]["p50"], 100_000)

    def test_failures_and_bad_arguments(self):
        self.start()
        said = self.load("/limited", "--rate", "50", "-t", "0.3", "--warm-up", "0", status=1)
        self.assertGreater(said["failures"]["status"], 0)
        for arguments in ((), ("--rate", "5", "--connection-rate", "5"), ("--rate", "-1"),
                          ("--rate", "5", "--resumption", "0.5"), ("--closed", "--cert", "x")):
            with self.subTest(arguments=arguments):
                done = harness.run(PQCOST, "load", f"https://127.0.0.1:{self.port}/", *arguments)
                self.assertEqual(done.returncode, 2, done.stdout)


if __name__ == "__main__":
    harness.main()
