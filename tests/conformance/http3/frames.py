"""Frames of QUIC (RFC 9000 19) and HTTP/3 (RFC 9114 7), and QPACK's field lines (RFC 9204 4.5), made
by hand: any value may be wrong."""

import struct

# ---- variable-length integers (RFC 9000 16) -----------------------------------------------------


def varint(value, size=None):
    """In the shortest form, or in `size` bytes."""
    size = size or (1 if value < 1 << 6 else 2 if value < 1 << 14 else 4 if value < 1 << 30 else 8)
    return (value | {1: 0, 2: 1, 4: 2, 8: 3}[size] << (8 * size - 2)).to_bytes(size, "big")


class Reader:
    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def __bool__(self):
        return self.at < len(self.data)

    def bytes(self, n):
        if self.at + n > len(self.data):
            raise ValueError("cut short")
        self.at += n
        return self.data[self.at - n : self.at]

    def rest(self):
        return self.bytes(len(self.data) - self.at)

    def varint(self):
        size = 1 << (self.bytes(1)[0] >> 6)
        self.at -= 1
        return int.from_bytes(self.bytes(size), "big") & ((1 << (8 * size - 2)) - 1)


LARGEST = (1 << 62) - 1

# ---- QUIC frames --------------------------------------------------------------------------------

PADDING, PING, ACK, RESET_STREAM, STOP_SENDING, CRYPTO, NEW_TOKEN, STREAM = 0, 1, 2, 4, 5, 6, 7, 8
MAX_DATA, MAX_STREAM_DATA, MAX_STREAMS, MAX_STREAMS_UNI = 0x10, 0x11, 0x12, 0x13
DATA_BLOCKED, STREAM_DATA_BLOCKED, STREAMS_BLOCKED, STREAMS_BLOCKED_UNI = 0x14, 0x15, 0x16, 0x17
NEW_CONNECTION_ID, RETIRE_CONNECTION_ID, PATH_CHALLENGE, PATH_RESPONSE = 0x18, 0x19, 0x1A, 0x1B
CLOSE, CLOSE_APPLICATION, HANDSHAKE_DONE, DATAGRAM = 0x1C, 0x1D, 0x1E, 0x30


def frame(kind, *fields):
    """Integers become varints; bytes stay as they are."""
    return varint(kind) + b"".join(f if isinstance(f, bytes) else varint(f) for f in fields)


def stream(number, data, offset=0, end=False):
    return frame(STREAM | 0x06 | end, number, offset, len(data), data)


def crypto(data, offset=0):
    return frame(CRYPTO, offset, len(data), data)


def new_connection_id(sequence, cid, retire_prior_to=0, token=b"t" * 16, length=None):
    return frame(NEW_CONNECTION_ID, sequence, retire_prior_to,
                 bytes([len(cid) if length is None else length]), cid, token)


# One well-formed frame of each type that a packet may hold, by name.
EACH = {
    "RESET_STREAM": frame(RESET_STREAM, 0, 0, 0),
    "STOP_SENDING": frame(STOP_SENDING, 0, 0),
    "NEW_TOKEN": frame(NEW_TOKEN, 4, b"abcd"),
    "STREAM": stream(0, b"x"),
    "MAX_DATA": frame(MAX_DATA, 1 << 20),
    "MAX_STREAM_DATA": frame(MAX_STREAM_DATA, 0, 1 << 20),
    "MAX_STREAMS": frame(MAX_STREAMS, 200),
    "DATA_BLOCKED": frame(DATA_BLOCKED, 1),
    "STREAM_DATA_BLOCKED": frame(STREAM_DATA_BLOCKED, 0, 1),
    "STREAMS_BLOCKED": frame(STREAMS_BLOCKED, 1),
    "NEW_CONNECTION_ID": new_connection_id(1, b"c" * 8),
    "RETIRE_CONNECTION_ID": frame(RETIRE_CONNECTION_ID, 0),
    "PATH_CHALLENGE": frame(PATH_CHALLENGE, b"12345678"),
    "PATH_RESPONSE": frame(PATH_RESPONSE, b"12345678"),
    "CONNECTION_CLOSE of the application": frame(CLOSE_APPLICATION, 0x100, 0),
    "HANDSHAKE_DONE": frame(HANDSHAKE_DONE),
    "DATAGRAM": frame(DATAGRAM, b"x"),
}


def parse(payload):
    """What a packet holds: a list of (type, fields), runs of PADDING as one with their length."""
    r, found = Reader(payload), []
    while r:
        kind = r.varint()
        if kind == PADDING:
            if found and found[-1][0] == PADDING:
                found[-1] = (PADDING, [found[-1][1][0] + 1])
            else:
                found.append((PADDING, [1]))
            continue
        found.append((kind, _parse_one(kind, r)))
    return found


