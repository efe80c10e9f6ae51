"""The list of cases: each has a section of an RFC, a name, what is sent, and what must come of it."""

import collections
import re

from http2.wire import *  # noqa: F403


class Case:
    def __init__(self, suite, section, name, send, expect, handshake, options):
        self.suite, self.section, self.name = suite, section, name
        self.send, self.expect = send, expect
        self.handshake, self.options = handshake, options

    def __str__(self):
        return f"{self.suite}: {self.section}: {self.name}"


class Suite:
    """Calling it adds a case. `send` is bytes, or a function of the peer that returns bytes or nothing;
    `expect` is a function of the peer."""

    def __init__(self, name):
        self.name = name
        self.cases = []

    def __call__(self, section, name, send, expect, handshake=True, **options):
        case = Case(self.name, section, name, send, expect, handshake, options)
        assert str(case) not in {str(c) for c in self.cases}, case
        self.cases.append(case)


def perform(case, peer):
    what = case.send(peer) if callable(case.send) else case.send
    if what:
        peer.send(what)
    case.expect(peer)


# ---- expectations

def broken(*codes):
    """A connection error (RFC 9113 5.4.1)."""
    return lambda peer: peer.expect_connection_error(*codes)


def reset(*codes, stream=1):
    """A stream error (RFC 9113 5.4.2)."""
    return lambda peer: peer.expect_stream_error(stream, *codes)


def alive(peer):
    peer.alive()


def ended(peer):
    peer.drain()


def answered(stream=1, status=200):
    def expect(peer):
        a = peer.answer(stream)
        if a.reset is not None or a.status != status:
            peer.fail(f"status {a.status}, reset {a.reset} in the place of {status} on stream {stream}")
        peer.alive()

    return expect


def refused(stream=1, status=400):
    """RFC 9113 8.1.1: a malformed request is a stream error; a server may answer it first."""

    def expect(peer):
        a = peer.answer(stream)
        if a.reset != PROTOCOL_ERROR and a.status != status:
            peer.fail(f"status {a.status}, reset {a.reset} for a malformed request")
        peer.alive()

    return expect


# ---- the count

def section_key(section):
    return [int(n) for n in re.findall(r"\d+", section)]


def table(results):
    """results: {case: problem or None}. A line a section, and one a suite."""
    lines = []
    for title, key in (("section", lambda c: c.section), ("suite", lambda c: c.suite)):
        counts = collections.defaultdict(lambda: [0, 0])
        for case, problem in results.items():
            counts[key(case)][0 if problem is None else 1] += 1
        for name in sorted(counts, key=section_key if title == "section" else str):
            passed, failed = counts[name]
            lines.append(f"{title} {name}: {passed} of {passed + failed} cases")
    passed = sum(1 for problem in results.values() if problem is None)
    lines.append(f"all: {passed} of {len(results)} cases")
    return "\n".join(lines)
