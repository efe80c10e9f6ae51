"""HTTP/1.1 on the wire, read to the letter: a client and a backend that forgive nothing.

What the edge sends is read by the grammar of RFC 9112 alone. Each way in which a lax reader could
take it for something else raises Broken: a test that uses these two holds the rules for what it
sends too, whatever else it looks at.
"""

import fcntl
import re
import socket
import struct
import termios
import threading

import harness

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ANY_LINE = re.compile(rb"([^ ]+) (.*) HTTP/1\.[0-9]", re.DOTALL)
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/1\.1")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9]) ([\t\x20-\x7e\x80-\xff]*)")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
# Fields of one connection alone (RFC 9110 7.6.1): none is passed on, some are said anew.
_HOP = {b"keep-alive", b"proxy-connection", b"proxy-authorization", b"proxy-authenticate",
        b"http2-settings"}
LONGEST = 1 << 22


class Broken(Exception):
    """What came breaks a rule of RFC 9112."""


class Stream:
    """Bytes of a socket, and all that were taken from it since the last mark."""

    def __init__(self, sock, heard=None):
        self.sock = sock
        self.heard = heard  # is called when bytes came
        self.buffer = b""
        self.reset = False
        self.marked = b""

    def fill(self):
        try:
            more = self.sock.recv(65536)
        except ConnectionResetError:
            self.reset = True
            more = b""
        if not more:
            raise EOFError
        self.buffer += more
        if self.heard:
            self.heard()
        if len(self.buffer) > LONGEST:
            raise Broken("more bytes than any test sends")

    def take(self, n):
        while len(self.buffer) < n:
            self.fill()
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        self.marked += out
        return out

    def take_until(self, end):
        while (at := self.buffer.find(end)) < 0:
            self.fill()
        return self.take(at + len(end))

    def take_rest(self):
        try:
            while True:
                self.fill()
        except EOFError:
            return self.take(len(self.buffer))


class Message:
    """A request or an answer. `fields` are (name as written, value) in order."""

    def __init__(self, start, fields):
        self.start, self.fields = start, fields
        self.body, self.trailers = b"", []
        self.chunked = False
        self.complete = True  # the end of its body was said

    def values(self, name):
        return [v for n, v in self.fields if n.lower() == name.lower()]

    def line(self, text):
        """Whether a field line is there exactly as `text`."""
        return text in [n + b": " + v for n, v in self.fields]

    def options(self):
        """What Connection names, in lower case."""
        return {o.strip().lower() for v in self.values(b"connection") for o in v.split(b",")} - {b""}


def parse_section(lines):
    fields = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(name):
            raise Broken(f"no field line: {line!r}")
        fields.append((name, value.strip(b" \t")))
    return fields


def parse_head(raw):
    """(start line, fields) of a head with its blank line."""
    lines = raw[:-4].split(b"\r\n")
    for line in lines:
        if _CONTROL.search(line):
            raise Broken(f"control byte in the head: {line!r}")  # RFC 9112 2.2
    return lines[0], parse_section(lines[1:])


def _framing(message):
    """(chunked, length or None), by RFC 9112 6.1 to 6.3, and nothing that could be read twice."""
    lengths, codings = message.values(b"content-length"), message.values(b"transfer-encoding")
    if len(lengths) + len(codings) > 1:
        raise Broken(f"more than one framing field: {message.fields}")
    if codings and codings != [b"chunked"]:
        raise Broken(f"transfer coding {codings}")
    if lengths and not re.fullmatch(rb"0|[1-9][0-9]*", lengths[0]):
        raise Broken(f"length {lengths}")
    return bool(codings), int(lengths[0]) if lengths else None


def _check_hop(message):
    hop = [n for n, _ in message.fields if n.lower() in _HOP]
    if hop:
        raise Broken(f"fields of another connection: {hop}")  # RFC 9110 7.6.1


