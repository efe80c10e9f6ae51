"""testssl.sh, with a CA of its own, finds nothing above "low" (T1 to T5). What remains is named here,
with why; a finding that is not named fails the test."""
# ctest: timeout=6300

import json
import os
import shutil

import harness
from authority import Authority

# Findings of severity LOW, WARN: id -> why they stay.
KNOWN = {
    "cert_commonName_wo_SNI": "who sends no name gets the first certificate, which is another's",
    "DNS_CAArecord": "a record of the zone, which a test name does not have",
    "cert_mustStapleExtension": "the CA's to set",
    "certificate_transparency": "a private CA logs nowhere",
    "cert_chain_of_trust": "of stores other than the one given with --add-ca",
    "optimal_proto": "its own hello lists ML-KEM groups without a share of one; it does not get through the "
                     "HelloRetryRequest for it (RFC 8446 4.1.4), and goes on with openssl",
    "TLS1_3": "likewise; that TLS 1.3 is there is seen with openssl",
    "NPN": "of TLS 1.2 and before: it is not looked for where there is TLS 1.3 alone",
}
# What is a site's to say, and not the edge's: here its owner has said it.
SITE = """response_headers = [
  { set = "Strict-Transport-Security", value = "max-age=31536000; includeSubDomains" },
  { set = "X-Frame-Options", value = "DENY" },
  { set = "X-Content-Type-Options", value = "nosniff" },
  { set = "Content-Security-Policy", value = "default-src 'self'; frame-ancestors 'none'" },
  { set = "Referrer-Policy", value = "no-referrer" },
]
"""
SERIOUS = ("MEDIUM", "HIGH", "CRITICAL", "FATAL")


class Testssl(harness.TestCase):
    def scan(self, tls=""):
        program = shutil.which("testssl") or shutil.which("testssl.sh")
        if program is None:
            self.skipTest("testssl.sh is not installed")
        authority = Authority(self.directory)
        # As public authorities issue them: a serial number that nobody guesses, and where it can be
        # seen whether the certificate was revoked.
        pair = authority.issue("leaf", days=80, serial=int.from_bytes(b"\x4a" + os.urandom(15)),
                               extensions=["crlDistributionPoints=URI:http://crl.example/ca.crl"])
        origin = self.echo()
        port = harness.free_port()
        self.edge(f'[[listener]]\naddress = "127.0.0.1:{port}"\n' + pair.toml() + tls
                  + harness.pool(origin.address) + harness.route() + SITE, listener=False)
        report = self.directory / "report.json"
        done = harness.run(program, "--quiet", "--warnings", "off", "--color", "0", "--nodns", "none",
                           "--add-ca", authority.chain, "--ip", "127.0.0.1", "--jsonfile", report,
                           f"localhost:{port}", timeout=3000)
        self.assertTrue(report.exists(), done.stdout.decode()[-2000:] + done.stderr.decode()[-2000:])
        told = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", "localhost",
                           "-CAfile", authority.chain, "-tls1_3", input=b"").stdout
        self.assertIn(b"New, TLSv1.3", told)
        self.assertIn(b"Verify return code: 0 (ok)", told)
        return json.loads(report.read_text()), done.stdout.decode()

    def judge(self, findings):
        seen = {f["id"]: f for f in findings}
        for f in findings:
            if f["severity"] in (*SERIOUS, "LOW", "WARN"):
                print(f"{f['severity']:8} {f['id']:28} {f['finding']}")
        serious = [f for f in findings if f["severity"] in SERIOUS]
        unknown = [f for f in findings if f["severity"] in ("LOW", "WARN") and f["id"] not in KNOWN]
        self.assertEqual((serious, unknown), ([], []))
        return seen

    def test_the_default(self):
        findings, text = self.scan()
        seen = self.judge(findings)
        for old in ("SSLv2", "SSLv3", "TLS1", "TLS1_1", "TLS1_2"):
            self.assertIn("not offered", seen[old]["finding"], text)

    def test_with_tls_1_2(self):
        seen = self.judge(self.scan('[tls]\nmin_version = "1.2"\n')[0])
        self.assertIn("offered", seen["TLS1_2"]["finding"])


if __name__ == "__main__":
    harness.main()
