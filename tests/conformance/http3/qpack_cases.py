"""QPACK (RFC 9204): what an encoder and a decoder may not say, and what ours does."""

from http3 import frames as f
from http3 import table as t

TABLE = t.Table()
case, add = TABLE.case, TABLE.add

PSEUDO = f.indexed_static(17) + f.indexed_static(23) + f.line(":authority", "localhost")
GET = PSEUDO + f.indexed_static(1)  # GET https /


def head_is(payload, *codes):
    def run(c):
        c.open(f.h3(f.HEADERS, payload), end=True)
        t.closes(c, *(codes or (t.QPACK_DECOMPRESSION_FAILED,)))
    return run


def encoder_says(data, *codes):
    def run(c):
        c.open(f.varint(f.ENCODER) + data, unidirectional=True)
        t.closes(c, *(codes or (t.QPACK_ENCODER_STREAM_ERROR,)))
    return run


def decoder_says(data):
    def run(c):
        c.open(f.varint(f.DECODER) + data, unidirectional=True)
        t.closes(c, t.QPACK_DECODER_STREAM_ERROR)
    return run


# ---- field sections -----------------------------------------------------------------------------

add("RFC 9204 3.1", "an index beyond the static table", head_is(b"\0\0" + f.indexed_static(99)))
add("RFC 9204 3.1", "a name of an index beyond the static table",
    head_is(b"\0\0" + f.prefixed(99, 4, 0x50) + f.prefixed(1, 7) + b"x"))
add("RFC 9204 2.2.3", "an index into an empty dynamic table",
    head_is(b"\0\0" + GET + f.indexed_dynamic(0)))
add("RFC 9204 2.2.3", "a name of an index into an empty dynamic table",
    head_is(b"\0\0" + GET + f.prefixed(0, 4, 0x40) + f.prefixed(1, 7) + b"x"))
add("RFC 9204 4.5.3", "a post-base index into an empty dynamic table",
    head_is(b"\0\0" + GET + f.prefixed(0, 4, 0x10)))
add("RFC 9204 4.5.1.1", "a Required Insert Count that cannot be",
    head_is(f.prefixed(255, 8) + b"\0" + GET))
add("RFC 9204 4.5.1.1", "a Required Insert Count beyond what may be encoded",
    head_is(f.prefixed(5000, 8) + b"\0" + GET))
add("RFC 9204 4.5.1.2", "a Base below zero", lambda c: (
    c.open(f.varint(f.ENCODER) + f.set_capacity(4096) + f.insert("x-one", "1"), unidirectional=True),
    head_is(f.prefixed(2, 8) + f.prefixed(1, 7, 0x80) + GET)(c)))
add("RFC 9204 4.1.1", "an integer beyond 62 bits",
    head_is(b"\0\0" + b"\xff" + b"\xff" * 10 + b"\x01"))
add("RFC 9204 4.5", "an empty section", head_is(b""))
add("RFC 9204 4.5", "a section that ends in its prefix", head_is(b"\0"))
add("RFC 9204 4.1.2", "a string longer than its section",
    head_is(b"\0\0" + f.prefixed(3, 3, 0x20) + b"abc" + f.prefixed(100, 7) + b"short"))
add("RFC 7541 5.2", "Huffman padding that is not of ones",
    head_is(b"\0\0" + GET + f.prefixed(1, 4, 0x50) + f.prefixed(1, 7, 0x80) + b"\x18"))
add("RFC 7541 5.2", "Huffman padding longer than seven bits",
    head_is(b"\0\0" + GET + f.prefixed(1, 4, 0x50) + f.prefixed(2, 7, 0x80) + b"\x1f\xff"))
add("RFC 7541 5.2", "the end-of-string symbol in a string",
    head_is(b"\0\0" + GET + f.prefixed(1, 4, 0x50) + f.prefixed(4, 7, 0x80) + b"\xff\xff\xff\xff"))

# ---- the encoder stream -------------------------------------------------------------------------

add("RFC 9204 4.3.1", "a capacity beyond what we allow", encoder_says(f.set_capacity(4097)))
add("RFC 9204 3.2.2", "an entry larger than the table",
    encoder_says(f.set_capacity(64) + f.insert("x-name", "v" * 100)))
add("RFC 9204 3.2.2", "an entry before the table has a capacity", encoder_says(f.insert("x", "1")))
add("RFC 9204 4.3.2", "a name of an index beyond the static table",
    encoder_says(f.set_capacity(4096) + f.prefixed(99, 6, 0xC0) + f.prefixed(1, 7) + b"x"))
add("RFC 9204 4.3.2", "a name of a dynamic entry that is not there",
    encoder_says(f.set_capacity(4096) + f.prefixed(0, 6, 0x80) + f.prefixed(1, 7) + b"x"))
add("RFC 9204 4.3.4", "a duplicate of an entry that is not there",
    encoder_says(f.set_capacity(4096) + f.prefixed(0, 5)))
