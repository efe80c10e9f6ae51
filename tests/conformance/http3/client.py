"""A QUIC client that can break every rule: aioquic's connection without its event loop, with packets,
transport parameters and hellos that may be changed by hand."""

import os
import select
import socket
import ssl
import time

import pylsqpack
from aioquic import tls
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

import harness
from http3 import frames as f

INITIAL, EARLY, HANDSHAKE, APPLICATION = (
    tls.Epoch.INITIAL, tls.Epoch.ZERO_RTT, tls.Epoch.HANDSHAKE, tls.Epoch.ONE_RTT)
LONG_TYPES = {INITIAL: 0, EARLY: 1, HANDSHAKE: 2}
VERSION = 1
SMALLEST_INITIAL = 1200  # RFC 9000 14.1


class Raw(QuicConnection):
    """`edit_parameters` gets and returns our transport parameters as pairs, `edit_tls` gets the TLS
    context before the hello. `seen` has what came: (epoch, frame type, fields)."""

    edit_parameters = staticmethod(lambda pairs: pairs)
    edit_tls = staticmethod(lambda context: None)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seen = []
        self.closed = None  # by the peer: (of the application?, code, reason)
        self.parameters = None  # the peer's, as pairs

    def _serialize_transport_parameters(self):
        pairs = f.parse_parameters(super()._serialize_transport_parameters())
        return f.parameters(self.edit_parameters(pairs))

    def _initialize(self, peer_cid):
        super()._initialize(peer_cid)
        self.edit_tls(self.tls)

    def _parse_transport_parameters(self, data, from_session_ticket=False):
        if not from_session_ticket:
            self.parameters = f.parse_parameters(data)
        super()._parse_transport_parameters(data, from_session_ticket)

    def _payload_received(self, context, plain, crypto_frame_required=False):
        for kind, fields in f.parse(plain):
            self.seen.append((context.epoch, kind, fields))
            if kind in (f.CLOSE, f.CLOSE_APPLICATION) and self.closed is None:
                self.closed = (kind == f.CLOSE_APPLICATION, fields[0], fields[1])
        return super()._payload_received(context, plain, crypto_frame_required)

    def _get_or_create_stream(self, frame_type, stream_id):
        # A stream that was written to by hand is known here from its first answer on.
        own = (stream_id & 1 == 0) == self._is_client
        if own and stream_id not in self._streams and stream_id not in self._streams_finished:
            return self._get_or_create_stream_for_send(stream_id)
        return super()._get_or_create_stream(frame_type, stream_id)

    def frames(self, *kinds, epoch=None):
        """The fields of each frame of those types that came."""
        return [fields for e, kind, fields in self.seen
                if kind in kinds and epoch in (None, e)]


def challenge(quic, data):
    """PATH_CHALLENGE; aioquic knows of it, or would take the answer for a fault."""
    quic._local_challenges[data] = quic._network_paths[0]
    return f.frame(f.PATH_CHALLENGE, data) + bytes(1150)


def packet(quic, epoch, payload, *, flip=0, dcid=None, scid=None, number=None, token=b"",
           version=VERSION, number_size=2):
    """A protected packet with that payload. `flip`: bits of the first byte, before protection."""
    if number is None:
        number = quic._packet_number
        quic._packet_number += 1
    if len(payload) + number_size < 4:
        number_size = 4  # the sample for header protection needs them
    dcid = quic._peer_cid.cid if dcid is None else dcid
    scid = quic.host_cid if scid is None else scid
    crypto = quic._cryptos[epoch]
    end = (number & ((1 << 8 * number_size) - 1)).to_bytes(number_size, "big")
    if epoch == APPLICATION:
        first = 0x40 | crypto.key_phase << 2 | (number_size - 1)
        header = bytes([first ^ flip]) + dcid + end
    else:
        first = 0xC0 | LONG_TYPES[epoch] << 4 | (number_size - 1)
        header = bytes([first ^ flip]) + f.be32(version) + bytes([len(dcid)]) + dcid + \
            bytes([len(scid)]) + scid
        if epoch == INITIAL:
            header += f.varint(len(token)) + token
        header += f.varint(number_size + len(payload) + 16, 2) + end
    return crypto.encrypt_packet(header, payload, number)


