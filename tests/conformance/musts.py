#!/usr/bin/env python3
"""Makes docs/conformance.md: what the RFCs demand of a proxy, and the test that holds it.

    python3 tests/conformance/musts.py            prints what is wrong with the tables, or nothing
    python3 tests/conformance/musts.py --write    writes the page

The demands are in musts/rfcNNNN.txt, in our own words. A line that is not indented is one,

    SECTION | TOWARD | DEMAND

where TOWARD is "clients", "backends" or "both", and the indented lines under it say what holds it, with
commas between:

    Suite.Name              a unit test (tests/unit)
    file:test_name          a test of tests/*/test_file.py
    fuzz:name               a fuzz target, whose corpus `make test` replays
    by section              the tests that name this section, found by themselves: there must be one
    none: the reason        why there is no test

A test names a section by writing it as "RFC 9112 6.3" or "RFC 9110 7.6.1, 7.6.3", in a comment, a doc
string or the name of a case; a table of cases beside the tests in a text.
"""

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TABLES = pathlib.Path(__file__).resolve().parent / "musts"
PAGE = SOURCE / "docs" / "conformance.md"

NUMBER = r"(?:[A-Z]\.)?\d+(?:\.\d+)*"
MENTION = re.compile(rf"\bRFC ?(\d{{4,5}})((?:(?:,| and)? {NUMBER}(?!\w))+)")
SECTION = re.compile(NUMBER)
GTEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
LITERAL = re.compile(r'(?<!")"(?!")([^"\n]*RFC \d+ [^"\n]*)"(?!")')
# In test_http1_*.py: test_6_1_... is of RFC 9112 6.1, test_9110_7_8_... of RFC 9110 7.8.
BY_NAME = re.compile(r"^ +def test_(9110_)?((?:\d{1,2}_)+)(\w+)\(", re.MULTILINE)
# Tests of the programs that are no proxy.
OTHERS = re.compile(r"^(measure|measure_fake|probe|browser|test_pq|test_probe)")
TOWARD = ("clients", "backends", "both")


class Tests:
    """What tests there are, and the sections that they name."""

    def __init__(self, root):
        self.units, self.python, self.fuzzers = set(), {}, set()
        self.sections = {}  # (rfc, section): files
        for path in sorted((root / "tests").rglob("*")):
            if path.suffix not in (".cc", ".py") or path.stem in ("musts", "test_musts"):
                continue
            text = path.read_text(errors="replace")
            name = self._name(root, path)
            if path.suffix == ".cc" and path.parent.name != "fuzz":
                self.units |= {f"{a}.{b}" for a, b in GTEST.findall(text)}
            elif path.name.endswith("_fuzz.cc"):
                self.fuzzers.add(path.name.removesuffix("_fuzz.cc"))
            elif path.name.startswith("test_"):
                stem = path.stem.removeprefix("test_")
                self.python[stem] = set(re.findall(r"^ +def (test_\w+)\(", text, re.MULTILINE))
                if stem.startswith("http1_"):
                    text = self._by_name(stem, text)
            if OTHERS.search(name):
                continue
            if path.name.endswith(("_test.cc", "_fuzz.cc")) or path.name.startswith("test_"):
                named = mentions(text)
            else:  # what tests share: cases and their names count, comments do not
                named = mentions(" ".join(LITERAL.findall(text)))
            for rfc, section in named:
                self.sections.setdefault((rfc, section), set()).add(name)

    def _by_name(self, stem, text):
        """Takes the tests whose names begin with a section. What is left of the text."""
        for rfc, section, test in BY_NAME.findall(text):
            place = (rfc.strip("_") or "9112", section.rstrip("_").replace("_", "."))
            self.sections.setdefault(place, set()).add(f"{stem}:test_{rfc}{section}{test}")
            text = re.sub(rf"\bRFC {place[0]} {re.escape(place[1])}(?![.\d])", "", text)
        return text

    @staticmethod
    def _name(root, path):
        parts = path.relative_to(root / "tests").parts
        return "/".join(parts[1:] if parts[0] in ("unit", "integration", "conformance") else parts)

    def problem_of(self, reference):
        """None, or why there is no such test."""
        if re.fullmatch(r"\w+\.\w+", reference):
            return None if reference in self.units else f"no unit test {reference}"
        kind, _, name = reference.partition(":")
        if kind == "fuzz":
            return None if name in self.fuzzers else f"no fuzz target {name}"
        if kind not in self.python:
            return f"no file test_{kind}.py"
        return None if name in self.python[kind] else f"no {name} in test_{kind}.py"


def mentions(text):
    """(rfc, section) of each that is named. A comment may go on in the next line."""
    text = re.sub(r"\n[ \t]*(?://|#)?[ \t]*", " ", text)
    for match in MENTION.finditer(text):
        for section in SECTION.findall(match.group(2).replace("and", " ")):
            if not section.isdigit() or int(section) < 100:  # "RFC 9113, 7541" are two of them
                yield match.group(1), section


