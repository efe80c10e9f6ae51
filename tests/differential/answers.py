"""The other direction: one backend's answer to pqedge, nginx and HAProxy, what of it their clients get.

Two requests go out on a client's connection; the backend answers the first with the bytes of the case and
closes. A finding is:

answer    both clients got a whole answer, and not the same one
whole     pqedge's client got a whole answer where another's saw that it was cut
poison    what pqedge's client got for the second request is not the answer to it
"""

import random
import socket
import typing

import cases
import compare
import readers

REQUESTS = b"GET /answer HTTP/1.1\r\nHost: a.test\r\n\r\nGET /probe HTTP/1.1\r\nHost: a.test\r\n\r\n"


class Got(typing.NamedTuple):
    """What a client got: None for the status where there was no answer."""

    status: int | None
    body: bytes
    whole: bool
    rest: bytes


def unchunk(data):
    """(body, whole, what follows)."""
    body = b""
    while True:
        line, end, data = data.partition(b"\r\n")
        try:
            size = int(line.split(b";")[0], 16)
        except ValueError:
            return body, False, b""
        if size == 0:
            while end:
                line, end, data = data.partition(b"\r\n")
                if end and not line:
                    return body, True, data
            return body, False, b""
        if len(data) < size + 2:
            return body + data[:size], False, b""
        body, data = body + data[:size], data[size + 2:]


def got(data):
    while True:
        head, end, data = data.partition(b"\r\n\r\n")
        if not end or not head.startswith(b"HTTP/1."):
            return Got(None, head, False, b"")
        status, fields = readers.parse_head(head + end)
        if status is None:
            return Got(None, head, False, b"")
        if status >= 200:
            break
    if status in (204, 304):
        return Got(status, b"", True, data)
    if "chunked" in fields.get("transfer-encoding", []):
        return Got(status, *unchunk(data))
    if "content-length" in fields:
        size = int(fields["content-length"][0])
        return Got(status, data[:size], len(data) >= size, data[size:])
    return Got(status, data, True, b"")


def ask(reader, raw):
    """What the client of a proxy gets when the backend answers with `raw`."""

    def reply(sock, request):
        if request.target != b"/answer":
            return readers.tell(sock, request)
        sock.sendall(raw)
        return False

    reader.origin.reply = reply
    data = b""
    try:
        with socket.create_connection(("127.0.0.1", reader.port), timeout=readers.LIMIT) as sock:
            sock.sendall(REQUESTS)
            sock.shutdown(socket.SHUT_WR)
            try:
                while more := sock.recv(65536):
                    data += more
            except ConnectionResetError:
                pass
    finally:
        reader.origin.reply = readers.tell
    return got(data)


def is_probe(rest):
    reading = readers.parse_answers(rest)
    return not rest or [i.seen and i.seen["target"] for i in reading.items] == ["/probe"]


def one(edge, others, raw):
    """The findings of a case, and for each other reader how the two compare."""
    found, verdicts = [], {}
    ours = ask(edge, raw)
    edge.origin.take()
    refused = ours.status in (None, 502)
    if not is_probe(ours.rest):
        found.append(compare.Finding("poison", "itself", raw, str(ours), ""))
    for other in others:
        theirs = ask(other, raw)
        if theirs.status in (None, 502):
            verdicts[other.name] = "alike" if refused else "they"
        elif refused or not ours.whole:
            verdicts[other.name] = "alike" if not theirs.whole and not refused else "we"
        elif not theirs.whole:
            verdicts[other.name] = "whole"
        elif (ours.status, ours.body) != (theirs.status, theirs.body):
            verdicts[other.name] = "answer"
        else:
            verdicts[other.name] = "alike"
        if verdicts[other.name] in ("whole", "answer"):
            found.append(compare.Finding(verdicts[other.name], other.name, raw, str(ours), str(theirs)))
    return found, verdicts


ODD_STATUS_LINES = [b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.0 200 OK", b"HTTP/1.2 200 OK", b"HTTP/1.1  200 OK",
                    b"HTTP/2.0 200 OK", b"HTTP/1.1 2000 OK", b"HTTP/1.1 20 OK", b"http/1.1 200 OK", b"HTTP/1.1 204 X",
                    b"HTTP/1.1 304 X", b"HTTP/1.1 100 X", b"HTTP/1.1 103 X", b"HTTP/1.1 101 X", b"HTTP/1.1 099 X",
                    b"HTTP/1.1 600 X", b"HTTP/1.1 200 O\rK", b"HTTP/1.1\t200 OK", b"ICY 200 OK", b"",
                    b"HTTP/1.1 200 \xff", b" HTTP/1.1 200 OK", b"HTTP/1.1 205 X", b"HTTP/1.1 2 0 OK"]
POISON = b"HTTP/1.1 200 OK\r\nX-Poison: 1\r\nContent-Length: 6\r\n\r\npoison"


def make(seed, number):
    rng = random.Random(f"{seed}:answer:{number}")
    fields, body = cases.framed(rng)
    line = cases.odd(rng, b"HTTP/1.1 200 OK", ODD_STATUS_LINES, 0.2) + cases.ends(rng)
    lines = [fields]
    for _ in range(rng.choice([0, 0, 1, 2])):
        lines.append(rng.choice(cases.MORE_FIELDS) if rng.random() < 0.6 else b"Y: z\r\n")
    rng.shuffle(lines)
    raw = line + b"".join(lines) + cases.odd(rng, b"\r\n", cases.ODD_ENDS, 0.03) + body
    if rng.random() < 0.15:
        raw = b"HTTP/1.1 103 X\r\nX: y\r\n\r\n" + raw
    if rng.random() < 0.25:
        raw = cases.change(rng, raw)
    return raw + (POISON if rng.random() < 0.4 else b"")
