"""HTTP/2 clients that mean harm, in raw frames (P2, S7; K29 and its kin)."""

import socket
import ssl
import struct

import hpack

import harness

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
PROTOCOL_ERROR, ENHANCE_YOUR_CALM = 1, 11


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + \
        struct.pack(">I", stream) + payload


class Client:
    def __init__(self, edge, window=None):
        self.sock = edge.tls(alpn=("h2",))
        settings = b"" if window is None else struct.pack(">HI", 4, window)
        self.sock.sendall(PREFACE + frame(SETTINGS, payload=settings))
        self.encoder = hpack.Encoder()
        self.data = b""

    def request(self, stream, fields=(), end=True, method="GET"):
        block = self.encoder.encode([(":method", method), (":scheme", "https"), (":path", "/"),
                                     (":authority", "a.test"), *fields])
        return frame(HEADERS, 4 | (1 if end else 0), stream, block)

    def send(self, data):
        """False when the edge has ended the connection."""
        try:
            self.sock.sendall(data)
            return True
        except OSError:
            return False

    def frames_until_end(self):
        """(kind, flags, stream, payload) of all that comes until the edge ends the connection."""
        frames = []
        try:
            while more := self.sock.recv(65536):
                self.data += more
        except (ConnectionError, ssl.SSLError):
            pass
        while len(self.data) >= 9:
            size = int.from_bytes(self.data[:3], "big")
            kind, flags = self.data[3], self.data[4]
            stream = int.from_bytes(self.data[5:9], "big") & 0x7FFFFFFF
            frames.append((kind, flags, stream, self.data[9 : 9 + size]))
            self.data = self.data[9 + size :]
        return frames


class Floods(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route())

    def calmed(self, client, expected=(ENHANCE_YOUR_CALM,)):
        """The connection was ended with GOAWAY of such a code or cut, and others are served."""
        goaways = [f for f in client.frames_until_end() if f[0] == GOAWAY]
        codes = [int.from_bytes(g[3][4:8], "big") for g in goaways]
        self.assertTrue(not codes or set(codes) & set(expected), codes)
        self.assertEqual(self.proxy.get("/")[0], 200)
        self.assertGreater(self.proxy.metric("pqedge_http2_"), 0)

    def flood(self, make, count=50_000, before=b""):
        client = Client(self.proxy)
        client.send(before)
        sent = 0
        while sent < count and client.send(b"".join(make(i) for i in range(sent, sent + 500))):
            sent += 500
        self.calmed(client)

    def test_rapid_reset(self):
        # CVE-2023-44487.
        client = Client(self.proxy)
        stream = 1
        for _ in range(200):
            batch = b""
            for _ in range(100):
                batch += client.request(stream) + frame(RST_STREAM, 0, stream, struct.pack(">I", 8))
                stream += 2
            if not client.send(batch):
                break
        self.calmed(client)
        # Most of it never became work for a backend.
        self.assertLess(len(self.origin.requests), 5000)

    def test_resets_that_the_client_provokes(self):
        # CVE-2025-8671: each stream is broken by the client so that the server resets it.
        client = Client(self.proxy)
        stream = 1
        for _ in range(200):
            batch = b""
            for _ in range(100):
                batch += client.request(stream, end=True) + \
                    frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 0))
                stream += 2
            if not client.send(batch):
                break
        # An increment of 0 may end the whole connection at once (RFC 9113 6.9).
        self.calmed(client, (ENHANCE_YOUR_CALM, PROTOCOL_ERROR))

    def test_pings(self):
        self.flood(lambda i: frame(PING, payload=struct.pack(">Q", i)))

    def test_settings(self):
        self.flood(lambda i: frame(SETTINGS, payload=struct.pack(">HI", 4, 65535 + i % 2)))

    def test_empty_data(self):
        client = Client(self.proxy)
        client.send(client.request(1, end=False, method="POST"))
        while client.send(frame(DATA, 0, 1) * 1000):
            pass
        self.calmed(client)

    def test_continuations(self):
        # CVE-2024-24549 and others: a header block without end.
        client = Client(self.proxy)
        client.send(frame(HEADERS, 0, 1, client.encoder.encode([(":method", "GET")])))
        block = hpack.Encoder().encode([("x", "y" * 10)])
        while client.send(frame(CONTINUATION, 0, 1, block) * 500):
            pass
        self.calmed(client)

    def test_header_bomb(self):
        # K29: one field in the dynamic table, then one-byte references to it; streams held open
        # behind a zero window. 32 bytes are counted for each reference (RFC 9113 6.5.2).
        base = self.proxy.memory_kib()
        clients = []
        for _ in range(10):
            client = Client(self.proxy, window=0)
            clients.append(client)
            value = "a" * 3900
            client.send(client.request(1, [("x-bomb", value)]))
            bomb = client.encoder.encode([(":method", "GET"), (":scheme", "https"), (":path", "/"),
                                          (":authority", "a.test")])
            reference = hpack.Encoder()
            for stream in range(3, 203, 2):
                block = bomb + b"\xbe" * 16_000
                if not client.send(frame(HEADERS, 5, stream, block[:16384])):
                    break
        self.assertEqual(self.proxy.get("/")[0], 200)
        self.assertLess(self.proxy.memory_kib() - base, 100 * 1024 * harness.SLOW)
        for client in clients:
            client.sock.close()

    def test_cookie_crumbs_are_counted(self):
        client = Client(self.proxy)
        client.send(client.request(1, [("cookie", f"c{i}=1") for i in range(500)]))
        client.send(client.request(3) + frame(GOAWAY, payload=struct.pack(">II", 0, 0)))
        frames = client.frames_until_end()
        decoder = hpack.Decoder()
        statuses = {}
        for kind, _, stream, payload in frames:
            if kind == HEADERS:
                statuses[stream] = dict(decoder.decode(payload))[":status"]
        self.assertEqual(statuses.get(1), "431")
        self.assertEqual(statuses.get(3), "200")

    def test_large_head_is_431_with_a_line(self):
        # K32: not a bare reset.
        self.proxy.write_config(harness.pool(self.origin.address) + harness.route() +
                                '[limits]\nmax_head = "16KiB"\n')
        self.assertEqual(self.proxy.reload()[0], 200)
        big = self.directory / "big.txt"
        big.write_text("X-Big: " + "b" * 30_000)
        for n, http in enumerate(harness.ALL_VERSIONS, 1):
            with self.subTest(http=http):
                status, _, _ = self.proxy.get("/", "-H", f"@{big}", http=http)
                self.assertEqual(status, 431)
                record = self.proxy.wait_access(n)[-1]
                self.assertEqual(record["status"], 431)
                self.assertTrue(record["reason"])

    def test_streams_behind_a_zero_window_are_reaped(self):
        self.proxy.write_config(harness.pool(self.origin.address) + harness.route() +
                                '[timeouts]\nsend = "1s"\n')
        self.assertEqual(self.proxy.reload()[0], 200)
        client = Client(self.proxy, window=0)
        client.send(b"".join(client.request(s) for s in range(1, 41, 2)))
        records = self.proxy.wait_access(20)
        self.assertTrue(all(r["reason"] for r in records))
        client.sock.close()

    def test_a_window_of_one_byte_and_many_answers(self):
        base = self.proxy.memory_kib()
        client = Client(self.proxy, window=1)
        client.send(b"".join(client.request(s) for s in range(1, 201, 2)))
        self.assertEqual(self.proxy.get("/")[0], 200)
        self.assertLess(self.proxy.memory_kib() - base, 50 * 1024 * harness.SLOW)
        client.sock.close()


if __name__ == "__main__":
    harness.main()
