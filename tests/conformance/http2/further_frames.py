"""RFC 9113 3 to 7 beyond what h2spec asks."""

from http2.case import *  # noqa: F403

further = Suite("further")
FRAMING = (FRAME_SIZE_ERROR, PROTOCOL_ERROR)  # of a frame that is too small for what its flags say

# ---- 3.4


def send_in_pieces(c):
    for byte in PREFACE + settings():
        c.send(bytes([byte]))


further("RFC 9113 3.4", "a preface of single bytes", send_in_pieces, alive, handshake=False)
further("RFC 9113 3.4", "a preface that breaks off in the middle", PREFACE[:18] + b"XX\r\n\r\n", ended, handshake=False)
further("RFC 9113 3.4", "no SETTINGS after the preface", PREFACE + ping(), broken(PROTOCOL_ERROR), handshake=False)
further("RFC 9113 3.4", "an acknowledgement in the place of SETTINGS", PREFACE + settings_ack(), broken(PROTOCOL_ERROR),
        handshake=False)
further("RFC 9113 3.4", "a request together with the preface", lambda c: PREFACE + settings() + c.get(), answered(),
        handshake=False)

# ---- 4.1, 4.2

for name, undefined in (("DATA", lambda c: c.post() + frame(DATA, END_STREAM | 0xF6, 1, b"x")),
                        ("HEADERS", lambda c: frame(HEADERS, END_STREAM | END_HEADERS | 0xD2, 1, c.fields())),
                        ("RST_STREAM", lambda c: c.post() + frame(RST_STREAM, 0xFF, 1, bytes(4)) + c.get(3)),
                        ("WINDOW_UPDATE", lambda c: frame(WINDOW_UPDATE, 0xFF, 0, b"\0\0\0\1") + c.get(3)),
                        ("CONTINUATION", lambda c: c.get(3, end_headers=False) + frame(CONTINUATION, 0xFF, 3)),
                        ("SETTINGS", lambda c: frame(SETTINGS, 0xFE, 0) + c.get(3))):
    further("RFC 9113 4.1", f"undefined flags of {name}", undefined,
            answered(1 if name in ("DATA", "HEADERS") else 3))
further("RFC 9113 4.1", "the reserved bit before a request's identifier", lambda c: c.get(1 | 1 << 31), answered())
for name, kind in (("PING", PING), ("SETTINGS", SETTINGS), ("an unknown type", UNKNOWN), ("GOAWAY", GOAWAY)):
    further("RFC 9113 4.2", f"{name} larger than SETTINGS_MAX_FRAME_SIZE",
            frame(kind, 0, 0, bytes(DEFAULT_FRAME_SIZE + 2)), broken(FRAME_SIZE_ERROR))
further("RFC 9113 4.2", "CONTINUATION larger than SETTINGS_MAX_FRAME_SIZE",
        lambda c: c.get(end_headers=False) + continuation(1, bytes(DEFAULT_FRAME_SIZE + 1)), broken(FRAME_SIZE_ERROR))
further("RFC 9113 4.2", "HEADERS too short for its priority fields",
        frame(HEADERS, END_STREAM | END_HEADERS | WITH_PRIORITY, 1, bytes(4)), broken(*FRAMING))
further("RFC 9113 4.2", "HEADERS too short for the length of its padding",
        frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 1), broken(*FRAMING))
further("RFC 9113 4.2", "DATA too short for the length of its padding",
        lambda c: c.post() + frame(DATA, PADDED, 1), broken(*FRAMING))
further("RFC 9113 4.2", "GOAWAY too short", frame(GOAWAY, 0, 0, bytes(7)), broken(FRAME_SIZE_ERROR))
for name, size in (("RST_STREAM", 5), ("PRIORITY", 6)):
    kind = RST_STREAM if name == "RST_STREAM" else PRIORITY
    further("RFC 9113 4.2", f"{name} too long", lambda c, k=kind, n=size: c.post() + frame(k, 0, 1, bytes(n)),
            reset(FRAME_SIZE_ERROR))


def expect_frames_of(most):
    def expect(c):
        a = c.answer()
        sizes = {len(f.payload) for f in c.seen if f.kind == DATA}
        if not a.ended or len(a.body) != 200_000:
            c.fail(f"{len(a.body)} bytes of 200000")
        if max(sizes) > most:
            c.fail(f"a frame of {max(sizes)} bytes")

    return expect


