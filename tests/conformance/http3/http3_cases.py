"""What a client may and may not do in HTTP/3: streams, frames, settings, messages, tunnels."""

from http3 import frames as f
from http3 import table as t

TABLE = t.Table()
case, add = TABLE.case, TABLE.add

HEADERS_OF_TRAILERS = f.h3(f.HEADERS, f.section(("x-sum", "1")))


def on_request_stream(data, *codes, end=False):
    """Those bytes on a request stream end the connection."""
    def run(c):
        c.open(data, end)
        t.closes(c, *codes)
    return run


def on_control_stream(data, *codes):
    """The same behind our SETTINGS."""
    def run(c):
        c.write(2, data)
        t.closes(c, *codes)
    return run


def new_stream(data, *codes, end=False):
    def run(c):
        c.open(data, end, unidirectional=True)
        t.closes(c, *codes)
    return run


def harmless(data, control=False):
    """Those bytes ahead of a request, or on the control stream, change nothing."""
    def run(c):
        if control:
            c.write(2, data)
        else:
            number = c.open(data + f.request("/behind"), end=True)
            c.run(lambda: c.answer(number), "the answer")
            assert c.answer(number)[0] == 200
        t.lives(c)
    return run


# ---- request streams ----------------------------------------------------------------------------

add("RFC 9114 4.1", "DATA before HEADERS", on_request_stream(
    f.h3(f.DATA, b"x"), t.H3_FRAME_UNEXPECTED))
add("RFC 9114 4.1", "HEADERS behind the trailers", on_request_stream(
    f.request("/bad", method="POST") + HEADERS_OF_TRAILERS * 2, t.H3_FRAME_UNEXPECTED))
add("RFC 9114 4.1", "DATA behind the trailers", on_request_stream(
    f.request("/bad", method="POST") + HEADERS_OF_TRAILERS + f.h3(f.DATA, b"x"),
    t.H3_FRAME_UNEXPECTED))
for name, kind in (("CANCEL_PUSH", f.CANCEL_PUSH), ("SETTINGS", f.SETTINGS), ("GOAWAY", f.GOAWAY),
                   ("MAX_PUSH_ID", f.MAX_PUSH_ID), ("PUSH_PROMISE", f.PUSH_PROMISE)):
    section = {"CANCEL_PUSH": "RFC 9114 7.2.3", "SETTINGS": "RFC 9114 7.2.4",
               "GOAWAY": "RFC 9114 7.2.6", "MAX_PUSH_ID": "RFC 9114 7.2.7",
               "PUSH_PROMISE": "RFC 9114 7.2.5"}[name]
    add(section, f"{name} on a request stream", on_request_stream(
        f.h3(kind, f.varint(0)), t.H3_FRAME_UNEXPECTED))
    add(section, f"{name} behind a head", on_request_stream(
        f.request("/bad", method="POST") + f.h3(kind, f.varint(0)), t.H3_FRAME_UNEXPECTED))
add("RFC 9218 7.2", "PRIORITY_UPDATE on a request stream", on_request_stream(
    f.h3(f.PRIORITY_UPDATE, f.varint(0) + b"u=1"), t.H3_FRAME_UNEXPECTED))
for kind in (0x02, 0x06, 0x08, 0x09):
    add("RFC 9114 7.2.8", f"frame type {kind:#x} of HTTP/2 on a request stream", on_request_stream(
        f.h3(kind, b"12345678"), t.H3_FRAME_UNEXPECTED))
    add("RFC 9114 7.2.8", f"frame type {kind:#x} of HTTP/2 on the control stream", on_control_stream(
        f.h3(kind, b"12345678"), t.H3_FRAME_UNEXPECTED))
add("RFC 9114 7.1", "a stream that ends within a frame's payload", on_request_stream(
    f.request("/bad", method="POST") + f.h3(f.DATA, b"abc", length=10), t.H3_FRAME_ERROR, end=True))
add("RFC 9114 7.1", "a stream that ends within a frame's header", on_request_stream(
    f.request("/bad", method="POST") + b"\x00", t.H3_FRAME_ERROR, end=True))
