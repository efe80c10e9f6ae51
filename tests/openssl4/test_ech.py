"""Encrypted Client Hello (RFC 9849, T14) with OpenSSL 4's own client, over TCP and QUIC.

Run by `make test-ech`: PQEDGE_BIN is a pqedge built against build/openssl4.
"""

import base64
import os
import pathlib
import re
import socket
import threading

import harness

OPENSSL4 = pathlib.Path(os.environ.get("OPENSSL4", harness.SOURCE / "build" / "openssl4"))
S_CLIENT = OPENSSL4 / "bin" / "openssl"
INNER = "inner.test"
COVER = "cover.test"


class Relay:
    """Passes TCP on and keeps what the client sent."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.target = port
        self.sent = b""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.target))
        back = threading.Thread(target=self._pump, args=(server, client, False), daemon=True)
        back.start()
        self._pump(client, server, True)
        back.join(harness.WAIT)

    def _pump(self, source, sink, keep):
        try:
            while data := source.recv(65536):
                if keep:
                    self.sent += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


class Ech(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.cover = harness.Certificate(self.directory, (COVER,), stem="cover")
        self.inner = harness.Certificate(self.directory, (INNER,), stem="inner")
        self.key = self.make_key("one")

    def make_key(self, stem, public_name=COVER):
        path = self.directory / f"{stem}.ech"
        done = harness.run(harness.PQEDGE, "ech-keys", "generate", "--public-name", public_name,
                           "--out", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def configs(self, key):
        """The ECHConfigList that the DNS record has, in base64."""
        done = harness.run(harness.PQEDGE, "ech-keys", "show", key, "--host", INNER)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.search(r'ech="(.*)"', done.stdout.decode()).group(1)

    def id_of(self, key):
        done = harness.run(harness.PQEDGE, "ech-keys", "show", key)
        return int(re.search(r": ID (\d+),", done.stdout.decode()).group(1))

    def toml(self, *keys, extra=""):
        text = harness.pool(self.origin.address) + harness.route() + extra
        for c in (self.cover, self.inner):
            text += f'[[certificate]]\nchain = "{c.chain}"\nkey = "{c.key}"\n'
        if keys:
            names = ", ".join(f'"{key}"' for key in keys)
            text += f'[tls.ech]\nkeys = [{names}]\npublic_name = "{COVER}"\n'
        return text

    def client(self, edge, *args, name=INNER, quic=False, ca=None, port=None):
        """What s_client prints."""
        kind = ["-quic", "-alpn", "h3"] if quic else ["-alpn", "http/1.1", "-ign_eof"]
        request = f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()
        done = harness.run(S_CLIENT, "s_client", "-connect", f"127.0.0.1:{port or edge.port}",
                           "-servername", name, "-CAfile", ca or self.inner.chain, *kind, *args,
                           input=b"Q\n" if quic else request)
        return (done.stdout + done.stderr).decode("latin-1")

    def assert_accepted(self, text):
        """As the client sees it: the server proved that it read the inner hello (RFC 9849 7.2)."""
        for line in ("ECH: success: 1", f"ECH: inner: {INNER}", f"ECH: outer: {COVER}",
                     f"subject=CN={INNER}", "Verify return code: 0"):
            self.assertIn(line, text)

    def ech_count(self, edge, result):
        return edge.metric(f'pqedge_tls_ech_total{{result="{result}"}}')

    def test_openssl_reads_our_keys(self):
        done = harness.run(S_CLIENT, "ech", "-in", self.key, "-text")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (done.stdout + done.stderr).decode()
        self.assertIn(f"public_name: {COVER}", text)
        self.assertIn("(has private key)", text)

    def test_the_inner_name_decides_over_tcp(self):
        edge = self.edge(self.toml(self.key))
        relay = Relay(edge.port)
        self.addCleanup(relay.close)
        text = self.client(edge, "-ech_config_list", self.configs(self.key), port=relay.port)
        self.assertIn("HTTP/1.1 200 OK", text)
        self.assert_accepted(text)
        record = edge.wait_access(1)[0]
        self.assertEqual((record["sni"], record["ech"], record["outer_sni"]), (INNER, "accepted", COVER))
        self.assertEqual(self.ech_count(edge, "accepted"), 1)
        # What could be read on the way.
        self.assertIn(COVER.encode(), relay.sent)
        self.assertNotIn(INNER.encode(), relay.sent)

    def test_the_inner_name_decides_over_quic(self):
        edge = self.edge(self.toml(self.key))
        text = self.client(edge, "-ech_config_list", self.configs(self.key), quic=True)
        self.assert_accepted(text)
        self.assertIn("Protocol: QUICv1", text)
        self.assertEqual(self.ech_count(edge, "accepted"), 1)
        self.assertEqual(edge.metric('pqedge_tls_handshakes_total{group="X25519MLKEM768",transport="quic"'), 1)

    def test_after_a_hello_retry_request(self):
        # Over TCP alone: OpenSSL 4.0.3's QUIC client makes no second encrypted hello (its own
        # "custom_ext_add:internal error").
        edge = self.edge(self.toml(self.key))
        text = self.client(edge, "-ech_config_list", self.configs(self.key), "-groups",
                           "*X25519:X25519MLKEM768")
        self.assert_accepted(text)
        self.assertIn("HTTP/1.1 200 OK", text)
        record = edge.wait_access(1)[0]
        self.assertEqual((record["sni"], record["ech"], record["outer_sni"], record["hello_retry"]),
                         (INNER, "accepted", COVER, True))
        self.assertEqual(self.ech_count(edge, "accepted"), 1)

    def test_a_key_that_is_gone_gets_the_outer_name_and_the_new_key(self):
        new = self.make_key("two")
        edge = self.edge(self.toml(new))
        for quic in (False, True):
            text = self.client(edge, "-ech_config_list", self.configs(self.key), ca=self.cover.chain,
                               quic=quic)
            # The certificate of the public name, by which the client trusts the retry_configs.
            self.assertIn(f"subject=CN={COVER}", text)
            self.assertIn(f"Verified peername: {COVER}", text)
            self.assertIn("ech required", text)
            self.assertNotIn("HTTP/1.1 200", text)
            self.assertIn("ECH: Got 1 retry-configs", text)
            listed = re.search(r"\[fe0d,([0-9a-f]{2}),cover\.test,", text).group(1)
            self.assertEqual(int(listed, 16), self.id_of(new))
        harness.wait_for(lambda: self.ech_count(edge, "refused") == 2, "the counter")
        # What is given back is the newest key: with it the next handshake succeeds.
        text = self.client(edge, "-ech_config_list", self.configs(new))
        self.assertIn("HTTP/1.1 200 OK", text)

    def test_old_and_new_keys_open_hellos_and_a_reload_changes_them(self):
        new = self.make_key("two")
        edge = self.edge(self.toml(new, self.key))
        for key in (self.key, new):
            text = self.client(edge, "-ech_config_list", self.configs(key))
            self.assertIn("HTTP/1.1 200 OK", text)
        edge.write_config(self.toml(new))
        self.assertEqual(edge.reload()[0], 200)
        self.assertNotIn("HTTP/1.1 200", self.client(edge, "-ech_config_list", self.configs(self.key),
                                                     ca=self.cover.chain))
        self.assertIn("HTTP/1.1 200 OK", self.client(edge, "-ech_config_list", self.configs(new)))

    def test_grease_is_served_as_if_it_were_not_there(self):
        edge = self.edge(self.toml(self.key))
        for quic in (False, True):
            text = self.client(edge, "-ech_grease", quic=quic)
            self.assertIn(f"subject=CN={INNER}", text)
            self.assertIn("Verify return code: 0", text)
        record = edge.wait_access(1)[0]
        self.assertEqual((record["sni"], record["ech"]), (INNER, "refused"))
        self.assertNotIn("outer_sni", record)

    def test_who_knows_nothing_of_it_is_served(self):
        edge = self.edge(self.toml(self.key))
        self.assertIn("HTTP/1.1 200 OK", self.client(edge))
        for http in harness.ALL_VERSIONS:
            done = edge.curl("/", "-k", "-o", "/dev/null", "-w", "%{http_code}", http=http)
            self.assertEqual(done.stdout, b"200", done.stderr)
        self.assertNotIn("ech", edge.wait_access(4)[0])

    def test_without_the_setting_an_encrypted_hello_is_ignored(self):
        edge = self.edge(self.toml())
        text = self.client(edge, "-ech_grease")
        self.assertIn("HTTP/1.1 200 OK", text)
        self.assertNotIn("ech", edge.wait_access(1)[0])

    def test_a_policy_of_a_host_is_that_of_the_inner_name(self):
        policy = (f'[[tls_policy]]\nname = "strict"\nhosts = ["{INNER}"]\n'
                  'classical_clients = "refuse"\n')
        edge = self.edge(self.toml(self.key, extra=policy))
        text = self.client(edge, "-ech_config_list", self.configs(self.key), "-groups", "X25519")
        self.assertIn("insufficient security", text)
        text = self.client(edge, "-groups", "X25519", name=COVER, ca=self.cover.chain)
        self.assertIn("HTTP/1.1 200 OK", text)

    def test_the_group_of_openssl_4(self):
        # T2: curveSM2MLKEM768 is in this library and not in 3.5.
        edge = self.edge(self.toml(extra='[tls]\ngroups = ["curveSM2MLKEM768", "X25519MLKEM768"]\n'))
        text = self.client(edge, "-groups", "curveSM2MLKEM768")
        self.assertIn("HTTP/1.1 200 OK", text)
        self.assertEqual(edge.wait_access(1)[0]["group"], "curveSM2MLKEM768")

    def test_wrong_files_are_refused(self):
        other = self.make_key("other", "other.test")
        open_key = self.directory / "open.ech"
        open_key.write_bytes(self.key.read_bytes())
        open_key.chmod(0o644)
        told = self.directory / "told.ech"
        told.write_text("-----BEGIN ECHCONFIG-----\n" + self.configs(self.key) +
                        "\n-----END ECHCONFIG-----\n")
        told.chmod(0o600)
        twin = self.directory / "twin.ech"
        twin.write_bytes(self.key.read_bytes())
        twin.chmod(0o600)
        for keys, words in (((other,), 'is for the public name "other.test", not "cover.test"'),
                            ((open_key,), "mode 0644 lets others read the private key"),
                            ((told,), "has no private key"),
                            ((self.key, twin), "has the configuration ID"),
                            ((self.directory / "none.ech",), "cannot open"),
                            ((self.inner.chain,), "ECHCONFIG")):
            with self.subTest(words=words):
                os.chmod(self.inner.chain, 0o600)
                edge = self.edge(self.toml(*keys), wait=False)
                self.assertEqual(edge.process.wait(harness.WAIT), 1, edge.log())
                self.assertRegex(edge.log(), r"edge\.toml:\d+:\d+: tls\.ech\.keys\[\d\]: ")
                self.assertIn(words, edge.log())

    def test_a_public_name_without_a_certificate_is_told(self):
        key = self.make_key("three", "nowhere.example")
        toml = self.toml(key).replace(f'public_name = "{COVER}"', 'public_name = "nowhere.example"')
        edge = self.edge(toml)
        harness.wait_for(lambda: "nowhere.example\\\" is in no certificate" in edge.log()
                         or '"nowhere.example" is in no certificate' in edge.log(), "the warning")

    def test_the_record_is_what_the_client_takes(self):
        raw = base64.b64decode(self.configs(self.key))
        self.assertEqual(int.from_bytes(raw[:2], "big"), len(raw) - 2)
        self.assertEqual(raw[2:4], b"\xfe\x0d")


if __name__ == "__main__":
    harness.main()
