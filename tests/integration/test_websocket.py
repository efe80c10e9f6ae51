"""WebSocket and other upgrades from HTTP/1.1, 2 and 3 to a backend of HTTP/1.1 (P10; K41, K55)."""
# ctest: timeout=180

import base64
import contextlib
import hashlib
import os
import select
import signal
import socket
import struct
import threading

import harness
import websocket_clients as ws
from harness import ALL_VERSIONS

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept_of(head):
    key = next(line.split(b":")[1].strip() for line in head.split(b"\r\n")
               if line.lower().startswith(b"sec-websocket-key:"))
    return base64.b64encode(hashlib.sha1(key + GUID).digest())


class Case(harness.TestCase):
    def server(self, handle=None, **options):
        server = ws.Server(handle, **options)
        self.addCleanup(server.stop)
        return server

    def connect(self, edge, version, path="/ws", **options):
        client = ws.connect(edge, version, path, **options)
        self.addCleanup(client.close)
        return client

    def status(self, edge, version, path="/ws"):
        """Of an attempt that is to fail."""
        if version != "1.1":
            return self.connect(edge, version, path).status
        from websockets.exceptions import InvalidStatus
        with self.assertRaises(InvalidStatus) as caught:
            self.connect(edge, version, path)
        return caught.exception.response.status_code


