"""What a reload leaves behind: no configuration that nobody uses any more, and no memory (O2)."""

import contextlib
import socket
import sys
import pathlib

import harness

sys.path.insert(0, str(pathlib.Path(harness.SOURCE) / "bench"))
import large_configuration  # noqa: E402


class ReloadMemory(harness.TestCase):
    def reload(self, edge, toml, number):
        edge.write_config(toml + harness.route(name=f"r{number}", path=f"/only/{number}"))
        code, text = edge.reload()
        self.assertEqual(code, 200, text)

    def expect_configurations(self, edge, count):
        harness.wait_for(lambda: edge.metric("pqedge_configurations") == count,
                         f"{count} configurations in memory")

    def test_a_request_keeps_its_configuration_until_its_end(self):
        origin = self.echo()
        toml = harness.pool(origin.address) + harness.route()
        edge = self.edge(toml)
        self.expect_configurations(edge, 1)
        with edge.tls() as begun:
            begun.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\na")
            harness.wait_for(lambda: edge.metric("pqedge_requests_open") == 1, "the request")
            for i in range(3):
                self.reload(edge, toml, i)
            # The one that it began with, and the newest: those between are nobody's.
            self.expect_configurations(edge, 2)
            begun.sendall(b"b")
            harness.wait_for(lambda: edge.metric("pqedge_requests_open") == 0, "its end")
            self.expect_configurations(edge, 1)

    def test_connections_without_a_request_keep_none(self):
        origin = self.echo()
        toml = harness.pool(origin.address) + harness.route()
        edge = self.edge(toml)
        with contextlib.ExitStack() as open_ones:
            for number in range(3):
                s = open_ones.enter_context(edge.tls())  # it had a request, and may have another
                s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertIn(b" 200 ", s.recv(65536))
                open_ones.enter_context(edge.tls(alpn=["h2"]))
                open_ones.enter_context(socket.create_connection(("127.0.0.1", edge.port)))
                self.reload(edge, toml, number)
            self.expect_configurations(edge, 1)
            self.assertGreaterEqual(edge.metric("pqedge_client_connections"), 6)

    def test_a_file_that_is_refused_leaves_nothing(self):
        origin = self.echo()
        toml = harness.pool(origin.address) + harness.route()
        edge = self.edge(toml)
        for bad in ('[[route]]\nname = "x"\npool = "nowhere"\n',  # refused when it is read, or made ready
                    '[[route]]\nname = "y"\npath = "/y"\nstatus = 200\nbody_file = "/nowhere"\n'):
            edge.write_config(toml + bad)
            self.assertEqual(edge.reload()[0], 422)
        self.expect_configurations(edge, 1)

    def test_a_udp_listener_that_is_gone_leaves_no_socket(self):
        origin = self.echo()
        toml = harness.pool(origin.address) + harness.route()
        quic, datagrams = harness.free_port(), harness.free_port()
        more = (f'[[listener]]\nname = "more"\naddress = "127.0.0.1:{quic}"\n'
                f'[[listener]]\nname = "datagrams"\naddress = "127.0.0.1:{datagrams}"\n'
                'protocols = ["udp"]\npool = "app"\n')

        def is_free(port):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s, contextlib.suppress(OSError):
                s.bind(("127.0.0.1", port))
                return True
            return False

        edge = self.edge(more + toml)
        self.assertFalse(is_free(quic) or is_free(datagrams))
        self.reload(edge, toml, 0)
        harness.wait_for(lambda: is_free(quic) and is_free(datagrams), "the sockets to be closed")

    def test_memory_of_many_reloads(self):
        origin = self.echo()
        toml = large_configuration.configuration(1_000, 200, origin.address)
        edge = self.edge(toml)
        for i in range(4):
            self.reload(edge, toml, i)
        self.expect_configurations(edge, 1)
        before = edge.memory_kib()
        for i in range(8):
            self.reload(edge, toml, i)
        # It is given back a moment after the last configuration is gone.
        harness.wait_for(lambda: edge.memory_kib() < before * 1.1 + 2048, "memory to be as it was")


if __name__ == "__main__":
    harness.main()
