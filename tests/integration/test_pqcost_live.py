"""pqcost live against servers that no one here wrote, and against peers that misbehave (M18).

What it reads on the wire is held against the servers' own logs and against tshark.
"""
# ctest: timeout=180

import json
import os
import pathlib
import shutil
import socket
import ssl
import struct

import capture
import harness

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")
HYBRID = "X25519MLKEM768"


class Live(harness.TestCase):
    def live(self, *arguments, status=0):
        done = harness.run(PQCOST, "live", "--format", "json", *arguments)
        self.assertEqual(done.returncode, status, done.stderr.decode() + done.stdout.decode())
        record = json.loads(done.stdout) if done.stdout else None
        if record:
            self.assertEqual(record["schema"], "pqcost-record/1")
        return record, done.stderr.decode()

    def one(self, *arguments):
        record, _ = self.live(*arguments)
        self.assertEqual(len(record["live"]), 1)
        seen = record["live"][0]
        self.assertEqual(seen["outcome"], "handshake")
        return seen

    def tls_nginx(self, curves=f"{HYBRID}:X25519", quic=True, algorithm="ec", extra=""):
        port = harness.free_port()
        certificate = harness.Certificate(self.directory, algorithm=algorithm)
        self.certificate = certificate
        self.log = self.directory / "tls.log"
        listen = f"listen 127.0.0.1:{port} ssl;"
        if quic:
            listen += f" listen 127.0.0.1:{port} quic;"
        nginx = self.nginx(http=f"""
            log_format facts '$ssl_curve $ssl_cipher $server_protocol';
            server {{
              {listen} http2 on; access_log {self.log} facts;
              ssl_protocols TLSv1.3; ssl_ecdh_curve {curves}; ssl_session_tickets off;
              ssl_certificate {certificate.chain}; ssl_certificate_key {certificate.key}; {extra}
            }}""")
        self.addCleanup(nginx.kill)
        return port

    def s_server(self, *arguments, algorithm="ec"):
        port = harness.free_port()
        certificate = harness.Certificate(self.directory, algorithm=algorithm)
        server = harness.Process(
            ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", certificate.chain,
             "-key", certificate.key, "-quiet", "-num_tickets", "0", *arguments],
            self.directory / "s_server.log")  # fmt: skip
        self.addCleanup(server.kill)
        harness.wait_for(lambda: self.listens(port), "s_server")
        return port

    def tls_haproxy(self, certificate):
        port = harness.free_port()
        pem = self.directory / "haproxy.pem"
        pem.write_bytes(certificate.chain.read_bytes() + certificate.key.read_bytes())
        configuration = self.directory / "haproxy.cfg"
        configuration.write_text(f"""
global
  ssl-default-bind-curves {HYBRID}:X25519
defaults
  mode http
  timeout client 5s
  timeout server 5s
  timeout connect 5s
frontend f
  bind 127.0.0.1:{port} ssl crt {pem} ssl-min-ver TLSv1.3
  http-request return status 200
""")
        haproxy = harness.Process(["haproxy", "-db", "-f", configuration],
                                  self.directory / "haproxy.log")
        self.addCleanup(haproxy.kill)
        harness.wait_for(lambda: self.listens(port), "haproxy")
        return port

    @staticmethod
    def listens(port):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    # ---- what is negotiated ----

    def test_hybrid_with_nginx(self):
        port = self.tls_nginx()
        seen = self.one(f"127.0.0.1:{port}", "--sni", "localhost")
        self.assertEqual((seen["group"], seen["group_code"]), (HYBRID, 0x11EC))
        self.assertFalse(seen["hello_retry_request"])
        # RFC 10024: 1,184 + 32 and 1,088 + 32. The ServerHello is 4 + 2 + 32 + 1 + 32 + 2 + 1 + 2
        # + 6 (supported_versions) + 8 + the share (RFC 8446 4.1.3).
        self.assertEqual(seen["sizes"]["key_share_client"], 1216)
        self.assertEqual(seen["sizes"]["key_share_server"], 1120)
        self.assertEqual(seen["sizes"]["server_hello"], 1210)
        self.assertEqual(seen["signature"], "ecdsa_secp256r1_sha256")
        self.assertEqual(seen["sizes"]["certificates"], 1)
        times = [seen["times_us"][name] for name in
                 ("connect", "client_hello_sent", "first_byte", "server_hello", "server_finished",
                  "finished")]
        self.assertEqual(times, sorted(times))
        self.assertTrue(seen["packets_known"])
        self.assertIn("TCP_INFO", seen["facts"]["packets"])
        self.assertGreater(seen["bytes"]["client_to_server"], seen["sizes"]["client_hello"] + 5)

    def test_a_retry_is_seen_and_both_hellos_counted(self):
        port = self.tls_nginx(curves="prime256v1")
        seen = self.one(f"127.0.0.1:{port}", "--groups", f"*{HYBRID}:P-256")
        self.assertTrue(seen["hello_retry_request"])
        self.assertEqual(seen["group"], "P-256")
        self.assertEqual(seen["sizes"]["key_share_client"], 65)
        self.assertEqual(seen["sizes"]["key_shares_client"], 1216)
        self.assertEqual(seen["sizes"]["key_shares_client_2"], 65)
        self.assertLess(seen["sizes"]["client_hello_2"], seen["sizes"]["client_hello"])
        self.assertEqual(seen["facts"]["retry_group"], "P-256")

    def test_quic_with_nginx_and_pqedge(self):
        origin = self.echo()
        edge = self.edge(harness.pool(origin.address) + harness.route())
        for port, name in ((self.tls_nginx(), "nginx"), (edge.port, "pqedge")):
            with self.subTest(server=name):
                seen = self.one(f"127.0.0.1:{port}", "--quic", "--sni", "localhost")
                self.assertEqual(seen["group"], HYBRID)
                # QUIC echoes no session ID (RFC 9001 8.4): 32 bytes less than over TCP.
                self.assertEqual(seen["sizes"]["server_hello"], 1178)
                # A hybrid hello takes two datagrams of 1,200 bytes.
                self.assertEqual(seen["sizes"]["client_datagrams"], 2)
                self.assertEqual(seen["facts"]["alpn"], "h3")
                classical = self.one(f"127.0.0.1:{port}", "--quic", "--groups", "X25519")
                self.assertEqual(classical["sizes"]["client_datagrams"], 1)
                self.assertEqual(classical["sizes"]["server_hello"], 90)

    def test_tls_with_pqedge_and_haproxy(self):
        origin = self.echo()
        edge = self.edge(harness.pool(origin.address) + harness.route())
        seen = self.one(f"127.0.0.1:{edge.port}", "--sni", "localhost", "--alpn", "h2,http/1.1")
        self.assertEqual((seen["group"], seen["facts"]["alpn"]), (HYBRID, "h2"))

        port = self.tls_haproxy(edge.certificate)
        seen = self.one(f"127.0.0.1:{port}")
        self.assertEqual((seen["group"], seen["sizes"]["server_hello"]), (HYBRID, 1210))

    def test_post_quantum_certificates_both_ways(self):
        client = harness.Certificate(self.directory, algorithm="ML-DSA-44", stem="client")
        port = self.s_server("-Verify", "1", algorithm="ML-DSA-65")
        seen = self.one(f"127.0.0.1:{port}", "--cert", client.chain, "--key", client.key)
        self.assertEqual(seen["signature"], "mldsa65")
        self.assertEqual(seen["sizes"]["signature"], 3309)  # FIPS 204 table 2
        self.assertEqual(seen["sizes"]["certificate_verify"], 4 + 4 + 3309)
        self.assertEqual(seen["facts"]["client_signature"], "mldsa44")
        self.assertEqual(seen["sizes"]["client_certificate_verify"], 4 + 4 + 2420)
        self.assertGreater(seen["sizes"]["client_certificate"], 1312 + 2420)

    def test_ssh_with_openssh(self):
        sshd = shutil.which("sshd") or "/usr/sbin/sshd"
        if not pathlib.Path(sshd).exists():
            self.skipTest("openssh-server is not installed")
        key = self.directory / "host_key"
        harness.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        port = harness.free_port()
        if os.geteuid() == 0:
            pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # its privilege separation asks for it
        server = harness.Process(
            [sshd, "-D", "-e", "-f", "/dev/null", "-h", key, "-p", str(port),
             "-o", "ListenAddress=127.0.0.1", "-o", "PidFile=none", "-o", "UsePAM=no"],
            self.directory / "sshd.log")  # fmt: skip
        self.addCleanup(server.kill)
        harness.wait_for(lambda: self.listens(port), "sshd")
        hybrid = self.one(f"127.0.0.1:{port}", "--ssh")
        self.assertEqual(hybrid["group"], "mlkem768x25519-sha256")
        self.assertEqual(hybrid["signature"], "ssh-ed25519")
        self.assertIn("yes", hybrid["facts"]["signature_verified"])
        # RFC 10042 and RFC 4253 6: 1,216 and 1,120 in packets of 1,232 and 1,280.
        self.assertEqual(hybrid["sizes"]["key_share_client"], 1216)
        self.assertEqual(hybrid["sizes"]["key_share_server"], 1120)
        self.assertEqual(hybrid["sizes"]["exchange_init_packet"], 1232)
        self.assertEqual(hybrid["sizes"]["exchange_reply_packet"], 1280)
        classical = self.one(f"127.0.0.1:{port}", "--ssh", "--groups", "curve25519-sha256")
        self.assertIn("yes", classical["facts"]["signature_verified"])
        self.assertEqual(classical["sizes"]["exchange_init_packet"], 48)
        self.assertEqual(classical["sizes"]["exchange_reply_packet"], 192)
        _, error = self.live(f"127.0.0.1:{port}", "--ssh", "--groups", "nothing-sha0", status=1)
        self.assertIn("it offers", error)
        self.assertIn("mlkem768x25519-sha256", error)

    # ---- tshark's opinion ----

    def test_tshark_agrees(self):
        if reason := capture.why_not():
            self.skipTest(reason)
        origin = self.echo()
        # With segmentation offload a capture on loopback shows several datagrams as one.
        edge = self.edge(harness.pool(origin.address) + harness.route() + "[quic]\ngso = false\n")
        nginx = self.tls_nginx()
        haproxy = self.tls_haproxy(edge.certificate)
        taken = capture.Capture(self.directory / "lo.pcap", (nginx, haproxy, edge.port))
        tls = {port: self.one(f"127.0.0.1:{port}", "--sni", "localhost")
               for port in (nginx, haproxy, edge.port)}
        quic = {port: self.one(f"127.0.0.1:{port}", "--quic", "--sni", "localhost")
                for port in (nginx, edge.port)}
        taken.stop()
        name = {nginx: "nginx", haproxy: "haproxy", edge.port: "pqedge"}
        decode = [f"tcp.port=={port},tls" for port in tls] + [f"udp.port=={p},quic" for p in quic]
        for kind, all_seen in (("tcp", tls), ("udp", quic)):
            for port, seen in all_seen.items():
                with self.subTest(kind=kind, server=name[port]):
                    groups = taken.fields(
                        f"{kind}.port=={port} && tls.handshake.type==2",
                        "tls.handshake.extensions_key_share_group", "tls.handshake.length",
                        decode=decode)
                    self.assertEqual(int(groups[0][0], 0), seen["group_code"])
                    self.assertEqual(int(groups[0][1].split(",")[0]) + 4,
                                     seen["sizes"]["server_hello"])
        for port, seen in tls.items():
            with self.subTest(bytes="tcp", server=name[port]):
                self.check_stream(taken, port, seen)
        for port, seen in quic.items():
            with self.subTest(bytes="udp", server=name[port]):
                self.check_datagrams(taken, port, seen)

    def check_stream(self, taken, port, seen):
        """After the client's Finished come its close_notify, a record of 5 + 3 + 16 bytes, and
        perhaps tickets and first frames of the server's."""
        sums = {}
        for source, size in taken.fields(f"tcp.port=={port} && tcp.len>0", "tcp.srcport", "tcp.len"):
            side = "server" if int(source) == port else "client"
            sums[side] = sums.get(side, 0) + int(size)
        self.assertEqual(sums["client"], seen["bytes"]["client_to_server"] + 24)
        self.assertIn(sums["server"] - seen["bytes"]["server_to_client"], range(0, 1500))

    def check_datagrams(self, taken, port, seen):
        """The first of each side, as many as were counted."""
        for way, side in (("client_to_server", "dst"), ("server_to_client", "src")):
            sizes = [int(row[0]) - 8 for row in
                     taken.fields(f"udp.{side}port=={port}", "udp.length")]
            count = seen["packets"][way]
            self.assertGreaterEqual(len(sizes), count)
            self.assertEqual(sum(sizes[:count]), seen["bytes"][way], way)

    # ---- what goes wrong ----

    def failed(self, *arguments):
        output = self.directory / "record.json"
        record, error = self.live("-o", output, *arguments, status=1)
        self.assertIsNone(record)
        self.assertFalse(output.exists())
        self.assertEqual(list(self.directory.glob("record.json*")), [])
        return error

    def test_a_refused_group_is_said(self):
        port = self.tls_nginx(curves="X25519")
        for transport in ((), ("--quic",)):
            error = self.failed(f"127.0.0.1:{port}", "--groups", HYBRID, *transport)
            self.assertIn("handshake_failure (40)", error)
            self.assertIn(HYBRID, error)

    def test_nobody_answers(self):
        port = harness.free_port()
        self.assertIn("refused", self.failed(f"127.0.0.1:{port}"))
        self.assertIn("refused", self.failed(f"127.0.0.1:{port}", "--ssh"))
        self.assertIn("unreachable", self.failed(f"127.0.0.1:{port}", "--quic"))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
            deaf.bind(("127.0.0.1", port))
            self.assertIn("no handshake within 300 ms",
                          self.failed(f"127.0.0.1:{port}", "--quic", "--timeout", "0.3"))
        self.assertIn("no address", self.failed("no-such-host.invalid"))

    def test_scripted_peers(self):
        half_hello = bytes.fromhex("160303004a020000460303") + bytes(20)

        def garbage(sock, _):
            sock.sendall(b"220 welcome to something else\r\n")
            sock.recv(100000)

        def closes(sock, _):
            sock.recv(100000)

        def mid(sock, _):
            sock.recv(100000)
            sock.sendall(half_hello)

        def stalls(sock, _):
            sock.recv(100000)
            sock.sendall(half_hello)
            sock.recv(100000)

        def resets(sock, _):
            sock.recv(10)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        def old(sock, _):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            certificate = harness.Certificate(self.directory, stem="old")
            context.load_cert_chain(certificate.chain, certificate.key)
            context.wrap_socket(sock, server_side=True)

        for serve, said in ((garbage, "does not speak TLS here; it sent \"220 welcome"),
                            (closes, "closed the connection before the server's first byte"),
                            (mid, "in mid-handshake"), (stalls, "no answer within 300 ms"),
                            (resets, "the connection broke"), (old, "protocol_version (70)")):
            with self.subTest(peer=serve.__name__):
                peer = self.backend(serve)
                self.assertIn(said, self.failed(peer.address, "--timeout",
                                                "0.3" if serve is stalls else "10"))
        for serve, said in ((garbage, "closed the connection"), (stalls, "no answer within")):
            with self.subTest(ssh_peer=serve.__name__):
                peer = self.backend(serve)
                self.assertIn(said, self.failed(peer.address, "--ssh", "--timeout", "0.3"))

    def test_bad_arguments(self):
        for arguments in (("host:0",), ("h", "--starttls", "ftp"), ("h", "--quic", "--ssh"),
                          ("h", "--cert", "x"), ("h", "--count", "0"), ("h", "--rate", "1000"),
                          ("https://h/",), ("h", "--ssh", "--sni", "x")):
            with self.subTest(arguments=arguments):
                done = harness.run(PQCOST, "live", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
        error = self.failed("127.0.0.1:9", "--groups", "X25518")
        self.assertIn("X25518", error)

    # ---- STARTTLS, count ----

    def test_starttls(self):
        certificate = harness.Certificate(self.directory)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.chain, certificate.key)
        context.num_tickets = 0

        def line(sock):
            data = b""
            while not data.endswith(b"\n"):
                data += sock.recv(1)
            return data

        def smtp(sock):
            sock.sendall(b"220-mail.test\r\n220 ESMTP\r\n")
            assert line(sock).startswith(b"EHLO ")
            sock.sendall(b"250-mail.test\r\n250-PIPELINING\r\n250 STARTTLS\r\n")
            assert line(sock) == b"STARTTLS\r\n"
            sock.sendall(b"220 go ahead\r\n")

        def imap(sock):
            sock.sendall(b"* OK ready\r\n")
            tag = line(sock).split()[0]
            sock.sendall(b"* a word\r\n" + tag + b" OK begin\r\n")

        def pop3(sock):
            sock.sendall(b"+OK ready\r\n")
            assert line(sock) == b"STLS\r\n"
            sock.sendall(b"+OK begin\r\n")

        def ldap(sock):
            request = sock.recv(31)
            assert b"1.3.6.1.4.1.1466.20037" in request and request[:2] == b"\x30\x1d"
            sock.sendall(bytes.fromhex("300c02010178070a010004000400"))

        def xmpp(sock):
            sock.recv(4096)
            sock.sendall(b"<?xml version='1.0'?><stream:stream xmlns:stream="
                         b"'http://etherx.jabber.org/streams'><stream:features><starttls xmlns="
                         b"'urn:ietf:params:xml:ns:xmpp-tls'/></stream:features>")
            assert b"<starttls" in sock.recv(4096)
            sock.sendall(b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")

        def postgres(sock):
            assert sock.recv(8) == bytes.fromhex("0000000804d2162f")
            sock.sendall(b"S")

        for talk in (smtp, imap, pop3, ldap, xmpp, postgres):
            with self.subTest(protocol=talk.__name__):
                def serve(sock, _, talk=talk):
                    talk(sock)
                    with context.wrap_socket(sock, server_side=True) as tls:
                        tls.recv(1)

                peer = self.backend(serve)
                seen = self.one(peer.address, "--starttls", talk.__name__)
                self.assertEqual(seen["group"], HYBRID)
                self.assertGreater(seen["sizes"]["starttls_received"], 0)

        def refuses(sock, _):
            sock.sendall(b"220 mail.test\r\n")
            line(sock)
            sock.sendall(b"250 mail.test\r\n")
            sock.recv(1)

        self.assertIn("offers no STARTTLS",
                      self.failed(self.backend(refuses).address, "--starttls", "smtp"))

    def test_several_are_paced_and_warned_of(self):
        port = self.tls_nginx(quic=False)
        record, warning = self.live(f"127.0.0.1:{port}", "--count", "3", "--rate", "10")
        self.assertEqual(len(record["live"]), 3)
        self.assertTrue(record["complete"])
        self.assertIn("3 handshakes at 10 a second", warning)

    def test_text_and_file(self):
        port = self.tls_nginx(quic=False)
        output = self.directory / "record.json"
        done = harness.run(PQCOST, "live", f"127.0.0.1:{port}", "-o", output)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(HYBRID.encode(), done.stdout)
        record = json.loads(output.read_text())
        self.assertEqual(record["live"][0]["group"], HYBRID)
        self.assertIn("congestion_control", record["environment"]["network"])


if __name__ == "__main__":
    harness.main()
