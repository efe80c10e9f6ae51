"""One end of an HTTP/2 connection in raw frames, and what it may expect of the other.

All that comes is kept in `seen`; an expectation looks through that first and then waits, so the order
in which a case asks does not matter. Waits end with an event; the limit is reached by a fault alone.
"""

import ssl
import struct

import hpack

import harness
from http2.wire import *  # noqa: F403 - the vocabulary of every case


class Answer:
    def __init__(self):
        self.status = None
        self.informational = []
        self.fields = []
        self.trailers = None
        self.body = b""
        self.ended = False
        self.reset = None  # the code of RST_STREAM

    def get(self, name):
        return [v for n, v in self.fields if n == name]


class Peer:
    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""
        self.seen = []
        self.ended = False
        self.decoder = hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 24
        self.settings = {}  # the other side's
        self.acknowledged = 0  # of our SETTINGS
        self._block = None
        self._pings = 0

    def close(self):
        self.sock.close()

    def send(self, *parts):
        try:
            self.sock.sendall(b"".join(parts))
        except OSError:  # it was ended: what was said before is there to be read
            pass

    # ---- what comes

    def _fill(self):
        try:
            more = self.sock.recv(65536)
        except TimeoutError:
            raise AssertionError(f"nothing comes any more after {self.story()}") from None
        except (ConnectionError, ssl.SSLError):
            more = b""
        self.ended = not more
        self.buffer += more
        return bool(more)

    def next(self):
        """The next frame; None: the connection has ended."""
        if self.ended:
            return None
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            if not self._fill():
                return None
        size = 9 + int.from_bytes(self.buffer[:3], "big")
        raw, self.buffer = self.buffer[:size], self.buffer[size:]
        f = Frame(raw[3], raw[4], int.from_bytes(raw[5:9], "big") & MAX_WINDOW, raw[9:])
        self._note(f)
        self.seen.append(f)
        return f

    def _note(self, f):
        if f.kind == SETTINGS:
            if f.flags & ACK:
                self.acknowledged += 1
                return
            for at in range(0, len(f.payload), 6):
                key, value = struct.unpack_from(">HI", f.payload, at)
                self.settings[key] = value
            self.send(settings_ack())
        elif f.kind in (HEADERS, CONTINUATION):
            payload = f.payload
            if f.kind == HEADERS:
                self._block = b""
                assert not f.flags & (PADDED | WITH_PRIORITY), "not of pqedge"
            self._block += payload
            if f.flags & END_HEADERS:
                # Raises where the other's encoder broke RFC 7541.
                f.fields = self.decoder.decode(self._block, raw=True)

    def history(self):
        """All frames from the first on, until the connection ends."""
        at = 0
        while True:
            while at >= len(self.seen):
                if self.next() is None:
                    return
            yield self.seen[at]
            at += 1

    def story(self):
        names = ["DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY",
                 "WINDOW_UPDATE", "CONTINUATION"]
        told = []
        for f in self.seen:
            name = names[f.kind] if f.kind < len(names) else hex(f.kind)
            code = f" code {f.code} {f.payload[8:]!r}" if f.kind in (RST_STREAM, GOAWAY) else ""
            told.append(f"{name}({f.stream}, flags {f.flags:#x}, {len(f.payload)} bytes{code})")
        return ", ".join(told) + (", the end" if self.ended else "")

    def fail(self, what):
        raise AssertionError(f"{what}; came: {self.story()}")

    # ---- what is expected

    def wait(self, condition, what):
        for f in self.history():
            if condition(f):
                return f
        self.fail(f"the connection ended before {what}")

    def lives(self):
        """Whether it answers a PING, after all that was sent before."""
        self._pings += 1
        payload = struct.pack(">Q", 0xABCD0000 + self._pings)
        self.send(ping(payload))
        for f in self.history():
            if f.kind == GOAWAY and f.code != NO_ERROR:
                return False
            if f.kind == PING and f.flags & ACK and f.payload == payload:
                return True
        return False

    def alive(self):
        if not self.lives():
            self.fail("the connection was ended")

    def drain(self):
        """Until the connection ends."""
        for _ in self.history():
            pass

    def expect_connection_error(self, *codes):
        """RFC 9113 5.4.1: GOAWAY with one of the codes, and then the end."""
        f = self.wait(lambda f: f.kind == GOAWAY, "a GOAWAY")
        if f.code not in codes:
            self.fail(f"GOAWAY has none of the codes {codes}")
        self.drain()
        return f

    def expect_stream_error(self, stream, *codes):
        """RFC 9113 5.4.2: RST_STREAM, after which the connection lives; or a connection error of the
        same kind, which 5.4.2's end allows."""
        f = self.wait(lambda f: f.kind == GOAWAY or (f.kind == RST_STREAM and f.stream == stream),
                      "an RST_STREAM")
        if f.code not in codes:
            self.fail(f"none of the codes {codes} on stream {stream}")
        if f.kind == GOAWAY:
            self.drain()
        else:
            self.alive()
        return f

    def answer(self, stream=1):
        """What came on the stream until it ended or was reset."""
        a = Answer()
        for f in self.history():
            if f.kind == GOAWAY and f.code != NO_ERROR:
                self.fail(f"the connection was ended before the answer on stream {stream}")
            if f.stream != stream or f.kind not in (DATA, HEADERS, CONTINUATION, RST_STREAM):
                continue
            if f.kind == RST_STREAM:
                a.reset = f.code
                return a
            if f.kind == DATA:
                a.body += f.payload
            if f.kind == HEADERS:
                a.ended = f.end
            if f.fields is not None:
                self._take_section(a, f.fields)
                if a.ended:
                    return a
            if f.kind == DATA and f.end:
                a.ended = True
                return a
        self.fail(f"the connection ended before the answer on stream {stream}")

    @staticmethod
    def _take_section(a, section):
        fields = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in section]
        status = dict(fields).get(":status")
        if status is None:
            a.trailers = fields
        elif status.startswith("1"):
            a.informational.append(int(status))
        else:
            a.status, a.fields = int(status), fields

    def change(self, *pairs):
        """Our SETTINGS, and the wait for their acknowledgement."""
        wanted = self.acknowledged + 1
        self.send(settings(*pairs))
        self.wait(lambda f: self.acknowledged >= wanted, "an acknowledgement of SETTINGS")


