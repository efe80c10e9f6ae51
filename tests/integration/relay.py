"""A UDP relay between one QUIC client and the edge that can do what networks do."""

import collections
import selectors
import socket
import threading
import time


class Relay:
    """Clients send to `port`. `to_server(datagrams)` and `to_client(datagrams)` may drop, hold,
    double or reorder what passes: each gets a list of one datagram and returns what to send on.
    rebind() changes the address that the server sees. `delay` seconds are added each way.
    """

    def __init__(self, server_port, to_server=None, to_client=None, delay=0):
        self.server = ("127.0.0.1", server_port)
        self.to_server = to_server or (lambda datagrams: datagrams)
        self.to_client = to_client or (lambda datagrams: datagrams)
        self.front = self._socket(("127.0.0.1", 0))
        self.port = self.front.getsockname()[1]
        self.back = self._socket(("127.0.0.1", 0))
        self.client = None
        self.delay = delay
        self._held = collections.deque()  # (when to send, to the server?, datagram)
        self.passed = 0
        self._rebind = threading.Event()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @staticmethod
    def _socket(address):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        s.bind(address)
        s.setblocking(False)
        return s

    def rebind(self):
        """From the next datagram on, the server sees a new address."""
        self._rebind.set()

    def _take_new_address(self):
        # Only the relay's own thread touches the sockets: one that another thread closed could
        # have been registered, or its number given to someone else, in the same moment.
        self._rebind.clear()
        self.back.close()
        self.back = self._socket(("127.0.0.1", 0))

    def _run(self):
        while not self._end.is_set():
            if self._rebind.is_set():
                self._take_new_address()
            with selectors.DefaultSelector() as selector:
                selector.register(self.front, selectors.EVENT_READ)
                selector.register(self.back, selectors.EVENT_READ)
                selector.select(0.001 if self._held else 0.02)
            self._pump(self.front, True)
            self._pump(self.back, False)
            while self._held and self._held[0][0] <= time.monotonic():
                self._send(*self._held.popleft()[1:])

    def _send(self, to_server, datagram):
        try:
            if to_server:
                self.back.sendto(datagram, self.server)
            elif self.client:
                self.front.sendto(datagram, self.client)
        except OSError:
            pass

    def _pump(self, sock, from_client):
        for _ in range(256):
            try:
                data, address = sock.recvfrom(65536)
            except OSError:
                return
            self.passed += 1
            if from_client:
                self.client = address
            for d in (self.to_server if from_client else self.to_client)([data]):
                if self.delay:
                    self._held.append((time.monotonic() + self.delay, from_client, d))
                else:
                    self._send(from_client, d)

    def stop(self):
        self._end.set()
        self._thread.join()
        self.front.close()
        self.back.close()
