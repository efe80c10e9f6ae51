"""pqedge probe (T21): what it says of openssl s_server, nginx, haproxy, pqedge, and of servers that
hang, close, answer garbage or break on some ClientHello.
"""
# ctest: timeout=300

import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import socket
import ssl
import threading
import time
import unittest

import jsonschema

import harness

OPENSSL4 = harness.SOURCE / "build/openssl4/bin/openssl"  # tools/openssl4.sh puts it there
SCHEMA = json.loads((harness.SOURCE / "docs/probe-report.schema.json").read_text())


class SServer(harness.Process):
    """openssl s_server with a page of status, on a free port."""

    def __init__(self, directory, certificate, *args, program="openssl"):
        self.port = harness.free_port()
        super().__init__([program, "s_server", "-accept", f"127.0.0.1:{self.port}", "-www",
                          "-cert", certificate.chain, "-key", certificate.key, *args],
                         pathlib.Path(directory) / f"s_server-{self.port}.log")
        harness.wait_for(lambda: "ACCEPT" in self.log() or not self.alive(), "s_server")
        if not self.alive():
            raise AssertionError(self.log())


class Front:
    """A TCP server before another: `takes(first bytes)` says whether a connection goes on to it.

    One thread serves all. `most` is the largest number of connections that were open at once, as
    the kernel tells it: one whose end has arrived counts no more.
    """

    def __init__(self, port=None, takes=lambda data: True, hold=0):
        self.behind = port
        self.takes = takes
        self.hold = hold  # seconds that the first bytes wait: connections made at once overlap
        self.accepted = 0
        self.most = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self._peers = {}  # client socket -> server socket, and back
        self._clients = set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _ended(self, sock):
        poll = select.poll()
        poll.register(sock, select.POLLRDHUP)  # set even where bytes before the end wait
        return bool(poll.poll(0))

    def _run(self):
        while not self._end.is_set():
            watched = {self.listener, *self._clients, *self._peers}
            ready, _, _ = select.select(watched, [], [], 0.05)
            for sock in ready:
                if sock is self.listener:
                    self._accept()
                elif sock in self._peers or sock in self._clients:
                    self._move(sock)

    def _accept(self):
        client, _ = self.listener.accept()
        self.accepted += 1
        for other in [c for c in self._clients if self._ended(c)]:
            self._drop(other)
        self._clients.add(client)
        self.most = max(self.most, len(self._clients))

    def _move(self, sock):
        try:
            data = sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._drop(sock)
        elif sock in self._peers:
            with contextlib.suppress(OSError):
                self._peers[sock].sendall(data)
        elif not self.takes(data):
            self._drop(sock)
        elif self.behind is not None:
            if self.hold:
                time.sleep(self.hold)
            server = socket.create_connection(("127.0.0.1", self.behind))
            self._peers[sock], self._peers[server] = server, sock
            server.sendall(data)

    def _drop(self, sock):
        other = self._peers.pop(sock, None)
        for s in (sock, other):
            if s is not None:
                self._peers.pop(s, None)
                self._clients.discard(s)
                s.close()

    def stop(self):
        self._end.set()
        self._thread.join(harness.WAIT)
        for sock in [self.listener, *self._clients, *self._peers]:
            sock.close()


def hello_of(data):
    """The ClientHello of the first bytes: (whole in these bytes, in one record, message)."""
    if len(data) < 9 or data[0] != 22:
        return False, False, b""
    record = int.from_bytes(data[3:5], "big")
    message = int.from_bytes(data[6:9], "big") + 4
    return len(data) >= 5 + record and record >= message, record >= message, data[5:5 + message]


