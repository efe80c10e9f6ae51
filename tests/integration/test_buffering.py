# ctest: timeout=120
"""Bodies that are read before a server or a client gets them, and bodies that stream (R16)."""

import threading

import batch
import harness


class Buffering(harness.TestCase):
    # ---- of requests ----

    def upload(self, size, limit, **more):
        """A raw client that sends its body in two halves; what the backend saw in between."""
        self.origin = self.echo()
        self.proxy = self.edge(harness.pool(self.origin.address)
                               + harness.route(buffer_request=limit, **more))
        with self.proxy.tls() as sock:
            sock.sendall(b"POST /slow HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n" % size)
            sock.sendall(b"x" * (size // 2))
            # Another request goes its whole way meanwhile.
            self.assertEqual(self.proxy.get("/other")[0], 200)
            between = self.origin.connections
            sock.sendall(b"x" * (size - size // 2))
            self.assertEqual(harness.read_response(sock)[0], 200)
        self.assertEqual(self.origin.requests[-1][1], b"x" * size)
        return between

    def test_a_slow_upload_holds_no_server(self):
        self.assertEqual(self.upload(50_000, "64KiB"), 1)

    def test_it_does_where_it_streams(self):
        self.assertEqual(self.upload(50_000, "0"), 2)

    def test_a_longer_one_streams_from_there(self):
        # More than the windows, and twice what is held.
        self.assertEqual(self.upload(3_000_000, "700KiB"), 2)

    def test_bodies_of_each_version(self):
        origin = self.echo()
        self.proxy = self.edge(harness.pool(origin.address)
                               + harness.route(buffer_request="400KiB"))
        bodies = [bytes(i % 251 for i in range(size)) for size in (0, 1, 300_000, 2_000_000)]
        answers = batch.ask(self.proxy, [
            (http, "/up", "-T", batch.Unsized(self.directory, f"pipe-{http}-{len(body)}", body), "-H", "Expect:")
            for http in harness.ALL_VERSIONS for body in bodies])
        self.assertEqual([(a.status, a.failed) for a in answers], [(200, 0)] * 12)
        for (head, seen), body in zip(origin.requests, bodies * 3, strict=True):
            self.assertTrue(seen == body, head)
            # Where all of it was here its length was told.
            length = b"content-length: %d\r\n" % len(body) in head.lower()
            self.assertEqual(length, len(body) < 400 * 1024, head)

    def test_expect_continue(self):
        origin = self.echo()
        self.proxy = self.edge(harness.pool(origin.address)
                               + harness.route(buffer_request="64KiB"))
        for answer in batch.ask(self.proxy, [
                (http, "/", "-d", "z" * 2000, "-H", "Expect: 100-continue", "--expect100-timeout", "20")
                for http in harness.ALL_VERSIONS]):
            self.assertEqual(answer.failed, 0)
            self.assertTrue(answer.body.endswith(b"z" * 2000))

    # ---- of answers ----

    def halves(self, head, first, second):
        """A backend that sends the second half only when it is told to."""
        self.go_on = threading.Event()
        self.addCleanup(self.go_on.set)

        def serve(sock, number):
            harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + first)
            self.go_on.wait(harness.WAIT)
            sock.sendall(second)

        return self.backend(serve)

    def first_bytes(self, origin, **settings):
        """Whether the head reaches a raw client before the second half was sent."""
        self.proxy = self.edge(harness.pool(origin.address) + harness.route(**settings))
        with self.proxy.tls() as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
            sock.settimeout(0.3)
            try:
                data = sock.recv(65536)
            except TimeoutError:
                data = b""
            early = bool(data)
            self.go_on.set()
            sock.settimeout(harness.WAIT)
            while more := sock.recv(65536):
                data += more
        return early, data

    def test_an_answer_that_is_held(self):
        origin = self.halves(b"Transfer-Encoding: chunked\r\n", b"4\r\nhalf\r\n",
                             b"4\r\nmore\r\n0\r\n\r\n")
        early, data = self.first_bytes(origin, buffer_response="64KiB")
        self.assertFalse(early)
        self.assertIn(b"content-length: 8\r\n", data.lower())
        self.assertTrue(data.endswith(b"\r\n\r\nhalfmore"))

    def test_one_that_streams(self):
        origin = self.halves(b"Content-Length: 8\r\n", b"half", b"more")
        early, data = self.first_bytes(origin)
        self.assertTrue(early)
        self.assertTrue(data.endswith(b"halfmore"))

    def test_events_are_never_held(self):
        # K62.
        origin = self.halves(b"Content-Type: text/event-stream; charset=utf-8\r\n",
                             b"data: 1\n\n", b"data: 2\n\n")
        early, data = self.first_bytes(origin, buffer_response="64KiB")
        self.assertTrue(early)
        self.assertIn(b"data: 2", data)

    def test_nor_what_asks_not_to_be(self):
        origin = self.halves(b"X-Accel-Buffering: no\r\nContent-Length: 8\r\n", b"half", b"more")
        self.assertTrue(self.first_bytes(origin, buffer_response="64KiB")[0])

    def test_a_longer_one_streams_on(self):
        origin = self.halves(b"", b"x" * 100_000, b"y" * 100_000)
        early, data = self.first_bytes(origin, buffer_response="64KiB")
        self.assertTrue(early)
        body = data.partition(b"\r\n\r\n")[2]
        self.assertEqual((body.count(b"x"), body.count(b"y")), (100_000, 100_000))

    def test_a_server_that_dies_within_a_held_answer(self):
        def die(sock, number):
            harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")

        bad, good = self.backend(die), self.echo()
        pool = harness.pool(bad.address, good.address, balance="round_robin", retry_backoff="1ms")
        self.proxy = self.edge(pool + harness.route(buffer_response="64KiB"))
        for answer in batch.ask(self.proxy, [(http, "/") for http in harness.ALL_VERSIONS] * 4):
            self.assertEqual((answer.status, answer.failed), (200, 0))
            self.assertTrue(answer.body.startswith(b"GET / HTTP/1.1"), answer.body)
        self.assertGreater(bad.connections, 0)
        # Where it cannot go again the client is told, instead of half an answer.
        self.proxy.write_config(harness.pool(bad.address)
                                + harness.route(buffer_response="64KiB", retries=0))
        self.assertEqual(self.proxy.reload()[0], 200)
        self.assertEqual(batch.statuses(self.proxy, [(http, "/") for http in harness.ALL_VERSIONS]), [502] * 3)

    def test_a_slow_client_holds_no_server(self):
        size = 1_500_000
        sent = threading.Semaphore(0)

        def serve(sock, number):
            reader = harness.RequestReader(sock)
            while reader.read() is not None:
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"z" * size)
                sent.release()

        self.proxy = self.edge(harness.pool(self.backend(serve).address)
                               + harness.route(buffer_response="2MiB"))
        clients = {http: threading.Thread(target=self.proxy.curl, kwargs={"http": http}, args=(
            "/", "--limit-rate", "1500k", "-o", self.directory / f"out-{http}")) for http in harness.ALL_VERSIONS}
        for client in clients.values():
            client.start()
        for _ in clients:
            self.assertTrue(sent.acquire(timeout=harness.WAIT))
        for http, client in clients.items():
            client.join()
            self.assertEqual((self.directory / f"out-{http}").stat().st_size, size)

    def test_answers_of_each_kind(self):
        def serve(sock, number):
            reader = harness.RequestReader(sock)
            while (request := reader.read()) is not None:
                path = request[0].split(b" ")[1]
                sock.sendall({
                    b"/empty": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                    b"/204": b"HTTP/1.1 204 No Content\r\n\r\n",
                    b"/trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  b"2\r\nok\r\n0\r\nX-Sum: 42\r\n\r\n",
                }[path])

        self.proxy = self.edge(harness.pool(self.backend(serve).address)
                               + harness.route(buffer_response="64KiB"))
        kinds = (("/empty", 200, b""), ("/204", 204, b""), ("/trailers", 200, b"ok"))
        answers = batch.ask(self.proxy, [(http, path, "-H", "TE: trailers")
                                         for http in harness.ALL_VERSIONS for path, _, _ in kinds])
        self.assertEqual([(a.status, a.body) for a in answers], [kind[1:] for kind in kinds] * 3)
        for answer in answers[2::3]:
            self.assertIn(b"x-sum: 42", answer.head.lower())


if __name__ == "__main__":
    harness.main()
