"""RFC 9113 3 to 5: the preface, framing, field blocks, stream states, errors, extensions."""

from http2.case import *  # noqa: F403
from http2.generic import after_answer

http2 = Suite("http2")

# ---- 3.4, 4

http2("RFC 9113 3.4", "the client's preface", PREFACE + settings(), alive, handshake=False)
http2("RFC 9113 3.4", "no preface at all", b"INVALID CONNECTION PREFACE\r\n\r\n", ended, handshake=False)
http2("RFC 9113 4.1", "a frame of an unknown type", frame(UNKNOWN, 0, 0, b"01234567"), alive)
http2("RFC 9113 4.1", "undefined flags", frame(PING, 0x16, 0, bytes(8)), alive)
http2("RFC 9113 4.1", "the reserved bit of the stream identifier", frame(PING, 0, 1 << 31, bytes(8)), alive)
http2("RFC 9113 4.2", "DATA of 2^14 octets", lambda c: c.post() + data(1, b"d" * DEFAULT_FRAME_SIZE, end=True),
      answered())
http2("RFC 9113 4.2", "DATA larger than SETTINGS_MAX_FRAME_SIZE",
      lambda c: c.post() + data(1, b"d" * (DEFAULT_FRAME_SIZE + 1), end=True), reset(FRAME_SIZE_ERROR))
http2("RFC 9113 4.2", "HEADERS larger than SETTINGS_MAX_FRAME_SIZE",
      lambda c: c.get(more=[("x-large", "l" * DEFAULT_FRAME_SIZE)]), broken(FRAME_SIZE_ERROR))
http2("RFC 9113 4.3", "a field block that cannot be decoded",
      lambda c: headers(1, c.fields() + indexed(70)), broken(COMPRESSION_ERROR))
http2("RFC 9113 4.3", "PRIORITY within a field block",
      lambda c: c.get(end_headers=False) + priority(1) + continuation(1, block(("x-a", "b"))), broken(PROTOCOL_ERROR))
http2("RFC 9113 4.3", "HEADERS of another stream within a field block",
      lambda c: c.get(end_headers=False) + c.get(3) + continuation(1, block(("x-a", "b"))), broken(PROTOCOL_ERROR))

# ---- 5.1

http2("RFC 9113 5.1", "idle: DATA", data(1, b"test", end=True), broken(PROTOCOL_ERROR))
http2("RFC 9113 5.1", "idle: RST_STREAM", rst_stream(1), broken(PROTOCOL_ERROR))
http2("RFC 9113 5.1", "idle: WINDOW_UPDATE", window_update(1, 100), broken(PROTOCOL_ERROR))
http2("RFC 9113 5.1", "idle: CONTINUATION", lambda c: continuation(1, c.fields()), broken(PROTOCOL_ERROR))

LATE = {"DATA": (lambda c: data(1, b"test", end=True), (STREAM_CLOSED,)),
        "HEADERS": (lambda c: c.get(1), (STREAM_CLOSED,)),
        "CONTINUATION": (lambda c: continuation(1, c.fields()), (STREAM_CLOSED, PROTOCOL_ERROR))}

for kind, (late, codes) in LATE.items():
    # Its answer does not come: the stream stays half closed.
    http2("RFC 9113 5.1", f"half closed: {kind}", lambda c, late=late: c.get(path="/hold") + late(c), reset(*codes))
    http2("RFC 9113 5.1", f"closed by RST_STREAM: {kind}",
          lambda c, late=late: c.post() + rst_stream(1) + late(c), reset(*codes))
    # RFC 7540 5.1 wants a connection error where END_STREAM closed it.
    http2("RFC 9113 5.1", f"closed by END_STREAM: {kind}",
          lambda c, late=late: after_answer()(c) + late(c), broken(*codes))

http2("RFC 9113 5.1.1", "an even stream identifier", lambda c: c.get(2), broken(PROTOCOL_ERROR))
http2("RFC 9113 5.1.1", "a stream identifier lower than before", lambda c: c.get(5) + c.get(3), broken(PROTOCOL_ERROR))


def send_too_many(c):
    """No stream can end, since none has credit."""
    c.change((INITIAL_WINDOW_SIZE, 0))
    most = c.settings[MAX_CONCURRENT_STREAMS]
    c.last = 2 * most + 1
    return b"".join(c.get(stream) for stream in range(1, c.last + 1, 2))


http2("RFC 9113 5.1.2", "more streams than SETTINGS_MAX_CONCURRENT_STREAMS", send_too_many,
      lambda c: c.expect_stream_error(c.last, PROTOCOL_ERROR, REFUSED_STREAM))

# RFC 7540 5.3.1; RFC 9113 5.3.2 deprecates priorities, and h2spec still asks.
http2("RFC 9113 5.3.2", "HEADERS of a stream that depends on itself", lambda c: c.get(depends=dependency(1)),
      reset(PROTOCOL_ERROR))
http2("RFC 9113 5.3.2", "PRIORITY of a stream that depends on itself", lambda c: c.post() + priority(1, on=1),
      reset(PROTOCOL_ERROR))

# ---- 5.4, 5.5

http2("RFC 9113 5.4.1", "a connection error ends the connection", frame(PING, 0, 3, bytes(8)), ended)
http2("RFC 9113 5.4.1", "a connection error is told by GOAWAY", frame(PING, 0, 3, bytes(8)), broken(PROTOCOL_ERROR))
http2("RFC 9113 5.5", "an unknown extension frame", frame(UNKNOWN, 0, 1, b"01234567"), alive)
http2("RFC 9113 5.5", "an unknown extension frame within a field block",
      lambda c: c.get(end_headers=False) + frame(UNKNOWN, 0, 1, bytes(8)) + continuation(1, block(("x-a", "b"))),
      broken(PROTOCOL_ERROR))
