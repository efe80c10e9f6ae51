"""RFC 9113 8, 10.3 and RFC 7541 beyond what h2spec asks."""

from http2.case import *  # noqa: F403
from http2.further_frames import expect_seen, further
from http2.messages import request

bad = refused()

# ---- 8.1


def expect_no_content(status):
    def expect(c):
        a = c.answer()
        if a.status != status or not a.ended or any(f.kind == DATA for f in c.seen):
            c.fail(f"status {a.status} in the place of {status} without DATA")

    return expect


further("RFC 9113 8.1", "the answer to HEAD has no DATA", lambda c: headers(1, c.fields(method="HEAD")),
        expect_no_content(200))
further("RFC 9113 8.1", "204 has no DATA", lambda c: c.get(path="/204"), expect_no_content(204))
further("RFC 9113 8.1", "304 has no DATA", lambda c: c.get(path="/304"), expect_no_content(304))


def expect_hint(c):
    a = c.answer()
    if a.status != 200 or a.informational != [103]:
        c.fail(f"status {a.informational} and {a.status}")


further("RFC 9113 8.1", "an informational answer comes before the other", lambda c: c.get(path="/hint"), expect_hint)


def expect_trailers(c):
    a = c.answer()
    if a.status != 200 or a.trailers != [("x-sum", "7")] or a.body != b"some":
        c.fail(f"status {a.status}, body {a.body}, trailers {a.trailers}")


further("RFC 9113 8.1", "trailers end the answer", lambda c: c.get(path="/trailers"), expect_trailers)
further("RFC 9113 8.1", "trailers over two frames",
        lambda c: c.post(path="/trailers") + data(1, b"x") + headers(1, block(("x-a", "1")), end_headers=False)
        + continuation(1, block(("x-b", "2"))), expect_trailers)


def expect_early(c):
    """The whole answer, and then NO_ERROR: no more is wanted (RFC 9113 8.1)."""
    a = c.answer()
    if a.status != 403 or not a.ended:
        c.fail(f"status {a.status}, reset {a.reset}")
    f = c.wait(lambda f: f.kind == RST_STREAM and f.stream == 1, "RST_STREAM")
    if f.code != NO_ERROR:
        c.fail("the reset after a whole answer is an error")
    c.send(data(1, b"under way", end=True))
    c.alive()


further("RFC 9113 8.1", "an answer before the end of the request", lambda c: c.post(path="/early") + data(1, b"some"),
        expect_early)


def expect_answer_form(c):
    """8.2, 8.3.2: what an HTTP/1.1 answer becomes."""
    a = c.answer()
    names = [n for n, _ in a.fields]
    if names[0] != ":status" or any(n.startswith(":") for n in names[1:]):
        c.fail(f"pseudo-header fields: {names}")
    if any(n != n.lower() for n in names):
        c.fail(f"upper case: {names}")
    kept = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "x-hop"} & set(names)
    if kept or a.get("x-upper") != ["1"] or a.body != b"chunked":
        c.fail(f"fields of the connection: {kept}; {a.fields}; {a.body}")


further("RFC 9113 8.2.2", "fields of the backend's connection stay behind", lambda c: c.get(path="/hop"),
        expect_answer_form)

# ---- 8.1.1

for value in ("", "5,5", "+4", "-4", "4 ", "0x4", "4.0", "18446744073709551620"):
    further("RFC 9113 8.1.1", f"a Content-Length of {value!r}",
            lambda c, v=value: c.post(more=[("content-length", v)]) + data(1, b"test", end=True), bad, unseen=True)
further("RFC 9113 8.1.1", "two values of Content-Length",
        lambda c: c.post(more=[("content-length", "4"), ("content-length", "4")]) + data(1, b"test", end=True), bad,
        unseen=True)
further("RFC 9113 8.1.1", "a Content-Length without DATA", request(("content-length", "4"), method="POST"), bad,
        unseen=True)
further("RFC 9113 8.1.1", "less DATA than Content-Length",
        lambda c: c.post(more=[("content-length", "5")]) + data(1, b"test", end=True), bad, unseen=True)
further("RFC 9113 8.1.1", "less DATA than Content-Length, and trailers",
        lambda c: c.post(more=[("content-length", "5")]) + data(1, b"test") + headers(1, block(("x-a", "b"))), bad,
        unseen=True)

