"""A full log disk, a wall clock that jumps, a random generator that fails, names that DNS does not
answer for: requests are served, and what is lost is told."""
# ctest: timeout=180

import datetime
import email.utils
import json
import os
import pathlib
import shlex
import signal
import socket
import struct
import threading

import faults
import harness
import pqfaults


def namespace(*command):
    """A mount namespace of its own for a command; with a user namespace where we are not root."""
    return ["unshare", "--mount", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")),
            *map(str, command)]


class FullDisk(harness.TestCase):
    LINES = 1000

    def setUp(self):
        super().setUp()
        if harness.run(*namespace("mount", "-t", "tmpfs", "-o", "size=16k", "none", "/mnt")).returncode:
            self.skipTest("no tmpfs can be mounted here")
        self.disk = self.directory / "disk"
        self.disk.mkdir()
        program = self.directory / "pqedge-on-small-disk"
        command = " ".join(namespace("/bin/sh", "-c", shlex.quote(
            f'mount -t tmpfs -o size=4m none {self.disk} && exec {harness.PQEDGE} "$@"'), "pqedge"))
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        program.chmod(0o755)
        before = harness.PQEDGE
        self.addCleanup(setattr, harness, "PQEDGE", before)
        harness.PQEDGE = program.resolve()

    def inside(self, edge, name):
        return pathlib.Path(f"/proc/{edge.pid}/root{self.disk}") / name

    def test_lines_wait_and_are_told_of(self):
        origin = self.echo()
        edge = self.edge(harness.pool(origin.address) + harness.route() +
                         f'[logging]\naccess = "{self.disk}/access.log"\n'
                         f'error = "{self.disk}/error.log"\nlevel = "info"\n')
        edge.access_path = self.inside(edge, "access.log")
        filler = self.inside(edge, "filler")
        errors = 'pqedge_log_write_errors_total{log="access"}'

        with edge.tls() as client:
            def ask(path):
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode())
                self.assertEqual(harness.read_response(client)[0], 200)

            ask("/before")
            edge.wait_access(1)
            with open(filler, "wb") as file:
                try:
                    while True:
                        file.write(bytes(4096))
                        file.flush()
                except OSError:
                    pass
            for n in range(self.LINES):  # each is answered, disk or not
                ask(f"/{n}")
            harness.wait_for(lambda: edge.metrics().get(errors, 0) > 0, "the metric of failed writes")
            # The log of errors lies on the same disk. What does not fit there is told on standard error.
            harness.wait_for(lambda: "No space left on device" in
                             edge.log() + self.inside(edge, "error.log").read_text(), "an error")
            self.assertEqual(edge.metric("pqedge_access_log_dropped_total"), 0)
            filler.unlink()
            ask("/after")
        records = edge.wait_access(self.LINES + 2)  # each line is JSON: none is torn
        self.assertEqual([r["path"] for r in records],
                         ["/before", *(f"/{n}" for n in range(self.LINES)), "/after"])
        harness.wait_for(lambda: "cannot write" in self.inside(edge, "error.log").read_text(),
                         "the log of errors")
        self.assertEqual(edge.metric("pqedge_error_log_dropped_total"), 0)


class Reopened(faults.TestCase):
    def test_a_log_that_cannot_be_opened_again(self):
        """The old file stays in use, and no line is lost."""
        self.start()
        self.proxy.get("/none", "-X", "TRACE")
        self.proxy.wait_access(1)
        moved = self.proxy.access_path.with_suffix(".moved")
        self.proxy.access_path.rename(moved)
        self.control.set("open errno=EMFILE")
        self.proxy.send_signal(signal.SIGUSR1)
        self.wait_log("the old file stays in use")
        self.proxy.get("/none", "-X", "TRACE")
        harness.wait_for(lambda: moved.read_bytes().count(b"\n") == 2, "the line in the old file")
        self.control.set()
        self.proxy.send_signal(signal.SIGUSR1)
        harness.wait_for(self.proxy.access_path.exists, "the new file")
        self.proxy.get("/none", "-X", "TRACE")
        self.proxy.wait_access(1)
        self.assertEqual(moved.read_bytes().count(b"\n"), 2)


class Clock(faults.TestCase):
    JUMPS = (3600, -3600, 10 * 365 * 86400, -10 * 365 * 86400, 0)

    def test_jumps(self):
        """Requests, resumption, limits of time and kept connections do not depend on the wall clock."""
        self.start('[timeouts]\nidle = "30s"\n')
        with self.proxy.tls() as kept:
            for number, offset in enumerate(self.JUMPS):
                with self.subTest(offset=offset):
                    self.control.set(*([f"clock offset={offset}"] if offset else []))
                    kept.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
                    status, fields, body, _ = harness.read_response(kept)
                    self.assertEqual((status, body == faults.BODY), (200, True))
                    self.transfers(body=b"x" * 1000)
                    self.resumed()
                    status, fields, _ = self.proxy.get("/none", "-X", "TRACE")  # an answer of our own
                    told = email.utils.parsedate_to_datetime(fields["date"][0])
                    expected = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=offset)
                    self.assertLess(abs((told - expected).total_seconds()), harness.WAIT)
                    records = self.proxy.wait_access(number + 1, lambda r: r["status"] == 405)
                    year = str(expected.year)
                    self.assertTrue(records[-1]["time"].startswith(year), records[-1]["time"])
        for record in self.proxy.access():
            self.assertLess(record["duration_ms"], harness.WAIT * 1000)
        self.assertEqual(self.proxy.metric("pqedge_handshake_timeouts_total"), 0)

    def resumed(self):
        """A ticket of now is taken now."""
        session = self.directory / "session.pem"
        common = ["openssl", "s_client", "-connect", f"127.0.0.1:{self.proxy.port}", "-servername",
                  "localhost", "-CAfile", self.proxy.certificate.chain, "-alpn", "http/1.1"]
        request = b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"
        session.unlink(missing_ok=True)
        harness.run(*common, "-sess_out", session, "-ign_eof", input=request)
        again = harness.run(*common, "-sess_in", session, "-ign_eof", input=request)
        self.assertIn(b"Reused, TLSv1.3", again.stdout)


