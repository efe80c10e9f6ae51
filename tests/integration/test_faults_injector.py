"""The fault injector itself, on a program that is not ours: docs/internals/faults.md."""

import os
import subprocess
import sys

import faults
import harness
import pqfaults

COMMAND = str(harness.SOURCE / "tests/faults/pqfaults.py")


def python(code, *rules):
    done = harness.run(sys.executable, COMMAND, "run", *[w for r in rules for w in ("-r", r)], "--",
                       sys.executable, "-c", code)
    return done.stdout.decode().strip(), done.stderr.decode().strip()


class Injector(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        faults.load_injector()

    def test_which_calls_fail(self):
        code = """
import socket
seen = ""
for _ in range(9):
    try:
        socket.socket().close()
        seen += "."
    except OSError as error:
        seen += {24: "M", 105: "B"}[error.errno]
print(seen)
"""
        for rule, expected in (("socket errno=EMFILE every=3", "..M..M..M"),
                               ("socket errno=EMFILE nth=2", ".M......."),
                               ("socket errno=ENOBUFS skip=7", ".......BB"),
                               ("socket errno=EMFILE times=2", "MM......."),
                               ("socket errno=EMFILE share=0%", "........."),
                               ("socket errno=EMFILE share=100%", "MMMMMMMMM"),
                               ("socket errno=EMFILE thread=nobody", ".........")):
            with self.subTest(rule):
                out, told = python(code, rule)
                self.assertEqual(out, expected)
                failed = sum(c in "MB" for c in expected)
                self.assertIn(f"{rule}: {failed} of ", told)
        first, _ = python(code, "socket errno=EMFILE share=50%")
        self.assertIn("M", first)
        self.assertIn(".", first)
        self.assertEqual(python(code, "socket errno=EMFILE share=50%")[0], first)  # as before

    def test_what_fails(self):
        out, _ = python("""
import ctypes, os, socket, time
def says(call):
    try:
        return call()
    except OSError as error:
        return os.strerror(error.errno)
a, b = socket.socketpair()
libc = ctypes.CDLL(None, use_errno=True)
print(libc.getrandom(ctypes.create_string_buffer(4), 4, 0), os.strerror(ctypes.get_errno()))
print(time.time() > 4e9)
print(says(lambda: a.send(b"abcdef")), b.recv(10))
file = os.open("/tmp", os.O_TMPFILE | os.O_RDWR)
print(says(lambda: os.write(file, b"x")))
""", "random errno=ENOSYS", "clock offset=3000000000", "send most=3 only=unix",
                        "write errno=ENOSPC only=file")
        self.assertEqual(out.splitlines(), ["-1 Function not implemented", "True", "3 b'abc'",
                                            "No space left on device"])

    def test_a_cut_read_is_told_again_to_an_edge_triggered_loop(self):
        out, _ = python("""
import select, socket
a, b = socket.socketpair()
b.setblocking(False)
epoll = select.epoll()
epoll.register(b, select.EPOLLIN | select.EPOLLET)
a.send(b"abcdefgh")
got = []
while sum(map(len, got)) < 8 and epoll.poll(5):
    try:
        got.append(b.recv(100))
    except BlockingIOError:
        got.append(b"")
print(got)
""", "recv errno=EAGAIN every=2", "recv most=3")
        self.assertEqual(out, "[b'abc', b'', b'def', b'', b'gh']")

    def test_memory(self):
        out, told = python("""
print(len(bytes(10_000_000)))
""", "malloc every=1000000 errno=ENOMEM")
        self.assertEqual(out, "10000000")
        for every in (2, 3, 5, 7, 11):  # the known answers of pqedge-fast.so included
            done = subprocess.run([harness.PQEDGE, "--version"], capture_output=True, timeout=harness.WAIT,
                                  env=dict(os.environ, LD_PRELOAD=pqfaults.library(),
                                           PQEDGE_FAULTS=f"malloc errno=ENOMEM every={every}"))
            self.assertEqual(done.returncode, 0, (every, done.stderr))

    def test_rules_that_are_none(self):
        for rule, why in (("sokcet errno=EMFILE", "no such call: 'sokcet'"),
                          ("socket errno=EWHAT", "no errno that is known here: 'EWHAT'"),
                          ("socket share=5", "a share is a percentage"),
                          ("socket every=5", "a rule needs errno=, most= or offset="),
                          ("socket when=now", "no such setting: 'when'")):
            with self.subTest(rule):
                out, told = python("import socket; socket.socket(); print('on')", rule)
                self.assertEqual(out, "")
                self.assertIn(why, told)


if __name__ == "__main__":
    harness.main()
