"""QUIC against what networks and strangers do (P3 to P8; K16, K17, K20)."""

import asyncio
import hashlib
import os
import random
import re
import socket
import ssl
import threading
import unittest

import harness
from relay import Relay


class Quic(harness.TestCase):
    def start(self, extra="", workers=1, size=8_000_000):
        self.origin = self.nginx(server="location /up/ { dav_methods PUT; }")
        (self.origin.root / "up").mkdir(exist_ok=True)
        data = os.urandom(size)
        (self.origin.root / "file").write_bytes(data)
        self.sum = hashlib.sha256(data).hexdigest()
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route() + extra,
                               workers=workers)

    def relay(self, **kwargs):
        r = Relay(self.proxy.port, **kwargs)
        self.addCleanup(r.stop)
        return r

    def through(self, relay, path="/file", *args, limit=None):
        """curl --http3-only through the relay: (exit status, SHA-256 of the body, stderr)."""
        done = harness.run(
            "curl", "-sS", "--http3-only", "--cacert", self.proxy.certificate.chain, "--max-time",
            str(int(50 * harness.SLOW)), "--connect-to",
            f"localhost:{self.proxy.port}:127.0.0.1:{relay.port}", *args, self.proxy.url(path))
        return done.returncode, hashlib.sha256(done.stdout).hexdigest(), done.stderr.decode()

    def test_a_rebinding_is_followed(self):
        # K17: with any number of workers, and also when active migration is off.
        for workers, extra in ((1, ""), (4, ""), (4, "[quic]\nactive_migration = false\n"),
                               (16, "")):
            with self.subTest(workers=workers, extra=extra):
                self.setUp()
                self.start(extra, workers=workers)
                relay = self.relay()
                stop = threading.Event()

                def rebind():
                    seen = 300
                    while not stop.wait(0.005):
                        if relay.passed > seen:
                            relay.rebind()
                            seen = relay.passed + 700

                thread = threading.Thread(target=rebind)
                thread.start()
                code, digest, error = self.through(relay)
                stop.set()
                thread.join()
                self.assertEqual((code, digest), (0, self.sum), error)
                if workers > 1:
                    # Some of the new addresses hash to other workers.
                    self.assertGreater(self.proxy.metric("pqedge_quic_handed_over_total"), 0)
                self.doCleanups()

    def test_reordered_and_doubled_initials(self):
        # P3: a ClientHello with ML-KEM is spread over several Initial packets.
        self.start(size=10_000)
        held = []

        def shuffle(datagrams):
            if len(held) < 2 and relay.passed < 3:
                held.extend(datagrams)
                if len(held) < 2:
                    return []
                return [held[1], held[0], held[1], held[0]]
            return datagrams

        relay = self.relay(to_server=shuffle)
        code, digest, error = self.through(relay)
        self.assertEqual((code, digest), (0, self.sum), error)

    def test_loss_both_ways(self):
        self.start(size=2_000_000)
        dice = random.Random(7)
        lossy = lambda datagrams: [d for d in datagrams if dice.random() > 0.03]
        code, digest, error = self.through(self.relay(to_server=lossy, to_client=lossy))
        self.assertEqual((code, digest), (0, self.sum), error)

    def test_replayed_packets_do_nothing(self):
        self.start(size=500_000)
        seen = []

        def replay(datagrams):
            seen.extend(datagrams)
            return datagrams + seen[-3:]

        code, digest, error = self.through(self.relay(to_server=replay))
        self.assertEqual((code, digest), (0, self.sum), error)

    def test_garbage_is_dropped(self):
        self.start(size=1000)
        dice = random.Random(1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for i in range(3000):
                data = bytearray(dice.randbytes(dice.randrange(0, 1400)))
                if data and i % 3 == 0:
                    data[0] |= 0xC0  # a long header
                if len(data) > 5 and i % 6 == 0:
                    data[1:5] = (1).to_bytes(4, "big")
                sock.sendto(data, ("127.0.0.1", self.proxy.port))
        self.assertEqual(self.proxy.get("/file", http="3")[0], 200)

    def test_version_negotiation(self):
        # RFC 9000 6: a long header of an unknown version, 1,200 bytes, gets the list of ours.
        self.start(size=1000)
        packet = bytes([0xC0]) + (0x1A2A3A4A).to_bytes(4, "big") + b"\x08" + b"d" * 8 + b"\x04" + \
            b"s" * 4
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(harness.WAIT)
            sock.sendto(packet.ljust(1200, b"\0"), ("127.0.0.1", self.proxy.port))
            answer = sock.recv(2000)
        self.assertEqual(answer[1:5], b"\0\0\0\0")
        self.assertEqual(answer[5:6] + answer[6:10] + answer[10:11] + answer[11:19],
                         b"\x04" + b"s" * 4 + b"\x08" + b"d" * 8)
        self.assertIn((1).to_bytes(4, "big"), [answer[i : i + 4] for i in range(19, len(answer), 4)])

    def test_retry_always(self):
        self.start('[quic]\nretry = "always"\n', size=10_000)
        relay = self.relay()
        first = []
        relay.to_client = lambda d: (first.extend(d), d)[1]
        code, digest, error = self.through(relay)
        self.assertEqual((code, digest), (0, self.sum), error)
        self.assertEqual(first[0][0] & 0xF0, 0xF0)  # RFC 9000 17.2.5: a Retry packet

    def test_uploads_grow_their_window(self):
        # K19: more than the first window goes up without a stall.
        self.start(size=10)
        up = self.directory / "up"
        up.write_bytes(os.urandom(20_000_000))
        code, _, error = self.through(self.relay(), "/up/x", "-T", up, "-o", os.devnull)
        self.assertEqual(code, 0, error)
        self.assertEqual((self.origin.root / "up/x").read_bytes(), up.read_bytes())

    def test_the_stream_window_grows_by_need(self):
        # K19: a path with a long round trip needs more than the first window.
        self.start("[quic]\nstream_window = \"64KiB\"\nconnection_window = \"64KiB\"\n", size=10)
        relay = self.relay(delay=0.03)
        self.assertGreater(asyncio.run(self.largest_window(relay.port)), 4 * 65536)

    async def largest_window(self, port):
        from aioquic.asyncio.client import connect
        from aioquic.asyncio.protocol import QuicConnectionProtocol
        from aioquic.h3.connection import H3_ALPN, H3Connection
        from aioquic.quic.configuration import QuicConfiguration

        class Client(QuicConnectionProtocol):
            def quic_event_received(self, event):
                pass

        configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN,
                                          server_name="localhost", verify_mode=ssl.CERT_NONE)
        async with connect("127.0.0.1", port, configuration=configuration,
                           create_protocol=Client) as client:
            h3 = H3Connection(client._quic)
            number = client._quic.get_next_available_stream_id()
            h3.send_headers(number, [(b":method", b"PUT"), (b":scheme", b"https"),
                                     (b":authority", b"localhost"), (b":path", b"/up/w")])
            h3.send_data(number, os.urandom(6_000_000), end_stream=True)
            client.transmit()
            stream = client._quic._streams[number]
            largest = 0
            for _ in range(800):
                largest = max(largest, stream.max_stream_data_remote - stream.sender._buffer_start)
                if largest > 4 * 65536 or stream.sender.is_finished:
                    break
                await asyncio.sleep(0.01)
        return largest

    def test_socket_buffers_and_kernel_drops_are_shown(self):
        # K19: what was asked for, what was granted, and the kernel's own count.
        self.start(size=10)
        line = re.compile(r"receive buffer \d+ bytes asked, \d+ granted")
        harness.wait_for(lambda: line.search(self.proxy.log()), "the line at start")
        with open("/proc/net/udp", encoding="ascii") as f:
            bound = f":{self.proxy.port:04X}"
            drops = sum(int(words[-1]) for words in map(str.split, f) if words[1].endswith(bound))
        metrics = self.proxy.metrics()
        shown = [v for k, v in metrics.items() if "udp" in k and "drop" in k]
        self.assertTrue(shown, [k for k in metrics if "udp" in k])
        self.assertEqual(sum(shown), drops)

    def test_a_blocked_stream_says_so(self):
        # K20: STREAM_DATA_BLOCKED or DATA_BLOCKED is sent, and again, while the window is shut.
        self.start(size=1_000_000)
        blocked = asyncio.run(self.blocked_frames())
        self.assertGreaterEqual(blocked, 1)

    async def blocked_frames(self):
        from aioquic.asyncio.client import connect
        from aioquic.asyncio.protocol import QuicConnectionProtocol
        from aioquic.h3.connection import H3_ALPN, H3Connection
        from aioquic.quic import connection as quic
        from aioquic.quic.configuration import QuicConfiguration

        count = 0
        configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN,
                                          server_name="localhost", max_stream_data=60_000,
                                          verify_mode=ssl.CERT_NONE)
        names = ("_handle_stream_data_blocked_frame", "_handle_data_blocked_frame")
        originals = {n: getattr(quic.QuicConnection, n) for n in names}

        def counting(name):
            def handle(self, *args, **kwargs):
                nonlocal count
                count += 1
                return originals[name](self, *args, **kwargs)
            return handle

        class Client(QuicConnectionProtocol):
            def quic_event_received(self, event):
                pass  # the frames are counted below the events

        async with connect("127.0.0.1", self.proxy.port, configuration=configuration,
                           create_protocol=Client) as client:
            # The client never gives more credit.
            client._quic._write_stream_limits = lambda *a, **k: None
            for frame, name in ((0x15, names[0]), (0x14, names[1])):
                handlers = client._quic._QuicConnection__frame_handlers
                _, epochs = handlers[frame]
                handlers[frame] = (lambda *a, n=name, **k: counting(n)(client._quic, *a, **k), epochs)
            h3 = H3Connection(client._quic)
            stream = client._quic.get_next_available_stream_id()
            h3.send_headers(stream, [(b":method", b"GET"), (b":scheme", b"https"),
                                     (b":authority", b"localhost"), (b":path", b"/file")],
                            end_stream=True)
            client.transmit()
            for _ in range(300):
                if count:
                    break
                await asyncio.sleep(0.05)
        return count


if __name__ == "__main__":
    harness.main()
