"""HTTP/3 and QUIC toward backends: a server that breaks one rule after the other (RFC 9114, 9204, 9000,
9001). The client hears of it, and the next request goes well."""
# ctest: timeout=120

import collections
import http.client
import os
import ssl

import harness
import pki
from aioquic.quic.packet import get_retry_integrity_tag
from http3 import backend_cases
from http3 import frames as f
from http3 import table as t
from http3.backend import Backend


class Backends(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.ca = pki.Authority(self.directory, name="Backend CA")
        self.certificate = self.ca.issue("backend", subject="/CN=app", sans="DNS:app.internal")

    def backend(self, **how):
        b = Backend(self.certificate, **how)
        self.addCleanup(b.stop)
        return b

    def pool(self, backend, name="app", **more):
        return harness.pool(backend.address, name=name, protocol="h3", tls=True,
                            tls_ca=str(self.ca.certificate), tls_server_name="app.internal",
                            tls_key_shares=["X25519MLKEM768", "X25519"], **more)

    def ask(self, edge, path, method="POST"):
        """The status of a POST, which is not tried again; None where the answer breaks off."""
        if self.client is None:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.client = http.client.HTTPSConnection("localhost", edge.port, timeout=harness.WAIT,
                                                      context=context)
            self.client._create_connection = lambda address, *a, **k: \
                harness.socket.create_connection(("127.0.0.1", address[1]), *a, **k)
        try:
            self.client.request(method, path, body=b"abc" if method == "POST" else None)
            answer = self.client.getresponse()
            answer.read()
            return answer.status
        except (http.client.HTTPException, OSError):
            self.client.close()
            self.client = None
            return None

    client = None

    def test_answers_streams_and_frames(self):
        wanted = os.environ.get("PQEDGE_CASES", "")
        paths = {f"/act/{n}": act for n, act in enumerate(backend_cases.ACTS) if wanted in str(act)}
        passed = collections.Counter()
        origin = self.backend(acts={path: act.run for path, act in paths.items()})
        edge = self.edge(self.pool(origin) + harness.route())
        for path, act in paths.items():
            with self.subTest(str(act)):
                status = self.ask(edge, path)
                if act.statuses:
                    self.assertIn(status, act.statuses)
                harness.wait_for(lambda: path in origin.acted, "the request")
                self.check(act, *origin.acted[path])
                self.assertEqual(self.ask(edge, "/fine"), 200)
                self.assertTrue(edge.alive(), edge.log()[-4000:])
                passed[act.section] += 1
        t.show(passed, (act.section for act in paths.values()))

    def check(self, act, peer, number):
        if act.closes:
            closed = harness.wait_for(lambda: peer.closed, f"CONNECTION_CLOSE: {peer.quic._close_event}")
            self.assertIn(closed[1], act.closes, closed)
            self.assertEqual(closed[0], act.application, closed)
        elif act.resets:
            def ends():
                return [fields[1] for kind in (f.RESET_STREAM, f.STOP_SENDING)
                        for fields in peer.quic.frames(kind) if fields[0] == number]

            codes = harness.wait_for(ends, "STOP_SENDING")
            self.assertTrue(set(codes) <= set(act.resets), codes)
            self.assertIsNone(peer.closed)
        elif act.section != "RFC 9000 10.3.1":
            self.assertIsNone(peer.closed)

    def first_contact(self, cases):
        """cases: (name, Backend's options, statuses, code of CONNECTION_CLOSE or None) each."""
        toml, made = "", []
        for n, (name, options, statuses, code) in enumerate(cases):
            origin = self.backend(**options)
            made.append((name, origin, statuses, code))
            toml += self.pool(origin, name=f"p{n}", retries=0)
        toml += "".join(harness.route(f"p{n}", name=f"p{n}", path_prefix=f"/p{n}/")
                        for n in range(len(cases)))
        edge = self.edge(toml)
        for n, (name, origin, statuses, code) in enumerate(made):
            with self.subTest(name):
                self.assertIn(self.ask(edge, f"/p{n}/"), statuses, edge.log()[-2000:])
                if code is not None:
                    closed = harness.wait_for(lambda: origin.peers[0].closed, "CONNECTION_CLOSE")
                    self.assertEqual(closed[:2], (code >= 0x100, code))
                self.assertTrue(edge.alive(), edge.log()[-4000:])

    def test_parameters_and_settings(self):
        def parameter(name, value):
            def edit(pairs):
                pairs = [p for p in pairs if p[0] != name]
                return pairs if value is None else [*pairs, (name, value)]
            return {"parameters": edit}

        def control(data):
            return {"on_connected": lambda peer: peer.open(data)}

        refused, bad = (502, 503), t.TRANSPORT_PARAMETER_ERROR
        self.first_contact([
            ("RFC 9000 7.3: original_destination_connection_id is missing",
             parameter(f.ORIGINAL_ID, None), refused, bad),
            ("RFC 9000 7.3: original_destination_connection_id of another",
             parameter(f.ORIGINAL_ID, b"another!"), refused, bad),
            ("RFC 9000 7.3: initial_source_connection_id is missing",
             parameter(f.INITIAL_SOURCE_ID, None), refused, bad),
            ("RFC 9000 7.3: initial_source_connection_id of another",
             parameter(f.INITIAL_SOURCE_ID, b"another!"), refused, bad),
            ("RFC 9000 7.3: retry_source_connection_id without a Retry",
             parameter(f.RETRY_SOURCE_ID, b"no-retry"), refused, bad),
            ("RFC 9000 18.2: max_udp_payload_size below 1200",
             parameter(f.UDP_SIZE, f.varint(1199)), refused, bad),
            ("RFC 9000 18.2: ack_delay_exponent above 20",
             parameter(f.ACK_EXPONENT, f.varint(21)), refused, bad),
            ("RFC 9000 18.2: max_ack_delay of 2^14",
             parameter(f.ACK_DELAY, f.varint(1 << 14)), refused, bad),
            ("RFC 9000 18.2: active_connection_id_limit below 2",
             parameter(f.ID_LIMIT, f.varint(1)), refused, bad),
            ("RFC 9000 18.1: unknown parameters are ignored",
             {"parameters": lambda pairs: [*pairs, (31 * 3 + 27, b"grease")]}, (200,), None),
            ("RFC 9001 8.2: no transport parameters",
             {"hello": lambda context: setattr(context, "handshake_extensions", [])}, refused, None),
            ("RFC 9114 6.2.1: the control stream does not begin with SETTINGS",
             # The answer may have come before.
             control(f.varint(f.CONTROL) + f.h3(f.GOAWAY, f.varint(0))), (200, 502),
             t.H3_MISSING_SETTINGS),
            ("RFC 9114 7.2.4.1: a setting of HTTP/2",
             control(f.varint(f.CONTROL) + f.settings((2, 1))), (200, 502), t.H3_SETTINGS_ERROR),
            ("RFC 9114 7.2.4.1: unknown settings are ignored",
             control(f.varint(f.CONTROL) + f.settings((f.RESERVED, 1), (0x33, 1))), (200,), None),
        ])

    def test_before_the_handshake(self):
        def forged(*answers):
            """Sends those ahead of everything, once, to the address of the first Initial."""
            def on_first(backend, datagram, header, address):
                for answer in answers:
                    backend.sock.sendto(answer(header), address)
            return {"on_first": on_first}

        def negotiation(*versions):
            return lambda h: b"\x80" + bytes(4) + bytes([len(h.source_cid)]) + h.source_cid + \
                bytes([len(h.destination_cid)]) + h.destination_cid + \
                b"".join(f.be32(v) for v in versions)

        def retry(token, tag=None):
            def make(h):
                scid = os.urandom(8)
                head = b"\xf0" + f.be32(1) + bytes([len(h.source_cid)]) + h.source_cid + \
                    bytes([len(scid)]) + scid + token
                return head + (tag or get_retry_integrity_tag(head, h.destination_cid, 1))
            return make

        self.first_contact([
            ("RFC 9000 6.2: Version Negotiation that lists the version in use is ignored",
             forged(negotiation(0x1A2A3A4A, 1)), (200,), None),
            ("RFC 9000 17.2.1: Version Negotiation with other IDs is ignored",
             forged(lambda h: b"\x80" + bytes(4) + b"\x04nope\x04nope" + f.be32(0x1A2A3A4A)),
             (200,), None),
            ("RFC 9000 17.2.5.2: a Retry whose integrity tag is wrong is ignored",
             forged(retry(b"token", tag=b"t" * 16)), (200,), None),
            ("RFC 9000 17.2.5.2: a Retry without a token is ignored", forged(retry(b"")),
             (200,), None),
            ("RFC 9000 5.2.1: a packet that was not asked for is ignored",
             forged(lambda h: b"\xc0" + os.urandom(1199), lambda h: b"\x40" + os.urandom(50)),
             (200,), None),
        ])

    def test_a_version_that_we_do_not_speak(self):
        # RFC 9000 6.2: the attempt is given up, at once and not when its time is over.
        def on_first(backend, datagram, header, address):
            backend.sock.sendto(
                b"\x80" + bytes(4) + bytes([len(header.source_cid)]) + header.source_cid +
                bytes([len(header.destination_cid)]) + header.destination_cid +
                f.be32(0x1A2A3A4A), address)
            return True

        origin = self.backend(on_first=on_first)
        edge = self.edge(self.pool(origin, retries=0, connect_timeout="60s",
                                   tls_handshake_timeout="60s") + harness.route())
        self.assertIn(self.ask(edge, "/"), (502, 503))


if __name__ == "__main__":
    harness.main()
