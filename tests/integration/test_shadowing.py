# ctest: timeout=120
"""Copies of requests for a second pool (R14): never seen by clients, bounded in memory."""

import threading

import batch
import harness


class Shadowing(harness.TestCase):
    def start(self, shadow, **settings):
        self.origin = self.echo()
        self.proxy = self.edge(
            harness.pool(self.origin.address) + harness.pool(shadow.address, name="shadow")
            + harness.route(shadow_pool="shadow", **settings))

    def outcome(self, name):
        return self.proxy.metric(f'pqedge_shadow_requests_total{{outcome="{name}"}}')

    def wait_outcome(self, name, count):
        harness.wait_for(lambda: self.outcome(name) >= count, f"{count} shadows that are {name}")
        self.assertEqual(self.outcome(name), count)

    def test_the_copy_is_the_request(self):
        shadow = self.echo()
        self.start(shadow)
        body = self.directory / "body"
        body.write_bytes(bytes(i % 251 for i in range(50_000)))
        answers = batch.ask(self.proxy, [
            request for n, http in enumerate(harness.ALL_VERSIONS)
            for request in ((http, f"/a%20b?x={n}", "-H", "X-Mine: 1"),
                            (http, "/up", "--data-binary", f"@{body}", "-H", "Expect:"))])
        self.assertEqual([a.status for a in answers], [200] * 6)
        for answer in answers[1::2]:
            self.assertTrue(answer.body.endswith(body.read_bytes()))
        self.wait_outcome("answered", 6)

        def key(request):
            head, text = request
            lines = sorted(line.lower() for line in head.split(b"\r\n")[1:]
                           if not line.lower().startswith((b"content-length", b"transfer-")))
            return head.split(b"\r\n")[0], lines, text

        # X-Forwarded-*, X-Request-ID and all: as the pool of the route got it.
        self.assertEqual(sorted(map(key, shadow.requests)), sorted(map(key, self.origin.requests)))

    def test_an_upload_of_unknown_length_has_one_in_the_copy(self):
        shadow = self.echo()
        self.start(shadow)
        answers = batch.ask(self.proxy, [
            (http, "/up", "-T", batch.Unsized(self.directory, f"pipe-{http}", b"piece" * 100), "-H", "Expect:")
            for http in harness.ALL_VERSIONS])
        self.assertEqual([(a.status, a.failed) for a in answers], [(200, 0)] * 3)
        for head, _ in self.origin.requests:
            self.assertNotIn(b"content-length", head.lower())
        self.wait_outcome("answered", 3)
        for head, body in shadow.requests:
            self.assertIn(b"content-length: 500\r\n", head.lower())
            self.assertEqual(body, b"piece" * 100)

    def test_a_shadow_that_hangs_fails_or_lies_is_not_seen(self):
        hang = threading.Event()
        self.addCleanup(hang.set)
        acts = [lambda s: hang.wait(harness.WAIT), lambda s: s.sendall(b"garbage\r\n\r\n"),
                lambda s: s.sendall(b"HTTP/1.1 500 X\r\nContent-Length: 6\r\n\r\nshadow"),
                lambda s: None]

        def serve(sock, number):
            harness.RequestReader(sock).read()
            acts[number % len(acts)](sock)

        self.start(self.backend(serve))
        for answer in batch.ask(self.proxy, [(http, "/") for http in harness.ALL_VERSIONS for _ in acts]):
            self.assertEqual((answer.status, answer.failed), (200, 0))
            self.assertTrue(answer.body.startswith(b"GET / HTTP/1.1"))
        self.wait_outcome("error", 3)
        self.wait_outcome("failed", 6)

    def test_no_more_than_so_many_at_a_time(self):
        hang = threading.Event()
        self.addCleanup(hang.set)
        shadow = self.backend(lambda sock, n: hang.wait(harness.WAIT))
        self.start(shadow, shadow_requests=2)
        self.assertEqual(batch.statuses(self.proxy, [(http, "/") for http in harness.ALL_VERSIONS] * 3), [200] * 9)
        self.assertEqual(self.outcome("too_many"), 7)

    def test_no_larger_body_than_so_much(self):
        shadow = self.echo()
        self.start(shadow, shadow_body="1KiB")
        # Of known length and of unknown.
        answers = batch.ask(self.proxy, [
            request for http in harness.ALL_VERSIONS
            for request in ((http, "/", "-d", "x" * 2000),
                            (http, "/up", "-T", batch.Unsized(self.directory, f"pipe-{http}", b"y" * 2000),
                             "-H", "Expect:"))])
        self.assertEqual([(a.status, a.failed) for a in answers], [(200, 0)] * 6)
        self.wait_outcome("too_large", 6)
        self.assertEqual(shadow.requests, [])

    def test_a_client_that_leaves_within_its_body(self):
        shadow = self.echo()
        self.start(shadow)
        with self.proxy.tls() as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nhalf")
        self.wait_outcome("cut", 1)
        self.assertEqual(shadow.requests, [])

    def test_a_share(self):
        shadow = self.echo()
        self.start(shadow, shadow_percent=50)
        urls = [self.proxy.url(f"/{i}") for i in range(200)]
        done = self.proxy.curl("/", *urls, http="2")
        self.assertEqual(done.returncode, 0, done.stderr)
        harness.wait_for(lambda: self.outcome("answered") == len(shadow.requests),
                         "the shadows' answers")
        # 201 draws of 1/2: further off than 40 is one in 40 million.
        self.assertTrue(60 < len(shadow.requests) < 141, len(shadow.requests))


if __name__ == "__main__":
    harness.main()
