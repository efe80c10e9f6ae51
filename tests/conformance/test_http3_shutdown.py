"""The end of an HTTP/3 connection that the server wants (RFC 9114 5.2)."""

import signal

import harness
from http3 import frames as f
from http3 import table as t
from http3.client import Client


def goaways(client):
    """The identifiers of the GOAWAYs so far."""
    found, _ = f.parse_h3(client.peer_stream(f.CONTROL) or b"")
    return [f.Reader(payload).varint() for kind, payload in found if kind == f.GOAWAY]


class Shutdown(harness.TestCase):
    def shut_down(self, linger):
        """A client with an answer, and an edge that ends."""
        edge = self.edge(harness.pool(self.echo().address) + harness.route(), server_toml=linger)
        client = self.enterContext(Client(edge.port))
        self.assertEqual(client.connect().get()[0], 200)
        edge.send_signal(signal.SIGTERM)
        return edge, client

    def test_a_client_can_read_its_answer_before_the_close(self):
        # A notice and then the GOAWAY that names the first request not taken. The close does not come
        # with it: a client's QUIC may have acknowledged what its application has not read yet.
        edge, client = self.shut_down('drain_linger = "20s"')
        client.run(lambda: len(goaways(client)) == 2, "two GOAWAYs")
        self.assertEqual(goaways(client), [2**62 - 4, 4])
        late = client.stream(client.request())
        client.run(lambda: late.reset is not None, "a late request to be refused")
        self.assertEqual(late.reset, t.H3_REQUEST_REJECTED)
        client.quic.close(t.H3_NO_ERROR, None, "")
        client.flush()
        self.assertEqual(edge.process.wait(harness.WAIT), 0)

    def test_it_comes_after_the_linger_time(self):
        edge, client = self.shut_down('drain_linger = "100ms"')
        client.run(lambda: client.closed, "the close")
        self.assertEqual(client.quic._close_event.error_code, t.H3_NO_ERROR)
        self.assertEqual(edge.process.wait(harness.WAIT), 0)


if __name__ == "__main__":
    harness.main()
