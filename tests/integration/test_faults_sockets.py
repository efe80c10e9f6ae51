"""Sockets that cannot be had, sends that the kernel refuses, calls that signals break off: clients and
backends get every byte, and what could not be served is told."""
# ctest: timeout=180

import json
import os
import socket
import ssl

import batch
import faults
import h3_backend
import harness
import pki
import pqfaults


class Sends(faults.TestCase):
    """One edge; the faults change."""

    def test_every_byte_arrives(self):
        self.start()
        self.transfers()
        cases = {
            "no memory for a send": ("sends errno=ENOBUFS share=30%", "sends errno=ENOMEM share=20%"),
            "EAGAIN storms": ("sends errno=EAGAIN share=60%", "recvs errno=EAGAIN share=50%"),
            "parts": ("send most=700", "recv most=900", "sendmmsg most=1", "recvmmsg most=1"),
            "signals": ("calls errno=EINTR share=40%", "connect errno=EINTR after"),
            "all at once": ("sends errno=ENOBUFS share=10%", "recvs errno=EAGAIN share=20%",
                            "calls errno=EINTR share=20%", "send most=3000 share=50%"),
        }
        for name, rules in cases.items():
            with self.subTest(name):
                self.forget_connections()
                self.control.set(*rules)
                self.transfers()
                for i, rule in enumerate(rules):
                    self.assertGreater(self.control.failed(i), 0, rule)
        self.control.set()
        self.transfers()
        # Nothing of it was a fault of the server's, and no datagram was given up.
        self.assertEqual(self.proxy.metric("pqedge_udp_send_failed_total"), 0)
        self.assertEqual(self.proxy.metric("pqedge_retries_total"), 0)

    def test_gso_is_refused_at_send_time(self):
        self.start()
        self.transfers(["3"])
        self.assertEqual(self.proxy.metric("pqedge_udp_gso_failed_total"), 0)
        self.control.set("sends errno=EIO only=gso")
        self.transfers(["3"])
        self.assertGreater(self.control.failed(), 0)
        self.assertGreater(self.proxy.metric("pqedge_udp_gso_failed_total"), 0)
        self.assertEqual(self.proxy.metric("pqedge_udp_send_failed_total"), 0)
        seen = self.control.counts()[0][0]
        self.transfers(["3"])  # it is known now, and not tried again
        self.assertEqual(self.control.counts()[0][0], seen)

    def test_toward_servers_over_quic(self):
        ca = pki.Authority(self.directory, name="Backend CA")
        origin = h3_backend.H3Backend(ca.issue("backend", subject="/CN=app", sans="DNS:app.internal"),
                                      h3_backend.echo)
        self.addCleanup(origin.stop)
        self.start(origin=origin, routes=harness.pool(
            origin.address, protocol="h3", tls=True, tls_ca=str(ca.certificate),
            tls_server_name="app.internal", tls_key_shares=["X25519MLKEM768", "X25519"]) + harness.route())
        upload = self.directory / "upload"
        upload.write_bytes(faults.BODY)
        for rule in ("sends errno=EIO only=gso", "send errno=ENOBUFS share=30% only=udp",
                     "send errno=ENOMEM share=30% only=udp", "recvs errno=EAGAIN share=30% only=udp"):
            with self.subTest(rule):
                self.control.set(rule)
                answers = batch.ask(self.proxy, [(v, "/", "--data-binary", f"@{upload}", "-H", "Expect:")
                                                 for v in harness.ALL_VERSIONS])
                for answer in answers:
                    self.assertEqual((answer.failed, answer.status), (0, 200))
                    self.assertIn(f"body: {faults.SIZE}\n".encode(), answer.body)
                self.assertGreater(self.control.failed(), 0)
        self.assertEqual(self.proxy.metric("pqedge_backend_connect_failures_total"), 0)

    def test_a_way_that_stays_stuck_is_given_up(self):
        """ENOBUFS for good: datagrams are dropped after some tries, as on any full path, and later
        ones arrive."""
        self.start()
        self.control.set("sendmmsg errno=ENOBUFS times=60")
        self.transfers(["3"])
        self.assertEqual(self.control.failed(), 60)
        self.assertGreater(self.proxy.metric("pqedge_udp_send_failed_total"), 0)


