#!/usr/bin/env python3
"""What an ML-KEM-1024 encapsulation in each session ticket costs (tls.ticket_encapsulation).

    python3 bench/ticket_cost.py [--seconds 5] [--rounds 5]

Two edges with a fixed answer, one with the encapsulation, serve resumed handshakes, one request each;
they take turns. Printed, per protocol: bytes of a resumed handshake in and out (pqedge's own count),
and the CPU of the server's process for one connection, the median of the rounds with the least and the
most. Run it on a machine that does nothing else.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "integration"))
import harness  # noqa: E402

PQLOAD = os.environ.get("PQLOAD_BIN", str(pathlib.Path(harness.PQEDGE).parent / "pqload"))
ROUTE = '[[route]]\nname = "all"\nstatus = 200\nbody = "ok"\n[logging]\naccess = ""\n'


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bytes_of(edge, protocol, direction):
    transport = "quic" if protocol == "h3" else "tcp"
    labels = f'{{direction="{direction}",kind="resumed",transport="{transport}"}}'
    metrics = edge.metrics()
    count = metrics[f"pqedge_tls_handshake_bytes_count{labels}"]
    return metrics[f"pqedge_tls_handshake_bytes_sum{labels}"] / count if count else float("nan")


def measure(edge, protocol, seconds, directory):
    out = directory / "load.json"
    before = cpu_seconds(edge.pid)
    done = harness.run(PQLOAD, "-p", protocol, "-c", "8", "-t", seconds, "--warm-up", "0",
                       "--handshake-each", "--resume", "--json", out,
                       f"https://127.0.0.1:{edge.port}/", timeout=seconds + 60)
    if done.returncode != 0:
        raise SystemExit(done.stderr.decode())
    return (cpu_seconds(edge.pid) - before) / json.loads(out.read_text())["requests"] * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="pqedge-ticket-cost-"))
    edges = {}
    try:
        for name, value in (("plain", "false"), ("encapsulated", "true")):
            (directory / name).mkdir()
            edges[name] = harness.Edge(directory / name,
                                       ROUTE + f"[tls]\nticket_encapsulation = {value}\n")
        print("| protocol | ticket | bytes in | bytes out | CPU us a connection (least to most) |")
        print("|---|---|---|---|---|")
        for protocol in ("h1", "h3"):
            figures = {name: [] for name in edges}
            for round_ in range(options.rounds):
                for name in (list(edges), list(edges)[::-1])[round_ % 2]:
                    figures[name].append(
                        measure(edges[name], protocol, options.seconds, directory))
            for name, edge in edges.items():
                print(f"| {protocol} | {name} | {bytes_of(edge, protocol, 'in'):.0f} "
                      f"| {bytes_of(edge, protocol, 'out'):.0f} "
                      f"| {statistics.median(figures[name]):.0f} "
                      f"({min(figures[name]):.0f} to {max(figures[name]):.0f}) |", flush=True)
    finally:
        for edge in edges.values():
            edge.kill()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