add("RFC 9114 7.1", "a stream that ends within HEADERS", on_request_stream(
    f.request("/bad")[:-3], t.H3_FRAME_ERROR, end=True))
add("RFC 9114 9", "a reserved frame before HEADERS", harmless(f.h3(f.RESERVED, b"grease")))
add("RFC 9114 9", "an unknown frame before HEADERS", harmless(f.h3(0x4A4A, bytes(3000))))
add("RFC 9114 9", "an unknown frame without payload", harmless(f.h3(0x3FFF)))


@case("RFC 9114 4.1", "unknown frames within a body are not part of it")
def unknown_within(c):
    number = c.open(f.request("/body", method="POST") + f.h3(f.DATA, b"one") +
                    f.h3(f.RESERVED, b"not") + f.h3(f.DATA, b"two") + HEADERS_OF_TRAILERS +
                    f.h3(f.RESERVED, b"end"), end=True)
    c.run(lambda: c.answer(number), "the answer")
    assert c.answer(number)[0] == 200 and b"onetwo" in c.answer(number)[2], c.answer(number)


@case("RFC 9114 4.1", "a stream that ends before a request")
def incomplete(c):
    t.refused(c, c.open(b"", end=True), t.H3_REQUEST_INCOMPLETE)


@case("RFC 9114 4.1", "a stream with nothing but an unknown frame")
def nothing_known(c):
    t.refused(c, c.open(f.h3(f.RESERVED, b"x"), end=True), t.H3_REQUEST_INCOMPLETE)


@case("RFC 9114 4.1.1", "a request that the client resets is over, and no other")
def cancelled(c):
    number = c.open(f.request("/cancelled", method="POST") + f.h3(f.DATA, b"x", length=100))
    c.flush()
    c.quic.reset_stream(number, t.H3_REQUEST_CANCELLED)
    t.lives(c)


@case("RFC 9114 4.1.1", "an answer that the client stops is over, and no other")
def answer_stopped(c):
    number = c.request("/big")
    c.run(lambda: c.stream(number).data, "the begin of the answer")
    c.quic.stop_stream(number, t.H3_REQUEST_CANCELLED)
    c.run(lambda: any(n == number for n, _, _ in c.quic.frames(f.RESET_STREAM)), "RESET_STREAM")
    t.lives(c)


# ---- unidirectional streams ---------------------------------------------------------------------

add("RFC 9114 6.2.1", "a second control stream",
    new_stream(f.varint(f.CONTROL) + f.settings(), t.H3_STREAM_CREATION_ERROR))
add("RFC 9114 6.2.2", "a push stream of a client",
    new_stream(f.varint(f.PUSH) + f.varint(0), t.H3_STREAM_CREATION_ERROR))
for name, kind in (("encoder", f.ENCODER), ("decoder", f.DECODER)):
    add("RFC 9204 4.2", f"a second {name} stream", lambda c, k=kind: (
        c.open(f.varint(k), unidirectional=True), c.open(f.varint(k), unidirectional=True),
        t.closes(c, t.H3_STREAM_CREATION_ERROR)))
    add("RFC 9204 4.2", f"the {name} stream ends", lambda c, k=kind: (
        c.open(f.varint(k), end=True, unidirectional=True),
        t.closes(c, t.H3_CLOSED_CRITICAL_STREAM)))
add("RFC 9114 6.2.1", "the control stream ends", lambda c: (
    c.write(2, b"", True), t.closes(c, t.H3_CLOSED_CRITICAL_STREAM)))
add("RFC 9114 6.2.1", "the control stream is reset", lambda c: (
    c.flush(), c.quic.reset_stream(2, t.H3_NO_ERROR), t.closes(c, t.H3_CLOSED_CRITICAL_STREAM)))
add("RFC 9114 6.2.1", "our control stream is refused", lambda c: (
    c.run(lambda: c.peer_stream(f.CONTROL), "SETTINGS"),
    c.quic.stop_stream(3, t.H3_NO_ERROR), t.closes(c, t.H3_CLOSED_CRITICAL_STREAM)))
for kind in (f.RESERVED, 0x54, 0x3FFF):
    @case("RFC 9114 6.2", f"a stream of unknown type {kind:#x} is harmless")
    def unknown_stream(c, kind=kind):
        c.open(f.varint(kind) + bytes(100), unidirectional=True)
        t.lives(c)
