"""What clients see while one server of three fails: each fault, version of HTTP and algorithm. The
servers are found by DNS.

    python3 tests/integration/test_fault_matrix.py --write docs/results/fault-matrix.md

runs it and writes the table.
"""
# ctest: timeout=180

import json
import os
import pathlib
import signal
import sys
import threading
import time

import harness
from fault_servers import Nest
from knot import Knot

PQLOAD = os.environ.get("PQLOAD_BIN", str(pathlib.Path(harness.PQEDGE).parent / "pqload"))
ALGORITHMS = ("least_connections", "round_robin", "random_two", "hash", "least_time")
VERSIONS = {"h1": "HTTP/1.1", "h2": "HTTP/2", "h3": "HTTP/3"}
# With least_time a server that does not answer gets no three requests: it need not be ejected.
EJECTING = ALGORITHMS[:-1]
REQUESTS = 40   # of each cell, all while the fault begins and lasts
RATE = 40       # a second
RESPONSE = 0.2  # response_timeout
EJECT = 0.5

# What may be seen beside 200 in one cell, at most, and why.
FAULTS = {
    "killed": (0, "SIGKILL: connections are refused"),
    "stopped": (0, "SIGSTOP: the kernel still takes connections, nothing answers"),
    "reset": (0, "each request is answered by RST"),
    "error": (0, "each request is answered by 500"),
    # The status is out by then: nobody can take it back. What is left is to stop after a few.
    "truncate": (8, "the connection ends after the answer's head"),
    # The last: least_time leaves a slow server alone for some seconds.
    "slow": (0, "each answer takes 50 ms"),
    "vanished": (0, "its address is taken out of DNS, and SIGKILL"),
    "nameless": (0, "the name that all servers are found by is gone from DNS: those that are known stay"),
}
NAME = "app"


def pools(resolver, port):
    return "".join(f"""
[[pool]]
name = "{algorithm}"
balance = "{algorithm}"
{'hash_by = "header:x-key"' if algorithm == "hash" else ""}
discovery = {{ dns = "{NAME}.test", port = {port}, resolvers = ["{resolver}"], min_ttl = "100ms" }}
retries = 2
retry_on = ["connect", "refused", "reset", "timeout", "5xx"]
retry_floor = 1000
connect_timeout = "1s"
response_timeout = "{int(RESPONSE * 1000)}ms"
outlier = {{ failures = 3, eject = "{int(EJECT * 1000)}ms", max_eject = "{int(EJECT * 1000)}ms" }}

[[route]]
name = "{algorithm}"
path_prefix = "/{algorithm}"
pool = "{algorithm}"
""" for algorithm in ALGORITHMS)


class Cell:
    """The load of one version on one algorithm."""

    def __init__(self, test, edge, algorithm, version, key):
        self.out = test.directory / f"{algorithm}-{version}.json"
        self.process = harness.Process(
            [PQLOAD, "-p", version, "-n", str(REQUESTS), "-r", str(RATE), "-c", "2", "-m",
             "1" if version == "h1" else "8", "--timeout", "10", "--json", self.out, "--ca",
             edge.certificate.chain, "--sni", "localhost", "-H", f"x-key: {key}",
             f"https://127.0.0.1:{edge.port}/{algorithm}"],
            self.out.with_suffix(".log"))
        test.addCleanup(self.process.kill)

    def result(self):
        self.process.process.wait(harness.WAIT * 2)
        self.process.stop()
        record = json.loads(self.out.read_text())
        seen = {k: v for k, v in record["statuses"].items() if k != "200"}
        broken = {k: v for k, v in record["failures"].items() if k != "status"}
        return {"seen": seen | broken, "requests": record["requests_ever"] + sum(broken.values()),
                "slowest": record["latency_us"]["max"] / 1e6}


