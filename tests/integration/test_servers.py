"""Servers that fail and come back: checks, ejection, circuit breaker (U4, U5, K52)."""
# ctest: timeout=180

import concurrent.futures
import json
import os
import pathlib
import threading
import time

import harness
from harness import pool, route

PQLOAD = os.environ.get("PQLOAD_BIN", str(pathlib.Path(harness.PQEDGE).parent / "pqload"))

CLOSED = 'breaker = {{ failures = 3, pause = "{pause}", probes = 2, probe_timeout = "{probe}" }}\n'


class Server:
    """Answers each request with its name, or as it is told to."""

    def __init__(self, test, name):
        self.name = name
        self.mode = "well"  # "error", "hang"
        self.health = (200, b"fine")
        self.times = []     # of requests that are no checks
        self.checks = 0
        self.resume = threading.Event()
        self.backend = test.backend(self._serve)

    def _serve(self, sock, number):
        reader = harness.RequestReader(sock)
        while (request := reader.read()) is not None:
            head = request[0]
            status, body = 200, self.name.encode()
            if b" /health" in head.split(b"\r\n")[0]:
                self.checks += 1
                status, body = self.health
            else:
                self.times.append(time.monotonic())
                if self.mode == "hang":
                    self.resume.wait(harness.WAIT)
                    return
                if self.mode == "error":
                    status = 503
            sock.sendall(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)

    @property
    def address(self):
        return self.backend.address