class Echo(Case):
    def test_messages_both_ways_and_the_end(self):
        server = self.server()
        edge = self.edge(harness.pool(server.address) + harness.route())
        for version in ALL_VERSIONS:
            with self.subTest(version=version):
                client = self.connect(edge, version)
                self.assertEqual(client.status, 101 if version == "1.1" else 200)
                self.assertEqual(client.exchange("grüße"), "grüße")
                large = os.urandom(300_000)
                self.assertEqual(client.exchange(large), large)
                self.assertTrue(client.ping(b"still there?"))
                self.assertEqual(client.end(4001, "that is all"), (4001, "that is all"))
                # The key is a matter of HTTP/1.1 alone (RFC 8441 5).
                self.assertEqual("sec-websocket-accept" in client.fields, version == "1.1")
        harness.wait_for(lambda: len(server.closed) == 3, "the ends")
        self.assertEqual(server.closed, [(4001, "that is all")] * 3)
        for version, name in zip(ALL_VERSIONS, ("HTTP/1.1", "HTTP/2", "HTTP/3")):
            line = edge.wait_access(where=lambda r: r["http_version"] == name)[0]
            self.assertEqual(line["method"], "GET")
            self.assertEqual(line["status"], 101 if version == "1.1" else 200)
            self.assertGreater(line["bytes_in"], 300_000)
            self.assertGreater(line["bytes_out"], 300_000)
        metrics = edge.metrics()
        self.assertEqual(metrics['pqedge_tunnels_total{protocol="websocket"}'], 3)
        self.assertEqual(metrics['pqedge_tunnels{protocol="websocket"}'], 0)

    def test_what_the_backend_sees_and_answers(self):
        seen = []

        def handle(connection):
            seen.append(dict(connection.request.headers.raw_items()))
            ws.Server.echo(connection)

        server = self.server(handle, subprotocols=["graphql-ws", "chat"])
        edge = self.edge(harness.pool(server.address) + harness.route())
        for version in ALL_VERSIONS:
            with self.subTest(version=version):
                if version == "1.1":
                    client = self.connect(edge, version, "/ws?room=1", subprotocols=["chat"])
                else:
                    client = self.connect(edge, version, "/ws?room=1",
                                          fields=[("sec-websocket-protocol", "chat")])
                self.assertEqual(client.fields["sec-websocket-protocol"], "chat")
                self.assertEqual(client.exchange("hi"), "hi")
                head = {k.lower(): v for k, v in seen[-1].items()}
                self.assertEqual(head["upgrade"].lower(), "websocket")
                self.assertEqual(head["sec-websocket-version"], "13")
                self.assertEqual(len(base64.b64decode(head["sec-websocket-key"])), 16)
                self.assertIn("x-forwarded-for", head)
                client.end(1000, "")

    def test_a_backend_waits_for_a_client_that_does_not_read(self):
        size = 24 * 1024 * 1024
        stalled = threading.Event()
        sent = 0

        def backend(sock, _):
            nonlocal sent
            head, _ = harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                         b"Sec-WebSocket-Accept: " + accept_of(head) + b"\r\n\r\n"
                         + struct.pack(">BBQ", 0x82, 127, size))
            sock.setblocking(False)
            sent = 0
            piece = b"x" * 65536
            while sent < size:
                if not select.select([], [sock], [], 0.5)[1]:
                    stalled.set()
                    select.select([], [sock], [], harness.WAIT)
                with contextlib.suppress(BlockingIOError):
                    sent += sock.send(piece[: size - sent])
            sock.setblocking(True)
            sock.settimeout(harness.WAIT)
            sock.recv(1)

        edge = self.edge(harness.pool(self.backend(backend).address) + harness.route())
        for version in ("1.1", "2"):
            with self.subTest(version=version):
                stalled.clear()
                before = edge.memory_kib()
                if version == "1.1":
                    sock = edge.tls()
                    sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\n"
                                 b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                 b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
                else:
                    client = self.connect(edge, version)
                    client.credit = False
                self.assertTrue(stalled.wait(harness.WAIT))
                self.assertLess(sent, 12 * 1024 * 1024)
                self.assertLess(edge.memory_kib() - before, 16 * 1024)
                if version == "1.1":
                    status, fields, rest, _ = harness.read_response(sock)
                    self.assertEqual(status, 101)
                    # RFC 6455 1.3.
                    self.assertEqual(fields["sec-websocket-accept"],
                                     ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="])
                    got = len(rest) - 10
                    while got < size:
                        got += len(sock.recv(1 << 20))
                    sock.close()
                else:
                    session = client.session
                    client.credit = True
                    session.h2.acknowledge_received_data(65535, client.id)
                    session.flush()
                    session.wait(lambda: client.frames.messages)
                    self.assertEqual(len(client.frames.messages[0]), size)


class Refusals(Case):
    def test_a_wrong_accept_is_502(self):  # K55
        def backend(sock, _):
            reader = harness.RequestReader(sock)
            reader.read()
            sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                         b"Connection: Upgrade\r\nSec-WebSocket-Accept: "
                         + base64.b64encode(b"x" * 20) + b"\r\n\r\n")
            sock.recv(1)

        edge = self.edge(harness.pool(self.backend(backend).address) + harness.route())
        for version in ALL_VERSIONS:
            with self.subTest(version=version):
                self.assertEqual(self.status(edge, version), 502)
        self.assertEqual(len(edge.wait_access(
            3, where=lambda r: "does not fit the key" in r.get("reason", ""))), 3)

    def test_a_right_accept_by_hand(self):
        def backend(sock, _):
            head, _ = harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\n"
                         b"connection: keep-alive, upgrade\r\nsec-websocket-accept: "
                         + accept_of(head) + b"\r\n\r\n\x81\x05hello")
            while sock.recv(65536):
                pass

        edge = self.edge(harness.pool(self.backend(backend).address) + harness.route())
        for version in ALL_VERSIONS:
            with self.subTest(version=version):
                client = self.connect(edge, version)
                if version == "1.1":
                    self.assertEqual(client.connection.recv(harness.WAIT), "hello")
                else:
                    client.session.wait(lambda: client.frames.messages == ["hello"])

    def test_an_unknown_protocol_is_501(self):  # K55
        origin = self.echo()
        edge = self.edge(harness.pool(origin.address) + harness.route())
        for session in (ws.H2Session(edge), ws.H3Session(edge)):
            self.addCleanup(session.close)
            self.assertTrue(session.offers_connect())
            self.assertEqual(session.open("/x", protocol="connect-tea").status, 501)
        self.assertEqual(origin.requests, [])
        # In HTTP/1.1 a server is free to ignore it.
        sock = edge.tls()
        sock.sendall(b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\n"
                     b"Upgrade: connect-tea\r\n\r\n")
        status, _, body, _ = harness.read_response(sock)
        self.assertEqual(status, 200)
        self.assertNotIn(b"upgrade", body.lower())
        sock.sendall(b"GET /y HTTP/1.1\r\nHost: localhost\r\n\r\n")  # the connection goes on
        self.assertIn(b"GET /y ", harness.read_response(sock)[2])
        sock.close()

    def test_not_offered_where_no_route_maps_it(self):  # K55
        server = self.server()
        edge = self.edge(harness.pool(server.address) + harness.route(upgrades=[]))
        for session in (ws.H2Session(edge), ws.H3Session(edge)):
            self.addCleanup(session.close)
            self.assertFalse(session.offers_connect())
        self.assertEqual(self.status(edge, "1.1"), 426)  # the backend's: it saw no Upgrade
        self.assertEqual(server.opened, 0)
        # The same look where a route does: it would see it.
        edge.write_config(harness.pool(server.address) + harness.route())
        self.assertEqual(edge.reload()[0], 200)
        for session in (ws.H2Session(edge), ws.H3Session(edge)):
            self.addCleanup(session.close)
            self.assertTrue(session.offers_connect())

    def test_a_route_without_it_beside_one_with(self):
        server = self.server()
        edge = self.edge(harness.pool(server.address) + harness.route() +
                         harness.route(name="none", path="/none", upgrades=[]))
        for version in ("2", "3"):
            self.assertEqual(self.status(edge, version, "/none"), 501)
            self.assertEqual(self.connect(edge, version).exchange("on"), "on")

    def test_other_answers(self):
        def backend(sock, _):
            reader = harness.RequestReader(sock)
            while (request := reader.read()) is not None:
                text = b"no"
                status = request[0].split()[1].rpartition(b"/")[2]
                sock.sendall(b"HTTP/1.1 " + status + b" X\r\nContent-Length: 2\r\n\r\n" + text)

        backend = self.backend(backend)
        edge = self.edge(harness.pool(backend.address) + harness.route())
        for version in ALL_VERSIONS:
            with self.subTest(version=version):
                for status in (401, 404, 503, 302):
                    self.assertEqual(self.status(edge, version, f"/{status}"), status)
                # 2xx would be the tunnel itself in HTTP/2 and 3.
                self.assertEqual(self.status(edge, version, "/200"),
                                 200 if version == "1.1" else 502)
        self.assertEqual(backend.connections, 2)  # kept, but for answers that were refused

    def test_another_protocol_than_asked_for(self):
        def backend(sock, _):
            head, _ = harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n"
                         b"Sec-WebSocket-Accept: " + accept_of(head) + b"\r\n\r\n")
            sock.recv(1)

        edge = self.edge(harness.pool(self.backend(backend).address) + harness.route())
        for version in ALL_VERSIONS:
            with self.subTest(version=version):
                self.assertEqual(self.status(edge, version), 502)

    def test_h2c_never_passes(self):
        origin = self.echo()
        edge = self.edge(harness.pool(origin.address) + harness.route())
        sock = edge.tls()
        sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                     b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")
        status, _, body, _ = harness.read_response(sock)
        self.assertEqual(status, 200)
        self.assertNotIn(b"h2c", body)
        self.assertNotIn(b"http2-settings", body.lower())
        sock.close()

    def test_wrong_settings_are_refused(self):
        directory = self.directory
        for keys, what in (('upgrades = ["h2c"]', "cannot be passed on"),
                           ('upgrades = ["web socket"]', "no name of a protocol"),
                           ('tunnel_timeout = "1ms"', "tunnel_timeout"),
                           ('upgrades = ["tcp"]\nconnect = ["a.test:1"]', "no effect beside")):
            path = directory / "bad.toml"
            path.write_text('version = 1\n[[listener]]\naddress = "127.0.0.1:1"\ntls = false\n'
                            + harness.pool("127.0.0.1:9") + harness.route() + keys + "\n")
            done = harness.run(harness.PQEDGE, "check", path)
            self.assertNotEqual(done.returncode, 0)
            text = (done.stdout + done.stderr).decode()
            self.assertIn(what, text)
            self.assertRegex(text, r"bad\.toml:\d+:\d+")