add("RFC 9114 6.2", "a stream that ends before its type is whole", lambda c: (
    c.open(b"\x40", end=True, unidirectional=True), t.lives(c)))
add("RFC 9114 6.2", "a stream that is reset before its type", lambda c: (
    c.inject(f.frame(f.RESET_STREAM, 6, 0x100, 0)), t.lives(c)))

# ---- the control stream -------------------------------------------------------------------------

for name, data in (("GOAWAY", f.h3(f.GOAWAY, f.varint(0))), ("a reserved frame", f.h3(f.RESERVED)),
                   ("MAX_PUSH_ID", f.h3(f.MAX_PUSH_ID, f.varint(0)))):
    add("RFC 9114 6.2.1", f"{name} before SETTINGS", lambda c, d=data: (
        c.open(f.varint(f.CONTROL) + d, unidirectional=True), t.closes(c, t.H3_MISSING_SETTINGS)),
        control=False)
for name, kind in (("DATA", f.DATA), ("HEADERS", f.HEADERS)):
    add("RFC 9114 6.2.1", f"{name} before SETTINGS", lambda c, k=kind: (
        c.open(f.varint(f.CONTROL) + f.h3(k, b"x"), unidirectional=True),
        t.closes(c, t.H3_MISSING_SETTINGS, t.H3_FRAME_UNEXPECTED)), control=False)
add("RFC 9114 7.2.1", "DATA on the control stream",
    on_control_stream(f.h3(f.DATA, b"x"), t.H3_FRAME_UNEXPECTED))
add("RFC 9114 7.2.2", "HEADERS on the control stream",
    on_control_stream(f.h3(f.HEADERS, b"\0\0"), t.H3_FRAME_UNEXPECTED))
add("RFC 9114 7.2.4", "SETTINGS twice", on_control_stream(f.settings(), t.H3_FRAME_UNEXPECTED))
add("RFC 9114 7.2.5", "PUSH_PROMISE on the control stream",
    on_control_stream(f.h3(f.PUSH_PROMISE, b"\0\0\0"), t.H3_FRAME_UNEXPECTED))
add("RFC 9114 7.2.3", "CANCEL_PUSH of what was not promised",
    on_control_stream(f.h3(f.CANCEL_PUSH, f.varint(0)), t.H3_ID_ERROR))
add("RFC 9114 7.2.7", "MAX_PUSH_ID that shrinks", on_control_stream(
    f.h3(f.MAX_PUSH_ID, f.varint(9)) + f.h3(f.MAX_PUSH_ID, f.varint(8)), t.H3_ID_ERROR))
add("RFC 9114 7.2.7", "MAX_PUSH_ID that grows, and stays",
    harmless(f.h3(f.MAX_PUSH_ID, f.varint(3)) + f.h3(f.MAX_PUSH_ID, f.varint(9)) * 2, True))
add("RFC 9114 5.2", "GOAWAY that grows", on_control_stream(
    f.h3(f.GOAWAY, f.varint(4)) + f.h3(f.GOAWAY, f.varint(8)), t.H3_ID_ERROR))
add("RFC 9114 5.2", "GOAWAY that shrinks, and stays",
    harmless(f.h3(f.GOAWAY, f.varint(8)) + f.h3(f.GOAWAY, f.varint(3)) * 2, True))
for name, kind in (("GOAWAY", f.GOAWAY), ("MAX_PUSH_ID", f.MAX_PUSH_ID)):
    add("RFC 9114 7.1", f"{name} that is cut short",
        on_control_stream(f.h3(kind, b"\x40"), t.H3_FRAME_ERROR))
    add("RFC 9114 7.1", f"{name} without payload",
        on_control_stream(f.h3(kind), t.H3_FRAME_ERROR))
    add("RFC 9114 7.1", f"{name} with bytes behind its identifier",
        on_control_stream(f.h3(kind, b"\0\0"), t.H3_FRAME_ERROR))
add("RFC 9114 9", "reserved and unknown frames on the control stream",
    harmless(f.h3(f.RESERVED, b"x") + f.h3(0x3FFF, bytes(2000)), True))
