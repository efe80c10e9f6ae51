"""Servers that come and go while pqedge runs: orders, DNS, files (U8, U10, O4)."""
# ctest: timeout=180

import json
import os
import threading

import harness
from harness import pool, route
from knot import Knot


class Named(harness.Backend):
    """Answers with its name; on a loopback address of its own."""

    def __init__(self, name, host="127.0.0.1", port=None):
        self.name = name.encode()
        self.served = 0
        self.gate = threading.Event()
        self.gate.set()
        self.host = host
        super().__init__(self._serve, port) if host == "127.0.0.1" else self._at(host, port)

    def _at(self, host, port):
        import socket
        create = socket.create_server
        socket.create_server = lambda address, **kw: create((host, address[1]), **kw)
        try:
            super().__init__(self._serve, port)
        finally:
            socket.create_server = create

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def _serve(self, sock, number):
        reader = harness.RequestReader(sock)
        while reader.read() is not None:
            self.served += 1
            self.gate.wait(harness.WAIT)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" %
                         (len(self.name), self.name))


class Members(harness.TestCase):
    def named(self, name, *args, **kwargs):
        b = Named(name, *args, **kwargs)
        self.addCleanup(b.stop)
        return b

    def control(self, edge, method, path, body=None):
        """(status, text) over the control socket."""
        data = () if body is None else ("--data-binary", json.dumps(body))
        done = harness.run("curl", "-sS", "--unix-socket", edge.control, "-X", method, *data,
                           "-w", "\n%{http_code}", f"http://localhost{path}")
        text, _, status = done.stdout.decode().rpartition("\n")
        return int(status or 0), text

    def order(self, edge, order, **body):
        status, text = self.control(edge, "POST", f"/backends/app/{order}", body)
        self.assertEqual(status, 200, text)
        return text

    def servers(self, edge, name="app"):
        status, text = self.control(edge, "GET", f"/backends/{name}")
        self.assertEqual(status, 200, text)
        return {s["address"]: s for s in json.loads(text)["servers"]}

    def answers(self, edge, count=12, http="2"):
        done = edge.curl("/", *(x for _ in range(count - 1) for x in ("-o", "-", edge.url("/"))),
                         http=http)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def wait_answers(self, edge, names, versions=(), count=12):
        """Requests are served by exactly these from now on; `versions` are tried too."""
        harness.wait_for(lambda: set(self.answers(edge, count)) == set(names), f"servers {names}")
        for http in versions:
            self.assertEqual(set(self.answers(edge, count, http=http)), set(names), http)

    # ---- orders ----

    def test_weight_drain_add_remove(self):
        a, b, c = (self.named(n) for n in "abc")
        toml = pool(a.address, b.address, balance="round_robin") + route()
        edge = self.edge(toml, workers=2)
        self.wait_answers(edge, "ab")
        self.order(edge, "add", address=c.address, weight=2)
        self.wait_answers(edge, "abc")
        self.assertEqual(self.servers(edge)[c.address]["source"], "order")
        self.order(edge, "drain", server=a.address)
        self.wait_answers(edge, "bc", harness.ALL_VERSIONS)
        self.assertTrue(self.servers(edge)[a.address]["draining"])
        # It holds over a reload that leaves the pool as it was; and b and c share one to two.
        edge.write_config(toml + '[limits]\nmax_requests = 5000\n')
        self.assertEqual(edge.reload()[0], 200)
        self.wait_answers(edge, "bc")
        seen = self.answers(edge, 30)
        self.assertTrue(seen.count("c") == 2 * seen.count("b"), seen)
        self.order(edge, "ready", server=a.address)
        self.wait_answers(edge, "abc")
        self.order(edge, "weight", server=b.address, weight=0)
        self.wait_answers(edge, "ac")
        self.order(edge, "remove", server=a.address)
        self.wait_answers(edge, "c", harness.ALL_VERSIONS)
        self.assertNotIn(a.address, self.servers(edge))
        self.order(edge, "add", address=a.address)
        self.wait_answers(edge, "ac")
        # Another definition: what was changed at run time is gone.
        edge.write_config(pool(b.address, balance="round_robin") + route())
        self.assertEqual(edge.reload()[0], 200)
        self.wait_answers(edge, "b")
        self.assertIn("is dropped", harness.wait_for(
            lambda: edge.log() if "is dropped" in edge.log() else None, "the log"))

    def test_a_list_by_order_and_what_is_refused(self):
        a, b = self.named("a"), self.named("b")
        edge = self.edge(pool(a.address) + route())
        put = lambda body: self.control(edge, "PUT", "/backends/app/servers", body)  # noqa: E731
        self.assertEqual(put([b.address, {"address": "127.0.0.1:9", "weight": 0}])[0], 200)
        self.wait_answers(edge, "ab")
        self.assertEqual(len(self.servers(edge)), 3)
        for bad in (["a.test:80"], [1], {"servers": 1}, ["127.0.0.1:0"]):
            self.assertEqual(put(bad)[0], 400, bad)
        self.assertEqual(len(self.servers(edge)), 3)
        self.assertEqual(put([])[0], 200)
        self.wait_answers(edge, "a")
        refused = [("POST", "/backends/nobody/drain", {"server": a.address}, 404),
                   ("POST", "/backends/app/drain", {"server": b.address}, 404),
                   ("POST", "/backends/app/add", {"address": a.address}, 409),
                   ("POST", "/backends/app/weight", {"server": a.address, "weight": 5000}, 400),
                   ("POST", "/backends/app/weight", {"server": a.address}, 400),
                   ("GET", "/backends/nobody", None, 404),
                   ("DELETE", "/backends/app/servers", None, 405)]
        for method, path, body, status in refused:
            got, text = self.control(edge, method, path, body)
            self.assertEqual(got, status, (path, text))
        every = json.loads(self.control(edge, "GET", "/backends")[1])
        self.assertEqual([p["pool"] for p in every], ["app"])
        self.assertEqual(every[0]["servers"][0]["total"]["requests"], a.served)

    def test_a_request_that_runs_keeps_its_server(self):
        a, b = self.named("a"), self.named("b")
        edge = self.edge(pool(a.address) + route())
        a.gate.clear()
        results = []
        threads = [threading.Thread(target=lambda h=h: results.append(
            edge.curl("/", http=h).stdout)) for h in harness.ALL_VERSIONS]
        for t in threads:
            t.start()
        harness.wait_for(lambda: a.served == 3, "three requests")
        self.order(edge, "add", address=b.address)
        self.order(edge, "remove", server=a.address)
        self.wait_answers(edge, "b")
        a.gate.set()
        for t in threads:
            t.join()
        self.assertEqual(results, [b"a"] * 3)

    def test_orders_over_tcp_need_the_token(self):
        a, b = self.named("a"), self.named("b")
        secret = "0123456789abcdef0123456789abcdef"
        file = self.directory / "token"
        file.write_text(secret + "\n")
        file.chmod(0o644)
        toml = pool(a.address) + route()
        edge = self.edge(toml)
        edge._head = edge._head.replace("[admin]", f'[admin]\ntoken_file = "{file}"')
        edge.write_config(toml)

        def over_tcp(token, method="POST", path="/backends/app/add"):
            fields = () if token is None else ("-H", f"Authorization: Bearer {token}")
            done = harness.run("curl", "-sS", "-X", method, "--data-binary", json.dumps(b.address),
                               *fields, "-w", "\n%{http_code}", "-o", "-",
                               f"http://127.0.0.1:{edge.admin_port}{path}")
            return int(done.stdout.decode().rpartition("\n")[2])

        self.assertEqual(over_tcp(secret), 404)  # no token was configured
        status, text = edge.reload()
        self.assertIn("other users can read it", text)
        self.assertEqual(over_tcp(secret), 404)
        file.chmod(0o600)
        self.assertEqual(edge.reload()[0], 200)
        for wrong in (None, "", secret[:-1], secret + "0"):
            self.assertEqual(over_tcp(wrong), 401)
        self.assertEqual(over_tcp(None, "GET", "/backends"), 401)
        self.assertEqual(over_tcp(None, "POST", "/reload"), 401)
        self.assertEqual(set(self.servers(edge)), {a.address})
        self.assertEqual(over_tcp(None, "GET", "/healthz"), 200)
        self.assertEqual(over_tcp(secret, "GET", "/backends"), 200)
        self.assertEqual(over_tcp(secret), 200)
        self.wait_answers(edge, "ab")
        self.assertNotIn(secret, edge.log())

    # ---- discovery ----

    def test_addresses_of_dns(self):
        knot = Knot(self.directory)
        self.addCleanup(knot.kill)
        a = self.named("a", "127.0.0.2")
        b = self.named("b", "127.0.0.3", a.port)
        c = self.named("c", "127.0.0.4", a.port)
        knot.change({"app": ["A 127.0.0.2", "A 127.0.0.3"]})
        toml = ('[[pool]]\nname = "app"\nbalance = "round_robin"\ndiscovery = { dns = "app.test", '
                f'port = {a.port}, resolvers = ["127.0.0.1:{knot.port}"], min_ttl = "100ms", '
                'timeout = "500ms" }\n' + route())
        edge = self.edge(toml)
        self.wait_answers(edge, "ab")  # from the first request on
        knot.change({"app": ["A 127.0.0.3", "A 127.0.0.4"]})
        self.wait_answers(edge, "bc", harness.ALL_VERSIONS)
        self.assertEqual(self.servers(edge)[c.address]["source"], "discovery")
        edge.write_config(toml + '[limits]\nmax_requests = 5000\n')
        self.assertEqual(edge.reload()[0], 200)
        self.wait_answers(edge, "bc")
        # The name goes, and then the resolver: who is known stays.
        for end in (lambda: knot.change({}), knot.kill):
            end()
            harness.wait_for(lambda: "error" in json.loads(
                self.control(edge, "GET", "/backends/app")[1])["discovery"], "a failed question")
            self.wait_answers(edge, "bc")
        harness.wait_for(lambda: "it keeps the servers that it has" in edge.log(), "the log")

    def test_srv_records_have_ports_weights_and_priorities(self):
        knot = Knot(self.directory)
        self.addCleanup(knot.kill)
        a, b, c = (self.named(n) for n in "abc")
        host = {"h": ["A 127.0.0.1"]}
        knot.change(host | {"_http._tcp.app": [f"SRV 10 1000 {a.port} h", f"SRV 10 3000 {b.port} h",
                                               f"SRV 20 1 {c.port} h"]})
        edge = self.edge('[[pool]]\nname = "app"\nbalance = "round_robin"\ndiscovery = '
                         '{ srv = "_http._tcp.app.test", '
                         f'resolvers = ["127.0.0.1:{knot.port}"], min_ttl = "100ms" }}\n' + route())
        self.wait_answers(edge, "ab")
        seen = self.answers(edge, 40)
        self.assertEqual(seen.count("b"), 3 * seen.count("a"), seen)
        self.assertEqual(self.servers(edge)[c.address]["priority"], 1)
        knot.change(host | {"_http._tcp.app": [f"SRV 20 1 {c.port} h"]})
        self.wait_answers(edge, "c", harness.ALL_VERSIONS)

    def test_a_watched_file(self):
        a, b = self.named("a"), self.named("b")
        file = self.directory / "servers.json"
        toml = ('[[pool]]\nname = "app"\nbalance = "round_robin"\n'
                f'discovery = {{ file = "{file.name}" }}\n' + route())
        refused = harness.Edge(self.directory, toml, wait=False)
        self.assertEqual(refused.process.wait(harness.WAIT), 1)
        self.assertIn("servers.json: No such file", refused.log())

        def write(servers):
            new = file.with_suffix(".new")
            new.write_text(servers if isinstance(servers, str) else json.dumps(servers))
            os.rename(new, file)

        write([a.address])
        edge = self.edge(toml)
        self.wait_answers(edge, "a")
        write({"servers": [{"address": b.address, "weight": 5}]})
        self.wait_answers(edge, "b", harness.ALL_VERSIONS)
        self.assertEqual(self.servers(edge)[b.address]["weight"], 5)
        write("[")
        harness.wait_for(lambda: "no list of servers" in edge.log(), "the log")
        self.wait_answers(edge, "b")
        write([a.address, b.address])
        self.wait_answers(edge, "ab")


if __name__ == "__main__":
    harness.main()
