"""A scripted HTTP/2 backend by python3-h2."""

import contextlib
import ssl
import threading

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
import hyperframe.frame

import harness


class Request:
    """One request and the means to answer it, on the thread of its connection."""

    def __init__(self, peer, stream_id, headers):
        self.peer, self.id = peer, stream_id
        self.raw = headers  # those never to be indexed are hpack.NeverIndexedHeaderTuple
        self.fields = [(k.decode(), v.decode()) for k, v in headers]
        self.head = dict(self.fields)
        self.path, self.method = self.head.get(":path"), self.head.get(":method")
        self.body = b""
        self.trailers = None
        self.was_reset = False

    def answer(self, status=200, body=b"", fields=(), trailers=None):
        self.begin(status, fields, end=not body and trailers is None)
        if body or trailers is not None:
            self.send(body, end=True, trailers=trailers)

    def begin(self, status=200, fields=(), end=False):
        self.peer.h2.send_headers(self.id, [(":status", str(status)), *fields], end_stream=end)

    def send(self, body, end=False, trailers=None):
        """As flow control allows; the rest when it does."""
        self.peer.pending.setdefault(self.id, []).append([body, end, trailers])
        self.peer.flush()

    def reset(self, code):
        self.was_reset = True
        self.peer.h2.reset_stream(self.id, code)


class Peer:
    """One connection. `number` counts those of the backend from 0."""

    def __init__(self, backend, sock, number):
        self.backend, self.sock, self.number = backend, sock, number
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding=None))
        self.requests = {}
        self.pending = {}
        self.sent = 0
        self.user = None
        self.closing = False

    def flush(self):
        for stream, pieces in list(self.pending.items()):
            while pieces:
                body, end, trailers = pieces[0]
                while body:
                    try:
                        n = min(len(body), self.h2.local_flow_control_window(stream),
                                self.h2.max_outbound_frame_size)
                    except h2.exceptions.StreamClosedError:
                        pieces.clear()
                        break
                    if n <= 0:
                        pieces[0][0] = body
                        break
                    self.h2.send_data(stream, body[:n])
                    self.sent += n
                    body = body[n:]
                if not pieces or body:
                    break
                pieces.pop(0)
                if trailers is not None:
                    self.h2.send_headers(stream, list(trailers), end_stream=True)
                elif end:
                    self.h2.end_stream(stream)
            if not pieces:
                del self.pending[stream]
        self.write()

    def write(self):
        data = self.h2.data_to_send()
        if data:
            self.sock.sendall(data)

    def goaway(self, last, code=0):
        """No more streams than `last`; python3-h2 knows only an end of everything."""
        self.write()
        self.sock.sendall(hyperframe.frame.GoAwayFrame(0, last, code).serialize())

    def serve(self):
        self.h2.local_settings = h2.settings.Settings(
            client=False, initial_values={**self.backend.settings})
        self.h2.initiate_connection()
        self.write()
        while not self.closing:
            data = self.sock.recv(65536)
            if not data:
                return
            for event in self.h2.receive_data(data):
                self.handle(event)
            self.flush()

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            request = self.requests[event.stream_id] = Request(self, event.stream_id, event.headers)
            self.backend.seen(request)
            if self.backend.on_head:
                self.backend.on_head(request)
        elif isinstance(event, h2.events.DataReceived):
            if event.stream_id in self.requests:
                self.requests[event.stream_id].body += event.data
            with contextlib.suppress(h2.exceptions.ProtocolError):
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.TrailersReceived):
            self.requests[event.stream_id].trailers = dict(event.headers)
        elif isinstance(event, h2.events.StreamReset):
            self.pending.pop(event.stream_id, None)
            self.backend.resets.append((event.stream_id, event.error_code))
        elif isinstance(event, h2.events.StreamEnded):
            request = self.requests[event.stream_id]
            if self.backend.on_request and not request.was_reset:
                self.backend.on_request(request)
        elif isinstance(event, h2.events.PingReceived):
            self.backend.pings += 1


class H2Backend(harness.Backend):
    """`on_request(request)` is called when a request is whole, `on_head(request)` at its head. With a
    certificate it speaks TLS; a connection whose ALPN is not h2 goes to `serve_http1(sock)`."""

    def __init__(self, on_request=None, on_head=None, certificate=None, alpn=("h2",),
                 serve_http1=None, settings=None, port=None):
        self.on_request, self.on_head = on_request, on_head
        self.serve_http1 = serve_http1
        self.settings = settings or {}
        self.requests, self.resets, self.peers = [], [], []
        self.pings = 0
        self.tls = None
        if certificate is not None:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate.chain, certificate.key)
            if alpn:
                self.tls.set_alpn_protocols(list(alpn))
        self._requests_lock = threading.Lock()
        super().__init__(self._serve, port)

    def seen(self, request):
        with self._requests_lock:
            self.requests.append(request)

    def _serve(self, sock, number):
        if self.tls is not None:
            sock = self.tls.wrap_socket(sock, server_side=True)
            if sock.selected_alpn_protocol() != "h2" and self.serve_http1:
                with sock:
                    self.serve_http1(sock)
                return
        peer = Peer(self, sock, number)
        self.peers.append(peer)
        with contextlib.suppress(h2.exceptions.ProtocolError), sock:
            peer.serve()


def echo(request):
    """What came, as text; the body's length and sum."""
    text = f"{request.method} {request.path}\n" + "".join(
        f"{k}: {v}\n" for k, v in request.fields if not k.startswith(":"))
    text += f"body: {len(request.body)}\n"
    request.answer(body=text.encode(), fields=[("content-type", "text/plain")])
