"""Memory that runs out (src/base/memory.h): what has begun goes on, nothing new is taken, and all is as
before when there is memory again."""
# ctest: timeout=180

import resource
import socket
import threading

import batch
import faults
import harness

GET = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"


class Memory(faults.TestCase):
    def ask(self):
        """(version, answer): a request of each version over a new connection. ngtcp2's helper for OpenSSL
        has a malloc() of its own, in the handshake: when that one fails the connection ends, in good
        order, and a client comes again."""
        answers = batch.ask(self.proxy, [(v, "/") for v in harness.ALL_VERSIONS])
        for version, answer in zip(harness.ALL_VERSIONS, answers):
            for _ in range(3):
                if version == "3" and answer.failed:
                    answer, = batch.ask(self.proxy, [("3", "/")])
            self.assertEqual(answer.failed, 0, f"HTTP/{version}\n{self.proxy.log()[-3000:]}")
            yield version, answer

    def test_single_failures_are_not_seen(self):
        """Each n-th allocation of the worker fails once, whoever asks: our code, OpenSSL, nghttp2,
        ngtcp2, nghttp3."""
        self.start()
        self.transfers(body=b"x" * 1000)
        for every in (101, 29):
            with self.subTest(every=every):
                before = self.proxy.metric("pqedge_allocation_failures_total")
                self.control.set(f"malloc errno=ENOMEM every={every} thread=worker")
                for _ in range(3):
                    for version, answer in self.ask():
                        # Where many fail in one turn the edge may refuse, in good order.
                        self.assertIn(answer.status, (200, 503), version)
                self.assertGreater(self.control.failed(), 0)
                self.wait_metric("pqedge_allocation_failures_total", before + 1)
        self.control.set()
        harness.wait_for(lambda: self.proxy.metric("pqedge_memory_refusing") == 0, "memory")
        self.transfers(body=b"x" * 1000)
        self.wait_log("allocations failed and were made from the reserve")

    def test_every_allocation_of_a_request_may_be_the_one(self):
        """The n-th allocation from here on, for n = 1, 2, ...: over each version one new connection
        and one request, as long as n falls into them."""
        self.start()
        self.transfers(body=b"x")
        n, step, rounds = 1, 7, 0
        while rounds < 40:
            self.control.set(f"malloc errno=ENOMEM nth={n} thread=worker")
            for version, answer in self.ask():
                self.assertEqual(answer.status, 200, f"HTTP/{version}, allocation {n}")
            if self.control.failed() == 0:
                break
            n, rounds = n + step, rounds + 1
            step += 2
        self.assertGreater(rounds, 10)

    def test_every_allocation_of_a_handshake_may_be_the_one(self):
        """One after the other, without a gap, whichever module computes the key exchange: none ends a
        connection. Those that hit the reading of the request are the other tests'."""
        self.start()
        for n in range(1, 5000):
            with self.subTest(n=n):
                self.control.set(f"malloc errno=ENOMEM nth={n} thread=worker")
                with self.proxy.tls():
                    pass
            # The server's work after the client's last flight may still reach the n-th: that is not
            # the handshake's any more, and is not waited for.
            if self.control.failed() == 0:
                break
        else:
            self.fail("a handshake has an end")
        self.assertGreater(n, 100)

    def test_a_shortage_refuses_what_is_new_and_keeps_what_runs(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def serve(sock, number):
            reader = harness.RequestReader(sock)
            while (request := reader.read()) is not None:
                half = len(faults.BODY) // 2
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(faults.BODY))
                sock.sendall(faults.BODY[:half])
                if b"/slow" in request[0]:
                    go_on.wait(harness.WAIT)
                sock.sendall(faults.BODY[half:])

        self.start(origin=self.backend(serve))
        with self.proxy.tls() as running, self.proxy.tls() as idle:
            idle.sendall(GET)
            self.assertEqual(harness.read_response(idle)[2], faults.BODY)
            running.sendall(GET.replace(b"/ ", b"/slow "))
            begun = running.recv(1)
            # A fifth of all allocations fails, and none of the reserve can be had again.
            self.control.set("malloc errno=ENOMEM share=20% thread=worker", "mmap errno=ENOMEM")

            def refused():
                idle.sendall(GET)
                return harness.read_response(idle)[0] == 503

            harness.wait_for(refused, "requests to be refused")
            self.assertEqual(self.proxy.metric("pqedge_memory_refusing"), 1)
            late = socket.create_connection(("127.0.0.1", self.proxy.port), timeout=harness.WAIT)
            self.addCleanup(late.close)
            pauses = self.proxy.metric("pqedge_accept_pauses_total")
            self.wait_metric("pqedge_accept_pauses_total", pauses + 1)
            # What had begun goes on.
            go_on.set()
            status, _, body, _ = harness.read_response(Ahead(begun, running))
            self.assertEqual((status, body == faults.BODY), (200, True))
            self.control.set()
            # There is memory again.
            harness.wait_for(lambda: not refused(), "requests to be served")
            running.sendall(GET)
            self.assertEqual(harness.read_response(running)[0], 200)
        for version, answer in self.ask():
            self.assertEqual((answer.status, answer.body == faults.BODY), (200, True), version)
        self.assertEqual(self.proxy.metric("pqedge_memory_refusing"), 0)
        self.assertGreater(self.proxy.metric("pqedge_memory_shortages_total"), 0)
        self.wait_log("the process is out of memory: new connections wait and requests get 503")
        self.wait_log("there is memory again")
        self.proxy.wait_access(1, lambda r: r["status"] == 503 and "out of memory" in str(r))

    def test_the_end_is_told(self):
        """Where nothing comes back the process says so and ends: its supervisor starts it anew."""
        self.start()
        self.assertEqual(self.proxy.get("/")[0], 200)
        self.control.set("malloc errno=ENOMEM thread=worker", "mmap errno=ENOMEM")
        self.proxy.curl("/", "--max-time", "10")
        self.assertEqual(self.proxy.process.wait(harness.WAIT), 71)
        self.assertIn("pqedge: out of memory: ", self.proxy.log())
        self.proxy = None

    def test_a_limit_of_address_space(self):
        """The kernel's own refusal: RLIMIT_AS below what is used, so that mmap() fails."""
        self.start()
        self.transfers(body=b"x" * 1000)
        soft, hard = resource.prlimit(self.proxy.pid, resource.RLIMIT_AS)
        resource.prlimit(self.proxy.pid, resource.RLIMIT_AS, (64 << 20, hard))
        for _ in range(5):
            statuses = batch.statuses(self.proxy, [(v, "/") for v in harness.ALL_VERSIONS])
            self.assertLessEqual(set(statuses), {200, 503})
        resource.prlimit(self.proxy.pid, resource.RLIMIT_AS, (soft, hard))
        harness.wait_for(lambda: self.proxy.metric("pqedge_memory_refusing") == 0, "memory")
        self.transfers()

    def _end_edge(self, e):
        if not e.alive() and e.process.returncode == 71:  # what the test wanted
            e._log.close()
            return
        super()._end_edge(e)


class Ahead:
    """A socket of which some bytes were read already."""

    def __init__(self, ahead, sock):
        self.ahead, self.sock = ahead, sock

    def recv(self, size):
        ahead, self.ahead = self.ahead, b""
        return ahead or self.sock.recv(size)


if __name__ == "__main__":
    harness.main()
