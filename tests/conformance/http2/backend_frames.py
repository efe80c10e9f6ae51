"""RFC 9113 3 to 7 toward backends: a server that breaks a rule, or uses one, and what its client gets.

`client`: a status (the answer came whole), or "cut" (it must not look whole: a reset, or 502).
"""

from http2.case import *  # noqa: F403

backend = Suite("backend")
FRAMING = (FRAME_SIZE_ERROR, PROTOCOL_ERROR)


def good(section, name, send, expect=alive, client=200, **options):
    backend(section, name, send, expect, client=client, **options)


def bad(section, name, send, *codes, client=502, **options):
    """A connection error."""
    backend(section, name, send, broken(*codes), client=client, **options)


def whole(*before, body=b"whole"):
    """A good answer after some frames."""
    return lambda s: b"".join(f(s) if callable(f) else f for f in before) + s.head() + data(s.stream, body, end=True)


# ---- 3.4

bad("RFC 9113 3.4", "PING in the place of SETTINGS", lambda s: s.preface() or ping(), PROTOCOL_ERROR, handshake=False)
bad("RFC 9113 3.4", "an acknowledgement in the place of SETTINGS", lambda s: s.preface() or settings_ack(),
    PROTOCOL_ERROR, handshake=False)


def expect_our_preface(s):
    first = s.wait(lambda f: True, "a frame")
    if first.kind != SETTINGS or first.flags & ACK:
        s.fail("the first frame is not SETTINGS")
    if s.settings.get(ENABLE_PUSH) != 0:
        s.fail("pushes are not refused")
    s.alive()


good("RFC 9113 3.4", "our preface and SETTINGS come first", whole(), expect_our_preface)

# ---- 4

good("RFC 9113 4.1", "a frame of an unknown type", whole(frame(UNKNOWN, 0xFF, 0, bytes(8)),
                                                          lambda s: frame(UNKNOWN, 0, s.stream, bytes(8))))
good("RFC 9113 4.1", "undefined flags",
     lambda s: frame(HEADERS, END_HEADERS | 0xD2, s.stream, block((":status", "200")))
     + frame(DATA, END_STREAM | 0xF6, s.stream, b"whole"))
good("RFC 9113 4.1", "the reserved bit of the stream identifier",
     lambda s: headers(s.stream | 1 << 31, block((":status", "200")), end=False)
     + data(s.stream | 1 << 31, b"whole", end=True))
for name, large in (("DATA", lambda s: s.head() + data(s.stream, bytes(DEFAULT_FRAME_SIZE + 1))),
                    ("HEADERS", lambda s: s.head(("x-large", "l" * DEFAULT_FRAME_SIZE))),
                    ("PING", lambda s: frame(PING, 0, 0, bytes(DEFAULT_FRAME_SIZE + 1))),
                    ("an unknown type", lambda s: frame(UNKNOWN, 0, 0, bytes(DEFAULT_FRAME_SIZE + 1)))):
    bad("RFC 9113 4.2", f"{name} larger than SETTINGS_MAX_FRAME_SIZE", large, FRAME_SIZE_ERROR, client="cut")
good("RFC 9113 4.2", "DATA of 2^14 octets", whole(body=bytes(DEFAULT_FRAME_SIZE)), body=bytes(DEFAULT_FRAME_SIZE))
bad("RFC 9113 4.3", "a field block that cannot be decoded",
    lambda s: headers(s.stream, block((":status", "200")) + indexed(70)), COMPRESSION_ERROR)
bad("RFC 9113 4.3", "a block that ends within a field",
    lambda s: headers(s.stream, block((":status", "200")) + b"\x00\x06x-t"), COMPRESSION_ERROR)
for name, between in (("PRIORITY", lambda s: priority(s.stream)), ("DATA", lambda s: data(s.stream, b"x")),
                      ("HEADERS of another stream", lambda s: headers(s.stream + 2, block((":status", "200")))),
                      ("an unknown extension frame", lambda s: frame(UNKNOWN, 0, s.stream, bytes(4)))):
    bad("RFC 9113 4.3", f"{name} within a field block",
        lambda s, f=between: headers(s.stream, block((":status", "200")), end=False, end_headers=False) + f(s)
        + continuation(s.stream, block(("x-a", "b"))), PROTOCOL_ERROR)

# ---- 5.1

