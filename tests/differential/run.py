#!/usr/bin/env python3
"""The differential fuzzer of HTTP/1.1: the same bytes to pqedge, nginx, HAProxy, Node and llhttp.

    tests/differential/run.py [--seed N] [--cases N | --seconds N]     made cases, the kept ones first
    tests/differential/run.py --only SEED:N                            one made case, and who reads it how
    tests/differential/run.py --file FILE                              the bytes of a file, the same way

What counts as a finding is in compare.py. Exit status 1: there was one; it is printed with its bytes,
made as small as it goes, for cases.txt. PQEDGE_BIN names the program, build/pqedge without it.
"""

import argparse
import collections
import pathlib
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]

import answers  # noqa: E402
import cases  # noqa: E402
import compare  # noqa: E402
import harness  # noqa: E402
import readers  # noqa: E402


class Run:
    def __init__(self, directory):
        self.edge, self.others = readers.start(directory)
        self.counts = collections.Counter()
        self.findings = []

    def stop(self):
        """Stops all; the edge by the rules of the tests: a crash or a sanitizer's word fails."""
        for reader in self.others:
            reader.stop()
        try:
            harness.TestCase()._end_edge(self.edge.process)
        finally:
            self.edge.origin.stop()

    def alive(self):
        return all(r.process is None or r.process.alive() for r in [self.edge, *self.others])

    def one(self, raw, others=None):
        """The findings of a case."""
        found = []
        ours = self.edge.read(raw)
        passed = self.edge.origin.take()

        def find(kind, other, theirs):
            found.append(compare.Finding(kind, other, raw, str(ours), str(theirs)))

        if ours.end == "hangs":
            find("hangs", "itself", "")
        broken, self.edge.origin.broken = self.edge.origin.broken, []
        if broken:
            find("broken", "its backend", broken)
        others = self.others if others is None else others
        taken, refusals = len(passed) > 0, 0
        for other in others:
            theirs = other.read(raw)
            where = compare.part(ours, theirs, raw)
            self.counts[other.name, where or "alike"] += 1
            if where in ("content", "waits"):
                find(where, other.name, theirs)
            refusals += bool(theirs.items) and theirs.items[0].kind == "refused"
        if taken and refusals == len(others) > 1 and ours.items[0].kind == "took":
            find("alone", "all", "refused")
        if passed:
            self._behind(passed, others, find)
        self._cut(others, find)
        return found

    def _behind(self, passed, others, find):
        sent = b"".join(r.raw for r in passed) + compare.END
        refusals = 0
        for other in others:
            theirs = other.read(sent, end=False)
            verdict = compare.behind(passed, theirs)
            self.counts[other.name, f"passed on: {verdict or 'alike'}"] += 1
            refusals += verdict == "refused"
            if verdict == "behind":
                find("behind", other.name, f"{theirs}\n  passed {sent!r}")
        if refusals == len(others) > 1:
            find("alone", "all", f"refused behind it\n  passed {sent!r}")

    def _cut(self, others, find):
        """Those that pqedge gave up; they may be of an earlier case, whose end they came after."""
        cut, self.edge.origin.cut = self.edge.origin.cut, []
        for sent in cut:
            for other in others:
                theirs = other.read(sent)
                if any(i.kind == "took" for i in theirs.items):
                    find("cut", other.name, f"{theirs}\n  passed {sent!r}")

    def answer(self, raw, others=None):
        """The findings of a backend's answer. Only proxies have clients."""
        proxies = [o for o in (self.others if others is None else others) if o.origin]
        found, verdicts = answers.one(self.edge, proxies, raw)
        for name, verdict in verdicts.items():
            self.counts[name, f"answers: {NAMES.get(verdict, verdict)}"] += 1
        return found

    def smaller(self, finding):
        """The same finding in fewer bytes, as far as a minute takes it."""
        end = time.monotonic() + 60
        others = [o for o in self.others if o.name == finding.other] or None
        read = self.answer if finding.kind in ANSWERS else self.one
        size = len(finding.raw) // 2
        while size:
            at = 0
            while at < len(finding.raw) and time.monotonic() < end:
                raw = finding.raw[:at] + finding.raw[at + size:]
                again = [f for f in read(raw, others) if (f.kind, f.other) == (finding.kind, finding.other)]
                if again:
                    finding = again[0]
                else:
                    at += size
            size //= 2
        return finding

    def all(self, raws, most=20):
        """Reads (reader of a case, case) until `most` findings; returns how many were read."""
        done = 0
        for read, raw in raws:
            found = read(raw)
            done += 1
            if found and not self.alive():
                raise AssertionError(f"a reader ended: {found[0]}")
            for finding in {f.kind: f for f in reversed(found) if not compare.known(f)}.values():
                for new in self.confirmed(read, finding):
                    print(new, flush=True)
                    self.findings.append(new)
            if len(self.findings) >= most:
                break
        return done

    def confirmed(self, read, finding):
        """The finding, if it comes each time. A reader that is not steady itself shows nothing (HAProxy
        now and then drops the requests behind one when the client has said its last); pqedge has to be."""
        others = [o for o in self.others if o.name == finding.other] or None
        for _ in range(3):
            again = [f for f in read(finding.raw, others) if (f.kind, f.other) == (finding.kind, finding.other)]
            if not again:
                ours = str(self.edge.read(finding.raw))
                self.edge.origin.take()
                if finding.kind in ANSWERS or ours == finding.ours:
                    self.counts[finding.other, "unsteady"] += 1
                    return []
                return [finding._replace(kind="unsteady", other="itself", theirs=ours)]
        return [finding]

    def table(self):
        kinds = sorted({k for _, k in self.counts})
        lines = []
        for other in self.others:
            told = ", ".join(f"{NAMES.get(k, k)} {self.counts[other.name, k]}" for k in kinds
                             if self.counts[other.name, k])
            lines.append(f"  {other.name:8} {told}")
        return "\n".join(lines)

    def generated(self, seed, count=None, seconds=None):
        """Made requests, and with every fourth an answer."""
        end = time.monotonic() + seconds if seconds else None
        number = 0
        while (end is None or time.monotonic() < end) and (count is None or number < count):
            yield self.one, cases.make(seed, number)
            if number % 4 == 0:
                yield self.answer, answers.make(seed, number)
            number += 1