add("RFC 9204 4.1.1", "an integer beyond 62 bits on the encoder stream",
    encoder_says(b"\x3f" + b"\xff" * 10 + b"\x01"))

# ---- the decoder stream -------------------------------------------------------------------------

add("RFC 9204 4.4.1", "Section Acknowledgment of a stream that had none",
    decoder_says(f.prefixed(0, 7, 0x80)))
add("RFC 9204 4.4.3", "Insert Count Increment of zero", decoder_says(f.prefixed(0, 6)))
add("RFC 9204 4.4.3", "Insert Count Increment beyond what was sent", decoder_says(f.prefixed(50, 6)))
add("RFC 9204 4.4.2", "Stream Cancellation of a stream that had nothing does no harm", lambda c: (
    c.open(f.varint(f.DECODER) + f.prefixed(40, 6, 0x40), unidirectional=True), t.lives(c)))

# ---- a dynamic table that is used ---------------------------------------------------------------


def dynamic_get(entries, base=None):
    """A request whose path is the newest of the table's entries."""
    return f.h3(f.HEADERS, f.section_prefix(entries, base) + PSEUDO + f.indexed_dynamic(0))


def table(*instructions):
    return f.varint(f.ENCODER) + f.set_capacity(4096) + b"".join(instructions)


@case("RFC 9204 2.2.2.1", "a section that used the table is acknowledged")
def section_acknowledged(c):
    c.open(table(f.insert(":path", "/from-table")), unidirectional=True)
    number = c.open(dynamic_get(1), end=True)
    c.run(lambda: c.answer(number), "the answer")
    assert b"/from-table" in c.answer(number)[2]
    c.run(lambda: f.prefixed(number, 7, 0x80) in (c.peer_stream(f.DECODER) or b""), "the acknowledgment")


@case("RFC 9204 2.1.2", "a section that comes before its entries waits for them")
def waits(c):
    number = c.open(dynamic_get(1), end=True)
    c.flush()
    t.lives(c)
    assert c.answer(number) is None
    c.open(table(f.insert(":path", "/late")), unidirectional=True)
    c.run(lambda: c.answer(number), "the answer")
    assert c.answer(number)[0] == 200 and b"/late" in c.answer(number)[2]


@case("RFC 9204 2.2.2.2", "a section that waited and was given up is cancelled")
def stream_cancelled(c):
    number = c.open(dynamic_get(1))
    c.flush()
    t.lives(c)
    c.quic.reset_stream(number, t.H3_REQUEST_CANCELLED)
    c.run(lambda: f.prefixed(number, 6, 0x40) in (c.peer_stream(f.DECODER) or b""), "the cancellation")
    t.lives(c)


@case("RFC 9204 2.1.2", "more streams that wait than SETTINGS_QPACK_BLOCKED_STREAMS")
def too_many_wait(c):
    for _ in range(101):
        c.open(dynamic_get(1))
    t.closes(c, t.QPACK_DECOMPRESSION_FAILED)


@case("RFC 9204 3.2.2", "entries that made way are gone")
def evicted(c):
    c.open(table(f.insert("x-old", "1"), *(f.insert(f"x-{n}", "v" * 900) for n in range(5))),
           unidirectional=True)
    c.open(f.h3(f.HEADERS, f.section_prefix(6) + GET + f.indexed_dynamic(5)), end=True)
    t.closes(c, t.QPACK_DECOMPRESSION_FAILED)


@case("RFC 9204 3.2.3", "without a table of the client our encoder uses none")
def no_table(c):
    for _ in range(5):
        number = c.request("/static")
        c.run(lambda: c.answer(number), "the answer")
        payload = f.parse_h3(c.stream(number).data)[0][0][1]
        assert payload[:1] == b"\0", payload[:2]
    assert not c.peer_stream(f.ENCODER), c.peer_stream(f.ENCODER)


@case("RFC 9204 2.1.2", "where no stream may wait, our sections refer to what was acknowledged alone",
      settings=((1, 4096), (7, 0)))
def nothing_waits(c):
    for _ in range(5):
        number = c.request("/cautious")
        c.run(lambda: c.stream(number).ended, "the answer")
        payload = f.parse_h3(c.stream(number).data)[0][0][1]
        assert payload[:1] == b"\0", payload[:2]  # Required Insert Count 0: nothing was acknowledged


@case("RFC 9204 2.1.1", "our encoder keeps to the client's capacity", settings=((1, 200), (7, 100)))
def small_table(c):
    import pylsqpack
    decoder = pylsqpack.Decoder(200, 100)
    fed = 0
    for n in range(20):
        number = c.request(f"/small/{n}")
        c.run(lambda: c.stream(number).ended, "the answer")
        instructions = c.peer_stream(f.ENCODER) or b""
        decoder.feed_encoder(instructions[fed:])
        fed = len(instructions)
        _, decoded = decoder.feed_header(number, f.parse_h3(c.stream(number).data)[0][0][1])
        assert dict(decoded)[b":status"] == b"200"
