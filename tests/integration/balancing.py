"""Backends that say who they are, for tests of choosing among them."""

import json
import threading

import harness


class Named(harness.Backend):
    """Answers each request with its name. A request below /hold waits for let_go()."""

    def __init__(self, name, port=None, delay=0.0, status=200):
        self.name = name
        self.delay = delay
        self.status = status
        self.seen = []  # paths, in the order that they came
        self.busy = 0
        self.most = 0  # at a time
        self._gate = threading.Semaphore(0)
        self._counts = threading.Lock()
        super().__init__(self._answer, port)

    def _answer(self, sock, number):
        reader = harness.RequestReader(sock)
        while (request := reader.read()) is not None:
            head = request[0]
            path = head.split(b" ", 2)[1].decode()
            with self._counts:
                self.seen.append(path)
                self.busy += 1
                self.most = max(self.most, self.busy)
            try:
                if path.startswith("/hold"):
                    self._gate.acquire(timeout=harness.WAIT)
                elif self.delay:
                    threading.Event().wait(self.delay)
            finally:
                with self._counts:
                    self.busy -= 1
            text = f"{self.name}\n".encode()
            sock.sendall(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (self.status, len(text))
                         + (b"" if head.startswith(b"HEAD ") else text))

    def let_go(self, count=1):
        for _ in range(count):
            self._gate.release()


class Keep:
    """One HTTP/1.1 connection to the edge, used again and again."""

    def __init__(self, edge):
        self.sock = edge.tls()

    def get(self, path="/", **fields):
        """(status, fields, body)"""
        lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in fields.items())
        self.sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
        return harness.read_response(self.sock)[:3]

    def name(self, path="/", **fields):
        status, _, body = self.get(path, **fields)
        assert status == 200, status
        return body.decode().strip()

    def close(self):
        self.sock.close()


def servers(*entries):
    """An array of TOML: addresses, or (address, {key: value})."""
    texts = []
    for entry in entries:
        if isinstance(entry, str):
            texts.append(json.dumps(entry))
        else:
            address, keys = entry
            inner = "".join(f", {k} = {json.dumps(v)}" for k, v in keys.items())
            texts.append(f"{{ address = {json.dumps(address)}{inner} }}")
    return "servers = [" + ", ".join(texts) + "]\n"


def pool(*entries, name="app", **settings):
    lines = [f"{k} = {json.dumps(v)}" for k, v in settings.items()]
    return f'[[pool]]\nname = "{name}"\n' + servers(*entries) + "\n".join(lines) + "\n"
