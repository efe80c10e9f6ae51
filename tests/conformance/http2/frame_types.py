"""RFC 9113 6: each type of frame, and 7: codes that nobody knows."""

from http2.case import *  # noqa: F403
from http2.streams import http2

# ---- 6.1 to 6.4

http2("RFC 9113 6.1", "DATA on stream 0", data(0, b"test", end=True), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.1", "DATA on a stream that is not open", lambda c: c.get() + data(1, b"test"), reset(STREAM_CLOSED))
http2("RFC 9113 6.1", "DATA with more padding than payload",
      lambda c: c.post() + frame(DATA, END_STREAM | PADDED, 1, b"\x06test"), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.2", "PRIORITY after HEADERS without END_HEADERS",
      lambda c: c.get(end_headers=False) + priority(1), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.2", "HEADERS of another stream after HEADERS without END_HEADERS",
      lambda c: c.get(end_headers=False) + c.get(3), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.2", "HEADERS on stream 0", lambda c: c.get(0), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.2", "HEADERS with more padding than payload",
      frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 1, b"\x06\x82\x84"), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.3", "PRIORITY on stream 0", priority(0), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.3", "PRIORITY of a wrong size", lambda c: c.post() + frame(PRIORITY, 0, 1, bytes(4)),
      reset(FRAME_SIZE_ERROR))
http2("RFC 9113 6.4", "RST_STREAM on stream 0", rst_stream(0), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.4", "RST_STREAM on an idle stream", rst_stream(1), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.4", "RST_STREAM of a wrong size", lambda c: c.post() + frame(RST_STREAM, 0, 1, bytes(3)),
      broken(FRAME_SIZE_ERROR))

# ---- 6.5