class Random(faults.TestCase):
    def test_getrandom_fails(self):
        """From the first call on: what is secret comes from OpenSSL, which has other sources, and what
        is not needs none."""
        for rule in ("random errno=ENOSYS", "random errno=EINTR every=2", "random most=3"):
            with self.subTest(rule):
                self.start(rules=[rule], name=f"control-{len(rule)}")
                try:
                    self.transfers(body=b"x" * 1000)
                    self.assertGreater(self.control.counts()[0][0], 0)
                    identifiers = [r["request_id"] for r in self.proxy.wait_access(6)]
                    self.assertEqual(len(set(identifiers)), 6, identifiers)
                finally:
                    self._end_edge(self.proxy)
                    self.proxy.access_path.unlink()

    def test_no_randomness_at_all(self):
        """The start is refused."""
        control = pqfaults.Control(self.directory / "control", ["random errno=EIO"])
        edge = harness.Edge(self.directory, "", wait=False,
                            env=dict(os.environ, **control.environment()))
        self.addCleanup(edge.kill)
        self.assertEqual(edge.process.wait(harness.WAIT), 1)
        self.assertIn("the random generator of OpenSSL has no seed", edge.log())


class Nameserver:
    """Answers every question for an address as `mode` says."""

    def __init__(self, address):
        self.address = socket.inet_aton(address)
        self.mode = "good"
        self.asked = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.port = harness.free_port()
        self.socket.bind(("127.0.0.1", self.port))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                question, peer = self.socket.recvfrom(4096)
            except OSError:
                return
            for answer in self.answer(question):
                self.socket.sendto(answer, peer)
            self.asked += 1

    def answer(self, question):
        number, flags = struct.unpack_from("!HH", question)
        end = question.index(0, 12) + 5
        name_type = struct.unpack_from("!H", question, end - 4)[0]
        asked = question[12:end]

        def message(code=0, records=b"", count=0, number=number):
            return struct.pack("!HHHHHH", number, 0x8180 | code, 1, count, 0, 0) + asked + records

        address = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + self.address
        good = message(0, address, 1) if name_type == 1 else message()
        return {
            "good": [good],
            "SERVFAIL": [message(2)],
            "NXDOMAIN": [message(3)],
            "REFUSED": [message(5)],
            "silent": [],
            "noise": [os.urandom(200), b"", b"\x00"],
            "another's": [message(0, address.replace(self.address, b"\x7f\x00\x00\x09"), 1,
                                  number=number ^ 0x5555)],
            "cut": [good[:len(good) - 3]],
            "a loop of names": [message(0, b"\xc0\x0c" + struct.pack("!HHIH", 5, 1, 0, 2) + b"\xc0\x0c",
                                        1)],
            "no address": [message()],
        }[self.mode]

    def stop(self):
        self.socket.close()


class Dns(harness.TestCase):
    def test_answers_that_are_none(self):
        """The pool keeps the servers that it has, says so, and goes on when answers are good again."""
        origin = self.echo()
        dns = Nameserver("127.0.0.1")
        self.addCleanup(dns.stop)
        edge = self.edge('[[pool]]\nname = "app"\ndiscovery = { dns = "app.test", '
                         f'port = {origin.port}, resolvers = ["127.0.0.1:{dns.port}"], '
                         'min_ttl = "100ms", max_ttl = "100ms", timeout = "100ms" }\n' + harness.route())

        def discovery():
            return json.loads(edge.control_request("/backends/app", "GET")[1])["discovery"]

        self.assertEqual(edge.get("/")[0], 200)
        for mode in ("SERVFAIL", "NXDOMAIN", "REFUSED", "silent", "noise", "another's", "cut",
                     "a loop of names", "no address"):
            with self.subTest(mode):
                dns.mode = mode
                harness.wait_for(lambda: "error" in discovery(), f"an error by {mode}")
                self.assertEqual(edge.get("/")[0], 200)
                dns.mode = "good"
                harness.wait_for(lambda: "error" not in discovery(), f"servers again after {mode}")
                self.assertEqual(edge.get("/")[0], 200)
        self.assertGreaterEqual(edge.metric('pqedge_discovery_total{pool="app",result="failed"}'), 9)
        self.assertGreaterEqual(edge.log().count("it keeps the servers that it has"), 9)
        self.assertGreaterEqual(edge.log().count("its servers are found again"), 9)


if __name__ == "__main__":
    harness.main()
