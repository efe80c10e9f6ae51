#!/usr/bin/env python3
"""The slowest answers: the 99.9th percentile at half load, pqedge beside HAProxy and nginx.

    bench/latency.py [--cells 'h*-1k-*'] [--repetitions 9] [--seconds 2]

The arms take turns at half of the slowest one's peak, an open loop, so an answer that comes late makes
none of the next ones wait to be asked for. Each repetition has a winner; printed are the medians and in
how many repetitions pqedge was at most the better rival. Nothing else may run on the machine.
"""

import argparse
import os
import sys

import arms
import cells
import estimates
import guards
import load
import namespace
import stand

SHARE = 0.5
PERCENTILE = "p99.9"
ARMS = ("pqedge", "haproxy", "nginx")


def measure(bench, arm, cell, seconds, rate=None):
    measurement, _ = bench.measure(arm, cell, seconds, rate)
    if measurement.failed or PERCENTILE not in measurement.latency:
        raise guards.GuardBroken(f"{arm}, {cell.name}: {measurement.requests} answered, {measurement.failed} failed: "
                                 f"{measurement.first_failure}")  # fmt: skip
    return measurement


def compare(bench, cell, options):
    rate = SHARE * min(measure(bench, arm, cell, 1.0).rate for arm in ARMS)
    slowest = {arm: [] for arm in ARMS}
    for taken in stand.repetitions(ARMS, options.repetitions, rate,
                                   lambda arm: measure(bench, arm, cell, options.seconds, rate)):  # fmt: skip
        for arm, measurement in taken.items():
            slowest[arm].append(measurement.latency[PERCENTILE])
    rivals = [min(pair) for pair in zip(slowest["haproxy"], slowest["nginx"])]
    won = sum(ours <= theirs for ours, theirs in zip(slowest["pqedge"], rivals))
    medians = " | ".join(f"{estimates.median(slowest[arm]):.0f}" for arm in ARMS)
    print(f"| {cell.title} | {rate:.0f} | {medians} | {won} of {options.repetitions} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="h*-1k-*0", help="shell patterns, comma-separated (run.py --list)")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--pqedge", metavar="FILE", help="another pqedge than build/pqedge")
    options = parser.parse_args()
    try:
        chosen = [cell for cell in cells.select(options.cells) if not cell.handshake_each]
    except ValueError as error:
        parser.error(str(error))
    if os.geteuid() != 0:
        sys.exit("bench/latency.py: needs root, for a network namespace and the rivals' private root")
    os.setpriority(os.PRIO_PROCESS, 0, options.nice)
    stand.install_rivals()
    print(f"{PERCENTILE} in us at half load, medians of {options.repetitions} repetitions of {options.seconds:g} s\n")
    print("| cell | a second | " + " | ".join(ARMS) + " | pqedge at most the better rival |")
    print("|---|---|" + "---|" * (len(ARMS) + 1), flush=True)
    try:
        with stand.Bench(list(ARMS), options.pqedge) as bench:
            for cell in chosen:
                compare(bench, cell, options)
    except guards.GuardBroken as broken:
        sys.exit(f"bench/latency.py: {broken}")
    except (arms.ArmError, load.LoadError, namespace.NamespaceError) as error:
        sys.exit(f"bench/latency.py: {error}")


if __name__ == "__main__":
    main()