class Stream:
    def __init__(self):
        self.data, self.ended, self.reset, self.stopped = b"", False, None, None


class Client:
    """One connection. Nothing happens but in run(), receive() and flush()."""

    def __init__(self, port, *, host="127.0.0.1", alpn=("h3",), ticket=None, token=b"", id_length=8,
                 parameters=None, hello=None, control=True, settings=(), udp_size=1200,
                 window=1 << 20, server_name="localhost", first_id=8):
        self.address = (host, port)
        configuration = QuicConfiguration(
            is_client=True, alpn_protocols=list(alpn), verify_mode=ssl.CERT_NONE,
            server_name=server_name, session_ticket=ticket, token=token,
            connection_id_length=id_length, supported_versions=[VERSION],
            max_datagram_size=udp_size, max_data=window, max_stream_data=window)
        self.tickets, self.tokens = [], []
        self.quic = Raw(configuration=configuration, session_ticket_handler=self.tickets.append,
                        token_handler=self.tokens.append)
        if parameters:
            self.quic.edit_parameters = parameters
        if hello:
            self.quic.edit_tls = hello
        # The server's first ID is ours to choose, of any length.
        self.quic._peer_cid.cid = self.quic._original_destination_connection_id = os.urandom(first_id)
        if id_length == 0:
            self.quic._replenish_connection_ids = lambda: None  # there are no others then
        self.sockets, self.using = [self._socket()], 0
        self.streams, self.completed, self.ended = {}, None, False
        self.control, self.settings = control, settings
        self.arrived = []  # (socket's index, bytes of the datagram)
        self.sent = 0      # bytes
        self._decoder = pylsqpack.Decoder(0, 0)
        self.quic.connect(self.address, time.monotonic())

    @staticmethod
    def _socket():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        s.setblocking(False)
        return s

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.arrived and not self.closed:  # so that the server has nothing to wait for
            self.quic.close(0x100, None, "")
            self.flush()
        for s in self.sockets:
            s.close()

    # ---- datagrams

    def send(self, datagram, of=None):
        self.sent += len(datagram)
        self.sockets[self.using if of is None else of].sendto(datagram, self.address)

    def move(self):
        """A new address from now on; the old one is still listened at."""
        self.sockets.append(self._socket())
        self.using = len(self.sockets) - 1

    def flush(self):
        for data, _ in self.quic.datagrams_to_send(time.monotonic()):
            self.send(data)

    def hello(self):
        """The bytes of our ClientHello."""
        return bytes(self.quic._crypto_streams[INITIAL].sender._buffer)

    def drain(self, limit, first=None):
        """Throws away what comes until nothing does for `limit` seconds, or `first` before there is
        any: (socket's index, datagram) each."""
        lost = []
        while ready := select.select(self.sockets, [], [],
                                     limit if lost or first is None else first)[0]:
            for s in ready:
                try:
                    lost.append((self.sockets.index(s), s.recv(65536)))
                except OSError:
                    pass
        return lost

    def receive(self, limit):
        """What comes within `limit` seconds, as soon as something does. -> whether something did"""
        ready, _, _ = select.select(self.sockets, [], [], limit)
        for s in ready:
            while True:
                try:
                    data = s.recv(65536)
                except OSError:
                    break
                self.arrived.append((self.sockets.index(s), data))
                self.quic.receive_datagram(data, self.address, time.monotonic())
        self._take_events()
        return bool(ready)

    def _take_events(self):
        while (event := self.quic.next_event()) is not None:
            if isinstance(event, events.StreamDataReceived):
                stream = self.stream(event.stream_id)
                stream.data += event.data
                stream.ended |= event.end_stream
            elif isinstance(event, events.StreamReset):
                self.stream(event.stream_id).reset = event.error_code
            elif isinstance(event, events.StopSendingReceived):
                self.stream(event.stream_id).stopped = event.error_code
            elif isinstance(event, events.HandshakeCompleted):
                self.completed = event
            elif isinstance(event, events.ConnectionTerminated):
                self.ended = True

    def run(self, until, what="the server", limit=None, flush=True):
        """Until the condition holds. A connection that ends before that is a failure."""
        end = time.monotonic() + (limit or harness.WAIT)
        while True:
            if flush:
                self.flush()
            if until():
                return
            now = time.monotonic()
            if now > end:
                raise AssertionError(f"waited in vain for {what}; {self.state()}")
            timer = self.quic.get_timer()
            pause = end if timer is None or not flush else min(end, timer)
            self.receive(max(0.0, min(pause - now, 1.0)))
            if flush and timer is not None and time.monotonic() >= timer:
                self.quic.handle_timer(time.monotonic())
                self._take_events()
            if self.closed and not until():
                raise AssertionError(f"the connection ended before {what}; {self.state()}")

    def state(self):
        streams = {n: (s.data[:60], s.ended, s.reset, s.stopped) for n, s in self.streams.items()}
        return f"closed {self.quic.closed}, event {self.quic._close_event}, streams {streams}"

    # ---- the connection

    @property
    def closed(self):
        return self.quic.closed is not None or self.quic._close_event is not None

    def stream(self, number):
        return self.streams.setdefault(number, Stream())

    def connect(self):
        """Until the handshake is confirmed; our control stream is open then."""
        self.run(lambda: self.quic._handshake_confirmed, "the handshake")
        if self.control:
            self.write(2, f.varint(f.CONTROL) + f.settings(*self.settings))
            self.flush()
        return self

    def half(self):
        """Until we have the server's handshake keys. It has not heard of it."""
        self.flush()
        self.run(lambda: self.quic._cryptos[HANDSHAKE].send.is_valid(), "the server's flight",
                 flush=False)
        return self

    def inject(self, payload, epoch=APPLICATION, pad=True, of=None, **how):
        """A packet of ours, ahead of what the connection itself has to send."""
        if epoch == INITIAL and pad:
            payload += bytes(max(0, SMALLEST_INITIAL - len(payload) - 30))
        self.send(packet(self.quic, epoch, payload, **how), of)

    def write(self, number, data, end=False):
        self.quic.send_stream_data(number, data, end)

    def open(self, data=b"", end=False, unidirectional=False):
        number = self.quic.get_next_available_stream_id(is_unidirectional=unidirectional)
        self.write(number, data, end)
        return number

    # ---- HTTP/3

    def request(self, path="/", *more, body=None, **how):
        """A whole request on a stream of its own: its number."""
        data = f.request(path, *more, **how)
        if body is not None:
            data += f.h3(f.DATA, body)
        return self.open(data, end=True)

    def answer(self, number):
        """(status, fields, body) once the answer has ended, else None. 1xx are left out."""
        stream = self.stream(number)
        if not stream.ended:
            return None
        found, _ = f.parse_h3(stream.data)
        head, body = None, b""
        for kind, payload in found:
            if kind == f.HEADERS and (head is None or head.get(":status", "").startswith("1")):
                head = self.fields(number, payload)
            elif kind == f.DATA:
                body += payload
        return (int(head[":status"]), head, body) if head else None

    def fields(self, number, payload):
        _, decoded = self._decoder.feed_header(number, payload)
        return {k.decode(): v.decode("latin-1") for k, v in decoded}

    def get(self, path="/", **how):
        number = self.request(path, **how)
        self.run(lambda: self.answer(number), f"an answer to {path}")
        return self.answer(number)

    def peer_stream(self, kind):
        """What came on the server's unidirectional stream of that type, without the type."""
        for number, stream in self.streams.items():
            if number & 3 == 3 and stream.data:
                r = f.Reader(stream.data)
                if r.varint() == kind:
                    return r.rest()
        return None

    def peer_settings(self):
        self.run(lambda: self.peer_stream(f.CONTROL) and
                 f.parse_h3(self.peer_stream(f.CONTROL))[0], "SETTINGS")
        kind, payload = f.parse_h3(self.peer_stream(f.CONTROL))[0][0]
        assert kind == f.SETTINGS, kind
        return dict(f.parse_settings(payload))
