"""What a server may not do in HTTP/3 and QUIC: each is an act at the answer to one request."""

from http3 import frames as f
from http3 import table as t
from http3.client import challenge


class Act:
    """`run(peer, number)` in place of an answer. The client gets one of `statuses` (empty: whatever
    came before the fault); the edge ends the connection with `closes`, or the stream with `resets`,
    or neither and the connection lives on."""

    def __init__(self, section, name, run, statuses, closes, resets, application):
        self.section, self.name, self.run = section, name, run
        self.statuses, self.closes, self.resets = statuses, closes, resets
        self.application = application

    def __str__(self):
        return f"{self.section}: {self.name}"


ACTS = []


def add(section, name, run, statuses=(502,), closes=(), resets=(), application=None):
    codes = closes or resets
    if application is None:
        application = bool(codes) and codes[0] >= 0x100
    ACTS.append(Act(section, name, run, statuses, closes, resets, application))


def on_stream(data, end=True):
    return lambda peer, number: peer.write(number, data, end)


def on_control(data, end=False):
    return lambda peer, number: peer.write(peer.control, data, end)


def stream_of(data, end=False):
    return lambda peer, number: peer.open(data, end)


def injects(payload, **how):
    return lambda peer, number: peer.inject(payload, **how)


def head(*fields, status="200"):
    return f.h3(f.HEADERS, f.section((":status", status), *fields))


OK, BODY, TRAILERS = head(), f.h3(f.DATA, b"fine"), f.h3(f.HEADERS, f.section(("x-sum", "1")))

# ---- request streams ----------------------------------------------------------------------------

add("RFC 9114 4.1", "DATA before HEADERS", on_stream(BODY), closes=[t.H3_FRAME_UNEXPECTED])
add("RFC 9114 4.1", "HEADERS behind the trailers", on_stream(OK + BODY + TRAILERS * 2), (),
    closes=[t.H3_FRAME_UNEXPECTED])
add("RFC 9114 4.1", "DATA behind the trailers", on_stream(OK + BODY + TRAILERS + BODY), (),
    closes=[t.H3_FRAME_UNEXPECTED])
add("RFC 9114 4.1", "an end without an answer", on_stream(b""))
add("RFC 9114 4.1", "an end behind an interim answer", on_stream(head(status="100")))
add("RFC 9114 7.1", "an end within a frame", on_stream(OK + f.h3(f.DATA, b"x", length=9)), (),
    closes=[t.H3_FRAME_ERROR])
for name, kind, section in (("CANCEL_PUSH", f.CANCEL_PUSH, "RFC 9114 7.2.3"),
                            ("SETTINGS", f.SETTINGS, "RFC 9114 7.2.4"),
                            ("GOAWAY", f.GOAWAY, "RFC 9114 7.2.6"),
                            ("MAX_PUSH_ID", f.MAX_PUSH_ID, "RFC 9114 7.2.7")):
    add(section, f"{name} on a request stream", on_stream(f.h3(kind, b"\0")),
        closes=[t.H3_FRAME_UNEXPECTED])
add("RFC 9114 7.2.5", "PUSH_PROMISE without MAX_PUSH_ID",
    on_stream(f.h3(f.PUSH_PROMISE, b"\0\0\0")), closes=[t.H3_ID_ERROR])
for kind in (0x02, 0x06, 0x08, 0x09):
    add("RFC 9114 7.2.8", f"frame type {kind:#x} of HTTP/2", on_stream(f.h3(kind, b"12345678")),
        closes=[t.H3_FRAME_UNEXPECTED])
add("RFC 9114 9", "reserved frames around an answer", on_stream(
    f.h3(f.RESERVED, b"x") + OK + f.h3(f.RESERVED) + BODY + f.h3(0x3FFF, b"yy")), (200,))

# ---- other streams ------------------------------------------------------------------------------

add("RFC 9114 6.1", "a bidirectional stream of a server", injects(f.stream(1, b"x")),
    closes=[t.STREAM_LIMIT_ERROR])
add("RFC 9114 4.6", "a push stream without MAX_PUSH_ID", stream_of(f.varint(f.PUSH) + b"\0"),
    closes=[t.H3_ID_ERROR])
add("RFC 9114 6.2.1", "a second control stream", stream_of(f.varint(f.CONTROL) + f.settings()),
    closes=[t.H3_STREAM_CREATION_ERROR])
add("RFC 9114 6.2.1", "the control stream ends", on_control(b"", True),
    closes=[t.H3_CLOSED_CRITICAL_STREAM])
add("RFC 9114 7.2.4", "SETTINGS twice", on_control(f.settings()), closes=[t.H3_FRAME_UNEXPECTED])
add("RFC 9114 7.2.1", "DATA on the control stream", on_control(BODY),
    closes=[t.H3_FRAME_UNEXPECTED])
