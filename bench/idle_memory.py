#!/usr/bin/env python3
"""Memory of an open connection that does nothing, pqedge beside HAProxy and nginx.

    bench/idle_memory.py [--connections 1000] [--arms pqedge,haproxy,nginx,floor] [--protocols h1,h2,h3]

Each server gets N connections, each with a request or two, that stay open, and then N more: the second
N's share of the proportional set size (Pss) of its processes, by N. So what is made only once (caches,
pools) is not counted, and neither is memory that a server keeps when connections end. The floor is an
epoll loop around the TLS library: what it takes is mostly the library's own.

Run it as root; CPU that others use does not matter here.
"""

import argparse
import re
import subprocess
import sys
import time

import cells
import load
import stand


def pss_kib(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M)[1])
    return total


class Crowd:
    """N connections that are opened by pqload and stay."""

    def __init__(self, bench, server, protocol, count):
        command = [load.PQLOAD, "--protocol", protocol, "--connections", count, "--rate", count / 8,
                   "--warm-up", 0, "--duration", 600, "--timeout", 60, "--groups", cells.HYBRID,
                   "--ciphers", cells.CIPHER, "--sni", "bench.test", server.url("/1k")]  # fmt: skip
        self._process = subprocess.Popen([*bench.namespace.command(load.arms.LOAD_CORE), *map(str, command)],
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip

    def leave(self):
        """True when nothing failed."""
        self._process.terminate()
        said = self._process.communicate(timeout=60)[0]
        return bool(re.search(r"\b0 failed\b", said)), said


def settled(pids):
    """Pss once it has not moved by more than 1 % for four seconds."""
    seen = [pss_kib(pids)]
    for _ in range(60):
        time.sleep(1)
        seen.append(pss_kib(pids))
        if len(seen) >= 5 and max(seen[-5:]) <= 1.01 * min(seen[-5:]):
            break
    return seen[-1]


def measure(bench, name, protocol, count):
    server = bench.servers[name]
    crowds, open_ = [], []
    for _ in range(2):
        crowds.append(Crowd(bench, server, protocol, count))
        time.sleep(16)  # two rounds of requests
        open_.append(settled(server.pids()))
    for crowd in crowds:
        good, said = crowd.leave()
        if not good:
            raise SystemExit(f"{name}, {protocol}: {said}")
    return (open_[1] - open_[0]) / count, open_[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--arms", default="pqedge,haproxy,nginx,floor")
    parser.add_argument("--protocols", default="h1,h2,h3")
    options = parser.parse_args()
    names = options.arms.split(",")
    if "haproxy" in names or "nginx" in names:
        stand.install_rivals()
    print(f"{options.connections} and {options.connections} more; KiB a connection (Pss of the server in all, MiB)")
    print("| protocol | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names), flush=True)
    for protocol in options.protocols.split(","):
        row = []
        for name in names:
            # A server of its own for each figure: what another crowd left behind would hide in it.
            with stand.Bench([name]) as bench:
                if protocol not in bench.servers[name].protocols:
                    row.append("-")
                    continue
                each, total = measure(bench, name, protocol, options.connections)
                row.append(f"{each:.1f} ({total / 1024:.0f})")
        print(f"| {protocol} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
