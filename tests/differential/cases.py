"""Bytes of a connection that readers of HTTP/1.1 might take in more than one way.

Requests are made of parts: most are sound, a few are odd in a way that some reader, somewhere, forgave.
What follows or fills a body is often a request itself, so that a misread shows as a request too many.
A case depends on its seed alone.
"""

import ast
import pathlib
import random

ODD_METHODS = [b"get", b"PURGE", b"TRACE", b"CONNECT", b"GE T", b"", b"G\tT", b"\0GET", b"GET\x0b", b"PRI", b"M-SEARCH"]
ODD_SPACES = [b"  ", b"\t", b"\x0b", b"\x0c", b"\xa0", b"", b"\r", b" \t"]
ODD_TARGETS = [b"*", b"http://b.test/x", b"http://b.test", b"HTTP://b.test?x", b"https://b.test/", b"b.test:80",
               b"//x", b"/a b",
               b"/a\tb", b"/#f", b"/%00", b"/%2e%2e/x", b"/../x", b"/\x80", b"", b"x", b"/?a=\"b\"", b"http:///x",
               b"/a\0b", b"/\x7f"]
ODD_VERSIONS = [b"HTTP/1.0", b"HTTP/1.0", b"HTTP/1.2", b"HTTP/0.9", b"HTTP/2.0", b"http/1.1", b"HTTP/1.1 ",
                b"HTTP/1.10", b"HTTP/01.1", b"HTTP/1,1", b"HTTP/1.", b"HTTP/1.1\t", b"HTTP/1.1\0", b"HTTP/1.9", b"",
                b"HTTP/1.1 HTTP/1.1"]
ODD_ENDS = [b"\n", b"\r", b"\r\r\n", b"\n\r", b" \r\n", b"\r\n ", b"\r\n\t", b"\0\r\n", b"\r\n\r\n", b"\x85",
            b"\x0b\r\n"]
ODD_HOSTS = [b"", b"Host:\r\n", b"Host: a.test\r\nHost: b.test\r\n", b"Host: a.test, b.test\r\n", b"Host : a.test\r\n",
             b" Host: a.test\r\n", b"Host: a b\r\n", b"Host: a.test:x\r\n", b"Host: u@a.test\r\n",
             b"Host:\r\n a.test\r\n", b"host: A.TEST:80\r\n", b"Host: [::1]\r\n", b"Host: a.test/\r\n",
             b"Host: a.test\0\r\n", b"H\0st: a.test\r\n"]
MORE_FIELDS = [b"Connection: close\r\n", b"Connection: keep-alive\r\n", b"Connection: Content-Length\r\n",
               b"Connection: Transfer-Encoding\r\n", b"Connection: Host\r\n",
               b"Connection: close, Transfer-Encoding, TE\r\n", b"Keep-Alive: 5\r\n", b"Proxy-Connection: close\r\n",
               b"Expect: 100-continue\r\n", b"Expect: 100-continue, x\r\n",
               b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n",
               b"Upgrade: websocket\r\nConnection: Upgrade\r\n", b"Trailer: Content-Length\r\n", b"TE: trailers\r\n",
               b"X: y\r\n", b"X: y\r\n z\r\n", b"X: \x80\xff\r\n", b"X: a\0b\r\n", b"X: a\rb\r\n", b"X: a\nY: b\r\n",
               b"X y\r\n", b": y\r\n", b"X\r\n", b"X : y\r\n", b"X\x0b: y\r\n", b"(X): y\r\n", b"Content_Length: 3\r\n",
               b"Transfer_Encoding: chunked\r\n", b"X:\r\n", b"Content-Type: message/http\r\n", b"Max-Forwards: 0\r\n",
               b"Via: 1.1 pqedge\r\n", b"X-HTTP-Method-Override: GET\r\n"]
ODD_CODINGS = [b"Chunked", b"CHUNKED", b"chunked ", b"\tchunked", b"chunked\x0b", b"\x0bchunked", b"\0chunked",
               b"chunked\0", b"xchunked", b"chunkedx", b"chunke", b"identity", b"gzip", b"gzip, chunked",
               b"chunked, gzip", b"chunked, identity", b"identity, chunked", b"chunked, chunked", b",chunked",
               b"chunked,", b" , chunked", b'"chunked"', b"chunked;a=b", b"x\r\n chunked", b"\r\n chunked",
               b"chunked\r\n ", b"cow", b"", b"chunked\r\nTransfer-Encoding: identity", b"\xc4\x83hunked",
               b"chunked\x85", b"identity\r\nTransfer-Encoding: chunked", b"chunked\nX: y", b"chunked\rX: y",
               b"trailers, chunked"]


