"""Who reads requests: pqedge, nginx and HAProxy before a server that tells what came, Node, llhttp.

Each takes the bytes of one connection and says what they are: a Reading. The socket readers get all
bytes, mostly then the end of the sending side, and are read until they close.
"""

import base64
import ctypes
import ctypes.util
import json
import pathlib
import shutil
import socket
import typing

import harness
import http1_wire

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 20 * harness.SLOW


class Item(typing.NamedTuple):
    """One request, as a reader took it.

    kind: "took" (handed over whole, `seen` says as what), "answered" (by the reader itself, and the
    connection went on), "refused" (by the reader itself, and that was the end).
    """

    kind: str
    status: int
    seen: dict | None = None


class Reading(typing.NamedTuple):
    """end: "waits" (took all for read, or for the beginning of more), "closed" (said that it reads no
    further), "refused", or "hangs"."""

    items: list
    end: str

    def __str__(self):
        def one(i):
            if i.kind != "took":
                return f"{i.kind} {i.status}"
            s = i.seen
            return f"took {s['method']} {s['target']!r} host {s['host']!r} body {s['body']!r}"

        return "; ".join([one(i) for i in self.items] + [self.end])


def _seen(method, target, host, body):
    return {"method": method.decode("latin-1"), "target": target.decode("latin-1"),
            "host": host.decode("latin-1"), "body": body.decode("latin-1")}


def tell(sock, request):
    """The answer of the server behind a proxy: what came, and no body whose end could be missed."""
    seen = _seen(request.method, request.target, b",".join(request.values(b"host")), request.body)
    text = base64.b64encode(json.dumps(seen).encode())
    sock.sendall(b"HTTP/1.1 200 OK\r\nX-Seen: " + text + b"\r\nContent-Length: 0\r\n\r\n")
    return True


def parse_head(raw):
    """(status, fields), and (None, {}) for what is no answer's head: not every proxy makes its own."""
    try:
        status, fields = harness.parse_head(raw)
        if "content-length" in fields:
            int(fields["content-length"][0])
        return status, fields
    except (ValueError, IndexError):
        return None, {}


def _skip_body(status, fields, rest):
    """What follows the body of an answer. Which method it answers is not known: an answer that begins
    where the body should is the next one."""
    if status < 200 or status in (204, 304) or rest.startswith(b"HTTP/1."):
        return rest
    if "chunked" in fields.get("transfer-encoding", [""])[0]:
        while rest:
            line, _, rest = rest.partition(b"\r\n")
            size = int(line.split(b";")[0] or b"0", 16)
            rest = rest[size + 2:]
            if size == 0:
                break
        return rest
    if "content-length" in fields:
        return rest[int(fields["content-length"][0]):]
    return b""


def parse_answers(data):
    """A Reading of all that a reader sent."""
    items = []
    while data:
        head, end, rest = data.partition(b"\r\n\r\n")
        if not end or not head.startswith(b"HTTP/1."):
            break
        status, fields = parse_head(head + end)
        if status is None:
            break
        data = _skip_body(status, fields, rest)
        if status < 200:
            continue
        options = ",".join(fields.get("connection", [])).lower()
        closing = "close" in options or status == 101
        if "x-seen" in fields:
            items.append(Item("took", status, json.loads(base64.b64decode(fields["x-seen"][0]))))
        elif closing and status >= 400:
            items.append(Item("refused", status))
            return Reading(items, "refused")
        else:
            items.append(Item("answered", status))
        if closing:
            return Reading(items, "closed")
    return Reading(items, "waits")


class SocketReader:
    def __init__(self, name, port, process=None, origin=None):
        self.name, self.port, self.process, self.origin = name, port, process, origin

    def read(self, raw, end=True):
        """`end` False: the bytes end with a request that closes, and the sending side stays open."""
        data = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT) as sock:
            try:
                sock.sendall(raw)
                if end:
                    sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # refused before all of it was sent
            try:
                while more := sock.recv(65536):
                    data += more
            except ConnectionResetError:
                pass
            except TimeoutError:
                return Reading(parse_answers(data).items, "hangs")
        return parse_answers(data)

    def stop(self):
        if self.process:
            self.process.kill()
        if self.origin:
            self.origin.stop()


