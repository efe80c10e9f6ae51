# ctest: timeout=120
"""Which requests go again and which do not (R15, K51), hedging, and the budget."""

import contextlib
import socket
import struct
import threading

import batch
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
    def statuses(self, *args, times=4, path="/"):
        """Of `times` requests of each version, one after the other."""
        return batch.statuses(self.proxy, [(http, f"{path}{http}-{k}", *args)
                                           for http in harness.ALL_VERSIONS
                                           for k in range(times)])

    def tries(self, path="/"):
        """Of all requests for paths that begin so, by version."""
        found = {}
        for record in self.proxy.access():
            if record["path"].startswith(path):
                found.setdefault(record["http_version"], []).append(record["tries"])
        return found

    def wait_tries(self, count, path="/"):
        self.proxy.wait_access(count, lambda r: r["path"].startswith(path))
        return self.tries(path)

    # ---- what goes again ----

    def test_a_reset_before_an_answer(self):
        # A new connection each time, so that this is not about kept ones.
        bad, good = Scripted(self, resets), Scripted(self, answers(OK))
        self.proxy = self.edge(
            harness.pool(bad.address, good.address, max_idle=0, balance="round_robin",
                         retry_backoff="1ms") + harness.route())
        self.assertEqual(set(self.statuses(path="/get/")), {200})
        tries = self.wait_tries(12, "/get/")
        self.assertEqual([set(t) for t in tries.values()], [{1, 2}] * 3)
        self.assertEqual(sum(t.count(2) for t in tries.values()), bad.count("GET"))
        # K51: a POST that was read may have been processed.
        statuses = self.statuses("-d", "x=1")
        self.assertEqual(statuses.count(502), bad.count("POST"))
        for n in range(3):
            self.assertIn(502, statuses[4 * n:4 * n + 4])
        self.assertEqual(self.proxy.metric('pqedge_retries_total{why="reset"}'), bad.count("GET"))

    def test_a_post_where_the_route_says_so_with_its_body(self):
        bad, good = Scripted(self, resets), Scripted(self, answers(OK))
        self.proxy = self.edge(
            harness.pool(bad.address, good.address, max_idle=0, balance="round_robin")
            + harness.route(retry_any_method=True, retry_backoff="1ms", retry_body="100KiB"))
        for size in (1, 40_000, 90_000):
            body = self.directory / "body"
            body.write_bytes(bytes(i % 251 for i in range(size)))
            before, bad_before = len(good.seen), bad.count("POST")
            statuses = self.statuses("--data-binary", f"@{body}", "-H", "Expect:", times=2)
            self.assertEqual(set(statuses), {200})
            self.assertGreaterEqual(bad.count("POST"), bad_before + 3)
            self.assertEqual({b for _, b, _ in good.seen[before:]}, {body.read_bytes()})

    def test_a_body_that_is_not_kept_is_not_sent_again(self):
        bad, good = Scripted(self, resets), Scripted(self, answers(OK))
        self.proxy = self.edge(
            harness.pool(bad.address, good.address, max_idle=0, balance="round_robin")
            + harness.route(retry_any_method=True, retry_backoff="1ms", retry_body="1KiB"))
        body = self.directory / "body"
        body.write_bytes(b"x" * 5000)
        statuses = self.statuses("-T", body, "-H", "Expect:")
        self.assertEqual(statuses.count(502), bad.count("PUT"))
        for n in range(3):
            self.assertIn(502, statuses[4 * n:4 * n + 4])

    def test_statuses_that_are_named(self):
        busy, good = Scripted(self, answers(BUSY)), Scripted(self, answers(OK))
        pool = harness.pool(busy.address, good.address, balance="round_robin",
                            retry_backoff="1ms")
        self.proxy = self.edge(pool + harness.route(retry_on=["503"]))
        self.assertEqual(set(self.statuses(path="/get/")), {200})
        self.assertEqual([set(t) for t in self.wait_tries(12, "/get/").values()], [{1, 2}] * 3)
        statuses = self.statuses("-d", "x")
        self.assertEqual(statuses.count(503), busy.count("POST"))
        self.assertGreaterEqual(statuses.count(503), 3)
        self.proxy.write_config(pool + harness.route(retry_on=["504"]))
        self.assertEqual(self.proxy.reload()[0], 200)
        self.assertGreaterEqual(self.statuses().count(503), 3)

    def test_the_last_answer_is_the_clients_when_all_fail(self):
        busy = [Scripted(self, answers(BUSY)) for _ in range(2)]
        self.proxy = self.edge(
            harness.pool(*[b.address for b in busy]) +
            harness.route(retry_on=["5xx"], retries=3, retry_backoff="1ms"))
        for answer in batch.ask(self.proxy, [(http, "/") for http in harness.ALL_VERSIONS]):
            self.assertEqual((answer.status, answer.body), (503, b"busy"))
        self.assertEqual(list(self.wait_tries(3).values()), [[4]] * 3)

    def test_no_answer_in_time_where_it_is_named(self):
        quiet = threading.Event()
        self.addCleanup(quiet.set)
        slow = Scripted(self, lambda *_: quiet.wait(harness.WAIT) and False)
        good = Scripted(self, answers(OK))
        self.proxy = self.edge(
            harness.pool(slow.address, good.address, balance="round_robin")
            + harness.route(retry_on=["timeout"], response_timeout="200ms"))
        self.assertEqual(set(self.statuses(times=2)), {200})
        self.assertEqual([set(t) for t in self.wait_tries(6).values()], [{1, 2}] * 3)
        self.assertEqual(self.proxy.metric('pqedge_retries_total{why="timeout"}'), slow.count("GET"))

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
        requests = []
        for http in harness.ALL_VERSIONS:
            requests += [(http, "/")] * 4 + [(http, "/", "-d", "x=1"), (http, "/")]
        # The POST may have been processed: it is not sent twice, and the client is told.
        self.assertEqual(batch.statuses(self.proxy, requests), ([200] * 4 + [502, 200]) * 3)
        self.assertEqual(origin.count("POST"), 3)
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
        self.assertEqual(set(self.statuses("-d", "x=1")), {200})
        self.assertEqual(good.count("POST"), 12)
        self.proxy.write_config(
            harness.pool(f"127.0.0.1:{port}", name="app") + harness.route(retry_on=[]))
        self.assertEqual(self.proxy.reload()[0], 200)
        self.assertEqual(self.statuses(times=1, path="/none/"), [502] * 3)
        self.assertEqual(list(self.wait_tries(3, "/none/").values()), [[1]] * 3)

    # ---- how many ----

    def test_the_budget(self):
        origin = Scripted(self, answers(BUSY))
        self.proxy = self.edge(
            harness.pool(origin.address, retry_budget=50, retry_floor=0)
            + harness.route(retry_on=["503"], retries=1, retry_backoff="0s"))
        self.assertEqual(set(self.statuses(times=10)), {503})
        spent = self.proxy.metric('pqedge_retries_total{why="status"}')
        denied = self.proxy.metric("pqedge_retries_over_budget_total")
        self.assertEqual(spent + denied, 30)
        self.assertTrue(10 <= spent <= 20, spent)  # the half, of a window that moves
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
        self.assertEqual(set(self.statuses("-X", "PUT", "-d", "the body", times=2)), {200})
        self.assertEqual([b for _, b, _ in good.seen], [b"the body"] * 6)
        self.assertEqual(slow.count("PUT"), 3)
        self.assertEqual([sorted(t) for t in self.wait_tries(6).values()], [[1, 2]] * 3)
        self.assertEqual(self.proxy.metric('pqedge_hedges_total{won="second"}'), 3)

    def test_the_first_answer_wins_and_the_other_is_given_up(self):
        # The first answers once the second was asked, which never does.
        asked, gone = threading.Event(), threading.Event()

        def first(sock, *_):
            asked.wait(harness.WAIT)
            sock.sendall(OK)

        def second(sock, *_):
            asked.set()
            with contextlib.suppress(ConnectionError):  # closed, or reset
                self.assertEqual(sock.recv(1), b"")
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
            self.assertEqual(batch.statuses(self.proxy, [(http, "/")]), [200])
            self.assertTrue(gone.wait(harness.WAIT), "the loser was not given up")
        self.assertEqual(self.proxy.metric('pqedge_hedges_total{won="first"}'), 3)

    def test_a_post_is_not_hedged(self):
        def slowly(sock, *_):
            threading.Event().wait(0.15)
            sock.sendall(OK)

        both = [Scripted(self, slowly), Scripted(self, slowly)]
        self.proxy = self.edge(
            harness.pool(*[b.address for b in both]) + harness.route(hedge_after="10ms"))
        self.assertEqual(self.statuses("-d", "x=1", times=1), [200] * 3)
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
        self.assertEqual(self.statuses(times=1), [502] * 3)
        self.assertEqual(sum(b.count("GET") for b in both), 6)


if __name__ == "__main__":
    harness.main()
