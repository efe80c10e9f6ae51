"""Backends as processes of their own, which can be killed, stopped, and told to fail in other ways.

A nursery process, begun before there are threads, forks them: that takes milliseconds. What a server
does is a byte in a file that it maps, so that a change holds from its next request on.
"""

import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

MODES = ("well", "slow", "reset", "error", "truncate")
SLOW = 0.05


def serve(name, address, mode_path):
    """The server's life. Each answer is its name."""
    with open(mode_path, "r+b") as f:
        mode = mmap.mmap(f.fileno(), 1)
    host, _, port = address.rpartition(":")
    listener = socket.create_server((host, int(port)), backlog=512)
    sys.stdout.write(f"{os.getpid()}\n")  # it listens
    sys.stdout.flush()

    def connection(sock):
        buffer = b""
        with sock:
            while True:
                while b"\r\n\r\n" not in buffer:
                    more = sock.recv(65536)
                    if not more:
                        return
                    buffer += more
                _, _, buffer = buffer.partition(b"\r\n\r\n")  # GET alone: no body
                now = MODES[mode[0]]
                if now == "reset":
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                if now == "slow":
                    time.sleep(SLOW)
                status = b"500 X" if now == "error" else b"200 OK"
                head = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status, len(name))
                sock.sendall(head if now == "truncate" else head + name.encode())
                if now == "truncate":
                    return

    def guarded(sock):
        try:
            connection(sock)
        except OSError:
            pass

    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=guarded, args=(sock,), daemon=True).start()


def nursery():
    """Reads "NAME ADDRESS MODE-FILE" a line; each child writes its PID once it listens."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while line := sys.stdin.readline():
        if os.fork() == 0:
            sys.stdin.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            serve(*line.split())
            os._exit(0)


class Server:
    def __init__(self, nest, name, address):
        self.nest = nest
        self.name = name
        self.address = address
        self.mode_path = nest.directory / f"mode-{name}"
        self.mode_path.write_bytes(b"\0")
        self.pid = None
        self.start()

    def start(self):
        self.pid = self.nest.start(self)

    def set_mode(self, mode):
        with open(self.mode_path, "r+b") as f:
            f.write(bytes([MODES.index(mode)]))

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        """Returns when nothing answers at its address any more."""
        if self.pid is None:
            return
        os.kill(self.pid, signal.SIGKILL)
        while os.path.exists(f"/proc/{self.pid}"):
            time.sleep(0.001)
        self.pid = None


class Nest:
    def __init__(self, directory):
        self.directory = directory
        self.servers = []
        self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def start(self, server):
        line = f"{server.name} {server.address} {server.mode_path}\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def server(self, name, address):
        made = Server(self, name, address)
        self.servers.append(made)
        return made

    def stop(self):
        for s in self.servers:
            if s.pid is not None:
                os.kill(s.pid, signal.SIGCONT)
                s.kill()
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


if __name__ == "__main__":
    nursery()