class Ends(Case):
    def test_another_upgrade_is_bytes(self):
        def backend(sock, _):
            head, _ = harness.RequestReader(sock).read()
            assert b"upgrade: tcp" in head.lower(), head
            sock.sendall(b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.raw-stream\r\n"
                         b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
            data = b""
            while len(data) < 12:
                data += sock.recv(65536)
            sock.sendall(data[::-1])

        edge = self.edge(harness.pool(self.backend(backend).address) +
                         harness.route(upgrades=["websocket", "tcp"]))
        sock = edge.tls()
        # The first bytes come before the answer does.
        sock.sendall(b"POST /attach HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
                     b"Upgrade: tcp\r\nContent-Length: 0\r\n\r\nfirst,")
        status, fields, rest, _ = harness.read_response(sock)
        self.assertEqual((status, fields["upgrade"]), (101, ["tcp"]))
        sock.sendall(b"second")
        while more := sock.recv(65536):  # to the backend's end
            rest += more
        self.assertEqual(rest, b"dnoces,tsrif")
        sock.close()
        line = edge.wait_access(where=lambda r: r["path"] == "/attach")[0]
        self.assertEqual(line["status"], 101)
        self.assertEqual(line["bytes_in"] > 0, True)

    def test_half_closed_in_plain_text(self):
        def backend(sock, _):
            harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
            data = b""
            while more := sock.recv(65536):
                data += more
            sock.sendall(b"%d bytes" % len(data))

        port = harness.free_port()
        edge = self.edge(f'[[listener]]\nname = "plain"\naddress = "127.0.0.1:{port}"\n'
                         'tls = false\nprotocols = ["http/1.1"]\n' +
                         harness.pool(self.backend(backend).address) +
                         harness.route(upgrades=["tcp"]))
        self.assertTrue(edge.alive())
        with socket.create_connection(("127.0.0.1", port), timeout=harness.WAIT) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\n"
                         b"Upgrade: tcp\r\n\r\n")
            self.assertEqual(harness.read_response(sock)[0], 101)
            sender = threading.Thread(
                target=lambda: (sock.sendall(b"x" * 3_000_000), sock.shutdown(socket.SHUT_WR)))
            sender.start()
            answer = b""
            while more := sock.recv(65536):
                answer += more
            sender.join()
            self.assertEqual(answer, b"3000000 bytes")

    def test_a_silent_tunnel_ends(self):
        server = self.server()
        edge = self.edge(harness.pool(server.address) + harness.route(tunnel_timeout="1s"))
        clients = {v: self.connect(edge, v) for v in ALL_VERSIONS}
        for version, client in clients.items():
            self.assertEqual(client.exchange("here"), "here")
        edge.wait_access(3, where=lambda r: "silent" in r.get("reason", ""))
        for version in ("2", "3"):
            client = clients[version]
            client.session.wait(lambda: client.reset is not None)
        harness.wait_for(lambda: len(server.closed) == 3, "the backend to see the end")

    def test_a_client_that_vanishes(self):
        server = self.server()
        edge = self.edge(harness.pool(server.address) + harness.route())
        for i, version in enumerate(ALL_VERSIONS):
            client = self.connect(edge, version)
            self.assertEqual(client.exchange("x"), "x")
            client.cut()
            harness.wait_for(lambda: len(server.closed) == i + 1, "the backend to see the end")
        harness.wait_for(lambda: edge.metrics()['pqedge_tunnels{protocol="websocket"}'] == 0,
                         "no tunnel left")

    def test_a_backend_that_breaks_off(self):
        def backend(sock, _):
            head, _ = harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                         b"Sec-WebSocket-Accept: " + accept_of(head) + b"\r\n\r\n")
            sock.recv(65536)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        edge = self.edge(harness.pool(self.backend(backend).address) + harness.route())
        # RFC 8441 5, RFC 9220 3: CANCEL, H3_REQUEST_CANCELLED.
        for version, code in (("2", 0x8), ("3", 0x10C)):
            client = self.connect(edge, version)
            client.send(client.frames.text("die"))
            client.session.wait(lambda: client.reset is not None)
            self.assertEqual(client.reset, code)
        from websockets.exceptions import ConnectionClosedError
        client = self.connect(edge, "1.1")
        client.connection.send("die")
        with self.assertRaises(ConnectionClosedError):
            client.connection.recv(harness.WAIT)