add("RFC 9114 7.2.2", "HEADERS on the control stream", on_control(OK),
    closes=[t.H3_FRAME_UNEXPECTED])
add("RFC 9114 7.2.7", "MAX_PUSH_ID of a server", on_control(f.h3(f.MAX_PUSH_ID, b"\0")),
    closes=[t.H3_FRAME_UNEXPECTED])
add("RFC 9114 7.2.3", "CANCEL_PUSH of what was not promised", on_control(f.h3(f.CANCEL_PUSH, b"\0")),
    closes=[t.H3_ID_ERROR])
add("RFC 9218 7.2", "PRIORITY_UPDATE of a server", on_control(f.h3(f.PRIORITY_UPDATE, b"\0u=1")),
    closes=[t.H3_FRAME_UNEXPECTED])
add("RFC 9114 7.2.6", "GOAWAY of a stream that is no request", on_control(f.h3(f.GOAWAY, b"\x03")),
    closes=[t.H3_ID_ERROR])
add("RFC 9114 5.2", "GOAWAY that grows", on_control(
    f.h3(f.GOAWAY, f.varint(400)) + f.h3(f.GOAWAY, f.varint(404))), closes=[t.H3_ID_ERROR])
add("RFC 9114 7.1", "GOAWAY that is cut short", on_control(f.h3(f.GOAWAY, b"\x40")),
    closes=[t.H3_FRAME_ERROR])
add("RFC 9114 6.2", "a stream of an unknown type", lambda peer, number: (
    peer.open(f.varint(f.RESERVED) + b"grease"), peer.answer(number)), (200,))
add("RFC 9114 6.2.1", "our control stream is refused", lambda peer, number: peer.inject(
    f.frame(f.STOP_SENDING, 2, t.H3_NO_ERROR)), closes=[t.H3_CLOSED_CRITICAL_STREAM])

# ---- QPACK --------------------------------------------------------------------------------------

add("RFC 9204 3.1", "an index beyond the static table",
    on_stream(f.h3(f.HEADERS, b"\0\0" + f.indexed_static(99))),
    closes=[t.QPACK_DECOMPRESSION_FAILED])
add("RFC 9204 2.2.3", "an index into a table that we do not have",
    on_stream(f.h3(f.HEADERS, b"\0\0" + f.indexed_dynamic(0))),
    closes=[t.QPACK_DECOMPRESSION_FAILED])
add("RFC 9204 4.5.1.1", "a Required Insert Count without a table",
    on_stream(f.h3(f.HEADERS, b"\x02\0" + f.indexed_dynamic(0))),
    closes=[t.QPACK_DECOMPRESSION_FAILED])
add("RFC 9204 4.5", "an empty section", on_stream(f.h3(f.HEADERS)),
    closes=[t.QPACK_DECOMPRESSION_FAILED])
add("RFC 9204 4.3.1", "a capacity, where ours is 0", stream_of(f.varint(f.ENCODER) + f.set_capacity(64)),
    closes=[t.QPACK_ENCODER_STREAM_ERROR])
add("RFC 9204 4.4.1", "Section Acknowledgment of nothing",
    stream_of(f.varint(f.DECODER) + f.prefixed(0, 7, 0x80)), closes=[t.QPACK_DECODER_STREAM_ERROR])
add("RFC 9204 4.4.3", "Insert Count Increment of zero",
    stream_of(f.varint(f.DECODER) + b"\0"), closes=[t.QPACK_DECODER_STREAM_ERROR])

# ---- answers that are malformed: an error of the stream -----------------------------------------


def malformed(section, name, answer, statuses=(502,)):
    add(section, name, lambda peer, number: peer.write(number, answer),
        statuses, resets=[t.H3_MESSAGE_ERROR])


malformed("RFC 9114 4.3.2", ":status is missing", f.h3(f.HEADERS, f.section(("x-one", "1"))))
malformed("RFC 9114 4.3.2", ":status given twice", head((":status", "200")))
malformed("RFC 9114 4.3.2", ":status of two digits", head(status="20"))
malformed("RFC 9114 4.3.2", ":status of four digits", head(status="2000"))
malformed("RFC 9114 4.3.2", ":status that is no number", head(status="2x0"))
malformed("RFC 9114 4.3", ":path of an answer", head((":path", "/")))
malformed("RFC 9114 4.3", ":status behind another field",
          f.h3(f.HEADERS, f.section(("x-one", "1"), (":status", "200"))))
malformed("RFC 9114 4.5", "101", head(status="101"))
malformed("RFC 9114 4.2", "a field name in upper case", head(("X-Upper", "1")))
malformed("RFC 9114 10.3", "an empty field name", head(("", "1")))
malformed("RFC 9114 10.3", "a field name with a blank", head(("x y", "1")))
for name, text in (("NUL", "a\0b"), ("CR", "a\rb"), ("LF", "a\nb")):
    malformed("RFC 9114 10.3", f"a field value with {name}", head(("x-value", text)))
