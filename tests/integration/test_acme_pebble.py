"""ACME with Debian's pebble, which refuses half of all nonces, and knot as the DNS (T9, P17)."""
# ctest: timeout=180

import concurrent.futures
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest
import urllib.request

import harness

SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cywgMzIgYnl0ZXMgbG9uZw=="
HMAC_KEY = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W"


class Knot(harness.Process):
    """A primary for "test.", where every name is 127.0.0.1; updates with the TSIG key "edge"."""

    def __init__(self, directory):
        self.port = harness.free_port()
        (directory / "zones").mkdir()
        (directory / "zones" / "test.zone").write_text(
            "$TTL 1\n@ SOA ns hostmaster 1 60 60 60 1\n@ NS ns\nns A 127.0.0.1\n* A 127.0.0.1\n"
            "*.dns A 127.0.0.1\n")
        conf = directory / "knot.conf"
        conf.write_text(f"""
server:
  rundir: {directory}/knot
  listen: 127.0.0.1@{self.port}
log:
  - target: stderr
    any: info
database:
  storage: {directory}/knot
key:
  - id: edge
    algorithm: hmac-sha256
    secret: {SECRET}
acl:
  - id: update
    key: edge
    action: update
zone:
  - domain: test
    storage: {directory}/zones
    file: test.zone
    acl: update
    zonefile-load: whole
    zonefile-sync: -1
    journal-content: none
""")
        (directory / "knot").mkdir()
        super().__init__([shutil.which("knotd") or "/usr/sbin/knotd", "-c", conf],
                         directory / "knot.log")
        harness.wait_for(self._answers, f"knot\n{self.log()}")

    def _answers(self):
        if not self.alive():
            raise AssertionError(f"knot ended at start:\n{self.log()}")
        return self.query("any.test", 1) == 0

    def query(self, name, kind):
        """RCODE of a query over UDP; None: no answer."""
        labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split("."))
        message = b"\x12\x34\x01\x00\x00\x01" + b"\0" * 6 + labels + b"\0" + \
            kind.to_bytes(2, "big") + b"\x00\x01"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(0.2)
            s.connect(("127.0.0.1", self.port))
            try:
                s.send(message)
                answer = s.recv(4096)
            except OSError:
                return None
        self.answers = int.from_bytes(answer[6:8], "big")
        return answer[3] & 15


class Pebble(harness.Process):
    def __init__(self, directory, knot, http_port, tls_port, name="pebble", **settings):
        self.port, self.management = harness.free_port(), harness.free_port()
        certificate = harness.Certificate(directory, stem=name)
        self.ca_file = certificate.chain
        config = directory / f"{name}.json"
        config.write_text(json.dumps({"pebble": {
            "listenAddress": f"127.0.0.1:{self.port}",
            "managementListenAddress": f"127.0.0.1:{self.management}",
            "certificate": str(certificate.chain), "privateKey": str(certificate.key),
            "httpPort": http_port, "tlsPort": tls_port, "ocspResponderURL": "",
            "retryAfter": {"authz": 1, "order": 1},
            "certificateValidityPeriod": 3600, **settings}}))
        super().__init__(
            ["pebble", "-strict", "-config", config, "-dnsserver", f"127.0.0.1:{knot.port}"],
            directory / f"{name}.log",
            env={**os.environ, "PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "50"})
        self.directory = f"https://localhost:{self.port}/dir"
        self.root = directory / f"{name}-root.pem"
        try:
            harness.wait_for(self._listens, "pebble to listen", 3 * harness.WAIT)
        except AssertionError:
            self.kill()
            raise

    def _listens(self):
        if not self.alive():
            raise AssertionError(f"pebble ended at start:\n{self.log()}")
        context = ssl.create_default_context(cafile=self.ca_file)
        try:
            with urllib.request.urlopen(f"https://localhost:{self.management}/roots/0",
                                        context=context) as answer:
                self.root.write_bytes(answer.read())
            return True
        except OSError:
            return False


class AcmePebble(harness.TestCase):
    """pebble makes a client wait for a second here and there: all edges are started at once, and
    each test waits for its own. One pebble looks at http-01 on one edge and tls-alpn-01 on another;
    a second wants accounts to be bound."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="pqedge-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.knot = Knot(cls.shared)
        cls.addClassCleanup(cls.knot.kill)
        cls.secret = cls.shared / "tsig.key"
        cls.secret.write_text(SECRET + "\n")
        wrong = cls.shared / "wrong.key"
        wrong.write_text("d3Jvbmc=\n")
        cls.hook_calls = cls.shared / "calls"
        cls.eab_key = cls.shared / "eab.key"
        cls.eab_key.write_text(HMAC_KEY + "\n")
        bound = {"externalAccountBindingRequired": True,
                 "externalAccountMACKeys": {"kid-1": HMAC_KEY}}
        scenarios = {
            "http": (["a.test", "www.a.test"], "http-01", ""),
            "alpn": (["b.test"], "tls-alpn-01", 'key_type = "rsa2048"'),
            "update": (["u.dns.test", "*.u.dns.test"], "dns-01", cls.update(cls.secret)),
            "wrong": (["w.dns.test"], "dns-01", cls.update(wrong)),
            "hook": (["h.dns.test"], "dns-01",
                     f'[acme.dns]\nhook = ["{cls.write_hook()}", "--zone=x y"]\n'),
            "unbound": (["e.test"], "http-01", ""),
            "bound": (["e.test"], "http-01",
                      f'eab_key_id = "kid-1"\neab_key_file = "{cls.eab_key}"'),
        }
        cls.ports = {name: (harness.free_port(), harness.free_port()) for name in scenarios}
        plain = Pebble(cls.shared, cls.knot, cls.ports["http"][0], cls.ports["alpn"][1])
        cls.addClassCleanup(plain.kill)
        strict = Pebble(cls.shared, cls.knot, cls.ports["bound"][0], 1, name="strict", **bound)
        cls.addClassCleanup(strict.kill)
        cls.pebbles = {name: strict if "bound" in name else plain for name in scenarios}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            cls.running = dict(zip(scenarios, pool.map(
                lambda item: cls.run_scenario(item[0], *item[1]), scenarios.items())))

    @classmethod
    def update(cls, secret):
        return (f'[acme.dns]\nserver = "127.0.0.1:{cls.knot.port}"\nzones = ["test"]\n'
                f'tsig_key = "edge"\ntsig_secret_file = "{secret}"\n')

    @classmethod
    def write_hook(cls):
        hook = cls.shared / "hook.sh"
        hook.write_text(f"""#!/bin/sh
echo "$1 $PQEDGE_ACME_ACTION $PQEDGE_ACME_NAME" >>{cls.hook_calls}
case $PQEDGE_ACME_ACTION in
  present) change="add $PQEDGE_ACME_RECORD. 1 TXT $PQEDGE_ACME_VALUE" ;;
  cleanup) change="del $PQEDGE_ACME_RECORD. TXT" ;;
