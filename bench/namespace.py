"""A network namespace of the run's own: only a loopback device, and cubic.

Nothing of a run leaves it. Its MTU is that of Ethernet: over the loopback's 65,536 bytes a QUIC
stack that searches for the path's MTU would send datagrams that no network carries.
"""

import os
import pathlib
import subprocess

MTU = 1500
ALLOWED = pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")


class NamespaceError(Exception):
    pass


def _run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise NamespaceError(f"{' '.join(command)}: {result.stderr.strip() or result.stdout.strip()}")
    return result.stdout


class Namespace:
    """Use it with `with`: it is gone at the end, and so are the processes in it that `stop` names."""

    def __init__(self, congestion_control="cubic"):
        self.name = f"pqedge-bench-{os.getpid()}"
        self._congestion_control = congestion_control
        self._allowed_before = None

    def __enter__(self):
        # Only the first namespace may choose an algorithm that is not open to all, so open it.
        allowed = ALLOWED.read_text().split()
        if self._congestion_control not in allowed:
            self._allowed_before = " ".join(allowed)
            ALLOWED.write_text(" ".join([*allowed, self._congestion_control]))
        _run("ip", "netns", "add", self.name)
        try:
            _run("ip", "-n", self.name, "link", "set", "lo", "mtu", str(MTU), "up")
            for key, value in (
                ("net.ipv4.tcp_congestion_control", self._congestion_control),
                ("net.ipv4.ip_local_port_range", "1024 65535"),
                ("net.ipv4.tcp_max_syn_backlog", "8192"),
                ("net.core.somaxconn", "8192"),
            ):
                _run(*self.command(), "sysctl", "-qw", f"{key}={value}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)
        if self._allowed_before is not None:
            ALLOWED.write_text(self._allowed_before)
            self._allowed_before = None

    def command(self, core=None):
        """The words that run a command inside, on one core. It keeps its process id: all of them
        replace themselves."""
        words = ["ip", "netns", "exec", self.name]
        if core is not None:
            words += ["taskset", "-c", str(core)]
        return words

    def output(self, *command, core=None):
        return _run(*self.command(core), *command)

    def facts(self):
        """What the network of the run is: recorded with the results."""
        qdisc = self.output("tc", "qdisc", "show", "dev", "lo").strip()
        routes = self.output("ip", "route", "show", "table", "local")
        windows = [line.split("initcwnd ")[1].split()[0] for line in routes.splitlines() if "initcwnd" in line]
        return {
            "congestion_control": self.output("sysctl", "-n", "net.ipv4.tcp_congestion_control").strip(),
            "qdisc": qdisc.split()[1] if qdisc else "none",
            "initcwnd": windows[0] if windows else "10 (the kernel's default)",
            "mtu": MTU,
            "rmem_max": int(pathlib.Path("/proc/sys/net/core/rmem_max").read_text()),
        }

    def tcp_congestion_controls_in_use(self):
        """Those of the established connections of this moment."""
        known = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
        words = self.output("ss", "-tinH", "state", "established").split()
        return {word for word in words if word in known}

    def udp_drops(self):
        """Datagrams lost for want of room in a socket's buffer, since the namespace exists."""
        lines = [line.split() for line in self.output("cat", "/proc/net/snmp").splitlines() if line.startswith("Udp:")]
        counters = dict(zip(lines[0][1:], lines[1][1:]))
        return int(counters["RcvbufErrors"])