http2("RFC 9113 6.5", "an acknowledgement with a payload", frame(SETTINGS, ACK, 0, bytes(6)), broken(FRAME_SIZE_ERROR))
http2("RFC 9113 6.5", "SETTINGS on a stream", frame(SETTINGS, 0, 1, b"\0\3\0\0\0\x64"), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.5", "SETTINGS of a wrong size", frame(SETTINGS, 0, 0, bytes(3)), broken(FRAME_SIZE_ERROR))
http2("RFC 9113 6.5.2", "SETTINGS_ENABLE_PUSH of 2", settings((ENABLE_PUSH, 2)), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.5.2", "SETTINGS_INITIAL_WINDOW_SIZE above the largest window",
      settings((INITIAL_WINDOW_SIZE, MAX_WINDOW + 1)), broken(FLOW_CONTROL_ERROR))
http2("RFC 9113 6.5.2", "SETTINGS_MAX_FRAME_SIZE below its first value",
      settings((MAX_FRAME_SIZE, DEFAULT_FRAME_SIZE - 1)), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.5.2", "SETTINGS_MAX_FRAME_SIZE above 2^24 - 1", settings((MAX_FRAME_SIZE, 2**24)),
      broken(PROTOCOL_ERROR))
http2("RFC 9113 6.5.2", "an unknown setting", settings((0xFF, 1)), alive)


def expect_one_byte(c):
    f = c.wait(lambda f: f.kind == DATA and f.stream == 1, "DATA")
    if len(f.payload) != 1:
        c.fail("the window is one byte")
    c.alive()
    if c.data_size(1) != 1:
        c.fail("more DATA than the window has")


http2("RFC 9113 6.5.3", "values count in the order in which they come",
      lambda c: c.change((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)) or c.get(), expect_one_byte)
http2("RFC 9113 6.5.3", "SETTINGS are acknowledged", lambda c: c.change(), alive)

# ---- 6.7, 6.8


def expect_pong(payload, but=()):
    def expect(c):
        f = c.wait(lambda f: f.kind == PING and f.flags & ACK, "an acknowledgement of a PING")
        if f.payload != payload:
            c.fail(f"it has {f.payload!r}")
        c.alive()
        if any(f.kind == PING and f.payload in but for f in c.seen):
            c.fail("an acknowledgement was answered")

    return expect


http2("RFC 9113 6.7", "PING is answered with its payload", ping(b"h2-probe"), expect_pong(b"h2-probe"))
http2("RFC 9113 6.7", "an acknowledgement of a PING is not answered", ping(b"unasked!", ack=True) + ping(b"h2-probe"),
      expect_pong(b"h2-probe", but=(b"unasked!",)))
http2("RFC 9113 6.7", "PING on a stream", frame(PING, 0, 1, bytes(8)), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.7", "PING of a wrong size", frame(PING, 0, 0, bytes(6)), broken(FRAME_SIZE_ERROR))
http2("RFC 9113 6.8", "GOAWAY on a stream", frame(GOAWAY, 0, 1, bytes(8)), broken(PROTOCOL_ERROR))

# ---- 6.9

http2("RFC 9113 6.9", "an increment of 0 on the connection", window_update(0, 0), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.9", "an increment of 0 on a stream", lambda c: c.post() + window_update(1, 0), reset(PROTOCOL_ERROR))
http2("RFC 9113 6.9", "WINDOW_UPDATE of a wrong size", frame(WINDOW_UPDATE, 0, 0, bytes(3)), broken(FRAME_SIZE_ERROR))
http2("RFC 9113 6.9.1", "a window of one byte", lambda c: c.change((INITIAL_WINDOW_SIZE, 1)) or c.get(),
      expect_one_byte)
http2("RFC 9113 6.9.1", "a connection's window beyond 2^31 - 1", window_update(0, MAX_WINDOW) * 2,
      broken(FLOW_CONTROL_ERROR))
http2("RFC 9113 6.9.1", "a stream's window beyond 2^31 - 1", lambda c: c.post() + window_update(1, MAX_WINDOW) * 2,
      reset(FLOW_CONTROL_ERROR))


def send_then_widen(c):
    c.change((INITIAL_WINDOW_SIZE, 0))
    c.send(c.get())
    c.wait(lambda f: f.kind == HEADERS, "the answer's head")
    c.change((INITIAL_WINDOW_SIZE, 1))


def send_then_owe(c):
    """From 3 bytes sent to a window of 2: one is owed, and 2 more leave one (RFC 9113 6.9.2)."""
    c.change((INITIAL_WINDOW_SIZE, 3))
    c.send(c.get())
    c.wait(lambda f: f.kind == DATA and c.data_size(1) == 3, "three bytes")
    c.change((INITIAL_WINDOW_SIZE, 2))
    return window_update(1, 2)


def expect_four(c):
    c.wait(lambda f: f.kind == DATA and c.data_size(1) > 3, "one more byte")
    c.alive()
    if c.data_size(1) != 4:
        c.fail("the window was one byte")


http2("RFC 9113 6.9.2", "SETTINGS_INITIAL_WINDOW_SIZE changes open streams", send_then_widen, expect_one_byte)
http2("RFC 9113 6.9.2", "a window below zero", send_then_owe, expect_four)
http2("RFC 9113 6.9.2", "an initial window above the largest", settings((INITIAL_WINDOW_SIZE, 2**31)),
      broken(FLOW_CONTROL_ERROR))

# ---- 6.10

PART = block(("x-a", "b"))
http2("RFC 9113 6.10", "CONTINUATIONs after HEADERS",
      lambda c: c.get(end_headers=False) + continuation(1, PART, False) + continuation(1, PART), answered())
http2("RFC 9113 6.10", "a CONTINUATION and then another type",
      lambda c: c.get(end_headers=False) + continuation(1, PART, False) + data(1, b"test"), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.10", "CONTINUATION on stream 0",
      lambda c: c.get(end_headers=False) + continuation(0, PART), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.10", "CONTINUATION after HEADERS with END_HEADERS",
      lambda c: c.post() + continuation(1, PART), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.10", "CONTINUATION after CONTINUATION with END_HEADERS",
      lambda c: c.post(end_headers=False) + continuation(1, PART) + continuation(1, PART), broken(PROTOCOL_ERROR))
http2("RFC 9113 6.10", "CONTINUATION after DATA",
      lambda c: c.post() + data(1, b"test") + continuation(1, PART), broken(PROTOCOL_ERROR))

# ---- 7

http2("RFC 9113 7", "GOAWAY with an unknown code", goaway(0, 0xFF), ended)
http2("RFC 9113 7", "RST_STREAM with an unknown code", lambda c: c.post() + rst_stream(1, 0xFF), alive)
