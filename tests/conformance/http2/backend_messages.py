"""RFC 9113 8 and RFC 7541 toward backends: malformed answers are no answers."""

from http2.backend_frames import *  # noqa: F403
from http2.backend_frames import bad, good, whole


def malformed(section, name, send, client=502, **options):
    """A stream error (RFC 9113 8.1.1)."""
    backend(section, name, send, lambda s: s.expect_stream_error(s.stream, PROTOCOL_ERROR), client=client, **options)


def head(*fields):
    """A whole head as END_HEADERS and END_STREAM have it."""
    return lambda s: headers(s.stream, block(*fields))


# ---- 8.1

malformed("RFC 9113 8.1", "DATA before HEADERS", lambda s: data(s.stream, b"x"))
malformed("RFC 9113 8.1", "an informational answer with END_STREAM", head((":status", "103")))
malformed("RFC 9113 8.1", "a second HEADERS without END_STREAM",
          lambda s: s.head() + data(s.stream, b"x") + headers(s.stream, block(("x-a", "b")), end=False), client="cut")
good("RFC 9113 8.1", "informational answers before the other",
     whole(lambda s: headers(s.stream, block((":status", "103")), end=False) * 3))
good("RFC 9113 8.1", "trailers",
     lambda s: s.head() + data(s.stream, b"whole") + headers(s.stream, block(("x-sum", "1"))),
     trailers=[("x-sum", "1")])
good("RFC 9113 8.1", "a whole answer, and NO_ERROR before the end of the request",
     lambda s: s.head() + data(s.stream, b"whole", end=True) + rst_stream(s.stream, NO_ERROR), partial=True)
good("RFC 9113 8.1", "an answer that is cut by NO_ERROR is not whole",
     lambda s: s.head() + data(s.stream, b"who") + rst_stream(s.stream, NO_ERROR), client="cut")
good("RFC 9113 8.1", "an answer whose connection ends is not whole",
     lambda s: s.send(s.head() + data(s.stream, b"who")) or s.sock.shutdown(1), ended, client="cut")

# ---- 8.1.1

for value in ("", "5,5", "+5", "-5", "5 ", "0x5", "18446744073709551620"):
    malformed("RFC 9113 8.1.1", f"a Content-Length of {value!r}",
              lambda s, v=value: s.head(("content-length", v)) + data(s.stream, b"whole", end=True), client="cut")
malformed("RFC 9113 8.1.1", "two values of Content-Length",
          lambda s: s.head(("content-length", "5"), ("content-length", "5")) + data(s.stream, b"whole", end=True),
          client="cut")
for value in ("4", "6"):
    malformed("RFC 9113 8.1.1", f"a Content-Length of {value} and 5 bytes",
              lambda s, v=value: s.head(("content-length", v)) + data(s.stream, b"whole", end=True), client="cut")
malformed("RFC 9113 8.1.1", "a Content-Length and no DATA", head((":status", "200"), ("content-length", "5")))
good("RFC 9113 8.1.1", "a Content-Length that is right",
     lambda s: s.head(("content-length", "5")) + data(s.stream, b"whole", end=True))
good("RFC 9113 8.1.1", "a Content-Length in the answer to HEAD",
     lambda s: headers(s.stream, block((":status", "200"), ("content-length", "5"))), method="HEAD", body=b"")
good("RFC 9113 8.1.1", "a Content-Length with 304",
     lambda s: headers(s.stream, block((":status", "304"), ("content-length", "5"))), client=304, body=b"")

# ---- 8.2, 8.3

for name in ("", "X-Upper", "x y", "x\0y", "x\ny", "x\ry", "x:y", "x\x7fy", "x\x80y"):
    malformed("RFC 9113 8.2.1", f"a name {name!r}", head((":status", "200"), (name, "value")))
for value in ("a\0b", "a\nb", "a\r\nx-smuggled: 1", " a", "a ", "\ta", "a\t"):
    malformed("RFC 9113 8.2.1", f"a value {value!r}", head((":status", "200"), ("x-test", value)))
for name, value in (("connection", "close"), ("keep-alive", "timeout=5"), ("proxy-connection", "keep-alive"),
                    ("transfer-encoding", "chunked"), ("upgrade", "h2c")):
    malformed("RFC 9113 8.2.2", f"{name}: {value}", head((":status", "200"), (name, value)))
    malformed("RFC 9113 8.2.2", f"{name}: {value} among trailers",
              lambda s, f=(name, value): s.head() + data(s.stream, b"x") + headers(s.stream, block(f)), client="cut")
malformed("RFC 9113 8.3", "a pseudo-header field of requests", head((":status", "200"), (":path", "/")))
malformed("RFC 9113 8.3", "an unknown pseudo-header field", head((":status", "200"), (":x", "1")))
malformed("RFC 9113 8.3", ":status after other fields", head(("x-a", "b"), (":status", "200")))
malformed("RFC 9113 8.3", ":status among trailers",
          lambda s: s.head() + data(s.stream, b"x") + headers(s.stream, block((":status", "200"))), client="cut")
