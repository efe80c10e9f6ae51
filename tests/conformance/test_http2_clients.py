"""RFC 9113 and RFC 7541 toward clients: every case in raw frames over TLS, h2spec's first.

PQEDGE_CASES="RFC 9113 5.1" runs those alone whose names have that text.
"""
# ctest: timeout=120

import concurrent.futures
import os
import socket
import ssl
import sys
import traceback

import harness
from http2 import case as cases
from http2 import compression, frame_types, further_frames, further_messages, generic, messages, streams
from http2.origin import Origin
from http2.peer import Client

SUITES = [generic.generic, streams.http2, compression.hpack, further_frames.further]
USED = (frame_types, messages, further_messages)  # they add to the suites above


class Clients(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = Origin()
        self.addCleanup(self.origin.stop)
        self.proxy = self.edge(
            harness.pool(self.origin.address) + harness.route()
            + harness.pool(self.unreachable(), name="stuck", connect_timeout="60s")
            + harness.route("stuck", "stuck", path="/stuck"))
        self.tls = ssl.create_default_context(cafile=str(self.proxy.certificate.chain))
        self.tls.set_alpn_protocols(["h2"])

    def unreachable(self):
        """An address that neither takes a connection nor refuses it: its queue is full."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.addCleanup(listener.close)
        for _ in range(3):
            waiting = socket.socket()
            self.addCleanup(waiting.close)
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def connect(self, mark):
        sock = socket.create_connection(("127.0.0.1", self.proxy.port), timeout=harness.WAIT)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock = self.tls.wrap_socket(sock, server_hostname="localhost")
        assert sock.selected_alpn_protocol() == "h2"
        return Client(sock, mark)

    def perform(self, case, mark):
        """The problem, or None."""
        client = self.connect(mark)
        try:
            if case.handshake:
                client.handshake()
            cases.perform(case, client)
        except AssertionError as problem:
            return str(problem)
        except Exception:  # noqa: BLE001 - of the decoder, for example: this case's and no other's
            return f"{traceback.format_exc()}\ncame: {client.story()}"
        finally:
            client.close()

    def test_cases(self):
        text = os.environ.get("PQEDGE_CASES", "")
        wanted = [case for suite in SUITES for case in suite.cases if text in str(case)]
        marks = {case: f"case-{n}" for n, case in enumerate(wanted)}
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            results = dict(zip(wanted, threads.map(lambda c: self.perform(c, marks[c]), wanted)))
        # What came whole to the backend, after all has settled.
        self.assertEqual(self.proxy.get("/")[0], 200)
        for case in wanted:
            if case.options.get("unseen") and marks[case] in self.origin.marks and results[case] is None:
                results[case] = "the backend got the request"
        print(cases.table(results), file=sys.stderr)
        problems = [f"{case}\n    {problem}" for case, problem in results.items() if problem is not None]
        self.assertFalse(problems, "\n" + "\n".join(problems))
        self.assertTrue(self.proxy.alive())


if __name__ == "__main__":
    harness.main()
