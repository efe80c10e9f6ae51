"""HTTP/3 and QPACK toward clients: a connection for each rule, broken byte by byte (RFC 9114, 9204,
9220, 9218)."""
# ctest: timeout=120

import harness
from http3 import http3_cases, qpack_cases, table


class Origin(harness.EchoBackend):
    """Also a body that does not fit a window at once."""

    def _echo(self, sock, number):
        reader = harness.RequestReader(sock)
        while (request := reader.read()) is not None:
            self.requests.append(request)
            head, body = request
            answer = bytes(4 << 20) if b" /big " in head else head + body
            text = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer)
            sock.sendall(text if head.startswith(b"HEAD ") else text + answer)


class Messages(table.TableTest):
    def start(self):
        self.origin = Origin()
        self.addCleanup(self.origin.stop)
        return self.edge(harness.pool(self.origin.address) + harness.route())

    def test_http3(self):
        self.run_table(http3_cases.TABLE, self.start())

    def test_qpack(self):
        self.run_table(qpack_cases.TABLE, self.start())


if __name__ == "__main__":
    harness.main()
