#!/usr/bin/env python3
"""A long run of mixed load while servers die, hang and come back, clients break off, the configuration
is reloaded and the process upgraded; then everything has to be as it was: `make soak`.

Two edges run beside each other. `steady` is one process from beginning to end: its memory has to stay
flat. `changing` is upgraded again and again: no request may fail by it.

  --seconds N   length of the load (3600)
  --seed N      of the random choices; a run prints its own
  --keep        leave the directory with logs and records

Exit status 0: all of what the summary lists holds.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness  # noqa: E402
import successor  # noqa: E402

PQLOAD = os.environ.get("PQLOAD_BIN", str(pathlib.Path(harness.PQEDGE).parent / "pqload"))
SAMPLE = 5
FLAT = 0.02
# Below this length the memory of caches and pools still grows into its bounds: it is told, not judged.
JUDGE_MEMORY_FROM = 900
LARGE = 200_000
# A request that takes longer hangs. Servers that are stopped and a machine that has less time than the
# loads ask for make many slow: over QUIC each round trip waits until both processes have had their turn.
HANGS = 60
FILL = 5


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Faulty(harness.Backend):
    """Answers well, or resets, breaks off, stalls for a moment, or says 500."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        super().__init__(self._faulty)

    def _faulty(self, sock, number):
        reader = harness.RequestReader(sock)
        while reader.read() is not None:
            kind = self.random.random()
            if kind < 0.1:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                sock.close()
                return
            if kind < 0.2:
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
                return
            if kind < 0.3:
                time.sleep(0.3)
            if kind < 0.4:
                sock.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
                continue
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


