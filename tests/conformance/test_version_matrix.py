"""Each version of HTTP toward clients with each toward backends: connections, 1xx, trailers, upgrades and
CONNECT in all nine pairs.

    python3 tests/conformance/test_version_matrix.py --write docs/results/version-matrix.md

runs it and writes the table. Every cell says what was seen; a pair that does not pass has none.
"""
# ctest: timeout=300

import functools
import inspect
import os
import pathlib
import sys
import unittest

import harness
import pki
import websocket_clients as ws
from version_backends import AT_ONCE, LINK, origins
from version_clients import CLIENTS

VERSIONS = harness.ALL_VERSIONS
PAIRS = [(i, o) for i in VERSIONS for o in VERSIONS]
# Fields of one connection (RFC 9110 7.6.1).
OF_ONE_HOP = {"keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "x-hop", "x-back"}

PAGE = harness.SOURCE / "docs" / "results" / "version-matrix.md"
COLUMNS = {
    "connections": "requests of one client connection, and the connections to the backend that they took",
    "at once": "requests at the same time, of one connection where the version can, and the connections to "
               "the backend that they took",
    "last": "as the first, where the backend says after the first that its connection takes no more "
            "(`Connection: close`, GOAWAY)",
    "broken": "what the client sees where the backend breaks off within a body of unknown length",
    "gone": "what the backend hears of a client that gives up",
    "1xx": "the informational answers of a backend that reach the client, in order and before the answer",
    "100": "an `Expect: 100-continue`: who says 100",
    "101": "the answer of a backend that switches protocols unasked",
    "bodies": "bytes up and down, without a length, that arrived whole",
    "trailers": "trailer fields up and down; those that may not be trailers were taken out",
    "WebSocket": "the status that the client got, and what is spoken with the backend",
    "CONNECT": "the status that the client got, and what is spoken with the backend",
    "cut": "what the client of a CONNECT sees where the backend resets its connection",
}
results = {}


def every_pair(test):
    """Runs it for each. Of `client`, a connection, and `origin`, the backend, it gets what it names."""
    names = inspect.signature(test).parameters

    @functools.wraps(test)
    def run(self):
        for inward, outward in PAIRS:
            with self.subTest(client=inward, backend=outward):
                given = {}
                if "client" in names:
                    given["client"] = self.client(inward)
                if "origin" in names:
                    given["origin"] = self.origins[outward]
                self.origins[outward].release.clear()
                test(self, inward, outward, **given)

    return run


class Matrix(harness.TestCase):
    def setUp(self):
        super().setUp()
        authority = pki.Authority(self.directory, name="Backend CA")
        self.origins = origins(authority.issue("backend", subject="/CN=app", sans="DNS:app.internal"))
        toml = ""
        for n, origin in self.origins.items():
            self.addCleanup(origin.stop)
            name = "h" + n.replace(".", "")
            toml += origin.pool(name, str(authority.certificate))
            toml += harness.route(name, name=name, path_prefix=f"/{n}")
            toml += harness.route(name, name=f"connect-{name}", connect=[f"{name}.test:7"])
        self.proxy = self.edge(toml)
        self.clients = {}

    def client(self, version):
        """With HTTP/2 and 3 one for the whole test: no request may spoil it for the next."""
        if version in self.clients:
            return self.clients[version]
        made = CLIENTS[version](self.proxy)
        self.addCleanup(made.close)
        if version != "1.1":
            self.clients[version] = made
        return made

    @staticmethod
    def note(column, inward, outward, text):
        results.setdefault((inward, outward), {})[column] = text


class Connections(Matrix):
    @every_pair
    def test_one_connection_serves_one_after_another(self, inward, outward, client, origin):
        """RFC 9112 9.3, RFC 9113 9.1, RFC 9114 3.3."""
        for n in range(3):
            answer = client.post(f"/{outward}/echo", b"body %d" % n)
            self.assertEqual((answer.status, answer.body), (200, b"body %d" % n))
        used = {s.connection for s in origin.seen[-3:]}
        self.assertEqual(len(used), 1)
        self.note("connections", inward, outward, f"3 on {len(used)}")

    @every_pair
    def test_several_at_once(self, inward, outward, origin):
        """RFC 9113 5.1.2, RFC 9114 6.1."""
        clients = [self.client(inward) for _ in range(AT_ONCE)]
        answers = [c.begin("GET", f"/{outward}/meet") for c in clients]
        for client, answer in zip(clients, answers):
            self.assertEqual(client.wait(answer).status, 200)
        used = {s.connection for s in origin.seen[-AT_ONCE:]}
        self.assertEqual(len(used), AT_ONCE if outward == "1.1" else 1)
        self.note("at once", inward, outward, f"{len(answers)} on {len(used)}")

    @every_pair
    def test_fields_of_one_connection_stay_there(self, inward, outward, client, origin):
        """RFC 9110 7.6.1, RFC 9113 8.2.2, RFC 9114 4.2."""
        fields = [("te", "trailers"), ("x-stays", "yes")]
        if inward == "1.1":
            fields = [("Connection", "x-hop, keep-alive, TE"), ("Keep-Alive", "timeout=5"),
                      ("Proxy-Connection", "keep-alive"), ("X-Hop", "1"), *fields]
        answer = client.get(f"/{outward}/fields", fields)
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.fields["x-stays"], ["yes"])
        self.assertEqual(OF_ONE_HOP & set(answer.fields), set())
        self.assertNotIn("connection", answer.fields)
        seen = origin.last(f"/{outward}/fields")
        self.assertEqual(OF_ONE_HOP & seen.names, set())
        self.assertEqual(seen.get("x-stays"), ["yes"])
        self.assertEqual(seen.get("te"), ["trailers"])
        # RFC 9110 10.1.4: TE is of one connection, and says so where Connection exists.
        self.assertEqual([v.lower() for v in seen.get("connection")],
                         ["te"] if outward == "1.1" else [])
        self.assertTrue(seen.get("via")[0].startswith(inward + " "), seen.get("via"))
        self.assertTrue(answer.fields["via"][0].startswith(outward + " "), answer.fields["via"])

    @every_pair
    def test_a_backend_that_takes_no_more_costs_nothing(self, inward, outward, client, origin):
        """RFC 9112 9.6, RFC 9113 6.8, RFC 9114 5.2."""
        for script in ("last", "echo"):
            answer = client.post(f"/{outward}/{script}", b"body")
            self.assertEqual((answer.status, answer.body), (200, b"body"))
            self.assertNotIn("close", answer.fields.get("connection", []))
        used = {s.connection for s in origin.seen[-2:]}
        self.assertEqual(len(used), 2)
        self.note("last", inward, outward, f"2 on {len(used)}")

    @every_pair
    def test_a_body_that_breaks_off_is_never_whole(self, inward, outward, client, origin):
        """RFC 9112 8, RFC 9113 8.1, RFC 9114 4.1."""
        answer = client.begin("GET", f"/{outward}/cut")
        client.wait(answer, lambda a: a.body == b"half")
        origin.release.set()
        client.wait(answer)
        self.assertFalse(answer.complete)
        self.assertEqual((answer.status, answer.body), (200, b"half"))
        self.note("broken", inward, outward, answer.broken)
        again = self.client("1.1") if inward == "1.1" else client
        self.assertEqual(again.get(f"/{outward}/echo").status, 200)

    @every_pair
    def test_a_client_that_gives_up_is_told_on(self, inward, outward, client, origin):
        """RFC 9113 5.4.2, RFC 9114 4.1.1."""
        path = f"/{outward}/by-{inward}/wait"
        answer = client.begin("GET", path)
        harness.wait_for(lambda: any(s.path == path for s in origin.seen), "the request")
        client.cancel(answer)
        harness.wait_for(lambda: path in origin.gone, "the backend to hear of it")
        self.note("gone", inward, outward, origin.heard())


