"""Signed certificate timestamps (T10): openssl's client checks what is sent; a small log takes
submissions."""
# ctest: timeout=120

import json
import re

import harness
import revocation


class Transparency(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.authority = revocation.Authority(self.directory)
        self.logs = [revocation.Log(), revocation.Log()]
        self.list_file = self.directory / "log_list.json"
        self.list_file.write_text(revocation.log_list(*self.logs))
        self.openssl_logs = self.directory / "logs.cnf"
        self.openssl_logs.write_text(revocation.openssl_log_list(*self.logs))
        self.origin = self.echo()
        self.toml = harness.pool(self.origin.address) + harness.route()

    def verdicts(self, edge, host, *args):
        """What openssl says of each timestamp that it got, and all that it wrote."""
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{edge.port}", "-servername",
                           host, "-CAfile", self.authority.file, "-ct", "-ctlogfile",
                           self.openssl_logs, *args, input=b"")
        text = done.stdout.decode("latin-1")
        return sorted(re.findall(r"SCT validation status: (.*)", text)), text

    def reports(self, edge, issued):
        _, text = edge.control_request("/status", "GET")
        return next(e["timestamps"] for e in json.loads(text)["stapling"]
                    if e["certificate"] == str(issued.chain))

    def test_timestamps_of_a_file_and_in_the_certificate(self):
        plain = self.authority.issue("file.test")
        sctl = self.directory / "file.sctl"
        stranger = revocation.Log()
        sctl.write_bytes(revocation.sct_list([log.of_certificate(plain.certificate)
                                             for log in (*self.logs, stranger)]))
        embedded = self.authority.issue("embedded.test", log=self.logs[0])
        edge = self.edge(self.toml + f'[tls]\nct_log_list = "{self.list_file}"\nmin_version = "1.2"\n'
                         + plain.toml(sct_file=sctl) + embedded.toml())
        for version in ("-tls1_2", "-tls1_3"):
            found, text = self.verdicts(edge, "file.test", version)
            self.assertEqual(found, ["unknown log", "valid", "valid"], text)
            found, text = self.verdicts(edge, "embedded.test", version)
            self.assertEqual(found, ["valid"], text)
        self.assertEqual(edge.metric("pqedge_tls_timestamps_sent_total"), 2)
        # Over QUIC, and to clients that do not ask, nothing changes.
        for http in harness.ALL_VERSIONS:
            self.assertEqual(edge.get("/", "--cacert", self.authority.file, http=http,
                                      host="file.test")[0], 200)
        self.assertEqual(self.reports(edge, plain), [
            {"source": "file", "count": 3, "good": 2, "unknown": 1,
             "logs": ["Test log 0", "Test log 1"], "problems": []}])
        self.assertEqual(self.reports(edge, embedded), [
            {"source": "certificate", "count": 1, "good": 1, "unknown": 0, "logs": ["Test log 0"],
             "problems": []}])
        self.assertNotIn(" ct: ", edge.log())

    def test_what_is_wrong_is_said(self):
        plain, other = self.authority.issue("file.test"), self.authority.issue("other.test")
        sctl = self.directory / "file.sctl"
        # A good timestamp, of another certificate.
        sctl.write_bytes(revocation.sct_list([self.logs[0].of_certificate(other.certificate)]))
        edge = self.edge(self.toml + f'[tls]\nct_log_list = "{self.list_file}"\n'
                         + plain.toml(sct_file=sctl))
        harness.wait_for(lambda: "timestamp 1 of Test log 0 has a wrong signature (file)"
                         in edge.log(), "the warning")
        found, text = self.verdicts(edge, "file.test")
        self.assertEqual(found, ["invalid"], text)
        edge.stop()
        bad = self.directory / "bad.sctl"
        for data, said in ((b"", "length"), (b"\0\0", "empty"), (sctl.read_bytes()[:-1], "length"),
                           (sctl.read_bytes() + b"x", "length"), (b"\0\3\0\1\0", "cut short")):
            bad.write_bytes(data)
            code, text = revocation.check(self.directory, self.toml + plain.toml(sct_file=bad))
            self.assertEqual(code, 1)
            self.assertIn("bad.sctl", text)
            self.assertIn(said, text)

    def test_submission(self):
        log, lying = revocation.Log(), revocation.Log()
        answers = {"log": log.add_chain, "lying": revocation.Log().add_chain,
                   "garbage": lambda body: b"<html>", "down": None}

        def respond(method, path, body):
            what = answers[path.split("/")[1]]
            return (200, {}, what(body)) if what else (503, {}, b"")

        server = revocation.WebServer(respond)
        self.addCleanup(server.stop)
        logs = {"log": log, "lying": lying, "garbage": revocation.Log(), "down": revocation.Log()}
        for where, one in logs.items():
            one.url = f"{server.url}/{where}/"
        self.list_file.write_text(revocation.log_list(*logs.values()))
        self.openssl_logs.write_text(revocation.openssl_log_list(*logs.values()))
        cache = self.directory / "ct"
        cache.mkdir()
        plain = self.authority.issue("plain.test")
        embedded = self.authority.issue("embedded.test", log=log)
        urls = json.dumps([l.url for l in logs.values()])
        toml = (self.toml + f'[tls]\nct_log_list = "{self.list_file}"\nct_submit = {urls}\n'
                f'ct_cache_dir = "{cache}"\nocsp_retry = "1s"\n' + plain.toml() + embedded.toml())
        edge = self.edge(toml)
        harness.wait_for(lambda: self.verdicts(edge, "plain.test")[0] == ["valid"],
                         "the timestamp")
        for said in ("no timestamp of Test log 1: the timestamp is of a log that is not in",
                     "no timestamp of Test log 2: its answer is no JSON object",
                     "no timestamp of Test log 3: HTTP status 503"):
            harness.wait_for(lambda: said in edge.log(), said)
        # What has timestamps is not sent, nor what an unknown authority issued: the edge's own.
        chains = {json.loads(body)["chain"][0] for _, path, body in server.requests
                  if path == "/log/ct/v1/add-chain"}
        self.assertEqual(len(chains), 1)
        self.assertEqual(self.verdicts(edge, "embedded.test")[0], ["valid"])
        edge.stop()
        # A restart has it at once, and asks only those who have not answered.
        before = [path for _, path, _ in server.requests].count("/log/ct/v1/add-chain")
        edge = self.edge(toml)
        harness.wait_for(lambda: self.verdicts(edge, "plain.test")[0] == ["valid"],
                         "the timestamp after the restart")
        harness.wait_for(lambda: "Test log 3: HTTP status 503" in edge.log(), "the other questions")
        self.assertEqual([path for _, path, _ in server.requests].count("/log/ct/v1/add-chain"), before)

    def test_the_recipe(self):
        issued = self.authority.issue("www.test")
        sctl = self.directory / "www.sctl"
        sctl.write_bytes(revocation.sct_list([self.logs[0].of_certificate(issued.certificate)]))
        self.logs[0].url = "https://ct.example.com/2026/"
        self.list_file.write_text(revocation.log_list(*self.logs))
        cache = self.directory / "ct"
        cache.mkdir()
        check, send, get = revocation.recipe("certificate-transparency", {
            "/etc/pqedge/log_list.json": self.list_file, "/var/lib/pqedge/ct": cache,
            "www.pem": issued.chain, "www.key": issued.key, "www.sctl": sctl})
        edge = self.edge(self.toml + check + send)
        self.assertEqual(self.verdicts(edge, "www.test")[0], ["valid"])
        edge.write_config(self.toml + get)
        self.assertEqual(edge.reload()[0], 200, edge.log())

    def test_settings_are_checked(self):
        issued = self.authority.issue("a.test").toml()
        for setting, said in (
                ('ct_log_list = "nowhere.json"', "cannot open"),
                (f'ct_log_list = "{self.authority.file}"', "not a JSON object"),
                ('ct_submit = ["https://log.test/"]', "needs ct_log_list"),
                (f'ct_log_list = "{self.list_file}"\nct_submit = ["https://log.test/"]',
                 "the URL of no log"),
                (f'ct_log_list = "{self.list_file}"\nct_submit = ["log.test"]', "is not a URL"),
                (f'ct_cache_dir = "{self.directory}"', "has no effect without ct_submit")):
            with self.subTest(setting):
                code, text = revocation.check(self.directory,
                                              self.toml + issued + f"[tls]\n{setting}\n")
                self.assertEqual(code, 1)
                self.assertIn(said, text)


if __name__ == "__main__":
    harness.main()