WIDE = ((INITIAL_WINDOW_SIZE, 1 << 20),)
further("RFC 9113 4.2", "we send no frame above 2^14 bytes unasked",
        lambda c: c.change(*WIDE) or window_update(0, 1 << 20) + c.get(path="/large"),
        expect_frames_of(DEFAULT_FRAME_SIZE))
further("RFC 9113 4.2", "we send no frame above the client's SETTINGS_MAX_FRAME_SIZE",
        lambda c: c.change(*WIDE, (MAX_FRAME_SIZE, 20_000)) or window_update(0, 1 << 20) + c.get(path="/large"),
        expect_frames_of(20_000))

# ---- 4.3

further("RFC 9113 4.3", "a block that ends within a field", lambda c: headers(1, c.fields() + b"\x00\x06x-t"),
        broken(COMPRESSION_ERROR))


def expect_seen(stream, text, times=1):
    """The backend saw `text` in the request on `stream`: it answers with what it saw."""

    def expect(c):
        a = c.answer(stream)
        if a.status != 200 or a.body.count(text) != times:
            c.fail(f"status {a.status}, reset {a.reset}, the backend saw {a.body!r}")
        c.alive()

    return expect


ADDED = literal("x-kept", "from-the-table", "add")
further("RFC 9113 4.3", "the table is kept where the request is malformed",
        lambda c: headers(1, c.fields(leave=(":path",)) + ADDED) + headers(3, c.fields() + indexed(FIRST_DYNAMIC)),
        expect_seen(3, b"from-the-table"))
further("RFC 9113 4.3", "the table is kept where the client resets the stream",
        lambda c: headers(1, c.fields() + ADDED, end=False) + rst_stream(1)
        + headers(3, c.fields() + indexed(FIRST_DYNAMIC)), expect_seen(3, b"from-the-table"))
further("RFC 9113 4.3", "trailers fill the table too",
        lambda c: c.post() + headers(1, ADDED) + headers(3, c.fields() + indexed(FIRST_DYNAMIC)),
        expect_seen(3, b"from-the-table"))

# ---- 5.1


def send_after_our_reset(*late):
    """Frames on a stream that the edge has reset: they may have been under way (RFC 9113 5.1)."""

    def send(c):
        c.send(headers(1, c.fields(leave=(":path",)), end=False))
        c.wait(lambda f: f.kind == RST_STREAM, "RST_STREAM")
        return b"".join(late) + c.get(3)

    return send


for name, late in (("DATA", data(1, b"late")), ("DATA with END_STREAM", data(1, b"late", end=True)),
                   ("trailers", headers(1, block(("x-sum", "1")))), ("WINDOW_UPDATE", window_update(1, 10)),
                   ("RST_STREAM", rst_stream(1)), ("PRIORITY", priority(1))):
    further("RFC 9113 5.1", f"closed by us: {name} is discarded", send_after_our_reset(late), answered(3))


def after_answer_get(late):
    def send(c):
        c.send(c.get())
        c.answer()
        return late + c.get(3)

    return send


for name, late in (("WINDOW_UPDATE", window_update(1, 10)), ("RST_STREAM", rst_stream(1))):
    further("RFC 9113 5.1", f"closed by END_STREAM: {name} may come", after_answer_get(late), answered(3))
further("RFC 9113 5.1", "half closed: DATA after trailers",
        lambda c: c.post(path="/hold") + headers(1, block(("x-sum", "1"))) + data(1, b"late"), reset(STREAM_CLOSED))
further("RFC 9113 5.1.1", "a stream that was passed over is closed",
        lambda c: c.get(9) + c.get(5), broken(PROTOCOL_ERROR))
further("RFC 9113 5.1.1", "the largest stream identifier", lambda c: c.get(MAX_WINDOW), answered(MAX_WINDOW))
further("RFC 9113 5.1.1", "the first stream need not be 1", lambda c: c.get(77), answered(77))


def send_all_then_one(c):
    c.change((INITIAL_WINDOW_SIZE, 0))
    c.last = 2 * c.settings[MAX_CONCURRENT_STREAMS] - 1
    c.send(b"".join(c.get(stream) for stream in range(1, c.last + 1, 2)))
    c.alive()  # none is refused
    c.change((INITIAL_WINDOW_SIZE, DEFAULT_WINDOW))
    c.answer(1)
    return c.get(c.last + 2)


further("RFC 9113 5.1.2", "there is room again when a stream has ended", send_all_then_one,
        lambda c: (answered(c.last)(c), answered(c.last + 2)(c)))