def _read_chunks(stream, message):
    message.chunked = True
    while True:
        line = stream.take_until(b"\r\n")[:-2]
        if not re.fullmatch(rb"[0-9a-fA-F]{1,16}", line):
            raise Broken(f"chunk-size line {line!r}")
        size = int(line, 16)
        if size == 0:
            break
        message.body += stream.take(size)
        if stream.take(2) != b"\r\n":
            raise Broken("chunk without its CRLF")
    lines = []
    while line := stream.take_until(b"\r\n")[:-2]:
        lines.append(line)
    message.trailers = parse_section(lines)


def _check_request(request):
    if len(request.values(b"host")) != 1:
        raise Broken(f"Host fields: {request.values(b'host')}")  # RFC 9112 3.2
    _check_hop(request)
    unknown = request.options() - {b"te", b"upgrade"}
    if unknown:
        raise Broken(f"Connection names {unknown}")


def read_request(stream, strict=True):
    """The next request, or None at the end of the connection. EOFError: it ended within one.

    `strict` False: a proxy other than ours sent it, whose framing alone is looked at.
    """
    stream.marked = b""
    try:
        while not stream.buffer:
            stream.fill()
    except EOFError:
        return None
    start, fields = parse_head(stream.take_until(b"\r\n\r\n"))
    line = (_REQUEST_LINE if strict else _ANY_LINE).fullmatch(start)
    if not line:
        raise Broken(f"request line {start!r}")
    request = Message(start, fields)
    request.method, request.target = line[1], line[2]
    if strict:
        _check_request(request)
    chunked, length = _framing(request)
    if chunked:
        _read_chunks(stream, request)
    elif length:
        request.body = stream.take(length)
    request.raw = stream.marked
    return request


def read_answer(stream, method="GET"):
    """The next answer; `complete` is False when the connection ended within its body.

    `method` None: not known, and then what follows tells whether a length has its body.
    """
    start, fields = parse_head(stream.take_until(b"\r\n\r\n"))
    line = _STATUS_LINE.fullmatch(start)
    if not line:
        raise Broken(f"status line {start!r}")
    answer = Message(start, fields)
    answer.minor, answer.status, answer.reason = int(line[1]), int(line[2]), line[3]
    _check_hop(answer)
    chunked, length = _framing(answer)
    if answer.status < 200 or answer.status == 204:
        if chunked or length is not None:
            raise Broken(f"framing fields in a {answer.status}")  # RFC 9112 6.1, RFC 9110 8.6
        return answer
    if answer.status == 304 or method == "HEAD":
        return answer
    if method is None and length and not stream.buffer:
        try:
            stream.fill()
        except EOFError:
            return answer
    if method is None and length and stream.buffer.startswith(b"HTTP/1."):
        return answer
    try:
        if chunked:
            _read_chunks(stream, answer)
        elif length is not None:
            answer.body = stream.take(length)
        else:
            answer.body = stream.take_rest()
            answer.complete = not stream.reset
    except EOFError:
        answer.complete = False
        answer.body += stream.take(len(stream.buffer))
    return answer


def delivered(sock):
    """Waits until all that was sent, the end included, is in the other side's socket."""
    def acknowledged():
        try:
            return struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0" * 4))[0] == 0
        except (OSError, ValueError):
            return True  # the other side has closed the connection since

    harness.wait_for(acknowledged, "what was sent to arrive")


def read_final(stream, method="GET"):
    """(informational answers, the answer)."""
    before = []
    while (answer := read_answer(stream, method)).status < 200 and answer.status != 101:
        before.append(answer)
    return before, answer


class Client:
    """A connection to the edge, plain or (given an Edge) over TLS."""

    def __init__(self, port=None, edge=None):
        self.sock = edge.tls() if edge else socket.create_connection(("127.0.0.1", port),
                                                                     timeout=harness.WAIT)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = Stream(self.sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, raw):
        try:
            self.sock.sendall(raw)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all of it was sent: what was answered can still be read

    def end(self):
        self.sock.shutdown(socket.SHUT_WR)

    def answer(self, method="GET"):
        return read_final(self.stream, method)[1]

    def rest(self):
        """What comes until the end of the connection, which is waited for."""
        return self.stream.take_rest()


