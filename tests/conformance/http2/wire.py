"""HTTP/2 frames (RFC 9113 4, 6) and HPACK fields (RFC 7541 5, 6), byte by byte: what a library refuses
to send is what these cases are made of."""

import collections
import struct

from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE,
 CONTINUATION) = range(10)
PRIORITY_UPDATE = 0x10  # RFC 9218 7.1
UNKNOWN = 0xEE  # a type that nobody has defined

END_STREAM, ACK, END_HEADERS, PADDED, WITH_PRIORITY = 1, 1, 4, 8, 32

(NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED,
 FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM,
 INADEQUATE_SECURITY, HTTP_1_1_REQUIRED) = range(14)

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, \
    MAX_HEADER_LIST_SIZE = range(1, 7)
ENABLE_CONNECT_PROTOCOL, NO_RFC7540_PRIORITIES = 8, 9

MAX_WINDOW = 2**31 - 1
DEFAULT_WINDOW = 65535
DEFAULT_FRAME_SIZE = 16384


class Frame(collections.namedtuple("Frame", "kind flags stream payload")):
    """`fields`: of the frame with which a field section ended."""

    fields = None

    @property
    def code(self):
        """Of RST_STREAM and GOAWAY."""
        at = 4 if self.kind == GOAWAY else 0
        return int.from_bytes(self.payload[at : at + 4], "big")

    @property
    def end(self):
        return self.kind in (DATA, HEADERS) and bool(self.flags & END_STREAM)


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


# ---- each type

def data(stream, payload=b"", end=False, padding=None):
    flags = END_STREAM if end else 0
    if padding is not None:
        flags, payload = flags | PADDED, bytes([padding]) + payload + bytes(padding)
    return frame(DATA, flags, stream, payload)


def dependency(on=0, weight=16, exclusive=False):
    """RFC 7540 6.3: deprecated, but still in the frame (RFC 9113 5.3.2)."""
    return struct.pack(">IB", on | (1 << 31 if exclusive else 0), weight - 1)


def headers(stream, block, end=True, end_headers=True, padding=None, depends=None):
    flags = (END_STREAM if end else 0) | (END_HEADERS if end_headers else 0)
    payload = block
    if depends is not None:
        flags, payload = flags | WITH_PRIORITY, depends + payload
    if padding is not None:
        flags, payload = flags | PADDED, bytes([padding]) + payload + bytes(padding)
    return frame(HEADERS, flags, stream, payload)


def continuation(stream, block, end_headers=True):
    return frame(CONTINUATION, END_HEADERS if end_headers else 0, stream, block)


def priority(stream, *args, **kwargs):
    return frame(PRIORITY, 0, stream, dependency(*args, **kwargs))


def priority_update(stream, value=b"u=1", on=0):
    return frame(PRIORITY_UPDATE, 0, on, struct.pack(">I", stream) + value)


def rst_stream(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def settings(*pairs):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", k, v) for k, v in pairs))


def settings_ack():
    return frame(SETTINGS, ACK)


def push_promise(stream, promised, block):
    return frame(PUSH_PROMISE, END_HEADERS, stream, struct.pack(">I", promised) + block)


def ping(payload=b"01234567", ack=False):
    return frame(PING, ACK if ack else 0, 0, payload)


def goaway(last=0, code=NO_ERROR, text=b""):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code) + text)


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


# ---- HPACK (RFC 7541)

def integer(value, bits, first=0):
    """5.1."""
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    out, value = [first | limit], value - limit
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def string(text, huffman=False):
    """5.2."""
    text = as_bytes(text)
    if not huffman:
        return integer(len(text), 7) + text
    coded = bytes(HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH).encode(text))
    return integer(len(coded), 7, 0x80) + coded


def indexed(index):
    """6.1."""
    return integer(index, 7, 0x80)


def literal(name, value, how="plain", huffman=False):
    """6.2: `name` is a text or an index; `how` is "add" (6.2.1), "plain" (6.2.2) or "never" (6.2.3)."""
    first, bits = {"add": (0x40, 6), "plain": (0, 4), "never": (0x10, 4)}[how]
    if isinstance(name, int):
        return integer(name, bits, first) + string(value, huffman)
    return bytes([first]) + string(name, huffman) + string(value, huffman)


def size_update(size):
    """6.3."""
    return integer(size, 5, 0x20)


def block(*fields):
    """Literals that leave the tables alone."""
    return b"".join(literal(name, value) for name, value in fields)


# Appendix A.
METHOD_GET, METHOD_POST, PATH, SCHEME_HTTPS, STATUS_200, FIRST_DYNAMIC = 2, 3, 4, 7, 8, 62
