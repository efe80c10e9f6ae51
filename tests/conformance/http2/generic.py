"""What every server must be able to do: a frame of each type in good order, and each form of a field."""

from http2.case import *  # noqa: F403

generic = Suite("generic")

# ---- connections and streams


def expect_server_preface(c):
    first = c.wait(lambda f: True, "a frame")
    if first.kind != SETTINGS or first.flags & ACK or first.stream != 0:
        c.fail("the first frame is not SETTINGS")
    c.wait(lambda f: c.acknowledged == 1, "an acknowledgement of SETTINGS")


def after_answer(*frames):
    """Sent when stream 1 is closed by both."""

    def send(c):
        c.send(c.get())
        if c.answer().status != 200:
            c.fail("no answer")
        return b"".join(frames)

    return send


generic("RFC 9113 3.4", "the client's preface is answered", PREFACE + settings(), expect_server_preface,
        handshake=False)
generic("RFC 9113 5.1", "PRIORITY on an idle stream", priority(1), alive)
generic("RFC 9113 5.1", "WINDOW_UPDATE on a stream that is half closed", lambda c: c.get() + window_update(1, 100),
        answered())
generic("RFC 9113 5.1", "PRIORITY on a stream that is half closed", lambda c: c.get() + priority(1), answered())
generic("RFC 9113 5.1", "RST_STREAM on a stream that is half closed", lambda c: c.get() + rst_stream(1), alive)
generic("RFC 9113 5.1", "PRIORITY on a closed stream", after_answer(priority(1)), alive)

# ---- a frame of each type

generic("RFC 9113 6.1", "one DATA frame", lambda c: c.post() + data(1, b"test", end=True), answered())
generic("RFC 9113 6.1", "many DATA frames", lambda c: c.post() + data(1, b"test") * 3 + data(1, b"test", end=True),
        answered())
generic("RFC 9113 6.1", "DATA with padding", lambda c: c.post() + data(1, b"test", end=True, padding=6), answered())
generic("RFC 9113 6.2", "HEADERS", lambda c: c.get(), answered())
generic("RFC 9113 6.2", "HEADERS with padding", lambda c: c.get(padding=6), answered())
generic("RFC 9113 6.2", "HEADERS with priority fields", lambda c: c.get(depends=dependency(0, 255)), answered())
generic("RFC 9113 6.3", "PRIORITY with the least weight", priority(1, weight=1), alive)
generic("RFC 9113 6.3", "PRIORITY with the largest weight", priority(1, weight=256), alive)
generic("RFC 9113 6.3", "PRIORITY with a dependency", priority(1, on=3), alive)
generic("RFC 9113 6.3", "PRIORITY with an exclusive dependency", priority(1, on=3, exclusive=True), alive)
generic("RFC 9113 6.3", "PRIORITY on an idle stream, then HEADERS on a lower one", lambda c: priority(5) + c.get(1),
        answered())
generic("RFC 9113 6.4", "RST_STREAM", lambda c: c.post() + rst_stream(1), alive)
generic("RFC 9113 6.5", "SETTINGS", lambda c: c.change((MAX_CONCURRENT_STREAMS, 100)), alive)
generic("RFC 9113 6.7", "PING", b"", alive)


def expect_end_or_life(c):
    """After a client's GOAWAY a connection on which nothing runs may end."""
    c.send(ping())
    for f in c.history():
        if f.kind == PING and f.flags & ACK:
            return
        if f.kind == GOAWAY and f.code != NO_ERROR:
            c.fail("GOAWAY is no error")


generic("RFC 9113 6.8", "GOAWAY", goaway(), expect_end_or_life)
generic("RFC 9113 6.9", "WINDOW_UPDATE of the connection", window_update(0, 1), alive)
generic("RFC 9113 6.9", "WINDOW_UPDATE of a stream", lambda c: c.post() + window_update(1, 1), alive)
generic("RFC 9113 6.10", "one CONTINUATION", lambda c: c.get(end_headers=False) + continuation(1, block(("x-a", "b"))),
        answered())
generic("RFC 9113 6.10", "many CONTINUATIONs",
        lambda c: c.get(end_headers=False) + continuation(1, block(("x-a", "b")), False) * 2
        + continuation(1, block(("x-a", "b"))), answered())

# ---- messages

generic("RFC 9113 8.1", "GET", lambda c: c.get(), answered())
generic("RFC 9113 8.1", "HEAD", lambda c: headers(1, c.fields(method="HEAD")), answered())
generic("RFC 9113 8.1", "POST", lambda c: c.post() + data(1, b"test", end=True), answered())
generic("RFC 9113 8.1", "POST with trailers",
        lambda c: c.post(more=[("trailer", "x-sum")]) + data(1, b"test") + headers(1, block(("x-sum", "1"))),
        answered())

# ---- each form of a field (RFC 7541 6)

FORMS = [("indexed", "RFC 7541 6.1", lambda h: indexed(METHOD_GET))]
for how, section, text in (("add", "RFC 7541 6.2.1", "with indexing"),
                           ("plain", "RFC 7541 6.2.2", "without indexing"),
                           ("never", "RFC 7541 6.2.3", "never indexed")):
    FORMS += [(f"literal {text}, name by index", section,
               lambda h, how=how: literal(58, "test", how, h)),  # user-agent
              (f"literal {text}, new name", section,
               lambda h, how=how: literal("x-test", "test", how, h))]


def send_form(form, huffman):
    def send(c):
        first = form(huffman)
        if first == indexed(METHOD_GET):
            return headers(1, first + c.fields(leave=(":method",)))
        return headers(1, c.fields() + first)

    return send


for title, section, form in FORMS:
    generic(section, title, send_form(form, False), answered())
    if form(False) != form(True):
        generic(section, f"{title}, Huffman", send_form(form, True), answered())

generic("RFC 7541 6.3", "a size update", lambda c: headers(1, size_update(64) + c.fields()), answered())
generic("RFC 7541 6.3", "two size updates", lambda c: headers(1, size_update(64) + size_update(4096) + c.fields()),
        answered())
