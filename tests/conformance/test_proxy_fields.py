"""What a proxy leaves as it is, in all pairs of versions."""
# ctest: timeout=120

import harness
from hpack import NeverIndexedHeaderTuple
from test_version_matrix import Matrix, every_pair
from version_backends import CHALLENGE


class Fields(Matrix):
    @every_pair
    def test_unknown_fields_pass_in_their_order(self, inward, outward, client, origin):
        """RFC 9110 5.1, 5.3, RFC 9218 5."""
        sent = [("x-b", "1"), ("x-a", "2"), ("x-b", "3"), ("x-list", "a,,b ,"), ("x-empty", ""),
                ("priority", "u=2, i")]
        answer = client.get(f"/{outward}/order", sent)
        self.assertEqual(answer.status, 200)
        self.assertEqual((answer.fields["x-b"], answer.fields["x-a"]), (["1", "3"], ["2"]))
        names = {k for k, _ in sent}
        seen = [f for f in origin.last(f"/{outward}/order").fields if f[0] in names]
        self.assertEqual(seen, sent)

    @every_pair
    def test_credentials_and_challenges_pass_as_they_are(self, inward, outward, client, origin):
        """RFC 9110 11.6.1, 11.6.2."""
        credentials = 'Digest username="a, b",  nonce="d\\"e"'
        answer = client.get(f"/{outward}/challenge", [("authorization", credentials)])
        self.assertEqual((answer.status, answer.fields["www-authenticate"]), (401, [CHALLENGE]))
        self.assertEqual(origin.last(f"/{outward}/challenge").get("authorization"), [credentials])

    def test_what_is_never_to_be_indexed_stays_so(self):
        """RFC 7541 7.1.3, RFC 9204 7.1.3."""
        for client in (self.client("2"), self.client("3")):
            with self.subTest(client=type(client).__name__):
                answer = client.wait(client.begin_never_indexed("/2/echo", "x-key", "secret"))
                self.assertEqual(answer.status, 200)
                fields = {f[0].decode(): f for f in self.origins["2"].server.requests[-1].raw}
                self.assertEqual(fields["x-key"][1], b"secret")
                self.assertIsInstance(fields["x-key"], NeverIndexedHeaderTuple)
                self.assertNotIsInstance(fields[":path"], NeverIndexedHeaderTuple)

    def test_a_405_says_what_is_allowed(self):
        """RFC 9110 15.5.6, 9.3.8."""
        for version in harness.ALL_VERSIONS:
            with self.subTest(version=version):
                client = self.client(version)
                answer = client.wait(client.begin("TRACE", "/1.1/echo", [("cookie", "a=b")]))
                self.assertEqual(answer.status, 405)
                allowed = [m.strip() for m in ",".join(answer.fields["allow"]).split(",")]
                self.assertIn("GET", allowed)
                self.assertNotIn("TRACE", allowed)
        self.assertEqual(self.origins["1.1"].seen, [])


if __name__ == "__main__":
    harness.main()