add("RFC 9218 7.2", "PRIORITY_UPDATE of a stream that is no request",
    on_control_stream(f.h3(f.PRIORITY_UPDATE, f.varint(2) + b"u=1"), t.H3_ID_ERROR))
add("RFC 9218 7.2", "PRIORITY_UPDATE beyond the stream limit",
    on_control_stream(f.h3(f.PRIORITY_UPDATE, f.varint(4 << 20) + b"u=1"), t.H3_ID_ERROR))
add("RFC 9218 7.2", "PRIORITY_UPDATE of a push",
    on_control_stream(f.h3(f.PRIORITY_UPDATE_PUSH, f.varint(0) + b"u=1"), t.H3_ID_ERROR))
add("RFC 9218 7.2", "PRIORITY_UPDATE without its stream",
    on_control_stream(f.h3(f.PRIORITY_UPDATE), t.H3_FRAME_ERROR))
add("RFC 9218 7.2", "PRIORITY_UPDATE before its request, and one that says nothing of use",
    harmless(f.h3(f.PRIORITY_UPDATE, f.varint(0) + b"u=0, i") +
             f.h3(f.PRIORITY_UPDATE, f.varint(4) + b"!?"), True))

# ---- SETTINGS -----------------------------------------------------------------------------------


def opens_with(data, *codes):
    def run(c):
        c.open(f.varint(f.CONTROL) + data, unidirectional=True)
        if codes:
            t.closes(c, *codes)
        else:
            t.lives(c)
    return run


for name in (0x02, 0x03, 0x04, 0x05):
    add("RFC 9114 7.2.4.1", f"setting {name:#x} of HTTP/2",
        opens_with(f.settings((name, 1)), t.H3_SETTINGS_ERROR), control=False)
add("RFC 9114 7.2.4", "a setting given twice",
    opens_with(f.settings((6, 1000), (6, 1000)), t.H3_SETTINGS_ERROR), control=False)
add("RFC 9114 7.1", "SETTINGS that end within a setting",
    opens_with(f.h3(f.SETTINGS, b"\x06"), t.H3_FRAME_ERROR), control=False)
add("RFC 9114 7.2.4.1", "reserved and unknown settings are ignored",
    opens_with(f.settings((f.RESERVED, 1), (0x33, 1), (0x2B603742, 1), (0x3FFFFFFF, 5))),
    control=False)
add("RFC 9114 7.2.4.2", "requests before any SETTINGS are answered", t.lives, control=False)
add("RFC 9220 3", "SETTINGS_ENABLE_CONNECT_PROTOCOL of a client means nothing",
    opens_with(f.settings((8, 1))), control=False)


@case("RFC 9114 7.2.4", "our control stream begins with SETTINGS, which say what we take")
def own_settings(c):
    given = c.peer_settings()
    assert given.get(1) == 4096 and given.get(7) == 100, given  # QPACK
    assert given.get(6, 0) >= 16384, given
    assert given.get(8) == 1, given  # a route takes upgrades: RFC 9220 3
    assert not {2, 3, 4, 5} & given.keys(), given


# ---- messages -----------------------------------------------------------------------------------


def malformed(section, name, head, body=b"", **how):
    def run(c):
        t.refused(c, c.open(head + body, end=True), t.H3_MESSAGE_ERROR, **how)
        assert not any(b"/malformed" in line for line, _ in c.test.origin.requests), "it was passed on"
    add(section, name, run)


def with_fields(*fields, **how):
    return f.request("/malformed", *fields, **how)


PSEUDO = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"),
          (":path", "/malformed")]
for name in (":method", ":scheme", ":authority", ":path"):
    malformed("RFC 9114 4.3.1", f"{name} given twice", f.h3(f.HEADERS, f.section(
        *PSEUDO, next(p for p in PSEUDO if p[0] == name))))
    malformed("RFC 9114 4.3.1", f"{name} is missing", with_fields(without=(name,)))
malformed("RFC 9114 4.3", "an unknown pseudo-header field", f.h3(f.HEADERS, f.section(
    *PSEUDO, (":unknown", "x"))))
malformed("RFC 9114 4.3", ":status of a request", f.h3(f.HEADERS, f.section(
    *PSEUDO, (":status", "200"))))
