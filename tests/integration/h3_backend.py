"""A scripted HTTP/3 backend by aioquic, in a thread with an event loop of its own. It knows classical
groups only: a pool that speaks with it sends a share of X25519 too."""

import asyncio
import threading

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated, StopSendingReceived, StreamReset

import harness

REQUEST_CANCELLED = 0x10C
REQUEST_REJECTED = 0x10B
INTERNAL_ERROR = 0x102


class Request:
    """One request and the means to answer it. Called on the backend's thread; later() from others."""

    def __init__(self, peer, stream_id, fields):
        self.peer, self.id = peer, stream_id
        self.fields = [(k.decode(), v.decode()) for k, v in fields]
        self.head = dict(self.fields)
        self.path, self.method = self.head.get(":path"), self.head.get(":method")
        self.body = b""
        self.trailers = None
        self.complete = False

    def begin(self, status=200, fields=(), end=False):
        self.peer.http.send_headers(self.id, _encoded([(":status", str(status)), *fields]), end)
        self.peer.transmit()

    def inform(self, status, fields=()):
        """A 1xx: aioquic would take what follows it for trailers."""
        block = self.peer.http._encode_headers(
            self.id, _encoded([(":status", str(status)), *fields]))
        self.raw(encode_uint_var(1) + encode_uint_var(len(block)) + block)

    def send(self, body, end=False):
        self.peer.http.send_data(self.id, body, end)
        self.peer.transmit()

    def answer(self, status=200, body=b"", fields=(), trailers=None):
        self.begin(status, fields, end=not body and trailers is None)
        if body:
            self.send(body, end=trailers is None)
        if trailers is not None:
            self.peer.http.send_headers(self.id, _encoded(trailers), True)
            self.peer.transmit()

    def raw(self, data, end=False):
        self.peer.quic.send_stream_data(self.id, data, end)
        self.peer.transmit()

    def reset(self, code):
        self.peer.quic.reset_stream(self.id, code)
        self.peer.quic.stop_stream(self.id, code)
        self.peer.transmit()

    def later(self, call, *args):
        self.peer.backend.loop.call_soon_threadsafe(call, *args)


def _encoded(fields):
    return [(k.encode(), v.encode()) for k, v in fields]


class Peer(QuicConnectionProtocol):
    """One connection."""

    def __init__(self, *args, backend, **kwargs):
        super().__init__(*args, **kwargs)
        self.backend, self.quic, self.http = backend, self._quic, None
        self.requests = {}

    def goaway(self, stream_id):
        payload = encode_uint_var(stream_id)
        self.quic.send_stream_data(self.http._local_control_stream_id,
                                   encode_uint_var(7) + encode_uint_var(len(payload)) + payload)
        self.transmit()

    def quic_event_received(self, event):
        backend = self.backend
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self.quic)
            backend.peers.append(self)
        elif isinstance(event, (StreamReset, StopSendingReceived)):
            backend.resets.append((event.stream_id, event.error_code))
        elif isinstance(event, ConnectionTerminated):
            backend.ended.append(event)
        if self.http is None:
            return
        for e in self.http.handle_event(event):
            if isinstance(e, HeadersReceived) and e.stream_id not in self.requests:
                request = self.requests[e.stream_id] = Request(self, e.stream_id, e.headers)
                backend.requests.append(request)
                if backend.on_head is not None:
                    backend.on_head(request)
            elif isinstance(e, HeadersReceived):
                self.requests[e.stream_id].trailers = e.headers
            elif isinstance(e, DataReceived):
                self.requests[e.stream_id].body += e.data
            request = self.requests.get(e.stream_id)
            if e.stream_ended and request is not None and not request.complete:
                request.complete = True
                if backend.on_request is not None:
                    backend.on_request(request)


class H3Backend:
    def __init__(self, certificate, on_request=None, on_head=None, port=None, streams=128):
        self.on_request, self.on_head = on_request, on_head
        self.requests, self.peers, self.resets, self.ended = [], [], [], []
        self.port = port or harness.free_port()
        self.loop = asyncio.new_event_loop()
        configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
        configuration.load_cert_chain(certificate.chain, certificate.key)
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            serve("127.0.0.1", self.port, configuration=configuration,
                  create_protocol=lambda *a, **k: self._peer(streams, *a, **k)),
            self.loop).result(harness.WAIT)

    def _peer(self, streams, *args, **kwargs):
        peer = Peer(*args, backend=self, **kwargs)
        peer.quic._local_max_streams_bidi.value = streams
        peer.quic._local_max_streams_bidi.sent = streams
        return peer

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def connections(self):
        return len(self.peers)

    def stop(self):
        async def close():
            self._server.close()

        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(close(), self.loop).result(harness.WAIT)
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(harness.WAIT)
            self.loop.close()


def echo(request):
    """Says what came: a line, the fields, the length of the body."""
    lines = [f"{request.method} {request.path}", *(f"{k}: {v}" for k, v in request.fields),
             f"body: {len(request.body)}"]
    request.answer(body=("\n".join(lines) + "\n").encode(), fields=[("x-from", "h3")])
