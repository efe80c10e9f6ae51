"""Runs the load generators and turns what they say into plain figures."""

import dataclasses
import json
import re
import subprocess

import arms
import cells

PQLOAD = arms.TOP / "build" / "pqload"


class LoadError(Exception):
    pass


@dataclasses.dataclass
class Measurement:
    """One run of pqload. Times of CPU are microseconds a request."""

    requests: int
    rate: float  # requests a second
    failed: int
    first_failure: str
    group: str
    cipher: str
    alpn: str
    latency: dict  # of pqload: "p50", "p99" ...
    cpu: dict  # process group -> {"user": us, "kernel": us, "share": of one core}
    generator: dict  # the same, of pqload itself
    proxy_core_foreign: float  # share of the proxy's core that others used
    proxy_core_stolen: float
    traffic: dict
    handshakes: int

    def total(self, group="arm"):
        return self.cpu[group]["user"] + self.cpu[group]["kernel"]


def run_pqload(namespace, server, cell, seconds, warm_up=0.5, rate=None, watch=None, core=arms.LOAD_CORE,
               sha256=None, requests=None, timeout=10):  # fmt: skip
    """Loads `server` with the cell's load; `rate` makes it an open loop."""
    command = [PQLOAD, "--protocol", cell.protocol, "--connections", cell.connections,
               "--streams", cell.streams, "--groups", cell.groups, "--ciphers", cells.CIPHER,
               "--expect-size", cells.BODIES[cell.body], "--sni", "bench.test", "--timeout", timeout, "--json", "-"]  # fmt: skip
    if requests is None:
        command += ["--duration", seconds, "--warm-up", warm_up]
    else:
        command += ["--requests", requests]
    if cell.handshake_each:
        command.append("--handshake-each")
    if rate is not None:
        command += ["--rate", f"{rate:.3f}"]
        # Requests of an open loop do not wait for a connection to be free.
        if cell.handshake_each:
            command[command.index("--connections") + 1] = 10 * cell.connections
    if sha256 is not None:
        command += ["--expect-sha256", sha256]
    for name, pids in (watch or {}).items():
        command += ["--watch", f"{name}={','.join(map(str, pids))}"]
    command.append(server.url(cell.path))
    result = subprocess.run([*namespace.command(core), *map(str, command)], capture_output=True, text=True)
    if result.returncode not in (0, 1):
        raise LoadError(f"pqload: {result.stderr.strip() or result.returncode}")
    return _measurement(json.loads(result.stdout))


def _measurement(said):
    requests = said["requests"]
    window = said["window_seconds"] or 1

    def times(cpu):
        scale = 1e6 / requests if requests else 0
        return {"user": cpu["user_seconds"] * scale, "kernel": cpu["system_seconds"] * scale,
                "share": cpu["seconds"] / window}  # fmt: skip

    cpu = {name: times(value) for name, value in said["watched_cpu"].items()}
    core = said["cores"].get(str(arms.PROXY_CORE), {"busy_seconds": 0, "stolen_seconds": 0})
    known = cpu.get("arm", {"share": 0})["share"]
    return Measurement(
        requests=requests,
        rate=said["requests_per_second"],
        failed=said["failed"],
        first_failure=said["first_failure"],
        group=said["tls"]["group"],
        cipher=said["tls"]["cipher"],
        alpn=said["tls"]["alpn"],
        latency=said["latency_us"],
        cpu=cpu,
        generator=times(said["own_cpu"]),
        proxy_core_foreign=max(0.0, core["busy_seconds"] / window - known),
        proxy_core_stolen=core["stolen_seconds"] / window,
        traffic=said["traffic"],
        handshakes=said["handshakes_in_window"],
    )


def run_h2load(namespace, url, cell, requests, core=arms.LOAD_CORE):
    """Sends so many requests; the requests a second, as h2load counts them. HTTP/1.1 and 2 only."""
    command = ["h2load", "-n", requests, "-c", cell.connections, "-m", cell.streams,
               "--connect-to", url.split("/")[2], f"--groups={cell.groups}",
               f"--tls13-ciphers={cells.CIPHER}"]  # fmt: skip
    if cell.protocol == "h1":
        command.append("--h1")
    else:
        # As wide as pqload's.
        command += ["-w", 30, "-W", 30]
    command.append(url)
    result = subprocess.run([*namespace.command(core), *map(str, command)], capture_output=True, text=True)
    rate = re.search(r"finished in .*, ([\d.]+) req/s", result.stdout)
    counted = re.search(r"(\d+) done, (\d+) succeeded", result.stdout)
    if result.returncode != 0 or not rate or not counted:
        raise LoadError(f"h2load: {result.stderr.strip()[-400:] or result.stdout.strip()[-400:]}")
    if int(counted[2]) != requests:
        raise LoadError(f"h2load: {counted[0]} of {requests}")
    return float(rate[1])
