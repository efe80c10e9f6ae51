"""RFC 9113 and RFC 7541 toward backends: servers in raw frames that break each rule, or use it.

PQEDGE_CASES="RFC 9113 5.1" runs those alone whose names have that text.
"""
# ctest: timeout=120

import concurrent.futures
import os
import queue
import socket
import ssl
import sys
import traceback

import harness
from http2 import backend_messages
from http2 import case as cases
from http2.backend_frames import backend
from http2.peer import Client, Server
from http2.wire import data, headers

USED = (backend_messages,)  # it adds to the suite above


class Scripted:
    """A server of one case's own; what became of it at its first connection is in `outcome`."""

    def __init__(self, case):
        self.case = case
        self.outcome = queue.Queue()
        self.server = harness.Backend(self.serve)

    def serve(self, sock, number):
        peer = Server(sock)
        try:
            if self.case.handshake:
                peer.accept(*self.case.options.get("settings", ()))
            cases.perform(self.case, peer)
            self.outcome.put(None)
        except AssertionError as problem:
            self.outcome.put(f"at the backend: {problem}")
        except Exception:  # noqa: BLE001 - this case's and no other's
            self.outcome.put(f"at the backend: {traceback.format_exc()}\ncame: {peer.story()}")


def request(client, options, stream, path):
    """One request as the options say."""
    fields = client.fields(method=options.get("method", "GET"), path=path) + options.get("more", b"")
    upload, trailers = options.get("upload"), options.get("upload_trailers")
    if stream < 2 * options.get("requests", 1) - 1:
        upload = None  # it is for the last
    if options.get("partial"):
        client.send(headers(stream, fields, end=False), data(stream, b"some"))
    elif upload is None:
        client.send(headers(stream, fields))
    elif trailers is not None:
        client.send(headers(stream, fields, end=False), data(stream, upload), headers(stream, trailers))
    else:
        client.send(headers(stream, fields, end=False))
        client.upload(stream, len(upload))


def judge(case, client, answer):
    options, wanted = case.options, case.options["client"]
    got = f"the client got {answer.status}, body {answer.body[:80]!r}, reset {answer.reset}"
    if wanted == "cut":
        if answer.reset is None and answer.status != 502:
            client.fail(f"{got}: it looks whole")
        return
    if answer.status != wanted or not answer.ended:
        client.fail(f"{got} in the place of {wanted}")
    if wanted != 502 and answer.body != options.get("body", b"whole"):
        client.fail(got)
    if "trailers" in options and answer.trailers != options["trailers"]:
        client.fail(f"{got}, trailers {answer.trailers}")
    if "client_seen" in options and not options["client_seen"](client):
        client.fail(f"{got}: {[f.fields for f in client.seen if f.fields]}")


class Backends(harness.TestCase):
    def perform(self, case, server, number):
        """The problem, or None."""
        options = case.options
        sock = socket.create_connection(("127.0.0.1", self.proxy.port), timeout=harness.WAIT)
        client = Client(self.tls.wrap_socket(sock, server_hostname="localhost"), f"case-{number}")
        try:
            client.handshake(*options.get("client_settings", ()))
            for i in range(options.get("requests", 1)):
                request(client, options, 2 * i + 1, f"/{number}")
                answer = client.answer(2 * i + 1)
            judge(case, client, answer)
            problem = None
        except AssertionError as failed:
            problem = f"at the client: {failed}"
        except Exception:  # noqa: BLE001 - this case's and no other's
            problem = f"at the client: {traceback.format_exc()}\ncame: {client.story()}"
        finally:
            client.close()
        try:
            at_backend = server.outcome.get(timeout=harness.WAIT * 2)
        except queue.Empty:
            at_backend = "at the backend: it never came to an end"
        return "\n    ".join(p for p in (problem, at_backend) if p) or None

    def test_cases(self):
        text = os.environ.get("PQEDGE_CASES", "")
        wanted = [case for case in backend.cases if text in str(case)]
        servers = [Scripted(case) for case in wanted]
        for server in servers:
            self.addCleanup(server.server.stop)
        self.proxy = self.edge("".join(
            harness.pool(s.server.address, name=f"case-{n}", protocol="h2c", retries=0)
            + harness.route(f"case-{n}", f"case-{n}", path=f"/{n}") for n, s in enumerate(servers)))
        self.tls = ssl.create_default_context(cafile=str(self.proxy.certificate.chain))
        self.tls.set_alpn_protocols(["h2"])
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            problems = threads.map(self.perform, wanted, servers, range(len(wanted)))
            results = dict(zip(wanted, problems))
        print(cases.table(results), file=sys.stderr)
        told = [f"{case}\n    {problem}" for case, problem in results.items() if problem is not None]
        self.assertFalse(told, "\n" + "\n".join(told))
        self.assertTrue(self.proxy.alive())


if __name__ == "__main__":
    harness.main()