malformed("RFC 9114 4.3", "a pseudo-header field behind another field", f.h3(f.HEADERS, f.section(
    *PSEUDO[:3], ("x-one", "1"), PSEUDO[3])))
malformed("RFC 9114 4.3", "a pseudo-header field in trailers",
          with_fields(method="POST"), f.h3(f.HEADERS, f.section((":path", "/"))))
malformed("RFC 9114 4.2", "a field name in upper case in trailers",
          with_fields(method="POST"), f.h3(f.HEADERS, f.section(("X-Sum", "1"))))
malformed("RFC 9114 4.3.1", "an empty :authority", with_fields(authority=""))
malformed("RFC 9114 4.3.1", "user information in :authority", with_fields(authority="me@localhost"),
          answer_is_enough=True)
malformed("RFC 9114 4.3.1", "an empty :path", f.request("", ("x-malformed", "1")))
malformed("RFC 9114 4.3.1", ":path that is no path", f.request("malformed"))
malformed("RFC 9114 4.3.1", ":path with a blank", f.request("/malformed x"), answer_is_enough=True)
malformed("RFC 9114 4.3.1", "an empty :method", with_fields(method=""))
malformed("RFC 9114 4.3.1", ":method that is no token", with_fields(method="GE T"))
malformed("RFC 9114 4.3.1", "Host and :authority differ", with_fields(("host", "other.test")))
malformed("RFC 9114 4.2", "a field name in upper case", with_fields(("X-Upper", "1")))
malformed("RFC 9114 10.3", "an empty field name", with_fields(("", "1")))
for name, text in (("a blank", "x y"), ("a colon", "x:y"), ("a line feed", "x\ny"),
                   ("NUL", "x\0y"), ("a byte beyond ASCII", b"x\xff")):
    malformed("RFC 9114 10.3", f"a field name with {name}", with_fields((text, "1")))
for name, text in (("NUL", "a\0b"), ("CR", "a\rb"), ("LF", "a\nb")):
    malformed("RFC 9114 10.3", f"a field value with {name}", with_fields(("x-value", text)))
for name, value in (("connection", "x-one"), ("keep-alive", "timeout=5"), ("upgrade", "websocket"),
                    ("proxy-connection", "keep-alive"), ("transfer-encoding", "chunked")):
    malformed("RFC 9114 4.2", f"the field {name}", with_fields((name, value)))
malformed("RFC 9114 4.2", "TE with more than trailers", with_fields(("te", "gzip")))
malformed("RFC 9114 4.1.2", "Content-Length above the body",
          with_fields(("content-length", "5"), method="POST"), f.h3(f.DATA, b"four"))
malformed("RFC 9114 4.1.2", "Content-Length below the body",
          with_fields(("content-length", "3"), method="POST"), f.h3(f.DATA, b"four"))
malformed("RFC 9114 4.1.2", "Content-Length without a body",
          with_fields(("content-length", "3"), method="POST"))
malformed("RFC 9110 8.6", "Content-Length that is no number",
          with_fields(("content-length", "3x"), method="POST"), f.h3(f.DATA, b"abc"))
malformed("RFC 9110 8.6", "two lengths",
          with_fields(("content-length", "3"), ("content-length", "4"), method="POST"),
          f.h3(f.DATA, b"abc"))


@case("RFC 9114 4.2", "TE: trailers is fine")
def te_trailers(c):
    number = c.request("/te", ("te", "trailers"))
    c.run(lambda: c.answer(number), "the answer")
    assert c.answer(number)[0] == 200


@case("RFC 9114 4.2.1", "cookie crumbs are one field behind us")
def crumbs(c):
    number = c.request("/crumbs", ("cookie", "a=1"), ("cookie", "b=2"))
    c.run(lambda: c.answer(number), "the answer")
    assert b"cookie: a=1; b=2\r\n" in c.answer(number)[2].lower(), c.answer(number)[2]


@case("RFC 9114 4.3.1", "Host stands for :authority where that is missing")
def host_alone(c):
    number = c.request("/host", ("host", "localhost"), without=(":authority",))
    c.run(lambda: c.answer(number), "the answer")
    assert c.answer(number)[0] == 200 and b"host: localhost\r\n" in c.answer(number)[2].lower()


