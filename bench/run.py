#!/usr/bin/env python3
"""The side-by-side benchmark: pqedge, HAProxy, nginx and the floor on one machine.

  make bench                      all of it (more than an hour)
  BENCH_CELLS='h1-1k-*' make bench
  BENCH_REPS=3 BENCH_SECONDS=1 BENCH_CELLS='h3-0-10,h1-handshake-*' bench/run.py

Environment:
  BENCH_CELLS    shell patterns of cell names, comma-separated (bench/run.py --list)
  BENCH_REPS     repetitions, at least 7 for a result (default 7)
  BENCH_SECONDS  seconds measured a repetition (default 3)
  BENCH_ARMS     comma-separated (default pqedge,haproxy,nginx,floor; --list says which there are)
  BENCH_NICE     nice value of all that is measured, -10 say, on a machine that is shared (default 0)
  BENCH_TOLERANT=1  go on when a guard breaks; the table then says that it is no result

It needs root: it makes a network namespace, and runs the rivals in their private root. Exit status:
0 done, 1 a guard broke (it says which), 2 wrong usage, 3 something did not start.
"""

import argparse
import datetime
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import arms  # noqa: E402
import cells  # noqa: E402
import estimates  # noqa: E402
import guards  # noqa: E402
import handshakes  # noqa: E402
import load  # noqa: E402
import namespace  # noqa: E402
import report  # noqa: E402
import stand  # noqa: E402

LEAST_REPETITIONS = 7
EQUAL_SHARE = 0.70  # of the slowest arm's peak


def say(text):
    print(text, file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="list the cells and arms, and stop")
    parser.add_argument("--publish", metavar="DIR", help="also write table.md, raw.csv and run.json there")
    parser.add_argument("--skip-saturated", action="store_true",
                        help="only the equal rate; the peaks are then taken from one repetition")  # fmt: skip
    parser.add_argument("--handshakes", action="store_true",
                        help="the handshake table instead: group x certificate, CPU and bytes (bench/handshakes.py)")  # fmt: skip
    parser.add_argument("--pqedge", metavar="FILE", help="another pqedge than build/pqedge")
    chosen = parser.parse_args()
    environment = os.environ
    try:
        chosen.cells = cells.select(environment.get("BENCH_CELLS", ""))
        chosen.repetitions = int(environment.get("BENCH_REPS", LEAST_REPETITIONS))
        chosen.seconds = float(environment.get("BENCH_SECONDS", 3))
        chosen.nice = int(environment.get("BENCH_NICE", 0))
        names = [name for name in environment.get("BENCH_ARMS", "").split(",") if name] or arms.DEFAULT_ARMS
        unknown = [name for name in names if name not in arms.ARMS]
        if unknown:
            raise ValueError(f"no arm is called {', '.join(unknown)}; there are: {' '.join(arms.ARMS)}")
        if chosen.repetitions < 1 or chosen.seconds <= 0:
            raise ValueError("BENCH_REPS and BENCH_SECONDS are above 0")
    except ValueError as error:
        parser.error(str(error))
    chosen.arm_names = list(names)
    chosen.strict = environment.get("BENCH_TOLERANT", "") in ("", "0")
    return chosen


class Run:
    def __init__(self, options, bench, guard, ceilings):
        self.options = options
        self.bench = bench
        self.guard = guard
        self.ceilings = ceilings
        self.results = report.Results(options.arm_names)
        self.taken_again = 0

    def repetition(self, cell, names, rate):
        """Each arm once, in this order: [(arm, measurement)]."""
        rows = []
        for arm in names:
            drops = self.bench.namespace.udp_drops()
            measurement, idle = self.bench.measure(arm, cell, self.options.seconds, rate)
            self.guard.measurement(arm, cell, measurement, idle)
            if cell.protocol == "h3":
                self.guard.no_datagram_lost(arm, cell, self.bench.namespace.udp_drops() - drops)
            rows.append((arm, measurement))
        return rows

    def repetitions(self, mode, cell, count, rate=None):
        names = self.bench.serving(cell)
        spare = count  # repetitions that may be taken again, as a whole, so that no arm is favoured
        for repetition in range(count):
            rows = self.repetition(cell, stand.rotated(names, repetition), rate)
            while rate is not None and spare > 0 and not all(guards.keeps_rate(rate, m) for _, m in rows):
                spare -= 1
                self.taken_again += 1
                rows = self.repetition(cell, stand.rotated(names, repetition), rate)
            for arm, measurement in rows:
                if rate is not None:
                    self.guard.offered_rate_kept(arm, cell, rate, measurement)
                self.results.add(mode, cell, repetition, arm, measurement, rate)
        said = [f"{arm} {estimates.median(self.results.cpu(mode, cell, arm)):.1f}" for arm in names]
        say(f"  {cell.name}, {mode}{'' if rate is None else f' {rate:.0f}/s'}: us a request: {', '.join(said)}")

    def cell(self, cell):
        saturated = 1 if self.options.skip_saturated else self.options.repetitions
        if not self.attempt("saturated", cell, lambda: self.repetitions("saturated", cell, saturated)):
            return  # without its peaks there is no rate
        peaks = {arm: estimates.median(self.results.series("saturated", cell, arm, lambda m: m.rate))
                 for arm in self.bench.serving(cell)}  # fmt: skip
        self.attempt("saturated", cell, lambda: self.guard.ceiling_above(self.ceilings, cell, peaks))
        # The floor offers no more than an upper bound: it does not say what is offered.
        slowest = min(peak for arm, peak in peaks.items() if arm != "floor" or len(peaks) == 1)
        rate = EQUAL_SHARE * slowest
        self.attempt("equal", cell, lambda: self.repetitions("equal", cell, self.options.repetitions, rate))

    def attempt(self, mode, cell, measure):
        """What breaks a guard here spoils this comparison, not those before and after."""
        try:
            measure()
            return True
        except guards.GuardBroken as broken:
            self.results.withhold(mode, cell, str(broken))
            say(f"  {cell.name}, {mode}: WITHHELD: {broken}")
            return False