# ---- 5.4


def expect_last(stream):
    def expect(c):
        f = c.expect_connection_error(PROTOCOL_ERROR)
        last = int.from_bytes(f.payload[:4], "big")
        if last != stream:
            c.fail(f"GOAWAY's last stream is {last}")

    return expect


further("RFC 9113 5.4.1", "GOAWAY has the last stream that was taken", after_answer_get(frame(PING, 0, 3, bytes(8))),
        lambda c: expect_last(1)(c))


def expect_no_reset(c):
    c.alive()
    if any(f.kind == RST_STREAM for f in c.seen):
        c.fail("RST_STREAM was answered with its like")


further("RFC 9113 5.4.2", "RST_STREAM is not answered with RST_STREAM",
        lambda c: c.post() + rst_stream(1) + rst_stream(1), expect_no_reset)

# ---- 6.1, 6.9: flow control of what we receive


def send_upload(padding):
    def send(c):
        c.send(c.post(path="/count"))
        c.upload(1, 700_000, padding)

    return send


def expect_count(c):
    if c.answer().body != b"700000":
        c.fail("the upload did not arrive")


further("RFC 9113 6.9.1", "an upload of several windows", send_upload(None), expect_count)
further("RFC 9113 6.1", "padding counts, and is given back", send_upload(255), expect_count)


# There is no connection to the backend, which would take bytes and give credit for them. A part of a body may
# be kept in store: so more is sent than the window, and no more than until the edge objects.