# ---- 8.2.1

for name in ("", "x y", "x\0y", "x\ny", "x\ry", "x:y", "x\ty", "x\x7fy", "x\x80y", "x\xffy", "xY", "Host"):
    further("RFC 9113 8.2.1", f"a name {name!r}", request((name, "value")), bad, unseen=True)
for value in ("a\0b", "a\nb", "a\rb", "a\r\nx-smuggled: 1", " a", "a ", "\ta", "a\t"):
    further("RFC 9113 8.2.1", f"a value {value!r}", request(("x-test", value)), bad, unseen=True)
further("RFC 9113 8.2.1", "a line's end in the value of a trailer field",
        lambda c: c.post() + data(1, b"test") + headers(1, block(("x-test", "a\r\nb"))), bad, unseen=True)

# ---- 8.2.2, 8.2.3

for name, value in (("connection", "close"), ("keep-alive", "timeout=5"), ("proxy-connection", "keep-alive"),
                    ("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("te", "gzip"), ("te", "")):
    further("RFC 9113 8.2.2", f"{name}: {value}", request((name, value)), bad, unseen=True)
    further("RFC 9113 8.2.2", f"{name}: {value} among trailers",
            lambda c, f=(name, value): c.post() + data(1, b"test") + headers(1, block(f)), bad, unseen=True)
further("RFC 9113 8.2.2", "TE of trailers", request(("te", "trailers")), answered())
further("RFC 9113 8.2.3", "crumbs of Cookie are joined", request(("cookie", "a=1"), ("x-b", "c"), ("cookie", "b=2")),
        expect_seen(1, b"\r\ncookie: a=1; b=2\r\n"))

# ---- 8.3

for name, value in ((":authority", "localhost"), (":status", "200"), (":", "x"), (":Method", "GET"), (":host", "x"),
                    (":protocol", "websocket")):
    further("RFC 9113 8.3", f"{name} beside a whole head",
            lambda c, f=(name, value): headers(1, block(f) + c.fields()), bad, unseen=True)
further("RFC 9113 8.3", ":authority after other fields",
        request((":authority", "localhost"), leave=(":authority",)), bad, unseen=True)
for name in (":path", ":scheme", ":authority", ":status", ":x"):
    further("RFC 9113 8.3", f"{name} among trailers",
            lambda c, n=name: c.post() + data(1, b"test") + headers(1, block((n, "200"))), bad, unseen=True)

for path in ("x", "?x", "*", "/a b", "/a\tb", "/a\0b", "/a\rb", "/a\nb", "http://localhost/", "/a#b", "/\x7f"):
    further("RFC 9113 8.3.1", f":path of {path!r}", request(path=path), bad, unseen=True)
for method in ("", "GE T", "GET\0", "GET\r\n", "G:T", "GET /x HTTP/1.1\r\nX: "):
    further("RFC 9113 8.3.1", f":method of {method!r}", request(method=method), bad, unseen=True)
for scheme in ("", "ht tp", "https\r\n", "1http"):
    further("RFC 9113 8.3.1", f":scheme of {scheme!r}",
            lambda c, s=scheme: headers(1, block((":scheme", s)) + c.fields(leave=(":scheme",))), bad, unseen=True)
for authority in ("user@localhost", "user:word@localhost", "local host", "localhost\r\n", "localhost/x", "[::1", "a,b",
                  "localhost:x", "localhost:99999"):
    further("RFC 9113 8.3.1", f":authority of {authority!r}",
            lambda c, a=authority: headers(1, block((":authority", a)) + c.fields(leave=(":authority",))), bad,
            unseen=True)
further("RFC 9113 8.3.1", "neither :authority nor Host", request(leave=(":authority",)), bad, unseen=True)
further("RFC 9113 8.3.1", "Host in the place of :authority", request(("host", "localhost"), leave=(":authority",)),
        expect_seen(1, b"\r\nHost: localhost\r\n"))
further("RFC 9113 8.3.1", "Host as :authority", request(("host", "localhost")),
        expect_seen(1, b"\r\nHost: localhost\r\n"))
further("RFC 9113 8.3.1", "Host other than :authority", request(("host", "other.test")), bad, unseen=True)
further("RFC 9113 8.3.1", "two fields Host", request(("host", "localhost"), ("host", "localhost")), bad, unseen=True)
further("RFC 9113 8.3.1", ":path of * with OPTIONS", request(method="OPTIONS", path="*"), answered())

# ---- 8.5

for name, leave in (("with :path", (":scheme",)), ("with :scheme", (":path",)), ("with both", ()),
                    ("without :authority", (":scheme", ":path", ":authority"))):
    further("RFC 9113 8.5", f"CONNECT {name}",
            lambda c, out=leave: headers(1, c.fields(method="CONNECT", leave=out), end=False), bad, unseen=True)

# ---- RFC 7541

ADDED_FIELD = literal("x-n", "v", "add")

further("RFC 7541 2.3.2", "the newest entry has the lowest index",
        lambda c: headers(1, c.fields() + literal("x-n", "first", "add") + literal("x-n", "second", "add"))
        + headers(3, c.fields() + indexed(FIRST_DYNAMIC) + indexed(FIRST_DYNAMIC + 1)),
        expect_seen(3, b"second\r\nx-n: first\r\n"))
further("RFC 7541 2.3.3", "the first index beyond the dynamic table",
        lambda c: headers(1, c.fields() + literal("x-n", "v", "add") + indexed(FIRST_DYNAMIC + 1)),
        broken(COMPRESSION_ERROR))
further("RFC 7541 4.2", "a size update after a field", lambda c: headers(1, indexed(METHOD_GET) + size_update(1)
                                                                         + c.fields(leave=(":method",))),
        broken(COMPRESSION_ERROR))
further("RFC 7541 4.3", "a smaller table loses its entries",
        lambda c: headers(1, c.fields() + ADDED_FIELD)
        + headers(3, size_update(0) + size_update(4096) + c.fields() + indexed(FIRST_DYNAMIC)),
        broken(COMPRESSION_ERROR))
further("RFC 7541 4.4", "a new entry drives out the oldest",
        lambda c: headers(1, c.fields() + ADDED_FIELD + literal("x-big", "b" * 4040, "add")
                          + indexed(FIRST_DYNAMIC + 1)),
        broken(COMPRESSION_ERROR))
further("RFC 7541 4.4", "an entry larger than the table empties it",
        lambda c: headers(1, size_update(64) + c.fields() + ADDED_FIELD + literal("x-big", "b" * 100, "add")
                          + indexed(FIRST_DYNAMIC)), broken(COMPRESSION_ERROR))
further("RFC 7541 4.4", "an entry larger than the table is a field all the same",
        lambda c: headers(1, size_update(64) + c.fields() + literal("x-big", "big" * 50, "add")),
        expect_seen(1, b"big" * 50))
for name, part in (("an index", b"\xff"), ("a name's index", b"\x7f"), ("the size of a table", b"\x3f"),
                   ("the length of a name", b"\x00\x7f"), ("the length of a value", b"\x00\x01x\x7f")):
    further("RFC 7541 5.1", f"{name} beyond all bounds",
            lambda c, p=part: headers(1, (b"" if p == b"\x3f" else c.fields()) + p + b"\xff" * 20 + b"\x01"),
            broken(COMPRESSION_ERROR))
further("RFC 7541 5.2", "a string longer than its block", lambda c: headers(1, c.fields() + b"\x00\x06x-test\x20abc"),
        broken(COMPRESSION_ERROR))
PRINTABLE = "".join(chr(i) for i in range(33, 127))
further("RFC 7541 5.2", "each printable octet by Huffman",
        lambda c: headers(1, c.fields() + literal("x-test", PRINTABLE, huffman=True)),
        expect_seen(1, PRINTABLE.encode() + b"\r\n"))
further("RFC 7541 5.2", "octets above ASCII by Huffman",
        lambda c: headers(1, c.fields() + literal("x-test", bytes(range(0x80, 0x100)), huffman=True)),
        expect_seen(1, bytes(range(0x80, 0x100))))
further("RFC 7541 6.2.1", "a name from the dynamic table",
        lambda c: headers(1, c.fields() + ADDED_FIELD)
        + headers(3, c.fields() + literal(FIRST_DYNAMIC, "other")), expect_seen(3, b"x-n: other\r\n"))
