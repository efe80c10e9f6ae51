"""Instructions a request of one build in one cell, counted by callgrind.

User instructions only: the kernel's part is not in it. Two loads, of N and of 2 N requests over as
many connections, and the difference of their counts divided by N: what the handshakes and the start
cost falls out. The same build gives the same figure to a fraction of a percent, so two builds can be
told apart where times cannot.

Build for a processor that valgrind knows (it has no AVX-512): cmake -DPQEDGE_MARCH=x86-64-v3.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import arms
import cells
import load
import namespace
import stand

START_SECONDS = 120  # valgrind is slow
REQUEST_SECONDS = 300


def arguments():
    parser = argparse.ArgumentParser(prog="bench/instructions.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("cell", help="a cell's name, see bench/run.py --list")
    parser.add_argument("--arm", default="pqedge", choices=("pqedge", "pqedge-fast", "floor"))
    parser.add_argument("--pqedge", metavar="FILE", help="another pqedge than build/pqedge")
    parser.add_argument("--requests", type=int, default=2000, help="N (default 2000)")
    parser.add_argument("--functions", type=int, default=25, help="the costliest functions listed")
    chosen = parser.parse_args()
    try:
        (chosen.cell,) = cells.select(chosen.cell)
    except ValueError as error:
        parser.error(str(error) if "cell" in str(error) else "one cell, not several")
    return chosen


def control(*words):
    result = subprocess.run(["callgrind_control", *map(str, words)], capture_output=True, text=True)
    if result.returncode != 0 or "Error" in result.stdout:
        raise arms.ArmError(f"callgrind_control {' '.join(map(str, words))}: {result.stdout}{result.stderr}")


def newest_dump(directory):
    dumps = sorted(directory.glob("callgrind.out.*"), key=lambda path: path.stat().st_mtime_ns)
    return dumps[-1] if dumps else None


def count(bench, options, pid, requests, directory):
    """Instructions while `requests` requests were served, and the dump that says where."""
    control("-z", pid)
    measurement = load.run_pqload(bench.namespace, bench.servers[options.arm], options.cell, 0,
                                  requests=requests, timeout=REQUEST_SECONDS)  # fmt: skip
    if measurement.failed:
        raise arms.ArmError(f"{measurement.failed} requests failed: {measurement.first_failure}")
    control("-d", pid)
    dump = newest_dump(directory)
    if dump is None:
        raise arms.ArmError("callgrind wrote nothing")
    totals = re.findall(r"^(?:totals|summary): (\d+)", dump.read_text(errors="replace"), re.M)
    return int(totals[-1]), dump


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("bench/instructions.sh: needs root")
    if shutil.which("valgrind") is None:
        sys.exit("bench/instructions.sh: valgrind is not installed: make deps DEPS=bench")
    directory = stand.OUT / "callgrind"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    bench = stand.Bench([options.arm], options.pqedge)
    bench.tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--dump-instr=no",
                  f"--callgrind-out-file={directory}/callgrind.out.%p"]  # fmt: skip
    bench.start_seconds = START_SECONDS
    try:
        with bench:
            pid = bench.servers[options.arm].process.pid
            # What only the first requests do (caches, backend connections) is not counted.
            load.run_pqload(bench.namespace, bench.servers[options.arm], options.cell, 0,
                            requests=max(200, 2 * options.cell.connections * options.cell.streams),
                            timeout=REQUEST_SECONDS)  # fmt: skip
            control("-i", "on", pid)
            once, _ = count(bench, options, pid, options.requests, directory)
            twice, dump = count(bench, options, pid, 2 * options.requests, directory)
    except (arms.ArmError, load.LoadError, namespace.NamespaceError) as error:
        sys.exit(f"bench/instructions.sh: {error}")
    print(f"{options.arm}, {options.cell.title}: {(twice - once) / options.requests:.0f} instructions a request "
          f"({options.requests} and {2 * options.requests} requests: {once} and {twice})")  # fmt: skip
    annotated = subprocess.run(["callgrind_annotate", str(pathlib.Path(dump))], capture_output=True, text=True).stdout
    lines = annotated.splitlines()
    start = next((i for i, line in enumerate(lines) if "file:function" in line), len(lines))
    print("\n".join(lines[start : start + 2 + options.functions]))


if __name__ == "__main__":
    main()
