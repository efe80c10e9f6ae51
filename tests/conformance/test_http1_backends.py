"""RFC 9112 toward backends: what a backend answers, byte by byte, and what the client gets of it.

An answer that breaks a rule is 502 and its connection is not used again; one that breaks it once its
head has been passed on ends visibly. What the client gets is read by http1_wire, which forgives
nothing, in all cases.
"""

import socket
import struct

import http1_wire
import harness

GET = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n"
LENGTH = b"Content-Length: 2\r\n"


def ok(fields=LENGTH, body=b"ok", status=b"200 OK", version=b"HTTP/1.1"):
    return version + b" " + status + b"\r\n" + fields + b"\r\n" + body


class Answers(http1_wire.Case):
    pool_settings = {"retries": 0, "response_timeout": "20s"}
    more_toml = '[limits]\nmax_response_head = "16KiB"\nmax_fields = 60\n'

    def send(self, raw, ending):
        """The backend's next answer is `raw`; then its end: None, "close" or "reset"."""

        def reply(sock, _):
            self.origin.reply = http1_wire.OK
            sock.sendall(raw)
            if ending == "reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()
            return ending is None

        self.origin.reply = reply

    def exchange(self, raw, ending=None, method="GET", request=None):
        """(informational answers, the answer, whether the backend's connection was used again).

        The request after it, on the client's connection if that lives, is answered in its turn.
        """
        self.send(raw, ending)
        with self.client() as client:
            client.send(request or GET.replace(b"GET", method.encode(), 1))
            before, answer = http1_wire.read_final(client.stream, method)
            seen = self.origin.take()
            self.assertEqual(len(seen), 1, "sent once")
            if not answer.complete:
                self.assertEqual(client.rest(), b"")
        with self.client() as client:
            client.send(b"GET /probe HTTP/1.1\r\nHost: probe.test\r\nConnection: close\r\n\r\n")
            probe = client.answer()
            self.assertEqual((probe.status, probe.body, probe.values(b"X-Poison")), (200, b"", []))
            self.assertEqual(client.rest(), b"")
            again = self.origin.take()
            self.assertEqual([r.start for r in again], [b"GET /probe HTTP/1.1"])
        return before, answer, again[0].connection == seen[0].connection

    def bad(self, rule, name, raw, **kwargs):
        """Refused before anything of it reached the client: 502, and never used again."""
        with self.rule(rule, name):
            before, answer, again = self.exchange(raw, **kwargs)
            self.assertEqual(answer.status, 502, answer.fields)
            self.assertFalse(again)
            self.assertTrue(answer.complete)

    def good(self, rule, name, raw, status=200, body=b"ok", has=(), lacks=(), again=True, trailers=None, chunked=None,
             **kwargs):
        with self.rule(rule, name):
            before, answer, used = self.exchange(raw, **kwargs)
            self.assertEqual((answer.status, answer.body, answer.complete), (status, body, True))
            for line in has:
                self.assertTrue(answer.line(line), f"{line} is not in {answer.fields}")
            for name in lacks:
                self.assertEqual(answer.values(name), [])
            if trailers is not None:
                self.assertEqual(answer.trailers, trailers)
            if chunked is not None:
                self.assertEqual(answer.chunked, chunked)
            self.assertEqual(used, again, "the backend's connection was used again")
            return before

    def cut(self, rule, name, raw, ending=None, body=b""):
        """The head was passed on; then the client sees that the body is not whole."""
        with self.rule(rule, name):
            _, answer, again = self.exchange(raw, ending)
            self.assertEqual(answer.status, 200)
            self.assertFalse(answer.complete, "the client took it for whole")
            self.assertTrue(body.startswith(answer.body), answer.body)
            self.assertFalse(again)

    # ---- 2 to 5: the head -------------------------------------------------------------------------
    def test_2_2_line_ends(self):
        rule = "RFC 9112 2.2"
        self.bad(rule, "bare LFs", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok")
        self.bad(rule, "bare LF after the status line", b"HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok")
        self.bad(rule, "bare LF after a field", b"HTTP/1.1 200 OK\r\nContent-Length: 2\nX: 1\r\n\r\nok")
        self.bad(rule, "bare LF as the empty line", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nok")
        self.bad(rule, "bare CR in a value", ok(LENGTH + b"X: a\rb\r\n"))
        self.bad(rule, "bare CR in the reason", ok(status=b"200 O\rK"))
        self.bad(rule, "CR CR LF", b"HTTP/1.1 200 OK\r\r\nContent-Length: 2\r\n\r\nok")
        self.bad(rule, "space before the first field", ok(b" " + LENGTH))
        self.bad(rule, "an empty line before the status line", b"\r\n" + ok())
        self.bad(rule, "NUL", ok(LENGTH + b"X: a\0b\r\n"))

    def test_4_status_line(self):
        rule = "RFC 9112 4"
        self.good(rule, "no reason", ok(status=b"200 "))
        self.good(rule, "no reason and no space", ok(status=b"200"))
        self.good(rule, "a reason of our own is sent", ok(status=b"200 \xe9t\xe9"))
        for status in (b"2000 OK", b"20 OK", b"2 OK", b"200OK", b" 200 OK", b"2x0 OK", b"-20 OK", b"+20 OK", b"0x2 OK",
                       b"099 X",
                       b"000 X", b"OK", b"", b"\t200 OK", b"200\tOK", b"200 O\x07K", b"200 O\0K", b"200 O\x7fK"):
            self.bad(rule, status, ok(status=status))
        for version in (b"HTTP/2.0", b"HTTP/0.9", b"http/1.1", b"HTTP/1.", b"HTTP/1.10", b"HTTP/11.1", b"ICY", b"HTTP",
                        b"HTP/1.1", b"HTTP/1,1", b" HTTP/1.1"):
            self.bad("RFC 9112 2.3", version, ok(version=version))
        self.bad(rule, "a body and no head", b"<html>ok</html>\r\n\r\n", ending="close")
        self.bad("RFC 9110 15", "600", ok(status=b"600 X"))
        self.bad("RFC 9110 15", "999", ok(status=b"999 X"))
        for status in (201, 203, 206, 299, 300, 399, 400, 418, 451, 499, 500, 599):
            self.good("RFC 9110 15", status, ok(status=b"%d X" % status), status)
        self.good("RFC 9110 2.5", "a higher minor version", ok(version=b"HTTP/1.2"))
        # RFC 9112 9.3.1: a GET goes again where a kept connection ended, a POST does not.
        self.bad("RFC 9112 9.3.1", "the end before an answer to POST", b"", ending="close", request=POST)
        self.bad("RFC 9112 9.3.1", "a reset before an answer to POST", b"", ending="reset", request=POST)
        self.bad("RFC 9112 8", "the end in the head", b"HTTP/1.1 200 OK\r\nContent-Le", ending="close")
        self.bad("RFC 9112 8", "the end before the empty line", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
                 ending="close")

    def test_5_fields(self):
        rule = "RFC 9112 5"
        self.bad(rule, "no colon", ok(LENGTH + b"X\r\n"))
        self.bad(rule, "no name", ok(LENGTH + b": v\r\n"))
        for byte in b'()<>@,;\\"/[]?={} \x80':
            self.bad("RFC 9110 5.1", bytes([byte]), ok(LENGTH + b"X" + bytes([byte]) + b"Y: 1\r\n"))
        for byte in (0, 1, 8, 11, 12, 27, 31, 127):
            self.bad("RFC 9110 5.5", f"byte {byte}", ok(LENGTH + b"X: a" + bytes([byte]) + b"b\r\n"))
        self.good("RFC 9112 5.1", "space before the colon is taken out", ok(LENGTH + b"X-A \t: 1\r\n"), has=[b"X-A: 1"])
        self.good("RFC 9112 5.1", "of a length too", ok(b"Content-Length : 2\r\n"))
        self.good("RFC 9112 5.1", "space around a value", ok(LENGTH + b"X-A:\t 1 2 \t\r\nX-B:\r\n"),
                  has=[b"X-A: 1 2", b"X-B: "])
        self.good("RFC 9110 5.5", "bytes above 0x7f", ok(LENGTH + b"X-A: \xe9\t\xff\r\n"), has=[b"X-A: \xe9\t\xff"])
        self.bad("RFC 9112 5.2", "a fold", ok(LENGTH + b"X: 1\r\n 2\r\n"))
        self.bad("RFC 9112 5.2", "a fold of a length", ok(b"Content-Length:\r\n 2\r\n"))
        self.bad("RFC 9112 5.2", "a fold with a tab", ok(LENGTH + b"X: 1\r\n\tY: 2\r\n"))
        with self.rule("RFC 9110 5.3", "lines of one name stay apart and in order"):
            _, answer, _ = self.exchange(ok(LENGTH + b"Set-Cookie: a=1\r\nX: 1\r\nSet-Cookie: b=2, c\r\nX: 2\r\n"))
            self.assertEqual(answer.values(b"Set-Cookie"), [b"a=1", b"b=2, c"])
            self.assertEqual(answer.values(b"X"), [b"1", b"2"])
        self.bad("RFC 9110 5.4", "a larger head than the limit", ok(LENGTH + b"X: " + b"a" * 20_000 + b"\r\n"))
        self.bad("RFC 9110 5.4", "more fields than the limit", ok(LENGTH + b"X: 1\r\n" * 70))
        self.bad("RFC 9110 5.4", "a head without an end", b"HTTP/1.1 200 OK\r\nX: " + b"a" * 40_000)

    # ---- 6: framing -------------------------------------------------------------------------------
    def test_6_1_transfer_encoding(self):
        rule, te, body = "RFC 9112 6.1", b"Transfer-Encoding: chunked\r\n", b"2\r\nok\r\n0\r\n\r\n"
        self.good(rule, "chunked", ok(te, body), chunked=True)
        self.good(rule, "another spelling", ok(b"transfer-encoding: \tChunked \r\n", body), chunked=True)
        for value in (b"", b"identity", b"gzip", b"gzip, chunked", b"chunked, gzip", b"chunked, chunked", b"chunked,",
                      b"xchunked", b"chunked;q=1", b'"chunked"', b"cow"):
            self.bad(rule, value, ok(b"Transfer-Encoding: " + value + b"\r\n", body))
        self.bad(rule, "two fields", ok(te + te, body))
        self.bad(rule, "two fields that differ", ok(te + b"Transfer-Encoding: identity\r\n", body))
        self.bad(rule, "in HTTP/1.0", ok(te, body, version=b"HTTP/1.0"))
        self.bad("RFC 9112 6.3", "a length first", ok(LENGTH + te, body))
        self.bad("RFC 9112 6.3", "a length last", ok(te + LENGTH, body))
        self.good(rule, "none is sent to HTTP/1.0", ok(te, body), request=b"GET / HTTP/1.0\r\n\r\n", chunked=False)
        self.good(rule, "none in a 204", ok(te, b"", status=b"204 No Content"), 204, b"", lacks=[b"Transfer-Encoding"])
        self.good(rule, "none in a 304", ok(te, b"", status=b"304 Not Modified"), 304, b"",
                  lacks=[b"Transfer-Encoding"])
        self.good("RFC 9112 6.3", "an answer to HEAD has no body", ok(te, b""), body=b"", method="HEAD",
                  lacks=[b"Transfer-Encoding"])

    def test_6_2_length(self):
        rule = "RFC 9112 6.3"
        for value in (b"", b"2, 2", b"2,2", b"2 2", b"+2", b"-2", b"0x2", b"2.0", b"2;", b"two",
                      b"18446744073709551616", b"2a"):
            self.bad(rule, value, ok(b"Content-Length: " + value + b"\r\n"))
        self.bad(rule, "two that agree", ok(LENGTH + LENGTH))
        self.bad(rule, "two that differ", ok(LENGTH + b"content-length: 3\r\n"))
        self.good(rule, "leading zeros go", ok(b"Content-Length: 002\r\n"), has=[b"Content-Length: 2"])
        self.good(rule, "a length of 0", ok(b"Content-Length: 0\r\n", b""), body=b"", has=[b"Content-Length: 0"])
        ten = b"Content-Length: 10\r\n"
        self.good("RFC 9110 8.6", "of HEAD is passed on", ok(ten, b""), body=b"", method="HEAD",
                  has=[b"Content-Length: 10"])
        self.good("RFC 9110 8.6", "of 304 is passed on", ok(ten, b"", b"304 Not Modified"), 304, b"",
                  has=[b"Content-Length: 10"])
        self.good("RFC 9110 8.6", "of 204 is not", ok(b"Content-Length: 0\r\n", b"", b"204 No Content"), 204, b"",
                  lacks=[b"Content-Length"])
        self.good("RFC 9110 8.6", "of 204 is not, whatever it says", ok(ten, b"", b"204 No Content"), 204, b"",
                  lacks=[b"Content-Length"])

    def test_6_3_ends(self):
        rule = "RFC 9112 6.3"
        self.good(rule, "until the end of the connection", ok(b""), ending="close", again=False, chunked=True)
        self.good(rule, "until the end, HTTP/1.0", ok(b"", version=b"HTTP/1.0"), ending="close", again=False,
                  chunked=True)
        self.good(rule, "until the end, to HTTP/1.0", ok(b""), ending="close", again=False, chunked=False,
                  request=b"GET / HTTP/1.0\r\n\r\n")
        self.good(rule, "an empty body until the end", ok(b"", b""), body=b"", ending="close", again=False)
        rule = "RFC 9112 8"
        self.cut(rule, "a length and an early end", ok(b"Content-Length: 10\r\n", b"hello"), "close", b"hello")
        self.cut(rule, "a length and nothing of it", ok(b"Content-Length: 10\r\n", b""), "close")
        self.cut(rule, "a length and a reset", ok(b"Content-Length: 10\r\n", b"hello"), "reset", b"hello")
        te = b"Transfer-Encoding: chunked\r\n"
        for name, body in (("in a chunk", b"5\r\nhel"), ("behind a chunk", b"5\r\nhello\r\n"),
                           ("in a size", b"5\r\nhello\r\n5"), ("in the last chunk", b"5\r\nhello\r\n0\r\n"),
                           ("in the trailers", b"5\r\nhello\r\n0\r\nX: 1\r\n"), ("before the first chunk", b"")):
            self.cut(rule, "chunked, an end " + name, ok(te, body), "close", b"hello")
        self.cut(rule, "chunked and a reset", ok(te, b"5\r\nhello\r\n"), "reset", b"hello")
        self.cut(rule, "a reset where the end of the connection is the body's", ok(b"", b"hello"), "reset", b"hello")

    def test_6_3_more_than_an_answer(self):
        # RFC 9112 6.3: what follows an answer is never taken for an answer to the next request.
        rule = "RFC 9112 6.3"
        poison = ok(b"X-Poison: 1\r\nContent-Length: 6\r\n", b"poison")
        te = b"Transfer-Encoding: chunked\r\n"
        self.good(rule, "two answers with lengths", ok() + poison, again=False)
        self.good(rule, "two answers, chunked", ok(te, b"2\r\nok\r\n0\r\n\r\n") + poison, again=False)
        self.good(rule, "a byte more than the length", ok(body=b"okX"), again=False)
        self.good(rule, "CRLF more than the length", ok(body=b"ok\r\n"), again=False)
        self.good(rule, "a body behind 204", ok(b"", b"body", b"204 No Content") + poison, 204, b"", again=False)
        self.good(rule, "a body behind 304", ok(LENGTH, b"ok", b"304 Not Modified") + poison, 304, b"", again=False)
        self.good(rule, "a body behind HEAD's answer", ok() + poison, body=b"", method="HEAD", again=False)
        self.good(rule, "chunks behind HEAD's answer", ok(te, b"2\r\nok\r\n0\r\n\r\n"), body=b"", method="HEAD",
                  again=False)
        self.good(rule, "chunks behind 204", ok(te, b"2\r\nok\r\n0\r\n\r\n", b"204 No Content"), 204, b"", again=False)

    # ---- 7: chunks --------------------------------------------------------------------------------
    def test_7_1_chunks(self):
        rule, te, last = "RFC 9112 7.1", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n"
        self.good(rule, "several", ok(te, b"1\r\no\r\n1\r\nk\r\n" + last))
        self.good(rule, "leading zeros", ok(te, b"0002\r\nok\r\n000\r\n\r\n"))
        self.good("RFC 9112 7.1.1", "extensions are dropped", ok(te, b'2;a;b="c"\r\nok\r\n0;d\r\n\r\n'))
        for name, bad in {
            "bare LF after the size": b"2\nok\r\n", "bare LF after the data": b"2\r\nok\n",
            "no line end after the data": b"2\r\nok", "data longer than its size": b"2\r\nokk\r\n",
            "no size": b"\r\nok\r\n", "a sign": b"+2\r\nok\r\n", "a prefix": b"0x2\r\nok\r\n",
            "more than 64 bits": b"10000000000000002\r\nok\r\n", "a space": b"2 \r\nok\r\n", "no digit": b"xyz\r\n",
            "a bad extension": b'2;a="\x01"\r\nok\r\n', "bare CR in an extension": b"2;a\rb\r\nok\r\n",
            "NUL": b"2\0\r\nok\r\n",
        }.items():
            self.cut(rule, name, ok(te, b"5\r\nhello\r\n" + bad + last), body=b"hellook")
        rule, data = "RFC 9112 7.1.2", b"2\r\nok\r\n0\r\n"
        self.good(rule, "trailers pass", ok(te, data + b"X-Sum: 1\r\nY: 2\r\n\r\n"),
                  trailers=[(b"X-Sum", b"1"), (b"Y", b"2")], lacks=[b"X-Sum"])
        for field in (b"Content-Length: 5", b"Transfer-Encoding: chunked", b"Connection: close", b"Set-Cookie: a=b",
                      b"Location: /", b"WWW-Authenticate: Basic", b"Date: x", b"Age: 1", b"Vary: *",
                      b"Content-Type: a/b", b"Content-Encoding: gzip", b"Content-Range: bytes 0-1/2",
                      b"Cache-Control: no-store", b"Expires: 0", b"Upgrade: cow", b"Keep-Alive: 1", b"Trailer: X",
                      b"Retry-After: 1", b"Content_Length: 5"):
            self.good("RFC 9110 6.5.1", field, ok(te, data + field + b"\r\nX-Sum: 1\r\n\r\n"),
                      trailers=[(b"X-Sum", b"1")])
        for name, section in {"bare LF": b"X: 1\n\r\n", "a fold": b"X: 1\r\n 2\r\n\r\n", "no colon": b"X\r\n\r\n",
                              "NUL": b"X: \0\r\n\r\n",
                              "a status line": ok(), "larger than the limit": b"X: " + b"a" * 9000 +
                              b"\r\n\r\n"}.items():
            self.cut(rule, name, ok(te, data + section), body=b"ok")
        self.good("RFC 9112 7.1.2", "none to HTTP/1.0", ok(te + b"Trailer: X\r\n", data + b"X: 1\r\n\r\n"), trailers=[],
                  lacks=[b"Trailer", b"X"], request=b"GET / HTTP/1.0\r\n\r\n")

    # ---- 9: connections ---------------------------------------------------------------------------
    def test_9_3_persistence(self):
        rule = "RFC 9112 9.3"
        self.good(rule, "it persists", ok())
        for value in (b"close", b"Close", b"CLOSE", b"keep-alive, close", b", close ,", b"x,close"):
            self.good(rule, value, ok(LENGTH + b"Connection: " + value + b"\r\n"), again=False, lacks=[b"Connection"])
        self.good(rule, "two fields", ok(LENGTH + b"Connection: keep-alive\r\nConnection: close\r\n"), again=False)
        self.good(rule, "HTTP/1.0", ok(version=b"HTTP/1.0"), again=False)
        self.good(rule, "HTTP/1.0 with keep-alive", ok(LENGTH + b"Connection: Keep-Alive\r\n", version=b"HTTP/1.0"))
        self.good(rule, "HTTP/1.0 with both", ok(LENGTH + b"Connection: keep-alive, close\r\n", version=b"HTTP/1.0"),
                  again=False)
        self.good(rule, "the end behind a whole answer", ok(), ending="close", again=False)

    def test_9_2_bytes_that_nobody_waits_for(self):
        poison = ok(b"X-Poison: 1\r\nContent-Length: 6\r\n", b"poison")
        for name, stray in (("an answer", poison), ("a byte", b"X"), ("an empty line", b"\r\n"),
                            ("100", b"HTTP/1.1 100 Continue\r\n\r\n"), ("the end", b"")):
            with self.rule("RFC 9112 9.2", f"{name} on a connection that waits for no answer"), self.client() as client:
                sockets = []

                def reply(sock, _, sockets=sockets):
                    self.origin.reply = http1_wire.OK
                    sockets.append(sock)
                    sock.sendall(ok())
                    return True

                self.origin.reply = reply
                client.send(GET)
                self.assertEqual(client.answer().body, b"ok")
                if stray:
                    sockets[0].sendall(stray)
                else:
                    sockets[0].shutdown(socket.SHUT_WR)
                http1_wire.delivered(sockets[0])
                client.send(GET.replace(b"/", b"/next", 1))
                answer = client.answer()
                self.assertEqual((answer.status, answer.body, answer.values(b"X-Poison")), (200, b"", []))
                seen = self.origin.take()
                self.assertEqual([r.target for r in seen], [b"/", b"/next"])
                self.assertNotEqual(seen[0].connection, seen[1].connection)

    def test_9_3_1_a_kept_connection_that_ends(self):
        # What is idempotent goes again, on another connection, and the client does not see it.
        rule = "RFC 9112 9.3.1"
        for ending in ("close", "reset"):
            for method, again in (("GET", True), ("HEAD", True), ("PUT", True), ("DELETE", True), ("POST", False),
                                  ("PATCH", False), ("COW", False)):
                with self.rule(rule, f"{method}, {ending}"), self.client() as client:
                    client.send(GET)
                    self.assertEqual(client.answer().status, 200)
                    self.send(b"", ending)
                    client.send(GET.replace(b"GET", method.encode(), 1))
                    self.assertEqual(client.answer(method).status, 200 if again else 502)
                    seen = self.origin.take()
                    self.assertEqual([r.method for r in seen], [b"GET"] + [method.encode()] * (1 + again))
                    self.assertEqual(seen[0].connection, seen[1].connection)

    def test_9110_7_6_1_hop_by_hop(self):
        rule = "RFC 9110 7.6.1"
        self.good(rule, "what Connection names goes",
                  ok(LENGTH + b"X-A: 1\r\nConnection: x-a, X-B\r\nX-B: 2\r\nX-C: 3\r\n"),
                  lacks=[b"X-A", b"X-B", b"Connection"], has=[b"X-C: 3"])
        for field in (b"Keep-Alive: timeout=5", b"Proxy-Connection: close", b"Upgrade: h2c", b"TE: trailers",
                      b"Proxy-Authenticate: Basic"):
            self.good(rule, field, ok(LENGTH + field + b"\r\n"), lacks=[field.split(b":")[0]])
        self.good(rule, "it cannot take the length away", ok(LENGTH + b"Connection: Content-Length\r\n"),
                  has=[b"Content-Length: 2"])
        self.bad(rule, "more options than the limit", ok(LENGTH + b"Connection: " + b"a," * 7000 + b"\r\n"))
        self.good("RFC 9110 7.6.3", "Via is added", ok(), has=[b"Via: 1.1 pqedge"])
        self.good("RFC 9110 7.6.3", "Via is appended to", ok(LENGTH + b"Via: 1.1 x\r\n"),
                  has=[b"Via: 1.1 x, 1.1 pqedge"])
        self.good("RFC 9110 7.6.3", "Via tells the version received", ok(LENGTH, version=b"HTTP/1.0"),
                  has=[b"Via: 1.0 pqedge"], again=False)
        with self.rule("RFC 9110 6.6.1", "Date is added where there is none"):
            _, answer, _ = self.exchange(ok())
            self.assertEqual(len(answer.values(b"Date")), 1)
        date = b"Date: Tue, 15 Nov 1994 08:12:31 GMT"
        self.good("RFC 9110 6.6.1", "Date is left as it is", ok(LENGTH + date + b"\r\n"), has=[date])
        for field in (b"Server: x/1 (y)", b'ETag: W/"a"', b"Vary: *", b"Cache-Control: max-age=0, no-transform",
                      b"Content-Encoding: cow", b"Location: http://a.test:1/%2e", b"Retry-After: 5",
                      b'WWW-Authenticate: Basic realm="a, b"', b"Allow: GET"):
            self.good("RFC 9110 7.7", field, ok(LENGTH + field + b"\r\n"), has=[field])

    # ---- 15.2: informational answers --------------------------------------------------------------
    def test_9110_15_2_informational(self):
        rule = "RFC 9110 15.2"
        early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nConnection: X-A\r\nX-A: 1\r\n\r\n"
        before = self.good(rule, "103 goes on, its fields by the rules of all", early + ok())
        self.assertEqual([a.status for a in before], [103])
        self.assertTrue(before[0].line(b"Link: </a>; rel=preload"))
        self.assertEqual(before[0].values(b"X-A") + before[0].values(b"Connection"), [])
        before = self.good(rule, "several", early + b"HTTP/1.1 102 Processing\r\n\r\n" + early + ok())
        self.assertEqual([a.status for a in before], [103, 102, 103])
        before = self.good(rule, "one that nobody knows", b"HTTP/1.1 199 X\r\n\r\n" + ok())
        self.assertEqual([a.status for a in before], [199])
        before = self.good("RFC 9110 8.6", "framing fields in it mean nothing",
                           b"HTTP/1.1 103 X\r\nContent-Length: 5\r\nLink: </a>\r\n\r\n" + ok())
        self.assertEqual([a.status for a in before], [103])
        before = self.good(rule, "none to HTTP/1.0", early + ok(), request=b"GET / HTTP/1.0\r\n\r\n")
        self.assertEqual(before, [])
        self.bad("RFC 9110 7.8", "101 that nobody asked for",
                 b"HTTP/1.1 101 X\r\nUpgrade: cow\r\nConnection: Upgrade\r\n\r\n")
        self.bad("RFC 9110 7.8", "101 to an upgrade that was not passed on",
                 b"HTTP/1.1 101 X\r\nUpgrade: cow\r\nConnection: Upgrade\r\n\r\n",
                 request=b"GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: cow\r\nConnection: Upgrade\r\n\r\n")
        with self.rule(rule, "no more than a bound"):
            before, answer, again = self.exchange(b"HTTP/1.1 102 X\r\n\r\n" * 40 + ok())
            self.assertEqual((answer.status, again), (502, False))
            self.assertLessEqual(len(before), 40)
        with self.rule(rule, "a body behind one is no answer"):
            before, answer, again = self.exchange(b"HTTP/1.1 103 X\r\n\r\nbody" + ok())
            self.assertEqual((answer.status, again), (502, False))
        with self.rule(rule, "the end behind one"):
            before, answer, again = self.exchange(early, "close")
            self.assertEqual((answer.status, again), (502, False))


if __name__ == "__main__":
    harness.main()