NAMES = {"we": "only we refuse", "they": "only it refuses"}
ANSWERS = ("answer", "whole", "poison")


def session(seed, count=None, seconds=None, minimise=True, out=print):
    """The kept cases, then made ones. Returns the findings."""
    directory = tempfile.mkdtemp(prefix="pqedge-differential-")
    try:
        run = Run(directory)
        try:
            kept = run.all((run.one, raw) for raw in cases.kept())
            made = run.all(run.generated(seed, count, seconds))
            findings = [run.smaller(f) if minimise else f for f in run.findings]
        finally:
            run.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    out(f"{kept} kept cases, {made} made of seed {seed}: {len(findings)} findings")
    out(run.table())
    for finding in findings if minimise else []:
        out(f"smaller:\n{finding}")
    return findings


def show(raw):
    directory = tempfile.mkdtemp(prefix="pqedge-differential-")
    try:
        run = Run(directory)
        try:
            print(f"bytes    {raw!r}")
            for reader in [run.edge, *run.others]:
                print(f"{reader.name:8} {reader.read(raw)}")
            for request in run.edge.origin.take():
                print(f"passed   {request.raw!r}")
            findings = run.one(raw)
        finally:
            run.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for finding in findings:
        print(finding)
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default=str(int(time.time())), help="of the made cases (now)")
    parser.add_argument("--cases", type=int, help="how many to make")
    parser.add_argument("--seconds", type=float, help="for how long (60, unless --cases)")
    parser.add_argument("--only", help="SEED:N: this one")
    parser.add_argument("--file", type=pathlib.Path, help="the bytes of this file")
    parser.add_argument("--as-found", action="store_true", help="do not make findings smaller")
    args = parser.parse_args()
    if args.file:
        return bool(show(args.file.read_bytes()))
    if args.only:
        seed, _, number = args.only.rpartition(":")
        return bool(show(cases.make(seed, int(number))))
    seconds = args.seconds or (60 if args.cases is None else None)
    return bool(session(args.seed, args.cases, seconds, not args.as_found))


if __name__ == "__main__":
    sys.exit(main())
