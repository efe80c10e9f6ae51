"""RFC 9112 toward clients: bytes in, what must be answered, what a backend must and must not see.

A refused case is answered once, the connection ends, and nothing of it reaches the backend. A case
that passes reaches it once, in the one spelling that every reader takes the same way; that spelling
is held by http1_wire.Origin in all cases.
"""

import http1_wire
import harness

HOST = b"Host: a.test\r\n"


def get(fields=HOST, target=b"/", version=b"HTTP/1.1", method=b"GET"):
    return method + b" " + target + b" " + version + b"\r\n" + fields + b"\r\n"


def post(fields, body=b""):
    return b"POST / HTTP/1.1\r\n" + HOST + fields + b"\r\n" + body


def chunked(body):
    return post(b"Transfer-Encoding: chunked\r\n", body)


class Requests(http1_wire.Case):
    more_toml = '[limits]\nmax_target = "9KiB"\nmax_head = "16KiB"\nmax_fields = 60\nmax_body = "1MiB"\n'

    def refused(self, rule, name, raw, status=400):
        """Refused by its framing: one answer, the end, and the backend hears nothing."""
        with self.rule(rule, name), self.client() as client:
            client.send(raw)
            answer = client.answer()
            self.assertEqual(answer.status, status, answer.fields)
            self.check_state(client, answer, closed=True)
            self.assertEqual([r.start for r in self.origin.take()], [])

    def answered(self, rule, name, raw, status=400, method="GET"):
        """Sound framing, but not a request to pass on: the connection may live."""
        with self.rule(rule, name), self.client() as client:
            client.send(raw)
            answer = client.answer(method)
            self.assertEqual(answer.status, status, answer.fields)
            self.assertEqual([r.start for r in self.origin.take()], [])
            self.check_state(client, answer)

    def passed(self, rule, name, raw, line=None, body=b"", has=(), lacks=(), trailers=None, method="GET",
               closed=False):
        """One request reaches the backend; field lines in `has`, none of the names in `lacks`."""
        with self.rule(rule, name), self.client() as client:
            client.send(raw)
            answer = client.answer(method)
            self.assertEqual(answer.status, 200, answer.body)
            seen = self.origin.take()
            self.assertEqual(len(seen), 1)
            request = seen[0]
            if line is not None:
                self.assertEqual(request.start, line)
            self.assertEqual(request.body, body)
            for text in has:
                self.assertTrue(request.line(text), f"{text} is not in {request.fields}")
            for name in lacks:
                self.assertEqual(request.values(name), [])
            if trailers is not None:
                self.assertEqual(request.trailers, trailers)
            self.check_state(client, answer, closed)

    # ---- 2: the message ---------------------------------------------------------------------------
    def test_2_2_line_ends(self):
        rule = "RFC 9112 2.2"
        self.refused(rule, "bare LF after the request line", b"GET / HTTP/1.1\n" + HOST + b"\r\n")
        self.refused(rule, "bare LF after a field", b"GET / HTTP/1.1\r\nHost: a.test\nX: 1\r\n\r\n")
        self.refused(rule, "bare LF after the last field", b"GET / HTTP/1.1\r\nHost: a.test\n\r\n")
        self.refused(rule, "bare LF as the empty line", b"GET / HTTP/1.1\r\n" + HOST + b"\n")
        self.refused(rule, "bare LFs alone", b"GET / HTTP/1.1\nHost: a.test\n\n")
        self.refused(rule, "bare LF before the request line", b"\n" + get())
        self.refused(rule, "CR before CRLF", b"GET / HTTP/1.1\r\nHost: a.test\r\r\n\r\n")
        self.refused(rule, "bare CR in the target", b"GET /a\rb HTTP/1.1\r\n" + HOST + b"\r\n")
        self.refused(rule, "bare CR after the version", b"GET / HTTP/1.1\rX: 1\r\n" + HOST + b"\r\n")
        self.refused(rule, "bare CR in a name", get(HOST + b"X\rY: 1\r\n"))
        self.refused(rule, "bare CR in a value", get(HOST + b"X: a\rContent-Length: 5\r\n"))
        self.refused(rule, "bare CRs for line ends", b"GET / HTTP/1.1\rHost: a.test\r\r\n\r\n")
        self.refused(rule, "LF CR", b"GET / HTTP/1.1\n\rHost: a.test\n\r\n\r")

    def test_2_2_around_the_head(self):
        rule = "RFC 9112 2.2"
        self.passed(rule, "one empty line before the request line", b"\r\n" + get(), b"GET / HTTP/1.1")
        with self.rule(rule, "one empty line after a body"), self.client() as client:
            client.send(post(b"Content-Length: 2\r\n", b"ab") + b"\r\n" + get(target=b"/2"))
            self.assertEqual([client.answer().status, client.answer().status], [200, 200])
            self.assertEqual([r.body for r in self.origin.take()], [b"ab", b""])
        self.refused(rule, "space before the first field", get(b" X: 1\r\n" + HOST))
        self.refused(rule, "tab before the first field", get(b"\tX: 1\r\n" + HOST))
        self.refused(rule, "space before Host as the only field", get(b" " + HOST))
        self.refused(rule, "space before the request line", b" " + get())
        self.refused(rule, "a byte order mark", b"\xef\xbb\xbf" + get())
        self.refused(rule, "NUL before the request line", b"\0" + get())
        self.refused(rule, "a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
        self.refused(rule, "an answer", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        self.refused(rule, "the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505)

    def test_2_3_version(self):
        rule = "RFC 9112 2.3"
        for version in (b"http/1.1", b"Http/1.1", b"HTTP/1", b"HTTP/1.", b"HTTP/.1", b"HTTP/1.10", b"HTTP/11.1",
                        b"HTTP/01.1", b"HTTP/1.1.1", b"HTTP/1,1", b"HTTP/1.a", b"HTTP/-1.1", b"HTTP/ 1.1",
                        b"HTTP /1.1", b"HTTP//1.1", b"HTTP1.1", b"HTP/1.1", b"ICY/1.1", b"HTTPS/1.1", b"HTTP/1.1x",
                        b"HTTP/1.1 HTTP/1.1", b"1.1", b"/1.1"):
            self.refused(rule, version, get(version=version))
        for version in (b"HTTP/0.9", b"HTTP/2.0", b"HTTP/3.0", b"HTTP/9.9", b"HTTP/0.0"):
            self.refused("RFC 9110 15.6.6", version, get(version=version), 505)
        # RFC 9110 2.5: a higher minor version is read as the highest known one.
        self.passed("RFC 9110 2.5", "a higher minor version", get(version=b"HTTP/1.2"), b"GET / HTTP/1.1")
        self.passed("RFC 9110 2.5", "no Host, a higher minor version needs one", get(HOST, version=b"HTTP/1.9"),
                    b"GET / HTTP/1.1")
        self.refused("RFC 9112 3.2", "no Host in a higher minor version", get(b"", version=b"HTTP/1.2"))
        # An intermediary sends its own version (RFC 9110 2.5).
        self.passed("RFC 9110 2.5", "HTTP/1.0 goes on as HTTP/1.1", get(version=b"HTTP/1.0"), b"GET / HTTP/1.1",
                    closed=True)

    # ---- 3: the request line ----------------------------------------------------------------------
    def test_3_request_line(self):
        rule = "RFC 9112 3"
        for name, line in {
            "two spaces before the target": b"GET  / HTTP/1.1", "two spaces behind it": b"GET /  HTTP/1.1",
            "a tab before the target": b"GET\t/ HTTP/1.1", "a tab behind it": b"GET /\tHTTP/1.1",
            "a vertical tab": b"GET\x0b/ HTTP/1.1", "a form feed": b"GET\x0c/ HTTP/1.1",
            "a bare CR for a space": b"GET\r/ HTTP/1.1", "space at the end": b"GET / HTTP/1.1 ",
            "tab at the end": b"GET / HTTP/1.1\t", "no target": b"GET HTTP/1.1",
            "no target, two spaces": b"GET  HTTP/1.1",
            "no method": b"/ HTTP/1.1", "an empty method": b" / HTTP/1.1", "the method alone": b"GET",
            "two targets": b"GET / /b HTTP/1.1", "no version": b"GET /", "a space and no version": b"GET / ",
            "a no-break space": b"GET\xa0/ HTTP/1.1", "NUL in the method": b"G\0T / HTTP/1.1",
        }.items():
            self.refused(rule, name, line + b"\r\n" + HOST + b"\r\n")
        # HTTP/0.9 has no head that could be waited for.
        self.refused(rule, "HTTP/0.9", b"GET /\r\n")
        self.refused(rule, "HTTP/0.9 with a request behind it", b"GET /\r\n" + get())
        long = b"/" + b"a" * 8000
        self.passed(rule, "8,000 bytes of request line", get(target=long), b"GET " + long + b" HTTP/1.1")
        self.refused(rule, "a target beyond the limit", get(target=b"/" + b"a" * 9300), 414)
        self.refused(rule, "a target beyond the limit, without an end", b"GET /" + b"a" * 20_000, 414)

    def test_3_1_method(self):
        rule = "RFC 9112 3.1"
        for method in (b"get", b"Get", b"PURGE", b"M-SEARCH", b"X!#$%&'*+.^_`|~1"):
            self.passed(rule, method, get(method=method), method + b" / HTTP/1.1")
        for method in (b"G(T", b"G@T", b'"GET"', b"G,T", b"G/T", b"G[T]", b"G\x80T", b"GET:"):
            self.refused(rule, method, get(method=method))
        self.passed(rule, "get is not GET: a body is one", post(b"Content-Length: 2\r\n", b"ab").replace(
            b"POST", b"head"), b"head / HTTP/1.1", b"ab")

    def test_3_2_host(self):
        rule = "RFC 9112 3.2"
        self.refused(rule, "none", get(b""))
        self.refused(rule, "none, with an absolute target", get(b"", target=b"http://a.test/"))
        self.refused(rule, "two", get(HOST + b"Host: b.test\r\n"))
        self.refused(rule, "two that agree", get(HOST + HOST))
        self.refused(rule, "two in different spelling", get(HOST + b"hOST: b.test\r\n"))
        self.refused(rule, "two, one of them empty", get(HOST + b"Host:\r\n"))
        self.refused(rule, "two with other fields between", get(HOST + b"X: 1\r\nHost: b.test\r\n"))
        for value in (b"", b"a b", b"a.test, b.test", b"a.test,b.test", b"user@a.test", b"user:pw@a.test",
                      b"a.test:port",
                      b"a.test:-1", b"a.test:0", b"a.test:65536", b"a.test:80:80", b"a.test:80a", b":80", b"[::1",
                      b"::1", b"[::1]80", b"[g::1]", b"[]", b"[1.2.3.4]", b"a/b", b"a.test/", b"a?b", b"a#b", b"a\\b",
                      b"http://a.test", b"a..test", b".a.test", b"a%2etest", b"a'test", b'"a.test"', b"<a>",
                      b"a.test;b", b"a\x80", b"a(b)"):
            self.answered(rule, value, get(b"Host: " + value + b"\r\n"))
        for value in (b"a.test", b"A.Test", b"a.test:8080", b"a.test:", b"[::1]", b"[::1]:8080", b"127.0.0.1",
                      b"a_b.test", b"xn--bcher-kva.test", b"a.test."):
            self.passed(rule, value, get(b"Host: " + value + b"\r\n"), has=[b"Host: " + value])
        self.passed(rule, "spaces around it", get(b"hoST: \t a.test \t\r\n"), has=[b"Host: a.test"])
        self.passed(rule, "HTTP/1.0 knows none", get(b"", version=b"HTTP/1.0"), has=[b"Host: "], closed=True)
        self.refused(rule, "two in HTTP/1.0", get(HOST + HOST, version=b"HTTP/1.0"))

    def test_3_2_1_origin_form(self):
        rule = "RFC 9112 3.2.1"
        for target in (b"/", b"/a?b", b"/?", b"/a?b?c", b"//a//b", b"/a%2Fb%20c", b"/%7Euser", b"/a;b=c",
                       b"/a?x=http://b.test/", b"/a:b@c", b"/?a=%zz", b"/a?{b}|\"c\"", b"/..."):
            self.passed(rule, target, get(target=target), b"GET " + target + b" HTTP/1.1")
        for target in (b"a", b"?a", b"./a", b"a.test", b"a.test/", b"\\a", b";a", b"%2Fa", b":80", b"@"):
            self.refused(rule, target, get(target=target))
        self.refused(rule, "a fragment", get(target=b"/a#b"))
        self.refused(rule, "a byte above 0x7f", get(target=b"/\xc3\xa9"))
        self.refused(rule, "a control byte", get(target=b"/\x01"))
        self.refused(rule, "DEL", get(target=b"/\x7f"))

    def test_3_2_2_absolute_form(self):
        rule = "RFC 9112 3.2.2"
        for target, line, host in ((b"http://b.test/x?y", b"/x?y", b"b.test"), (b"http://b.test", b"/", b"b.test"),
                                   (b"http://b.test?y", b"/?y", b"b.test"),
                                   (b"HTTP://b.test:8080/", b"/", b"b.test:8080"),
                                   (b"http://[::1]/x", b"/x", b"[::1]"), (b"http://b.test//x", b"//x", b"b.test")):
            self.passed(rule, target, get(target=target), b"GET " + line + b" HTTP/1.1", has=[b"Host: " + host])
        self.passed(rule, "in HTTP/1.0 without Host", get(b"", target=b"http://b.test/x", version=b"HTTP/1.0"),
                    b"GET /x HTTP/1.1", has=[b"Host: b.test"], closed=True)
        for target in (b"http:///x", b"http://", b"http:/x", b"http:x", b"ftp://b.test/", b"file:///etc/passwd",
                       b"ws://b.test/", b"://b.test/", b"http//b.test/", b"1http://b.test/"):
            self.refused(rule, target, get(target=target))
        for target in (b"http://user@b.test/", b"http://user:pw@b.test/", b"http://b.test:0/", b"http://b.test:x/",
                       b"http://b%20test/", b"http://b.test,c.test/"):
            self.answered(rule, target, get(target=target))
        self.refused(rule, "a Host field that is no host", get(b"Host: a b\r\n", target=b"http://b.test/"))
        self.answered("RFC 9110 7.4", "https on a plain connection", get(target=b"https://a.test/"), 421)

    def test_3_2_3_authority_form(self):
        rule = "RFC 9112 3.2.3"
        for target in (b"a.test", b"a.test:", b"a.test:x", b"a.test:65536", b":80", b"http://a.test:80",
                       b"http://a.test/", b"/", b"*", b"user@a.test:80", b"a.test:80/x", b"a.test:80?x"):
            self.refused(rule, target, get(method=b"CONNECT", target=target))
        self.refused(rule, "with another method", get(target=b"a.test:80"))
        self.refused(rule, "no route takes CONNECT", get(b"Host: a.test:80\r\n", method=b"CONNECT",
                                                        target=b"a.test:80"), 501)

    def test_3_2_4_asterisk_form(self):
        rule = "RFC 9112 3.2.4"
        for method in (b"GET", b"HEAD", b"POST", b"options"):
            with self.rule(rule, method), self.client() as client:
                client.send(get(method=method, target=b"*"))
                answer = client.answer(method.decode())
                self.assertEqual(answer.status, 400)
                self.assertEqual(self.origin.take(), [])
                self.check_state(client, answer, closed=True)
        for target in (b"*", b"http://a.test"):
            with self.rule(rule, b"OPTIONS " + target), self.client() as client:
                client.send(get(method=b"OPTIONS", target=target))
                answer = client.answer()
                self.assertEqual(answer.status, 200)
                for request in self.origin.take():
                    self.assertEqual(request.start, b"OPTIONS * HTTP/1.1")
                self.check_state(client, answer, closed=False)
        self.refused(rule, "more than the asterisk", get(method=b"OPTIONS", target=b"*/"))
        self.passed(rule, "OPTIONS of a path", get(method=b"OPTIONS", target=b"/*"), b"OPTIONS /* HTTP/1.1")

    # ---- 5: fields --------------------------------------------------------------------------------
    def test_5_field_lines(self):
        rule = "RFC 9112 5"
        self.refused(rule, "no colon", get(HOST + b"no colon\r\n"))
        self.refused(rule, "no colon, a token", get(HOST + b"X\r\n"))
        self.refused(rule, "no name", get(HOST + b": v\r\n"))
        self.refused(rule, "a colon alone", get(HOST + b":\r\n"))
        for byte in b'()<>@,;\\"/[]?={} \x80\xff':
            self.refused("RFC 9110 5.1", bytes([byte]), get(HOST + b"X" + bytes([byte]) + b"Y: 1\r\n"))
        for byte in [*range(9), *range(11, 13), *range(14, 32), 127]:
            self.refused("RFC 9110 5.5", f"byte {byte} in a value", get(HOST + b"X: a" + bytes([byte]) + b"b\r\n"))
            self.refused("RFC 9110 5.1", f"byte {byte} in a name", get(HOST + b"X" + bytes([byte]) + b"Y: b\r\n"))
        self.passed("RFC 9110 5.5", "bytes above 0x7f and a tab", get(HOST + b"X: \x80\xe9\ta\xff\r\n"),
                    has=[b"X: \x80\xe9\ta\xff"])
        self.passed("RFC 9110 5.1", "names are kept as they came", get(HOST + b"x-lOW: 1\r\n!#$%&'*+.^_`|~: 2\r\n"),
                    has=[b"x-lOW: 1", b"!#$%&'*+.^_`|~: 2"])
        with self.rule("RFC 9110 5.3", "order of lines with one name"), self.client() as client:
            client.send(get(HOST + b"X: 1\r\nY: 0\r\nx: 2\r\nX: 3, 4\r\n"))
            self.assertEqual(client.answer().status, 200)
            self.assertEqual(self.origin.take()[0].values(b"X"), [b"1", b"2", b"3, 4"])
        self.refused("RFC 9110 5.4", "more fields than the limit", get(HOST + b"X: 1\r\n" * 61), 431)
        self.refused("RFC 9110 5.4", "a larger section than the limit", get(HOST + b"X: " + b"a" * 17_000 + b"\r\n"),
                     431)
        self.refused("RFC 9110 5.4", "a field without an end", b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 40_000,
                     431)

    def test_5_1_space_around(self):
        rule = "RFC 9112 5.1"
        self.refused(rule, "space before the colon", get(HOST + b"X : 1\r\n"))
        self.refused(rule, "tab before the colon", get(HOST + b"X\t: 1\r\n"))
        self.refused(rule, "space before Host's colon", get(b"Host : a.test\r\n"))
        self.refused(rule, "space before the colon of a length", post(b"Content-Length : 2\r\n", b"ab"))
        self.refused(rule, "space before the colon of a coding", post(b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n"))
        self.passed(rule, "space around a value", get(HOST + b"X: \t v w \t \r\n"), has=[b"X: v w"])
        self.passed(rule, "no space", get(HOST + b"X:v\r\nY:\r\nZ: \t\r\n"), has=[b"X: v", b"Y: ", b"Z: "])
        self.passed(rule, "colons in a value", get(HOST + b"X: a:b: c\r\n"), has=[b"X: a:b: c"])
        self.passed(rule, "space around a length", post(b"Content-Length:\t2 \r\n", b"ab"), body=b"ab")
        self.passed(rule, "space around a coding", post(b"Transfer-Encoding: \tchunked \r\n", b"2\r\nab\r\n0\r\n\r\n"),
                    body=b"ab")

    def test_5_2_folding(self):
        rule = "RFC 9112 5.2"
        self.refused(rule, "a space", get(HOST + b"X: 1\r\n 2\r\n"))
        self.refused(rule, "a tab", get(HOST + b"X: 1\r\n\t2\r\n"))
        self.refused(rule, "an empty fold", get(HOST + b"X: 1\r\n \r\n"))
        self.refused(rule, "of Host", get(b"Host:\r\n a.test\r\n"))
        self.refused(rule, "a fold with a colon", get(HOST + b"X: 1\r\n Content-Length: 5\r\n"))
        self.refused(rule, "of a length", post(b"Content-Length:\r\n 2\r\n", b"ab"))
        self.refused(rule, "of a coding", post(b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n"))
        self.refused(rule, "of a coding behind a length",
                     post(b"Content-Length: 5\r\nTransfer-Encoding:\r\n\tchunked\r\n",
                                                              b"0\r\n\r\n"))

    # ---- 6: framing -------------------------------------------------------------------------------
    def test_6_bodies(self):
        rule = "RFC 9112 6"
        for method in (b"GET", b"HEAD", b"DELETE", b"OPTIONS", b"PUT", b"PATCH", b"PURGE"):
            raw = post(b"Content-Length: 5\r\n", b"hello").replace(b"POST", method, 1)
            self.passed(rule, method + b" with a body", raw, method + b" / HTTP/1.1", b"hello",
                        has=[b"Content-Length: 5"], lacks=[b"Transfer-Encoding"], method=method.decode())
        self.passed("RFC 9112 6.3", "no framing field, no body", get(), lacks=[b"Content-Length", b"Transfer-Encoding"])
        self.passed("RFC 9110 8.6", "POST without a body says so", post(b""), has=[b"Content-Length: 0"])
        self.passed("RFC 9112 6.2", "a length of 0", post(b"Content-Length: 0\r\n"), has=[b"Content-Length: 0"])
        self.passed("RFC 9112 6.2", "a length of 0 with GET", get(HOST + b"Content-Length: 0\r\n"))
        inner = get(target=b"/inner")
        with self.rule("RFC 9112 6.3", "what follows a length is the next request"), self.client() as client:
            client.send(post(b"Content-Length: %d\r\n" % len(inner), inner) + get(target=b"/next"))
            self.assertEqual([client.answer().status, client.answer().status], [200, 200])
            seen = self.origin.take()
            self.assertEqual([(r.start, r.body) for r in seen],
                             [(b"POST / HTTP/1.1", inner), (b"GET /next HTTP/1.1", b"")])
        with self.rule("RFC 9112 6.3", "what follows a last chunk is the next request"), self.client() as client:
            client.send(chunked(b"%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner)) + get(target=b"/next"))
            self.assertEqual([client.answer().status, client.answer().status], [200, 200])
            seen = self.origin.take()
            self.assertEqual([(r.start, r.body) for r in seen],
                             [(b"POST / HTTP/1.1", inner), (b"GET /next HTTP/1.1", b"")])
        with self.rule("RFC 9112 6.3", "what follows GET's head is the next request"), self.client() as client:
            client.send(get() + get(target=b"/next"))
            self.assertEqual([client.answer().status, client.answer().status], [200, 200])
            self.assertEqual([r.start for r in self.origin.take()], [b"GET / HTTP/1.1", b"GET /next HTTP/1.1"])

    def test_6_1_transfer_encoding(self):
        rule, end = "RFC 9112 6.1", b"2\r\nab\r\n0\r\n\r\n"
        for value in (b"chunked", b"Chunked", b"CHUNKED"):
            self.passed(rule, value, post(b"Transfer-Encoding: " + value + b"\r\n", end), body=b"ab",
                        has=[b"Transfer-Encoding: chunked"], lacks=[b"Content-Length"])
        for value in (b"", b",", b"chunked,", b",chunked", b"chunked, chunked", b"chunked chunked",
                      b"chunked, identity", b"chunked, gzip", b"identity", b"gzip", b"deflate", b"compress", b"x-gzip",
                      b"cow", b"xchunked", b"chunke", b"chunkedx", b"chunked;q=1", b"chunked; a=b", b'"chunked"',
                      b"'chunked'", b"=chunked", b"chunked\x80", b"identity, chunked, chunked", b"(a) chunked",
                      b"gzip; chunked"):
            self.refused(rule, value, post(b"Transfer-Encoding: " + value + b"\r\n", end))
        for value in (b"gzip, chunked", b"x-gzip,chunked", b"cow, chunked", b"deflate, gzip, chunked",
                      b"identity, chunked"):
            self.refused("RFC 9112 7", value, post(b"Transfer-Encoding: " + value + b"\r\n", end), 501)
        for value in (b"chunked\x0b", b"\x0bchunked", b"chunked\0", b"chun\x7fked"):
            self.refused(rule, value, post(b"Transfer-Encoding: " + value + b"\r\n", end))
        te = b"Transfer-Encoding: chunked\r\n"
        self.refused(rule, "two fields", post(te + te, end))
        self.refused(rule, "two fields, the other one first", post(b"Transfer-Encoding: identity\r\n" + te, end))
        self.refused(rule, "two fields, the other one last", post(te + b"Transfer-Encoding: identity\r\n", end))
        self.refused(rule, "two spellings of the name", post(te + b"transfer-ENCODING: cow\r\n", end))
        self.refused(rule, "in HTTP/1.0", post(te, end).replace(b"1.1", b"1.0", 1))
        self.refused(rule, "in HTTP/1.0 that would persist",
                     post(te + b"Connection: keep-alive\r\n", end).replace(b"1.1", b"1.0", 1))
        self.passed(rule, "with GET", post(te, end).replace(b"POST", b"GET", 1), b"GET / HTTP/1.1", b"ab",
                    has=[b"Transfer-Encoding: chunked"])
        self.passed(rule, "named in Connection", post(te + b"Connection: Transfer-Encoding\r\n", end), body=b"ab",
                    has=[b"Transfer-Encoding: chunked"])
        self.passed(rule, "an underscore for the hyphen is another name, and does not pass",
                    post(b"Content-Length: 2\r\nTransfer_Encoding: chunked\r\n", b"ab"), body=b"ab",
                    has=[b"Content-Length: 2"], lacks=[b"Transfer_Encoding"])

    def test_6_3_both(self):
        for rule in ("RFC 9112 6.1", "RFC 9112 6.3"):
            te, end = b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n"
            cl = b"Content-Length: 5\r\n" if rule.endswith("6.3") else b"content-length: 0\r\n"
            self.refused(rule, f"a length first {cl}", post(cl + te, end))
            self.refused(rule, f"a length last {cl}", post(te + cl, end))
            self.refused(rule, f"two lengths {cl}", post(cl + te + cl, end))
            self.refused(rule, f"a length and a coding that is not chunked {cl}",
                         post(cl + b"Transfer-Encoding: identity\r\n", b"hello"))
            self.refused(rule, f"a length and an empty coding {cl}", post(cl + b"Transfer-Encoding:\r\n", b"hello"))
            self.refused(rule, f"a coding named in Connection {cl}",
                         post(b"Connection: Transfer-Encoding\r\n" + cl + te, end))
            self.refused(rule, f"a length named in Connection {cl}", post(b"Connection: Content-Length\r\n" + cl + te,
                                                                          end))
            self.refused(rule, f"with GET {cl}", get(HOST + cl + te) + end)

    def test_6_3_length(self):
        rule = "RFC 9112 6.3"
        for value in (b"", b"5, 5", b"5,5", b"5 5", b"5;5", b"5, 6", b"+5", b"-5", b"-0", b"5.0", b"0x5", b"5e0",
                      b"5a", b"a5", b"5,", b",5", b'"5"', b"\xb2", b"18446744073709551616", b"18446744073709551621",
                      b"99999999999999999999", b"000000000000000000005", b"five", b"5\x0b"):
            self.refused(rule, value, post(b"Content-Length: " + value + b"\r\n", b"hello"))
        cl = b"Content-Length: 5\r\n"
        self.refused(rule, "two fields that agree", post(cl + cl, b"hello"))
        self.refused(rule, "two fields that differ", post(cl + b"Content-Length: 6\r\n", b"hello!"))
        self.refused(rule, "two spellings of the name", post(cl + b"CONTENT-length: 0\r\n", b"hello"))
        self.refused(rule, "two with other fields between", post(cl + b"X: 1\r\n" + cl, b"hello"))
        self.refused(rule, "a length beyond the limit", post(b"Content-Length: 1048577\r\n"), 413)
        self.passed(rule, "leading zeros go", post(b"Content-Length: 0005\r\n", b"hello"), body=b"hello",
                    has=[b"Content-Length: 5"])
        self.passed(rule, "named in Connection", post(cl + b"Connection: Content-Length\r\n", b"hello"), body=b"hello",
                    has=[b"Content-Length: 5"])
        self.passed(rule, "an underscore for the hyphen is another name, and does not pass",
                    post(cl + b"Content_Length: 0\r\n", b"hello"), body=b"hello", has=[b"Content-Length: 5"],
                    lacks=[b"Content_Length"])
        self.passed(rule, "HTTP/1.0 with a length", post(cl, b"hello").replace(b"1.1", b"1.0", 1), body=b"hello",
                    has=[b"Content-Length: 5"], closed=True)

    # ---- 7: chunks --------------------------------------------------------------------------------
    def test_7_1_chunks(self):
        rule, last = "RFC 9112 7.1", b"0\r\n\r\n"
        for name, body, want in (("two chunks", b"2\r\nab\r\n3\r\ncde\r\n" + last, b"abcde"), ("none", last, b""),
                                 ("capital digits", b"A\r\n0123456789\r\n" + last, b"0123456789"),
                                 ("small digits", b"a\r\n0123456789\r\n" + last, b"0123456789"),
                                 ("leading zeros", b"0000000000000002\r\nab\r\n" + last, b"ab"),
                                 ("many zeros for the last", b"2\r\nab\r\n0000\r\n\r\n", b"ab"),
                                 ("CRLF as data", b"4\r\n\r\n\r\n\r\n" + last, b"\r\n\r\n"),
                                 ("a last chunk as data", b"5\r\n0\r\n\r\n\r\n" + last, b"0\r\n\r\n"),
                                 ("a large chunk", b"8000\r\n" + b"x" * 0x8000 + b"\r\n" + last, b"x" * 0x8000)):
            self.passed(rule, name, chunked(body), body=want)
        for name, body in {
            "bare LF after the size": b"2\nab\r\n", "bare CR after the size": b"2\rab\r\n",
            "bare LF after the data": b"2\r\nab\n", "no line end after the data": b"2\r\nab",
            "LFs alone": b"2\nab\n0\n\n", "data longer than its size": b"2\r\nabc\r\n",
            "data shorter than its size": b"3\r\nab\r\n0", "an empty size": b"\r\nab\r\n",
            "no size but an extension": b";a\r\nab\r\n", "a sign": b"+2\r\nab\r\n", "a negative size": b"-2\r\nab\r\n",
            "a prefix": b"0x2\r\nab\r\n", "a prefix x": b"x2\r\nab\r\n", "a space before the size": b" 2\r\nab\r\n",
            "a space behind the size": b"2 \r\nab\r\n", "a tab behind the size": b"2\t\r\nab\r\n",
            "a digit that is none": b"g\r\nab\r\n", "an underscore": b"0_2\r\nab\r\n", "a point": b"2.0\r\nab\r\n",
            "more than 64 bits": b"10000000000000002\r\nab\r\n",
            "more zeros than 64 bits": b"00000000000000002\r\nab\r\n", "a NUL": b"2\0\r\nab\r\n",
            "two sizes": b"2 2\r\nab\r\n", "a comma": b"2,\r\nab\r\n", "CR CR LF": b"2\r\r\nab\r\n",
            "an empty line before the size": b"\r\n2\r\nab\r\n", "a vertical tab": b"2\x0b\r\nab\r\n",
        }.items():
            self.refused(rule, name, chunked(body + last))
        self.refused(rule, "bare LF after the last size", chunked(b"2\r\nab\r\n0\n\r\n"))
        self.refused(rule, "a last chunk with data", chunked(b"2\r\nab\r\n0\r\nab\r\n\r\n"))
        self.refused(rule, "bare LF as the end", chunked(b"2\r\nab\r\n0\r\n\n"))
        self.refused(rule, "bare CR as the end", chunked(b"2\r\nab\r\n0\r\n\rX"))
        self.refused("RFC 9112 7.1", "more data than the limit of bodies",
                     chunked(b"180000\r\n" + b"x" * 0x180000 + b"\r\n" + last), 413)

    def test_7_1_1_extensions(self):
        rule, last = "RFC 9112 7.1.1", b"0\r\n\r\n"
        for line in (b"2;a", b"2;a=b", b'2;a="b"', b'2;a="b;c\\"d"', b"2 ;a", b"2\t;\ta\t=\tb", b"2;a;b;c=d", b"02;a=1",
                     b'2;a="\xe9"', b'2;a=""', b"2;!#$=%&'*+"):
            self.passed(rule, line, chunked(line + b"\r\nab\r\n" + last), body=b"ab")
        self.passed(rule, "of the last chunk", chunked(b"2\r\nab\r\n0;a=b\r\n\r\n"), body=b"ab")
        for line in (b"2;", b"2; ", b"2;;", b"2;=b", b"2;a=", b"2;a=;b", b'2;a="b', b'2;a="b"c', b"2;a b", b"2;a\x00",
                     b"2;a\x7f", b"2;a=b c", b'2;a="\x01"', b"2;\x80", b"2;a=\x80", b"2;a,b", b"2;(a)", b"2;a\n;b",
                     b"2;a\r;b", b'2;a="\n"', b'2;a="\r"', b'2;a="b\\', b"2;a ", b"2;a=b "):
            self.refused(rule, line, chunked(line + b"\r\nab\r\n" + last))
        self.refused(rule, "longer than the limit", chunked(b"2;a=" + b"b" * 20_000 + b"\r\nab\r\n" + last))
        self.refused(rule, "more than the limit in all", chunked(b"1;abcdefghijklmnop\r\na\r\n" * 4000 + last))

    def test_7_1_2_trailers(self):
        rule, data = "RFC 9112 7.1.2", b"2\r\nab\r\n0\r\n"
        self.passed(rule, "passed on", chunked(data + b"X-Sum: 1\r\nY: 2\r\n\r\n"), body=b"ab", lacks=[b"X-Sum", b"Y"],
                    trailers=[(b"X-Sum", b"1"), (b"Y", b"2")])
        for field in (b"Content-Length: 5", b"Transfer-Encoding: chunked", b"Host: b.test", b"Connection: close",
                      b"Trailer: X", b"TE: trailers", b"Upgrade: h2c", b"Keep-Alive: 5", b"Proxy-Connection: close",
                      b"Authorization: Basic YQ==", b"Cookie: a=b", b"Content-Type: a/b", b"Content-Encoding: gzip",
                      b"Content-Range: bytes 0-1/2", b"Expect: 100-continue", b"Max-Forwards: 1", b"Via: 1.1 x",
                      b"Forwarded: for=1.2.3.4", b"X-Forwarded-For: 1.2.3.4", b"X-Real-IP: 1.2.3.4",
                      b"Cache-Control: no-cache", b"Range: bytes=0-", b"If-Match: *", b"Content_Length: 5",
                      b"Transfer_Encoding: x", b"X_Forwarded_For: 1"):
            self.passed("RFC 9110 6.5.1", field, chunked(data + field + b"\r\nX-Sum: 1\r\n\r\n"), body=b"ab",
                        trailers=[(b"X-Sum", b"1")])
        for name, section in {"bare LF": b"X: 1\n\r\n", "a fold": b"X: 1\r\n 2\r\n\r\n",
                              "space before the first": b" X: 1\r\n\r\n", "space before the colon": b"X : 1\r\n\r\n",
                              "no colon": b"X\r\n\r\n", "no name": b": 1\r\n\r\n", "NUL": b"X: \0\r\n\r\n",
                              "bare CR": b"X: a\rb\r\n\r\n", "a request line": get()}.items():
            self.refused(rule, name, chunked(data + section))
        self.refused("RFC 9110 5.4", "a larger section than the limit",
                     chunked(data + b"X: " + b"a" * 9000 + b"\r\n\r\n"), 431)
        self.refused("RFC 9110 5.4", "more fields than the limit", chunked(data + b"X: 1\r\n" * 61 + b"\r\n"), 431)

    # ---- 7.4, 8 and what of RFC 9110 a hop changes ------------------------------------------------
    def test_7_4_te(self):
        rule = "RFC 9112 7.4"
        self.passed(rule, "of TE only trailers pass", get(HOST + b"TE: gzip;q=0.5, trailers\r\nConnection: TE\r\n"),
                    has=[b"TE: trailers", b"Connection: TE"])
        self.passed(rule, "another coding does not", get(HOST + b"TE: gzip\r\nConnection: TE\r\n"),
                    lacks=[b"TE", b"Connection"])
        self.passed(rule, "an empty one does not", get(HOST + b"TE:\r\nConnection: TE\r\n"),
                    lacks=[b"TE", b"Connection"])

    def test_8_incomplete_requests(self):
        rule = "RFC 9112 8"
        for name, raw in {"a length": post(b"Content-Length: 10\r\n", b"hello"), "a chunk": chunked(b"5\r\nhel"),
                          "no last chunk": chunked(b"5\r\nhello\r\n"),
                          "the last chunk without its end": chunked(b"5\r\nhello\r\n0\r\n"),
                          "trailers without their end": chunked(b"5\r\nhello\r\n0\r\nX: 1\r\n")}.items():
            with self.rule(rule, name), self.client() as client:
                self.origin.take()
                client.send(raw.replace(b"/", b"/cut", 1))
                self.origin.wait_heard()
                client.end()
                client.rest()
                self.assertFalse(self.origin.wait_cut(b"POST /cut ").endswith(b"\r\n0\r\n\r\n"))
                self.assertEqual(self.origin.take(), [])
        for name, raw in {"nothing": b"", "a part of the request line": b"GET / HT",
                          "a part of a field": b"GET / HTTP/1.1\r\nHost: a",
                          "no empty line": b"GET / HTTP/1.1\r\n" + HOST}.items():
            with self.rule(rule, name), self.client() as client:
                client.send(raw)
                client.end()
                self.assertNotIn(b" 200 ", client.rest())
                self.assertEqual(self.origin.take(), [])

    def test_9110_7_6_1_connection(self):
        rule = "RFC 9110 7.6.1"
        self.passed(rule, "what it names goes", get(HOST + b"X-A: 1\r\nX-B: 2\r\nConnection: x-a , ,X-B\r\n"),
                    lacks=[b"X-A", b"X-B", b"Connection"])
        self.passed(rule, "what a second one names goes too",
                    get(HOST + b"Connection: X-A\r\nX-A: 1\r\nConnection: X-B\r\nX-B: 1\r\n"),
                    lacks=[b"X-A", b"X-B", b"Connection"])
        for field in (b"Keep-Alive: timeout=5", b"Proxy-Connection: keep-alive", b"Proxy-Authorization: Basic YQ==",
                      b"Upgrade: cow", b"HTTP2-Settings: AAMAAABk"):
            self.passed(rule, field, get(HOST + field + b"\r\n"), lacks=[field.split(b":")[0]])
        self.passed(rule, "it cannot take Host away", get(HOST + b"Connection: Host\r\n"), has=[b"Host: a.test"])
        self.passed(rule, "nor what we say",
                    get(HOST + b"Connection: Via, X-Forwarded-For, X-Forwarded-Proto, X-Request-ID\r\n"),
                    has=[b"Via: 1.1 pqedge", b"X-Forwarded-For: 127.0.0.1", b"X-Forwarded-Proto: http"])
        self.refused(rule, "more options than the limit", get(HOST + b"Connection: " + b"a," * 7000 + b"\r\n"))

    def test_9110_hops(self):
        self.passed("RFC 9110 7.6.3", "Via is added", get(), has=[b"Via: 1.1 pqedge"])
        self.passed("RFC 9110 7.6.3", "Via is appended to", get(HOST + b"Via: 1.0 x\r\n"),
                    has=[b"Via: 1.0 x, 1.1 pqedge"])
        self.passed("RFC 9110 7.6.3", "Via tells the version received", get(version=b"HTTP/1.0"),
                    has=[b"Via: 1.0 pqedge"], closed=True)
        hops = b"Max-Forwards: %d\r\n"
        self.passed("RFC 9110 7.6.2", "one less", get(HOST + hops % 5, method=b"OPTIONS"), has=[b"Max-Forwards: 4"])
        self.answered("RFC 9110 7.6.2", "none left", get(HOST + hops % 0, method=b"OPTIONS"), 200)
        self.passed("RFC 9110 7.6.2", "no meaning for GET", get(HOST + hops % 0), has=[b"Max-Forwards: 0"])
        self.refused("RFC 9110 7.6.2", "no number", get(HOST + b"Max-Forwards: x\r\n", method=b"OPTIONS"))
        self.answered("RFC 9110 9.3.8", "TRACE sends nothing back", get(HOST + b"X-Secret: 1\r\n", method=b"TRACE"),
                      405)
        for fields in (b"Range: bytes=0-0\r\n", b"If-None-Match: \"a\"\r\n", b"Accept-Encoding: gzip;q=0\r\n",
                       b"Cache-Control: no-transform\r\n",
                       b"Authorization: Basic YTpi\r\n", b"Content-Type: a/b; c=\"d\"\r\n", b"Early-Data: 1\r\n"):
            self.passed("RFC 9110 7.7", fields, get(HOST + fields), has=[fields[:-2]])


if __name__ == "__main__":
    harness.main()