class Origin(harness.Backend):
    """A backend that keeps what it was sent, and holds the edge to the rules.

    `seen` are whole requests in order, `cut` the bytes of those that ended before they were whole,
    `broken` what broke a rule. `reply` answers: bytes, or a function of (socket, request) that
    returns whether the connection goes on.
    """

    def __init__(self, strict=True):
        self.strict = strict
        self.seen, self.cut, self.broken = [], [], []
        self.heard = 0  # reads that brought something, since take()
        self.reply = OK
        self._changed = threading.Condition()
        super().__init__(self._serve)

    def _note(self, where, what):
        with self._changed:
            where.append(what)
            self._changed.notify_all()

    def _hear(self):
        with self._changed:
            self.heard += 1
            self._changed.notify_all()

    def _serve(self, sock, number):
        stream = Stream(sock, self._hear)
        while True:
            try:
                request = read_request(stream, self.strict)
            except Broken as e:
                self._note(self.broken, f"{e}: {stream.marked + stream.buffer!r}")
                return
            except EOFError:
                self._note(self.cut, stream.marked + stream.buffer)
                return
            if request is None:
                return
            request.connection = number
            reply = self.reply
            self._note(self.seen, request)
            if not callable(reply):
                sock.sendall(reply)
            elif not reply(sock, request):
                return

    def take(self):
        """What was seen since the last call."""
        with self._changed:
            seen, self.seen = self.seen, []
            self.heard = 0
            return seen

    def wait_heard(self):
        """Until something came since take()."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.heard > 0, harness.WAIT):
                raise AssertionError("nothing came")

    def wait_cut(self, mark):
        """The one request with `mark` in it that ended before it was whole."""
        def found():
            return [c for c in self.cut if mark in c]

        with self._changed:
            if not self._changed.wait_for(found, harness.WAIT):
                raise AssertionError("no request was given up")
            cut = found()
            self.cut = [c for c in self.cut if mark not in c]
        if len(cut) != 1:
            raise AssertionError(f"sent more than once: {cut}")
        return cut[0]


class Case(harness.TestCase):
    """One edge with a plain listener and a strict backend for all tests of a class."""

    pool_settings = {"retries": 0}
    more_toml = ""
    counted = {}

    @classmethod
    def setUpClass(cls):
        import shutil
        import tempfile
        import pathlib

        super().setUpClass()
        directory = pathlib.Path(tempfile.mkdtemp(prefix="pqedge-test-"))
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        cls.origin = Origin()
        cls.addClassCleanup(cls.origin.stop)
        cls.port = harness.free_port()
        cls.edge_process = harness.Edge(
            directory, harness.pool(cls.origin.address, **cls.pool_settings) + harness.route() +
            f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{cls.port}"\ntls = false\n' +
            cls.more_toml)
        cls.addClassCleanup(harness.TestCase()._end_edge, cls.edge_process)
        cls.counted = {}

    @classmethod
    def tearDownClass(cls):
        total = sum(cls.counted.values())
        each = ", ".join(f"{rule} ({n})" for rule, n in sorted(cls.counted.items()))
        if total:
            print(f"\n{cls.__name__}: {total} cases: {each}", flush=True)
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.origin.reply = OK
        self.origin.take()
        self.origin.cut.clear()

    def tearDown(self):
        self.assertEqual(self.origin.broken, [], "the edge broke a rule toward its backend")
        super().tearDown()

    def rule(self, rule, name):
        """A case of a section, counted."""
        self.counted[rule] = self.counted.get(rule, 0) + 1
        return self.subTest(f"{rule}: {name}")

    def client(self):
        return Client(self.port)

    def check_state(self, client, answer, closed=None):
        """The connection is as the answer announced: it ends, or serves another request.

        RFC 9112 9.3, 9.6. `closed` says which it must be.
        """
        announced = b"close" in answer.options()
        if closed is not None:
            self.assertEqual(announced, closed, f"{answer.start} {answer.fields}")
        if announced:
            self.assertEqual(client.rest(), b"")
            return
        client.send(b"GET /probe HTTP/1.1\r\nHost: probe.test\r\n\r\n")
        self.assertEqual(client.answer().status, 200)
        probe = self.origin.take()
        self.assertEqual([r.start for r in probe], [b"GET /probe HTTP/1.1"])
        self.assertEqual(client.stream.buffer, b"")