class Probe(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.certificate = harness.Certificate(self.directory)

    def probe(self, port, *args, code=0, trusted=True, timeout="5", name="localhost"):
        """(report, stderr) of a probe with JSON, which must be as the schema says."""
        trust = ("--ca-file", self.certificate.chain) if trusted else ()
        done = harness.run(harness.PQEDGE, "probe", f"127.0.0.1:{port}", "--sni", name,
                           "--format", "json", "--timeout", timeout, *trust, *args)
        errors = done.stderr.decode()
        self.assertEqual(done.returncode, code, errors + done.stdout.decode()[:3000])
        if code == 2:
            return None, errors
        report = json.loads(done.stdout)
        jsonschema.validate(report, SCHEMA)
        return report, errors

    def s_server(self, *args, certificate=None, **kwargs):
        server = SServer(self.directory, certificate or self.certificate, *args, **kwargs)
        self.addCleanup(server.kill)
        return server

    def front(self, *args, **kwargs):
        front = Front(*args, **kwargs)
        self.addCleanup(front.stop)
        return front

    def rules(self, report):
        return [r["rule"] for r in report["rules"]]

    def groups(self, report):
        return [g["name"] for g in report["key_exchange"]["groups"]]

    # ---- openssl s_server ----

    def test_openssl_with_its_own_settings(self):
        server = self.s_server()
        report, errors = self.probe(server.port)
        self.assertEqual(self.rules(report), [])
        self.assertEqual(report["grade"], "A")
        kex = report["key_exchange"]
        self.assertEqual(self.groups(report)[0], "X25519MLKEM768")
        self.assertIn("X25519", self.groups(report))
        self.assertNotIn("X25519Kyber768Draft00", self.groups(report))
        self.assertEqual(kex["default_group"], "X25519MLKEM768")
        self.assertFalse(kex["default_hello_retry"])
        self.assertTrue(kex["asks_for_post_quantum"]["result"])
        self.assertEqual({v["version"] for v in report["versions"] if v["accepted"]},
                         {"TLSv1.3", "TLSv1.2"})
        self.assertEqual(set(report["tls13_cipher_suites"]),
                         {"TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256",
                          "TLS_CHACHA20_POLY1305_SHA256"})
        chain = report["certificates"][0]
        self.assertEqual(chain["signature_algorithms"], ["ecdsa_secp256r1_sha256"])
        self.assertEqual(chain["certificates"][0]["key"], "EC P-256")
        self.assertEqual(chain["certificates"][0]["bytes"], self.der_size(self.certificate))
        self.assertTrue(chain["trusted"])
        self.assertTrue(report["resumption"]["resumed"]["result"])
        self.assertEqual(report["resumption"]["early_data_bytes"], 0)
        self.assertFalse(report["http"]["quic"]["accepted"]["result"])
        self.assertFalse(report["ech"]["answered"]["result"])
        self.assertEqual(set(k for k, v in report["tolerance"].items() if v["result"]),
                         {"large_hello", "two_segments", "two_records", "unknown_group", "grease"})
        limit = int(re.search(r"at most (\d+) connections, 1 at a time", errors)[1])
        self.assertLessEqual(report["connections"], limit)

    def der_size(self, certificate):
        done = harness.run("openssl", "x509", "-in", certificate.chain, "-outform", "DER")
        return len(done.stdout)

    def test_groups_are_what_the_server_was_given(self):
        # A single tuple: a classical share in hand wins (openssl#22203).
        server = self.s_server("-groups", "X25519MLKEM768:X25519:P-384")
        report, _ = self.probe(server.port, "--no-quic")
        self.assertEqual(set(self.groups(report)), {"X25519MLKEM768", "X25519", "P-384"})
        self.assertEqual(self.rules(report), ["keeps-classical-share"])
        self.assertEqual(report["grade"], "B")
        # With tuples a HelloRetryRequest is sent.
        server = self.s_server("-groups", "SecP384r1MLKEM1024/X25519:P-256")
        report, _ = self.probe(server.port, "--no-quic")
        self.assertEqual(set(self.groups(report)), {"SecP384r1MLKEM1024", "X25519", "P-256"})
        self.assertEqual(self.groups(report)[0], "SecP384r1MLKEM1024")
        self.assertTrue(report["key_exchange"]["default_hello_retry"])
        self.assertEqual(report["grade"], "A")

    def test_classical_groups_alone(self):
        server = self.s_server("-groups", "X25519:P-256")
        report, _ = self.probe(server.port, "--no-quic", "--fail-below", "C")
        self.assertEqual(self.rules(report), ["no-post-quantum"])
        self.assertEqual(report["grade"], "C")
        self.probe(server.port, "--no-quic", "--fail-below", "B", code=1)

    def test_tls12_alone_with_rsa_key_transport(self):
        rsa = harness.Certificate(self.directory, algorithm="rsa:2048", stem="rsa")
        self.certificate = rsa
        server = self.s_server("-no_tls1_3", "-cipher", "AES128-SHA256:ECDHE-RSA-AES128-GCM-SHA256",
                               certificate=rsa)
        report, _ = self.probe(server.port, "--no-quic")
        self.assertEqual(self.rules(report), ["no-tls-1.3", "static-rsa", "no-post-quantum"])
        self.assertEqual(report["grade"], "D")
        self.assertEqual([v["version"] for v in report["versions"] if v["accepted"]], ["TLSv1.2"])
        self.assertEqual(report["certificates"][0]["certificates"][0]["key"], "RSA 2048")

    def test_every_chain_and_scheme(self):
        pq = harness.Certificate(self.directory, algorithm="mldsa65", stem="mldsa")
        weak = harness.Certificate(self.directory, algorithm="rsa:1024", stem="weak")
        server = self.s_server("-dcert", pq.chain, "-dkey", pq.key)
        report, _ = self.probe(server.port, "--no-quic")
        found = {c["certificates"][0]["key"]: c for c in report["certificates"]}
        self.assertEqual(set(found), {"EC P-256", "ML-DSA-65"})
        self.assertEqual(found["ML-DSA-65"]["signature_algorithms"], ["mldsa65"])
        self.assertEqual(found["ML-DSA-65"]["signature_bytes"], 3309)  # FIPS 204 table 2
        leaf = found["ML-DSA-65"]["certificates"][0]
        self.assertEqual(leaf["public_key_bytes"], 1974)  # RFC 9881: 22 bytes over the raw key
        self.assertEqual(leaf["bytes"], self.der_size(pq))
        self.assertEqual(report["grade"], "A")  # one chain of them is trusted
        server = self.s_server("-cipher", "DEFAULT@SECLEVEL=0", certificate=weak)
        report, _ = self.probe(server.port, "--no-quic", "--ignore-trust")
        self.assertIn("weak-certificate", self.rules(report))

    def test_an_untrusted_or_wrong_name_is_said(self):
        server = self.s_server()
        report, _ = self.probe(server.port, "--no-quic", trusted=False)
        self.assertEqual(self.rules(report), ["untrusted-certificate"])
        self.assertEqual(report["grade"], "F")
        self.assertIn("self-signed", report["certificates"][0]["trust_detail"])
        report, _ = self.probe(server.port, "--no-quic", "--ignore-trust", trusted=False)
        self.assertEqual(report["grade"], "A")
        report, _ = self.probe(server.port, "--no-quic", name="other.test")
        self.assertEqual(self.rules(report), ["untrusted-certificate"])
        self.assertIn("hostname", report["certificates"][0]["trust_detail"].lower())

    def test_a_staple_and_compression(self):
        der = self.staple()
        server = self.s_server("-status_file", der)
        report, _ = self.probe(server.port, "--no-quic")
        self.assertEqual(report["certificates"][0]["ocsp_staple_bytes"], der.stat().st_size)
        self.assertEqual(report["certificate_compression"], [])
        server = self.s_server("-cert_comp")
        report, _ = self.probe(server.port, "--no-quic")
        self.assertIn("zlib", [c["algorithm"] for c in report["certificate_compression"]])
        for form in report["certificate_compression"]:
            self.assertLess(form["bytes"], form["uncompressed_bytes"])

    def staple(self):
        d, c = self.directory, self.certificate
        (d / "index.txt").write_text("V\t301231235959Z\t\t01\tunknown\t/CN=localhost\n")
        for args in (["-issuer", c.chain, "-serial", "1", "-reqout", d / "request.der"],
                     ["-index", d / "index.txt", "-rsigner", c.chain, "-rkey", c.key, "-CA", c.chain,
                      "-reqin", d / "request.der", "-respout", d / "response.der", "-ndays", "1"]):
            done = harness.run("openssl", "ocsp", *args)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
        return d / "response.der"

    @unittest.skipUnless(OPENSSL4.exists(), "no OpenSSL 4 here")
    def test_encrypted_client_hello(self):
        keys = self.directory / "ech.pem"
        made = harness.run(OPENSSL4, "ech", "-public_name", "public.test", "-out", keys)
        self.assertEqual(made.returncode, 0, made.stderr)
        c = self.certificate
        server = self.s_server("-ech_key", keys, "-servername", "localhost", "-cert2", c.chain,
                               "-key2", c.key, program=OPENSSL4)
        report, _ = self.probe(server.port, "--no-quic")
        self.assertTrue(report["ech"]["answered"]["result"])
        self.assertEqual(report["ech"]["retry_configs"],
                         [{"public_name": "public.test", "kem": 0x20}])  # RFC 9180 7.1: X25519
        self.assertIn("curveSM2MLKEM768", self.groups(report))  # which the library here has not
        self.assertEqual(report["grade"], "A")

    # ---- nginx and haproxy ----

    def test_nginx_with_http2_and_early_data(self):
        c = self.certificate
        nginx = self.nginx(listen="ssl", server=f"""
            http2 on; ssl_certificate {c.chain}; ssl_certificate_key {c.key};
            ssl_protocols TLSv1.2 TLSv1.3; ssl_ecdh_curve P-256:X25519; ssl_early_data on;
            ssl_session_tickets on; ssl_prefer_server_ciphers on;
            add_header Alt-Svc 'h3=":8443"; ma=60' always;""")
        report, _ = self.probe(nginx.port)
        self.assertEqual(self.groups(report), ["P-256", "X25519"])
        self.assertEqual(self.rules(report), ["no-post-quantum"])
        self.assertEqual(set(report["http"]["alpn"]), {"h2", "http/1.1"})
        self.assertEqual(report["http"]["alt_svc_h3_port"], 8443)
        self.assertGreater(report["resumption"]["early_data_bytes"], 0)
        self.assertFalse(report["http"]["quic"]["accepted"]["result"])
        self.assertIn("UDP", report["http"]["quic"]["accepted"]["detail"])

    def test_haproxy_with_old_versions(self):
        pem = self.directory / "both.pem"
        pem.write_text(self.certificate.chain.read_text() + self.certificate.key.read_text())
        port = harness.free_port()
        config = self.directory / "haproxy.cfg"
        config.write_text(f"""
global
  tune.ssl.default-dh-param 2048
defaults
  mode http
  timeout client 5s
  timeout connect 5s
  timeout server 5s
frontend tls
  bind 127.0.0.1:{port} ssl crt {pem} alpn h2 curves X25519MLKEM768:X25519 ssl-min-ver TLSv1.0 ciphers DEFAULT@SECLEVEL=0 no-tls-tickets
  http-request return status 200
""")
        haproxy = harness.Process([shutil.which("haproxy") or "/usr/sbin/haproxy", "-f", config],
                                  self.directory / "haproxy.log")
        self.addCleanup(haproxy.kill)
        harness.wait_for(lambda: self.listens(port, haproxy), "haproxy to listen")
        report, _ = self.probe(port, "--no-quic")
        self.assertIn("old-tls", self.rules(report))
        self.assertEqual(set(self.groups(report)), {"X25519MLKEM768", "X25519"})
        accepted = {v["version"] for v in report["versions"] if v["accepted"]}
        self.assertEqual(accepted, {"TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1.0"})
        self.assertEqual(report["http"]["alpn"], ["h2"])

    def listens(self, port, process):
        self.assertTrue(process.alive(), process.log())
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        return False

    # ---- pqedge ----

    def test_pqedge_over_tcp_and_quic(self):
        origin = self.echo()
        edge = self.edge(harness.pool(origin.address) + harness.route())
        self.certificate = edge.certificate
        report, _ = self.probe(edge.port)
        self.assertEqual(self.rules(report), [])
        self.assertEqual(report["grade"], "A")
        self.assertEqual(report["http"]["alpn"], ["h2", "http/1.1"])
        self.assertEqual(report["http"]["alt_svc_h3_port"], edge.port)
        quic = report["http"]["quic"]
        self.assertTrue(quic["accepted"]["result"], quic)
        self.assertEqual(quic["group"], "X25519MLKEM768")
        self.assertEqual(quic["signature"], "ecdsa_secp256r1_sha256")
        self.assertTrue(report["key_exchange"]["own_order"]["result"])
        self.assertTrue(report["resumption"]["resumed"]["result"])
        self.assertEqual([v["version"] for v in report["versions"] if v["accepted"]], ["TLSv1.3"])
        text = harness.run(harness.PQEDGE, "probe", f"127.0.0.1:{edge.port}", "--sni", "localhost",
                           "--ca-file", edge.certificate.chain, "--parallel", "4").stdout.decode()
        self.assertIn("\ngrade A\n", text)
        self.assertNotIn("\x1b", text)  # no terminal, no colour
        self.assertRegex(text, r"HTTP/3 over QUIC +yes, X25519MLKEM768")

    def test_pqedge_without_a_usual_group(self):
        origin = self.echo()
        edge = self.edge(harness.pool(origin.address) + harness.route() +
                         '[tls]\ngroups = ["SecP384r1MLKEM1024", "MLKEM1024"]\n'
                         'certificate_compression = ["brotli", "zstd", "zlib"]\n')
        self.certificate = edge.certificate
        report, _ = self.probe(edge.port)
        self.assertEqual(self.groups(report), ["SecP384r1MLKEM1024", "MLKEM1024"])
        self.assertTrue(report["key_exchange"]["default_hello_retry"])
        self.assertEqual(report["http"]["quic"]["group"], "SecP384r1MLKEM1024")
        self.assertEqual([c["algorithm"] for c in report["certificate_compression"]],
                         ["zlib", "brotli", "zstd"])

    # ---- politeness ----

    def test_one_connection_at_a_time(self):
        server = self.s_server()
        front = self.front(server.port, hold=0.002)
        report, errors = self.probe(front.port, "--no-quic")
        self.assertEqual(front.most, 1)
        self.assertEqual(front.accepted, report["connections"])
        self.assertLessEqual(front.accepted, int(re.search(r"at most (\d+)", errors)[1]))
        wide = self.front(server.port, hold=0.002)
        again, _ = self.probe(wide.port, "--no-quic", "--parallel", "3")
        self.assertLessEqual(wide.most, 3)
        self.assertGreater(wide.most, 1)
        self.assertEqual(self.groups(again), self.groups(report))
        self.assertEqual(again["grade"], report["grade"])

    # ---- servers that break on some hellos ----

    def test_servers_that_want_the_hello_in_one_piece(self):
        server = self.s_server("-groups", "X25519:P-256")
        # In one read: two segments break it. Such servers cannot talk to clients with a hybrid.
        segments = self.front(server.port, takes=lambda d: hello_of(d)[0] or not hello_of(d)[1])
        report, _ = self.probe(segments.port, "--no-quic")
        self.assertIn("split-hello", self.rules(report))
        self.assertTrue(report["tolerance"]["two_records"]["result"])
        self.assertFalse(report["tolerance"]["two_segments"]["result"])
        self.assertEqual(report["grade"], "D")
        records = self.front(server.port, takes=lambda d: hello_of(d)[1])
        report, _ = self.probe(records.port, "--no-quic")
        self.assertFalse(report["tolerance"]["two_records"]["result"])
        self.assertTrue(report["tolerance"]["two_segments"]["result"])

    def test_servers_that_break_on_large_hellos(self):
        server = self.s_server()
        small = self.front(server.port, takes=lambda d: len(hello_of(d)[2]) < 1000)
        report, _ = self.probe(small.port, "--no-quic")
        self.assertIn("hybrid-client-fails", self.rules(report))
        self.assertFalse(report["key_exchange"]["hybrid_client"]["result"])
        self.assertFalse(report["tolerance"]["large_hello"]["result"])
        self.assertEqual(report["grade"], "D")
        # What a small hello can ask is known nevertheless.
        self.assertIn("X25519MLKEM768", self.groups(report))

    def test_servers_that_break_on_unknown_values(self):
        server = self.s_server()
        # The first cipher suite, after header, version, random and session ID.
        front = self.front(server.port, takes=lambda d: hello_of(d)[2][73:75] != b"\x4a\x4a")
        report, _ = self.probe(front.port, "--no-quic")
        self.assertEqual(self.rules(report), ["intolerant"])
        self.assertFalse(report["tolerance"]["grease"]["result"])
        self.assertTrue(report["tolerance"]["unknown_group"]["result"])

    # ---- servers that are none ----

    def test_no_server_there(self):
        port = harness.free_port()
        _, errors = self.probe(port, code=2)
        self.assertIn("Connection refused", errors)
        self.assertIn(str(port), errors)

    def faulty(self, serve, *args, timeout="0.4"):
        backend = self.backend(serve)
        began = time.monotonic()
        _, errors = self.probe(backend.port, "--no-quic", *args, code=2, timeout=timeout)
        self.assertLess(backend.connections, 10)
        return errors, time.monotonic() - began

    def test_a_server_that_hangs(self):
        release = threading.Event()
        self.addCleanup(release.set)
        errors, took = self.faulty(lambda sock, number: release.wait(harness.WAIT))
        self.assertIn("no answer in time", errors)
        self.assertLess(took, 10 * harness.SLOW)

    def test_a_server_that_closes(self):
        errors, _ = self.faulty(lambda sock, number: None)
        self.assertRegex(errors, "closed the connection|reset|broke")

    def test_a_server_that_answers_garbage(self):
        for answer in (b"SSH-2.0-OpenSSH_10.0\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n",
                       os.urandom(4096), b"\x16\x03\x03\x00\x04\x02\xff\xff\xff" * 1000):
            def serve(sock, number, answer=answer):
                sock.sendall(answer)
                sock.recv(65536)
            errors, _ = self.faulty(serve)
            self.assertIn("no handshake", errors)
            self.assertNotIn("\x1b", errors)

    def test_a_server_that_hangs_within_its_hello(self):
        # The whole of a ServerHello's record but its last byte.
        hello = bytes.fromhex("160303002c02000028" "0303" + "00" * 32 + "00" "1301" "00" "0000")
        release = threading.Event()
        self.addCleanup(release.set)

        def serve(sock, number):
            sock.sendall(hello[:-1])
            release.wait(harness.WAIT)

        errors, _ = self.faulty(serve)
        self.assertIn("no answer in time", errors)

    def test_a_server_that_talks_without_end(self):
        # Application data from the handshake on, and never the ticket that is waited for.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate.chain, self.certificate.key)
        context.num_tickets = 0
        release = threading.Event()
        self.addCleanup(release.set)

        def serve(sock, number):
            sock.sendall(b"* OK ready\r\n")
            if not sock.recv(100).startswith(b"a1 STARTTLS"):
                return
            sock.sendall(b"a1 OK go\r\n")
            with context.wrap_socket(sock, server_side=True) as tls:
                while not release.is_set():
                    tls.sendall(b"x" * 16384)

        backend = self.backend(serve)
        began = time.monotonic()
        report, _ = self.probe(backend.port, "--starttls", "imap", timeout="2")
        self.assertLess(time.monotonic() - began, 60 * harness.SLOW)
        self.assertEqual(report["resumption"]["tickets"], 0)
        release.set()

    # ---- STARTTLS ----

    def test_starttls(self):
        server = self.s_server()
        for protocol, talk in (("smtp", ((b"", b"220 test ESMTP\r\n"),
                                         (b"EHLO", b"250-test\r\n250-STARTTLS\r\n250 HELP\r\n"),
                                         (b"STARTTLS", b"220 go\r\n"))),
                               ("imap", ((b"", b"* OK ready\r\n"), (b"a1 STARTTLS", b"a1 OK go\r\n")))):
            def serve(sock, number, talk=talk):
                lines = sock.makefile("rb", buffering=0)
                for expected, answer in talk:
                    if expected and not lines.readline().startswith(expected):
                        return
                    sock.sendall(answer)
                self.relay(sock, server.port)

            port = self.backend(serve).port
            report, _ = self.probe(port, "--starttls", protocol)
            self.assertEqual(self.groups(report)[0], "X25519MLKEM768", protocol)
            self.assertIsNone(report["http"]["quic"]["accepted"]["result"])
        refusing = self.backend(lambda sock, n: (sock.sendall(b"220 test\r\n"), sock.recv(100),
                                                 sock.sendall(b"250 no TLS here\r\n"), sock.recv(9)))
        _, errors = self.probe(refusing.port, "--starttls", "smtp", code=2)
        self.assertIn("offers no STARTTLS", errors)

    def relay(self, sock, port):
        with socket.create_connection(("127.0.0.1", port)) as server:
            while True:
                ready, _, _ = select.select([sock, server], [], [], harness.WAIT)
                for s in ready:
                    data = s.recv(65536)
                    if not data:
                        return
                    (server if s is sock else sock).sendall(data)

    # ---- the command line ----

    def test_wrong_arguments(self):
        for args in ([], ["host:0"], ["https://a.test/"], ["a.test", "--starttls", "ftp"],
                     ["a.test", "--fail-below", "Z"], ["a.test", "--ca-file", "/nowhere.pem"]):
            done = harness.run(harness.PQEDGE, "probe", *args)
            self.assertEqual(done.returncode, 2, args)
            self.assertTrue(done.stderr.startswith(b"pqedge probe: "), done.stderr)
            self.assertEqual(done.stdout, b"")

    def test_the_rules_are_documented(self):
        printed = harness.run(harness.PQEDGE, "probe", "--rules").stdout.decode()
        recipe = (harness.SOURCE / "docs/recipes/probe.md").read_text()
        self.assertIn(printed, recipe)


if __name__ == "__main__":
    harness.main()