class Descriptors(faults.TestCase):
    def test_accept_has_none(self):
        self.start()
        for code in ("EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "ECONNABORTED"):
            with self.subTest(code):
                pauses = self.proxy.metric("pqedge_accept_pauses_total")
                self.control.set(f"accept errno={code} times=2 thread=worker")
                self.assertEqual(self.proxy.get("/")[0], 200)  # it waits, and is served
                self.assertEqual(self.control.failed(), 2)
                rested = self.proxy.metric("pqedge_accept_pauses_total") - pauses
                self.assertEqual(rested, 0 if code == "ECONNABORTED" else 2)
        self.assertIn("cannot accept: Too many open files; new connections wait. Raise RLIMIT_NOFILE",
                      self.proxy.log())

    def test_a_server_is_not_blamed_for_ours(self):
        origin = self.mirror()
        self.start(origin=origin, routes=harness.pool(origin.address, retries=0) + harness.route())
        for code in ("EMFILE", "ENOBUFS", "ENFILE"):
            with self.subTest(code):
                self.forget_connections()
                self.control.set(f"socket errno={code} times=1 thread=worker")
                status, _, body = self.proxy.get("/")
                self.assertEqual((status, self.control.failed()), (503, 1))
                self.assertEqual(self.proxy.get("/")[0], 200)  # at once
        records = self.proxy.wait_access(3, lambda r: r["status"] == 503)
        self.assertIn("Too many open files", json.dumps(records[0]))
        self.assertEqual(self.proxy.metric("pqedge_backend_connect_shortages_total"), 3)
        self.assertEqual(self.proxy.metric("pqedge_backend_connect_failures_total"), 0)
        self.wait_log("Raise RLIMIT_NOFILE")

    def test_another_has_a_connection_that_is_kept(self):
        first, second = self.mirror(), self.mirror()
        self.start(origin=first, routes=harness.pool(
            first.address, second.address, balance="round_robin") + harness.route())
        for _ in range(4):
            self.assertEqual(self.proxy.get("/")[0], 200)
        first.close_connections()
        harness.wait_for(lambda: self.proxy.metric("pqedge_backend_connections") == 1, "one kept")
        self.control.set("socket errno=EMFILE thread=worker")
        for _ in range(4):
            self.assertEqual(self.proxy.get("/")[0], 200)
        self.assertGreater(self.control.failed(), 0)
        self.control.set()
        for _ in range(4):
            self.assertEqual(self.proxy.get("/")[0], 200)
        self.assertEqual(first.connections, 2)  # nothing was held against it

    def test_nor_by_a_check(self):
        """A look at a server that cannot begin says nothing of it."""
        origin = self.mirror()
        self.start(origin=origin, routes=f'[[pool]]\nname = "app"\nservers = ["{origin.address}"]\n'
                   'health = { kind = "tcp", interval = "50ms", fall = 1 }\n' + harness.route())

        def checks(result):
            return sum(v for k, v in self.proxy.metrics().items()
                       if k.startswith("pqedge_backend_checks_total") and f'result="{result}"' in k)

        harness.wait_for(lambda: checks("well") > 0, "a check that goes well")
        self.control.set("socket errno=EMFILE times=5")
        harness.wait_for(lambda: checks("not_made") > 0 and self.control.failed() == 5, "checks without")
        self.assertEqual(checks("failed"), 0)
        self.assertEqual(self.proxy.get("/")[0], 200)
        self.assertIn("not looked at: ", self.proxy.log())

    def test_what_epoll_will_not_watch(self):
        """epoll_ctl() fails for want of memory or watches: that connection ends, told, and no other."""
        origin = self.mirror()
        self.start(origin=origin, routes=harness.pool(origin.address, retries=0) + harness.route())
        self.assertEqual(self.proxy.get("/")[0], 200)
        open_before = self.proxy.descriptors()
        self.control.set("epoll_ctl errno=ENOSPC times=1 only=tcp thread=worker")
        with self.assertRaises((OSError, ssl.SSLError)):
            self.proxy.tls().close()
        self.assertEqual(self.control.failed(), 1)
        self.assertEqual(self.proxy.get("/")[0], 200)
        # Toward a server: the second of a request on a connection that is here.
        with self.proxy.tls() as client:
            self.forget_connections()
            self.control.set("epoll_ctl errno=ENOMEM times=1 only=tcp thread=worker")
            client.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assertEqual(harness.read_response(client)[0], 503)
            client.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assertEqual(harness.read_response(client)[0], 200)
        self.wait_log("cannot watch descriptor")
        self.assertEqual(self.proxy.metric("pqedge_watch_failures_total"), 2)
        self.assertEqual(self.proxy.metric("pqedge_backend_connect_failures_total"), 0)
        self.origin.close_connections()
        harness.wait_for(lambda: self.proxy.descriptors() <= open_before, "no descriptor to be left")

    def test_a_start_without_descriptors_is_refused(self):
        for call in ("epoll_create", "eventfd", "socket"):
            with self.subTest(call):
                self.control = pqfaults.Control(self.directory / call, [f"{call} errno=EMFILE"])
                edge = harness.Edge(self.directory, "", wait=False,
                                    env=dict(os.environ, **self.control.environment()))
                self.addCleanup(edge.kill)
                self.assertEqual(edge.process.wait(harness.WAIT), 1)
                self.assertIn("Too many open files", edge.log())

    def test_a_reload_without_descriptors_changes_nothing(self):
        port = harness.free_port()
        more = f'[[listener]]\nname = "more"\naddress = "127.0.0.1:{port}"\ntls = false\n'
        self.start(workers=2)
        toml = harness.pool(self.origin.address) + harness.route()
        self.proxy.write_config(toml + more)
        # The last: one worker could, and the other cannot.
        for rule in ("socket errno=EMFILE", "epoll_ctl errno=ENOMEM thread=worker",
                     "epoll_ctl errno=ENOMEM thread=worker/1"):
            with self.subTest(rule):
                self.control.set(rule)
                status, text = self.proxy.reload()
                self.assertGreater(self.control.failed(), 0)
                self.control.set()
                self.assertNotEqual(status, 200, text)
                for _ in range(4):
                    self.transfers(body=b"x")
                with self.assertRaises(OSError):
                    socket.create_connection(("127.0.0.1", port), timeout=5)
        self.assertEqual(self.proxy.reload()[0], 200)
        with socket.create_connection(("127.0.0.1", port), timeout=harness.WAIT) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assertEqual(harness.read_response(plain)[0], 200)


if __name__ == "__main__":
    harness.main()
