"""pqload in the background."""

import json
import os
import pathlib
import signal

import harness

PQLOAD = os.environ.get("PQLOAD_BIN", str(pathlib.Path(harness.PQEDGE).parent / "pqload"))


class Load:
    """Runs until stop(), which returns its record: "requests", "failures" by kind, ...; at the
    latest until the test ends."""

    def __init__(self, test, edge, protocol, *args, name="", path="/"):
        self.out = test.directory / f"load-{protocol}{name}.json"
        self.process = harness.Process(
            [PQLOAD, "-p", protocol, "-t", "600", "--warm-up", "0", "--json", self.out, "--ca",
             edge.certificate.chain, "--sni", "localhost", *args,
             f"https://127.0.0.1:{edge.port}{path}"],
            self.out.with_suffix(".log"))
        test.addCleanup(self.process.kill)

    def stop(self):
        self.process.stop(signal.SIGINT)
        return json.loads(self.out.read_text())