def odd(rng, sound, others, share=0.12):
    return rng.choice(others) if rng.random() < share else sound


def ends(rng):
    return odd(rng, b"\r\n", ODD_ENDS, 0.03)


def field(rng, name, value):
    """A framing field, sometimes in a spelling that one reader takes for it and another does not."""
    if rng.random() < 0.75:
        return name + b": " + value + ends(rng)
    name = rng.choice([
        name.lower(), name.upper(), name + b" ", name + b"\t", b" " + name, b"\t" + name, name.replace(b"-", b"_"),
        name + b"\0",
        b"\x0b" + name, name + b"\x0b", name.replace(b"-", b"--"), b"X: y\r\n " + name, b"X: y\n" + name, b"X: y\r" +
        name, b"X:\0\r\n" + name, name[:-1], name + b"\xa0", name.replace(b"-", b"\xad"), b"X\r\n" + name,
        b"X: " + name, name[:4] + b"\0" + name[4:], name])
    colon = rng.choice([b":", b": ", b":\t", b" : ", b":\r\n ", b":\n ", b"::", b"=", b": \x0b", b":\0", b":  ", b";",
                        b":\r"])
    return name + colon + value + ends(rng)


def length_value(rng, size):
    n = b"%d" % size
    if rng.random() < 0.7:
        return n
    return rng.choice([
        b"+" + n, b"-" + n, b"0" + n, b"000000000000000000000" + n, n + b" ", n + b", " + n, n + b",0", b"0," + n, n +
        b"\x0b", n + b"\0", n + b".0", b"0x%x" % size, b'"' + n + b'"', b"", b"%d" % (2**64 + size),
        b"%d" % (2**32 + size), n + b";x", n + b"\r\n 0", n + b"\n0", n + b"e0", n[:1] + b" " + n[1:], n + b" 0",
        b"\r\n " + n, b"0b11", b"0o7", n + b"_", b"\xd9\xa3", b"-0", n +
        b"\r\nContent-Length: 0",
        n + b"\r\nContent-Length: " + n, b"%d" % (size + rng.choice([-3, -1, 1, 5, 40])), b"0", b"1_0", b"NaN", n +
        b"\t"])


def size_line(rng, size):
    n = b"%x" % size
    if rng.random() < 0.75:
        return n + odd(rng, b"\r\n", ODD_ENDS, 0.05)
    text = rng.choice([
        n.upper(), b"0" + n, b"0" * 16 + n, b"0" * 7 + n, b"0x" + n, b"+" + n, b"-" + n, b" " + n, n + b" ", n + b"\t",
        n + b";a", n + b";a=b",
        n + b';a="b"', n + b' ; a = "b;c"', n + b';a="\r\n"', n + b';a="\n"', n + b";a\n", n + b";a\rb", n + b";", n +
        b";;", n + b"\0", n + b"_", b"", b"1" + b"0" * 16, b"f" * 16, b"f" * 8, b"%x" % (2**64 + size),
        b"%x" % (2**32 + size), n + b",", n + b";\x80", n + b" " + n, n + b"\x0b", n + b"g", b"%d" % size,
        b"%x" % (size + 2), b"%x" % max(size - 2, 0), n + b";" + b"a" * 70, n + b"\r", n + b'; a="\\', n + b"h"])
    return text + ends(rng)


def chunks(rng, data):
    out = b""
    cut = rng.randrange(len(data) + 1) if rng.random() < 0.5 else 0
    for piece in (data[:cut], data[cut:]):
        if piece:
            out += size_line(rng, len(piece)) + piece + odd(rng, b"\r\n",
                                                            [b"\n", b"\r", b"", b"\r\r\n", b"xx", b"\r\nX", b"\n\r"],
                                                            0.06)
    out += odd(rng, b"0", [b"00", b"0;a=b", b"-0", b"0x0", b"", b"0 ", b"000000000000000000", b"+0", b"0;\n", b"0\0"],
               0.1) + ends(rng)
    if rng.random() < 0.2:
        out += rng.choice([b"X: y\r\n", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"X: y\n",
                           b"X : y\r\n", b"X: y\r\n z\r\n", b" X: y\r\n", b"X\r\n", b": y\r\n", b"Host: b.test\r\n",
                           b"X: \0\r\n", b"GET /trailer HTTP/1.1\r\n", b"X: y\rZ: z\r\n"])
    return out + odd(rng, b"\r\n", [b"", b"\n", b"\r", b"\n\n", b"\r\n\r\n", b"X\r\n", b" \r\n", b"\r\r\n"], 0.1)


