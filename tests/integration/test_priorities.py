# ctest: timeout=120
"""P19: RFC 9218 in HTTP/2 and HTTP/3. Answers are held up by the connection's flow-control window
until all of them are there; the order of what comes when it opens is the order of priorities. The
clients are python3-h2 and aioquic."""

import asyncio
import contextlib
import ssl
import struct
import tempfile
import threading
import unittest

import h2.config
import h2.connection
import h2.events
import h2.settings
from aioquic.asyncio import client as aioquic_client
from aioquic.buffer import encode_uint_var
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated

import harness
import quic_client
from harness import WAIT, Backend, Edge

PRIORITY_UPDATE_HTTP2 = 0x10
PRIORITY_UPDATE_HTTP3 = 0xF0700
WINDOW = 65_535

TOML = '[[pool]]\nname = "app"\nservers = ["{}"]\n[[route]]\npool = "app"\n'


class Server(Backend):
    """Answers /SIZE with a body, and /SIZE/VALUE with a Priority field too."""

    def __init__(self):
        self.answered = 0
        self.changed = threading.Condition()
        super().__init__(self.serve_one)

    def serve_one(self, sock, _):
        reader = harness.RequestReader(sock)
        while (request := reader.read()) is not None:
            parts = request[0].split(b" ")[1].decode().split("/")[1:]
            size = int(parts[0])
            field = f"Priority: {parts[1].replace('+', ', ')}\r\n" if len(parts) > 1 else ""
            sock.sendall(f"HTTP/1.1 200 OK\r\n{field}Content-Length: {size}\r\n\r\n".encode()
                         + b"x" * size)
            with self.changed:
                self.answered += 1
                self.changed.notify_all()

    def wait(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: self.answered >= count, WAIT)


def runs(order):
    """Neighbours of one stream count once."""
    return [s for i, s in enumerate(order) if i == 0 or order[i - 1] != s]


