"""Three backends that do the same by HTTP/1.1, HTTP/2 and HTTP/3: the last segment of a request's path
names a script below. What belongs to HTTP/1.1 alone (WebSocket, and the bytes of a CONNECT) they take by
TCP on the same port."""

import contextlib
import re
import socket
import ssl
import struct
import threading

import h3_backend
import harness
from h2_backend import H2Backend
from websockets.frames import Opcode
from websockets.server import ServerProtocol

AT_ONCE = 4
LINK = "</style.css>; rel=preload; as=style"
CHALLENGE = 'Basic realm="a, b",  Digest realm="c", nonce="d\\"e"'


class Seen:
    """A request as a backend saw it. Names in lower case, no pseudo-header fields."""

    def __init__(self, method, path, fields, body=b"", trailers=(), connection=0):
        self.method, self.path, self.fields = method, path, fields
        self.body, self.trailers, self.connection = body, list(trailers), connection

    def get(self, name):
        return [v for k, v in self.fields if k == name]

    @property
    def names(self):
        return {k for k, _ in self.fields}


def _texts(pairs):
    def text(x):
        return x.decode("latin-1") if isinstance(x, bytes) else x

    return [(text(k).lower(), text(v)) for k, v in pairs]


class Origin:
    """What the three have in common: the scripts, and what was seen."""

    def __init__(self):
        self.seen = []
        self.gone = []  # paths whose client left before the answer
        self.release = threading.Event()
        self.meeting = []  # replies that wait for each other
        self.lock = threading.Lock()

    def play(self, seen, reply):
        self.seen.append(seen)
        getattr(self, "_" + seen.path.rpartition("/")[2].replace("-", "_"))(seen, reply)

    def heard(self):
        """Of the client that left last."""
        return "the end of the connection"

    def last(self, path):
        return [s for s in self.seen if s.path == path][-1]

    # ---- the scripts

    def _echo(self, seen, reply):
        reply.begin(200, [("content-length", str(len(seen.body)))], end=not seen.body)
        if seen.body:
            reply.send(seen.body, end=True)

    def _meet(self, _, reply):
        """Nobody is answered before AT_ONCE requests are here."""
        with self.lock:
            self.meeting.append(reply)
            reply.deferred = True
            if len(self.meeting) == AT_ONCE:
                for one in self.meeting:
                    one.begin(200, end=True)
                self.meeting = []

    def _fields(self, _, reply):
        reply.begin(200, [*reply.hop_by_hop(), ("x-stays", "yes")], end=True)

    def _pieces(self, _, reply):
        reply.begin(200)
        for _ in range(3):
            reply.send(b"0123456789" * 1000)
        reply.send(b"", end=True)

    def _empty(self, _, reply):
        reply.begin(204, end=True)

    def _order(self, _, reply):
        reply.begin(200, [("x-b", "1"), ("x-a", "2"), ("x-b", "3")], end=True)

    def _challenge(self, _, reply):
        reply.begin(401, [("www-authenticate", CHALLENGE)], end=True)

    def _hints(self, _, reply):
        reply.inform(103, [("link", LINK)])
        self.release.wait(harness.WAIT)
        reply.begin(200, end=True)

    def _several(self, _, reply):
        for status, n in ((103, "1"), (199, "2"), (103, "3")):
            reply.inform(status, [("x-n", n)])
        reply.begin(200, [("x-n", "4")], end=True)

    def _switch(self, _, reply):
        reply.switch()

    def _trailers(self, _, reply):
        reply.begin(200, [("trailer", "x-sum")])
        reply.send(b"summed", trailers=[("x-sum", "abc"), ("set-cookie", "a=b"),
                                        ("x-forwarded-for", "192.0.2.1")])

    def _last(self, seen, reply):
        """The answer, and word that the connection takes no more."""
        reply.last(seen.body)

    def _cut(self, _, reply):
        reply.begin(200)
        reply.send(b"half")
        self.release.wait(harness.WAIT)
        reply.cut()

    def _wait(self, _, reply):
        reply.wait()


# ---- HTTP/1.1 -----------------------------------------------------------------------------------


