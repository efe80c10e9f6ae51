"""The HTTP/1.1 backend behind the cases of clients."""

import threading

import harness

ANSWERS = {
    "/204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "/304": b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 7\r\n\r\n",
    "/hint": b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
             b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "/trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                 b"4\r\nsome\r\n0\r\nX-Sum: 7\r\n\r\n",
    "/hop": b"HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nKeep-Alive: timeout=5\r\nX-Hop: 1\r\nX-UPPER: 1\r\n"
            b"Proxy-Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nchunked\r\n0\r\n\r\n",
    "/large": b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"l" * 200_000,
}


class Origin(harness.Backend):
    """`marks`: the X-Mark of each request that came whole."""

    def __init__(self):
        self.marks = set()
        self.over = threading.Event()
        super().__init__(self._serve)
        # What a backend that does not read takes is little, and of the same size everywhere.
        self.listener.setsockopt(harness.socket.SOL_SOCKET, harness.socket.SO_RCVBUF, 8192)

    def stop(self):
        self.over.set()
        super().stop()

    def _serve(self, sock, number):
        reader = harness.RequestReader(sock)
        while True:
            while b"\r\n\r\n" not in reader.buffer:
                more = sock.recv(65536)
                if not more:
                    return
                reader.buffer += more
            line = reader.buffer.partition(b"\r\n")[0].decode("latin-1")
            path = line.split(" ")[1]
            if path == "/hold":  # neither reads nor answers
                self.over.wait(harness.WAIT * 10)
                return
            if path == "/early":
                sock.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
                self.over.wait(harness.WAIT * 10)
                return
            request = reader.read()
            if request is None:
                return
            head, body = request
            for field in head.split(b"\r\n")[1:]:
                if field.lower().startswith(b"x-mark: "):
                    self.marks.add(field[8:].decode("latin-1"))
            sock.sendall(self._answer(line, path, head, body))

    @staticmethod
    def _answer(line, path, head, body):
        if path in ANSWERS:
            return ANSWERS[path]
        content = b"%d" % len(body) if path == "/count" else head + body
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content)
        return answer if line.startswith("HEAD ") else answer + content