class Messages(Matrix):
    @every_pair
    def test_informational_answers_go_at_once(self, inward, outward, client, origin):
        """RFC 9110 15.2, RFC 8297 2."""
        answer = client.begin("GET", f"/{outward}/hints")
        client.wait(answer, lambda a: a.informational)
        self.assertEqual([(s, f["link"]) for s, f in answer.informational], [(103, [LINK])])
        self.assertIsNone(answer.status)  # the backend has not said it yet
        origin.release.set()
        self.assertEqual(client.wait(answer).status, 200)
        self.assertTrue(answer.complete)

    @every_pair
    def test_several_of_them_in_their_order(self, inward, outward, client):
        """RFC 9110 15.2: one that is unknown too."""
        answer = client.get(f"/{outward}/several")
        self.assertEqual([(s, f["x-n"]) for s, f in answer.informational],
                         [(103, ["1"]), (199, ["2"]), (103, ["3"])])
        self.assertEqual((answer.status, answer.fields["x-n"]), (200, ["4"]))
        self.note("1xx", inward, outward, ", ".join(str(s) for s, _ in answer.informational))

    @every_pair
    def test_who_waits_for_100_gets_it(self, inward, outward, client, origin):
        """RFC 9110 10.1.1."""
        path = f"/{outward}/by-{inward}/echo"
        answer = client.begin("POST", path, [("expect", "100-continue")], end=False)
        client.wait(answer, lambda a: a.informational)
        self.assertEqual([s for s, _ in answer.informational], [100])
        client.send(answer, b"now", end=True)
        client.wait(answer)
        self.assertEqual((answer.status, answer.body), (200, b"now"))
        self.assertEqual(origin.last(path).get("expect"), [])
        self.note("100", inward, outward, "pqedge")

    @every_pair
    def test_a_switch_that_nobody_asked_for(self, inward, outward, client):
        """RFC 9110 15.2.2, RFC 9113 8.6, RFC 9114 4.5."""
        answer = client.get(f"/{outward}/switch")
        self.assertEqual((answer.status, answer.complete, answer.informational), (502, True, []))
        self.assertEqual(client.get(f"/{outward}/echo").status, 200)
        self.note("101", inward, outward, str(answer.status))

    @every_pair
    def test_bodies_without_a_length(self, inward, outward, client, origin):
        """RFC 9112 6.1, RFC 9113 8.1, RFC 9114 4.1."""
        answer = client.begin("POST", f"/{outward}/echo", end=False)
        pieces = [bytes([n]) * 9000 for n in range(3)]
        for n, piece in enumerate(pieces):
            client.send(answer, piece, end=n == len(pieces) - 1)
        client.wait(answer)
        up = origin.last(f"/{outward}/echo")
        self.assertEqual((answer.body, up.body), (b"".join(pieces), b"".join(pieces)))
        self.assertEqual(up.get("content-length"), [])
        down = client.get(f"/{outward}/pieces")
        self.assertEqual((down.status, down.body), (200, b"0123456789" * 3000))
        self.assertNotIn("content-length", down.fields)
        self.assertEqual(down.fields.get("transfer-encoding", []),
                         ["chunked"] if inward == "1.1" else [])
        empty = client.get(f"/{outward}/empty")
        self.assertEqual((empty.status, empty.body, empty.complete), (204, b"", True))
        self.note("bodies", inward, outward, f"{len(up.body)}, {len(down.body)}")

    @every_pair
    def test_trailers_both_ways(self, inward, outward, client, origin):
        """RFC 9110 6.5.1, RFC 9112 7.1.2, RFC 9113 8.1, RFC 9114 4.1."""
        answer = client.begin("POST", f"/{outward}/trailers",
                              [("te", "trailers"), *([("connection", "TE")] if inward == "1.1"
                                                     else [])], end=False)
        client.send(answer, b"sum me")
        client.send(answer, b"", end=True,
                    trailers=[("x-sum", "def"), ("x-forwarded-for", "192.0.2.1"),
                              ("authorization", "Basic eDp5")])
        client.wait(answer)
        self.assertEqual((answer.status, answer.body, answer.complete), (200, b"summed", True))
        self.assertEqual(answer.trailers, {"x-sum": ["abc"]})
        seen = origin.last(f"/{outward}/trailers")
        self.assertEqual((seen.body, seen.trailers), (b"sum me", [("x-sum", "def")]))
        self.note("trailers", inward, outward,
                  f"{len(seen.trailers)} of 3, {len(answer.trailers)} of 3")


