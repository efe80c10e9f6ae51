"""RFC 9113 8: requests that are malformed are reset (8.1.1), and reach no backend."""

from http2.case import *  # noqa: F403
from http2.streams import http2

malformed = reset(PROTOCOL_ERROR)


def request(*more, leave=(), **kwargs):
    return lambda c: headers(1, c.fields(more, leave=leave, **kwargs))


http2("RFC 9113 8.1", "a second HEADERS without END_STREAM",
      lambda c: c.post() + data(1, b"test") + headers(1, block(("x-a", "b")), end=False), malformed, unseen=True)
http2("RFC 9113 8.2.1", "an upper-case name", request(("X-TEST", "ok")), malformed, unseen=True)
http2("RFC 9113 8.3", "an unknown pseudo-header field", lambda c: headers(1, block((":test", "ok")) + c.fields()),
      malformed, unseen=True)
http2("RFC 9113 8.3", "a pseudo-header field of answers", lambda c: headers(1, block((":status", "200")) + c.fields()),
      malformed, unseen=True)
http2("RFC 9113 8.3", "a pseudo-header field among trailers",
      lambda c: c.post() + data(1, b"test") + headers(1, block((":method", "GET"))), malformed, unseen=True)
http2("RFC 9113 8.3", "a pseudo-header field after others", request((":method", "GET"), leave=(":method",)), malformed,
      unseen=True)
http2("RFC 9113 8.2.2", "a connection-specific field", request(("connection", "keep-alive")), malformed, unseen=True)
http2("RFC 9113 8.2.2", "TE other than trailers", request(("te", "trailers, deflate;q=0.5")), malformed, unseen=True)

http2("RFC 9113 8.3.1", "an empty :path", request(path=""), malformed, unseen=True)
for name in (":method", ":scheme", ":path"):
    http2("RFC 9113 8.3.1", f"no {name}", request(leave=(name,)), malformed, unseen=True)
for name, value in ((":method", "GET"), (":scheme", "https"), (":path", "/")):
    http2("RFC 9113 8.3.1", f"two {name}", lambda c, f=(name, value): headers(1, block(f) + c.fields()), malformed,
          unseen=True)

http2("RFC 9113 8.1.1", "Content-Length is not the size of DATA",
      lambda c: c.post(more=[("content-length", "1")]) + data(1, b"test", end=True), malformed, unseen=True)
http2("RFC 9113 8.1.1", "Content-Length is not the size of all DATA",
      lambda c: c.post(more=[("content-length", "1")]) + data(1, b"te") + data(1, b"st", end=True), malformed,
      unseen=True)
http2("RFC 9113 8.4", "PUSH_PROMISE by a client", lambda c: c.get() + push_promise(1, 3, c.fields()),
      broken(PROTOCOL_ERROR))
