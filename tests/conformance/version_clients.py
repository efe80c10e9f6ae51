"""One connection to the edge by HTTP/1.1, HTTP/2 or HTTP/3, with the same calls for each: requests in
pieces, and every part of what comes back."""

import asyncio
import contextlib
import socket
import ssl
import struct
import threading
import time

import h2.config
import h2.connection
import h2.events
import harness
import hpack
from aioquic.asyncio import client as aioquic_client
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3Connection, HeadersState
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamReset


class Answer:
    def __init__(self, stream=0, method="GET"):
        self.stream, self.method = stream, method
        self.informational = []  # (status, fields)
        self.status = None
        self.fields = {}         # name in lower case: values
        self.body = b""
        self.trailers = {}
        self.complete = False
        self.broken = None       # why it will not be complete

    @property
    def over(self):
        return self.complete or self.broken is not None


def _fields(pairs):
    """(the status, {name: values})"""
    status, fields = None, {}
    for name, value in pairs:
        name = name.decode("latin-1") if isinstance(name, bytes) else name
        value = value.decode("latin-1") if isinstance(value, bytes) else value
        if name == ":status":
            status = int(value)
        else:
            fields.setdefault(name.lower(), []).append(value)
    return status, fields


class Client:
    """begin(), then send() as often as needed unless begin() was told the end."""

    def get(self, path, fields=()):
        return self.wait(self.begin("GET", path, fields))

    def post(self, path, body, fields=()):
        answer = self.begin("POST", path, [*fields, ("content-length", str(len(body)))], end=False)
        self.send(answer, body, end=True)
        return self.wait(answer)

    def wait(self, answer, condition=lambda a: a.over):
        """Until the condition holds, or nothing more can come."""
        end = time.monotonic() + harness.WAIT
        while not condition(answer) and not answer.over:
            if time.monotonic() > end:
                raise AssertionError("no answer in time")
            self._read()
        return answer