class Tunnels(Matrix):
    @every_pair
    def test_websocket(self, inward, outward, origin):
        """RFC 6455 4, RFC 8441 5, RFC 9220 3."""
        client = ws.connect(self.proxy, inward, f"/{outward}/ws")
        self.addCleanup(client.close)
        self.assertEqual(client.status, 101 if inward == "1.1" else 200)
        self.assertEqual(client.exchange("grüße"), "grüße")
        large = os.urandom(20_000)
        self.assertEqual(client.exchange(large), large)
        self.assertTrue(client.ping(b"there?"))
        self.assertEqual(client.end(4001, "all"), (4001, "all"))
        self.assertEqual(origin.last(f"/{outward}/ws").get("sec-websocket-version"), ["13"])
        self.note("WebSocket", inward, outward,
                  f"{client.status}, HTTP/1.1{'' if outward == '1.1' else ' over TLS'}")

    def connect(self, version, target):
        """(status, send, a call that returns all that comes and how it ended)"""
        if version == "1.1":
            sock = self.proxy.tls()
            self.addCleanup(sock.close)
            sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
            status, _, rest, head = harness.read_response(sock, "HEAD")
            for name in (b"content-length", b"transfer-encoding"):  # RFC 9110 9.3.6
                self.assertNotIn(name, head.lower())

            def drain():
                data = rest
                try:
                    while more := sock.recv(65536):
                        data += more
                except ConnectionResetError:
                    return data, "reset"
                return data, "end"

            return status, sock.sendall, drain
        session = ws.H2Session(self.proxy) if version == "2" else ws.H3Session(self.proxy)
        self.addCleanup(session.close)
        stream = session.open(protocol=None, authority=target)
        stream.raw = True

        def drain_stream():
            session.wait(lambda: stream.ended or stream.reset is not None)
            return stream.data, "end" if stream.reset is None else f"{int(stream.reset):#x}"

        return stream.status, stream.send, drain_stream

    @every_pair
    def test_connect(self, inward, outward):
        """RFC 9110 9.3.6, RFC 9113 8.5, RFC 9114 4.4."""
        target = f"h{outward.replace('.', '')}.test:7"
        status, send, drain = self.connect(inward, target)
        self.assertEqual(status, 200)
        for piece in (b"one ", b"\0\r\n\r\n two ", b"bye"):
            send(piece)
        self.assertEqual(drain(), (b"ONE \0\r\n\r\n TWO BYE", "end"))
        self.note("CONNECT", inward, outward,
                  f"{status}, {'TCP' if outward == '1.1' else 'TLS over TCP'}")

    @every_pair
    def test_a_connect_whose_backend_breaks(self, inward, outward):
        """RFC 9113 8.5, RFC 9114 4.4."""
        status, send, drain = self.connect(inward, f"h{outward.replace('.', '')}.test:7")
        self.assertEqual(status, 200)
        send(b"die")
        data, how = drain()
        # CONNECT_ERROR, H3_CONNECT_ERROR.
        self.assertEqual((data, how), (b"", {"1.1": "reset", "2": "0xa", "3": "0x10f"}[inward]))
        self.note("cut", inward, outward, how)