class Server:
    """One nginx of the pool, on one port through all of its lives."""

    def __init__(self, directory):
        directory.mkdir()
        self.directory = directory
        self.nginx = harness.Nginx(directory)
        (self.nginx.root / "small").write_bytes(b"s" * 500)
        (self.nginx.root / "large").write_bytes(b"l" * LARGE)
        self.conf = directory / "nginx.conf"
        self.address = self.nginx.address
        self.stopped = False

    def kill(self):
        self.nginx.kill()

    def restart(self):
        self.nginx.process = subprocess.Popen(
            [shutil.which("nginx") or "/usr/sbin/nginx", "-p", self.directory, "-c", self.conf],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        harness.wait_for(self.listens, "nginx to come back")

    def listens(self):
        with contextlib.suppress(OSError):
            host, port = self.address.split(":")
            socket.create_connection((host, int(port)), timeout=1).close()
            return True
        return False

    def pause(self):
        self.nginx.send_signal(signal.SIGSTOP)

    def resume(self):
        self.nginx.send_signal(signal.SIGCONT)


class Site:
    """An edge under load, with what was seen of it."""

    def __init__(self, name, directory, servers, faulty, drain):
        directory.mkdir()
        self.name = name
        self.directory = directory
        self.toml = (
            harness.pool(*[s.address for s in servers], response_timeout="1s", connect_timeout="1s",
                         idle_timeout="2s", retries=3, retry_on=["connect", "refused", "reset",
                                                                 "timeout", "5xx"],
                         retry_budget=100, retry_floor=1000)
            + harness.pool(faulty.address, name="faulty", idle_timeout="2s", retries=0)
            + harness.route(name="faulty-route", pool_name="faulty", path_prefix="/faulty")
            + harness.route())
        self.edge = harness.Edge(directory, self.toml, workers=2, server_toml=drain)
        self.samples = []
        self.loads = []
        self.upgrades = 0
        self.reloads = 0
        self.refused_reloads = 0
        self.lock = threading.Lock()  # upgrades and reloads take turns

    def fill(self):
        """Buffers turn resident page by page as traffic needs them: what they take at most is taken now."""
        for protocol, streams in (("h1", 1), ("h2", 8), ("h3", 8)):
            subprocess.run(
                [PQLOAD, "-p", protocol, "-c", "8", "-m", str(streams), "-t", str(FILL), "--warm-up", "0",
                 "--ca", self.edge.certificate.chain, "--sni", "localhost",
                 f"https://127.0.0.1:{self.edge.port}/large"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=FILL + 120, check=False)

    def start_load(self, seconds):
        ca = self.edge.certificate.chain
        url = f"https://127.0.0.1:{self.edge.port}"
        for name, path, *args in (
                ("h1", "/small", "-p", "h1", "-c", "4", "-r", "40"),
                ("h2", "/small", "-p", "h2", "-c", "2", "-m", "8", "-r", "40"),
                ("h3", "/small", "-p", "h3", "-c", "2", "-m", "8", "-r", "40"),
                ("h1-new", "/small", "-p", "h1", "-c", "2", "--handshake-each", "-r", "4"),
                ("h2-new", "/small", "-p", "h2", "-c", "2", "--handshake-each", "-r", "4"),
                ("h3-new", "/small", "-p", "h3", "-c", "2", "--handshake-each", "-r", "4"),
                ("h2-large", "/large", "-p", "h2", "-c", "2", "-m", "2", "-r", "4",
                 "--expect-size", str(LARGE)),
                ("h3-large", "/large", "-p", "h3", "-c", "2", "-m", "2", "-r", "4",
                 "--expect-size", str(LARGE)),
                ("h2-faulty", "/faulty", "-p", "h2", "-c", "2", "-m", "4", "-r", "10"),
                ("h3-faulty", "/faulty", "-p", "h3", "-c", "2", "-m", "4", "-r", "10")):
            out = self.directory / f"load-{name}.json"
            process = harness.Process(
                [PQLOAD, *args, "-t", seconds + 600, "--timeout", HANGS, "--warm-up", "0", "--json", out,
                 "--ca", ca, "--sni", "localhost", url + path], out.with_suffix(".log"))
            self.loads.append((name, out, process))

    def stop_load(self):
        """{name: record}"""
        records = {}
        for _, _, process in self.loads:  # all at once: each waits for what is under way
            process.send_signal(signal.SIGINT)
        for name, out, process in self.loads:
            process.stop(0, limit=2 * HANGS)  # it was told
            records[name] = json.loads(out.read_text())
        return records

    def sample(self):
        with self.lock, contextlib.suppress(OSError):
            self.samples.append({"at": time.monotonic(), "process": self.edge.process.pid,
                                 "kib": self.edge.memory_kib(),
                                 "descriptors": self.edge.descriptors()})

    def reload(self, rng):
        with self.lock:
            if rng.random() < 0.2:
                self.edge.write_config(self.toml + "[[pool]]\nname = 5\n")
                code, _ = self.edge.reload()
                assert code == 422, "a bad file was taken"
                self.refused_reloads += 1
            extra = "".join(harness.route(name=f"r{i}", path=f"/only/{i}")
                            for i in range(rng.randrange(50)))
            self.edge.write_config(self.toml + extra)
            code, text = self.edge.reload()
            assert code == 200, text
            self.reloads += 1

    def upgrade(self):
        with self.lock:
            if successor.status(self.edge)["process_before"] != 0:
                return
            old = successor.upgrade(self.edge)
            self.upgrades += 1
        assert old.wait(120) == 0, f"the old process ended with {old.returncode}"

    def is_idle(self):
        m = self.edge.metrics()
        open_now = {k: v for k, v in m.items() if v != 0 and k.split("{")[0] in (
            "pqedge_requests_open", "pqedge_client_connections", "pqedge_quic_connections",
            "pqedge_backend_connections", "pqedge_tunnels")}
        if m["pqedge_configurations"] != 1:
            open_now["pqedge_configurations"] = m["pqedge_configurations"]
        return open_now

    def fresh_connection(self, rng):
        """A client that breaks off: within the handshake, a request, or an answer."""
        kind = rng.random()
        with contextlib.suppress(OSError, AssertionError):
            if kind < 0.3:
                with socket.create_connection(("127.0.0.1", self.edge.port), timeout=5) as s:
                    s.sendall(b"\x16\x03\x01\x02\x00\x01")
                return
            if kind < 0.6:
                with self.edge.tls() as s:
                    s.sendall(b"POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx")
                return
            http = rng.choice(("1.1", "2", "3"))
            self.edge.curl("/large", "--limit-rate", "100k", "--max-time", "0.2", http=http)


def faults(end, sites, servers, rng, counts):
    """Until `end`; one server at a time is away, and all are there when it is over."""
    upgrade_at = time.monotonic() + rng.uniform(10, 20)
    while time.monotonic() < end:
        kind = rng.choice(("kill", "pause", "reload", "reload", "clients", "clients"))
        if time.monotonic() > upgrade_at:
            kind = "upgrade"
            upgrade_at = time.monotonic() + rng.uniform(20, 60)
        counts[kind] = counts.get(kind, 0) + 1
        site = rng.choice(sites)
        if kind == "kill":
            server = rng.choice(servers)
            server.kill()
            time.sleep(rng.uniform(0.2, 2))
            server.restart()
        elif kind == "pause":
            server = rng.choice(servers)
            server.pause()
            time.sleep(rng.uniform(0.2, 3))
            server.resume()
        elif kind == "reload":
            site.reload(rng)
        elif kind == "upgrade":
            sites[-1].upgrade()
        else:
            for _ in range(5):
                site.fresh_connection(rng)
        time.sleep(rng.uniform(0.2, 2))


def drift(samples):
    """Of one process's memory: the median of its last fifth over that of its second fifth."""
    kib = [s["kib"] for s in samples]
    fifth = max(1, len(kib) // 5)
    return statistics.median(kib[-fifth:]) / statistics.median(kib[fifth:2 * fifth] or kib) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    root = pathlib.Path(tempfile.mkdtemp(prefix="pqedge-soak-"))
    say(f"soak of {options.seconds} s, seed {options.seed}, in {root}")
    problems = []
    sites, servers, faulty = [], [], None
    try:
        servers = [Server(root / f"server{i}") for i in range(3)]
        faulty = Faulty(options.seed)
        quick = 'drain_linger = "1s"\nupgrade_drain_timeout = "1m"\n'
        sites = [Site("steady", root / "steady", servers, faulty, quick),
                 Site("changing", root / "changing", servers, faulty, quick)]
        problems = run(options, rng, sites, servers)
    finally:
        for site in sites:
            for _, _, process in site.loads:
                process.kill()
            with contextlib.suppress(Exception):
                site.edge.process.kill()
        for server in servers:
            with contextlib.suppress(Exception):
                server.resume()
                server.kill()
        if faulty:
            faulty.stop()
        if not options.keep and not problems:
            shutil.rmtree(root, ignore_errors=True)
        else:
            say(f"kept: {root}")
    return 1 if problems else 0


def run(options, rng, sites, servers):
    for site in sites:  # what a process has open when it has worked once and rests
        for http in harness.ALL_VERSIONS:
            site.edge.get("/small", http=http)
        harness.wait_for(lambda s=site: not s.is_idle(), "rest before the load", 60)
        site.rest = site.edge.descriptors()
        site.fill()
        site.start_load(options.seconds)
    begun = time.monotonic()
    end = begun + options.seconds
    counts = {}
    failure = []

    def guarded():
        try:
            faults(end, sites, servers, rng, counts)
        except Exception as error:  # told in the summary, with what was seen until then
            failure.append(f"{type(error).__name__}: {error}")

    worker = threading.Thread(target=guarded, daemon=True)
    worker.start()
    late = []  # how long this process, which does next to nothing, waits for its turn
    while time.monotonic() < end and not failure:
        due = time.monotonic() + min(SAMPLE, max(0, end - time.monotonic()))
        time.sleep(max(0, due - time.monotonic()))
        late.append(time.monotonic() - due)
        for site in sites:
            site.sample()
            if not site.edge.alive():
                failure.append(f"{site.name}: the process ended with {site.edge.process.returncode}")
    worker.join(180)
    problems = [f"broken off: {f}" for f in failure]
    summary = {"seconds": round(time.monotonic() - begun), "seed": options.seed, "faults": counts,
               "late_ms": {"median": round(statistics.median(late or [0]) * 1000, 1),
                           "most": round(max(late, default=0) * 1000, 1)}}
    for site in sites:
        summary[site.name] = judge(site, options, problems)
    summary["problems"] = problems
    print(json.dumps(summary, indent=2))
    say("failed:\n  " + "\n  ".join(problems) if problems else "good")
    return problems


def judge(site, options, problems):
    records = site.stop_load()
    seen = {"reloads": site.reloads, "reloads_refused": site.refused_reloads,
            "upgrades": site.upgrades, "requests": {}, "slowest_seconds": {}, "failures": {},
            "under_way_at_the_end": {}}
    for name, record in records.items():
        seen["requests"][name] = record["requests"]
        seen["slowest_seconds"][name] = round(record["service_time_us"]["max"] / 1e6, 2)
        if record["requests"] == 0:
            problems.append(f"{site.name} {name}: no request")
        # What was asked for in the moment that the load ended, or waited for its turn on a machine
        # that could not keep up with the rate, is told and is no failure: one that hangs is a timeout.
        failures = {k: v for k, v in record["failures"].items() if k != "unanswered"}
        seen["under_way_at_the_end"][name] = record["failures"].get("unanswered", 0)
        if failures and not name.endswith("-faulty"):
            seen["failures"][name] = failures
            problems.append(f"{site.name} {name}: {failures} ({record['first_failure']})")
    if not site.edge.alive():
        problems.append(f"{site.name}: crashed, status {site.edge.process.returncode}")
        return seen
    try:
        harness.wait_for(lambda: not site.is_idle(), "rest", 90)
        harness.wait_for(lambda: site.edge.descriptors() <= site.rest, "descriptors to be closed", 90)
    except AssertionError as error:
        problems.append(f"{site.name}: {error}: open {site.is_idle()}, descriptors "
                        f"{site.edge.descriptors()} of {site.rest} before")
    seen["descriptors"] = {"before": site.rest, "after": site.edge.descriptors()}
    (site.directory / "samples.json").write_text(json.dumps(site.samples))
    kib = [s["kib"] for s in site.samples]
    seen["memory_kib"] = {"first": kib[0] if kib else 0, "last": kib[-1] if kib else 0,
                          "most": max(kib, default=0)}
    if site.name == "steady" and len(site.samples) >= 5:
        grown = drift(site.samples)
        seen["memory_drift_percent"] = round(grown * 100, 2)
        if options.seconds >= JUDGE_MEMORY_FROM and grown > FLAT:
            problems.append(f"steady: memory grew by {grown:.1%}")
    log = site.edge.log()
    for word in ("AddressSanitizer", "runtime error:", "ThreadSanitizer", "LeakSanitizer"):
        if word in log:
            problems.append(f"{site.name}: {word} in its log")
    site.edge.send_signal(signal.SIGTERM)
    if site.edge.process.wait(60) != 0:
        problems.append(f"{site.name}: ended with {site.edge.process.returncode}")
    return seen


if __name__ == "__main__":
    sys.exit(main())
