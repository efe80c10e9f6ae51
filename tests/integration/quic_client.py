"""One HTTP/3 connection by aioquic: tickets, early data, large hellos. aioquic offers classical
groups only."""

import asyncio
import ssl

from aioquic import tls
from aioquic.asyncio import client as aioquic_client
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic import connection as quic_connection
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted

import harness

_Buffer = tls.Buffer


def _roomy_buffer(capacity=0, data=None):
    """aioquic builds a hello that resumes in 1,024 bytes, which a large ticket does not fit in."""
    return _Buffer(capacity=max(capacity, 16384)) if data is None else _Buffer(data=data)


tls.Buffer = _roomy_buffer

PADDING_EXTENSION = 0xFD00  # for private use (RFC 8446 11): nobody knows it


class Protocol(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.answers = {}
        self.completed = None
        self.ended = None
        self.changed = asyncio.Event()

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.completed = event
        if isinstance(event, ConnectionTerminated):
            self.ended = event
        for e in self.http.handle_event(event):
            answer = self.answers.setdefault(e.stream_id, {"headers": {}, "body": b"", "end": False})
            if isinstance(e, HeadersReceived):
                answer["headers"] = {k.decode(): v.decode() for k, v in e.headers}
            elif isinstance(e, DataReceived):
                answer["body"] += e.data
            answer["end"] |= e.stream_ended
        self.changed.set()

    def request(self, path, method="GET", body=b"", fields=()):
        stream = self._quic.get_next_available_stream_id()
        head = [(b":method", method.encode()), (b":scheme", b"https"),
                (b":authority", b"localhost"), (b":path", path.encode()), *fields]
        self.http.send_headers(stream, head, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        return stream

    async def wait(self, condition):
        async with asyncio.timeout(harness.WAIT):
            while not condition():
                if self.ended is not None:
                    raise AssertionError(f"the connection ended: {self.ended}")
                self.changed.clear()
                await self.changed.wait()


class Result:
    """What came of one connection."""

    def __init__(self):
        self.answers = []      # in the order of the requests: (status, body)
        self.resumed = False
        self.early_data_accepted = False
        self.tickets = []
        self.datagrams = 0     # that the client sent before it got any


def fetch(port, requests, ticket=None, early=False, padding=0, server_name="localhost"):
    """`requests`: (method, path, body). With `early` they are sent before any answer of the server.
    `padding`: bytes that the ClientHello is made longer by. -> Result"""
    return asyncio.run(_fetch(port, requests, ticket, early, padding, server_name))


async def _fetch(port, requests, ticket, early, padding, server_name):
    result = Result()
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE, server_name=server_name,
        session_ticket=ticket)
    initialize = quic_connection.QuicConnection._initialize

    def padded(self, peer_cid):
        initialize(self, peer_cid)
        if padding:
            self.tls.handshake_extensions.append((PADDING_EXTENSION, b"\0" * padding))

    quic_connection.QuicConnection._initialize = padded
    try:
        async with aioquic_client.connect(
                "127.0.0.1", port, configuration=configuration, create_protocol=Protocol,
                session_ticket_handler=result.tickets.append, wait_connected=not early) as client:
            streams = [client.request(path, method, body) for method, path, body in requests]
            client.transmit()
            await client.wait(lambda: client.completed is not None and all(
                client.answers.get(s, {}).get("end") for s in streams))
            if ticket is None:
                await client.wait(lambda: result.tickets)
            result.resumed = client.completed.session_resumed
            result.early_data_accepted = client.completed.early_data_accepted
            result.answers = [(int(client.answers[s]["headers"][":status"]),
                               client.answers[s]["body"]) for s in streams]
    finally:
        quic_connection.QuicConnection._initialize = initialize
    return result
