"""QUIC passed on by the name in its hello (T13, K26): any number and order of Initial packets."""

# ctest: timeout=300

import asyncio
import contextlib
import hashlib
import itertools
import os
import socket
import ssl
import struct
import threading

import harness
from relay import Relay

HYBRID = "X25519MLKEM768"
AT_ONCE = 'drain_timeout = "50ms"\ndrain_linger = "0ms"\n'
TWO_SHARES = "*X25519MLKEM768:*SecP384r1MLKEM1024"  # a hello above 3 KB: three Initials


def bind():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", 0))
    s.settimeout(harness.WAIT)
    return s


def first_flight(name, curves, count):
    """The first `count` datagrams of a real client, curl, that gets no answer."""
    with bind() as sock:
        port = sock.getsockname()[1]
        client = harness.Process(
            ["curl", "-sk", "--http3-only", "--curves", curves, "--resolve",
             f"{name}:{port}:127.0.0.1", f"https://{name}:{port}/"], os.devnull)
        try:
            return [sock.recv(65536) for _ in range(count)]
        finally:
            client.kill()


def destination(datagram):
    return datagram[6 : 6 + datagram[5]]


class UdpRecorder:
    """A server that never answers, or with `answer(data)`: what came, by the peer's address."""

    def __init__(self, answer=None):
        self.sock = bind()
        self.sock.settimeout(0.05)
        self.address = "127.0.0.1:%d" % self.sock.getsockname()[1]
        self.seen = {}
        self.answer = answer
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._end.is_set():
            with contextlib.suppress(TimeoutError, ConnectionRefusedError):
                data, peer = self.sock.recvfrom(65536)
                self.seen.setdefault(peer, []).append(data)
                if self.answer:
                    self.sock.sendto(self.answer(data), peer)

    def flows(self):
        return list(self.seen.values())

    def stop(self):
        self._end.set()
        self._thread.join()
        self.sock.close()


