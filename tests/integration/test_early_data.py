"""0-RTT on TCP and QUIC: safe requests only, each ticket once (T7; RFC 8446 8, RFC 8470). Clients:
openssl s_client, curl, aioquic, and bytes sent again by hand."""
# ctest: timeout=120

import contextlib
import re
import socket
import threading

import harness
import quic_client
from relay import Relay

GET = b"GET /early HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def records(data):
    """The types of the whole TLS records in `data`; None when the last is not whole."""
    types, at = [], 0
    while at + 5 <= len(data):
        types.append(data[at])
        at += 5 + int.from_bytes(data[at + 3 : at + 5], "big")
    return types if at == len(data) else None


def first_flight(sock):
    """Until a client has said its hello (22) and early data (23)."""
    data = b""
    while 23 not in (records(data) or []):
        more = sock.recv(65536)
        if not more:
            break
        data += more
    return data


class Joined:
    """A TCP relay that sends a client's hello and early data on in one piece: however busy the
    machine is, the server has both before the client can have finished its handshake."""

    def __init__(self, test, edge):
        self.edge = edge
        self.front = socket.create_server(("127.0.0.1", 0))
        self.port = self.front.getsockname()[1]
        test.addCleanup(self.front.close)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        with contextlib.suppress(OSError):
            client, _ = self.front.accept()
            client.settimeout(harness.WAIT)
            server = socket.create_connection(("127.0.0.1", self.edge.port), harness.WAIT)
            server.sendall(first_flight(client))
            back = threading.Thread(target=self._pass, args=(server, client), daemon=True)
            back.start()
            self._pass(client, server)
            back.join()
            client.close()
            server.close()

    @staticmethod
    def _pass(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


class EarlyData(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.toml = harness.pool(self.origin.address) + harness.route()

    def start(self, tls="", workers=1, **kwargs):
        self.proxy = self.edge(self.toml + f"[tls]\nearly_data = true\n{tls}\n", workers=workers,
                               **kwargs)
        return self.proxy

    def s_client(self, edge, *args, port=None, text=GET):
        done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{port or edge.port}",
                           "-servername", "localhost", "-alpn", "http/1.1", "-ign_eof", *args,
                           input=text)
        return (done.stdout + done.stderr).decode("latin-1")

    def session(self, edge):
        session = self.directory / "session"
        self.assertIn("200 OK", self.s_client(edge, "-sess_out", session))
        return session

    def early(self, edge, session, request=GET, text=b"", port=None):
        """`text` is sent once the handshake is done."""
        file = self.directory / "early"
        file.write_bytes(request)
        return self.s_client(edge, "-sess_in", session, "-early_data", file, text=text,
                             port=port or Joined(self, edge).port)

    def heads(self):
        return [head for head, _ in self.origin.requests]

    def result(self, edge, result, transport="tcp"):
        return edge.metrics().get(
            f'pqedge_tls_early_data_total{{result="{result}",transport="{transport}"}}', 0)

    # ---- TCP

    def test_a_safe_request_is_answered_at_once(self):
        edge = self.start(workers=4)
        session = self.session(edge)
        text = self.early(edge, session)
        self.assertIn("Early data was accepted", text)
        self.assertIn("200 OK", text)
        self.assertIn(b"Early-Data: 1", self.heads()[-1])
        self.assertNotIn(b"Early-Data", self.heads()[0])
        record = edge.wait_access(2)[-1]
        self.assertTrue(record["early_data"])
        self.assertTrue(record["resumed"])
        self.assertEqual(self.result(edge, "accepted"), 1)
        self.assertEqual(
            edge.metrics()['pqedge_early_data_requests_total{action="answered"}'], 1)
        # The same ticket again: a whole handshake's worth of time, and no error.
        text = self.early(edge, session, text=GET)
        self.assertIn("Early data was rejected", text)
        self.assertIn("Reused, TLSv1.3", text)
        self.assertIn("200 OK", text)
        self.assertEqual(self.result(edge, "replayed"), 1)
        self.assertEqual([b"Early-Data" in h for h in self.heads()], [False, True, False])

    def test_off_by_default(self):
        edge = self.edge(self.toml)
        session = self.session(edge)
        text = harness.run("openssl", "sess_id", "-in", session, "-noout", "-text").stdout.decode()
        self.assertIn("Max Early Data: 0", text)

    def test_other_requests_wait_for_the_handshake(self):
        edge = self.start()
        body = b"x" * 3000
        post = (b"POST /post HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                b"Content-Length: 3000\r\n\r\n" + body)
        text = self.early(edge, self.session(edge), request=post)
        self.assertIn("Early data was accepted", text)
        self.assertIn("200 OK", text)
        head, received = self.origin.requests[-1]
        self.assertTrue(head.startswith(b"POST /post "))
        self.assertNotIn(b"Early-Data", head)
        self.assertEqual(received, body)
        self.assertFalse(edge.wait_access(2)[-1]["early_data"])
        self.assertEqual(edge.metrics()['pqedge_early_data_requests_total{action="waited"}'], 1)

    def capture(self, edge, session, request=GET):
        """What s_client says before it hears anything: its hello and early data, sent to nobody."""
        front = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(front.close)
        taken = []

        def take():
            sock, _ = front.accept()
            sock.settimeout(harness.WAIT)
            taken.append(first_flight(sock))
            sock.close()

        thread = threading.Thread(target=take)
        thread.start()
        self.early(edge, session, request=request, port=front.getsockname()[1])
        thread.join()
        return taken[0]

    def test_a_copy_of_the_bytes_is_never_acted_on_twice(self):
        edge = self.start(workers=4)
        bytes_ = self.capture(edge, self.session(edge))
        before = len(self.origin.requests)
        copies = 8
        socks = [socket.create_connection(("127.0.0.1", edge.port)) for _ in range(copies)]
        for sock in socks:
            sock.sendall(bytes_)
        harness.wait_for(lambda: self.result(edge, "accepted") + self.result(edge, "replayed")
                         == copies, "all copies to be judged")
        self.assertEqual(self.result(edge, "accepted"), 1)
        harness.wait_for(lambda: len(self.origin.requests) > before, "the one request")
        # A refused copy's early data is read over: a request of it would be at the backend by now,
        # and its own handshake never ends.
        self.assertEqual(self.s_client(edge).count("200 OK"), 1)
        self.assertEqual(len(self.origin.requests), before + 2)
        self.assertEqual([b"Early-Data: 1" in h for h in self.heads()[before:]], [True, False])
        for sock in socks:
            sock.close()

    def test_a_copy_of_an_unsafe_request_is_never_acted_on(self):
        edge = self.start(workers=2)
        post = b"POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"
        bytes_ = self.capture(edge, self.session(edge), request=post)
        before = len(self.origin.requests)
        socks = [socket.create_connection(("127.0.0.1", edge.port)) for _ in range(3)]
        for sock in socks:
            sock.sendall(bytes_)
        harness.wait_for(lambda: edge.metrics().get(
            'pqedge_early_data_requests_total{action="waited"}', 0) == 1, "the request to wait")
        for sock in socks:
            sock.close()
        harness.wait_for(lambda: len(edge.access()) >= 2, "the end of the waiting request")
        self.assertEqual(edge.access()[-1]["status"], 0)
        self.assertEqual(len(self.origin.requests), before)

    def test_a_request_that_waits_in_vain_ends_with_the_handshake_timeout(self):
        edge = self.start(tls='handshake_timeout = "1s"')
        post = b"POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"
        bytes_ = self.capture(edge, self.session(edge), request=post)
        with socket.create_connection(("127.0.0.1", edge.port)) as sock:
            sock.settimeout(harness.WAIT)
            sock.sendall(bytes_)
            with self.assertRaises((EOFError, OSError)):
                while sock.recv(65536):
                    pass
                raise EOFError
        self.assertEqual(len(self.origin.requests), 1)

    def test_another_process_takes_none(self):
        # Two machines that share ticket keys do not share their memory of used tickets.
        store, key = self.directory / "store", self.directory / "key"
        done = harness.run(harness.PQEDGE, "ticket-keys", "init", "--store", store, "--private-key", key)
        self.assertEqual(done.returncode, 0, done.stderr)
        tls = f'[tls.ticket_keys]\nstore = "{store}"\nprivate_key = "{key}"'
        edge = self.start(tls)
        session = self.session(edge)
        edge.stop()
        edge = self.start(tls)
        text = self.early(edge, session, text=GET)
        self.assertIn("Early data was rejected", text)
        self.assertIn("Reused, TLSv1.3", text)
        self.assertEqual(self.result(edge, "foreign_ticket"), 1)

    def test_curl(self):
        edge = self.start()
        # Two connections of one curl: the second has a ticket of the first.
        done = harness.run(
            "curl", "-sS", "--cacert", edge.certificate.chain, "--http1.1", "--tls-earlydata",
            "-H", "Connection: close", edge.url("/one"), edge.url("/two"), "-w",
            "early %{tls_earlydata}\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        sent = [int(n) for n in re.findall(rb"early (-?\d+)", done.stdout)]
        self.assertGreater(sent[-1], 0)  # curl says how much of it was accepted
        self.assertEqual(self.result(edge, "accepted"), 1)
        self.assertEqual(len(self.origin.requests), 2)

    # ---- 425 (RFC 8470 5.2)

    def test_a_425_of_the_backend_reaches_the_client_and_its_retry_works(self):
        class Careful(harness.EchoBackend):
            def _echo(self, sock, number):
                reader = harness.RequestReader(sock)
                while (request := reader.read()) is not None:
                    self.requests.append(request)
                    status = b"425 Too Early" if b"Early-Data: 1" in request[0] else b"200 OK"
                    sock.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")

        origin = Careful()
        self.addCleanup(origin.stop)
        self.toml = harness.pool(origin.address) + harness.route()
        edge = self.start()
        session = self.session(edge)
        get = b"GET /careful HTTP/1.1\r\nHost: localhost\r\n\r\n"
        # The request again, on the same connection, once its handshake is done.
        file = self.directory / "early"
        file.write_bytes(get)
        text = self.early(edge, session, request=get,
                          text=get.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        self.assertIn("Early data was accepted", text)
        self.assertRegex(text, r"(?s)HTTP/1\.1 425 Too Early.*HTTP/1\.1 200 OK")
        self.assertEqual([b"Early-Data: 1" in h for h, _ in origin.requests[-2:]], [True, False])

    # ---- HTTP/2 and HTTP/3

    def test_quic(self):
        edge = self.start(workers=2)
        first = quic_client.fetch(edge.port, [("GET", "/one", b"")])
        self.assertFalse(first.early_data_accepted)
        ticket = first.tickets[-1]
        self.assertEqual(ticket.max_early_data_size, 0xFFFFFFFF)  # RFC 9001 4.6.1
        # The client hears nothing, and so cannot finish, before the backend has the early request.
        held = []

        def hold(datagrams):
            held.extend(datagrams)
            if len(self.origin.requests) < 2:
                return []
            passed = held[:]
            held.clear()
            return passed

        relay = Relay(edge.port, to_client=hold)
        self.addCleanup(relay.stop)
        second = quic_client.fetch(relay.port, [("GET", "/two", b""), ("POST", "/three", b"body")],
                                   ticket=ticket, early=True)
        self.assertTrue(second.resumed)
        self.assertTrue(second.early_data_accepted)
        self.assertEqual([status for status, _ in second.answers], [200, 200])
        marked = {h.split()[1]: b"Early-Data: 1" in h for h in self.heads()}
        self.assertEqual(marked, {b"/one": False, b"/two": True, b"/three": False})
        records = {r["path"]: r["early_data"] for r in edge.wait_access(3)}
        self.assertEqual(records, {"/one": False, "/two": True, "/three": False})
        self.assertEqual(self.result(edge, "accepted", "quic"), 1)
        # The ticket again: its early data is refused, and the request sent once more by the client.
        third = quic_client.fetch(edge.port, [("GET", "/four", b"")], ticket=ticket, early=True)
        self.assertFalse(third.early_data_accepted)
        self.assertEqual(third.answers[0][0], 200)
        self.assertNotIn(b"Early-Data", self.heads()[-1])
        self.assertEqual(self.result(edge, "replayed", "quic"), 1)

    def test_quic_changed_limits_refuse_it(self):
        edge = self.start()
        ticket = quic_client.fetch(edge.port, [("GET", "/", b"")]).tickets[-1]
        edge.write_config(self.toml + '[tls]\nearly_data = true\n[quic]\nstream_window = "64KiB"\n')
        self.assertEqual(edge.reload()[0], 200)
        second = quic_client.fetch(edge.port, [("GET", "/", b"")], ticket=ticket, early=True)
        self.assertTrue(second.resumed)
        self.assertFalse(second.early_data_accepted)
        self.assertEqual(second.answers[0][0], 200)
        self.assertEqual(self.result(edge, "changed", "quic"), 1)

    def test_quic_with_early_data_allowed_and_not_used(self):
        # A handshake is complete with the client's Finished, not with our flight.
        edge = self.start()
        for _ in range(3):
            self.assertEqual(edge.get("/", http="3")[0], 200)
        self.assertEqual(self.result(edge, "accepted", "quic"), 0)
        for record in edge.wait_access(3):
            self.assertFalse(record["early_data"])
            self.assertGreater(record["handshake_bytes_in"], 2450)  # more than two Initials

    def test_a_slow_signature_where_early_data_is_allowed(self):
        # Another thread makes the server's flight: there it shows that OpenSSL, on QUIC, says that
        # the handshake is done when it is not.
        slow = harness.Certificate(self.directory, algorithm="rsa:4096", stem="slow")
        self.toml += (f'[[certificate]]\nchain = "{slow.chain}"\nkey = "{slow.key}"\n'
                      "default = true\n")
        edge = self.start('signature_algorithms = ["rsa_pss_rsae_sha256"]\n')
        for http in ("1.1", "2", "3"):
            done = harness.run("curl", "-sS", "--cacert", slow.chain, "--resolve",
                               f"localhost:{edge.port}:127.0.0.1", "--http3-only" if http == "3"
                               else f"--http{http}", edge.url("/"))
            self.assertEqual(done.returncode, 0, (http, done.stderr))

    def test_http2(self):
        edge = self.start()
        session = self.directory / "session"

        def s_client(*args, data, port=edge.port):
            done = harness.run("openssl", "s_client", "-connect", f"127.0.0.1:{port}",
                               "-servername", "localhost", "-alpn", "h2", "-quiet", *args, input=data)
            return done.stdout

        from h2.connection import H2Connection
        from h2.config import H2Configuration

        def request(path):
            c = H2Connection(H2Configuration(client_side=True))
            c.initiate_connection()
            c.send_headers(1, [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"),
                               (":path", path)], end_stream=True)
            c.close_connection()
            return c.data_to_send()

        s_client("-sess_out", session, data=request("/one"))
        file = self.directory / "early"
        file.write_bytes(request("/two"))
        s_client("-sess_in", session, "-early_data", file, data=b"", port=Joined(self, edge).port)
        harness.wait_for(lambda: len(self.origin.requests) == 2, "both requests")
        self.assertIn(b"GET /two ", self.heads()[1])
        self.assertIn(b"Early-Data: 1", self.heads()[1])


if __name__ == "__main__":
    harness.main()