def pqedge(directory):
    origin = http1_wire.Origin()
    origin.reply = tell
    port = harness.free_port()
    edge = harness.Edge(directory, harness.pool(origin.address, retries=0) + harness.route() +
                        f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{port}"\ntls = false\n')
    return SocketReader("pqedge", port, edge, origin)


def nginx(directory):
    origin = http1_wire.Origin(strict=False)
    origin.reply = tell
    process = harness.Nginx(
        directory,
        http=f"upstream origin {{ server {origin.address}; keepalive 4; }} proxy_buffer_size 64k; "
             "proxy_buffers 8 64k; proxy_busy_buffers_size 128k; proxy_next_upstream off;",
        server="location / { proxy_pass http://origin; proxy_http_version 1.1; "
               'proxy_set_header Connection ""; proxy_set_header Host $http_host; '
               "proxy_ignore_client_abort on; }")
    return SocketReader("nginx", process.port, process, origin)


HAPROXY = """
global
  nbthread 1
  maxconn 200
  tune.bufsize 65536
defaults
  mode http
  retries 0
  timeout connect 5s
  timeout client 5s
  timeout server 2s
frontend in
  bind 127.0.0.1:{port}
  default_backend out
backend out
  server origin {origin}
"""


def _wait_for(process, port, what):
    def listens():
        if not process.alive():
            raise AssertionError(f"{what} ended at start:\n{process.log()}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            return False

    harness.wait_for(listens, f"{what} to listen")


def haproxy(directory):
    origin = http1_wire.Origin(strict=False)
    origin.reply = tell
    port = harness.free_port()
    config = pathlib.Path(directory) / "haproxy.cfg"
    config.write_text(HAPROXY.format(port=port, origin=origin.address))
    process = harness.Process([shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f", config],
                              pathlib.Path(directory) / "haproxy.log")
    _wait_for(process, port, "HAProxy")
    return SocketReader("haproxy", port, process, origin)


def node(directory):
    port = harness.free_port()
    process = harness.Process([shutil.which("node") or "/usr/bin/nodejs", HERE / "node_reader.js", port],
                              pathlib.Path(directory) / "node.log")
    _wait_for(process, port, "Node")
    return SocketReader("node", port, process)


_Call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_DataCall = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class _Settings(ctypes.Structure):
    """llhttp_settings_t of llhttp 9."""

    _fields_ = (
        [("on_message_begin", _Call)] +
        [(n, _DataCall) for n in ("on_url", "on_status", "on_method", "on_version", "on_header_field",
                                  "on_header_value", "on_extension_name", "on_extension_value")] +
        [("on_headers_complete", _Call), ("on_body", _DataCall), ("on_message_complete", _Call)] +
        [(f"more_{n}", _Call) for n in range(11)])


class Llhttp:
    """Debian's libllhttp, the parser of Node, in its strict mode and without a server around it."""

    name, process, origin = "llhttp", None, None
    REQUEST, CLOSED, UPGRADE, CONNECT = 1, 5, 22, 5

    def __init__(self):
        path = ctypes.util.find_library("llhttp")
        if not path:
            raise AssertionError("libllhttp is missing: 'make deps' installs it (libllhttp-dev)")
        self.lib = ctypes.CDLL(path)
        self.lib.llhttp_get_error_pos.restype = ctypes.c_void_p
        self.lib.llhttp_method_name.restype = ctypes.c_char_p
        for name in ("llhttp_get_error_pos", "llhttp_get_method", "llhttp_resume_after_upgrade"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
        self.lib.llhttp_get_method.restype = ctypes.c_uint8
        self.lib.llhttp_init.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        self.lib.llhttp_execute.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self.parser = ctypes.create_string_buffer(1024)  # more than llhttp_t takes
        self.settings = _Settings(
            on_message_begin=_Call(self._begin), on_url=self._keep("url"),
            on_header_field=_DataCall(self._field), on_header_value=_DataCall(self._value),
            on_headers_complete=_Call(self._head), on_body=self._keep("body"),
            on_message_complete=_Call(self._complete))

    def _begin(self, _):
        self.now = {"url": b"", "body": b""}
        self.fields, self.in_value = [], True
        return 0

    def _keep(self, name):
        def keep(_, at, size):
            self.now[name] += ctypes.string_at(at, size)
            return 0

        return _DataCall(keep)

    def _field(self, _, at, size):
        if self.in_value:
            self.fields.append([b"", b""])
            self.in_value = False
        self.fields[-1][0] += ctypes.string_at(at, size)
        return 0

    def _value(self, _, at, size):
        self.in_value = True
        self.fields[-1][1] += ctypes.string_at(at, size)
        return 0

    def _head(self, _):  # what comes behind the body is no part of it
        self.host = b",".join(v.strip(b" \t") for n, v in self.fields if n.lower() == b"host")
        return 0

    def _complete(self, _):
        method = self.lib.llhttp_method_name(self.lib.llhttp_get_method(self.parser))
        self.items.append(Item("took", 200, _seen(method, self.now["url"], self.host, self.now["body"])))
        return 0

    def read(self, raw, end=True):
        self.items = []
        self.lib.llhttp_init(self.parser, self.REQUEST, ctypes.byref(self.settings))
        data = ctypes.create_string_buffer(raw, len(raw))
        begin = ctypes.addressof(data)
        at, stop = begin, begin + len(raw)
        while True:
            error = self.lib.llhttp_execute(self.parser, at, stop - at)
            if error != self.UPGRADE:
                break
            if self.lib.llhttp_get_method(self.parser) == self.CONNECT:
                self.items[-1:] = [Item("refused", 501)]
                return Reading(self.items, "refused")
            # An upgrade that the server does not make: what follows is HTTP, as in Node.
            at = self.lib.llhttp_get_error_pos(self.parser)
            self.lib.llhttp_resume_after_upgrade(self.parser)
        if error == 0:
            return Reading(self.items, "waits")
        if error == self.CLOSED:
            return Reading(self.items, "closed")
        return Reading([*self.items, Item("refused", 400)], "refused")

    def stop(self):
        pass


def start(directory):
    """(pqedge, the others). Whatever was started is stopped again if one does not start."""
    started = []
    try:
        for make in (pqedge, nginx, haproxy, node):
            started.append(make(directory))
        started.append(Llhttp())
    except BaseException:
        for reader in started:
            reader.stop()
        raise
    return started[0], started[1:]