def inner(rng):
    """What a body is made of."""
    return rng.choice([b"GET /inner HTTP/1.1\r\nHost: c.test\r\n\r\n", b"GET /inner HTTP/1.1\r\nX: ", b"0\r\n\r\n",
                       b"abc", b"0\r\n\r\nGET /inner HTTP/1.1\r\nHost: c.test\r\n\r\n", b"x" * rng.randrange(1, 60),
                       b"\r\n\r\n", b"", b"0\n\nGET /inner HTTP/1.1\r\nHost: c.test\r\n\r\n", b"3\r\nabc\r\n0\r\n\r\n",
                       b"\r\nGET /inner HTTP/1.1\r\n"])


def framed(rng):
    """(fields, body) of a request."""
    data = inner(rng)
    kind = rng.random()
    if kind < 0.2:
        return b"", b"" if rng.random() < 0.8 else data
    if kind < 0.5:
        return field(rng, b"Content-Length", length_value(rng, len(data))), data
    coding = odd(rng, b"chunked", ODD_CODINGS, 0.3)
    fields = field(rng, b"Transfer-Encoding", coding)
    body = chunks(rng, data)
    if kind < 0.85:
        return fields, body
    size = rng.choice([len(data), len(body), 0, 3, 5])
    both = [fields, field(rng, b"Content-Length", length_value(rng, size))]
    if rng.random() < 0.1:
        both.append(rng.choice(both))
    rng.shuffle(both)
    return b"".join(both), rng.choice([body, data])


def request(rng, number):
    fields, body = framed(rng)
    method = rng.choice([b"GET", b"POST", b"POST", b"PUT", b"HEAD", b"OPTIONS", b"DELETE"])
    line = odd(rng, method, ODD_METHODS, 0.06) + odd(rng, b" ", ODD_SPACES, 0.03)
    line += odd(rng, b"/%d" % number, ODD_TARGETS, 0.08) + odd(rng, b" ", ODD_SPACES, 0.03)
    line += odd(rng, b"HTTP/1.1", ODD_VERSIONS, 0.1) + ends(rng)
    lines = [odd(rng, b"Host: a%d.test" % number + ends(rng), ODD_HOSTS, 0.08), fields]
    for _ in range(rng.choice([0, 0, 1, 2])):
        lines.append(rng.choice(MORE_FIELDS) if rng.random() < 0.6 else b"Y: z\r\n")
    if rng.random() < 0.5:
        rng.shuffle(lines)
    return line + b"".join(lines) + odd(rng, b"\r\n", ODD_ENDS + [b""], 0.03) + body


PIECES = [b"\r", b"\n", b"\r\n", b" ", b"\t", b"\0", b":", b";", b",", b"0", b"\x0b", b"\x0c", b"\x80", b"\xff", b'"',
          b"\\", b"%", b"\r\n\r\n", b"0\r\n\r\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n",
          b"HTTP/1.1", b"GET / HTTP/1.1\r\n", b"Host: d.test\r\n"]


def change(rng, raw):
    """A few bytes other than they were."""
    data = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(data) + 1)
        size = rng.choice([1, 1, 2, 4, 16])
        kind = rng.randrange(6)
        if kind == 0:
            data[at:at] = rng.choice(PIECES)
        elif kind == 1:
            del data[at:at + size]
        elif kind == 2:
            data[at:at + size] = rng.choice(PIECES)
        elif kind == 3:
            data[at:at] = data[at:at + size * 8]
        elif kind == 4 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 5:
            lines = bytes(data).split(b"\r\n")
            a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            data = bytearray(b"\r\n".join(lines))
    return bytes(data)


def make(seed, number):
    rng = random.Random(f"{seed}:{number}")
    raw = b"".join(request(rng, n) for n in range(rng.choice([1, 1, 2, 2, 3])))
    if rng.random() < 0.35:
        raw = change(rng, raw)
    if rng.random() < 0.6:
        raw += b"GET /last HTTP/1.1\r\nHost: last.test\r\n\r\n"
    return raw


def kept():
    """The cases of cases.txt: those that were findings once, and the classics."""
    lines = (pathlib.Path(__file__).resolve().parent / "cases.txt").read_text().splitlines()
    return [ast.literal_eval(line) for line in lines if line.startswith("b")]
