"""What operators ordered and what was learned of servers goes on in the process that takes over (O3, U10)."""
# ctest: timeout=180

import json
import os
import signal

import batch
import harness
import successor
from harness import pool, route

QUICK = 'drain_linger = "200ms"\n'


class State(harness.TestCase):
    def named(self, name, status=b"200 OK"):
        """Answers with its name."""
        def serve(sock, number):
            reader = harness.RequestReader(sock)
            while reader.read() is not None:
                sock.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(name), name))
        return self.backend(serve)

    def order(self, edge, path, **body):
        status, text = self.ask(edge, path, body)
        self.assertEqual(status, 200, text)

    def ask(self, edge, path, body):
        done = harness.run("curl", "-sS", "--unix-socket", edge.control, "--data-binary", json.dumps(body),
                           "-w", "\n%{http_code}", f"http://localhost{path}")
        text, _, status = done.stdout.decode().rpartition("\n")
        return int(status or 0), text

    def servers(self, edge, name):
        status, text = edge.control_request(f"/backends/{name}", "GET")
        self.assertEqual(status, 200, text)
        return {s["address"]: s for s in json.loads(text)["servers"]}

    def canaries(self, edge):
        return {c["route"]: c for c in json.loads(edge.control_request("/canaries", "GET")[1])}

    def answers(self, edge, path, count=12, http="2"):
        done = edge.curl(path, *(x for _ in range(count - 1) for x in ("-o", "-", edge.url(path))), http=http)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def upgrade(self, edge):
        old = successor.upgrade(edge)
        self.assertEqual(old.wait(harness.WAIT), 0)
        successor.wait_alone(edge)

    def begin(self):
        self.a, self.b, self.c, self.d = (self.named(n) for n in (b"a", b"b", b"c", b"d"))
        self.bad = self.named(b"x", b"500 Broken")
        self.toml = (
            pool(self.a.address, self.b.address, self.d.address, balance="round_robin")
            + pool(self.bad.address, self.b.address, name="sick", balance="round_robin", retries=0)
            + '[pool.outlier]\nfailures = 1\neject = "1h"\nmax_eject = "1h"\n'
            + "".join(route(name=name, path=path) + f'[route.canary]\npool = "sick"\npercent = {percent}\n'
                      for name, path, percent in (("one", "/one", 5), ("two", "/two", 5), ("three", "/three", 5)))
            + route(name="sick", path_prefix="/sick", pool_name="sick") + route(name="app"))
        return self.edge(self.toml, server_toml=QUICK)

    def change(self, edge):
        self.order(edge, "/backends/app/add", address=self.c.address, weight=2)
        self.order(edge, "/backends/app/drain", server=self.a.address)
        self.order(edge, "/backends/app/remove", server=self.d.address)
        self.order(edge, "/backends/app/weight", server=self.b.address, weight=4)
        self.assertEqual(edge.control_request("/canaries/one?percent=100")[0], 200)
        self.assertEqual(edge.control_request("/canaries/two?percent=rollback")[0], 200)
        harness.wait_for(lambda: "x" not in self.answers(edge, "/sick", 4), "the ejection")

    def check(self, edge):
        app = self.servers(edge, "app")
        self.assertEqual(set(app), {self.a.address, self.b.address, self.c.address})
        self.assertTrue(app[self.a.address]["draining"])
        self.assertEqual((app[self.b.address]["weight"], app[self.b.address]["draining"]), (4, False))
        self.assertEqual((app[self.c.address]["weight"], app[self.c.address]["source"]), (2, "order"))
        sick = self.servers(edge, "sick")
        self.assertEqual(sick[self.bad.address]["state"], "ejected")
        self.assertEqual(sick[self.bad.address]["ejections"], 1)
        self.assertLess(sick[self.bad.address]["seconds_left"], 3600)
        self.assertEqual(sick[self.b.address]["state"], "up")
        canaries = self.canaries(edge)
        self.assertEqual({n: c["percent"] for n, c in canaries.items()}, {"one": 100, "two": 0, "three": 5})
        for http in harness.ALL_VERSIONS:
            seen = self.answers(edge, "/", http=http)
            self.assertEqual((seen.count("b"), seen.count("c")), (8, 4), seen)
            self.assertEqual(set(self.answers(edge, "/sick", http=http)), {"b"})
            self.assertEqual(set(self.answers(edge, "/one", http=http)), {"b"})  # its canary's pool

    def test_orders_canaries_and_ejections_go_on(self):
        edge = self.begin()
        self.change(edge)
        self.check(edge)
        for _ in range(2):
            self.upgrade(edge)
            self.check(edge)
        self.assertIn("as before the upgrade: 1 failures in a row",
                      self.servers(edge, "sick")[self.bad.address]["reason"])
        # They can be changed there as before.
        self.order(edge, "/backends/app/ready", server=self.a.address)
        self.order(edge, "/backends/app/add", address=self.d.address)
        self.order(edge, "/backends/sick/reset", server=self.bad.address)
        self.assertEqual(edge.control_request("/canaries/one?percent=5")[0], 200)
        self.upgrade(edge)
        self.assertEqual(set(self.answers(edge, "/", 20)), set("abcd"))
        self.assertEqual(self.canaries(edge)["one"]["percent"], 5)

    def test_clients_stay_with_their_servers(self):
        names = [self.named(n) for n in (b"a", b"b", b"c")]
        toml = pool(*(s.address for s in names), balance="round_robin", affinity="header:x-user") + route()
        edge = self.edge(toml, server_toml=QUICK)
        requests = [(version, "/", "-H", f"x-user: {version}-{n}") for version in harness.ALL_VERSIONS for n in range(6)]
        before = [a.body for a in batch.ask(edge, requests)]
        self.assertEqual(set(before), {b"a", b"b", b"c"})
        self.upgrade(edge)
        # In another order: each would get another server if it were new.
        after = [a.body for a in batch.ask(edge, requests[::-1])][::-1]
        self.assertEqual(after, before)
        # By something else they are tied anew.
        edge.write_config(toml.replace("x-user", "x-other"))
        self.upgrade(edge)
        self.assertEqual({a.status for a in batch.ask(edge, requests)}, {200})

    def test_what_another_configuration_is_about_is_dropped(self):
        edge = self.begin()
        self.change(edge)
        edge.write_config(self.toml.replace(f', "{self.d.address}"', "").replace("percent = 5", "percent = 6"))
        self.upgrade(edge)
        app = self.servers(edge, "app")
        self.assertEqual({a: (s["weight"], s["draining"]) for a, s in app.items()},
                         {self.a.address: (1, False), self.b.address: (1, False)})
        self.assertEqual({c["percent"] for c in self.canaries(edge).values()}, {6})
        # What is known of a server is of the server.
        self.assertEqual(self.servers(edge, "sick")[self.bad.address]["state"], "ejected")
        log = edge.log()
        self.assertIn("pool 'app': its servers are others in the configuration now", log)
        self.assertIn("route one: its canary is another in the configuration now", log)

    def test_an_order_while_the_new_process_starts_is_refused(self):
        binary, fifo = self.directory / "pqedge", self.directory / "fifo"
        os.mkfifo(fifo)
        os.symlink(os.path.abspath(harness.PQEDGE), binary)
        real, harness.PQEDGE = harness.PQEDGE, str(binary)
        try:
            edge = self.begin()
        finally:
            harness.PQEDGE = real
        binary.unlink()
        binary.write_text(f"#!/bin/sh\nread line <'{fifo}'\nexit 7\n")  # starts for as long as it is let
        binary.chmod(0o755)
        edge.send_signal(signal.SIGUSR2)
        with open(fifo, "w", encoding="ascii") as go_on:  # opens when the other end is: it runs
            status, text = self.ask(edge, "/backends/app/drain", {"server": self.a.address})
            self.assertEqual(status, 409, text)
            self.assertIn("an upgrade is under way", text)
            self.assertEqual(edge.control_request("/canaries/one?percent=50")[0], 422)
            go_on.write("end\n")
        harness.wait_for(lambda: "serves on" in edge.log(), "the end of the upgrade")
        self.order(edge, "/backends/app/drain", server=self.a.address)
        self.assertTrue(self.servers(edge, "app")[self.a.address]["draining"])


if __name__ == "__main__":
    harness.main()