esac
knsupdate <<END
server 127.0.0.1 {cls.knot.port}
key hmac-sha256:edge {SECRET}
zone test.
$change
send
END
""")
        hook.chmod(0o755)
        return hook

    @classmethod
    def run_scenario(cls, name, names, challenge, rest):
        directory = cls.shared / name
        directory.mkdir()
        (http_port, tls_port), pebble = cls.ports[name], cls.pebbles[name]
        edge = harness.Edge(directory, f"""
[[listener]]
name = "tls"
address = "127.0.0.1:{tls_port}"
[[listener]]
name = "http"
address = "127.0.0.1:{http_port}"
tls = false
redirect_to_https = true
[[certificate]]
names = {json.dumps(names)}
acme = true
[[route]]
name = "all"
status = 200
body = "hello"
[acme]
directory = "{pebble.directory}"
email = "admin@a.test"
accept_terms = true
storage = "{directory}/acme"
ca_file = "{pebble.ca_file}"
challenge = "{challenge}"
retry_min = "100ms"
retry_max = "1s"
{rest}
""", listener=False, workers=2)
        cls.addClassCleanup(edge.kill)
        edge.port, edge.root = tls_port, pebble.root
        return edge

    def issued(self, name):
        edge = self.running[name]
        try:
            harness.wait_for(lambda: edge.metric('pqedge_acme_orders_total{result="issued"') >= 1,
                             "a certificate")
        except AssertionError as e:
            raise AssertionError(f"{e}\n{edge.log()[-3000:]}") from None
        self.assertNotIn(SECRET, edge.log())
        self.assertNotIn(HMAC_KEY, edge.log())
        self.assertNotIn("PRIVATE", edge.log())
        return edge

    def fetch(self, edge, name, *args):
        done = harness.run("curl", "-sS", "--cacert", edge.root, "--resolve",
                           f"{name}:{edge.port}:127.0.0.1", *args, f"https://{name}:{edge.port}/")
        self.assertEqual(done.stdout, b"hello", done.stderr.decode())

    def test_http_01_before_any_redirect(self):
        edge = self.issued("http")
        self.fetch(edge, "a.test")
        self.fetch(edge, "www.a.test", "--http3-only")
        self.assertGreaterEqual(edge.metric("pqedge_acme_challenges_answered_total"), 2)

    def test_tls_alpn_01(self):
        edge = self.issued("alpn")
        self.fetch(edge, "b.test")
        # Without a challenge the protocol is not spoken (RFC 8737 3).
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}",
                           "-servername", "b.test", "-alpn", "acme-tls/1", stdin=subprocess.DEVNULL)
        self.assertIn(b"alert no application protocol", done.stderr + done.stdout)

    def test_dns_01_by_update(self):
        edge = self.issued("update")
        self.fetch(edge, "u.dns.test")
        self.fetch(edge, "deep.u.dns.test")
        # Both records are gone again.
        harness.wait_for(lambda: self.knot.query("_acme-challenge.u.dns.test", 16) is not None and
                         self.knot.answers == 0, "the records to go")

    def test_dns_01_by_update_with_a_wrong_secret(self):
        edge = self.running["wrong"]
        harness.wait_for(lambda: "BADSIG: the key's secret is another" in edge.log(), "BADSIG")

    def test_dns_01_by_hook(self):
        edge = self.issued("hook")
        self.fetch(edge, "h.dns.test")
        harness.wait_for(lambda: "cleanup" in self.hook_calls.read_text(), "the cleanup")
        lines = self.hook_calls.read_text().splitlines()
        self.assertEqual(lines[0], "--zone=x y present h.dns.test")
        self.assertEqual(lines[-1], "--zone=x y cleanup h.dns.test")

    def test_external_account_binding(self):
        edge = self.running["unbound"]
        harness.wait_for(lambda: "set acme.eab_key_id" in edge.log(), "what is missing")
        self.fetch(self.issued("bound"), "e.test")


if __name__ == "__main__":
    for program in ("pebble", "knotd", "knsupdate"):
        if shutil.which(program) is None and not os.path.exists(f"/usr/sbin/{program}"):
            print(f"skipped: {program} is missing")
            raise SystemExit(77)
    unittest.main(verbosity=2)
