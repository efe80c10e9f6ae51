"""QUIC toward clients: a connection for each rule, broken byte by byte (RFC 9000, 9001, 9002)."""
# ctest: timeout=180

import harness
from http3 import early_cases, handshake_cases, path_cases, quic_cases, table


class Origin(harness.EchoBackend):
    """Also a body that fills any window."""

    def _echo(self, sock, number):
        reader = harness.RequestReader(sock)
        while (request := reader.read()) is not None:
            self.requests.append(request)
            answer = bytes(4 << 20) if b" /big " in request[0] else request[0] + request[1]
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)


class Quic(table.TableTest):
    def start(self, extra="", **options):
        self.origin = Origin()
        self.addCleanup(self.origin.stop)
        return self.edge(harness.pool(self.origin.address) + harness.route() + extra, **options)

    def test_frames_packets_and_parameters(self):
        self.run_table(quic_cases.TABLE, self.start())

    def test_before_and_around_the_handshake(self):
        self.run_table(handshake_cases.TABLE, self.start('[quic]\nretry = "never"\n'))

    def test_retry(self):
        self.run_table(handshake_cases.RETRY_TABLE, self.start('[quic]\nretry = "always"\n'))

    def test_paths_ids_and_loss(self):
        self.run_table(path_cases.TABLE, self.start())

    def test_amplification(self):
        names = ("localhost", *(f"{n:03}-a-name-that-makes-the-certificate-large.test"
                                for n in range(150)))
        self.run_table(path_cases.LARGE, self.start(names=names))

    def test_early_data(self):
        self.run_table(early_cases.TABLE, self.start("[tls]\nearly_data = true\n"))


if __name__ == "__main__":
    harness.main()
