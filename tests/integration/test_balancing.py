"""Which server of a pool gets a request (U2, U3, U6), from clients of each version."""
# ctest: timeout=120

import collections
import itertools
import json
import subprocess
import threading

import harness
from balancing import Keep, Named, pool
from load import Load
from revocation import recipe


class Balancing(harness.TestCase):
    def named(self, names, **kwargs):
        made = {n: Named(n, **kwargs) for n in names}
        for b in made.values():
            self.addCleanup(b.stop)
        return made

    def names(self, count, *args, http="2", edge=None):
        """Who answered `count` requests on one connection."""
        done = (edge or self.proxy).curl(f"/[1-{count}]", *args, http=http)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().split()

    def start(self, toml, **kwargs):
        self.proxy = self.edge(toml + harness.route(), **kwargs)
        return self.proxy

    def background(self, path, http, *args):
        """A curl that runs on; its output is its status."""
        version = {"1.1": "--http1.1", "2": "--http2", "3": "--http3-only"}[http]
        p = subprocess.Popen(
            ["curl", "-sS", "-k", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "60",
             version, *args, f"https://127.0.0.1:{self.proxy.port}{path}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def end():
            if p.poll() is None:
                p.kill()
            p.communicate()

        self.addCleanup(end)
        return p

    def waiting(self):
        return self.proxy.metrics().get('pqedge_pool_queue_waiting{pool="app"}', 0)

    # ---- algorithms ----

    def test_turns_follow_the_weights_over_all_workers(self):
        b = self.named("ab")
        self.start(pool((b["a"].address, {"weight": 3}), b["b"].address, balance="round_robin"),
                   workers=4)
        for http in harness.ALL_VERSIONS:
            seen = []
            threads = [threading.Thread(target=lambda: seen.extend(self.names(50, http=http)))
                       for _ in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            count = collections.Counter(seen)
            self.assertEqual(count.total(), 400)
            self.assertAlmostEqual(count["a"], 300, delta=20, msg=f"{http}: {count}")

    def test_fewest_requests_in_flight_over_all_workers(self):
        b = self.named("ab")
        self.start(pool(b["a"].address, b["b"].address), workers=4)  # the default
        busy = lambda: b["a"].busy + b["b"].busy
        held = []
        for n, http in zip(range(12), itertools.cycle(harness.ALL_VERSIONS)):
            held.append(self.background("/hold", http))
            harness.wait_for(lambda: busy() == n + 1, f"request {n + 1} to arrive")
            self.assertLessEqual(abs(b["a"].busy - b["b"].busy), 1)
        self.assertEqual((b["a"].busy, b["b"].busy), (6, 6))
        b["a"].let_go(6)
        harness.wait_for(lambda: b["a"].busy == 0, "a to be free")
        harness.wait_for(lambda: self.active("a", b) == 0, "its requests to be over")
        for http in harness.ALL_VERSIONS:
            self.assertEqual(set(self.names(5, http=http)), {"a"})
        b["b"].let_go(6)
        for p in held:
            self.assertEqual(p.communicate(timeout=harness.WAIT)[0], b"200")

    def active(self, name, backends):
        """Requests that the edge has at a server: those it began less those it has recorded."""
        address = backends[name].address
        begun = self.proxy.metrics()[
            f'pqedge_backend_requests_total{{pool="app",server="{address}"}}']
        return begun - len([r for r in self.proxy.access() if r.get("backend") == address])

    def test_weights_of_two_random_choices(self):
        b = self.named("abc")
        self.start(pool((b["a"].address, {"weight": 2}), b["b"].address, b["c"].address,
                        balance="random_two"), workers=2)
        seen = collections.Counter(itertools.chain.from_iterable(
            self.names(200, http=http) for http in harness.ALL_VERSIONS))
        # 600 draws with a half: five standard deviations are 61.
        self.assertAlmostEqual(seen["a"], 300, delta=61, msg=str(seen))
        self.assertGreater(min(seen["b"], seen["c"]), 80)

    def test_two_random_choices_leave_the_busy_alone(self):
        b = self.named("ab")
        self.start(pool(b["a"].address, b["b"].address, balance="random_two"), workers=2)
        held = []
        while b["a"].busy < 3:  # some go to b as well: they are let go
            held.append(self.background("/hold", "2"))
            n = len(held)
            harness.wait_for(lambda: len(b["a"].seen) + len(b["b"].seen) == n, "it to arrive")
            b["b"].let_go(b["b"].busy)
            harness.wait_for(lambda: b["b"].busy == 0, "b to be free")
        for http in harness.ALL_VERSIONS:
            seen = collections.Counter(self.names(40, http=http))
            self.assertGreater(seen["b"], seen["a"], str(seen))  # a: only drawn twice, a quarter
        b["a"].let_go(10)

    def test_least_time_prefers_the_fast(self):
        b = self.named("a") | self.named("b", delay=0.05)
        self.start(pool(b["a"].address, b["b"].address, balance="least_time"))
        for http in harness.ALL_VERSIONS:
            self.names(4, http=http)  # both were measured then
            self.assertEqual(set(self.names(20, http=http)), {"a"})

    def keys_of(self, edge, count, **fields):
        keep = Keep(edge)
        try:
            return {n: keep.name(x_user=f"user-{n}") for n in range(count)}
        finally:
            keep.close()

    def test_a_key_belongs_to_one_server_until_it_goes(self):
        b = self.named("abc")
        edge = self.start(pool(*[s.address for s in b.values()], balance="hash",
                               hash_by="header:X-User"), workers=2)
        before = self.keys_of(edge, 90)
        share = collections.Counter(before.values())
        self.assertEqual(len(share), 3, "every server has keys")
        for http in harness.ALL_VERSIONS:
            for n in range(6):
                self.assertEqual(set(self.names(2, "-H", f"x-user: user-{n}", http=http)), {before[n]})
        gone = before[0]
        port = b[gone].port
        b[gone].stop()
        after = self.keys_of(edge, 90)
        moved = {n for n in before if before[n] != after[n]}
        self.assertEqual(moved, {n for n in before if before[n] == gone})
        self.assertEqual(len({after[n] for n in moved}), 2, "they are spread over those left")
        back = Named(gone, port)
        self.addCleanup(back.stop)
        harness.wait_for(lambda: self.keys_of(edge, 90) == before, "the keys to come back")

    def test_other_keys(self):
        b = self.named("abc")
        edge = self.start(pool(*[s.address for s in b.values()], balance="hash",
                               hash_by="cookie:sid"))
        keep = Keep(edge)
        owners = {n: keep.name(Cookie=f"x=1; sid=s{n}; y=2") for n in range(30)}
        self.assertEqual(len(set(owners.values())), 3)
        for http in harness.ALL_VERSIONS:
            self.assertEqual(set(self.names(5, "-b", "sid=s7", http=http)), {owners[7]})
            self.assertEqual(len(set(self.names(6, http=http))), 3, "without the cookie in turn")
        keep.close()
        edge.write_config(pool(*[s.address for s in b.values()], balance="hash",
                               hash_by="client_ip") + harness.route())
        self.assertEqual(edge.reload()[0], 200)
        names = {n for http in harness.ALL_VERSIONS for n in self.names(5, http=http)}
        self.assertEqual(len(names), 1, "all come from one address")

    # ---- affinity ----

    def test_a_cookie_ties_a_client_to_its_server(self):
        b = self.named("abc")
        toml = pool(*[s.address for s in b.values()], balance="round_robin", affinity="cookie",
                    affinity_cookie="srv", affinity_ttl="1h")
        edge = self.start(toml, workers=2)
        for http in harness.ALL_VERSIONS:
            _, fields, body = edge.get(http=http)
            cookie = fields["set-cookie"][0]
            self.assertRegex(cookie, r"^srv=[0-9a-f]{16}-[0-9a-f]+; Path=/; HttpOnly; SameSite=Lax; "
                                     r"Max-Age=3600; Secure$")
            value = cookie.split(";")[0]
            owner = body.decode().strip()
            self.assertEqual(set(self.names(9, "-b", value, http=http)), {owner})
            _, fields, _ = edge.get("/", "-b", value, http=http)
            self.assertNotIn("set-cookie", fields, "it has one")
            # Whose time is over, and what is none of ours, ties to nobody.
            member = value[4:20]
            for foreign in (f"srv={member}-1", "srv=nonsense", f"srv={'0' * 16}"):
                self.assertEqual(len(set(self.names(6, "-b", foreign, http=http))), 3)
        # A reload keeps it, also with servers in another order.
        edge.write_config(pool(*[s.address for s in reversed(b.values())], balance="round_robin",
                               affinity="cookie", affinity_cookie="srv") + harness.route())
        self.assertEqual(edge.reload()[0], 200)
        self.assertEqual(set(self.names(9, "-b", value)), {owner})
        # The server goes: another one, and its cookie.
        b[owner].stop()
        for http in harness.ALL_VERSIONS:
            status, fields, body = edge.get("/", "-b", value, http=http)
            self.assertEqual(status, 200)
            self.assertNotEqual(body.decode().strip(), owner)
            self.assertNotEqual(fields["set-cookie"][0].split(";")[0], value)
            self.assertNotIn("Max-Age", fields["set-cookie"][0], "the browser's session")

    def test_a_table_ties_clients_by_a_field(self):
        b = self.named("abc")
        toml = pool(*[s.address for s in b.values()], balance="round_robin",
                    affinity="header:X-Session")
        edge = self.start(toml, workers=3)
        for n, http in enumerate(harness.ALL_VERSIONS):
            tied = ("-H", f"x-session: {n}")
            owner = self.names(1, *tied, http=http)[0]
            for again in harness.ALL_VERSIONS:
                self.assertEqual(set(self.names(5, *tied, http=again)), {owner})
            self.assertEqual(edge.reload()[0], 200)
            self.assertEqual(set(self.names(5, *tied, http=http)), {owner})
            self.assertEqual(len(set(self.names(6, http=http))), 3, "who has none takes turns")

    def test_a_table_ties_clients_by_address(self):
        b = self.named("ab")
        self.start(pool(b["a"].address, b["b"].address, balance="round_robin",
                        affinity="client_ip") +
                   '[identity]\ntrusted_proxies = ["127.0.0.0/8"]\n', workers=2)
        owners = {}
        for n in range(8):
            client = ("-H", f"x-forwarded-for: 192.0.2.{n}")
            for http in harness.ALL_VERSIONS:
                for name in self.names(2, *client, http=http):
                    self.assertEqual(owners.setdefault(n, name), name)
        self.assertEqual(set(owners.values()), {"a", "b"})

    def test_a_drained_server_keeps_its_clients(self):
        b = self.named("ab")
        edge = self.start(pool(b["a"].address, b["b"].address, balance="round_robin",
                               affinity="cookie"), workers=2)
        cookies = {}
        while len(cookies) < 2:
            _, fields, body = edge.get("/")
            cookies[body.decode().strip()] = fields["set-cookie"][0].split(";")[0]
        self.order("drain", b["a"].address)
        harness.wait_for(lambda: set(self.names(6)) == {"b"}, "a to be drained on every worker")
        for http in harness.ALL_VERSIONS:
            self.assertEqual(set(self.names(6, http=http)), {"b"})
            self.assertEqual(set(self.names(4, "-b", cookies["a"], http=http)), {"a"})

    def order(self, order, address):
        done = harness.run("curl", "-sS", "-f", "--unix-socket", self.proxy.control, "--data-binary",
                           json.dumps({"server": address}),
                           f"http://localhost/backends/app/{order}")
        self.assertEqual(done.returncode, 0, done.stderr)

    # ---- limits, queue, failover ----

    def test_the_queue_is_one_over_all_workers_and_has_a_depth(self):
        b = self.named("a")
        self.start(pool(b["a"].address, max_requests=1, queue=2), workers=2)
        for http in harness.ALL_VERSIONS:
            before = len(b["a"].seen)
            first = self.background("/hold/1", http)
            harness.wait_for(lambda: b["a"].busy == 1, "the first to arrive")
            held = [first]
            for n in (2, 3):
                held.append(self.background(f"/hold/{n}", http))
                harness.wait_for(lambda: self.waiting() == n - 1, f"{n} to wait")
            status, fields, _ = self.proxy.get("/hold/4", http=http)
            self.assertEqual(status, 503)
            record = self.proxy.wait_access(1, lambda r: r["request_id"] ==
                                            fields["x-request-id"][0])[0]
            self.assertIn("the queue is full", record["reason"])
            for n in (1, 2, 3):
                b["a"].let_go()
                harness.wait_for(lambda: held[n - 1].poll() is not None, f"{n} to end")
            self.assertEqual([p.communicate()[0] for p in held], [b"200"] * 3)
            self.assertEqual(b["a"].seen[before:], ["/hold/1", "/hold/2", "/hold/3"])
            self.assertEqual(self.waiting(), 0)
        self.assertEqual(b["a"].most, 1)

    def test_a_client_that_leaves_leaves_the_queue(self):
        b = self.named("a")
        self.start(pool(b["a"].address, max_requests=1, queue=1), workers=2)
        for http in harness.ALL_VERSIONS:
            held = self.background("/hold", http)
            harness.wait_for(lambda: b["a"].busy == 1, "it to arrive")
            # Its own time limit, since a killed curl would leave QUIC without a word.
            self.background("/hold/leaver", http, "--max-time", "1")
            harness.wait_for(lambda: self.waiting() == 1, "the other to wait")
            harness.wait_for(lambda: self.waiting() == 0, "the queue to be empty")
            b["a"].let_go()
            self.assertEqual(held.communicate(timeout=harness.WAIT)[0], b"200")
        self.assertNotIn("/hold/leaver", b["a"].seen)

    def test_the_time_in_the_queue_ends(self):
        b = self.named("a")
        self.start(pool(b["a"].address, max_requests=1, queue=5, queue_timeout="200ms"))
        held = self.background("/hold", "2")
        harness.wait_for(lambda: b["a"].busy == 1, "it to arrive")
        for http in harness.ALL_VERSIONS:
            status, fields, _ = self.proxy.get("/", http=http)
            self.assertEqual(status, 503)
            record = self.proxy.wait_access(1, lambda r: r["request_id"] ==
                                            fields["x-request-id"][0])[0]
            self.assertIn("the queue's time has passed", record["reason"])
        b["a"].let_go()
        self.assertEqual(held.communicate(timeout=harness.WAIT)[0], b"200")
        self.assertEqual(self.proxy.get("/")[0], 200)

    def test_without_a_queue_the_answer_is_503_at_once(self):
        b = self.named("a")
        self.start(pool(b["a"].address, max_requests=1), workers=2)
        held = self.background("/hold", "1.1")
        harness.wait_for(lambda: b["a"].busy == 1, "it to arrive")
        for http in harness.ALL_VERSIONS:
            self.assertEqual(self.proxy.get("/", http=http)[0], 503)
        b["a"].let_go()
        self.assertEqual(held.communicate(timeout=harness.WAIT)[0], b"200")

    def test_the_maximum_of_requests_holds_over_all_workers(self):
        b = self.named("a", delay=0.001)
        edge = self.start(pool(b["a"].address, max_requests=3, queue=1000), workers=4)
        loads = [Load(self, edge, "h1", "-c", "8"), Load(self, edge, "h2", "-c", "4", "-m", "4"),
                 Load(self, edge, "h3", "-c", "4", "-m", "4")]
        harness.wait_for(lambda: len(b["a"].seen) > 1000, "load")
        for load in loads:
            record = load.stop()
            self.assertGreater(record["requests"], 0)
            self.assertEqual(record["failures"], {})
        self.assertLessEqual(b["a"].most, 3)

    def test_a_connection_that_another_worker_keeps_is_not_in_the_way(self):
        b = self.named("a")
        edge = self.start(pool(b["a"].address, max_connections=1, queue=10, queue_timeout="1m"),
                          workers=4)
        for http in harness.ALL_VERSIONS * 5:  # each from a worker that chance chooses
            self.assertEqual(edge.get("/", http=http)[0], 200)
        self.assertEqual(b["a"].most, 1)

    def test_failover_by_priority(self):
        b = self.named("abc")
        edge = self.start(pool(b["a"].address, b["b"].address, (b["c"].address, {"priority": 1}),
                               balance="round_robin"))
        for http in harness.ALL_VERSIONS:
            self.assertEqual(set(self.names(6, http=http)), {"a", "b"})
        ports = {n: b[n].port for n in "ab"}
        b["a"].stop()
        for http in harness.ALL_VERSIONS:
            self.assertEqual(set(self.names(6, http=http)), {"b"})
        b["b"].stop()
        for http in harness.ALL_VERSIONS:
            self.assertEqual(set(self.names(6, http=http)), {"c"})
        back = Named("a", ports["a"])
        self.addCleanup(back.stop)
        harness.wait_for(lambda: set(self.names(6)) == {"a"}, "a to be back")

    def test_a_server_that_comes_back_gets_its_share_slowly(self):
        b = self.named("ab")
        for ramp, least, most in (("1h", 1, 12), ("0s", 25, 35)):
            edge = self.start(pool(b["a"].address, b["b"].address, balance="round_robin",
                                   slow_start=ramp)
                              + 'outlier = { failures = 1, eject = "100ms", max_eject = "100ms" }\n')
            for http in harness.ALL_VERSIONS:
                b["b"].status = 500
                harness.wait_for(lambda: "b" in self.names(4, http=http), "b to fail")
                b["b"].status = 200
                harness.wait_for(lambda: "b" in self.names(2, http=http), "b to be back")
                seen = collections.Counter(self.names(60, http=http))
                self.assertTrue(least <= seen["b"] <= most, f"{ramp}, {http}: {seen}")
            self._end_edge(edge)

    def test_a_weight_of_zero_serves_only_who_is_tied(self):
        b = self.named("ab")
        toml = pool((b["a"].address, {"id": "first"}), b["b"].address, balance="round_robin",
                    affinity="cookie")
        edge = self.start(toml)
        cookies = {}
        for _ in range(2):
            _, fields, body = edge.get("/")
            cookies[body.decode().strip()] = fields["set-cookie"][0].split(";")[0]
        edge.write_config(toml.replace('id = "first"', 'id = "first", weight = 0')
                          + harness.route())
        self.assertEqual(edge.reload()[0], 200)
        for http in harness.ALL_VERSIONS:
            self.assertEqual(set(self.names(6, http=http)), {"b"})
            self.assertEqual(set(self.names(3, "-b", cookies["a"], http=http)), {"a"})

    # ---- the recipes ----

    def test_sticky_sessions_as_the_recipe_says(self):
        b = self.named("abcdef")
        at = {n: s.address for n, s in b.items()}
        blocks = recipe("sticky-sessions", {
            "10.0.0.7:9000": at["a"], "10.0.0.8:9000": at["b"], "10.0.0.7:9100": at["c"],
            "10.0.0.8:9100": at["d"], "10.0.0.7:9200": at["e"], "10.0.0.8:9200": at["f"]})
        self.assertEqual(len(blocks), 3)
        self.proxy = self.edge("".join(blocks), workers=2)
        for http in harness.ALL_VERSIONS:
            _, fields, body = self.proxy.get("/", http=http)
            value = fields["set-cookie"][0].split(";")[0]
            self.assertRegex(value, "^srv=")
            self.assertEqual(set(self.names(5, "-b", value, http=http)), {body.decode().strip()})
            for path, field in (("/api/", "x-session: 9"), ("/carts/", "cookie: sid=9")):
                names = {self.proxy.get(path, "-H", field, http=http)[2] for _ in range(4)}
                self.assertEqual(len(names), 1, path)

    def test_failover_as_the_recipe_says(self):
        b = self.named("abcdef")
        at = {n: s.address for n, s in b.items()}
        blocks = recipe("failover", {
            "10.0.0.7:9000": at["a"], "10.0.0.8:9000": at["b"], "10.1.0.7:9000": at["c"],
            "10.2.0.7:9000": at["d"], "10.0.0.7:9100": at["e"], "10.0.0.8:9100": at["f"]})
        self.assertEqual(len(blocks), 2)
        self.proxy = self.edge("".join(blocks), workers=2)
        for gone, left in (("", {"a", "b"}), ("a", {"b"}), ("b", {"c"}), ("c", {"d"})):
            if gone:
                b[gone].stop()
            for http in harness.ALL_VERSIONS:
                self.assertLessEqual(set(self.names(6, http=http)), left)
        self.assertIn(self.proxy.get("/reports/")[2], (b"e\n", b"f\n"))

    # ---- configuration ----

    def test_what_makes_no_sense_is_refused(self):
        for settings, message in {
            'balance = "fastest"': '"fastest"',
            'hash_by = "client_ip"': 'has no effect without balance = "hash"',
            'balance = "hash"\nhash_by = "path"': '"client_ip", "header:NAME" or "cookie:NAME"',
            'balance = "hash"\nhash_by = "header:a b"': "is not the name of a header field",
            'balance = "hash"\nslow_start = "10s"': "slow_start",
            'affinity = "ip"': '"off", "cookie", "client_ip" or "header:NAME"',
            'affinity = "cookie"\naffinity_cookie = "a;b"': "is not the name of a cookie",
            'affinity_ttl = "1h"': "has no effect without affinity",
            'affinity = "cookie"\naffinity_entries = 100': "has no effect without",
            'queue = 10': "the servers have no maximum",
            'queue_timeout = "1s"': "has no effect without queue",
            'max_requests = 1\nqueue = 1000000': "too large",
        }.items():
            with self.subTest(settings):
                done = self.check(f'servers = ["127.0.0.1:1"]\n{settings}\n')
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr.decode() + done.stdout.decode(), r"edge\.toml:\d+:\d+")
                self.assertIn(message, done.stderr.decode() + done.stdout.decode())
        for entries, message in {
            '{ address = "127.0.0.1:1", weight = 1001 }': "too large",
            '{ address = "127.0.0.1:1", weight = 0 }': "all have the weight 0",
            '{ address = "127.0.0.1:1", wieght = 2 }': "wieght",
            '{ address = "127.0.0.1:1", id = "x" }, { address = "127.0.0.1:2", id = "x" }':
                "is the id of another server",
        }.items():
            with self.subTest(entries):
                done = self.check(f"servers = [{entries}]\n")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(message, done.stderr.decode() + done.stdout.decode())

    def check(self, text):
        path = self.directory / "edge.toml"
        path.write_text('version = 1\n[[listener]]\naddress = "127.0.0.1:8080"\ntls = false\n'
                        f'[[pool]]\nname = "app"\n{text}' + harness.route())
        return harness.run(harness.PQEDGE, "check", path)


if __name__ == "__main__":
    harness.main()
