"""What a backend sees, and what a client gets back, over every version (P20, R5, S8)."""

import json
import re

import harness


def head_lines(text):
    lines = text.decode("latin-1").split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name:
            fields.setdefault(name.lower(), []).append(value.strip())
    return lines[0], fields


class Forwarding(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route())

    def seen(self, *args, http="2", path="/x"):
        status, fields, body = self.proxy.get(path, *args, http=http)
        self.assertEqual(status, 200, body)
        head, _ = self.origin.requests[-1]
        line, seen = head_lines(head)
        return line, seen, fields

    def test_get_without_body_has_no_body_framing(self):
        # RFC 9110 8.6, RFC 9112 6: nothing suggests a body, whatever version the request came by.
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                line, seen, _ = self.seen(http=http)
                self.assertEqual(line, "GET /x HTTP/1.1")
                self.assertNotIn("content-length", seen)
                self.assertNotIn("transfer-encoding", seen)

    def test_host_is_the_authority(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                _, seen, _ = self.seen(http=http)
                self.assertEqual(seen["host"], [f"localhost:{self.proxy.port}"])

    def test_identity_fields(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                _, seen, _ = self.seen("-H", "X-Forwarded-For: 6.6.6.6", "-H", "X-Real-IP: 6.6.6.6",
                                       "-H", "Forwarded: for=6.6.6.6", http=http)
                self.assertEqual(seen["x-forwarded-for"], ["127.0.0.1"])
                self.assertEqual(seen["x-forwarded-proto"], ["https"])
                self.assertEqual(seen["x-real-ip"], ["127.0.0.1"])
                self.assertEqual(len(seen["forwarded"]), 1)
                self.assertIn("for=127.0.0.1", seen["forwarded"][0])
                self.assertNotIn("6.6.6.6", json.dumps(seen))

    def test_connection_options_act_on_the_clients_own_fields_only(self):
        # K38 (CVE-2024-45410): RFC 9110 7.6.1.
        _, seen, _ = self.seen("-H", "Connection: X-Forwarded-For, X-Real-IP, Forwarded, X-Secret",
                               "-H", "X-Secret: 1", http="1.1")
        self.assertEqual(seen["x-forwarded-for"], ["127.0.0.1"])
        self.assertEqual(seen["x-real-ip"], ["127.0.0.1"])
        self.assertIn("forwarded", seen)
        self.assertNotIn("x-secret", seen)

    def test_hop_by_hop_fields_do_not_cross(self):
        _, seen, _ = self.seen("-H", "Connection: keep-alive", "-H", "Keep-Alive: timeout=5", "-H",
                               "Proxy-Connection: keep-alive", "-H", "TE: gzip", "-H",
                               "Upgrade: foo", http="1.1")
        for name in ("keep-alive", "proxy-connection", "upgrade", "te"):
            self.assertNotIn(name, seen)

    def test_via_and_request_id(self):
        for http, protocol in (("1.1", "1.1"), ("2", "2"), ("3", "3")):
            with self.subTest(http=http):
                _, seen, fields = self.seen(http=http)
                self.assertRegex(seen["via"][0], rf"^{re.escape(protocol)}(\.0)? pqedge$")
                self.assertRegex(seen["x-request-id"][0], r"^[0-9a-f-]{32,36}$")
                self.assertIn("via", fields)
                self.assertIn("date", fields)
                record = self.proxy.wait_access(
                    1, lambda r: r["request_id"] == seen["x-request-id"][0])[0]
                self.assertEqual(record["status"], 200)

    def test_target_goes_as_it_came(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                line, _, _ = self.seen("--path-as-is", http=http, path="/a%2Fb/%7Euser//x?q=%41&q")
                self.assertEqual(line, "GET /a%2Fb/%7Euser//x?q=%41&q HTTP/1.1")

    def test_cookies_arrive_as_one_field(self):
        # RFC 9113 8.2.3, RFC 9114 4.2.1.
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                _, seen, _ = self.seen("-b", "a=1; b=2; c=3", http=http)
                self.assertEqual(seen["cookie"], ["a=1; b=2; c=3"])

    def test_alt_svc_names_the_bound_port(self):
        _, _, fields = self.seen(http="2")
        self.assertEqual(fields["alt-svc"], [f'h3=":{self.proxy.port}"; ma=86400'])

    def test_head_has_the_length_and_no_body(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                status, fields, body = self.proxy.get("/x", "-I", http=http)
                self.assertEqual((status, len(self.origin.requests) > 0), (200, True))
                self.assertEqual(len(fields["content-length"]), 1)
                self.assertNotIn("transfer-encoding", fields)

    def test_post_with_body(self):
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                _, seen, _ = self.seen("-d", "hello=world", http=http)
                self.assertEqual(seen["content-length"], ["11"])
                self.assertEqual(self.origin.requests[-1][1], b"hello=world")

    def test_access_log_has_the_connection(self):
        for http, name in (("1.1", "HTTP/1.1"), ("2", "HTTP/2"), ("3", "HTTP/3")):
            with self.subTest(http=http):
                self.proxy.get(f"/log{http}", "-A", "tester/1", http=http)
                r = self.proxy.wait_access(1, lambda r: r["path"] == f"/log{http}")[0]
                self.assertEqual(r["http_version"], name)
                self.assertEqual(r["tls_version"], "TLSv1.3")
                self.assertEqual(r["group"], "X25519MLKEM768")
                self.assertTrue(r["cipher"].startswith("TLS_"))
                self.assertEqual(r["sni"], "localhost")
                self.assertEqual(r["backend"], self.origin.address)
                self.assertEqual(r["user_agent"], "tester/1")
                self.assertEqual(r["method"], "GET")
                self.assertGreater(r["bytes_out"], 0)
                self.assertGreaterEqual(r["duration_ms"], r["first_byte_ms"])


if __name__ == "__main__":
    harness.main()