class Demand:
    def __init__(self, rfc, section, toward, text):
        self.rfc, self.section, self.toward, self.text = rfc, section, toward, text
        self.references, self.by_section, self.reason = [], False, None

    def holds(self, line):
        if line.startswith("none:") or self.reason is not None:
            self.reason = ((self.reason or "") + " " + line.removeprefix("none:")).strip()
            return
        for reference in filter(None, (r.strip() for r in line.split(","))):
            if reference == "by section":
                self.by_section = True
            else:
                self.references.append(reference)

    def files(self, tests):
        """Those that name the section, but for those of the other side."""
        def fits(name):
            side = "backends" if "backend" in name else "clients"
            return self.toward in ("both", side) or not name.startswith(("http1_", "http2/", "http3/"))

        return sorted(filter(fits, tests.sections.get((self.rfc, self.section), ())))

    def problems(self, tests):
        where = f"RFC {self.rfc} {self.section}: "
        found = [where + p for p in map(tests.problem_of, self.references) if p]
        if self.by_section and not self.files(tests):
            found.append(where + f"no test names this section, which is to hold: {self.text}")
        if not (self.references or self.by_section or self.reason):
            found.append(where + f"nothing holds it: {self.text}")
        if self.reason and (self.references or self.by_section):
            found.append(where + "tests, and a reason why there are none")
        if self.toward not in TOWARD:
            found.append(where + f"toward {self.toward!r}")
        return found

    def row(self, tests):
        link = f"[{self.section}](https://www.rfc-editor.org/rfc/rfc{self.rfc}#" + (
            "section-" if self.section[0].isdigit() else "appendix-") + f"{self.section})"
        if self.reason:
            held = "no test: " + self.reason
        else:
            # Files that the references are in are told already.
            told = {f"test_{r.partition(':')[0]}.py" for r in self.references} | set(self.references)
            files = [f for f in self.files(tests) if f not in told
                     and (self.by_section or f.startswith("http1_"))]
            cases = [f for f in files if not f.endswith("_test.cc")]
            files = cases or files  # a unit test is told by its name, or where there is nothing else
            held = ", ".join(f"`{name}`" for name in self.references + files)
        return f"| {link} | {self.toward} | {self.text} | {held} |"


class Table:
    def __init__(self, path):
        self.rfc = path.stem.removeprefix("rfc")
        self.title, self.notes, self.demands = "", [], []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip():
                continue
            if line.startswith("# "):
                if self.title:
                    self.notes.append(line[2:])
                else:
                    self.title = line[2:]
            elif line[0].isspace():
                self.demands[-1].holds(line.strip())
            else:
                parts = [p.strip() for p in line.split(" | ", 2)]
                if len(parts) != 3:
                    raise SystemExit(f"{path}:{number}: not 'SECTION | TOWARD | DEMAND': {line}")
                self.demands.append(Demand(self.rfc, *parts))


def load():
    paths = sorted(TABLES.glob("rfc*.txt"), key=lambda p: int(p.stem[3:]))
    order = ("9110", "9112", "9113", "7541", "9114", "9204")
    tables = [Table(p) for p in paths]
    return sorted(tables, key=lambda t: (order.index(t.rfc) if t.rfc in order else len(order),
                                         int(t.rfc)))


def problems(tables, tests):
    return [p for t in tables for d in t.demands for p in d.problems(tests)]


def page(tables, tests):
    demands = [d for t in tables for d in t.demands]
    without = sum(1 for d in demands if d.reason)
    lines = [
        "# What the RFCs demand, and what holds it",
        "",
        "What HTTP, QUIC and TLS demand of a proxy (MUST and MUST NOT), where its own code can break it, in our",
        "own words, with the test that holds it or the reason why there is none. \"Clients\" and \"backends\" say",
        "on which side pqedge is then. What only caches, user agents, origin servers or the authors of extensions",
        "can break is left out.",
        "",
        f"{len(demands)} demands: {len(demands) - without} with tests, {without} without.",
        "",
        "`Suite.Name` is a unit test in `tests/unit`, `file:test_name` a test in `tests/*/test_file.py`,",
        "`fuzz:name` a fuzz target whose corpus is replayed; a name of a file stands for the cases in it that",
        "name the section. All of them run in `make test`, but for files named `test_long_*`, which",
        "`make test-long` runs.",
        "",
        "What passes in each pair of versions is in [a table of its own](results/version-matrix.md).",
        "",
        "Made by `python3 tests/conformance/musts.py --write` from `tests/conformance/musts/`, which says how to",
        "add to it; a test sees that the page is up to date and that every test exists.",
        "",
        "| RFC | demands | without a test |",
        "|---|---|---|",
    ]
    for t in tables:
        lines.append(f"| [{t.rfc}](#rfc-{t.rfc}) {t.title} | {len(t.demands)} | "
                     f"{sum(1 for d in t.demands if d.reason)} |")
    for t in tables:
        lines += ["", f"## RFC {t.rfc}", "", f"{t.title}."]
        lines += ["", *t.notes] if t.notes else []
        if t.demands:
            lines += ["", "| section | toward | what is demanded | held by |", "|---|---|---|---|"]
            lines += [d.row(tests) for d in t.demands]
    return "\n".join(lines) + "\n"


def differences(there, made):
    """(what the page says, what is) of each line that is not true any more. That a section has got more
    tests does not make a line untrue."""
    there, made = there.splitlines(), made.splitlines()
    if len(there) != len(made):
        return [(f"{len(there)} lines", f"{len(made)} lines")]
    return [(old, new) for old, new in zip(there, made) if not _still_true(old, new)]


def _still_true(old, new):
    old_row, _, old_held = old.rpartition(" | ")
    new_row, _, new_held = new.rpartition(" | ")
    names = [set(re.findall(r"`([^`]+)`", held)) for held in (old_held, new_held)]
    return old == new or (old_row == new_row != "" and bool(names[0]) and names[0] <= names[1])


def main():
    tables, tests = load(), Tests(SOURCE)
    wrong = problems(tables, tests)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return 1
    if "--write" in sys.argv:
        PAGE.write_text(page(tables, tests))
    return 0


if __name__ == "__main__":
    sys.exit(main())