class Matrix(harness.TestCase):
    def start(self):
        self.nest = Nest(self.directory)
        self.addCleanup(self.nest.stop)
        port = harness.free_port()
        self.servers = [self.nest.server(n, f"127.0.0.{i + 1}:{port}") for i, n in enumerate("abc")]
        self.victim = self.servers[1]
        self.knot = Knot(self.directory)
        self.addCleanup(self.knot.kill)
        self.publish(*self.servers)
        self.proxy = self.edge(pools(f"127.0.0.1:{self.knot.port}", port), workers=2)
        self.keys = self.victims_keys()

    def publish(self, *servers):
        records = [f"A {s.address.partition(':')[0]}" for s in servers]
        self.knot.change({NAME: records} if records else {}, ttl=0)

    def listed(self, algorithm):
        """The servers of a pool, and what became of the last question to DNS."""
        status, text = self.proxy.control_request(f"/backends/{algorithm}", "GET")
        self.assertEqual(status, 200, text)
        pool = json.loads(text)
        return {s["address"] for s in pool["servers"]}, pool["discovery"].get("error", "")

    def victims_keys(self):
        """Keys of the victim, for each version another: with hashing all its load goes there."""
        keys = []
        for n in range(200):
            done = self.proxy.get("/hash", "-H", f"x-key: k{n}")
            if done[2] == self.victim.name.encode():
                keys.append(f"k{n}")
            if len(keys) == len(VERSIONS):
                return keys
        self.fail("the victim has no keys")

    def up(self, algorithm):
        return self.proxy.metrics()[
            f'pqedge_backend_up{{pool="{algorithm}",server="{self.victim.address}"}}'] == 1

    def inflict(self, fault):
        if fault == "killed":
            self.victim.kill()
        elif fault == "stopped":
            self.victim.send_signal(signal.SIGSTOP)
        elif fault == "vanished":
            self.publish(*(s for s in self.servers if s is not self.victim))
            self.victim.kill()
        elif fault == "nameless":
            self.publish()
        else:
            self.victim.set_mode(fault)

    def heal(self, fault):
        if fault == "killed":
            self.victim.start()
        elif fault == "stopped":
            self.victim.send_signal(signal.SIGCONT)
        elif fault == "vanished":
            self.victim.start()
            self.publish(*self.servers)
        elif fault == "nameless":
            self.publish(*self.servers)
        else:
            self.victim.set_mode("well")

    def victim_serves(self, algorithm):
        done = self.proxy.curl(f"/{algorithm}?[1-6]", "-H", f"x-key: {self.keys[0]}")
        return self.victim.name in done.stdout.decode()

    def ejections(self, began):
        """Waits until the victim is ejected from each pool that has to; seconds since `began`."""
        times = {}
        end = time.monotonic() + harness.WAIT
        while not times.keys() >= set(EJECTING) and time.monotonic() < end:
            metrics = self.proxy.metrics()
            now = time.monotonic() - began
            for algorithm in ALGORITHMS:
                key = f'pqedge_backend_up{{pool="{algorithm}",server="{self.victim.address}"}}'
                if metrics[key] == 0:
                    times.setdefault(algorithm, now)
            time.sleep(0.02)
        return times

    def phase(self, fault):
        """Inflicts the fault amid the load of all cells; {(algorithm, version): result}."""
        served = self.proxy.metric("pqedge_requests_total")
        cells = {(a, v): Cell(self, self.proxy, a, v, self.keys[i])
                 for a in ALGORITHMS for i, v in enumerate(VERSIONS)}
        harness.wait_for(lambda: self.proxy.metric("pqedge_requests_total") >= served + len(cells) * 5,
                         "load")
        self.inflict(fault)
        began = time.monotonic()
        times = {}
        watcher = threading.Thread(target=lambda: times.update(self.ejections(began)))
        if fault == "stopped":
            watcher.start()
        results = {cell: load.result() for cell, load in cells.items()}
        if watcher.ident is not None:
            watcher.join()
        self.check_listed(fault)
        self.heal(fault)
        for algorithm in ALGORITHMS if fault != "slow" else EJECTING:
            harness.wait_for(lambda: self.victim_serves(algorithm),
                             f"{algorithm} to come back to the server after {fault}")
        return results, times

    def check_listed(self, fault):
        """What DNS said has come to the pools."""
        every = {s.address for s in self.servers}
        for algorithm in ALGORITHMS:
            if fault == "vanished":
                harness.wait_for(lambda: self.listed(algorithm)[0] == every - {self.victim.address},
                                 f"the victim to be out of {algorithm}")
            elif fault == "nameless":
                harness.wait_for(lambda: self.listed(algorithm)[1], f"a question in vain of {algorithm}")
                self.assertEqual(self.listed(algorithm)[0], every)

    def test_matrix(self):
        self.start()
        table = {}
        for fault, (most, _) in FAULTS.items():
            results, ejected = self.phase(fault)
            table[fault] = (results, ejected)
            for (algorithm, version), result in results.items():
                with self.subTest(fault=fault, algorithm=algorithm, version=version):
                    self.assertEqual(result["requests"], REQUESTS, result)
                    self.assertLessEqual(sum(result["seen"].values()), most, result)
            if fault == "stopped":
                # Three requests in a row without an answer in time, and it is out.
                for algorithm in EJECTING:
                    with self.subTest(fault=fault, algorithm=algorithm):
                        self.assertIn(algorithm, ejected)
        type(self).table = table


