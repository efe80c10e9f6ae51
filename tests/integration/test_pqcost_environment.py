"""What pqcost run says of the machine and of its noise, against what other programs say."""
# ctest: processors=2

import glob
import json
import os
import platform
import pty
import re
import subprocess
import sys

import harness

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")
SHORT = ("run", "bulk", "--iterations", "10", "--threads", "0")
LONGER = ("run", "bulk", "--iterations", "100000", "--seconds", "0.5", "--threads", "0")


def first_line(path):
    with open(path, encoding="utf-8") as file:
        return file.readline().strip()


class Environment(harness.TestCase):
    def record(self, *arguments, before=(), run=SHORT):
        done = subprocess.run([*before, PQCOST, *run, "--format", "json", "-q", *arguments],
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout), done.stdout.decode()

    def test_host_as_others_see_it(self):
        record, text = self.record("--host-name", "a host")
        host = record["environment"]["host"]
        self.assertEqual(host["name"], "a host")
        self.assertEqual(host["kernel"], platform.release())
        self.assertEqual(host["distribution"], platform.freedesktop_os_release()["PRETTY_NAME"])
        self.assertEqual(host["cpu"]["architecture"], platform.machine())
        self.assertEqual(host["cpu"]["logical_cores"], os.sysconf("SC_NPROCESSORS_ONLN"))
        listed = subprocess.run(["lscpu", "-J"], capture_output=True, check=True).stdout
        fields = {f["field"]: f.get("data") for f in json.loads(listed)["lscpu"]}
        flags = fields.get("Flags:", "").split()
        for feature in ("avx2", "avx512f", "vaes", "sha_ni", "bmi2", "adx", "asimd", "sha3"):
            self.assertEqual(feature in host["cpu"]["features"], feature in flags, feature)
        if platform.machine() == "x86_64":
            self.assertEqual(host["cpu"]["model"], fields["Model name:"])
            guest = fields.get("Virtualization type:") == "full" or "hypervisor" in flags
            self.assertEqual(host["virtualization"] != "none", guest)
        self.assertRegex(host["id"], "^[0-9a-f]{32}$")
        for path in glob.glob("/etc/machine-id"):
            self.assertNotIn(first_line(path) or "?", text)

    def test_build_clock_and_core(self):
        record, _ = self.record()
        environment = record["environment"]
        libraries = {entry["name"]: entry["version"] for entry in environment["libraries"]}
        version = subprocess.run(["openssl", "version"], capture_output=True, check=True).stdout
        self.assertEqual(libraries["OpenSSL"], version.decode().split()[1])
        self.assertRegex(environment["compiler"], r"^(GCC|Clang) \d+\.\d+")
        self.assertIn("-std=c++23", environment["compiler_flags"])
        self.assertRegex(environment["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertTrue(environment["command_line"].startswith("pqcost run bulk --iterations 10"))
        self.assertGreater(environment["clock_resolution_ns"], 0)
        self.assertEqual(environment["pinned_core"], max(os.sched_getaffinity(0)))

    def test_a_core_by_number(self):
        allowed = sorted(os.sched_getaffinity(0))
        record, _ = self.record("--core", str(allowed[0]))
        self.assertEqual(record["environment"]["pinned_core"], allowed[0])
        record, _ = self.record(before=("taskset", "-c", str(allowed[0])))
        self.assertEqual(record["environment"]["pinned_core"], allowed[0])

    def test_a_core_that_is_not_there(self):
        done = subprocess.run([PQCOST, *SHORT, "--core", "1000"], capture_output=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"core 1000 is not allowed here: this process may run on", done.stderr)

    def test_a_busy_neighbour_withholds_the_run(self):
        count = os.cpu_count() // 4 + 1
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
        try:
            record, _ = self.record(run=LONGER)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertGreater(record["environment"]["noise"]["others_percent"], 10)
        self.assertIn("CPU time of other processes", record["withheld"]["reason"])

    def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(self):
        command = [PQCOST, *SHORT, "--format", "json"]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertNotIn(b"\x1b", done.stderr)
        self.assertRegex(done.stderr.decode(), r"(?m)^Run: done in \d+ s$")
        main, terminal = pty.openpty()
        environment = dict(os.environ, TERM="xterm")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal,
                                   env=environment)
        os.close(terminal)
        shown = b""
        try:
            while chunk := os.read(main, 4096):
                shown += chunk
        except OSError:  # the terminal's last user is gone
            pass
        os.close(main)
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertTrue(re.search(rb"\r\x1b\[KRun \[#*-*\] +\d+ %", shown), shown)
        self.assertIn(b"Run: done in", shown)


if __name__ == "__main__":
    harness.main()
