"""An HTTP/3 server that can break every rule: client.Raw as the server, in a thread of its own."""

import contextlib
import select
import socket
import threading
import time

import pylsqpack
from aioquic.buffer import Buffer
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.packet import pull_quic_header

import harness
from http3 import frames as f
from http3.client import APPLICATION, Raw, Stream, packet

ID_LENGTH = 8


class Peer:
    """One connection of the edge. Used on the backend's thread alone; others look at `closed`,
    `streams`."""

    def __init__(self, backend, quic, address):
        self.backend, self.quic, self.address = backend, quic, address
        self.streams, self.answered = {}, set()
        self.control = None
        self._decoder = pylsqpack.Decoder(0, 0)

    @property
    def closed(self):
        return self.quic.closed

    def write(self, number, data, end=False):
        self.quic.send_stream_data(number, data, end)

    def open(self, data, end=False):
        """A unidirectional stream of ours."""
        number = self.quic.get_next_available_stream_id(is_unidirectional=True)
        self.write(number, data, end)
        return number

    def inject(self, payload, epoch=APPLICATION, **how):
        self.backend.sock.sendto(packet(self.quic, epoch, payload, **how), self.address)

    def send(self, datagram):
        self.backend.sock.sendto(datagram, self.address)

    def answer(self, number, status=200, body=b"fine", fields=()):
        self.write(number, f.h3(f.HEADERS, f.section((":status", str(status)), *fields)) +
                   f.h3(f.DATA, body), True)

    def take_events(self):
        while (event := self.quic.next_event()) is not None:
            if isinstance(event, events.HandshakeCompleted):
                self.backend.on_connected(self)
            elif isinstance(event, events.ConnectionIdIssued):
                self.backend.ids[event.connection_id] = self
            elif isinstance(event, events.StreamReset):
                self.streams.setdefault(event.stream_id, Stream()).reset = event.error_code
            elif isinstance(event, events.StopSendingReceived):
                self.streams.setdefault(event.stream_id, Stream()).stopped = event.error_code
            elif isinstance(event, events.StreamDataReceived):
                stream = self.streams.setdefault(event.stream_id, Stream())
                stream.data += event.data
                stream.ended |= event.end_stream
                if event.stream_id & 3 == 0 and stream.ended and event.stream_id not in self.answered:
                    self.answered.add(event.stream_id)
                    self._request(event.stream_id, stream.data)

    def _request(self, number, data):
        kind, payload = f.parse_h3(data)[0][0]
        assert kind == f.HEADERS, kind
        _, fields = self._decoder.feed_header(number, payload)
        head = {k.decode(): v.decode() for k, v in fields}
        act = self.backend.acts.get(head[":path"])
        if act is None:
            self.answer(number)
        else:
            self.backend.acted[head[":path"]] = (self, number)
            act(self, number)


class Backend:
    """`acts`: path -> call(peer, number) for each whole request there; others are answered 200.
    `on_connected(peer)` opens the control stream; `parameters` edits the transport parameters;
    `on_first(backend, datagram, header, address)` is asked before a first datagram is looked at."""

    def __init__(self, certificate, acts=None, on_connected=None, parameters=None, on_first=None,
                 hello=None):
        self.acts, self.acted, self.peers, self.ids = acts or {}, {}, [], {}
        self.on_connected = on_connected or open_control
        self.parameters, self.on_first, self.hello = parameters, on_first, hello
        self.configuration = QuicConfiguration(
            is_client=False, alpn_protocols=["h3"], supported_versions=[1],
            connection_id_length=ID_LENGTH)
        self.configuration.load_cert_chain(certificate.chain, certificate.key)
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.port = harness.free_port()
        self.sock.bind(("127.0.0.1", self.port))
        self.sock.setblocking(False)
        self.failure = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def _run(self):
        try:
            while not self._end.is_set():
                self._turn()
        except Exception as e:  # shown by stop(): a thread's own end would be silent
            self.failure = e

    def _turn(self):
        now = time.monotonic()
        timers = [t for p in self.peers if (t := p.quic.get_timer()) is not None]
        pause = min([0.05, *(max(0.0, t - now) for t in timers)])
        if select.select([self.sock], [], [], pause)[0]:
            with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
                while True:
                    self._take(*self.sock.recvfrom(65536))
        now = time.monotonic()
        for peer in self.peers:
            timer = peer.quic.get_timer()
            if timer is not None and timer <= now:
                peer.quic.handle_timer(now)
            peer.take_events()
            for data, address in peer.quic.datagrams_to_send(now):
                self.sock.sendto(data, address)

    def _take(self, datagram, address):
        try:
            header = pull_quic_header(Buffer(data=datagram), host_cid_length=ID_LENGTH)
        except ValueError:
            return
        peer = self.ids.get(header.destination_cid)
        if peer is None:
            if header.version != 1 or len(datagram) < 1200:
                return
            if self.on_first is not None and self.on_first(self, datagram, header, address):
                return
            quic = Raw(configuration=self.configuration,
                       original_destination_connection_id=header.destination_cid)
            if self.parameters:
                quic.edit_parameters = self.parameters
            if self.hello:
                quic.edit_tls = self.hello
            peer = Peer(self, quic, address)
            self.ids[header.destination_cid] = self.ids[quic.host_cid] = peer
            self.peers.append(peer)
        peer.quic.receive_datagram(datagram, address, time.monotonic())
        peer.take_events()

    def stop(self):
        self._end.set()
        self._thread.join(harness.WAIT)
        self.sock.close()
        if self.failure is not None:
            raise AssertionError("the scripted backend failed") from self.failure


def open_control(peer):
    peer.control = peer.open(f.varint(f.CONTROL) + f.settings())
