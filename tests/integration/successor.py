"""Upgrades of a running edge: the process that takes its place is no child of the test."""

import ctypes
import json
import os
import select
import signal
import subprocess

import harness

PR_SET_CHILD_SUBREAPER = 36
# A process whose parent has ended becomes the test's, so that its end is seen and its state is told.
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Adopted:
    """As subprocess.Popen, for a process that somebody else has started."""

    def __init__(self, pid):
        self.pid = pid
        self.returncode = None
        self._fd = os.pidfd_open(pid)

    def poll(self):
        if self.returncode is None and select.select([self._fd], [], [], 0)[0]:
            self._reap()
        return self.returncode

    def wait(self, timeout=None):
        if self.returncode is None:
            if not select.select([self._fd], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            self._reap()
        return self.returncode

    def _reap(self):
        try:
            status = os.waitpid(self.pid, 0)[1]
            self.returncode = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            self.returncode = 0  # it ended before its parent did, who has its status

    def send_signal(self, number):
        if self.poll() is None:
            signal.pidfd_send_signal(self._fd, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def status(edge):
    code, text = edge.control_request("/status", "GET")
    assert code == 200, text
    return json.loads(text)


def adopt(edge, pid):
    """`edge` is that process from now on. Returns the old one."""
    old, edge.process = edge.process, Adopted(pid)
    return old


def upgrade(edge):
    """Upgrades by the control socket. Returns the process that served before."""
    before = edge.process.pid
    code, text = edge.control_request("/upgrade")
    assert code == 200, text
    now = harness.wait_for(
        lambda: (lambda s: s if s["process"] != before else None)(status(edge)), "the new process")
    return adopt(edge, now["process"])


def wait_alone(edge):
    """Until the process before has ended."""
    harness.wait_for(lambda: status(edge)["process_before"] == 0, "the end of the old process")
