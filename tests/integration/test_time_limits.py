# ctest: timeout=120
"""Time limits of pools and routes: connect, TLS, first byte, whole request, idle (U9, R8)."""

import socket
import threading

import batch
import harness

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Limits(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.quiet = threading.Event()
        self.addCleanup(self.quiet.set)

    def silent(self):
        """Reads and says nothing."""
        return self.backend(lambda sock, n: self.quiet.wait(harness.WAIT))

    def begins(self, head=b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"):
        def serve(sock, number):
            harness.RequestReader(sock).read()
            sock.sendall(head)
            self.quiet.wait(harness.WAIT)

        return self.backend(serve)

    def deaf(self):
        """An address whose accept queue is full: a connect to it hangs."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.addCleanup(listener.close)
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            self.addCleanup(filler.close)
        return "127.0.0.1:%d" % listener.getsockname()[1]

    def both(self, address, key, value, *, pool=(), route=()):
        """The same limit, once of the pool and once of the route over a long one of the pool."""
        text = harness.pool(address, name="short", **{key: value}, **dict(pool))
        text += harness.pool(address, name="long", **{key: "60s"}, **dict(pool))
        text += harness.route("short", name="pool", path_prefix="/pool", **dict(route))
        text += harness.route("long", name="route", path_prefix="/route",
                              **{**dict(route), key: value})
        self.proxy = self.edge(text)

    def expect(self, status, reason):
        requests = [(http, path) for http in harness.ALL_VERSIONS for path in ("/pool", "/route")]
        self.assertEqual(batch.statuses(self.proxy, requests, together=True), [status] * 6)
        for record in self.proxy.wait_access(6):
            self.assertIn(reason, record["reason"])

    def broken(self):
        answers = batch.ask(self.proxy, [(http, path) for http in harness.ALL_VERSIONS
                                         for path in ("/pool", "/route")], together=True)
        for answer in answers:
            self.assertNotEqual(answer.failed, 0, "a broken answer looked whole")
        return answers

    def test_connect(self):
        self.both(self.deaf(), "connect_timeout", "150ms", pool={"retries": 0}.items())
        self.expect(504, "connect")

    def test_tls_handshake(self):
        # TCP is accepted, TLS never begun. By route connect_timeout has the handshake in it.
        origin = self.silent()
        tls = {"tls": True, "tls_server_name": "a.test", "retries": 0}
        self.proxy = self.edge(
            harness.pool(origin.address, name="short", tls_handshake_timeout="150ms", **tls)
            + harness.pool(origin.address, name="long", tls_handshake_timeout="60s", **tls)
            + harness.route("short", name="pool", path_prefix="/pool")
            + harness.route("long", name="route", path_prefix="/route", connect_timeout="150ms"))
        self.expect(504, "")

    def test_first_byte(self):
        self.both(self.silent().address, "response_timeout", "150ms")
        self.expect(504, "did not answer in time")

    def test_between_two_reads(self):
        self.both(self.begins().address, "read_timeout", "150ms")
        for answer in self.broken():
            self.assertEqual(answer.body, b"half")

    def test_whole_request_without_an_answer(self):
        self.both(self.silent().address, "request_timeout", "150ms")
        self.expect(504, "request_timeout")

    def test_whole_request_over_all_tries(self):
        # Each try is within its own limits; together they are not.
        busy = self.backend(lambda sock, n: harness.RequestReader(sock).read()
                            and sock.sendall(b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"))
        self.both(busy.address, "request_timeout", "150ms",
                  route={"retries": 10, "retry_on": ["503"], "retry_backoff": "100ms",
                         "retry_backoff_max": "1s"}.items())
        self.expect(504, "request_timeout")

    def test_whole_request_ends_an_answer_that_drips(self):
        def drip(sock, number):
            harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not self.quiet.wait(0.02):
                sock.sendall(b"x")

        self.both(self.backend(drip).address, "request_timeout", "300ms")
        for answer in self.broken():
            self.assertTrue(answer.body)

    def test_a_route_may_lift_the_limit_of_its_pool(self):
        def later(sock, number):
            reader = harness.RequestReader(sock)
            while reader.read() is not None:
                self.quiet.wait(0.4)
                sock.sendall(OK)

        origin = self.backend(later)
        self.proxy = self.edge(
            harness.pool(origin.address, request_timeout="100ms", response_timeout="100ms")
            + harness.route(request_timeout="0s", response_timeout="20s"))
        self.assertEqual(batch.statuses(self.proxy, [(h, "/") for h in harness.ALL_VERSIONS], together=True),
                         [200] * 3)

    def test_an_unused_connection_is_closed(self):
        ended = threading.Event()

        def serve(sock, number):
            reader = harness.RequestReader(sock)
            while reader.read() is not None:
                sock.sendall(OK)
            ended.set()

        self.proxy = self.edge(
            harness.pool(self.backend(serve).address, idle_timeout="100ms") + harness.route())
        self.assertEqual(self.proxy.get("/")[0], 200)
        self.assertTrue(ended.wait(harness.WAIT))

    def test_a_slow_client_does_not_make_the_backend_late(self):
        size = 3_000_000

        def serve(sock, number):
            harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            sock.sendall(b"z" * size)

        self.proxy = self.edge(
            harness.pool(self.backend(serve).address, read_timeout="400ms") + harness.route())
        for answer in batch.ask(self.proxy, [(http, "/", "--limit-rate", "2500k")
                                             for http in harness.ALL_VERSIONS], together=True):
            self.assertEqual((answer.failed, len(answer.body)), (0, size))


if __name__ == "__main__":
    harness.main()
