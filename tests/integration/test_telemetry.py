"""Handshake telemetry (T20) in the access log and the metrics, over TCP and QUIC; kernel TLS is
reported (T18)."""
# ctest: timeout=60

import json
import re
import socket

import harness

LABELS = re.compile(r"^(pqedge_tls_[a-z_]+)\{(.*)\} ")


class Telemetry(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.toml = harness.pool(self.origin.address) + harness.route()

    def s_client(self, edge, *args):
        request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}",
                           "-servername", "localhost", "-CAfile", edge.certificate.chain, "-ign_eof",
                           *args, input=request)
        return (done.stdout + done.stderr).decode("latin-1")

    def counter(self, edge, name, **labels):
        """The sum over all series of that name whose labels hold these."""
        total = 0
        for series, value in edge.metrics().items():
            if series.partition("{")[0] != name:
                continue
            if all(f'{k}="{v}"' in series for k, v in labels.items()):
                total += value
        return total

    def test_every_version_has_every_field(self):
        edge = self.edge(self.toml)
        for http in harness.ALL_VERSIONS:
            self.assertEqual(edge.get("/", http=http)[0], 200)
        records = {r["http_version"]: r for r in edge.wait_access(3)}
        self.assertEqual(len(records), 3)
        for r in records.values():
            self.assertEqual(r["group"], "X25519MLKEM768")
            self.assertEqual(r["signature"], "ecdsa_secp256r1_sha256")
            self.assertEqual(r["tls_version"], "TLSv1.3")
            self.assertIs(r["resumed"], False)
            self.assertIs(r["early_data"], False)
            self.assertIs(r["hello_retry"], False)
            self.assertGreater(r["handshake_ms"], 0)
            # Each side sends a key share above 1,100 bytes; a certificate is below 1,000.
            self.assertTrue(1300 < r["handshake_bytes_in"] < 8000, r)
            self.assertTrue(1700 < r["handshake_bytes_out"] < 8000, r)
        for transport, count in (("tcp", 2), ("quic", 1)):
            self.assertEqual(self.counter(edge, "pqedge_tls_signatures_total", transport=transport,
                                          signature="ecdsa_secp256r1_sha256"), count)
            for name in ("pqedge_tls_handshake_seconds_count", "pqedge_tls_handshake_bytes_count"):
                series = self.counter(edge, name, transport=transport, kind="full")
                self.assertEqual(series, count * (2 if "bytes" in name else 1), name)
            wanted = sum(r["handshake_bytes_in"] for v, r in records.items()
                         if (v == "HTTP/3") == (transport == "quic"))
            self.assertEqual(self.counter(edge, "pqedge_tls_handshake_bytes_sum", kind="full",
                                          transport=transport, direction="in"), wanted)

    def test_plain_connections_have_none(self):
        port = harness.free_port()
        edge = self.edge(self.toml + f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{port}"\n'
                         "tls = false\n")
        done = harness.run("curl", "-sS", f"http://127.0.0.1:{port}/")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = edge.wait_access(1)[0]
        self.assertIsNone(record["handshake_ms"])
        self.assertEqual((record["signature"], record["handshake_bytes_in"]), ("", 0))

    def test_bytes_are_those_that_the_client_counts(self):
        edge = self.edge(self.toml)
        text = self.s_client(edge)
        read, written = map(int, re.search(
            r"SSL handshake has read (\d+) bytes and written (\d+) bytes", text).groups())
        record = edge.wait_access(1)[0]
        self.assertEqual(record["handshake_bytes_in"], written)
        # The session ticket is in ours: the client reads it when its handshake is over.
        self.assertTrue(100 < record["handshake_bytes_out"] - read < 600, (record, read))

    def test_a_hello_retry_request_is_seen(self):
        edge = self.edge(self.toml)
        self.s_client(edge, "-groups", "*X25519:X25519MLKEM768")
        edge.curl("/", "--curves", "X25519:X25519MLKEM768", http="3")
        records = edge.wait_access(2)
        self.assertEqual([r["hello_retry"] for r in records], [True, True])
        self.assertEqual([r["group"] for r in records], ["X25519MLKEM768"] * 2)
        for transport in ("tcp", "quic"):
            self.assertEqual(self.counter(edge, "pqedge_tls_hello_retries_total",
                                          transport=transport), 1, transport)

    def test_a_resumption_has_no_signature(self):
        edge = self.edge(self.toml)
        session = self.directory / "session.pem"
        self.s_client(edge, "-sess_out", session)
        self.s_client(edge, "-sess_in", session)
        first, second = edge.wait_access(2)
        self.assertEqual((first["resumed"], second["resumed"]), (False, True))
        self.assertEqual((first["signature"], second["signature"]), ("ecdsa_secp256r1_sha256", ""))
        self.assertLess(second["handshake_bytes_out"], first["handshake_bytes_out"])
        self.assertEqual(self.counter(edge, "pqedge_tls_handshake_seconds_count", kind="resumed"), 1)
        self.assertEqual(self.counter(edge, "pqedge_tls_signatures_total"), 1)

    def test_failures_have_reasons_over_tcp_and_quic(self):
        edge = self.edge(self.toml + '[tls]\nhandshake_timeout = "1s"\n')
        name = "pqedge_tls_handshake_failures_total"

        def failed(reason, count):
            harness.wait_for(lambda: self.counter(edge, name, reason=reason) >= count,
                             f"{count} failures for {reason}")

        # A client that does not trust the certificate says so by an alert.
        other = harness.Certificate(self.directory, stem="other")
        for count, quic in enumerate(([], ["-quic", "-alpn", "h3"]), 1):
            done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}",
                               "-servername", "localhost", "-CAfile", other.chain,
                               "-verify_return_error", *quic, input=b"")
            self.assertNotEqual(done.returncode, 0)
            failed("client_alert", count)
        # curl ends a QUIC handshake without one.
        done = edge.curl("/", "--cacert", other.chain, http="3")
        self.assertNotEqual(done.returncode, 0)
        failed("client_closed", 1)
        # One that says nothing runs into the deadline.
        with socket.create_connection(("127.0.0.1", edge.port)) as silent:
            silent.sendall(b"\x16")
            failed("timeout", 1)
        self.assertEqual(self.counter(edge, "pqedge_tls_handshake_seconds_count"), 0)

    def test_no_client_adds_a_series(self):
        edge = self.edge(self.toml)

        def series():
            names = set()
            for line in edge.admin("/metrics")[1].splitlines():
                if match := LABELS.match(line):
                    names.add(match.groups())
            return names

        before = series()
        self.assertTrue(before)
        for args in (["-servername", "strange.test", "-alpn", "strange"],
                     ["-sigalgs", "rsa_pss_rsae_sha256"], ["-groups", "MLKEM512"],
                     ["-groups", "P-384"], ["-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"]):
            self.s_client(edge, *args)
        edge.curl("/", http="3")
        self.assertEqual(series(), before)

    def test_kernel_tls_is_reported_and_not_used(self):
        edge = self.edge(self.toml)
        version = harness.run(harness.PQEDGE, "version").stdout.decode()
        said = re.search(r"^kernel TLS is not used: .*$", version, re.MULTILINE)
        self.assertTrue(said, version)
        self.assertIn(said[0], edge.log())
        status, body = edge.control_request("/status", "GET")
        self.assertEqual(status, 200, body)
        found = json.loads(body)["kernel_tls"]
        self.assertIs(found["used"], False)
        with open("/proc/sys/net/ipv4/tcp_available_ulp", encoding="ascii") as protocols:
            self.assertEqual(found["kernel"], "tls" in protocols.read().split())
        self.assertEqual("kernel: could" in said[0], found["kernel"])


if __name__ == "__main__":
    harness.main()
