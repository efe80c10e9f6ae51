"""10,000 idle TLS connections and 1,000 half-sent requests fit in 1 GiB (S7).

The figures are printed: `ctest -R long_memory -V`.
"""

import harness
from load import Load


class LongMemory(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route() +
                               '[timeouts]\nidle = "10m"\nheader = "10m"\nbody = "10m"\n'
                               '[quic]\nidle_timeout = "10m"\n')

    def idle(self, protocol, count, wave):
        """KiB a connection that is open and has had a request or none.

        They come `wave` at a time: thousands of handshakes in one moment are more than a socket's
        buffer holds, and what a client does not hear in ten seconds ends its handshake.
        """
        base = self.proxy.memory_kib()
        before = self.proxy.metric("pqedge_client_connections")
        handshakes = self.proxy.metric("pqedge_tls_handshakes_total")
        loads = []
        for made in range(wave, count + 1, wave):
            loads.append(Load(self, self.proxy, protocol, "-c", str(wave), "-r", "5", "--timeout",
                              "120", name=f"-{made}"))
            harness.wait_for(
                lambda: self.proxy.metric("pqedge_client_connections") >= before + made,
                f"{made} connections", 300)
            # Accepted is not yet established.
            harness.wait_for(
                lambda: self.proxy.metric("pqedge_tls_handshakes_total") >= handshakes + made,
                f"{made} handshakes", 300)
        taken = self.proxy.memory_kib() - base
        for load in loads:
            self.assertEqual(load.stop()["failures"], {})
        harness.wait_for(lambda: self.proxy.metric("pqedge_client_connections") == before, "the end",
                         120)
        return taken / count

    def test_ten_thousand_idle_connections_and_half_sent_requests(self):
        held = []
        for i in range(1000):
            s = self.proxy.tls()
            held.append(s)
            s.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9999\r\n\r\n" + b"h" * 500)
        print(f"\n1,000 half-sent requests: {self.proxy.memory_kib()} KiB in all")
        for protocol in ("h1", "h2"):
            each = self.idle(protocol, 10_000, wave=2_500)
            print(f"10,000 idle {protocol} connections: {each:.1f} KiB each, peak included; "
                  f"{self.proxy.memory_kib()} KiB in all")
            self.assertLess(self.proxy.memory_kib(), 1024 * 1024)
        for s in held:
            s.close()

    def test_idle_quic_connections(self):
        each = self.idle("h3", 5_000, wave=500)
        print(f"\n5,000 idle h3 connections: {each:.1f} KiB each, peak included")
        self.assertLess(self.proxy.memory_kib(), 1024 * 1024)


if __name__ == "__main__":
    harness.main()
