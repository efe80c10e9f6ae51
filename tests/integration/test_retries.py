# ctest: timeout=120
"""Which requests go again and which do not (R15, K51), hedging, and the budget."""

import socket
import struct
import threading

import harness

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Scripted:
    """act(sock, method, body, number of the request) answers or not; False ends the connection."""

    def __init__(self, test, act):
        self.seen = []
        self.act = act
        self.backend = test.backend(self._serve)
        self.address = self.backend.address

    def _serve(self, sock, number):
        reader = harness.RequestReader(sock)
        while (request := reader.read()) is not None:
            head, body = request
            self.seen.append((head.split(b" ")[0].decode(), body, number))
            if self.act(sock, self.seen[-1][0], body, len(self.seen)) is False:
                return

    def count(self, method):
        return sum(1 for m, _, _ in self.seen if m == method)


def answers(text):
    return lambda sock, *_: sock.sendall(text)


def resets(sock, *_):
    reset(sock)
    return False


class Retries(harness.TestCase):
    def status(self, http, *args, path="/"):
        return self.proxy.get(path, *args, http=http)[0]

    def last(self, path):
        return self.proxy.wait_access(1, lambda r: r["path"] == path)[-1]

    # ---- what goes again ----

    def test_a_reset_before_an_answer(self):
        # A new connection each time, so that this is not about kept ones.
        bad, good = Scripted(self, resets), Scripted(self, answers(OK))
        self.proxy = self.edge(
            harness.pool(bad.address, good.address, max_idle=0, balance="round_robin",
                         retry_backoff="1ms") + harness.route())
        for n, http in enumerate(harness.ALL_VERSIONS):
            before = bad.count("GET")
            for k in range(4):
                self.assertEqual(self.status(http, path=f"/{n}{k}"), 200)
            self.assertGreater(bad.count("GET"), before)
            self.assertEqual({self.last(f"/{n}{k}")["tries"] for k in range(4)} | {1}, {1, 2})
            # K51: a POST that was read may have been processed.
            before = bad.count("POST")
            statuses = [self.status(http, "-d", "x=1") for _ in range(4)]
            self.assertEqual(statuses.count(502), bad.count("POST") - before)
            self.assertGreater(statuses.count(502), 0)
        self.assertGreater(self.proxy.metric('pqedge_retries_total{why="reset"}'), 0)

    def test_a_post_where_the_route_says_so_with_its_body(self):
        bad, good = Scripted(self, resets), Scripted(self, answers(OK))
        self.proxy = self.edge(
            harness.pool(bad.address, good.address, max_idle=0, balance="round_robin")
            + harness.route(retry_any_method=True, retry_backoff="1ms", retry_body="100KiB"))
        for http in harness.ALL_VERSIONS:
            for size in (1, 40_000, 90_000):
                body = self.directory / "body"
                body.write_bytes(bytes(i % 251 for i in range(size)))
                before = bad.count("POST")
                for _ in range(2):
                    self.assertEqual(
                        self.status(http, "--data-binary", f"@{body}", "-H", "Expect:"), 200)
                self.assertGreater(bad.count("POST"), before)
                self.assertEqual(good.seen[-1][1], body.read_bytes())

    def test_a_body_that_is_not_kept_is_not_sent_again(self):
        bad, good = Scripted(self, resets), Scripted(self, answers(OK))
        self.proxy = self.edge(
            harness.pool(bad.address, good.address, max_idle=0, balance="round_robin")
            + harness.route(retry_any_method=True, retry_backoff="1ms", retry_body="1KiB"))
        body = self.directory / "body"
        body.write_bytes(b"x" * 5000)
        for http in harness.ALL_VERSIONS:
            before = bad.count("PUT")
            statuses = [self.status(http, "-T", body, "-H", "Expect:") for _ in range(4)]
            self.assertEqual(statuses.count(502), bad.count("PUT") - before)
            self.assertGreater(statuses.count(502), 0)

    def test_statuses_that_are_named(self):
        busy, good = Scripted(self, answers(BUSY)), Scripted(self, answers(OK))
        pool = harness.pool(busy.address, good.address, balance="round_robin",
                            retry_backoff="1ms")
        self.proxy = self.edge(pool + harness.route(retry_on=["503"]))
        for http in harness.ALL_VERSIONS:
            before = busy.count("GET")
            for _ in range(4):
                self.assertEqual(self.status(http), 200)
            self.assertGreater(busy.count("GET"), before)
            statuses = [self.status(http, "-d", "x") for _ in range(4)]
            self.assertIn(503, statuses)
        self.proxy.write_config(pool + harness.route(retry_on=["504"]))
        self.assertEqual(self.proxy.reload()[0], 200)
        for http in harness.ALL_VERSIONS:
            self.assertIn(503, [self.status(http) for _ in range(4)])

    def test_the_last_answer_is_the_clients_when_all_fail(self):
        busy = [Scripted(self, answers(BUSY)) for _ in range(2)]
        self.proxy = self.edge(
            harness.pool(*[b.address for b in busy]) +
            harness.route(retry_on=["5xx"], retries=3, retry_backoff="1ms"))
        for n, http in enumerate(harness.ALL_VERSIONS):
            status, _, body = self.proxy.get(f"/{n}", http=http)
            self.assertEqual((status, body), (503, b"busy"))
            self.assertEqual(self.last(f"/{n}")["tries"], 4)

    def test_no_answer_in_time_where_it_is_named(self):
        quiet = threading.Event()
        self.addCleanup(quiet.set)
        slow = Scripted(self, lambda *_: quiet.wait(harness.WAIT) and False)
        good = Scripted(self, answers(OK))
        self.proxy = self.edge(
            harness.pool(slow.address, good.address, balance="round_robin")
            + harness.route(retry_on=["timeout"], response_timeout="200ms"))
        for http in harness.ALL_VERSIONS:
            before = slow.count("GET")
            self.assertEqual([self.status(http) for _ in range(2)], [200, 200])
            self.assertGreaterEqual(slow.count("GET"), before)
        self.assertGreater(self.proxy.metric('pqedge_retries_total{why="timeout"}'), 0)

    def test_a_dead_kept_connection(self):
        # K51: the server takes the next request off a kept connection and resets it.
        def act(sock, method, body, n):
            if sock in kept:
                reset(sock)
                return False
            kept.add(sock)
            sock.sendall(OK)

        kept = set()
        origin = Scripted(self, act)
        self.proxy = self.edge(harness.pool(origin.address) + harness.route(retries=0))
        for http in harness.ALL_VERSIONS:
            for _ in range(4):
                self.assertEqual(self.status(http), 200)
            seen = origin.count("POST")
            self.assertEqual(self.status(http, "-d", "x=1"), 502)  # it may have been processed
            self.assertEqual(origin.count("POST"), seen + 1)
            self.assertEqual(self.status(http), 200)
        self.assertGreaterEqual(
            self.proxy.metric('pqedge_retries_total{why="dead_connection"}'), 3)

    def test_no_connection_any_method(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        good = Scripted(self, answers(OK))
        self.proxy = self.edge(
            harness.pool(f"127.0.0.1:{port}", good.address, balance="round_robin")
            + harness.route(retries=0))
        for http in harness.ALL_VERSIONS:
            for _ in range(4):
                self.assertEqual(self.status(http, "-d", "x=1"), 200)
        self.assertEqual(good.count("POST"), 12)
        self.proxy.write_config(
            harness.pool(f"127.0.0.1:{port}", name="app") + harness.route(retry_on=[]))
        self.assertEqual(self.proxy.reload()[0], 200)
        for n, http in enumerate(harness.ALL_VERSIONS):
            self.assertEqual(self.status(http, path=f"/none{n}"), 502)
            self.assertEqual(self.last(f"/none{n}")["tries"], 1)

    # ---- how many ----

    def test_the_budget(self):
        origin = Scripted(self, answers(BUSY))
        self.proxy = self.edge(
            harness.pool(origin.address, retry_budget=0, retry_floor=1)
            + harness.route(retry_on=["503"], retries=1, retry_backoff="0s"))
        for http in harness.ALL_VERSIONS:
            for _ in range(10):
                self.assertEqual(self.status(http), 503)
        spent = self.proxy.metric('pqedge_retries_total{why="status"}')
        denied = self.proxy.metric("pqedge_retries_over_budget_total")
        # Ten in ten seconds; a test that takes longer may see the next ten.
        self.assertEqual(spent % 10, 0)
        self.assertEqual(spent + denied, 30)
        self.assertGreater(denied, 0)
        self.assertEqual(origin.count("GET"), 30 + spent)

    # ---- hedging ----

    def test_a_second_server_is_asked_when_the_first_is_silent(self):
        let_go = threading.Event()
        self.addCleanup(let_go.set)

        def stall(sock, *_):
            let_go.wait(harness.WAIT)
            return False

        slow, good = Scripted(self, stall), Scripted(self, answers(OK))
        self.proxy = self.edge(
            harness.pool(slow.address, good.address, balance="round_robin")
            + harness.route(hedge_after="50ms", retry_backoff="1ms"))
        for n, http in enumerate(harness.ALL_VERSIONS):
            before = slow.count("PUT")
            for k in range(2):
                self.assertEqual(
                    self.status(http, "-X", "PUT", "-d", "the body", path=f"/{n}{k}"), 200)
                self.assertEqual(good.seen[-1][1], b"the body")
            self.assertEqual(slow.count("PUT"), before + 1)
            tries = sorted(self.last(f"/{n}{k}")["tries"] for k in range(2))
            self.assertEqual(tries, [1, 2])
        self.assertEqual(self.proxy.metric('pqedge_hedges_total{won="second"}'), 3)

    def test_the_first_answer_wins_and_the_other_is_given_up(self):
        # The first answers once the second was asked, which never does.
        asked, gone = threading.Event(), threading.Event()

        def first(sock, *_):
            asked.wait(harness.WAIT)
            sock.sendall(OK)

        def second(sock, *_):
            asked.set()
            if sock.recv(1) == b"":
                gone.set()
            return False

        role = {}
        lock = threading.Lock()

        def act(sock, method, body, n):
            with lock:
                me = role.setdefault(threading.get_ident(), first if not role else second)
            return me(sock)

        both = [Scripted(self, act), Scripted(self, act)]
        self.proxy = self.edge(
            harness.pool(*[b.address for b in both], max_idle=0) +
            harness.route(hedge_after="20ms"))
        for http in harness.ALL_VERSIONS:
            role.clear()
            asked.clear()
            gone.clear()
            self.assertEqual(self.status(http), 200)
            self.assertTrue(gone.wait(harness.WAIT), "the loser was not given up")
        self.assertEqual(self.proxy.metric('pqedge_hedges_total{won="first"}'), 3)

    def test_a_post_is_not_hedged(self):
        def slowly(sock, *_):
            threading.Event().wait(0.15)
            sock.sendall(OK)

        both = [Scripted(self, slowly), Scripted(self, slowly)]
        self.proxy = self.edge(
            harness.pool(*[b.address for b in both]) + harness.route(hedge_after="10ms"))
        for http in harness.ALL_VERSIONS:
            self.assertEqual(self.status(http, "-d", "x=1"), 200)
        self.assertEqual(sum(b.count("POST") for b in both), 3)

    def test_a_hedge_whose_two_servers_fail(self):
        def fail(sock, *_):
            threading.Event().wait(0.1)
            reset(sock)
            return False

        both = [Scripted(self, fail), Scripted(self, fail)]
        self.proxy = self.edge(
            harness.pool(*[b.address for b in both], max_idle=0)
            + harness.route(hedge_after="20ms", retries=0))
        for http in harness.ALL_VERSIONS:
            self.assertEqual(self.status(http), 502)
        self.assertEqual(sum(b.count("GET") for b in both), 6)


if __name__ == "__main__":
    harness.main()
