#!/usr/bin/env python3
"""pqedge beside itself: what its access log and metrics, a second worker, or ten thousand connections
cost a request.

    bench/variants.py [logging] [workers] [connections]     (all three without a name)

CPU time a request, user and kernel, of two arms that take turns at one offered rate: with what the
comparison is about, over without. The ratio is of paired repetitions, with its 95 % interval. Nothing
else may run on the machine. Exit status: 0 done, 1 a request failed or the rate was not kept.
"""

import argparse
import dataclasses
import os
import sys

import arms
import cells
import estimates
import guards
import load
import namespace
import stand

SHARE = 0.5  # of the peak, that is offered
MANY = 10000
MANY_RATE = 4000  # a second, over that many connections and over a hundred
MANY_WARM_UP = 20  # seconds, in which that many handshakes are done


@dataclasses.dataclass(frozen=True)
class Side:
    arm: str
    cell: cells.Cell
    warm_up: float = 0.5


@dataclasses.dataclass(frozen=True)
class Comparison:
    title: str
    aim: float
    with_it: Side
    without: Side
    rate: float = 0  # 0: a share of the peak


def find(name):
    (cell,) = cells.select(name)
    return cell


def comparisons(kind):
    if kind == "logging":
        for name in ("h1-1k-100", "h2-1k-10", "h3-1k-10"):
            cell = find(name)
            yield Comparison(f"access log and metrics, {cell.title}", 1.02, Side("pqedge-logging", cell),
                             Side("pqedge", cell))  # fmt: skip
    elif kind == "workers":
        for name in ("h1-1k-100", "h2-1k-100", "h3-1k-100"):
            cell = find(name)
            yield Comparison(f"two workers, {cell.title}", 1.05, Side("pqedge-two-workers", cell),
                             Side("pqedge", cell))  # fmt: skip
    else:
        for protocol in ("h1", "h2", "h3"):
            many = cells.Cell(f"{protocol}-1k-{MANY}", protocol, "1k", MANY)
            few = dataclasses.replace(many, name=f"{protocol}-1k-100x1", connections=100)
            yield Comparison(f"{MANY} connections, {many.title}", 1.15, Side("pqedge", many, MANY_WARM_UP),
                             Side("pqedge", few), MANY_RATE)  # fmt: skip


def run_side(bench, side, seconds, rate):
    server = bench.servers[side.arm]
    watch = {"arm": server.pids(), "backend": bench.backend.pids()}
    measurement = load.run_pqload(bench.namespace, server, side.cell, seconds, warm_up=side.warm_up, rate=rate,
                                  watch=watch, timeout=30)  # fmt: skip
    if measurement.failed:
        raise guards.GuardBroken(f"{side.arm}, {side.cell.name}: {measurement.failed} failed: "
                                 f"{measurement.first_failure}")  # fmt: skip
    return measurement


def compare(comparison, options):
    sides = (comparison.with_it, comparison.without)
    times = ([], [])
    with stand.Bench(sorted({side.arm for side in sides}), options.pqedge) as bench:
        rate = comparison.rate
        if not rate:
            rate = SHARE * min(run_side(bench, side, 1.0, None).rate for side in sides)
        for taken in stand.repetitions((0, 1), options.repetitions, rate,
                                       lambda index: run_side(bench, sides[index], options.seconds, rate)):  # fmt: skip
            for index, measurement in taken.items():
                times[index].append(measurement.total())
    ratio, low, high = estimates.ratio(*times)
    cells_ = [f"{estimates.median(values):.1f} ({100 * estimates.spread(values):.0f} %)" for values in times]
    print(f"| {comparison.title} | {rate:.0f} | {cells_[0]} | {cells_[1]} | {ratio:.3f} [{low:.3f}, {high:.3f}] "
          f"| {comparison.aim} |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="logging, workers, connections")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--pqedge", metavar="FILE", help="another pqedge than build/pqedge")
    options = parser.parse_args()
    known = ("logging", "workers", "connections")
    if set(options.kinds) - set(known):
        parser.error(f"there are: {', '.join(known)}")
    if os.geteuid() != 0:
        sys.exit("bench/variants.py: needs root, for a network namespace")
    os.setpriority(os.PRIO_PROCESS, 0, options.nice)
    print(f"CPU us a request (spread of {options.repetitions} repetitions of {options.seconds:g} s)\n")
    print("| what | a second | with | without | ratio | aim |\n|---|---|---|---|---|---|", flush=True)
    try:
        for kind in options.kinds or known:
            for comparison in comparisons(kind):
                compare(comparison, options)
    except guards.GuardBroken as broken:
        sys.exit(f"bench/variants.py: {broken}")
    except (arms.ArmError, load.LoadError, namespace.NamespaceError) as error:
        sys.exit(f"bench/variants.py: {error}")


if __name__ == "__main__":
    main()