class Http1Reply:
    def __init__(self, sock):
        self.sock = sock
        self.chunked = False
        self.finished = False
        self.closing = False
        self.deferred = False
        self.answered = threading.Event()

    @staticmethod
    def hop_by_hop():
        return [("connection", "x-back, keep-alive"), ("keep-alive", "timeout=9"), ("x-back", "1"),
                ("proxy-connection", "keep-alive")]

    def _head(self, status, fields):
        text = f"HTTP/1.1 {status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields)
        self.sock.sendall(text.encode() + b"\r\n")

    def inform(self, status, fields=()):
        self._head(status, fields)

    def begin(self, status, fields=(), end=False):
        fields = list(fields)
        known = any(k == "content-length" for k, _ in fields) or status == 204
        if end and not known:
            fields.append(("content-length", "0"))
        elif not end and not known:
            self.chunked = True
            fields.append(("transfer-encoding", "chunked"))
        self.finished = end
        self._head(status, fields)
        self.answered.set()

    def send(self, data, end=False, trailers=None):
        if data:
            self.sock.sendall(b"%x\r\n%s\r\n" % (len(data), data) if self.chunked else data)
        if end or trailers is not None:
            if self.chunked:
                section = "".join(f"{k}: {v}\r\n" for k, v in trailers or ())
                self.sock.sendall(b"0\r\n" + section.encode() + b"\r\n")
            self.finished = True

    def switch(self):
        self._head(101, [("connection", "upgrade"), ("upgrade", "chat")])
        self.finished = self.closing = True

    def last(self, body):
        self.begin(200, [("content-length", str(len(body))), ("connection", "close")], end=not body)
        if body:
            self.send(body, end=True)
        self.closing = True

    def cut(self):
        self.finished = self.closing = True

    def wait(self):
        pass


def _serve_http1(origin, sock, number, first):
    reader = harness.RequestReader(sock)
    reader.buffer = first
    while True:
        reader.trailers = []
        request = reader.read()
        if request is None:
            return
        lines = request[0].decode("latin-1").rstrip("\r\n").split("\r\n")
        method, path, _ = lines[0].split(" ")
        fields = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]]
        seen = Seen(method, path, _texts(fields), request[1],
                    _texts(tuple(p.strip() for p in t.split(b":", 1)) for t in reader.trailers), number)
        if "websocket" in [v.lower() for v in seen.get("upgrade")]:
            origin.seen.append(seen)
            _serve_websocket(sock, request[0])
            return
        reply = Http1Reply(sock)
        origin.play(seen, reply)
        if reply.deferred:
            reply.answered.wait(harness.WAIT)
        if not reply.finished:
            left = b""
            with contextlib.suppress(OSError):
                left = sock.recv(1)
            if not left:
                origin.gone.append(path)
            return
        if reply.closing:
            return


def _end(sock):
    """Of what we send. TLS has one of its own (RFC 8446 6.1), and Python waits for the other side's."""
    if isinstance(sock, ssl.SSLSocket):
        sock.unwrap()
    else:
        sock.shutdown(socket.SHUT_WR)


def _serve_websocket(sock, head):
    """Each message comes back."""
    protocol = ServerProtocol()
    protocol.receive_data(head)
    protocol.send_response(protocol.accept(protocol.events_received()[0]))
    while True:
        for data in protocol.data_to_send():
            if data:
                sock.sendall(data)
        if protocol.close_expected():
            _end(sock)
            return
        data = sock.recv(65536)
        if not data:
            return
        protocol.receive_data(data)
        for frame in protocol.events_received():
            if frame.opcode is Opcode.TEXT:
                protocol.send_text(bytes(frame.data))
            elif frame.opcode is Opcode.BINARY:
                protocol.send_binary(bytes(frame.data))


def _serve_bytes(sock, data):
    """All that comes, in capitals; after "bye" the end, after "die" a reset."""
    while data:
        if b"die" in data:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        sock.sendall(data.upper())
        if b"bye" in data:
            _end(sock)
            if isinstance(sock, ssl.SSLSocket):
                return
        data = sock.recv(65536)


def serve_tcp(origin, sock, number=0):
    first = sock.recv(65536)
    if re.match(rb"[A-Z]+ /", first):
        _serve_http1(origin, sock, number, first)
    else:
        _serve_bytes(sock, first)


class Http1Origin(Origin):
    def __init__(self):
        super().__init__()
        self.server = harness.Backend(lambda sock, number: serve_tcp(self, sock, number))
        self.address = self.server.address

    def pool(self, name, _):
        return harness.pool(self.address, name=name)

    def stop(self):
        self.server.stop()