def page():
    lines = ["# Nine pairs of versions", "",
             "What was seen with each version of HTTP toward clients and each toward backends. Made by",
             "`python3 tests/conformance/test_version_matrix.py --write FILE`; `make test` runs the same",
             "and compares it with this page."]
    groups = [("Connections", ("connections", "at once", "last", "broken", "gone")),
              ("Informational answers", ("1xx", "100", "101")),
              ("Bodies, trailers and tunnels", ("bodies", "trailers", "WebSocket", "CONNECT", "cut"))]
    for title, columns in groups:
        lines += ["", f"## {title}", "", "| client | backend | " + " | ".join(columns) + " |",
                  "|---|---|" + "---|" * len(columns)]
        for inward, outward in PAIRS:
            seen = results.get((inward, outward), {})
            lines.append(f"| HTTP/{inward} | HTTP/{outward} | " +
                         " | ".join(seen.get(c, "") for c in columns) + " |")
        lines += [""] + [f"- **{c}**: {COLUMNS[c]}." for c in columns]
    lines += ["", "WebSocket and CONNECT go to a backend over TCP, whatever else its pool speaks: see",
              "[the recipes](../recipes/websocket.md).", ""]
    return "\n".join(lines)


def main():
    target = None
    if "--write" in sys.argv:
        at = sys.argv.index("--write")
        target = pathlib.Path(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    done = unittest.main(verbosity=2, exit=False).result
    whole = sum(len(columns) for columns in results.values()) == len(PAIRS) * len(COLUMNS)
    if not done.wasSuccessful():
        return 1
    if target is not None:
        if not whole:
            print("not written: not every test was run", file=sys.stderr)
            return 1
        target.write_text(page())
    elif whole and (not PAGE.exists() or PAGE.read_text() != page()):
        print(f"{PAGE.relative_to(harness.SOURCE)} is not what was seen: write it again with --write, "
              "and look at the difference", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
