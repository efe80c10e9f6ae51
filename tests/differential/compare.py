"""What two readers made of the same bytes: the same requests, or where they part.

A finding is what could let a second request through a chain of readers:

content   both took a request there, and not the same one
waits     one took a request where the other still waits for the rest of one, or is at the end
behind    what pqedge passed on is not read as what it meant
cut       a request that pqedge gave up is taken for whole
alone     pqedge takes what each other reader refuses
hangs     pqedge neither answered nor ended
broken    what pqedge passed on breaks a rule, whoever reads it
unsteady  pqedge did not read the same bytes in the same way twice

That one refuses what another takes is counted and is none: nothing comes of it.
"""

import re
import typing

ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


class Finding(typing.NamedTuple):
    kind: str
    other: str
    raw: bytes
    ours: str
    theirs: str

    def __str__(self):
        return (f"{self.kind} (pqedge and {self.other})\n  bytes  {self.raw!r}\n  pqedge {self.ours}\n"
                f"  {self.other:6} {self.theirs}")


def target(item):
    """The path and query: an absolute target is one spelling of them (RFC 9112 3.2.2)."""
    text = item.seen["target"]
    rest = ABSOLUTE.sub("", text, count=1)
    if rest != text and not rest.startswith("/"):
        rest = "*" if not rest and item.seen["method"] == "OPTIONS" else "/" + rest
    return rest


def same(ours, theirs, raw):
    a, b = ours.seen, theirs.seen
    if (a["method"], target(ours), a["body"]) != (b["method"], target(theirs), b["body"]):
        return False
    # An absolute target says the host anew, and not every reader puts the two together.
    return b"://" in raw or a["host"].lower() == b["host"].lower()


def part(ours, theirs, raw):
    """Where two readings part: "content", "waits", or who refused: "we", "they". None: nowhere."""
    for n in range(max(len(ours.items), len(theirs.items)) + 1):
        a = ours.items[n] if n < len(ours.items) else None
        b = theirs.items[n] if n < len(theirs.items) else None
        if a is None and b is None:
            return None
        if a is None or b is None:
            over = ours if a is None else theirs
            more = b if a is None else a
            if over.end in ("closed", "hangs"):
                return None
            if more.kind == "refused":
                return None  # what one takes for the beginning of a request is none to the other
            # Whether an answer of a reader's own was to a whole request is known by what follows it.
            last = n + 1 == len((theirs if a is None else ours).items)
            return None if more.kind == "answered" and last else "waits"
        if "refused" in (a.kind, b.kind):
            return None if a.kind == b.kind else ("we" if a.kind == "refused" else "they")
        if a.kind == b.kind == "took" and not same(a, b, raw):
            return "content"
    return None


END = b"GET /end HTTP/1.1\r\nHost: end.test\r\nConnection: close\r\n\r\n"


def behind(passed, reading):
    """Whether what pqedge passed on (`passed`: its requests) and END behind it are read as just that.

    None, "refused" (which a server may), or "behind".
    """
    for n, request in enumerate(passed):
        if n >= len(reading.items):
            return "behind"
        item = reading.items[n]
        if item.kind == "refused":
            return "refused"
        if item.kind == "took":
            seen = (request.method.decode("latin-1"), request.target.decode("latin-1"),
                    request.values(b"host")[0].decode("latin-1"), request.body.decode("latin-1"))
            if seen != tuple(item.seen[k] for k in ("method", "target", "host", "body")):
                return "behind"
    last = reading.items[len(passed):]
    return None if [i.seen and i.seen["target"] for i in last] == ["/end"] else "behind"


# What another reader does with its own connections, and not with ours: (who, kinds, bytes, why).
KNOWN = (
    ("node", ("waits",), re.compile(rb"(?i)upgrade:"),
     "behind the body of a request that asks for an upgrade, Node drops what it had read already"),
    ("nginx", ("answer", "whole", "poison"), re.compile(rb"HTTP/1\.[0-9]+ +1[0-9][0-9]"),
     "nginx 1.26 knows no informational answers: the one behind goes out without a length"),
)


def known(finding):
    return any(finding.other == who and finding.kind in kinds and pattern.search(finding.raw)
               for who, kinds, pattern, _ in KNOWN)
