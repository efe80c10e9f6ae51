"""WebSocket clients over HTTP/1.1, 2 and 3, and a real server. Frames are made and read by the library
`websockets`, the way through HTTP/2 is python3-h2's, through HTTP/3 aioquic's."""

import asyncio
import contextlib
import select
import socket
import ssl
import threading
import time

import h2.config
import h2.connection
import h2.events
import h2.settings
import websockets.exceptions
import websockets.sync.client
import websockets.sync.server
from aioquic.asyncio import client as aioquic_client
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamReset
from websockets.frames import Opcode
from websockets.protocol import CLIENT, OPEN, Protocol

import harness
import quic_client

ENABLE_CONNECT_PROTOCOL = 8


class Server:
    """A WebSocket server that echoes; `handle(connection)` replaces that."""

    def __init__(self, handle=None, **options):
        self.opened = 0
        self.closed = []  # (code, reason) of each connection's end
        self.lock = threading.Lock()
        options.setdefault("max_size", None)
        options.setdefault("ping_interval", None)

        def serve(connection):
            with self.lock:
                self.opened += 1
            try:
                (handle or self.echo)(connection)
            except websockets.exceptions.ConnectionClosed:
                pass
            finally:
                connection.close()
                with self.lock:
                    self.closed.append((connection.close_code, connection.close_reason))

        self.server = websockets.sync.server.serve(serve, "127.0.0.1", 0, **options)
        self.port = self.server.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @staticmethod
    def echo(connection):
        for message in connection:
            connection.send(message)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def stop(self):
        self.server.shutdown()
        self.thread.join(harness.WAIT)


def context():
    made = ssl.create_default_context()
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


class Frames:
    """What goes through the tunnel: messages in, messages out."""

    def __init__(self):
        self.protocol = Protocol(CLIENT, state=OPEN, max_size=None)
        self.messages = []
        self.partial = []
        self.pongs = []
        self.close = None

    def text(self, text):
        self.protocol.send_text(text.encode())
        return self._out()

    def binary(self, data):
        self.protocol.send_binary(data)
        return self._out()

    def ping(self, data):
        self.protocol.send_ping(data)
        return self._out()

    def end(self, code, reason=""):
        self.protocol.send_close(code, reason)
        return self._out()

    def _out(self):
        return b"".join(self.protocol.data_to_send())

    def receive(self, data):
        self.protocol.receive_data(data)
        for frame in self.protocol.events_received():
            if frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                self.partial.append(frame)
                if frame.fin:
                    whole = b"".join(bytes(f.data) for f in self.partial)
                    is_text = self.partial[0].opcode is Opcode.TEXT
                    self.messages.append(whole.decode() if is_text else whole)
                    self.partial = []
            elif frame.opcode is Opcode.PONG:
                self.pongs.append(bytes(frame.data))
            elif frame.opcode is Opcode.CLOSE:
                received = self.protocol.close_rcvd
                self.close = (received.code, received.reason)


class TlsPump:
    """A plain socket for the library, and one thread that alone touches the TLS object: the library
    reads in one thread and writes in another, and a read that waits holds the object for itself."""

    def __init__(self, edge):
        self.tls = context().wrap_socket(
            socket.create_connection(("127.0.0.1", edge.port), timeout=harness.WAIT),
            server_hostname="localhost")
        with socket.create_server(("127.0.0.1", 0)) as listener:  # the library asks for TCP_NODELAY
            self.socket = socket.create_connection(listener.getsockname())
            self.plain = listener.accept()[0]
        self.tls.setblocking(False)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with contextlib.suppress(OSError), self.tls, self.plain:
            while True:
                select.select([self.tls, self.plain], [], [])
                if not self._outward() or not self._inward():
                    return

    def _outward(self):
        data = b""
        with contextlib.suppress(BlockingIOError):
            data = self.plain.recv(65536, socket.MSG_DONTWAIT)
            if not data:
                return False
        while data:
            try:
                data = data[self.tls.send(data):]
            except ssl.SSLWantWriteError:
                # The peer may not read before what it has sent is taken.
                readable, _, _ = select.select([self.tls], [self.tls], [])
                if readable and not self._inward():
                    return False
        return True

    def _inward(self):
        with contextlib.suppress(ssl.SSLWantReadError):
            while data := self.tls.recv(65536):
                self.plain.sendall(data)
            self.plain.shutdown(socket.SHUT_WR)
            return False
        return True