for name, idle in (("DATA", lambda s: data(s.stream + 2, b"x")),
                   ("HEADERS", lambda s: headers(s.stream + 2, block((":status", "200")))),
                   ("RST_STREAM", lambda s: rst_stream(s.stream + 2)),
                   ("WINDOW_UPDATE", lambda s: window_update(s.stream + 2, 10)),
                   ("CONTINUATION", lambda s: continuation(s.stream + 2, block((":status", "200"))))):
    bad("RFC 9113 5.1", f"idle: {name}", idle, PROTOCOL_ERROR)
good("RFC 9113 5.1", "idle: PRIORITY", whole(lambda s: priority(s.stream + 2)))


def ended_or_alive(s):
    """5.1: such a frame may be an error, or be dropped."""
    if not s.lives():
        s.expect_connection_error(STREAM_CLOSED, PROTOCOL_ERROR)


for name, late in (("DATA", lambda s: data(s.stream, b"more")), ("HEADERS", lambda s: s.head(status="500")),
                   ("trailers", lambda s: headers(s.stream, block(("x-late", "1"))))):
    good("RFC 9113 5.1", f"closed by END_STREAM: {name} changes nothing",
         lambda s, f=late: s.head() + data(s.stream, b"whole", end=True) + f(s), ended_or_alive)
for name, late in (("WINDOW_UPDATE", lambda s: window_update(s.stream, 10)),
                   ("RST_STREAM", lambda s: rst_stream(s.stream)),
                   ("PRIORITY", lambda s: priority(s.stream))):
    good("RFC 9113 5.1", f"closed by END_STREAM: {name} may come",
         lambda s, f=late: s.head() + data(s.stream, b"whole", end=True) + f(s))
bad("RFC 9113 5.1.1", "HEADERS on an even stream", lambda s: headers(2, block((":status", "200"))), PROTOCOL_ERROR)
bad("RFC 9113 5.4.1", "a connection error is told by GOAWAY", frame(PING, 0, 3, bytes(8)), PROTOCOL_ERROR)

# ---- 6.1 to 6.4

bad("RFC 9113 6.1", "DATA on stream 0", data(0, b"x"), PROTOCOL_ERROR)
bad("RFC 9113 6.1", "DATA with more padding than payload",
    lambda s: s.head() + frame(DATA, PADDED, s.stream, b"\x06test"), PROTOCOL_ERROR, client="cut")
bad("RFC 9113 6.1", "DATA too short for the length of its padding", lambda s: s.head() + frame(DATA, PADDED, s.stream),
    *FRAMING, client="cut")
good("RFC 9113 6.1", "DATA with padding", lambda s: s.head() + data(s.stream, b"whole", end=True, padding=100))
good("RFC 9113 6.1", "DATA of nothing but padding",
     lambda s: s.head() + data(s.stream, b"", padding=50) + data(s.stream, b"whole", end=True))
bad("RFC 9113 6.2", "HEADERS on stream 0", headers(0, block((":status", "200"))), PROTOCOL_ERROR)
bad("RFC 9113 6.2", "HEADERS with more padding than payload",
    lambda s: frame(HEADERS, END_HEADERS | PADDED, s.stream, b"\x06\x88"), PROTOCOL_ERROR)
good("RFC 9113 6.2", "HEADERS with padding and priority fields",
     lambda s: headers(s.stream, block((":status", "200")), end=False, padding=20, depends=dependency())
     + data(s.stream, b"whole", end=True))
bad("RFC 9113 6.3", "PRIORITY on stream 0", priority(0), PROTOCOL_ERROR)
backend("RFC 9113 6.3", "PRIORITY of a wrong size", lambda s: frame(PRIORITY, 0, s.stream, bytes(4)),
        lambda s: s.expect_stream_error(s.stream, FRAME_SIZE_ERROR), client=502)
for name, own in (("HEADERS", lambda s: headers(s.stream, block((":status", "200")), depends=dependency(s.stream))),
                  ("PRIORITY", lambda s: priority(s.stream, on=s.stream))):
    backend("RFC 9113 5.3.2", f"{name} of a stream that depends on itself", own,
            lambda s: s.expect_stream_error(s.stream, PROTOCOL_ERROR), client="cut")
bad("RFC 9218 7.1", "PRIORITY_UPDATE by a server", lambda s: priority_update(s.stream), PROTOCOL_ERROR)
bad("RFC 9113 6.4", "RST_STREAM on stream 0", rst_stream(0), PROTOCOL_ERROR)
bad("RFC 9113 6.4", "RST_STREAM of a wrong size", lambda s: frame(RST_STREAM, 0, s.stream, bytes(3)), FRAME_SIZE_ERROR)

# ---- 6.5

