"""Debian's knot as the DNS server of a zone whose records change."""

import pathlib
import shutil

import harness


class Knot(harness.Process):
    """Debian's knot with the zone "test.", whose records change."""

    def __init__(self, directory):
        self.port = harness.free_port()
        self.directory = pathlib.Path(directory) / "knot"
        self.directory.mkdir()
        self.conf = self.directory / "knot.conf"
        self.serial = 0
        self.write({})
        self.conf.write_text(f"""
server:
  rundir: {self.directory}
  listen: 127.0.0.1@{self.port}
log:
  - target: stderr
    any: info
database:
  storage: {self.directory}
zone:
  - domain: test
    storage: {self.directory}
    file: test.zone
    zonefile-sync: -1
    journal-content: none
""")
        super().__init__([shutil.which("knotd") or "/usr/sbin/knotd", "-c", self.conf],
                         self.directory / "knot.log")
        harness.wait_for(self._answers, "knot to answer")

    def dig(self, name, kind="A"):
        return harness.run("dig", "+short", "+time=1", "+tries=1", "-p", self.port, "@127.0.0.1",
                           name, kind).stdout.decode().split("\n")[:-1]

    def _answers(self):
        if not self.alive():
            raise AssertionError(f"knot ended at start:\n{self.log()}")
        return self.dig("test", "NS") == ["ns.test."]

    def write(self, records, ttl=1):
        """name -> lines such as "A 127.0.0.1"."""
        self.serial += 1
        lines = ["$ORIGIN test.", f"$TTL {ttl}", f"@ SOA ns hostmaster {self.serial} 60 60 60 1",
                 "@ NS ns", "ns A 127.0.0.1"]
        lines += [f"{name} {r}" for name, all_of in records.items() for r in all_of]
        (self.directory / "test.zone").write_text("\n".join(lines) + "\n")

    def change(self, records, **kwargs):
        self.write(records, **kwargs)
        done = harness.run(shutil.which("knotc") or "/usr/sbin/knotc", "-c", self.conf, "-b",
                           "zone-reload", "test")
        assert done.returncode == 0, done.stderr