class H1:
    """wss over HTTP/1.1, whole by the library but for its TLS."""

    def __init__(self, edge, path="/ws", **options):
        options.setdefault("max_size", None)
        self.connection = websockets.sync.client.connect(
            f"ws://localhost:{edge.port}{path}", sock=TlsPump(edge).socket,
            open_timeout=harness.WAIT, close_timeout=harness.WAIT, ping_interval=None, proxy=None,
            **options)
        self.fields = {k.lower(): v for k, v in self.connection.response.headers.raw_items()}
        self.status = self.connection.response.status_code

    def exchange(self, message):
        self.connection.send(message)
        return self.connection.recv(harness.WAIT)

    def ping(self, data):
        return self.connection.ping(data).wait(harness.WAIT)

    def end(self, code, reason):
        self.connection.close(code, reason)
        return self.connection.close_code, self.connection.close_reason

    def cut(self):
        with contextlib.suppress(OSError):
            self.connection.socket.shutdown(socket.SHUT_RDWR)

    close = cut


class H2Session:
    """One HTTP/2 connection for many tunnels."""

    def __init__(self, edge):
        self.sock = edge.tls(alpn=("h2",))
        self.sock.settimeout(harness.WAIT)
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, validate_outbound_headers=False))
        self.h2.initiate_connection()
        self.streams = {}
        self.settings = None
        self.flush()
        self.wait(lambda: self.settings is not None)

    def flush(self):
        self.sock.sendall(self.h2.data_to_send())

    def offers_connect(self):
        return self.h2.remote_settings.get(ENABLE_CONNECT_PROTOCOL, 0) == 1

    def read(self):
        data = self.sock.recv(65536)
        if not data:
            raise AssertionError("the connection has ended")
        for event in self.h2.receive_data(data):
            stream = self.streams.get(getattr(event, "stream_id", None))
            if isinstance(event, h2.events.RemoteSettingsChanged):
                self.settings = True
            elif stream is None:
                continue
            elif isinstance(event, h2.events.ResponseReceived):
                stream.head = {(k.decode() if isinstance(k, bytes) else k):
                               (v.decode() if isinstance(v, bytes) else v)
                               for k, v in event.headers}
            elif isinstance(event, h2.events.DataReceived):
                stream.take(event.data)
                if stream.credit:
                    self.h2.acknowledge_received_data(event.flow_controlled_length,
                                                      event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                stream.ended = True
            elif isinstance(event, h2.events.StreamReset):
                stream.reset = event.error_code
        self.flush()

    def wait(self, condition):
        end = time.monotonic() + harness.WAIT
        while not condition():
            if time.monotonic() > end:
                raise AssertionError("waited in vain")
            self.read()

    def open(self, path="/ws", protocol="websocket", fields=(), authority="localhost"):
        stream = H2(self, self.h2.get_next_available_stream_id())
        head = [(":method", "CONNECT")]
        if protocol is not None:
            head += [(":protocol", protocol), (":scheme", "https"), (":path", path)]
        head += [(":authority", authority)]
        if protocol == "websocket":
            head += [("sec-websocket-version", "13")]
        self.streams[stream.id] = stream
        self.h2.send_headers(stream.id, head + list(fields))
        self.flush()
        self.wait(lambda: stream.head is not None or stream.reset is not None)
        return stream

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.close()


class H2:
    """One tunnel of a session."""

    def __init__(self, session, number):
        self.session = session
        self.id = number
        self.head = None
        self.data = b""
        self.frames = Frames()
        self.raw = False   # no WebSocket inside
        self.credit = True
        self.ended = False
        self.reset = None

    @property
    def status(self):
        return int(self.head[":status"])

    @property
    def fields(self):
        return self.head

    def take(self, data):
        if self.raw or self.status != 200:
            self.data += data
        else:
            self.frames.receive(data)

    def send(self, data, end=False):
        h = self.session.h2
        while data:
            room = min(h.local_flow_control_window(self.id), h.max_outbound_frame_size, len(data))
            if room == 0:
                self.session.read()
                continue
            h.send_data(self.id, data[:room])
            data = data[room:]
            self.session.flush()
        if end:
            h.end_stream(self.id)
            self.session.flush()

    def exchange(self, message):
        before = len(self.frames.messages)
        self.send(self.frames.text(message) if isinstance(message, str)
                  else self.frames.binary(message))
        self.session.wait(lambda: len(self.frames.messages) > before)
        return self.frames.messages[-1]

    def ping(self, data):
        self.send(self.frames.ping(data))
        self.session.wait(lambda: data in self.frames.pongs)
        return True

    def end(self, code, reason):
        self.send(self.frames.end(code, reason))
        self.session.wait(lambda: self.frames.close is not None and self.ended)
        self.send(b"", end=True)
        return self.frames.close

    def cut(self):
        self.session.h2.reset_stream(self.id, 8)
        self.session.flush()

    def close(self):
        self.session.close()


class H3Session:
    """One HTTP/3 connection for many tunnels, on a loop in a thread of its own."""

    def __init__(self, edge):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.streams = {}
        self.call(self._connect(edge.port))

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(harness.WAIT * 2)

    async def _connect(self, port):
        configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"],
                                          verify_mode=ssl.CERT_NONE, server_name="localhost")
        session = self

        class Client(quic_client.Protocol):
            def quic_event_received(self, event):
                if isinstance(event, StreamReset):
                    stream = session.streams.get(event.stream_id)
                    if stream is not None:
                        stream.reset = event.error_code
                for e in self.http.handle_event(event):
                    stream = session.streams.get(getattr(e, "stream_id", None))
                    if stream is None:
                        continue
                    if isinstance(e, HeadersReceived):
                        stream.head = {k.decode(): v.decode() for k, v in e.headers}
                    elif isinstance(e, DataReceived):
                        if stream.head is not None:
                            stream.take(e.data)
                    stream.ended |= getattr(e, "stream_ended", False)
                self.changed.set()

        self.manager = aioquic_client.connect("127.0.0.1", port, configuration=configuration,
                                              create_protocol=Client)
        self.client = await self.manager.__aenter__()
        self.changed = self.client.changed
        await self._wait(lambda: self.client.http.received_settings is not None)

    async def _wait(self, condition):
        async with asyncio.timeout(harness.WAIT):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    def wait(self, condition):
        self.call(self._wait(condition))

    def offers_connect(self):
        return self.client.http.received_settings.get(ENABLE_CONNECT_PROTOCOL, 0) == 1

    def open(self, path="/ws", protocol="websocket", fields=(), authority="localhost"):
        return self.call(self._open(path, protocol, fields, authority))

    async def _open(self, path, protocol, fields, authority):
        stream = H3(self, self.client._quic.get_next_available_stream_id())
        self.streams[stream.id] = stream
        head = [(b":method", b"CONNECT")]
        if protocol is not None:
            head += [(b":protocol", protocol.encode()), (b":scheme", b"https"),
                     (b":path", path.encode())]
        head += [(b":authority", authority.encode())]
        if protocol == "websocket":
            head += [(b"sec-websocket-version", b"13")]
        head += [(k.encode(), v.encode()) for k, v in fields]
        self.client.http.send_headers(stream.id, head)
        self.client.transmit()
        await self._wait(lambda: stream.head is not None or stream.reset is not None)
        return stream

    async def _send(self, number, data, end):
        self.client.http.send_data(number, data, end_stream=end)
        self.client.transmit()

    async def _reset(self, number):
        self.client._quic.reset_stream(number, 0x10C)
        self.client._quic.stop_stream(number, 0x10C)
        self.client.transmit()

    def close(self):
        async def leave():
            await self.manager.__aexit__(None, None, None)

        with contextlib.suppress(Exception):
            self.call(leave())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(harness.WAIT)
        self.loop.close()


class H3(H2):
    def send(self, data, end=False):
        self.session.call(self.session._send(self.id, data, end))

    def cut(self):
        self.session.call(self.session._reset(self.id))


def connect(edge, version, path="/ws", **options):
    """A tunnel on a connection of its own."""
    if version == "1.1":
        return H1(edge, path, **options)
    session = H2Session(edge) if version == "2" else H3Session(edge)
    return session.open(path, **options)