class Recipe(Case):
    def test_the_recipe(self):
        text = (harness.SOURCE / "docs" / "recipes" / "websocket.md").read_text()
        server = self.server()
        toml = text.split("```toml")[1].split("```")[0].replace("127.0.0.1:9000", server.address)
        edge = self.edge(toml)
        for version in ALL_VERSIONS:
            self.assertEqual(self.connect(edge, version, "/chat").exchange("hi"), "hi")
        self.assertEqual(self.status(edge, "2", "/elsewhere"), 501)
        self.assertEqual(edge.metrics()['pqedge_tunnels_total{protocol="websocket"}'], 3)


class Reload(Case):
    def test_none_ends_when_routes_are_added(self):  # K41
        server = self.server()
        first = harness.pool(server.address) + harness.route(name="a", path="/ws")
        edge = self.edge(first, workers=2)
        tunnels = [self.connect(edge, "1.1") for _ in range(60)]
        for _ in range(5):
            two, three = ws.H2Session(edge), ws.H3Session(edge)
            self.addCleanup(two.close)
            self.addCleanup(three.close)
            tunnels += [two.open() for _ in range(14)] + [three.open() for _ in range(14)]
        self.assertEqual(len(tunnels), 200)
        added = first
        for i in range(20):
            added += harness.route(name=f"b{i}", path=f"/b/{i}")
            edge.write_config(added)
            if i % 2 == 0:
                status, text = edge.reload()
                self.assertEqual(status, 200, text)
            else:
                edge.send_signal(signal.SIGHUP)
                harness.wait_for(lambda: edge.get(f"/b/{i}", http="1.1")[0] == 426, "the new route")
        self.assertEqual(server.closed, [])
        for i, tunnel in enumerate(tunnels):
            self.assertEqual(tunnel.exchange(f"still {i}"), f"still {i}")
        self.assertEqual(edge.metrics()['pqedge_tunnels{protocol="websocket"}'], 200)


if __name__ == "__main__":
    harness.main()
