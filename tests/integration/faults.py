"""What the tests of faults share: an edge under tests/faults/pqfaults.so, and requests whose every byte
is compared."""

import hashlib
import os
import pathlib
import sys
import unittest

import batch
import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
import pqfaults  # noqa: E402

SIZE = 300_000
BODY = hashlib.shake_128(b"pqedge").digest(SIZE)


def load_injector():
    """Sanitizers have to be loaded first, and have an allocator of their own: there is none there."""
    if os.environ.get("PQEDGE_SANITIZE"):
        raise unittest.SkipTest("the fault injector is not built with sanitizers")
    if not pathlib.Path(pqfaults.library()).exists():
        raise unittest.SkipTest(f"{pqfaults.library()} is missing: build the target pqfaults")


class TestCase(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        load_injector()

    def start(self, toml="", rules=(), name="control", **kwargs):
        """An edge before a backend that sends back what it got; rules for it from its first call on."""
        self.control = pqfaults.Control(self.directory / name, rules)
        self.origin = kwargs.pop("origin", None) or self.mirror()
        routes = kwargs.pop("routes", None)
        if routes is None:
            routes = harness.pool(self.origin.address) + harness.route()
        environment = dict(os.environ, **self.control.environment(), **kwargs.pop("env", {}))
        self.proxy = self.edge(toml + routes, env=environment, **kwargs)
        return self.proxy

    def mirror(self):
        def serve(sock, number):
            reader = harness.RequestReader(sock)
            while (request := reader.read()) is not None:
                body = request[1] or BODY
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

        return self.backend(serve)

    def transfers(self, versions=harness.ALL_VERSIONS, times=1, body=BODY):
        """Downloads and uploads by curl over new connections; every byte has to be right."""
        upload = self.directory / "upload"
        upload.write_bytes(body)
        fresh = ("-H", "Expect:")
        requests = [(v, "/", *fresh, *more) for _ in range(times) for v in versions
                    for more in ((), ("--data-binary", f"@{upload}"))]
        answers = batch.ask(self.proxy, requests)
        for (version, _, *more), answer in zip(requests, answers):
            what = f"HTTP/{version} {'upload' if len(more) > 2 else 'download'}"
            self.assertEqual((answer.failed, answer.status), (0, 200), what)
            expected = body if len(more) > 2 else BODY
            self.assertEqual(len(answer.body), len(expected), what)
            self.assertTrue(answer.body == expected, what)

    def forget_connections(self):
        """The next request needs a new connection to the server."""
        self.origin.close_connections()
        harness.wait_for(lambda: self.proxy.metric("pqedge_backend_connections") == 0,
                         "no connection to a server")

    def wait_metric(self, name, least=1):
        harness.wait_for(lambda: self.proxy.metric(name) >= least, f"{name} of {least}")

    def wait_log(self, text):
        harness.wait_for(lambda: text in self.proxy.log(), f"the log to say '{text}'")