def write(path, table):
    lines = [
        "# What clients see while a server fails",
        "",
        f"One server of three fails amid {REQUESTS} GET requests of each version of HTTP "
        f"({RATE} a second), for each",
        "algorithm of a pool. The number is how many of them were not answered by 200; with "
        "`hash` all requests",
        "belong to the server that fails. Made by "
        "`python3 tests/integration/test_fault_matrix.py --write FILE`, which",
        "`make test` runs too: it allows none, but for `truncate`, where it allows "
        f"{FAULTS['truncate'][0]} of {REQUESTS}.",
        "",
        "The pools have `retries = 2`, `retry_on = [\"connect\", \"refused\", \"reset\", "
        "\"timeout\", \"5xx\"]`,",
        f"`response_timeout = \"{int(RESPONSE * 1000)}ms\"` and `outlier = {{ failures = 3 }}`, and find their "
        "servers by DNS,",
        "asked every 100 ms.",
        "",
        "| fault | HTTP | " + " | ".join(f"`{a}`" for a in ALGORITHMS) + " |",
        "|---|---|" + "---|" * len(ALGORITHMS),
    ]
    for fault, (results, _) in table.items():
        for version, name in VERSIONS.items():
            cells = []
            for algorithm in ALGORITHMS:
                r = results[(algorithm, version)]
                text = str(sum(r["seen"].values()))
                if r["seen"]:
                    text += " (" + ", ".join(f"{k}: {n}" for k, n in r["seen"].items()) + ")"
                cells.append(text)
            lines.append(f"| {fault} | {name} | " + " | ".join(cells) + " |")
    lines += ["", "The faults:", ""]
    lines += [f"- **{fault}**: {text}." for fault, (_, text) in FAULTS.items() if fault in table]
    lines += ["", "The slowest request of each row, in milliseconds:", "",
              "| fault | " + " | ".join(f"`{a}`" for a in ALGORITHMS) + " |",
              "|---|" + "---|" * len(ALGORITHMS)]
    for fault, (results, _) in table.items():
        worst = [max(results[(a, v)]["slowest"] for v in VERSIONS) for a in ALGORITHMS]
        lines.append(f"| {fault} | " + " | ".join(f"{w * 1000:.0f}" for w in worst) + " |")
    stopped = table.get("stopped", ({}, {}))[1]
    if stopped:
        lines += ["", "A stopped server was ejected after " + ", ".join(
            f"{t * 1000:.0f} ms (`{a}`)" for a, t in sorted(stopped.items())) + "."]
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    target = None
    if "--write" in sys.argv:
        at = sys.argv.index("--write")
        target = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    import unittest

    done = unittest.main(verbosity=2, exit=False)
    if target and done.result.wasSuccessful():
        write(target, Matrix.table)
    sys.exit(0 if done.result.wasSuccessful() else 1)