class Http1(Client):
    def __init__(self, edge):
        self.sock = edge.tls()
        self.sock.settimeout(harness.WAIT)
        self.buffer = b""
        self.ended = False
        self.answer = self.parser = None
        self.chunked = False

    def begin(self, method, path, fields=(), end=True):
        self.chunked = not end and not any(k == "content-length" for k, _ in fields)
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
        head += "".join(f"{k}: {v}\r\n" for k, v in fields)
        head += "Transfer-Encoding: chunked\r\n" if self.chunked else ""
        self.sock.sendall(head.encode() + b"\r\n")
        self.answer = Answer(method=method)
        self.parser = self._parse(self.answer)
        return self.answer

    def send(self, answer, data, end=False, trailers=()):
        assert answer is self.answer
        if not self.chunked:
            self.sock.sendall(data)
            return
        text = b"%x\r\n%s\r\n" % (len(data), data) if data else b""
        if end or trailers:
            text += b"0\r\n" + "".join(f"{k}: {v}\r\n" for k, v in trailers).encode() + b"\r\n"
        self.sock.sendall(text)

    def cancel(self, _):
        """A connection has one request: it goes with it."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def _read(self):
        try:
            data = self.sock.recv(65536)
        except ConnectionResetError:
            self.answer.broken = "the connection was reset"
            return
        self.buffer += data
        self.ended = not data
        try:
            next(self.parser)
            if self.ended:
                self.answer.broken = "the connection ended"
        except StopIteration:
            self.answer.complete = True

    def _until(self, mark):
        while mark not in self.buffer:
            yield
        taken, _, self.buffer = self.buffer.partition(mark)
        return taken

    def _body(self, length, answer):
        while length > 0:
            piece = self.buffer[:length]
            answer.body += piece
            length -= len(piece)
            self.buffer = self.buffer[len(piece):]
            if length > 0:
                yield

    def _parse(self, answer):
        while True:
            head = yield from self._until(b"\r\n\r\n")
            status, fields = harness.parse_head(head + b"\r\n\r\n")
            if status >= 200 or status == 101:
                break
            answer.informational.append((status, fields))
        answer.status, answer.fields = status, fields
        if answer.method == "HEAD" or status in (101, 204, 304):
            return
        if "chunked" in fields.get("transfer-encoding", []):
            while True:
                size = int((yield from self._until(b"\r\n")).split(b";")[0], 16)
                if size == 0:
                    break
                yield from self._body(size, answer)
                yield from self._until(b"\r\n")
            while line := (yield from self._until(b"\r\n")):
                name, _, value = line.decode("latin-1").partition(":")
                answer.trailers.setdefault(name.lower(), []).append(value.strip())
        elif "content-length" in fields:
            yield from self._body(int(fields["content-length"][0]), answer)
        else:
            while not self.ended:
                answer.body += self.buffer
                self.buffer = b""
                yield
            answer.body += self.buffer

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.close()


class Http2(Client):
    def __init__(self, edge):
        self.sock = edge.tls(alpn=("h2",))
        self.sock.settimeout(harness.WAIT)
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, validate_outbound_headers=False))
        self.h2.initiate_connection()
        self.answers = {}
        self._flush()

    def _flush(self):
        self.sock.sendall(self.h2.data_to_send())

    def begin(self, method, path, fields=(), end=True):
        answer = Answer(self.h2.get_next_available_stream_id(), method)
        self.answers[answer.stream] = answer
        self.h2.send_headers(answer.stream, [(":method", method), (":scheme", "https"),
                                             (":authority", "localhost"), (":path", path), *fields],
                             end_stream=end)
        self._flush()
        return answer

    def begin_never_indexed(self, path, name, value):
        """A GET with one field more."""
        return self.begin("GET", path, [hpack.NeverIndexedHeaderTuple(name, value)])

    def send(self, answer, data, end=False, trailers=()):
        """At most a window."""
        if data:
            self.h2.send_data(answer.stream, data, end_stream=end and not trailers)
        if trailers:
            self.h2.send_headers(answer.stream, list(trailers), end_stream=True)
        elif end and not data:
            self.h2.end_stream(answer.stream)
        self._flush()

    def cancel(self, answer):
        self.h2.reset_stream(answer.stream, 8)
        self._flush()

    def _read(self):
        data = self.sock.recv(65536)
        for event in self.h2.receive_data(data) if data else ():
            self._take(event)
        if not data:
            for answer in self.answers.values():
                if not answer.complete:
                    answer.broken = "the connection ended"
            return
        self._flush()

    def _take(self, event):
        answer = self.answers.get(getattr(event, "stream_id", None))
        if answer is None:
            return
        if isinstance(event, h2.events.InformationalResponseReceived):
            answer.informational.append(_fields(event.headers))
        elif isinstance(event, h2.events.ResponseReceived):
            answer.status, answer.fields = _fields(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            answer.body += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.TrailersReceived):
            answer.trailers = _fields(event.headers)[1]
        elif isinstance(event, h2.events.StreamEnded):
            answer.complete = True
        elif isinstance(event, h2.events.StreamReset):
            answer.broken = f"RST_STREAM {int(event.error_code)}"

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.close()


class _H3(H3Connection):
    """aioquic takes what follows a 1xx for trailers (RFC 9114 4.1)."""

    def _handle_request_or_push_frame(self, frame_type, frame_data, stream, stream_ended):
        events = super()._handle_request_or_push_frame(frame_type, frame_data, stream, stream_ended)
        for event in events:
            if isinstance(event, HeadersReceived) and 100 <= (_fields(event.headers)[0] or 0) < 200:
                stream.headers_recv_state = HeadersState.INITIAL
        return events


class Http3(Client):
    def __init__(self, edge):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.answers = {}
        self._call(self._connect(edge.port))

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(harness.WAIT * 2)

    async def _connect(self, port):
        configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"],
                                          verify_mode=ssl.CERT_NONE, server_name="localhost")
        owner = self

        class Peer(QuicConnectionProtocol):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.http = _H3(self._quic)
                self.changed = asyncio.Event()

            def quic_event_received(self, event):
                owner._take(event, self.http)
                self.changed.set()

        self.manager = aioquic_client.connect("127.0.0.1", port, configuration=configuration,
                                              create_protocol=Peer)
        self.peer = await self.manager.__aenter__()

    def _take(self, event, http):
        if isinstance(event, ConnectionTerminated):
            for answer in self.answers.values():
                if not answer.complete:
                    answer.broken = "the connection ended"
            return
        if isinstance(event, StreamReset) and event.stream_id in self.answers:
            self.answers[event.stream_id].broken = f"RESET_STREAM {event.error_code:#x}"
        for e in http.handle_event(event):
            answer = self.answers.get(getattr(e, "stream_id", None))
            if answer is None:
                continue
            if isinstance(e, HeadersReceived):
                status, fields = _fields(e.headers)
                if status is None:
                    answer.trailers = fields
                elif status < 200:
                    answer.informational.append((status, fields))
                else:
                    answer.status, answer.fields = status, fields
            elif isinstance(e, DataReceived):
                answer.body += e.data or b""
            answer.complete |= getattr(e, "stream_ended", False)

    def begin(self, method, path, fields=(), end=True):
        return self._call(self._begin(method, path, fields, end))

    async def _begin(self, method, path, fields, end):
        answer = Answer(self.peer._quic.get_next_available_stream_id(), method)
        self.answers[answer.stream] = answer
        head = [(":method", method), (":scheme", "https"), (":authority", "localhost"),
                (":path", path), *fields]
        self.peer.http.send_headers(answer.stream, [(k.encode(), v.encode()) for k, v in head], end)
        self.peer.transmit()
        return answer

    def begin_never_indexed(self, path, name, value):
        """A GET with one field more."""
        return self._call(self._begin_never_indexed(path, name.encode(), value.encode()))

    async def _begin_never_indexed(self, path, name, value):
        answer = Answer(self.peer._quic.get_next_available_stream_id())
        self.answers[answer.stream] = answer
        block = self.peer.http._encode_headers(answer.stream, [
            (b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"localhost"),
            (b":path", path.encode())])
        # A literal with a literal name, N set, no Huffman (RFC 9204 4.5.6).
        assert len(name) < 7 and len(value) < 127
        block += bytes([0x30 | len(name)]) + name + bytes([len(value)]) + value
        frame = encode_uint_var(1) + encode_uint_var(len(block)) + block
        self.peer._quic.send_stream_data(answer.stream, frame, True)
        self.peer.transmit()
        return answer

    def send(self, answer, data, end=False, trailers=()):
        self._call(self._send(answer, data, end, trailers))

    async def _send(self, answer, data, end, trailers):
        if data or not trailers:
            self.peer.http.send_data(answer.stream, data, end_stream=end and not trailers)
        if trailers:
            self.peer.http.send_headers(
                answer.stream, [(k.encode(), v.encode()) for k, v in trailers], True)
        self.peer.transmit()

    def cancel(self, answer):
        async def leave():
            self.peer._quic.reset_stream(answer.stream, 0x10C)
            self.peer._quic.stop_stream(answer.stream, 0x10C)
            self.peer.transmit()

        self._call(leave())

    def wait(self, answer, condition=lambda a: a.over):
        async def until():
            async with asyncio.timeout(harness.WAIT):
                while not condition(answer) and not answer.over:
                    self.peer.changed.clear()
                    await self.peer.changed.wait()

        self._call(until())
        return answer

    def close(self):
        async def leave():
            await self.manager.__aexit__(None, None, None)

        with contextlib.suppress(Exception):
            self._call(leave())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(harness.WAIT)
        self.loop.close()


CLIENTS = {"1.1": Http1, "2": Http2, "3": Http3}
