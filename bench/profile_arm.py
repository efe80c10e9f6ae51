"""Where an arm's time goes in one cell.

First perf, with the software clock (virtual machines rarely lend hardware counters): the functions
that were on the processor. Then, in a run of its own since it slows everything, strace's count of
system calls a request.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

import arms
import cells
import load
import namespace
import stand


def arguments():
    parser = argparse.ArgumentParser(prog="bench/profile.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("cell", help="a cell's name, see bench/run.py --list")
    parser.add_argument("--arm", default="pqedge", choices=sorted(arms.ARMS))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rate", type=float, help="requests a second, open loop (default: saturated)")
    parser.add_argument("--pqedge", metavar="FILE", help="another pqedge than build/pqedge")
    parser.add_argument("--lines", type=int, default=40, help="of perf's report")
    chosen = parser.parse_args()
    try:
        (chosen.cell,) = cells.select(chosen.cell)
    except ValueError as error:
        parser.error(str(error) if "cell" in str(error) else "one cell, not several")
    return chosen


def watched(bench, options, tool):
    """Loads the arm while `tool` runs on its processes."""
    watcher = subprocess.Popen(tool, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        measurement, _ = bench.measure(options.arm, options.cell, options.seconds, options.rate)
    finally:
        watcher.send_signal(signal.SIGINT)
        said = watcher.communicate()[1]
    return measurement, said


def describe(measurement):
    arm = measurement.cpu["arm"]
    return (f"{measurement.requests} requests, {measurement.rate:.0f} a second, {measurement.failed} failed, "
            f"{arm['user']:.1f} + {arm['kernel']:.1f} us a request, {arm['share']:.0%} of the core")  # fmt: skip


def by_perf(bench, options):
    perf = shutil.which("perf")
    if perf is None:
        return "perf is not installed: make deps DEPS=bench"
    data = stand.OUT / "perf.data"
    pids = ",".join(map(str, bench.servers[options.arm].pids()))
    measurement, said = watched(bench, options, [perf, "record", "-e", "cpu-clock", "-F", "1999", "-g", "-p", pids,
                                                 "-o", str(data)])  # fmt: skip
    if not data.exists():
        return f"perf does not work here: {said.strip()}"
    report = subprocess.run([perf, "report", "-i", str(data), "--stdio", "--no-children", "-g", "none",
                             "--percent-limit", "0.4"], capture_output=True, text=True).stdout  # fmt: skip
    lines = [line for line in report.splitlines() if line.strip() and not line.startswith("#")]
    return "\n".join([describe(measurement), *lines[: options.lines], f"({data} has the call graph)"])


def by_strace(bench, options):
    strace = shutil.which("strace")
    if strace is None:
        return "strace is not installed"
    out = stand.OUT / "strace.txt"
    pids = [word for pid in bench.servers[options.arm].pids() for word in ("-p", str(pid))]
    # Its counts include the warm-up and the handshakes; the generator's include the warm-up too.
    command = [strace, "-c", "-f", "-o", str(out), *pids]
    watcher = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        measurement = load.run_pqload(bench.namespace, bench.servers[options.arm], options.cell, 0,
                                      requests=20000, rate=options.rate)  # fmt: skip
    finally:
        watcher.send_signal(signal.SIGINT)
        said = watcher.communicate()[1]
    if not out.exists() or not out.read_text().strip():
        return f"strace does not work here: {said.strip()}"
    rows = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", out.read_text(), re.M)
    calls = sorted(((int(count), name) for count, name in rows if name != "total"), reverse=True)
    total = sum(count for count, _ in calls)
    lines = [f"{count / measurement.requests:9.3f}  {name}" for count, name in calls if count >= measurement.requests / 1000]
    return "\n".join([f"{measurement.requests} requests", *lines, f"{total / measurement.requests:9.3f}  in all"])


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("bench/profile.sh: needs root")
    stand.OUT.mkdir(parents=True, exist_ok=True)
    if options.arm in arms.RIVALS:
        stand.install_rivals()
    try:
        with stand.Bench([options.arm], options.pqedge) as bench:
            print(f"{options.arm}, {options.cell.title}\n\nperf:\n{by_perf(bench, options)}")
            print(f"\nsystem calls a request, by strace:\n{by_strace(bench, options)}")
    except (arms.ArmError, load.LoadError, namespace.NamespaceError) as error:
        sys.exit(f"bench/profile.sh: {error}")


if __name__ == "__main__":
    main()
