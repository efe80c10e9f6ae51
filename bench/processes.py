"""Processes of a run: started on one core, looked at, stopped."""

import os
import pathlib
import signal
import subprocess
import time


def descendants(pid):
    """The process and all processes below it."""
    found = [pid]
    for parent in found:
        for task in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in task.read_text().split()]
            except OSError:
                pass  # it just ended
    return found


def cpu_masks(pids):
    """{(pid, tid, name): "0" or "0-1" or ...} of every thread."""
    masks = {}
    for pid in pids:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            status = (task / "status").read_text()
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            masks[(pid, int(task.name), fields["Name"])] = fields["Cpus_allowed_list"]
    return masks


def run_time(pids):
    """Seconds that the live threads of these processes were on a core."""
    return sum(int((task / "schedstat").read_text().split()[0]) for pid in pids
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9  # fmt: skip


class Process:
    """A server that runs until it is stopped, its output in a file."""

    def __init__(self, command, log, environment=None):
        self.command = command
        self.log = pathlib.Path(log)
        self._output = open(self.log, "wb")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        self.pid = self._process.pid

    def running(self):
        return self._process.poll() is None

    def last_words(self):
        return self.log.read_text(errors="replace").strip()[-2000:]

    def pids(self):
        return descendants(self.pid)

    def stop(self):
        if self.running():
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                for pid in self.pids():
                    os.kill(pid, signal.SIGKILL)
                self._process.wait(5)
        self._output.close()


def wait_until(condition, seconds=10, pause=0.05):
    """Whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(pause)
    return condition()