class QuicPassthrough(harness.TestCase):
    def subdirectory(self, name):
        d = self.directory / name
        d.mkdir()
        return d

    def site(self, name, extra="", size=0, root=None):
        """An edge with a certificate of its own that answers `name` in HTTP/3."""
        toml = extra
        if root is not None:
            toml += harness.pool(root) + harness.route()
        else:
            toml += f'[[route]]\nname = "who"\nstatus = 200\nbody = "{name}"\n'
        edge = harness.Edge(self.subdirectory(name), toml, names=(name,))
        self.addCleanup(self._end_edge, edge)
        return edge

    def recorder(self, **kwargs):
        r = UdpRecorder(**kwargs)
        self.addCleanup(r.stop)
        return r

    def front(self, sites, extra="", workers=1, pool_settings="", passthrough="",
              directory="front", **kwargs):
        """`sites`: name -> address. Other names are answered by the front itself."""
        toml = '[[route]]\nname = "front"\nstatus = 200\nbody = "front"\n' + extra
        for i, (name, address) in enumerate(sites.items()):
            addresses = address if isinstance(address, str) else '", "'.join(address)
            toml += (f'[[pool]]\nname = "p{i}"\nservers = ["{addresses}"]\n{pool_settings}\n'
                     f'[[passthrough]]\nname = "s{i}"\nhosts = ["{name}"]\npool = "p{i}"\n'
                     f'{passthrough}\n')
        # The end of a flow cannot be seen: at shutdown they are cut.
        self.proxy = harness.Edge(self.subdirectory(directory), toml, workers=workers,
                                  server_toml=AT_ONCE, **kwargs)
        self.addCleanup(self._end_edge, self.proxy)
        return self.proxy

    def relay(self, **kwargs):
        r = Relay(self.proxy.port, **kwargs)
        self.addCleanup(r.stop)
        return r

    def get(self, name, edge, *args, relay=None, path="/", limit=40):
        """curl --http3-only to `name` at the front; the certificate is `edge`'s."""
        port = relay.port if relay else self.proxy.port
        return harness.run(
            "curl", "-sS", "--http3-only", "--cacert", edge.certificate.chain, "--max-time",
            str(int(limit * harness.SLOW)), "--resolve", f"{name}:{port}:127.0.0.1", *args,
            f"https://{name}:{port}{path}")

    def expect(self, who, name, edge, *args, **kwargs):
        done = self.get(name, edge, *args, **kwargs)
        self.assertEqual((done.returncode, done.stdout.decode()), (0, who),
                         done.stderr.decode() + self.proxy.log()[-1500:])

    # ---- K26 -------------------------------------------------------------------------------------

    def test_two_sites_and_the_front(self):
        a, b = self.site("a.test"), self.site("b.test")
        front = self.front({"a.test": f"127.0.0.1:{a.port}", "b.test": f"127.0.0.1:{b.port}"},
                           workers=4)
        for curves in ("X25519", HYBRID, TWO_SHARES):
            with self.subTest(curves):
                self.expect("a.test", "a.test", a, "--curves", curves)
                self.expect("b.test", "b.test", b, "--curves", curves)
                self.expect("front", "localhost", front, "--curves", curves)
        # The same names over TCP, and each site with its own certificate.
        for name, edge in (("a.test", a), ("b.test", b)):
            done = harness.run("curl", "-sS", "--cacert", edge.certificate.chain, "--resolve",
                               f"{name}:{front.port}:127.0.0.1", f"https://{name}:{front.port}/")
            self.assertEqual(done.stdout.decode(), name, done.stderr.decode())
        passed = 'pqedge_passthrough_quic_hellos_total{outcome="passed_on"}'
        self.assertEqual(front.metrics()[passed], 6)

    def test_any_order_of_the_initials(self):
        # Three real Initials in every order, each also doubled: passed on whole.
        flight = first_flight("a.test", TWO_SHARES, 3)
        self.assertEqual(len({destination(d) for d in flight}), 1)
        server = self.recorder()
        self.front({"a.test": server.address})
        orders = list(itertools.permutations(flight))
        orders += [[d for d in order for _ in range(2)] for order in itertools.permutations(flight)]
        with contextlib.ExitStack() as stack:
            for order in orders:
                sock = stack.enter_context(bind())
                for d in order:
                    sock.sendto(d, ("127.0.0.1", self.proxy.port))
            harness.wait_for(lambda: len(server.seen) == len(orders) and sorted(
                len(f) for f in server.flows()) == [3] * 6 + [6] * 6, "every datagram")
        for flow in server.flows():
            self.assertEqual(set(flow), set(flight))

    def test_any_order_that_is_terminated(self):
        # Beside a passthrough, and without one. The client never sends anything again.
        for number, sites in enumerate(({"a.test": "127.0.0.1:1"}, {})):
            self.front(sites, directory=f"front-{number}")
            for order in itertools.permutations(range(3)):
                flight = first_flight("localhost", TWO_SHARES, 3)  # with an ID of its own
                with self.subTest(order=order, sites=sites), bind() as sock:
                    for i in order:
                        sock.sendto(flight[i], ("127.0.0.1", self.proxy.port))
                    # A ServerHello needs the whole hello: a Handshake packet follows it.
                    answer = b""
                    while not (answer and self.has_handshake(answer)):
                        answer = sock.recv(65536)

    @staticmethod
    def has_handshake(datagram):
        """Whether one of the long-header packets of the datagram is of type Handshake."""
        def varint(at):
            n = 1 << (datagram[at] >> 6)
            return int.from_bytes(datagram[at : at + n], "big") & ((1 << (8 * n - 2)) - 1), at + n

        at = 0
        while at + 7 < len(datagram) and datagram[at] & 0x80:
            kind = datagram[at] >> 4 & 3
            if kind == 2:
                return True
            i = at + 5
            i += 1 + datagram[i]
            i += 1 + datagram[i]
            if kind == 0:
                token, i = varint(i)
                i += token
            length, i = varint(i)
            at = i + length
        return False

    def test_shuffled_and_doubled_on_the_way(self):
        a = self.site("a.test")
        front = self.front({"a.test": f"127.0.0.1:{a.port}"})
        for name, edge, who in (("a.test", a, "a.test"), ("localhost", front, "front")):
            for order in ((1, 0), (1, 0, 1, 0), (0, 0, 1, 1)):
                held, done = [], []

                def shuffle(datagrams):
                    if done:
                        return datagrams
                    held.extend(datagrams)
                    if len(held) < 2:
                        return []
                    done.append(True)
                    return [held[i] for i in order]

                with self.subTest(name=name, order=order):
                    self.expect(who, name, edge, "--curves", HYBRID,
                                relay=self.relay(to_server=shuffle))

    def test_early_data_that_overtakes_the_hello(self):
        flight = first_flight("a.test", HYBRID, 2)
        server = self.recorder()
        self.front({"a.test": server.address})
        ids = flight[0][5 : 7 + flight[0][5]]
        ids += flight[0][len(ids) + 5 : len(ids) + 5 + flight[0][5 + 1 + flight[0][5]]]
        early = b"\xd0\0\0\0\1" + ids + b"\x40\x64" + bytes(100)
        with bind() as sock:
            for d in (early, flight[1], flight[0]):
                sock.sendto(d, ("127.0.0.1", self.proxy.port))
            harness.wait_for(lambda: server.flows() and len(server.flows()[0]) == 3, "all three")
        self.assertEqual(server.flows()[0], [flight[1], flight[0], early])

    def test_noise_is_dropped(self):
        flight = first_flight("a.test", HYBRID, 2)
        server = self.recorder()
        self.front({"a.test": server.address})
        damaged = bytearray(flight[0])
        damaged[-1] ^= 1
        with bind() as sock:
            for d in (bytes(damaged), flight[0][:1100], flight[0], flight[1]):
                sock.sendto(d, ("127.0.0.1", self.proxy.port))
            harness.wait_for(lambda: server.flows() and len(server.flows()[0]) == 2, "the flight")
        self.assertEqual(server.flows()[0], flight)

    # ---- Retry -----------------------------------------------------------------------------------

    def retries_seen(self, name, edge, who):
        seen = []
        relay = self.relay(to_client=lambda d: (seen.extend(d), d)[1])
        self.expect(who, name, edge, "--curves", HYBRID, relay=relay)
        return [d for d in seen if d[0] & 0xF0 == 0xF0]

    def test_our_retry_is_for_our_names(self):
        a = self.site("a.test")
        b = self.site("b.test", '[quic]\nretry = "always"\n')
        front = self.front({"a.test": f"127.0.0.1:{a.port}", "b.test": f"127.0.0.1:{b.port}"},
                           '[quic]\nretry = "always"\n')
        self.assertEqual(self.retries_seen("a.test", a, "a.test"), [])
        self.assertTrue(self.retries_seen("localhost", front, "front"))
        before = front.metric('pqedge_quic_stateless_answers_total{kind="retry"')
        self.assertTrue(self.retries_seen("b.test", b, "b.test"))  # the site's own
        self.assertEqual(front.metric('pqedge_quic_stateless_answers_total{kind="retry"'), before)

    # ---- the other server, and none --------------------------------------------------------------

    def test_a_server_that_is_not_there(self):
        a = self.site("a.test")
        dead = harness.free_port()
        self.front({"a.test": [f"127.0.0.1:{dead}", f"127.0.0.1:{a.port}"],
                    "b.test": f"127.0.0.1:{dead}"})
        for _ in range(4):
            self.expect("a.test", "a.test", a, "--curves", HYBRID)
        # ICMP told the edge; it tells the client at once, which curl would take for a restart.
        self.assertEqual(asyncio.run(self.closed_with("b.test")), [2])  # CONNECTION_REFUSED
        line = self.proxy.wait_access(where=lambda r: r["sni"] == "b.test")[0]
        self.assertIn("refused", line["reason"])
        self.assertEqual(line["http_version"], "passthrough/udp")

    async def closed_with(self, name):
        from aioquic.asyncio.client import connect
        from aioquic.asyncio.protocol import QuicConnectionProtocol
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.events import ConnectionTerminated

        codes = []

        class Client(QuicConnectionProtocol):
            def quic_event_received(self, event):
                if isinstance(event, ConnectionTerminated):
                    codes.append(event.error_code)

        configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name=name,
                                          verify_mode=ssl.CERT_NONE)
        with contextlib.suppress(ConnectionError):
            async with connect("127.0.0.1", self.proxy.port, configuration=configuration,
                               create_protocol=Client):
                pass
        return codes

    def test_proxy_header_before_the_first_datagram(self):
        flight = first_flight("a.test", HYBRID, 2)
        server = self.recorder(answer=lambda data: b"\x40" + b"answer" * 5)
        front = self.front({"a.test": server.address}, pool_settings='send_proxy = "v2"')
        with bind() as sock:
            for d in flight:
                sock.sendto(d, ("127.0.0.1", front.port))
            self.assertTrue(sock.recv(100).startswith(b"\x40answer"))
            sock.sendto(b"\x40" + bytes(40), ("127.0.0.1", front.port))
            harness.wait_for(lambda: len(server.flows()[0]) == 3, "all three")
            port = sock.getsockname()[1]
        first, second, third = server.flows()[0]
        self.assertEqual(first[:12], b"\r\n\r\n\0\r\nQUIT\n")
        self.assertEqual(first[12:14], b"\x21\x12")  # PROXY, UDP over IPv4
        size = 16 + struct.unpack(">H", first[14:16])[0]
        self.assertEqual(first[16:28], socket.inet_aton("127.0.0.1") * 2 +
                         struct.pack(">HH", port, front.port))
        self.assertIn(b"\x02\x00\x06a.test", first[28:size])  # PP2_TYPE_AUTHORITY
        self.assertEqual((first[size:], second, third), (*flight, b"\x40" + bytes(40)))

    # ---- long connections ------------------------------------------------------------------------

    def test_transfers_and_a_reload(self):
        origin = self.nginx(server="location /up/ { dav_methods PUT; }")
        (origin.root / "up").mkdir()
        blob = os.urandom(12_000_000)
        (origin.root / "file").write_bytes(blob)
        a = self.site("a.test", root=origin.address)
        front = self.front({"a.test": f"127.0.0.1:{a.port}"}, workers=2)
        relay = self.relay()
        out = self.directory / "out"
        client = harness.Process(
            ["curl", "-sS", "--http3-only", "--cacert", a.certificate.chain, "--limit-rate", "6M",
             "--resolve", f"a.test:{relay.port}:127.0.0.1", "-o", out,
             f"https://a.test:{relay.port}/file"], self.directory / "curl.log")
        self.addCleanup(client.kill)
        harness.wait_for(lambda: out.exists() and out.stat().st_size > 500_000, "the transfer")
        # The name is passed on no more: what runs goes on.
        text = front.config_path.read_text().replace('hosts = ["a.test"]', 'hosts = ["z.test"]')
        front.config_path.write_text(text)
        self.assertEqual(front.reload()[0], 200)
        self.assertEqual(client.process.wait(harness.WAIT * 2), 0, client.log())
        self.assertEqual(hashlib.sha256(out.read_bytes()).digest(), hashlib.sha256(blob).digest())
        front.config_path.write_text(text.replace("z.test", "a.test"))
        self.assertEqual(front.reload()[0], 200)
        up = self.directory / "up"
        up.write_bytes(blob[:5_000_000])
        done = self.get("a.test", a, "-T", up, "-o", os.devnull, path="/up/x")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual((origin.root / "up/x").read_bytes(), blob[:5_000_000])

    def test_idle_flows_end(self):
        a = self.site("a.test")
        front = self.front({"a.test": f"127.0.0.1:{a.port}"}, passthrough='quic_idle_timeout = "1s"')
        self.expect("a.test", "a.test", a)
        line = front.wait_access(where=lambda r: r["sni"] == "a.test")[0]
        self.assertEqual((line["reason"], line["route"], line["backend"]),
                         ("idle timeout", "s0", f"127.0.0.1:{a.port}"))
        self.assertGreater(line["bytes_in"], 1200)
        self.assertGreater(line["bytes_out"], 1200)
        gauge = 'pqedge_passthrough_connections{passthrough="s0",transport="udp"}'
        self.assertEqual(front.metrics()[gauge], 0)

    # ---- a client whose address changes ------------------------------------------------------------

    def aioquic_site(self, prefix=b"", version2=False):
        """An aioquic server in a process of its own; its connection IDs begin with `prefix`."""
        certificate = harness.Certificate(self.directory, ("a.test",), stem="aioquic")
        port = harness.free_port()
        script = self.directory / "site.py"
        script.write_text(f"""
import asyncio, os, ssl
import aioquic.quic.connection as connection
from aioquic.asyncio import serve
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived
from aioquic.quic.packet import QuicProtocolVersion

prefix = {prefix!r}

class Os:
    def __getattr__(self, name):
        return getattr(os, name)
    def urandom(self, n):
        return (prefix + os.urandom(n))[:n] if n == 11 else os.urandom(n)

connection.os = Os()

class Echo(QuicConnectionProtocol):
    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self._quic.send_stream_data(event.stream_id, event.data, event.end_stream)
            self.transmit()

async def main():
    c = QuicConfiguration(is_client=False, alpn_protocols=["echo"], connection_id_length=11)
    if {version2}:
        c.supported_versions = [QuicProtocolVersion.VERSION_2]
    c.load_cert_chain({str(certificate.chain)!r}, {str(certificate.key)!r})
    await serve("127.0.0.1", {port}, configuration=c, create_protocol=Echo)
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
""")
        server = harness.Process(["/usr/bin/python3", script], self.directory / "site.log")
        self.addCleanup(server.kill)

        def ready():
            self.assertTrue(server.alive(), server.log())
            return "ready" in server.log()

        harness.wait_for(ready, "the aioquic server")
        return f"127.0.0.1:{port}"

    async def echo_rounds(self, port, between, version2=False):
        """Two rounds over one connection, with between() after the first; False: no answer."""
        from aioquic.asyncio.client import connect
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.packet import QuicProtocolVersion

        configuration = QuicConfiguration(is_client=True, alpn_protocols=["echo"],
                                          server_name="a.test", verify_mode=ssl.CERT_NONE)
        if version2:
            configuration.supported_versions = [QuicProtocolVersion.VERSION_2]
            configuration.original_version = QuicProtocolVersion.VERSION_2
        async with connect("127.0.0.1", port, configuration=configuration) as client:
            async def round_trip(data):
                reader, writer = await client.create_stream()
                writer.write(data)
                writer.write_eof()
                return await reader.read()

            assert await round_trip(b"one" * 1000) == b"one" * 1000
            return await between(lambda: round_trip(b"two" * 1000))

    def test_version_2(self):
        site = self.aioquic_site(version2=True)
        self.front({"a.test": site})

        async def again(round_trip):
            return await round_trip()

        answer = asyncio.run(self.echo_rounds(self.proxy.port, again, version2=True))
        self.assertEqual(answer, b"two" * 1000)

    def test_a_moved_client_is_followed_by_the_servers_id(self):
        prefix = bytes.fromhex("5fc0ffee")  # QUIC-LB: rotation 2, server ID c0ffee
        site = self.aioquic_site(prefix)
        for text in ('prefix = "5fc0ffee"', 'quic_lb = "c0ffee"\nrotation = 2'):
            with self.subTest(text):
                self.follow_once(site, text)

    def follow_once(self, site, text):
        front = self.front({"a.test": site}, workers=4, directory=f"front-{len(text)}", passthrough=(
            f'[[passthrough.server_ids]]\nserver = "{site}"\n{text}\n'))
        relay = self.relay()

        async def moved(round_trip):
            for _ in range(3):
                relay.rebind()
                answer = await asyncio.wait_for(round_trip(), harness.WAIT)
            return answer

        self.assertEqual(asyncio.run(self.echo_rounds(relay.port, moved)), b"two" * 1000)
        self.assertGreaterEqual(front.metric("pqedge_passthrough_quic_followed_total"), 3)

    def test_a_moved_client_is_not_followed_without(self):
        site = self.aioquic_site(bytes.fromhex("5fc0ffee"))
        front = self.front({"a.test": site})
        relay = self.relay()

        async def moved(round_trip):
            relay.rebind()
            task = asyncio.ensure_future(round_trip())
            unfollowed = "pqedge_passthrough_quic_unfollowed_total"
            while front.metric(unfollowed) == 0:
                await asyncio.sleep(0.02)
            self.assertFalse(task.done())
            task.cancel()
            return True

        self.assertTrue(asyncio.run(self.echo_rounds(relay.port, moved)))
        self.assertEqual(front.metric("pqedge_passthrough_quic_followed_total"), 0)

    # ---- one socket for all workers ------------------------------------------------------------------

    def test_a_socket_of_the_service_manager(self):
        a = self.site("a.test")
        port = harness.free_port()
        tcp = socket.create_server(("127.0.0.1", port))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", port))
        self.addCleanup(tcp.close)
        self.addCleanup(udp.close)
        toml = ('[[route]]\nname = "front"\nstatus = 200\nbody = "front"\n'
                f'[[listener]]\nname = "given"\naddress = "127.0.0.1:{port}"\n'
                f'[[pool]]\nname = "p"\nservers = ["127.0.0.1:{a.port}"]\n'
                '[[passthrough]]\nname = "s"\nhosts = ["a.test"]\npool = "p"\n')
        front = self.proxy = harness.Edge(self.subdirectory("front"), toml, workers=4,
                                          sockets=(tcp, udp), server_toml=AT_ONCE)
        self.addCleanup(self._end_edge, front)
        front.port = port
        for _ in range(4):
            self.expect("a.test", "a.test", a, "--curves", TWO_SHARES)
            self.expect("front", "localhost", front, "--curves", TWO_SHARES)
        self.assertGreater(front.metric("pqedge_quic_handed_over_total"), 0)


if __name__ == "__main__":
    harness.main()
