"""Session tickets under keys that restarts and machines share, and with an ML-KEM-1024 encapsulation
(T6, K5). Clients: openssl s_client on TCP, aioquic on QUIC."""
# ctest: timeout=120

import os
import random
import re
import shutil
import subprocess
import unittest

import harness
import quic_client
from relay import Relay

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Tickets(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.origin = self.echo()
        self.toml = harness.pool(self.origin.address) + harness.route()
        self.store = self.directory / "store"
        self.key = self.directory / "machine.key"

    def command(self, *args, expect=0):
        done = harness.run(harness.PQEDGE, "ticket-keys", *args)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return (done.stdout + done.stderr).decode()

    def init(self, *args):
        return self.command("init", "--store", self.store, "--private-key", self.key, *args)

    def keys_toml(self, store=None, key=None, extra="", tls=""):
        return (f"[tls]\n{tls}\n[tls.ticket_keys]\nstore = \"{store or self.store}\"\n"
                f"private_key = \"{key or self.key}\"\npoll = \"1s\"\n{extra}\n")

    def machine(self, name, toml, **kwargs):
        """An edge in a directory of its own, as on another machine."""
        directory = self.directory / name
        directory.mkdir(exist_ok=True)
        edge = harness.Edge(directory, self.toml + toml, **kwargs)
        self.addCleanup(self._end_edge, edge)
        return edge

    def s_client(self, edge, *args, host="127.0.0.1", prefix=()):
        done = harness.run(*prefix, "openssl", "s_client", "-connect", f"{host}:{edge.port}",
                           "-servername", "localhost", "-ign_eof", *args, input=REQUEST)
        text = (done.stdout + done.stderr).decode("latin-1")
        self.assertIn("HTTP/1.1 200", text)
        return text

    def new_session(self, edge, *args):
        session = self.directory / "session"
        self.assertIn("New, TLSv1", self.s_client(edge, *args, "-sess_out", session))
        return session

    def resumes(self, edge, session, *args):
        text = self.s_client(edge, *args, "-sess_in", session)
        self.assertRegex(text, "(New|Reused), TLSv1")
        return "Reused, TLSv1" in text

    def taken(self, edge):
        return edge.metric("pqedge_ticket_key_loads_total")

    def wait_taken(self, edge, before):
        harness.wait_for(lambda: self.taken(edge) > before, "the edge to take the store")

    # ---- the command

    def test_the_command(self):
        text = self.init()
        self.assertRegex(text, r"machine\.key: a new private key")
        for file in (self.store, self.key):
            self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertIn("is there already", self.command(
            "init", "--store", self.store, "--private-key", self.key, expect=1))
        files = ("--store", self.store, "--private-key", self.key)
        shown = self.command("show", *files)
        self.assertRegex(shown, r"key [0-7][0-9a-f]{7}  seals from \S+Z  in use\nfor 1 machine\n")
        text = self.command("rotate", *files, "--lead", "1h")
        self.assertEqual([l.split("  ")[-1] for l in text.splitlines()[:2]], ["next", "in use"])
        for _ in range(6):
            text = self.command("rotate", *files, "--lead", "0s")
        self.assertEqual(text.count("key "), 4)  # --keep
        # A key by OpenSSL itself, with a passphrase, as another machine's.
        other = self.directory / "other.key"
        secret = self.directory / "passphrase"
        secret.write_text("correct horse\n")
        secret.chmod(0o600)
        for args in (["genpkey", "-algorithm", "ML-KEM-1024", "-aes256", "-pass", f"file:{secret}",
                      "-out", other],
                     ["pkey", "-in", other, "-passin", f"file:{secret}", "-pubout", "-out",
                      f"{other}.pub"]):
            self.assertEqual(harness.run("openssl", *args).returncode, 0)
        other.chmod(0o600)
        theirs = ("--store", self.store, "--private-key", other)
        self.assertIn("not for this machine", self.command(
            "show", *theirs, "--passphrase-file", secret, expect=1))
        self.assertIn("for 2 machines", self.command("rotate", *files, "--recipient", f"{other}.pub"))
        self.assertIn("for 2 machines", self.command("show", *theirs, "--passphrase-file", secret))
        self.assertIn("is encrypted", self.command("show", *theirs, expect=1))
        secret.write_text("wrong\n")
        self.assertIn("does not open it", self.command(
            "show", *theirs, "--passphrase-file", secret, expect=1))
        # Nothing of the keys is in the clear.
        sealed = self.store.read_bytes()
        self.assertTrue(sealed.startswith(b"pqedgeTK\x01\x02"))

    # ---- resumption

    def test_over_restarts_reloads_and_workers(self):
        self.init()
        edge = self.machine("a", self.keys_toml(), workers=4)
        session = self.new_session(edge)
        for _ in range(4):
            self.assertTrue(self.resumes(edge, session))
        self.assertEqual(edge.reload()[0], 200)
        self.assertTrue(self.resumes(edge, session))
        edge.stop()
        again = self.machine("b", self.keys_toml(), workers=2)
        self.assertTrue(self.resumes(again, session))
        # Without a store a process knows its own tickets only: a full handshake, and no error.
        again.stop()
        alone = self.machine("c", "")
        self.assertFalse(self.resumes(alone, session))

    def test_two_machines_tcp_quic_and_tls12(self):
        # Each has a private key of its own; the store is sealed for both, and copied.
        other = self.directory / "other.key"
        self.assertEqual(harness.run("openssl", "genpkey", "-algorithm", "ML-KEM-1024", "-out",
                                     other).returncode, 0)
        other.chmod(0o600)
        self.assertEqual(harness.run("openssl", "pkey", "-in", other, "-pubout", "-out",
                                     f"{other}.pub").returncode, 0)
        self.init("--recipient", f"{other}.pub")
        copy = self.directory / "copy"
        shutil.copy(self.store, copy)
        tls = 'min_version = "1.2"'
        a = self.machine("a", self.keys_toml(tls=tls), workers=2)
        b = self.machine("b", self.keys_toml(copy, other, tls=tls), workers=2)
        for version in ("-tls1_3", "-tls1_2"):
            session = self.new_session(a, version)
            self.assertTrue(self.resumes(b, session, version), version)
        first = quic_client.fetch(a.port, [("GET", "/", b"")])
        self.assertFalse(first.resumed)
        second = quic_client.fetch(b.port, [("GET", "/", b"")], ticket=first.tickets[-1])
        self.assertTrue(second.resumed)
        self.assertEqual(second.answers[0][0], 200)
        # TCP and QUIC honour each other's keys, and each session's own protocol is offered again.
        self.assertGreater(b.metric('pqedge_tls_resumptions_total{transport="quic"}'), 0)

        # The next key is taken everywhere before it seals, and old tickets stay good.
        session = self.new_session(a)
        before = self.taken(a), self.taken(b)
        files = ("--store", self.store, "--private-key", self.key)
        self.command("rotate", *files, "--lead", "1h")
        temporary = self.directory / "copy.new"
        shutil.copy(self.store, temporary)
        temporary.rename(copy)
        self.wait_taken(a, before[0])
        self.wait_taken(b, before[1])
        self.assertTrue(self.resumes(b, session))
        # As if the hour had passed on one machine first: its tickets open on the other.
        before = self.taken(a)
        self.command("rotate", *files, "--lead", "0s")
        self.wait_taken(a, before)
        session = self.new_session(a)
        before = self.taken(b)
        shutil.copy(self.store, temporary)
        temporary.rename(copy)
        self.wait_taken(b, before)
        self.assertTrue(self.resumes(b, session))

    def test_what_cannot_be_read_keeps_the_keys(self):
        self.init()
        edge = self.machine("a", self.keys_toml())
        session = self.new_session(edge)
        good = self.store.read_bytes()
        broken = bytearray(good)
        broken[2000] ^= 1
        cases = [(bytes(broken), 0o600, "was changed since it was sealed"),
                 (good[:-1], 0o600, "its size is not what its header says"),
                 (b"", 0o600, "is no ticket key store"),
                 (good, 0o666, "its mode is 0666; others could put their own keys into it")]
        for data, mode, message in cases:
            with self.subTest(message=message):
                temporary = self.directory / "new"
                temporary.write_bytes(data)
                temporary.chmod(mode)
                temporary.rename(self.store)
                harness.wait_for(lambda: message in edge.log(), message)
                self.assertIn(f"{message}", edge.log())
                self.assertTrue(self.resumes(edge, session))
                status, body = edge.reload()
                self.assertNotEqual(status, 200)
                self.assertRegex(body, r"edge\.toml:\d+:\d+: tls\.ticket_keys\.store: ")
                self.assertTrue(self.resumes(edge, session))
        self.store.unlink()
        harness.wait_for(lambda: f"{self.store}: No such file" in edge.log(), "the missing file")
        self.assertTrue(self.resumes(edge, session))
        before = self.taken(edge)
        temporary = self.directory / "new"
        temporary.write_bytes(good)
        temporary.chmod(0o600)
        temporary.rename(self.store)
        self.wait_taken(edge, before)
        self.assertTrue(self.resumes(edge, session))
        # A machine that cannot open the store does not start.
        self.key.chmod(0o644)
        check = harness.run(harness.PQEDGE, "check", edge.config_path)
        self.assertIn(b"only its owner may read it: chmod 600", check.stderr)
        self.assertIn(b"tls.ticket_keys.private_key", check.stderr)

    def test_settings_without_effect_are_refused(self):
        edge = self.machine("a", "")
        for toml, message in [
                ('[tls.ticket_keys]\npoll = "5s"\n', "tls.ticket_keys.poll: has no effect without store"),
                ('[tls]\nsession_tickets = false\nticket_encapsulation = true\n',
                 "tls.ticket_encapsulation: has no effect with session_tickets = false"),
                ('[tls]\nmax_early_data = "4KiB"\n',
                 "tls.max_early_data: has no effect without early_data = true"),
                ('[tls]\nearly_data = true\nmax_early_data = "1MiB"\n', "tls.max_early_data: "),
                ('[tls.ticket_keys]\nstore = "s"\n', "tls.ticket_keys: has a store and no private_key")]:
            edge.write_config(self.toml + toml)
            check = harness.run(harness.PQEDGE, "check", edge.config_path)
            self.assertEqual(check.returncode, 1)
            self.assertIn(message, check.stderr.decode())

    # ---- an encapsulation in each ticket (K5)

    def test_encapsulated_tickets_resume_everywhere(self):
        self.init()
        tls = 'ticket_encapsulation = true\nmin_version = "1.2"'
        a = self.machine("a", self.keys_toml(tls=tls))
        b = self.machine("b", self.keys_toml(tls=tls))
        for version in ("-tls1_3", "-tls1_2"):
            session = self.new_session(a, version)
            self.assertTrue(self.resumes(b, session, version), version)
        text = harness.run("openssl", "sess_id", "-in", session, "-noout", "-text").stdout.decode()
        self.assertGreater(int(re.findall(r"([0-9a-f]{4}) - ", text)[-1], 16), 1500)

    def test_large_resumed_hellos_over_quic_in_any_order(self):
        # With a post-quantum key share, which aioquic does not have, the hello has 1,216 bytes more:
        # they come as an extension that nobody knows.
        self.init()
        edge = self.machine("a", self.keys_toml(tls="ticket_encapsulation = true"), workers=2)
        orders = [None, lambda d: d[::-1], lambda d: d[1:] + d[:1],
                  lambda d: random.Random(5).sample(d + d, 2 * len(d))]
        for order in orders:
            held = []
            sent = []

            def shuffle(datagrams):
                if len(sent) >= 3:
                    return datagrams
                held.extend(datagrams)
                sent.extend(datagrams)
                if len(held) < 3:
                    return []
                return order(held) if order else held

            first = quic_client.fetch(edge.port, [("GET", "/", b"")])
            self.assertGreater(len(first.tickets[-1].ticket), 1700)
            relay = Relay(edge.port, to_server=shuffle)
            self.addCleanup(relay.stop)
            second = quic_client.fetch(relay.port, [("GET", "/", b"")], ticket=first.tickets[-1],
                                       padding=1300)
            self.assertTrue(second.resumed)
            self.assertEqual(second.answers[0][0], 200)
            # Three Initials, each as large as a datagram of QUIC.
            self.assertTrue(all(len(d) >= 1200 and d[0] & 0xF0 == 0xC0 for d in held[:3]),
                            [(len(d), hex(d[0])) for d in held])

    @unittest.skipUnless(os.geteuid() == 0, "network namespaces need root")
    def test_large_resumed_hellos_over_an_mtu_of_1280(self):
        self.init()
        name = f"pqedge-{os.getpid()}"
        if harness.run("ip", "netns", "add", name).returncode != 0:
            self.skipTest("network namespaces cannot be made here")
        self.addCleanup(harness.run, "ip", "netns", "del", name)
        inside = ["ip", "netns", "exec", name]
        done = harness.run(*inside, "ip", "link", "set", "lo", "mtu", "1280", "up")
        if done.returncode != 0:  # in a chroot, whose root is not mounted
            self.skipTest(f"network namespaces cannot be entered here: {done.stderr.decode().strip()}")
        edge = self.machine("a", self.keys_toml(tls="ticket_encapsulation = true"))
        self.assertEqual(edge.stop(), 0)  # it runs again inside, with the same files
        # The backend is outside: a fixed answer needs none.
        config = edge.config_path.read_text().replace(
            self.toml, '[[route]]\nname = "all"\nstatus = 200\nbody = "ok"\n')
        edge.config_path.write_text(config)
        process = harness.Process([*inside, harness.PQEDGE, "--config", edge.config_path],
                                  self.directory / "inside.log")
        self.addCleanup(process.stop)
        harness.wait_for(lambda: harness.run(
            *inside, "curl", "-sf", f"http://127.0.0.1:{edge.admin_port}/readyz").returncode == 0,
            "the edge in the namespace")
        session = self.directory / "session"
        groups = ("-groups", "X25519MLKEM768")
        self.s_client(edge, *groups, "-sess_out", session, prefix=inside)
        text = self.s_client(edge, *groups, "-sess_in", session, "-msg", prefix=inside)
        self.assertIn("Reused, TLSv1.3", text)
        size = int(re.search(r">>> TLS 1\.3, Handshake \[length ([0-9a-f]+)\], ClientHello", text)[1], 16)
        self.assertGreater(size, 3000)


if __name__ == "__main__":
    harness.main()
