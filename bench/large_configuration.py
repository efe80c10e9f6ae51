#!/usr/bin/env python3
"""A large configuration: how long it takes to load, and what a reload costs running requests.

10,000 routes over 1,000 hosts, 500 of them with a pattern, and 1,000 servers in 100 pools; a load of each
version at a fixed rate, without a reload and with one a second.

  --routes N --servers N   the size
  --seconds N              of each measurement (10)
  --rate N                 requests a second of each version (100)

What is called load is what the process needs from its start until it is ready, less that of an empty
configuration on the same machine.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "integration"))
import harness  # noqa: E402

PQLOAD = os.environ.get("PQLOAD_BIN", str(pathlib.Path(harness.PQEDGE).parent / "pqload"))


def configuration(routes, servers, backend):
    """The last route takes what is asked for by the load."""
    lines = []
    pools = max(1, servers // 10)
    for p in range(pools):
        addresses = [f"127.{1 + s // 60000}.{s // 250 % 250}.{1 + s % 250}:9000"
                     for s in range(p * servers // pools, (p + 1) * servers // pools)]
        lines.append(f'[[pool]]\nname = "pool-{p}"\nservers = {json.dumps(addresses)}\n')
    lines.append(harness.pool(backend))
    for i in range(routes - 1):
        host = f"site-{i % 1000}.test"
        where = (f"path_regex = '/v[0-9]+/items-{i}/[a-z]+'" if i % 20 == 0
                 else f'path_prefix = "/area-{i // 1000}/part-{i}"')
        lines.append(f'[[route]]\nname = "route-{i}"\nhosts = ["{host}"]\n{where}\n'
                     f'pool = "pool-{i % pools}"\n')
    lines.append(harness.route())
    return "\n".join(lines)


def start(directory, toml):
    """(edge, seconds until it is ready, its CPU seconds)"""
    directory.mkdir()
    begun = time.monotonic()
    edge = harness.Edge(directory, toml, workers=1)
    took = time.monotonic() - begun
    with open(f"/proc/{edge.pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return edge, took, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(edge, directory, rate, name):
    processes = []
    for protocol in ("h1", "h2", "h3"):
        out = directory / f"{name}-{protocol}.json"
        processes.append((protocol, out, harness.Process(
            [PQLOAD, "-p", protocol, "-c", "2", "-r", rate, "-t", "600", "--warm-up", "1", "--json", out,
             "--ca", edge.certificate.chain, "--sni", "localhost", f"https://127.0.0.1:{edge.port}/"],
            out.with_suffix(".log"))))
    return processes


def finish(processes):
    worst = {}
    for protocol, out, process in processes:
        process.stop(signal.SIGINT)
        record = json.loads(out.read_text())
        assert not record["failures"], record["failures"]
        latency = record["service_time_us"] if "service_time_us" in record else record["latency_us"]
        worst[protocol] = {k: round(latency[k] / 1000, 2) for k in ("p50", "p99", "max")}
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--routes", type=int, default=10_000)
    parser.add_argument("--servers", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rate", type=int, default=100)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pqedge-large-") as root:
        root = pathlib.Path(root)
        backend = harness.EchoBackend()
        toml = configuration(o.routes, o.servers, backend.address)
        empty, seconds, cpu = start(root / "empty", harness.pool(backend.address) + harness.route())
        empty.stop()
        edge, took, used = start(root / "large", toml)
        try:
            result = {"routes": o.routes, "servers": o.servers, "bytes": len(toml),
                      "load_seconds": round(took - seconds, 3), "load_cpu_seconds": round(used - cpu, 3),
                      "rss_kib": edge.memory_kib()}
            running = load(edge, root, o.rate, "quiet")
            time.sleep(o.seconds)
            result["milliseconds_quiet"] = finish(running)
            running = load(edge, root, o.rate, "reloads")
            time.sleep(2)
            times = []
            end = time.monotonic() + o.seconds
            while time.monotonic() < end:
                begun = time.monotonic()
                edge.write_config(toml + harness.route(name=f"r{len(times)}", path=f"/only/{len(times)}"))
                code, text = edge.reload()
                assert code == 200, text
                times.append(time.monotonic() - begun)
                time.sleep(1)
            result["milliseconds_reloading"] = finish(running)
            result["reloads"] = len(times)
            result["reload_seconds"] = round(statistics.median(times), 3)
            result["rss_kib_after"] = edge.memory_kib()
        finally:
            edge.stop()
            backend.stop()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