def prepare(options, bench, guard):
    """The guards that come before the first figure. What they found, for the record."""
    servers = list(bench.servers.values())
    say("guards: threads, bytes, congestion control, the backend's ceiling, the generator")
    guard.cpu_masks([*servers, bench.backend])
    guard.same_bytes(bench.namespace, servers, bench.site, options.cells)
    guard.congestion_control(bench.namespace, servers[0], "cubic")
    seconds = max(1.0, min(2.0, options.seconds))
    bodies = sorted({cell.body for cell in options.cells})
    ceilings = guard.backend_ceiling(bench.namespace, bench.backend, bodies, seconds)
    agreement = []
    if "nginx" in bench.servers and shutil.which("h2load"):
        agreement = guard.generator_agrees(bench.namespace, bench.servers["nginx"], 30000, 11)
    else:
        guard.check(False, "the generator agrees with h2load", "needs the nginx arm and h2load")
    return ceilings, agreement


def facts(options, bench, guard, ceilings, agreement, whole):
    cpu = next((line.split(": ")[1] for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())  # fmt: skip
    commit = subprocess.run(["git", "-C", arms.TOP, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
                            capture_output=True, text=True).stdout.strip()  # fmt: skip
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit or "unknown",
        "machine": {"cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release()},
        "network": bench.namespace.facts(),
        "versions": {name: server.versions() for name, server in [*bench.servers.items(), ("backend", bench.backend)]},
        "repetitions": options.repetitions,
        "seconds": options.seconds,
        "nice": options.nice,
        "ceilings": ceilings,
        "agreement": agreement,
        "taken_again": whole.taken_again,
        "withheld": whole.results.withheld,
        "passed": guard.passed,
        "broken": guard.broken,
        "warnings": guard.warnings,
    }


def run(options):
    guard = guards.Guards(options.strict)
    if options.repetitions < LEAST_REPETITIONS:
        guard.warn(False, "repetitions", f"{options.repetitions} instead of at least {LEAST_REPETITIONS}")
    if any(name in arms.RIVALS for name in options.arm_names):
        stand.install_rivals()
    with stand.Bench(options.arm_names, options.pqedge) as bench:
        ceilings, agreement = prepare(options, bench, guard)
        whole = Run(options, bench, guard, ceilings)
        for number, cell in enumerate(options.cells, 1):
            say(f"[{number}/{len(options.cells)}] {cell.title}")
            whole.cell(cell)
        guard.cpu_masks([*bench.servers.values(), bench.backend])
        known = facts(options, bench, guard, ceilings, agreement, whole)
    for directory in [stand.OUT, *([options.publish] if options.publish else [])]:
        report.write_raw(whole.results, known, directory)
    print(report.markdown(whole.results, known))
    say(f"raw rows: {stand.OUT}/raw.csv, {stand.OUT}/run.json; table: {stand.OUT}/table.md")
    return 1 if guard.broken or whole.results.withheld else 0


def main():
    options = arguments()
    if options.list:
        print("cells:", *(f"  {cell.name:20} {cell.title}" for cell in cells.CELLS), sep="\n")
        print("arms:", *(f"  {name}" for name in arms.ARMS), sep="\n")
        return 0
    if os.geteuid() != 0:
        say("bench/run.py: needs root, for a network namespace and the rivals' private root")
        return 3
    if (os.cpu_count() or 1) < 2:
        say("bench/run.py: needs two cores, one for the proxy and one for the load")
        return 3
    # A signal ends the run by way of the `with` blocks.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    os.setpriority(os.PRIO_PROCESS, 0, options.nice)
    try:
        return handshakes.run(options) if options.handshakes else run(options)
    except guards.GuardBroken as broken:
        say(f"bench/run.py: REFUSED, a guard broke: {broken}")
        return 1
    except (arms.ArmError, load.LoadError, namespace.NamespaceError) as error:
        say(f"bench/run.py: {error}")
        return 3
    except KeyboardInterrupt:
        say("bench/run.py: interrupted")
        return 3


if __name__ == "__main__":
    sys.exit(main())