class Client(Peer):
    """Toward pqedge's listener. `mark` is a text that only this case's requests have."""

    def __init__(self, sock, mark):
        super().__init__(sock)
        self.mark = mark

    def handshake(self, *pairs):
        """RFC 9113 3.4; both sides' SETTINGS are in force after it."""
        self.send(PREFACE, settings(*pairs))
        self.wait(lambda f: self.acknowledged == 1, "an acknowledgement of SETTINGS")
        self.wait(lambda f: f.kind == SETTINGS and not f.flags & ACK, "SETTINGS")

    def fields(self, more=(), method="GET", path="/", leave=()):
        """A request's field block; `leave`: pseudo-header fields that it does without."""
        all_fields = [(":method", method), (":scheme", "https"), (":path", path), (":authority", "localhost"),
                      ("x-mark", self.mark), *more]
        return block(*[f for f in all_fields if f[0] not in leave])

    def get(self, stream=1, more=(), path="/", **kwargs):
        return headers(stream, self.fields(more, path=path), **kwargs)

    def post(self, stream=1, more=(), path="/", end=False, **kwargs):
        return headers(stream, self.fields(more, method="POST", path=path), end=end, **kwargs)

    # ---- uploads

    def credit(self, stream):
        """Bytes of DATA that may be sent now, before those of this case."""
        connection, own = DEFAULT_WINDOW, self.settings.get(INITIAL_WINDOW_SIZE, DEFAULT_WINDOW)
        for f in self.seen:
            if f.kind == WINDOW_UPDATE:
                increment = int.from_bytes(f.payload, "big") & MAX_WINDOW
                connection += increment if f.stream == 0 else 0
                own += increment if f.stream == stream else 0
        return min(connection, own)

    def upload(self, stream, size, padding=None):
        """As flow control allows; the connection's only upload. Padding counts (RFC 9113 6.1)."""
        more = 0 if padding is None else padding + 1
        sent = 0
        while size > 0:
            n = min(size, DEFAULT_FRAME_SIZE - more)
            while self.credit(stream) - sent < n + more:
                if self.next() is None:
                    self.fail("the connection ended during an upload")
            size -= n
            sent += n + more
            self.send(data(stream, b"u" * n, end=size == 0, padding=padding))
        return sent

    def data_size(self, stream):
        return sum(len(f.payload) for f in self.seen if f.kind == DATA and f.stream == stream)


class Server(Peer):
    """Toward pqedge as a client of ours: a backend by script."""

    def __init__(self, sock):
        super().__init__(sock)
        self.stream = 0
        self.request = {}
        self.request_fields = []

    def preface(self):
        while len(self.buffer) < len(PREFACE):
            if not self._fill():
                self.fail("the connection ended within the preface")
        if not self.buffer.startswith(PREFACE):
            self.fail(f"no preface: {self.buffer[:40]!r}")
        self.buffer = self.buffer[len(PREFACE):]

    def accept(self, *pairs):
        """Both sides' SETTINGS, and the first request's head."""
        self.preface()
        self.send(settings(*pairs))
        self.wait(lambda f: self.acknowledged == 1, "an acknowledgement of SETTINGS")
        self.take_request()

    def take_request(self, number=1):
        heads = []

        def is_head(f):
            if f.fields is not None and any(n == b":method" for n, _ in f.fields) and f not in heads:
                heads.append(f)
            return len(heads) == number

        f = self.wait(is_head, "a request")
        self.stream, self.request_fields = f.stream, f.fields
        self.request = {n.decode("latin-1"): v.decode("latin-1") for n, v in f.fields}
        return f

    def head(self, *fields, end=False, status="200"):
        return headers(self.stream, block((":status", status), *fields), end=end)

    def respond(self, body=b"whole"):
        self.send(self.head(), data(self.stream, body, end=True))

    def uploaded(self):
        """Bytes of DATA from the edge."""
        return sum(len(f.payload) for f in self.seen if f.kind == DATA)