bad("RFC 9113 6.5", "an acknowledgement with a payload", frame(SETTINGS, ACK, 0, bytes(6)), FRAME_SIZE_ERROR)
bad("RFC 9113 6.5", "SETTINGS on a stream", frame(SETTINGS, 0, 1, bytes(6)), PROTOCOL_ERROR)
bad("RFC 9113 6.5", "SETTINGS of a wrong size", frame(SETTINGS, 0, 0, bytes(5)), FRAME_SIZE_ERROR)
for name, key, value, code in (
        ("SETTINGS_ENABLE_PUSH of 1 by a server", ENABLE_PUSH, 1, PROTOCOL_ERROR),
        ("SETTINGS_ENABLE_PUSH of 2", ENABLE_PUSH, 2, PROTOCOL_ERROR),
        ("SETTINGS_INITIAL_WINDOW_SIZE above the largest window", INITIAL_WINDOW_SIZE, 2**31, FLOW_CONTROL_ERROR),
        ("SETTINGS_MAX_FRAME_SIZE below its first value", MAX_FRAME_SIZE, DEFAULT_FRAME_SIZE - 1, PROTOCOL_ERROR),
        ("SETTINGS_MAX_FRAME_SIZE above 2^24 - 1", MAX_FRAME_SIZE, 2**24, PROTOCOL_ERROR)):
    bad("RFC 9113 6.5.2", name, settings((key, value)), code)
good("RFC 9113 6.5.2", "an unknown setting", whole(settings((0xFF, 1))))


def expect_acknowledged(count):
    def expect(s):
        s.alive()
        if s.acknowledged != count:
            s.fail(f"{s.acknowledged} acknowledgements in the place of {count}")

    return expect


good("RFC 9113 6.5.3", "each SETTINGS is acknowledged once", whole(settings() * 3), expect_acknowledged(4))


def expect_second(s):
    s.take_request(2)
    s.respond()
    s.alive()


def without_table(s):
    s.decoder.max_allowed_table_size = 0  # which the decoder checks from now on
    s.respond()


good("RFC 9113 6.5.2", "SETTINGS_HEADER_TABLE_SIZE is kept", without_table, expect_second, requests=2,
     settings=((HEADER_TABLE_SIZE, 0),))
good("RFC 9113 6.5.2", "the largest SETTINGS_HEADER_TABLE_SIZE", lambda s: s.respond(), expect_second, requests=2,
     settings=((HEADER_TABLE_SIZE, 2**32 - 1),))

# ---- 6.6 to 6.8

bad("RFC 9113 6.6", "PUSH_PROMISE though we refuse pushes",
    lambda s: push_promise(s.stream, 2, block((":method", "GET"), (":scheme", "http"), (":path", "/"))), PROTOCOL_ERROR)
bad("RFC 9113 6.7", "PING on a stream", frame(PING, 0, 1, bytes(8)), PROTOCOL_ERROR)
bad("RFC 9113 6.7", "PING of a wrong size", frame(PING, 0, 0, bytes(7)), FRAME_SIZE_ERROR)
good("RFC 9113 6.7", "an acknowledgement of a PING that was not sent", whole(ping(b"unasked!", ack=True)))
bad("RFC 9113 6.8", "GOAWAY on a stream", frame(GOAWAY, 0, 1, bytes(8)), PROTOCOL_ERROR)
bad("RFC 9113 6.8", "GOAWAY too short", frame(GOAWAY, 0, 0, bytes(7)), FRAME_SIZE_ERROR)
for name, code, text in (("a reason", NO_ERROR, b"tired"), ("an error", INTERNAL_ERROR, b""),
                         ("an unknown code", 0xFF, b"")):
    good("RFC 9113 6.8", f"what runs is finished after GOAWAY with {name}",
         lambda s, c=code, t=text: goaway(s.stream, c, t) + whole()(s), ended)

# ---- 6.9

bad("RFC 9113 6.9", "an increment of 0 on the connection", window_update(0, 0), PROTOCOL_ERROR)
backend("RFC 9113 6.9", "an increment of 0 on a stream", lambda s: window_update(s.stream, 0),
        lambda s: s.expect_stream_error(s.stream, PROTOCOL_ERROR), client=502)
bad("RFC 9113 6.9", "WINDOW_UPDATE of a wrong size", frame(WINDOW_UPDATE, 0, 0, bytes(3)), FRAME_SIZE_ERROR)
bad("RFC 9113 6.9.1", "a connection's window beyond 2^31 - 1", window_update(0, MAX_WINDOW) * 2, FLOW_CONTROL_ERROR)
backend("RFC 9113 6.9.1", "a stream's window beyond 2^31 - 1", lambda s: window_update(s.stream, MAX_WINDOW) * 2,
        lambda s: s.expect_stream_error(s.stream, FLOW_CONTROL_ERROR), client=502)