class ServersTest(harness.TestCase):
    def servers(self, count):
        return [Server(self, f"s{i}") for i in range(count)]

    def state(self, edge, server):
        status, body = edge.control_request("/backends/app", "GET")
        self.assertEqual(status, 200, body)
        return next(s for s in json.loads(body)["servers"] if s["address"] == server.address)

    def wait_state(self, edge, server, *states):
        harness.wait_for(lambda: self.state(edge, server)["state"] in states,
                         f"{server.name} to be {states}: {self.state(edge, server)}")
        return self.state(edge, server)

    def names(self, edge, count=6, http="2"):
        """What `count` requests of one version are answered with."""
        done = edge.curl("/", *(x for _ in range(count - 1) for x in ("-o", "-", edge.url("/"))),
                         "-o", "-", http=http)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    # ---- active checks ----

    def test_http_checks_on_every_version(self):
        a, b = self.servers(2)
        edge = self.edge(pool(a.address, b.address, balance="round_robin") +
                         'health = { kind = "http", path = "/health?x=1", host = "app.test", '
                         'interval = "40ms", timeout = "2s", rise = 2, fall = 2, body = "fine" }\n' +
                         route())
        harness.wait_for(lambda: a.checks and b.checks, "checks")
        self.assertEqual(self.state(edge, a)["state"], "up")
        for why, answer in {"status 500": (500, b"fine"), "body": (200, b"another")}.items():
            a.health = answer
            seen = self.wait_state(edge, a, "down")
            self.assertIn(why, seen["reason"])
            self.assertEqual(seen["check"]["well"], False)
            for http in harness.ALL_VERSIONS:
                self.assertEqual(self.names(edge, http=http), "s1" * 6)
            a.health = (200, b"all is fine here")
            self.wait_state(edge, a, "up")
            for http in harness.ALL_VERSIONS:
                self.assertIn("s0", self.names(edge, http=http))
        label = f'{{pool="app",server="{a.address}"'
        metrics = edge.metrics()
        self.assertEqual(metrics[f"pqedge_backend_up{label}}}"], 1)
        self.assertEqual(metrics[f'pqedge_backend_state_changes_total{label},to="down"}}'], 2)
        self.assertEqual(metrics[f'pqedge_backend_state_changes_total{label},to="up"}}'], 2)
        harness.wait_for(lambda: edge.log().count("up -> down") == 2 and
                         edge.log().count("down -> up") == 2, "a line for each change")

    def test_a_server_that_does_not_listen_is_down_at_once(self):
        a, b = self.servers(2)
        b.backend.stop()
        edge = self.edge(pool(a.address, b.address) +
                         'health = { kind = "tcp", interval = "50ms" }\n' + route())
        self.assertIn("Connection refused", self.wait_state(edge, b, "down")["reason"])
        self.assertEqual(self.names(edge), "s0" * 6)
        self.assertEqual(self.state(edge, a)["check"]["found"], "connected")
        # Without checks it is what requests make of it.
        edge.write_config(pool(a.address, b.address) + route())
        self.assertEqual(edge.reload()[0], 200)
        self.wait_state(edge, b, "up")

    def test_a_check_that_hangs_fails(self):
        a, b = self.servers(2)
        hang = self.backend(lambda sock, number: sock.recv(1) and threading.Event().wait(
            harness.WAIT))
        edge = self.edge(pool(a.address, hang.address) +
                         'health = { kind = "http", interval = "50ms", timeout = "100ms" }\n' +
                         route())
        hang.name = "hang"
        self.assertIn("no answer in time", self.wait_state(edge, hang, "down")["reason"])

    def test_grpc_checks(self):
        try:
            import grpc
        except ImportError:
            self.skipTest("python3-grpcio is not there")
        answers = {"": b"\x08\x01", "echo": b"\x08\x01"}
        asked = []

        def check(request, context):
            asked.append(request)
            service = request[2:].decode()
            if service not in answers:
                context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
            return answers[service]

        handler = grpc.method_handlers_generic_handler("grpc.health.v1.Health", {
            "Check": grpc.unary_unary_rpc_method_handler(check)})
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
        server.add_generic_rpc_handlers((handler,))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())

        def toml(service):
            return (pool(f"127.0.0.1:{port}", protocol="h2c") +
                    'health = { kind = "grpc", interval = "50ms", fall = 1, rise = 1, '
                    f'service = "{service}" }}\n' + route())

        at = type("At", (), {"address": f"127.0.0.1:{port}", "name": "grpc"})
        edge = self.edge(toml("echo"))
        harness.wait_for(lambda: asked, "a check")
        self.assertEqual(asked[0], b"\x0a\x04echo")
        harness.wait_for(lambda: self.state(edge, at).get("check"), "its result")
        self.assertEqual(self.state(edge, at)["check"]["found"], "SERVING")
        answers["echo"] = b"\x08\x02"
        self.assertIn("not SERVING", self.wait_state(edge, at, "down")["reason"])
        answers["echo"] = b"\x08\x01"
        self.wait_state(edge, at, "up")
        edge.write_config(toml("nobody"))
        self.assertEqual(edge.reload()[0], 200)
        self.assertIn("grpc-status 5", self.wait_state(edge, at, "down")["reason"])

    # ---- passive ejection ----

    def test_a_server_that_fails_is_left_alone_for_a_while(self):
        servers = self.servers(3)

        def toml(eject):
            return (pool(*(s.address for s in servers), balance="round_robin", retries=0) +
                    f'outlier = {{ failures = 2, eject = "{eject}", max_eject = "{eject}", '
                    'max_percent = 40 }\n' + route())

        edge = self.edge(toml("1h"))
        servers[0].mode = servers[1].mode = "error"
        for http in harness.ALL_VERSIONS:
            self.names(edge, http=http)
        states = [self.state(edge, s)["state"] for s in servers]
        # Of three at most 40 percent, so one; the other goes on, for better or worse.
        self.assertEqual(sorted(states), ["ejected", "up", "up"])
        ejected = servers[states.index("ejected")]
        before = len(ejected.times)
        for http in harness.ALL_VERSIONS:
            self.names(edge, http=http)
        self.assertEqual(len(ejected.times), before)
        # For a shorter time: it is back when that is over, and not sooner.
        edge.write_config(toml("300ms"))
        self.assertEqual(edge.reload()[0], 200)
        self.assertEqual(self.state(edge, ejected)["state"], "ejected")
        self.assertEqual(order(edge, "reset", server=ejected.address)[0], 200)
        for s in servers:
            s.mode = "error" if s is ejected else "well"
        before = len(ejected.times)

        def back():
            self.names(edge)
            return len(ejected.times) > before + 2

        harness.wait_for(back, "the server to come back")
        first, second, third = ejected.times[before:before + 3]
        self.assertGreaterEqual(third - second, 0.3)
        self.assertEqual(self.state(edge, ejected)["transitions"] % 2, 1)

    def test_the_only_server_is_never_ejected(self):
        a = self.servers(1)[0]
        edge = self.edge(pool(a.address, retries=0) + "outlier = { failures = 1 }\n" + route())
        a.mode = "error"
        self.names(edge)
        self.assertEqual(self.state(edge, a)["state"], "up")
        self.assertEqual(len(a.times), 6)

    # ---- the circuit breaker: K52 ----

    def load(self, edge):
        """Steady requests of each version, until the test ends."""
        for version in ("h1", "h2", "h3"):
            process = harness.Process(
                [PQLOAD, "-p", version, "-r", "20", "-t", "120", "-c", "4", "-m",
                 "1" if version == "h1" else "8", "--timeout", "10", "--ca", edge.certificate.chain,
                 "--sni", "localhost", f"https://127.0.0.1:{edge.port}/"],
                self.directory / f"{version}.log")
            self.addCleanup(process.kill)

    def wait_open(self, edge, server):
        """(requests so far, changes so far) of a server that is open and works on nothing."""
        def quiet():
            seen = self.state(edge, server)
            if seen["state"] == "open" and seen["requests_in_flight"] == 0:
                return len(server.times), seen["transitions"]
            return None

        return harness.wait_for(quiet, "an open breaker without requests under way")

    def test_k52_a_breaker_tries_again_with_a_few_probes(self):
        a, b = self.servers(2)
        edge = self.edge(pool(a.address, b.address, balance="round_robin", retries=0) +
                         CLOSED.format(pause="700ms", probe="1500ms") + route(),
                         server_toml='drain_timeout = "2s"')  # the load is cut in the end
        a.mode = "error"
        self.load(edge)
        opened, began = self.wait_open(edge, a)
        # While it fails: at most two probes in each pause, whatever comes.
        harness.wait_for(lambda: self.state(edge, a)["transitions"] >= began + 4, "two half-opens")
        probes = len(a.times) - opened
        rounds = (self.state(edge, a)["transitions"] - began) // 2
        self.assertLessEqual(probes, 2 * (rounds + 1))
        # It answers again: the next probes close it.
        a.mode = "well"
        before = self.state(edge, a)
        now = self.wait_state(edge, a, "up")
        # Half-open and up; or first the end of a round that had begun.
        self.assertLessEqual(now["transitions"], before["transitions"] + 3)
        served = len(a.times)
        harness.wait_for(lambda: len(a.times) > served + 20, "its share again")
        # One that hangs takes the probes alone; the others are answered by its neighbour.
        a.mode = "error"
        hung, began = self.wait_open(edge, a)
        a.mode = "hang"
        harness.wait_for(lambda: self.state(edge, a)["transitions"] >= began + 4,
                         "two rounds of probes that hang", 2 * harness.WAIT)
        rounds = (self.state(edge, a)["transitions"] - began) // 2 + 1
        self.assertLessEqual(len(a.times) - hung, 2 * rounds)
        a.resume.set()
        harness.wait_for(lambda: "-> half_open" in edge.log() and "-> up" in edge.log() and
                         "no answer in time" in edge.log(), "each change in the log")

    def test_k52_all_open_is_answered_at_once(self):
        a = self.servers(1)[0]
        edge = self.edge(pool(a.address, retries=0) +
                         CLOSED.format(pause="20s", probe="1s") + route())
        a.mode = "error"
        self.names(edge, count=3)
        self.assertEqual(self.state(edge, a)["state"], "open")
        for http in harness.ALL_VERSIONS:
            self.assertEqual(edge.get("/", http=http)[0], 503)
        self.assertEqual(len(a.times), 3)
        a.mode = "well"
        status, body = edge.control_request("/backends/app", "GET")
        left = json.loads(body)["servers"][0]["seconds_left"]
        self.assertTrue(0 < left <= 20, left)
        # An operator knows better.
        self.assertEqual(order(edge, "reset", server=a.address)[0], 200)
        self.assertEqual(self.names(edge), "s0" * 6)


def order(edge, order_name, **body):
    """(status, text) of an order over the control socket."""
    done = harness.run("curl", "-sS", "--unix-socket", edge.control, "-w", "\n%{http_code}",
                       "--data-binary", json.dumps(body),
                       f"http://localhost/backends/app/{order_name}")
    text, _, status = done.stdout.decode().rpartition("\n")
    return int(status or 0), text


if __name__ == "__main__":
    harness.main()