@case("RFC 9114 4.2.2", "a field section beyond SETTINGS_MAX_FIELD_SECTION_SIZE is 431")
def too_large(c):
    number = c.request("/malformed", ("x-large", "x" * 70_000))
    c.run(lambda: c.answer(number), "the answer")
    assert c.answer(number)[0] == 431
    t.lives(c)


@case("RFC 9114 4.2.2", "a field name that is too long is 431, and the matter of one request")
def long_name(c):
    number = c.request("/malformed", ("x" * 300, "1"))
    c.run(lambda: c.answer(number), "the answer")
    assert c.answer(number)[0] == 431
    t.lives(c)


@case("RFC 9114 4.1", "an answer to HEAD has no body")
def head(c):
    number = c.request("/head", method="HEAD")
    c.run(lambda: c.answer(number), "the answer")
    status, fields, body = c.answer(number)
    assert status == 200 and body == b"" and int(fields["content-length"]) > 0


@case("RFC 9114 4.2", "answers have no field of a connection, and names in lower case")
def lower_case(c):
    _, fields, _ = c.get("/fields")
    assert not {"connection", "keep-alive", "transfer-encoding", "upgrade"} & fields.keys(), fields
    assert all(name == name.lower() for name in fields), fields


@case("RFC 9114 4.3.2", "an answer has :status once, and first")
def status_once(c):
    number = c.request("/status")
    c.run(lambda: c.answer(number), "the answer")
    payload = f.parse_h3(c.stream(number).data)[0][0][1]
    import pylsqpack
    _, decoded = pylsqpack.Decoder(0, 0).feed_header(0, payload)
    names = [name for name, _ in decoded]
    assert names[0] == b":status" and sum(n.startswith(b":") for n in names) == 1, names


# ---- CONNECT ------------------------------------------------------------------------------------


def connect(*more, method="CONNECT", without=(":scheme", ":path"), **how):
    return f.request("/tunnel", *more, method=method, without=without, **how)


malformed("RFC 9114 4.4", "CONNECT with :scheme", connect(without=(":path",)))
malformed("RFC 9114 4.4", "CONNECT with :path", connect(without=(":scheme",)))
malformed("RFC 9114 4.4", "CONNECT without :authority",
          connect(without=(":scheme", ":path", ":authority")))
EXTENDED = (":protocol", "websocket")


def extended(*pseudo, without=()):
    fields = [(":method", "CONNECT"), (":scheme", "https"), (":authority", "localhost"),
              (":path", "/ws"), *(pseudo or (EXTENDED,))]
    return f.h3(f.HEADERS, f.section(*(p for p in fields if p[0] not in without),
                                     ("sec-websocket-version", "13")))


malformed("RFC 9220 3", "extended CONNECT without :scheme", extended(without=(":scheme",)))
malformed("RFC 9220 3", "extended CONNECT without :path", extended(without=(":path",)))
malformed("RFC 9220 3", "extended CONNECT without :authority", extended(without=(":authority",)))
malformed("RFC 9220 3", ":protocol twice", extended(EXTENDED, EXTENDED))
malformed("RFC 9220 3", ":protocol of a GET", f.h3(f.HEADERS, f.section(
    *PSEUDO, EXTENDED)))
malformed("RFC 9220 3", ":protocol that is no token", extended((":protocol", "web socket")))


@case("RFC 9220 3", "an unknown :protocol is 501")
def unknown_protocol(c):
    number = c.open(extended((":protocol", "nobody-knows")))
    c.run(lambda: c.stream(number).data, "an answer")
    found, _ = f.parse_h3(c.stream(number).data)
    assert c.fields(number, found[0][1])[":status"] == "501"
    t.lives(c)


@case("RFC 9114 4.4", "CONNECT that no route allows is refused")
def connect_refused(c):
    number = c.open(connect(authority="localhost:80"))
    c.run(lambda: c.stream(number).data, "an answer")
    found, _ = f.parse_h3(c.stream(number).data)
    assert c.fields(number, found[0][1])[":status"] == "501"
    t.lives(c)
