"""The first flight over QUIC with large certificates: never above three times what came, and at most
one more wait (RFC 9000 8.1; K7). Client: curl."""
# ctest: timeout=60

import unittest

import harness
import pki
from relay import Relay

# A client that only sends what it must: two datagrams of hello, one more of acknowledgements.
WAITS = "pqedge_quic_amplification_waits_total"


class FirstFlight(harness.TestCase):
    def start(self, retry):
        # A chain of two ML-DSA-65 certificates: more than 14 KB with the signature of the handshake.
        authority = pki.Authority(self.directory, stem="ca", name="CA", algorithm="ML-DSA-65")
        issued = authority.issue("leaf", subject="/CN=localhost", sans="DNS:localhost",
                                 algorithm="ML-DSA-65")
        chain = self.directory / "chain.pem"
        chain.write_bytes(issued.chain.read_bytes() + authority.certificate.read_bytes())
        self.trust = authority.certificate
        self.origin = self.echo()
        port = harness.free_port()
        self.proxy = self.edge(
            f'[[listener]]\naddress = "127.0.0.1:{port}"\n[[certificate]]\nchain = "{chain}"\n'
            f'key = "{issued.key}"\n[quic]\nretry = "{retry}"\n'
            + harness.pool(self.origin.address) + harness.route(), listener=False)
        self.proxy.port = port

    def ask(self, **kwargs):
        """One request; the sizes of datagrams in the order in which they passed, ours negative."""
        sizes = []

        def passing(sign, change):
            def look(datagrams):
                datagrams = change(datagrams)
                sizes.extend(sign * len(d) for d in datagrams)
                return datagrams
            return look

        same = lambda datagrams: datagrams
        # As on a long way: what arrives together was sent together.
        relay = Relay(self.proxy.port, delay=0.05,
                      to_server=passing(1, kwargs.get("to_server", same)), to_client=passing(-1, same))
        self.addCleanup(relay.stop)
        done = harness.run("curl", "-sS", "--http3-only", "--curves", "X25519MLKEM768", "--cacert",
                           self.trust, "--max-time", "20", "--connect-to",
                           f"localhost:{self.proxy.port}:127.0.0.1:{relay.port}",
                           f"https://localhost:{self.proxy.port}/")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return sizes

    def first_flight(self, sizes):
        """Bytes from the client, and bytes to it before it spoke again."""
        came = sent = 0
        for size in sizes:
            if size > 0 and sent:
                break
            came += max(size, 0)
            sent -= min(size, 0)
        return came, sent

    def test_never_above_three_times(self):
        self.start("never")
        came, sent = self.first_flight(self.ask())
        self.assertLessEqual(sent, 3 * came)
        self.assertEqual(self.proxy.metric(WAITS), 1)

    def test_a_lost_second_initial_costs_no_more_than_its_repetition(self):
        self.start("never")
        count = 0

        def lose_the_second(datagrams):
            nonlocal count
            count += 1
            return [] if count == 2 else datagrams

        self.ask(to_server=lose_the_second)
        self.assertEqual(self.proxy.metric("pqedge_quic_handshakes_failed_total"), 0)
        self.assertEqual(self.proxy.metric("pqedge_quic_connections_total"), 1)

    def test_a_retry_lifts_the_limit(self):
        self.start("always")
        self.ask()
        # One for each of the hello's datagrams that came without a token.
        self.assertGreater(self.proxy.metric('pqedge_quic_stateless_answers_total{kind="retry"}'), 0)
        self.assertEqual(self.proxy.metric(WAITS), 0)


if __name__ == "__main__":
    harness.main()
