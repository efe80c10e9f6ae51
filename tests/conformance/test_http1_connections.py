"""RFC 9112 9 and what of RFC 9110 belongs to it: how long a connection lives, and in which order."""

import ssl
import threading

import http1_wire
import harness

HOST = b"Host: a.test\r\n"


def get(target=b"/", fields=b"", version=b"HTTP/1.1", method=b"GET"):
    return method + b" " + target + b" " + version + b"\r\n" + HOST + fields + b"\r\n"


def post(fields, body=b"", target=b"/"):
    return b"POST " + target + b" HTTP/1.1\r\n" + HOST + fields + b"\r\n" + body


class Connections(http1_wire.Case):
    def lines(self):
        return [r.start.rpartition(b" ")[0] for r in self.origin.take()]

    # ---- 9.3 --------------------------------------------------------------------------------------
    def test_9_3_persistence(self):
        for rule, name, raw, closed in (
            ("RFC 9112 9.3", "HTTP/1.1", get(), False),
            ("RFC 9112 9.3", "HTTP/1.1 with keep-alive", get(fields=b"Connection: keep-alive\r\n"), False),
            ("RFC 9112 9.3", "another option", get(fields=b"Connection: closed, x-close\r\n"), False),
            ("RFC 9112 9.6", "close", get(fields=b"Connection: close\r\n"), True),
            ("RFC 9112 9.6", "Close", get(fields=b"connection: Close\r\n"), True),
            ("RFC 9112 9.6", "close in a list", get(fields=b"Connection: x, ,\tclose\t,\r\n"), True),
            ("RFC 9112 9.6", "close in a second field", get(fields=b"Connection: x\r\nConnection: close\r\n"), True),
            ("RFC 9112 9.6", "close with keep-alive", get(fields=b"Connection: keep-alive, close\r\n"), True),
            ("RFC 9112 9.3", "HTTP/1.0", get(version=b"HTTP/1.0"), True), ("RFC 9112 9.3", "HTTP/1.0 with keep-alive",
             get(fields=b"Connection: Keep-Alive\r\n", version=b"HTTP/1.0"), False),
            ("RFC 9112 9.3", "HTTP/1.0 with both", get(fields=b"Connection: keep-alive, close\r\n",
                                                       version=b"HTTP/1.0"), True),
            ("RFC 9112 9.3", "Proxy-Connection says nothing", get(fields=b"Proxy-Connection: close\r\n"), False),
            ("RFC 9112 9.3", "in HTTP/1.0 neither", get(fields=b"Proxy-Connection: keep-alive\r\n",
                                                        version=b"HTTP/1.0"), True),
        ):
            with self.rule(rule, name), self.client() as client:
                client.send(raw)
                answer = client.answer()
                self.assertEqual(answer.status, 200)
                self.assertEqual(len(self.origin.take()), 1)
                if not closed and b"HTTP/1.0" in raw:  # an old client has to be told (RFC 9112 C.2.2)
                    self.assertEqual(answer.options(), {b"keep-alive"})
                self.check_state(client, answer, closed)

    def test_9_3_1_connections_to_the_backend_persist(self):
        with self.rule("RFC 9112 9.3", "one connection for one request after another"), self.client() as client:
            for n in range(5):
                client.send(get(b"/%d" % n))
                self.assertEqual(client.answer().status, 200)
            seen = self.origin.take()
            self.assertEqual(len({r.connection for r in seen}), 1)
            self.assertEqual([r.values(b"Connection") for r in seen], [[]] * 5)

    def test_9_3_2_pipelining(self):
        rule = "RFC 9112 9.3.2"
        self.origin.reply = self.echo
        with self.rule(rule, "answers come in the order of the requests"), self.client() as client:
            client.send(get(b"/1") + get(b"/2", method=b"HEAD") + post(b"Content-Length: 2\r\n", b"ab", b"/3") +
                        post(b"Transfer-Encoding: chunked\r\n", b"2\r\ncd\r\n0\r\n\r\n", b"/4") +
                        get(b"/5", method=b"HEAD") +
                        get(b"/6"))
            bodies = [client.answer(m).body for m in ("GET", "HEAD", "POST", "POST", "HEAD", "GET")]
            self.assertEqual(bodies, [b"GET /1 ", b"", b"POST /3 ab", b"POST /4 cd", b"", b"GET /6 "])
            self.assertEqual(self.lines(), [b"GET /1", b"HEAD /2", b"POST /3", b"POST /4", b"HEAD /5", b"GET /6"])
        with self.rule(rule, "a hundred"), self.client() as client:
            client.send(b"".join(get(b"/%d" % n) for n in range(100)))
            self.assertEqual([client.answer().body for _ in range(100)], [b"GET /%d " % n for n in range(100)])
        self.origin.take()
        with self.rule(rule, "a second waits until the first is answered"), self.client() as client:
            asked, go = threading.Event(), threading.Event()

            def slow(sock, request):
                asked.set()
                go.wait(harness.WAIT)
                return self.echo(sock, request)

            self.origin.reply = slow
            client.send(get(b"/slow") + get(b"/behind"))
            self.assertTrue(asked.wait(harness.WAIT))
            self.assertEqual(self.lines(), [b"GET /slow"])
            go.set()
            self.assertEqual([client.answer().body, client.answer().body], [b"GET /slow ", b"GET /behind "])
        self.origin.take()
        self.origin.reply = http1_wire.OK
        with self.rule(rule, "a bad one behind good ones"), self.client() as client:
            client.send(get(b"/1") + get(b"/2") + b"GET  / HTTP/1.1\r\n\r\n" + get(b"/3"))
            answers = [client.answer() for _ in range(3)]
            self.assertEqual([a.status for a in answers], [200, 200, 400])
            self.check_state(client, answers[2], True)
            self.assertEqual(self.lines(), [b"GET /1", b"GET /2"])
        with self.rule("RFC 9112 9.6", "nothing behind a close is processed"), self.client() as client:
            client.send(get(b"/1", b"Connection: close\r\n") + get(b"/2"))
            answer = client.answer()
            self.check_state(client, answer, True)
            self.assertEqual(self.lines(), [b"GET /1"])
        with self.rule("RFC 9112 9.6", "nor behind HTTP/1.0"), self.client() as client:
            client.send(get(b"/1", version=b"HTTP/1.0") + get(b"/2"))
            answer = client.answer()
            self.check_state(client, answer, True)
            self.assertEqual(self.lines(), [b"GET /1"])

    def echo(self, sock, request):
        body = request.method + b" " + request.target + b" " + request.body
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        sock.sendall(head if request.method == b"HEAD" else head + body)
        return True

    def test_9_3_early_answers(self):
        # RFC 9112 9.3: the body of a request that was answered early is read, or the connection ends.
        inner = get(b"/inner")
        rule = "RFC 9112 9.3"
        for name, fields, body in (("a length", b"Content-Length: %d\r\n" % len(inner), inner),
                                   ("chunked", b"Transfer-Encoding: chunked\r\n",
                                    b"%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner))):
            request = post(fields, body).replace(b"POST", b"TRACE", 1)
            for pieces in ((request + get(b"/next"),), (request[:-len(body)], body + get(b"/next"))):
                with self.rule(rule, f"{name}, in {len(pieces)}: what is in a body is no request"), \
                        self.client() as client:
                    client.send(pieces[0])
                    answer = client.answer()
                    self.assertEqual(answer.status, 405)
                    for piece in pieces[1:]:
                        client.send(piece)
                    if b"close" in answer.options():
                        self.assertEqual(client.rest(), b"")
                        self.assertEqual(self.lines(), [])
                    else:
                        self.assertEqual(client.answer().status, 200)
                        self.assertEqual(self.lines(), [b"GET /next"])
        with self.rule(rule, "a bad chunk in what is dropped"), self.client() as client:
            client.send(post(b"Transfer-Encoding: chunked\r\n").replace(b"POST", b"TRACE", 1))
            self.assertEqual(client.answer().status, 405)
            client.send(b"xyz\r\n" + get(b"/next"))
            self.assertEqual(client.rest(), b"")
            self.assertEqual(self.lines(), [])
        with self.rule(rule, "a body that goes on and on"), self.client() as client:
            client.send(post(b"Content-Length: 100000000\r\n").replace(b"POST", b"TRACE", 1))
            answer = client.answer()
            self.assertEqual(answer.status, 405)
            self.check_state(client, answer, True)
        with self.rule(rule, "a backend's early answer"), self.client() as client:
            self.origin.reply = http1_wire.OK
            client.send(post(b"Content-Length: %d\r\n" % len(inner), inner) + get(b"/next"))
            self.assertEqual([client.answer().status, client.answer().status], [200, 200])
            self.assertEqual(self.lines(), [b"POST /", b"GET /next"])

    # ---- 9.6, 9.8 ---------------------------------------------------------------------------------
    def test_9_6_half_closed(self):
        rule = "RFC 9112 9.6"
        with self.rule(rule, "a client that has said its last is answered"), self.client() as client:
            client.send(get(b"/1") + get(b"/2"))
            client.end()
            self.assertEqual([client.answer().status, client.answer().status], [200, 200])
            self.assertEqual(client.rest(), b"")
            self.assertEqual(self.lines(), [b"GET /1", b"GET /2"])
        with self.rule(rule, "a refusal arrives although more was sent"), self.client() as client:
            client.send(b"GET  / HTTP/1.1\r\n\r\n" + b"x" * 2_000_000)
            self.assertEqual(client.answer().status, 400)
            client.rest()
            self.assertEqual(self.lines(), [])

    def test_9_8_tls(self):
        rule = "RFC 9112 9.8"
        for name, raw in (("close", get(fields=b"Connection: close\r\n")), ("a refusal", b"GET  / HTTP/1.1\r\n\r\n"),
                          ("HTTP/1.0", get(version=b"HTTP/1.0"))):
            with self.rule(rule, f"{name}: closure is announced"), self.tls() as client:
                client.send(raw)
                client.answer()
                self.assertEqual(client.rest(), b"")  # an end without close_notify raises here
            self.origin.take()
        with self.rule(rule, "a request that was cut off is not whole"), self.tls() as client:
            client.send(post(b"Content-Length: 10\r\n", b"hello", b"/cut"))
            self.origin.wait_heard()
            client.sock.close()  # without a close_notify
            self.origin.wait_cut(b"POST /cut ")
            self.assertEqual(self.lines(), [])

    def tls(self):
        edge = self.edge_process
        context = ssl.create_default_context(cafile=str(edge.certificate.chain))
        context.set_alpn_protocols(["http/1.1"])
        client = http1_wire.Client(edge.port)
        client.sock = context.wrap_socket(client.sock, server_hostname="localhost", suppress_ragged_eofs=False)
        client.stream = http1_wire.Stream(client.sock)
        return client

    # ---- RFC 9110 ---------------------------------------------------------------------------------
    def test_9110_10_1_1_expect(self):
        rule = "RFC 9110 10.1.1"
        expect = b"Expect: 100-continue\r\n"
        for name, fields, body in (("a length", b"Content-Length: 5\r\n", b"hello"),
                                   ("chunked", b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
                                   ("any case", b"Content-Length: 5\r\nexpect: 100-Continue\r\n", b"hello")):
            with self.rule(rule, name), self.client() as client:
                client.send(post(fields + (b"" if b"xpect" in fields else expect)))
                self.assertEqual(http1_wire.read_answer(client.stream).status, 100)
                client.send(body)
                answer = client.answer()
                self.assertEqual(answer.status, 200)
                seen = self.origin.take()
                self.assertEqual([(r.body, r.values(b"Expect")) for r in seen], [(b"hello", [])])
                self.check_state(client, answer, False)
        with self.rule(rule, "the body is there already"), self.client() as client:
            client.send(post(expect + b"Content-Length: 5\r\n", b"hello") + get(b"/next"))
            self.assertEqual([client.answer().status, client.answer().status], [200, 200])
            self.assertEqual([r.body for r in self.origin.take()], [b"hello", b""])
        with self.rule(rule, "there is no body"), self.client() as client:
            client.send(get(fields=expect))
            self.assertEqual(client.answer().status, 200)
            self.assertEqual(len(self.origin.take()), 1)
        with self.rule(rule, "of HTTP/1.0 it is ignored"), self.client() as client:
            client.send(post(expect + b"Content-Length: 5\r\n", b"hello").replace(b"1.1", b"1.0", 1))
            before, answer = http1_wire.read_final(client.stream)
            self.assertEqual((before, answer.status), ([], 200))
            self.assertEqual(self.origin.take()[0].body, b"hello")
        for value in (b"cake", b"100-continue, cake", b"100-continue;a=b", b"100"):
            with self.rule(rule, value), self.client() as client:
                client.send(post(b"Expect: " + value + b"\r\nContent-Length: 5\r\n"))
                answer = client.answer()
                self.assertEqual(answer.status, 417)
                self.check_state(client, answer, True)
                self.assertEqual(self.lines(), [])
        with self.rule(rule, "a final answer without it, and then no body is waited for"), self.client() as client:
            client.send(post(expect + b"Content-Length: 5\r\n").replace(b"POST", b"TRACE", 1))
            before, answer = http1_wire.read_final(client.stream)
            self.assertEqual((before, answer.status), ([], 405))
            self.check_state(client, answer, True)
            self.assertEqual(self.lines(), [])

    def test_9110_7_8_upgrade(self):
        rule = "RFC 9110 7.8"
        for protocol in (b"h2c", b"HTTP/2.0", b"TLS/1.0", b"cow, websocket"):
            with self.rule(rule, protocol), self.client() as client:
                client.send(get(fields=b"Upgrade: " + protocol + b"\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                                b"HTTP2-Settings: AAMAAABk\r\n"))
                answer = client.answer()
                self.assertEqual(answer.status, 200)
                seen = self.origin.take()[0]
                self.assertEqual(seen.values(b"Upgrade") + seen.values(b"Connection") + seen.values(b"HTTP2-Settings"),
                                 [])
                self.check_state(client, answer, False)
        with self.rule(rule, "with a body, which stays one"), self.client() as client:
            client.send(post(b"Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 24\r\n",
                             b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") +
                        get(b"/next"))
            self.assertEqual([client.answer().status, client.answer().status], [200, 200])
            self.assertEqual([len(r.body) for r in self.origin.take()], [24, 0])

    def test_9110_9_3_6_connect(self):
        # RFC 9110 9.3.6: what follows a CONNECT that is refused was meant for the tunnel.
        with self.rule("RFC 9110 9.3.6", "nothing behind a refused CONNECT is a request"), self.client() as client:
            client.send(b"CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n" + get(b"/inner"))
            answer = client.answer()
            self.assertEqual(answer.status, 501)
            self.check_state(client, answer, True)
            self.assertEqual(self.lines(), [])


if __name__ == "__main__":
    harness.main()