def _parse_one(kind, r):
    numbers = {PING: 0, HANDSHAKE_DONE: 0, RESET_STREAM: 3, STOP_SENDING: 2, MAX_DATA: 1,
               MAX_STREAM_DATA: 2, MAX_STREAMS: 1, MAX_STREAMS_UNI: 1, DATA_BLOCKED: 1,
               STREAM_DATA_BLOCKED: 2, STREAMS_BLOCKED: 1, STREAMS_BLOCKED_UNI: 1,
               RETIRE_CONNECTION_ID: 1}
    if kind in numbers:
        return [r.varint() for _ in range(numbers[kind])]
    if kind in (ACK, ACK + 1):
        largest, delay, count = r.varint(), r.varint(), r.varint()
        low = largest - r.varint()
        ranges = [(low, largest)]
        for _ in range(count):
            high = low - r.varint() - 2
            low = high - r.varint()
            ranges.append((low, high))
        if kind == ACK + 1:
            for _ in range(3):
                r.varint()
        return [ranges, delay]
    if kind == CRYPTO:
        offset = r.varint()
        return [offset, r.bytes(r.varint())]
    if kind == NEW_TOKEN:
        return [r.bytes(r.varint())]
    if STREAM <= kind < STREAM + 8:
        number = r.varint()
        offset = r.varint() if kind & 4 else 0
        data = r.bytes(r.varint()) if kind & 2 else r.rest()
        return [number, offset, data, bool(kind & 1)]
    if kind == NEW_CONNECTION_ID:
        sequence, retire = r.varint(), r.varint()
        cid = r.bytes(r.bytes(1)[0])
        return [sequence, retire, cid, r.bytes(16)]
    if kind in (PATH_CHALLENGE, PATH_RESPONSE):
        return [r.bytes(8)]
    if kind in (CLOSE, CLOSE_APPLICATION):
        code = r.varint()
        if kind == CLOSE:
            r.varint()
        return [code, r.bytes(r.varint())]
    raise ValueError(f"unknown frame type {kind:#x}")


# ---- transport parameters (RFC 9000 18) ---------------------------------------------------------

ORIGINAL_ID, IDLE_TIMEOUT, RESET_TOKEN, UDP_SIZE, INITIAL_MAX_DATA = 0, 1, 2, 3, 4
STREAMS_BIDI, STREAMS_UNI, ACK_EXPONENT, ACK_DELAY = 8, 9, 10, 11
NO_MIGRATION, PREFERRED_ADDRESS, ID_LIMIT, INITIAL_SOURCE_ID, RETRY_SOURCE_ID = 12, 13, 14, 15, 16


def parse_parameters(data):
    r, found = Reader(data), []
    while r:
        name = r.varint()
        found.append((name, r.bytes(r.varint())))
    return found


def parameters(pairs):
    return b"".join(varint(name) + varint(len(value)) + value for name, value in pairs)


# ---- HTTP/3 frames and streams ------------------------------------------------------------------

DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID = 0, 1, 3, 4, 5, 7, 13
PRIORITY_UPDATE, PRIORITY_UPDATE_PUSH = 0xF0700, 0xF0701
CONTROL, PUSH, ENCODER, DECODER = 0, 1, 2, 3  # stream types
RESERVED = 0x1F * 7 + 0x21  # of a frame, a stream or a setting: means nothing


def h3(kind, payload=b"", length=None):
    return varint(kind) + varint(len(payload) if length is None else length) + payload


def settings(*pairs):
    return h3(SETTINGS, b"".join(varint(name) + varint(value) for name, value in pairs))


def parse_settings(payload):
    r, found = Reader(payload), []
    while r:
        found.append((r.varint(), r.varint()))
    return found


def parse_h3(data):
    """Whole frames, and what is left."""
    r, found = Reader(data), []
    while r:
        begun = r.at
        try:
            kind = r.varint()
            found.append((kind, r.bytes(r.varint())))
        except ValueError:
            return found, r.data[begun:]
    return found, b""


# ---- QPACK --------------------------------------------------------------------------------------


def prefixed(value, bits, first=0):
    """An integer with a prefix (RFC 9204 4.1.1)."""
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    out, value = [first | limit], value - limit
    while value >= 128:
        out.append(128 | value & 127)
        value >>= 7
    return bytes([*out, value])


def line(name, value):
    """A literal field line with a literal name, no Huffman code (RFC 9204 4.5.6)."""
    name, value = _bytes(name), _bytes(value)
    return prefixed(len(name), 3, 0x20) + name + prefixed(len(value), 7) + value


def section(*fields, prefix=b"\0\0"):
    """Field lines, or (name, value) that become some."""
    return prefix + b"".join(f if isinstance(f, bytes) else line(*f) for f in fields)


def request(path="/", *more, method="GET", authority="localhost", scheme="https", without=()):
    """A HEADERS frame."""
    pseudo = [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]
    return h3(HEADERS, section(*(p for p in pseudo if p[0] not in without), *more))


def indexed_static(index):
    return prefixed(index, 6, 0xC0)


def indexed_dynamic(relative):
    return prefixed(relative, 6, 0x80)


def set_capacity(size):
    return prefixed(size, 5, 0x20)


def insert(name, value):
    """An instruction of the encoder stream: insert with a literal name (RFC 9204 4.3.3)."""
    name, value = _bytes(name), _bytes(value)
    return prefixed(len(name), 5, 0x40) + name + prefixed(len(value), 7) + value


def section_prefix(required, base=None, capacity=4096):
    """RFC 9204 4.5.1 for a table of that capacity."""
    encoded = 0 if required == 0 else required % (2 * (capacity // 32)) + 1
    delta = (required if base is None else base) - required
    return prefixed(encoded, 8) + (prefixed(delta, 7) if delta >= 0 else prefixed(-delta - 1, 7, 0x80))


def _bytes(text):
    return text.encode() if isinstance(text, str) else text


def be32(value):
    return struct.pack("!I", value)
