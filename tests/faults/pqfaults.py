#!/usr/bin/env python3
"""Runs a program with faults: system calls that fail, memory that runs out, a clock that jumps.

    pqfaults.py run [-r RULE]... [--control FILE] [--] COMMAND [ARGUMENT]...
    pqfaults.py set FILE [RULE]...     other rules, from the next call on; none: no faults
    pqfaults.py show FILE              each rule, the calls that it saw, and how many of them failed

A rule is a call and settings, as 'accept errno=EMFILE every=3'. docs/internals/faults.md has all.
The library is build/tests/pqfaults.so, or PQFAULTS_LIBRARY.
"""

import argparse
import contextlib
import mmap
import os
import pathlib
import struct
import sys
import tempfile

RULES, TEXT = 32, 8192
COUNTS_AT = 8
TEXT_AT = COUNTS_AT + 16 * RULES
SIZE = TEXT_AT + TEXT


def library():
    build = os.environ.get("PQEDGE_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build")
    return os.environ.get("PQFAULTS_LIBRARY", str(pathlib.Path(build).resolve() / "tests/pqfaults.so"))


class Control:
    """The rules of running programs, in a file that they have mapped."""

    def __init__(self, path, rules=()):
        self.path = pathlib.Path(path).resolve()
        if not self.path.exists() or self.path.stat().st_size != SIZE:
            self.path.write_bytes(bytes(SIZE))
        with open(self.path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)
        if rules:
            self.set(*rules)

    def environment(self):
        before = os.environ.get("LD_PRELOAD")
        return {"LD_PRELOAD": library() + (f":{before}" if before else ""),
                "PQEDGE_FAULTS_CONTROL": str(self.path)}

    def set(self, *rules):
        """Takes the place of all rules; counts begin at 0."""
        self._write("")
        self._map[COUNTS_AT:TEXT_AT] = bytes(16 * RULES)
        if rules:
            self._write("\n".join(rules))

    def _write(self, text):
        raw = text.encode()
        if len(raw) > TEXT:
            raise ValueError("the rules are too long")
        version, = struct.unpack_from("=I", self._map, 0)
        self._map[TEXT_AT:TEXT_AT + len(raw)] = raw
        struct.pack_into("=I", self._map, 4, len(raw))
        struct.pack_into("=I", self._map, 0, (version + 1) & 0xffffffff)

    def rules(self):
        size, = struct.unpack_from("=I", self._map, 4)
        text = self._map[TEXT_AT:TEXT_AT + size].decode()
        words = [line.strip() for line in text.replace(";", "\n").split("\n")]
        return [w for w in words if w and not w.startswith("#")]

    def counts(self):
        """(calls seen, calls failed) of each rule."""
        return [struct.unpack_from("=QQ", self._map, COUNTS_AT + 16 * i)
                for i in range(len(self.rules()))]

    def failed(self, rule=0):
        return struct.unpack_from("=QQ", self._map, COUNTS_AT + 16 * rule)[1]


def run(options):
    with contextlib.ExitStack() as stack:
        path = options.control
        if path is None:
            path = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())) / "control"
        control = Control(path)
        control.set(*options.rule)
        command = options.command[1:] if options.command[:1] == ["--"] else options.command
        status = os.spawnvpe(os.P_WAIT, command[0], command, dict(os.environ, **control.environment()))
        show(control)
    return status if status >= 0 else 128 - status


def show(control):
    for rule, (seen, failed) in zip(control.rules(), control.counts()):
        print(f"{rule}: {failed} of {seen} calls failed", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="action", required=True)
    one = commands.add_parser("run")
    one.add_argument("-r", "--rule", action="append", default=[])
    one.add_argument("--control")
    one.add_argument("command", nargs=argparse.REMAINDER)
    one = commands.add_parser("set")
    one.add_argument("control")
    one.add_argument("rule", nargs="*")
    one = commands.add_parser("show")
    one.add_argument("control")
    options = parser.parse_args()
    if options.action == "run":
        if not options.command:
            parser.error("no command to run")
        return run(options)
    if not pathlib.Path(options.control).exists():
        parser.error(f"{options.control} is not there: 'run --control' makes it")
    control = Control(options.control)
    if options.action == "set":
        control.set(*options.rule)
    else:
        show(control)
    return 0


if __name__ == "__main__":
    sys.exit(main())