malformed("RFC 9113 8.3.2", "no :status", head(("x-a", "b")))
malformed("RFC 9113 8.3.2", "two :status", head((":status", "200"), (":status", "200")))
for status in ("", "20", "2000", "abc", "2.0", "099", "600", "101"):
    malformed("RFC 9113 8.3.2", f":status of {status!r}", head((":status", status)))


def expect_request_form(s):
    names = [n.decode() for n, _ in s.request_fields]
    pseudo = [n for n in names if n.startswith(":")]
    if names[: len(pseudo)] != pseudo or sorted(pseudo) != [":authority", ":method", ":path", ":scheme"]:
        s.fail(f"pseudo-header fields: {names}")
    kept = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host"} & set(names)
    if kept or any(n != n.lower() for n in names):
        s.fail(f"fields: {names}")
    if s.request.get("cookie") != "a=1; b=2" or s.request.get("te") != "trailers":
        s.fail(f"fields: {s.request}")


good("RFC 9113 8.3.1", "the form of a request", lambda s: expect_request_form(s) or whole()(s),
     more=block(("cookie", "a=1"), ("cookie", "b=2"), ("te", "trailers")))

# ---- RFC 7541

for section, name, part in (("RFC 7541 2.3.3", "an index beyond both tables", indexed(70)),
                            ("RFC 7541 2.3.3", "a name's index beyond both tables", literal(70, "x", "add")),
                            ("RFC 7541 4.2", "a size update after a field", size_update(1)),
                            ("RFC 7541 5.1", "an index beyond all bounds", b"\xff" * 20 + b"\x01"),
                            ("RFC 7541 5.2", "a string longer than its block", b"\x00\x06x-test\x20abc"),
                            ("RFC 7541 5.2", "Huffman padding of more than 7 bits", b"\x00\x06x-test\x82\x8f\xff"),
                            ("RFC 7541 5.2", "Huffman padding of zeros", b"\x00\x06x-test\x81\x8c"),
                            ("RFC 7541 5.2", "Huffman with EOS", b"\x00\x06x-test\x85\x8f\xff\xff\xff\xff"),
                            ("RFC 7541 6.1", "an index of 0", indexed(0))):
    bad(section, name, lambda s, p=part: headers(s.stream, block((":status", "200")) + p),
        COMPRESSION_ERROR)
bad("RFC 7541 6.3", "a size update above SETTINGS_HEADER_TABLE_SIZE",
    lambda s: headers(s.stream, size_update(4097) + block((":status", "200"))), COMPRESSION_ERROR)


def never_indexed(fields, name):
    found = [f for f in fields if bytes(f[0]) == name]
    return len(found) == 1 and not found[0].indexable


def expect_secret(s):
    if not never_indexed(s.request_fields, b"x-secret"):
        s.fail(f"x-secret of the request: {s.request_fields}")
    s.alive()


good("RFC 7541 6.2.3", "a request's field stays never indexed", lambda s: s.respond(), expect_secret,
     more=literal("x-secret", "word", "never"))
good("RFC 7541 6.2.3", "an answer's field stays never indexed",
     lambda s: headers(s.stream, block((":status", "200")) + literal("x-secret", "word", "never"), end=False)
     + data(s.stream, b"whole", end=True),
     client_seen=lambda c: any(never_indexed(f.fields, b"x-secret") for f in c.seen if f.fields))
good("RFC 7541 6.2.3", "an answer's trailer field stays never indexed",
     lambda s: s.head() + data(s.stream, b"whole") + headers(s.stream, literal("x-secret", "word", "never")),
     trailers=[("x-secret", "word")],
     client_seen=lambda c: any(never_indexed(f.fields, b"x-secret") for f in c.seen if f.fields))


def expect_secret_trailer(s):
    s.wait(lambda f: f.end and f.kind == HEADERS and f.fields is not None, "trailers")
    if not any(never_indexed(f.fields, b"x-secret") for f in s.seen if f.fields):
        s.fail("x-secret is not never indexed")
    s.respond()
    s.alive()


good("RFC 7541 6.2.3", "a request's trailer field stays never indexed", b"", expect_secret_trailer, upload=b"some",
     upload_trailers=literal("x-secret", "word", "never"))


def send_kept(s, field):
    s.send(headers(s.stream, block((":status", "200")) + field, end=False), data(s.stream, b"whole", end=True))


good("RFC 7541 4.3", "the table lives from answer to answer",
     lambda s: send_kept(s, literal("x-kept", "kept", "add")),
     lambda s: (s.take_request(2), send_kept(s, indexed(FIRST_DYNAMIC)), s.alive()),
     requests=2, client_seen=lambda c: sum((b"x-kept", b"kept") in f.fields for f in c.seen if f.fields) == 2)
