"""What must hold for a figure to mean anything. Each is here because without it a run gave a
confident wrong answer once: a slow backend makes all proxies equal, a worker on the wrong core
doubles one arm, an error page is quick to send."""

import hashlib
import subprocess

import arms
import cells
import estimates
import load
import processes

AGREEMENT = 0.05  # of our generator with h2load
IDLE_SHARE = 0.02  # of a core, that an arm may use while another is measured
FOREIGN_SHARE = 0.05  # of the proxy's core, that anything else may use
SATURATED = 0.90  # of its core, from which on an arm's peak is its own


def keeps_rate(offered, measurement):
    return abs(measurement.rate / offered - 1) < 0.03


class GuardBroken(Exception):
    pass


class Guards:
    """Collects what breaks. Strict, the first one ends the run; else the table says it is none."""

    def __init__(self, strict=True):
        self.strict = strict
        self.broken = []
        self.warnings = []
        self.passed = []

    def check(self, holds, name, detail):
        if holds:
            if name not in self.passed:
                self.passed.append(name)
        elif self.strict:
            raise GuardBroken(f"{name}: {detail}")
        else:
            self.broken.append(f"{name}: {detail}")

    def warn(self, holds, name, detail):
        if not holds:
            self.warnings.append(f"{name}: {detail}")

    # Before the run.

    def cpu_masks(self, servers):
        for server in servers:
            masks = processes.cpu_masks(server.pids())
            wrong = {thread: mask for thread, mask in masks.items() if mask != str(server.core)}
            self.check(not wrong, "every thread on its core", f"{server.name}: {wrong}")

    def same_bytes(self, namespace, servers, site, chosen):
        """By curl, which is not ours, where it speaks the protocol; by our generator anyway."""
        curl_versions = subprocess.run(["curl", "--version"], capture_output=True, text=True).stdout
        flags = {"h1": "--http1.1", "h2": "--http2"}
        if "HTTP3" in curl_versions:
            flags["h3"] = "--http3-only"
        for server in servers:
            for protocol, body in sorted({(c.protocol, c.body) for c in chosen}):
                if protocol not in server.protocols:
                    continue
                content = site.bodies[body]
                if protocol in flags:
                    got = subprocess.run(
                        [*namespace.command(arms.LOAD_CORE), "curl", "-sSk", flags[protocol], "--max-time", "10",
                         server.url("/" + body)], capture_output=True)  # fmt: skip
                    self.check(got.stdout == content, "the same bytes from every arm",
                               f"{server.name} {protocol} /{body}: {len(got.stdout)} bytes instead of "
                               f"{len(content)} {got.stderr.decode(errors='replace').strip()}")  # fmt: skip
                cell = cells.Cell("check", protocol, body, 2, 1 if protocol == "h1" else 5)
                result = load.run_pqload(namespace, server, cell, 0, requests=50,
                                         sha256=hashlib.sha256(content).hexdigest())  # fmt: skip
                self.check(result.failed == 0 and result.requests == 50, "the same bytes from every arm",
                           f"{server.name} {protocol} /{body}: {result.first_failure}")  # fmt: skip

    def backend_ceiling(self, namespace, backend, bodies, seconds):
        """Requests a second of the backend alone on its core, the generator on the other."""
        ceilings = {}
        for body in bodies:
            cell = cells.Cell("ceiling", "h1", body, 32)
            result = load.run_pqload(namespace, backend, cell, seconds, core=arms.PROXY_CORE)
            self.check(result.failed == 0, "no failed request", f"backend alone: {result.first_failure}")
            ceilings[body] = result.rate
        return ceilings

    def congestion_control(self, namespace, server, wanted):
        """Of connections as they are, not of a setting."""
        cell = cells.Cell("check", "h1", "1k", 4)
        command = [*namespace.command(arms.LOAD_CORE), load.PQLOAD, "-p", "h1", "-c", "4", "-t", "1.5",
                   "--warm-up", "0", server.url(cell.path)]  # fmt: skip
        running = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
        try:
            processes.wait_until(namespace.tcp_congestion_controls_in_use, 1.5)
            seen = namespace.tcp_congestion_controls_in_use()
        finally:
            running.wait()
        self.check(seen == {wanted}, "one congestion control", f"{seen or 'none'} instead of {wanted}")

    def generator_agrees(self, namespace, server, requests, repetitions):
        """As many requests cost the same server as much CPU, and at saturation take as long, whether
        our generator or h2load sends them. The server proxies to itself: its core is the limit for
        both, although h2load takes more than ours. The CPU is what is held to 5 %: on a machine
        that others use, too, the time says little. As with every ratio here, it is the interval
        that decides: one that lies beyond 5 % as a whole breaks the guard."""
        rows = []
        for protocol, connections, streams in (("h1", 16, 1), ("h2", 10, 10)):
            cell = cells.Cell("agreement", protocol, "1k", connections, streams)
            by = {
                "pqload": lambda: _direct(namespace, server, cell, requests),
                "h2load": lambda: load.run_h2load(namespace, server.url("/direct"), cell, requests),
            }
            rates = {name: [] for name in by}
            cpu = {name: [] for name in by}
            for repetition in range(repetitions):
                for name in list(by) if repetition % 2 == 0 else reversed(by):
                    before = processes.run_time(server.pids())
                    rates[name].append(by[name]())
                    cpu[name].append((processes.run_time(server.pids()) - before) / requests * 1e6)
            estimate = estimates.ratio(cpu["pqload"], cpu["h2load"])
            rate = estimates.ratio(rates["pqload"], rates["h2load"])
            rows.append({"protocol": protocol, "ratio": estimate[0], "interval": estimate[1:], "rate_ratio": rate[0],
                         "server_cpu_us": cpu, "requests_per_second": rates})  # fmt: skip
            self.check(estimate[1] <= 1 + AGREEMENT and estimate[2] >= 1 - AGREEMENT, "the generator agrees with h2load",
                       f"{protocol}: the server took {estimate[0]:.3f} [{estimate[1]:.3f}, {estimate[2]:.3f}] of the "
                       "CPU that it took for h2load's requests")  # fmt: skip
            self.warn(abs(rate[0] - 1) <= AGREEMENT, "the generator is as fast as h2load at saturation",
                      f"{protocol}: {rate[0]:.3f} of its rate")  # fmt: skip
        return rows

    # Of each run.

    def measurement(self, arm, cell, m, idle_shares):
        where = f"{arm} {cell.name}"
        self.check(m.failed == 0, "no failed request", f"{where}: {m.failed}, {m.first_failure}")
        self.check(m.requests > 0, "no failed request", f"{where}: nothing was answered")
        wanted = {"h1": "http/1.1", "h2": "h2", "h3": "h3"}[cell.protocol]
        self.check(m.alpn == wanted and m.cipher == cells.CIPHER and m.group.lower() == cell.groups.lower(),
                   "the same TLS everywhere", f"{where}: {m.alpn} {m.cipher} {m.group}")  # fmt: skip
        for other, share in idle_shares.items():
            self.check(share < IDLE_SHARE, "the other arms idle", f"{where}: {other} used {share:.1%} of a core")
        self.warn(m.proxy_core_foreign < FOREIGN_SHARE, "a quiet machine",
                  f"{where}: others used {m.proxy_core_foreign:.0%} of the proxy's core")  # fmt: skip

    def ceiling_above(self, ceilings, cell, peaks):
        """`peaks`: {arm: requests a second}. Of a cell: the backend's ceiling was measured once, and a
        machine that was slower at that moment says nothing of the other cells."""
        ceiling = ceilings.get(cell.body)
        for arm, peak in peaks.items():
            if ceiling is not None:
                self.check(peak < ceiling, "the backend is faster than any proxy",
                           f"{arm} {cell.name}: {peak:.0f} a second, the backend alone {ceiling:.0f}")  # fmt: skip

    def offered_rate_kept(self, arm, cell, offered, m):
        self.check(keeps_rate(offered, m), "the offered rate was kept",
                   f"{arm} {cell.name}: {m.rate:.0f} of {offered:.0f} a second")  # fmt: skip

    def no_datagram_lost(self, arm, cell, drops):
        self.warn(drops == 0, "no datagram dropped", f"{arm} {cell.name}: {drops} for want of buffer")


def _direct(namespace, server, cell, requests):
    """pqload against the server's answer of its own."""

    class Direct:
        def url(self, _path):
            return server.url("/direct")

    result = load.run_pqload(namespace, Direct(), cell, 0, requests=requests)
    if result.failed:
        raise load.LoadError(f"pqload: {result.first_failure}")
    return result.rate