def send_beyond_stream(c):
    c.send(c.post(path="/stuck"))
    window = 4 * c.settings[INITIAL_WINDOW_SIZE]
    for _ in range(window // DEFAULT_FRAME_SIZE):
        c.send(data(1, bytes(DEFAULT_FRAME_SIZE)))
        if not c.lives() or any(f.kind == RST_STREAM for f in c.seen):
            return


def send_beyond_connection(c):
    for stream in range(1, 61, 2):
        c.send(c.post(stream, path="/stuck"))
        for _ in range(c.settings[INITIAL_WINDOW_SIZE] // DEFAULT_FRAME_SIZE):
            c.send(data(stream, bytes(DEFAULT_FRAME_SIZE)))
        if not c.lives():
            return


further("RFC 9113 6.9.1", "DATA beyond a stream's window", send_beyond_stream, reset(FLOW_CONTROL_ERROR))
further("RFC 9113 6.9.1", "DATA beyond the connection's window", send_beyond_connection, broken(FLOW_CONTROL_ERROR))

# ---- 6.5


def send_each(*changes):
    """A change of SETTINGS, and a request after each."""

    def send(c):
        for i, change in enumerate(changes):
            c.change(*change)
            if change and change[0][0] == HEADER_TABLE_SIZE:
                c.decoder.max_allowed_table_size = change[0][1]  # checked by the decoder from now on
            c.send(c.get(2 * i + 1))
            if c.answer(2 * i + 1).status != 200:
                c.fail("no answer")

    return send


further("RFC 9113 6.5", "SETTINGS without an entry", send_each(()), alive)
further("RFC 9113 6.5.2", "SETTINGS_ENABLE_PUSH of 0 and 1", send_each(((ENABLE_PUSH, 0),), ((ENABLE_PUSH, 1),)), alive)
further("RFC 9113 6.5.2", "SETTINGS_HEADER_TABLE_SIZE is kept",
        send_each((), ((HEADER_TABLE_SIZE, 0),), ((HEADER_TABLE_SIZE, 100),), ((HEADER_TABLE_SIZE, 4096),)), alive)
further("RFC 9113 6.5.2", "the largest SETTINGS_HEADER_TABLE_SIZE", send_each(((HEADER_TABLE_SIZE, 2**32 - 1),)), alive)
further("RFC 9113 6.5.2", "the smallest SETTINGS_MAX_HEADER_LIST_SIZE is advice",
        send_each(((MAX_HEADER_LIST_SIZE, 1),)), alive)
further("RFC 9113 6.5.2", "a client's SETTINGS_MAX_CONCURRENT_STREAMS is about pushes",
        send_each(((MAX_CONCURRENT_STREAMS, 0),)), alive)
further("RFC 8441 3", "SETTINGS_ENABLE_CONNECT_PROTOCOL of 2", settings((ENABLE_CONNECT_PROTOCOL, 2)),
        broken(PROTOCOL_ERROR))
further("RFC 9218 2.1", "SETTINGS_NO_RFC7540_PRIORITIES of 2", settings((NO_RFC7540_PRIORITIES, 2)),
        broken(PROTOCOL_ERROR))

further("RFC 9218 7.1", "PRIORITY_UPDATE on a stream", lambda c: c.post() + priority_update(1, on=1),
        broken(PROTOCOL_ERROR))
further("RFC 9218 7.1", "PRIORITY_UPDATE of stream 0", priority_update(0), broken(PROTOCOL_ERROR))
further("RFC 9218 7.1", "PRIORITY_UPDATE of a stream of the server", priority_update(2), broken(PROTOCOL_ERROR))
further("RFC 9218 7.1", "PRIORITY_UPDATE too short", frame(PRIORITY_UPDATE, 0, 0, bytes(3)), broken(FRAME_SIZE_ERROR))
further("RFC 9218 7.1", "PRIORITY_UPDATE with a value that is none", lambda c: priority_update(1, b"=;u,,") + c.get(),
        answered())


def expect_acknowledgements(count):
    def expect(c):
        c.alive()
        if c.acknowledged != count:
            c.fail(f"{c.acknowledged} acknowledgements in the place of {count}")

    return expect


further("RFC 9113 6.5.3", "each SETTINGS is acknowledged once", settings() * 5, expect_acknowledgements(6))

# ---- 6.7, 6.8


def expect_pongs(c):
    c.alive()
    pongs = [f.payload for f in c.seen if f.kind == PING and f.flags & ACK]
    if pongs[:-1] != [b"%08d" % i for i in range(10)]:
        c.fail(f"acknowledged: {pongs}")


further("RFC 9113 6.7", "each PING is answered, in order", b"".join(ping(b"%08d" % i) for i in range(10)), expect_pongs)


def expect_answer_and_end(c):
    a = c.answer()
    if a.status != 200:
        c.fail(f"status {a.status}")
    c.drain()


further("RFC 9113 6.8", "what runs is finished after a client's GOAWAY", lambda c: c.get() + goaway(),
        expect_answer_and_end)

# ---- 6.9: flow control of what we send

further("RFC 9113 6.9", "the reserved bit of an increment",
        lambda c: window_update(0, 1 << 31 | 5) + c.get(), answered())
further("RFC 9113 6.9", "an increment of 0 with the reserved bit", window_update(0, 1 << 31), broken(PROTOCOL_ERROR))


def expect_windows(c):
    """65535 bytes of each, and neither of them alone is enough for more."""

    def stands_at(size):
        c.wait(lambda f: c.data_size(1) >= size, "DATA")
        c.alive()
        if c.data_size(1) != size:
            c.fail(f"{c.data_size(1)} bytes of DATA where there is credit for {size}")

    stands_at(DEFAULT_WINDOW)
    c.send(window_update(1, 1000))
    stands_at(DEFAULT_WINDOW)
    c.send(window_update(0, 300))
    stands_at(DEFAULT_WINDOW + 300)
    c.send(window_update(0, 10_000))
    stands_at(DEFAULT_WINDOW + 1000)
    c.send(settings((INITIAL_WINDOW_SIZE, DEFAULT_WINDOW + 20_000)))  # of streams alone: 6.9.2
    stands_at(DEFAULT_WINDOW + 10_300)


further("RFC 9113 6.9.1", "we send what both windows allow", lambda c: c.get(path="/large"), expect_windows)
further("RFC 9113 6.9.2", "a change that takes a stream's window beyond 2^31 - 1",
        lambda c: c.post(path="/hold") + window_update(1, MAX_WINDOW - DEFAULT_WINDOW)
        + settings((INITIAL_WINDOW_SIZE, DEFAULT_WINDOW + 1)), broken(FLOW_CONTROL_ERROR))
further("RFC 9113 6.9.2", "a window that is widened by SETTINGS does not widen the connection's",
        lambda c: c.change(*WIDE) or c.get(path="/large"),
        lambda c: (c.wait(lambda f: c.data_size(1) >= DEFAULT_WINDOW, "DATA"), c.alive(),
                   c.data_size(1) == DEFAULT_WINDOW or c.fail("more than the connection's window")))
further("RFC 9113 6.10", "an empty CONTINUATION", lambda c: c.get(end_headers=False) + continuation(1, b""), answered())
further("RFC 9113 6.10", "a field over two frames",
        lambda c: headers(1, c.fields() + b"\x00\x06x-", end_headers=False)
        + continuation(1, b"test\x03abc"), answered())