for name, value in (("connection", "close"), ("keep-alive", "timeout=5"), ("upgrade", "websocket"),
                    ("proxy-connection", "close"), ("transfer-encoding", "chunked")):
    malformed("RFC 9114 4.2", f"the field {name}", head((name, value)))
malformed("RFC 9110 8.6", "Content-Length that is no number", head(("content-length", "4x")))
malformed("RFC 9110 8.6", "two lengths", head(("content-length", "4"), ("content-length", "5")))
malformed("RFC 9114 4.1.2", "a body longer than Content-Length",
          head(("content-length", "3")) + BODY, ())
add("RFC 9114 4.1.2", "a body shorter than Content-Length", on_stream(
    head(("content-length", "9")) + BODY), ())
malformed("RFC 9114 4.3", "a pseudo-header field in trailers",
          OK + BODY + f.h3(f.HEADERS, f.section((":status", "200"))), ())

# ---- QUIC ---------------------------------------------------------------------------------------

add("RFC 9000 12.4", "a frame of an unknown type", injects(f.frame(0x3F)),
    closes=[t.FRAME_ENCODING_ERROR, t.PROTOCOL_VIOLATION])
add("RFC 9000 12.4", "a packet without frames", injects(b""), closes=[t.PROTOCOL_VIOLATION])
add("RFC 9000 17.3.1", "reserved bits", injects(f.frame(f.PING), flip=0x18),
    closes=[t.PROTOCOL_VIOLATION])
add("RFC 9000 13.1", "ACK of a packet that was never sent", injects(f.frame(f.ACK, 1 << 20, 0, 0, 0)),
    closes=[t.PROTOCOL_VIOLATION])
add("RFC 9000 19.8", "STREAM of a stream that we did not open", injects(f.stream(4000, b"x")),
    closes=[t.STREAM_STATE_ERROR])
add("RFC 9000 19.8", "STREAM of our own unidirectional stream", injects(f.stream(2, b"x")),
    closes=[t.STREAM_STATE_ERROR])
add("RFC 9000 19.5", "STOP_SENDING of a stream of the server's own", injects(
    f.frame(f.STOP_SENDING, 3, 0)), closes=[t.STREAM_STATE_ERROR])
add("RFC 9000 4.6", "a unidirectional stream beyond the limit", injects(f.stream(4003, b"x")),
    closes=[t.STREAM_LIMIT_ERROR])
add("RFC 9000 4.1", "data beyond the stream's window", lambda peer, number: peer.inject(
    f.stream(number, b"x", offset=1 << 40)), closes=[t.FLOW_CONTROL_ERROR])
add("RFC 9000 4.5", "two ends of one stream", lambda peer, number: peer.inject(
    f.stream(number, b"x", 9, True) + f.stream(number, b"x", 7, True)), closes=[t.FINAL_SIZE_ERROR])
add("RFC 9000 19.15", "NEW_CONNECTION_ID that retires beyond itself",
    injects(f.new_connection_id(9, b"12345678", 10)), closes=[t.FRAME_ENCODING_ERROR])
add("RFC 9000 19.16", "RETIRE_CONNECTION_ID of one that was not issued",
    injects(f.frame(f.RETIRE_CONNECTION_ID, 1000)), closes=[t.PROTOCOL_VIOLATION])
add("RFC 9000 7.5", "more CRYPTO out of order than anyone keeps",
    injects(f.crypto(b"x" * 100, 1 << 24)), closes=[t.CRYPTO_BUFFER_EXCEEDED])
add("RFC 9000 8.2.2", "PATH_CHALLENGE is answered", lambda peer, number: (
    peer.inject(challenge(peer.quic, b"question")), peer.answer(number)), (200,))
add("RFC 9000 10.3.1", "a stateless reset ends the connection", lambda peer, number: peer.send(
    b"\x41" + bytes(30) + dict(f.parse_parameters(peer.quic._serialize_transport_parameters()))[
        f.RESET_TOKEN]))
add("RFC 9000 10.3.1", "the end of a datagram that is nobody's token is no reset",
    lambda peer, number: (peer.send(b"\x41" + bytes(30) + b"not-the-token-16"),
                          peer.answer(number)), (200,))
add("RFC 9001 6.1", "the server updates its keys", lambda peer, number: (
    peer.quic.request_key_update(), peer.answer(number)), (200,))
add("RFC 9000 19.20", "HANDSHAKE_DONE again", lambda peer, number: (
    peer.inject(f.frame(f.HANDSHAKE_DONE)), peer.answer(number)), (200,))