bad("RFC 9113 6.9.2", "a change that takes a stream's window beyond 2^31 - 1",
    lambda s: window_update(s.stream, MAX_WINDOW - DEFAULT_WINDOW)
    + settings((INITIAL_WINDOW_SIZE, DEFAULT_WINDOW + 1)), FLOW_CONTROL_ERROR)


def send_beyond_window(s):
    """Its client takes nothing, so that no credit is given."""
    s.send(s.head())
    for _ in range(4 * s.settings[INITIAL_WINDOW_SIZE] // DEFAULT_FRAME_SIZE):
        s.send(data(s.stream, bytes(DEFAULT_FRAME_SIZE)))
        if not s.lives() or any(f.kind == RST_STREAM for f in s.seen):
            return


backend("RFC 9113 6.9.1", "DATA beyond a stream's window", send_beyond_window,
        lambda s: s.expect_stream_error(s.stream, FLOW_CONTROL_ERROR), client="cut",
        client_settings=((INITIAL_WINDOW_SIZE, 0),))


def stands_at(s, size):
    s.wait(lambda f: s.uploaded() >= size, "DATA")
    s.alive()
    if s.uploaded() != size:
        s.fail(f"{s.uploaded()} bytes of DATA where there is credit for {size}")


def open_slowly(s):
    if s.alive() or s.uploaded() != 0:
        s.fail("DATA without credit")
    s.send(window_update(s.stream, 3))
    stands_at(s, 3)
    s.send(settings((INITIAL_WINDOW_SIZE, 10)))  # 6.9.2: an open stream's too
    stands_at(s, 13)
    s.send(settings((INITIAL_WINDOW_SIZE, 8)))  # two are owed now
    s.send(window_update(s.stream, 3))
    stands_at(s, 14)
    s.send(window_update(s.stream, 1000))
    s.wait(lambda f: f.end and f.kind == DATA, "the end of the upload")
    s.respond()


# With the second request, when the server's SETTINGS are known.
good("RFC 9113 6.9.2", "an upload as the server's windows allow",
     lambda s: s.respond() or s.take_request(2) and open_slowly(s), settings=((INITIAL_WINDOW_SIZE, 0),), requests=2,
     upload=b"u" * 50)


def expect_upload_of_frames(most):
    def send(s):
        s.send(window_update(s.stream, 1 << 20))
        stands_at(s, DEFAULT_WINDOW)  # the connection's
        s.send(window_update(0, 1 << 20))
        s.wait(lambda f: f.end and f.kind == DATA, "the end of the upload")
        largest = max(len(f.payload) for f in s.seen if f.kind == DATA)
        if largest > most or s.uploaded() != 200_000:
            s.fail(f"a frame of {largest} bytes, {s.uploaded()} in all")
        s.respond()

    return send


good("RFC 9113 6.9.1", "an upload as the connection's window allows, in frames of 2^14 at most",
     expect_upload_of_frames(DEFAULT_FRAME_SIZE), upload=b"u" * 200_000)
good("RFC 9113 4.2", "an upload in frames that the server allows", expect_upload_of_frames(20_000),
     settings=((MAX_FRAME_SIZE, 20_000),), upload=b"u" * 200_000)

# ---- 6.10, 7

bad("RFC 9113 6.10", "CONTINUATION on stream 0",
    lambda s: headers(s.stream, block((":status", "200")), end_headers=False) + continuation(0, b""), PROTOCOL_ERROR)
bad("RFC 9113 6.10", "CONTINUATION after HEADERS with END_HEADERS",
    lambda s: s.head() + continuation(s.stream, block(("x-a", "b"))), PROTOCOL_ERROR, client="cut")
bad("RFC 9113 6.10", "CONTINUATION after DATA",
    lambda s: s.head() + data(s.stream, b"x") + continuation(s.stream, block(("x-a", "b"))), PROTOCOL_ERROR,
    client="cut")
good("RFC 9113 6.10", "a head over three frames",
     lambda s: headers(s.stream, block((":status", "200")), end=False, end_headers=False)
     + continuation(s.stream, block(("x-a", "b")), end_headers=False) + continuation(s.stream, block(("x-c", "d")))
     + data(s.stream, b"whole", end=True))
for code in (INTERNAL_ERROR, CANCEL, 0xFF, 2**32 - 1):
    good("RFC 9113 7", f"RST_STREAM with the code {code}", lambda s, c=code: rst_stream(s.stream, c), client=502)
