"""What clients can take is bounded: descriptors, connections, memory, time (S7 in its limits part)."""

import os
import resource
import socket
import threading
import time
import unittest

import harness


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


class Limits(harness.TestCase):
    def start(self, extra="", **kwargs):
        self.origin = self.echo()
        self.proxy = self.edge(harness.pool(self.origin.address) + harness.route() + extra, **kwargs)

    @unittest.skipIf(os.environ.get("PQEDGE_SANITIZE"),
                     "UndefinedBehaviorSanitizer looks at objects by a pipe, for which there is none left")
    def test_out_of_descriptors_the_accept_loop_rests(self):
        self.start()
        used = self.proxy.descriptors()
        soft, hard = resource.prlimit(self.proxy.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.proxy.pid, resource.RLIMIT_NOFILE, (used + 6, hard))
        held = []
        try:
            for _ in range(40):
                held.append(socket.create_connection(("127.0.0.1", self.proxy.port), timeout=5))
            harness.wait_for(lambda: "cannot accept" in self.proxy.log(), "the log line")
            self.assertIn("RLIMIT_NOFILE", self.proxy.log())
            # It rests instead of spinning: ten wake-ups a second cost next to nothing.
            before = cpu_seconds(self.proxy.pid)
            time.sleep(1)
            self.assertLess(cpu_seconds(self.proxy.pid) - before, 0.5)
        finally:
            for s in held:
                s.close()
        resource.prlimit(self.proxy.pid, resource.RLIMIT_NOFILE, (soft, hard))
        self.assertEqual(self.proxy.get("/")[0], 200)
        self.assertGreater(self.proxy.metric("pqedge_accept_pauses_total"), 0)

    def test_maximum_of_connections(self):
        self.start(server_toml="max_connections = 5")
        with self.proxy.tls() as first:
            held = [self.proxy.tls() for _ in range(4)]
            with self.assertRaises(OSError):
                self.proxy.tls().close()
            first.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assertEqual(harness.read_response(first)[0], 200)
            for s in held:
                s.close()
        harness.wait_for(lambda: self.proxy.metric("pqedge_client_connections") == 0, "the end")
        self.assertEqual(self.proxy.get("/")[0], 200)
        self.assertGreater(self.proxy.metric("pqedge_refused_connections_total"), 0)

    def test_idle_connections_are_closed(self):
        self.start('[timeouts]\nidle = "1s"\n')
        with self.proxy.tls() as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            harness.read_response(sock)
            self.assertEqual(sock.recv(1), b"")
        with self.proxy.tls(alpn=("h2",)) as sock:
            sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            data = b""
            while more := sock.recv(65536):
                data += more
            self.assertIn(b"\x07\x00\x00\x00\x00\x00", data)  # a GOAWAY came before the end

    def test_half_sent_requests_take_little(self):
        self.start()
        base = self.proxy.memory_kib()
        held = []
        try:
            for i in range(1000):
                s = self.proxy.tls()
                held.append(s)
                s.sendall(b"POST /%d HTTP/1.1\r\nHost: a.test\r\nX: " % i + b"x" * 1000 if i % 2 else
                          b"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9999\r\n\r\nhalf")
            taken = self.proxy.memory_kib() - base
            self.assertLess(taken, 200 * 1024 * harness.SLOW)
            self.assertEqual(self.proxy.get("/")[0], 200)
        finally:
            for s in held:
                s.close()

    def test_a_client_that_never_reads_holds_two_windows_at_most(self):
        def serve(sock, number):
            harness.RequestReader(sock).read()
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            block = b"z" * 1_000_000
            for _ in range(1000):
                self.sent += len(block)
                sock.sendall(block)

        self.sent = 0
        origin = self.backend(serve)
        self.proxy = self.edge(harness.pool(origin.address) + harness.route() +
                               '[timeouts]\nsend = "3s"\n')
        base = self.proxy.memory_kib()
        with self.proxy.tls() as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            sock.recv(1000)
            last = -1
            while last != self.sent:  # until the backend is held back
                last = self.sent
                time.sleep(0.3)
            self.assertLess(self.sent, 60_000_000)  # kernel buffers on both sides, and ours
            self.assertLess(self.proxy.memory_kib() - base, 20_000 * harness.SLOW)
            # send_timeout ends it: the connection is reset, the line says why.
            record = self.proxy.wait_access(1)[0]
            self.assertTrue(record["reason"])

    def test_endless_trailers_end(self):
        self.start('[limits]\nmax_trailers = "4KiB"\n')
        with self.proxy.tls() as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
            try:
                for i in range(10_000):
                    sock.sendall(b"X-%d: y\r\n" % i)
            except OSError:
                pass
            try:
                while sock.recv(65536):
                    pass
            except OSError:
                pass
        self.assertEqual(self.proxy.get("/")[0], 200)

    def test_a_vanished_client_frees_its_backend(self):
        begun, gone = threading.Event(), threading.Event()

        def serve(sock, number):
            harness.RequestReader(sock).read()
            begun.set()
            try:
                sock.recv(1)
            except ConnectionResetError:
                pass
            gone.set()

        origin = self.backend(serve)
        self.proxy = self.edge(harness.pool(origin.address) + harness.route())
        for http in harness.ALL_VERSIONS:
            with self.subTest(http=http):
                begun.clear()
                gone.clear()
                done = self.proxy.curl("/", "--max-time", "1", http=http)
                self.assertNotEqual(done.returncode, 0)
                self.assertTrue(begun.is_set())
                self.assertTrue(gone.wait(harness.WAIT))


if __name__ == "__main__":
    harness.main()
