"""The test stand: a namespace, the backend and the arms, all running."""

import subprocess

import arms
import guards
import load
import namespace

OUT = arms.TOP / "build" / "bench"


def install_rivals():
    result = subprocess.run([arms.TOP / "bench" / "rivals.sh"], stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        raise arms.ArmError("bench/rivals.sh failed")


def rotated(names, turn):
    turn %= len(names)
    return [*names[turn:], *names[:turn]]


def repetitions(names, count, rate, measure):
    """{name: measurement} by `measure(name)`, `count` times, in rotating order. One in which a name did
    not get the offered rate is taken again as a whole, `count` times in all."""
    spare = count
    turn = 0
    while count > 0:
        taken = {name: measure(name) for name in rotated(names, turn)}
        turn += 1
        if all(guards.keeps_rate(rate, measurement) for measurement in taken.values()):
            count -= 1
            yield taken
        elif spare > 0:
            spare -= 1
        else:
            raise guards.GuardBroken(f"{rate:.0f} a second were not kept")


class Bench:
    """The namespace, the backend and the arms, all running; used with `with`."""

    def __init__(self, arm_names, pqedge=None, **site):
        self.arm_names = arm_names
        self._site = site  # of arms.Site
        self._pqedge = pqedge
        self.tool = []  # words before each arm's command
        self.start_seconds = 10
        self.servers = {}

    def __enter__(self):
        self.namespace = namespace.Namespace().__enter__()
        self.directory = OUT / "site"
        try:
            self.site = arms.Site(self.directory, **self._site)
            self.backend = arms.Backend(self.namespace, self.site, arms.BACKEND_PORT)
            self.backend.start()
            for number, name in enumerate(self.arm_names):
                options = {"binary": self._pqedge} if self._pqedge and name.startswith("pqedge") else {}
                server = arms.ARMS[name](self.namespace, self.site, arms.BACKEND_PORT + 1 + number, **options)
                self.servers[name] = server
                server.tool, server.start_seconds = self.tool, self.start_seconds
                server.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in [*self.servers.values(), *([self.backend] if hasattr(self, "backend") else [])]:
            server.stop()
        self.namespace.__exit__()

    def serving(self, cell):
        return [name for name in self.arm_names if cell.protocol in self.servers[name].protocols]

    def measure(self, arm, cell, seconds, rate=None):
        """One run, and what the other arms used meanwhile: {arm: share of a core}."""
        watch = {"arm": self.servers[arm].pids(), "backend": self.backend.pids()}
        others = [name for name in self.arm_names if name != arm]
        watch |= {name: self.servers[name].pids() for name in others}
        measurement = load.run_pqload(self.namespace, self.servers[arm], cell, seconds, rate=rate, watch=watch)
        return measurement, {name: measurement.cpu[name]["share"] for name in others}