class Http2:
    """One connection whose window is used up until release()."""

    body = 60_000

    def __init__(self, edge, server):
        self.server = server
        self.sock = edge.tls(alpn=("h2",))
        self.conn = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.conn.initiate_connection()
        self.conn.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 1_000_000})
        self.order = []
        self.heads = set()
        self.ended = set()
        filler = self.request(f"/{WINDOW}")
        self.until(lambda: filler in self.ended)
        self.order.clear()

    def close(self):
        self.sock.close()

    def flush(self):
        self.sock.sendall(self.conn.data_to_send())

    def request(self, path, priority=None):
        stream = self.conn.get_next_available_stream_id()
        fields = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"),
                  (":path", path)]
        if priority is not None:
            fields.append(("priority", priority))
        self.conn.send_headers(stream, fields, end_stream=True)
        self.flush()
        return stream

    def update(self, stream, value):
        payload = struct.pack(">I", stream) + value.encode()
        self.flush()
        self.sock.sendall(len(payload).to_bytes(3, "big") + bytes([PRIORITY_UPDATE_HTTP2, 0])
                          + bytes(4) + payload)

    def next_stream(self):
        return self.conn.get_next_available_stream_id()

    def until(self, condition):
        while not condition():
            data = self.sock.recv(65536)
            assert data, "the connection ended"
            for event in self.conn.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    self.heads.add(event.stream_id)
                elif isinstance(event, h2.events.DataReceived):
                    if event.data:
                        self.order.append(event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    self.ended.add(event.stream_id)
                elif isinstance(event, h2.events.ConnectionTerminated):
                    raise AssertionError(f"GOAWAY: {event}")
            self.flush()

    def held(self, streams, answered):
        """Returns when the answers to all of them are with the edge."""
        self.server.wait(answered)
        self.until(lambda: streams <= self.heads)
        barrier = self.request("/0")
        self.until(lambda: barrier in self.ended)

    def release(self, streams):
        self.conn.increment_flow_control_window(10_000_000)
        self.flush()
        self.until(lambda: streams <= self.ended)
        return self.order


class Http3Protocol(quic_client.Protocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.order = []

    def quic_event_received(self, event):
        before = {s: len(a["body"]) for s, a in self.answers.items()}
        super().quic_event_received(event)
        for stream, answer in self.answers.items():
            if len(answer["body"]) > before.get(stream, 0):
                self.order.append(stream)


class Http3:
    """The same, with an event loop in a thread of its own."""

    body = 20_000  # all of them fit into the socket's buffer: what is lost comes out of order

    def __init__(self, edge, server):
        self.server = server
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.run(self._connect(edge.port))

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(WAIT)

    async def _connect(self, port):
        configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"],
                                          verify_mode=ssl.CERT_NONE, server_name="localhost",
                                          max_data=WINDOW)
        self.stack = contextlib.AsyncExitStack()
        self.client = await self.stack.enter_async_context(aioquic_client.connect(
            "127.0.0.1", port, configuration=configuration, create_protocol=Http3Protocol))
        quic = self.client._quic
        self.limits = quic._write_connection_limits
        quic._write_connection_limits = lambda builder, space: None
        # What came on the other streams counts too: the rest of the window.
        filler = self.client.request(f"/{WINDOW}")
        self.client.transmit()
        await self.client.wait(lambda: quic._local_max_data.used >= WINDOW)
        self.client.order.clear()
        self.filler = filler

    def close(self):
        self.run(self.stack.aclose())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(WAIT)
        self.loop.close()

    def request(self, path, priority=None):
        fields = [] if priority is None else [(b"priority", priority.encode())]

        async def send():
            stream = self.client.request(path, fields=fields)
            self.client.transmit()
            return stream

        return self.run(send())

    def update(self, stream, value):
        payload = encode_uint_var(stream) + value.encode()

        async def send():
            self.client._quic.send_stream_data(
                self.client.http._local_control_stream_id,
                encode_uint_var(PRIORITY_UPDATE_HTTP3) + encode_uint_var(len(payload)) + payload)
            self.client.transmit()

        self.run(send())

    def next_stream(self):
        return self.client._quic.get_next_available_stream_id()

    # Heads count in HTTP/3's windows: they come when it opens.
    def held(self, streams, answered):
        self.server.wait(answered)
        self.run(self._ping())
        self.run(self._ping())

    async def _ping(self):
        await self.client.ping()

    def release(self, streams):
        async def open_window():
            quic = self.client._quic
            quic._write_connection_limits = self.limits
            quic._local_max_data.value = 10_000_000
            self.client.transmit()
            await self.client.wait(
                lambda: all(self.client.answers.get(s, {}).get("end") for s in streams))
            return [s for s in self.client.order if s != self.filler]

        return self.run(open_window())


class Priorities(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.directory = tempfile.TemporaryDirectory()
        cls.edge = Edge(cls.directory.name, TOML.format(cls.server.address))

    @classmethod
    def tearDownClass(cls):
        assert cls.edge.stop() == 0, cls.edge.log()
        cls.server.stop()
        cls.directory.cleanup()

    def each(self, scene):
        for kind in (Http2, Http3):
            with self.subTest(version=kind.__name__), contextlib.closing(
                    kind(self.edge, self.server)) as client:
                scene(client)

    def order_of(self, client, wanted, before=None):
        """`wanted`: (path suffix, priority) each. The streams in the order of what came."""
        answered = self.server.answered
        streams = [client.request(f"/{client.body}{suffix}", priority) for suffix, priority in wanted]
        client.held(set(streams), answered + len(streams))
        if before is not None:
            before(streams)
            client.held(set(streams), answered)
        order = client.release(set(streams))
        return [streams.index(s) for s in order if s in streams]

    def test_urgency(self):
        def scene(client):
            order = self.order_of(client, [("", "u=7"), ("", None), ("", "u=0"), ("", "u=1")])
            self.assertEqual(runs(order), [2, 3, 1, 0])

        self.each(scene)

    def test_without_incremental_one_after_another(self):
        def scene(client):
            order = self.order_of(client, [("", None), ("", None), ("", "i=?0")])
            self.assertEqual(runs(order), [0, 1, 2])

        self.each(scene)

    def test_incremental_take_turns(self):
        def scene(client):
            order = self.order_of(client, [("", "u=2, i"), ("", "u=2, i"), ("", "u=5")])
            self.assertEqual(order[order.index(2):], [2] * order.count(2))
            turns = runs(order[: order.index(2)])
            self.assertGreaterEqual(len(turns), 4, order)
            # Neither is through before the other has begun, and half of it was sent.
            self.assertGreater(len(order) // 2, order.index(1))

        self.each(scene)

    def test_an_update_of_a_request_under_way(self):
        def scene(client):
            order = self.order_of(client, [("", "u=1"), ("", "u=5"), ("", "u=5")],
                                  lambda streams: client.update(streams[2], "u=0"))
            self.assertEqual(runs(order), [2, 0, 1])

        self.each(scene)

    def test_an_update_before_its_request(self):
        def scene(client):
            client.update(client.next_stream() + (8 if isinstance(client, Http3) else 4), "u=0")
            order = self.order_of(client, [("", None), ("", None), ("", "u=6")])
            self.assertEqual(runs(order), [2, 0, 1])

        self.each(scene)

    def test_the_backends_opinion(self):
        def scene(client):
            order = self.order_of(client, [("", "u=2"), ("/u=6", "u=1"), ("/u=0", None)])
            self.assertEqual(runs(order), [2, 0, 1])

        self.each(scene)


if __name__ == "__main__":
    unittest.main(verbosity=2)