# ---- HTTP/2 -------------------------------------------------------------------------------------


class MultiplexedReply:
    """Of h2_backend's and h3_backend's requests, which answer by the same names."""

    def __init__(self, request):
        self.request = request

    @staticmethod
    def hop_by_hop():
        return []  # none can be sent (RFC 9113 8.2.2, RFC 9114 4.2)

    def begin(self, status, fields=(), end=False):
        self.request.begin(status, list(fields), end=end)

    def wait(self):
        pass


class Http2Reply(MultiplexedReply):
    def inform(self, status, fields=()):
        self.request.begin(status, list(fields))
        self.request.peer.write()

    def send(self, data, end=False, trailers=None):
        self.request.send(data, end=end, trailers=trailers)

    def switch(self):
        self.request.begin(101)

    def last(self, body):
        self.request.peer.goaway(self.request.id)
        self.request.answer(200, body)

    def cut(self):
        self.request.peer.flush()
        self.request.reset(2)


class Http2Origin(Origin):
    def __init__(self, certificate):
        super().__init__()
        self.server = H2Backend(on_request=self._request, certificate=certificate,
                                alpn=("h2", "http/1.1"), serve_http1=lambda s: serve_tcp(self, s))
        self.address = self.server.address
        self.waiting = {}

    def _request(self, request):
        seen = Seen(request.method, request.path,
                    [f for f in _texts(request.fields) if not f[0].startswith(":")], request.body,
                    _texts((request.trailers or {}).items()), request.peer.number)
        self.waiting[request.id] = request.path
        self.play(seen, Http2Reply(request))

    @property
    def gone(self):
        return [self.waiting[stream] for stream, _ in self.server.resets if stream in self.waiting]

    @gone.setter
    def gone(self, _):
        pass

    def heard(self):
        return f"RST_STREAM {int(self.server.resets[-1][1])}"

    def pool(self, name, authority):
        return harness.pool(self.address, name=name, protocol="h2", tls=True, tls_ca=authority,
                            tls_server_name="app.internal")

    def stop(self):
        self.server.stop()


# ---- HTTP/3 -------------------------------------------------------------------------------------


class Http3Reply(MultiplexedReply):
    def inform(self, status, fields=()):
        self.request.inform(status, list(fields))

    def send(self, data, end=False, trailers=None):
        if trailers is None:
            self.request.send(data, end=end)
            return
        self.request.send(data)
        self.request.peer.http.send_headers(
            self.request.id, [(k.encode(), v.encode()) for k, v in trailers], True)
        self.request.peer.transmit()

    def switch(self):
        self.request.inform(101)

    def last(self, body):
        self.request.peer.goaway(self.request.id + 4)
        self.request.answer(200, body)

    def cut(self):
        self.request.peer.quic.reset_stream(self.request.id, h3_backend.INTERNAL_ERROR)
        self.request.peer.transmit()


class Http3Origin(Http2Origin):
    def __init__(self, certificate):
        Origin.__init__(self)
        self.server = h3_backend.H3Backend(certificate, on_request=self._request)
        self.address = self.server.address
        self.waiting = {}
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate.chain, certificate.key)
        self.tls.set_alpn_protocols(["http/1.1"])
        self.beside = harness.Backend(self._tcp, port=self.server.port)

    def heard(self):
        return f"RESET_STREAM {self.server.resets[-1][1]:#x}"

    def _tcp(self, sock, _):
        with self.tls.wrap_socket(sock, server_side=True) as wrapped:
            serve_tcp(self, wrapped)

    def _request(self, request):
        seen = Seen(request.method, request.path,
                    [f for f in _texts(request.fields) if not f[0].startswith(":")], request.body,
                    _texts(request.trailers or ()), self.server.peers.index(request.peer))
        self.waiting[request.id] = request.path
        self.play(seen, Http3Reply(request))

    def pool(self, name, authority):
        return harness.pool(self.address, name=name, protocol="h3", tls=True, tls_ca=authority,
                            tls_server_name="app.internal",
                            tls_key_shares=["X25519MLKEM768", "X25519"])

    def stop(self):
        self.beside.stop()
        self.server.stop()


def origins(certificate):
    """{version: origin}"""
    return {"1.1": Http1Origin(), "2": Http2Origin(certificate), "3": Http3Origin(certificate)}
