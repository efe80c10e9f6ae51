#!/usr/bin/env python3
"""What slow signatures do to the others of a worker (T19).

    python3 bench/slow_signatures.py [--seconds 4] [--rounds 7] [--rate 200] [--clients 4]

One edge with one worker has two names: one with an ECDSA P-256 certificate, one with
SLH-DSA-SHA2-128s, whose signature takes a good part of a second. Full handshakes with one request each
go to the first at a fixed rate (an open loop). Three states take turns: nobody asks for the second
name; clients ask for it all the time; and the same with signing.threads = 0, where the worker signs
itself. Printed, over TCP and QUIC: the 99th percentile of the first name's latency, the median of the
rounds with the least and the most, and how far it moved. Run it on a machine that does nothing else.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "integration"))
import harness  # noqa: E402
from authority import Authority  # noqa: E402

PQLOAD = os.environ.get("PQLOAD_BIN", str(pathlib.Path(harness.PQEDGE).parent / "pqload"))
NAME = "slhdsa.test"


def provider(directory):
    """An environment whose OpenSSL knows a TLS scheme for SLH-DSA, which 3.5 itself lacks."""
    module = pathlib.Path(harness.PQEDGE).resolve().parent / "tests" / "slhdsa-tls.so"
    if not module.exists():
        raise SystemExit(f"{module} is missing: 'make test' builds it")
    conf = directory / "openssl.cnf"
    conf.write_text("openssl_conf = main\n[main]\nproviders = list\nalg_section = evp\n"
                    "[evp]\ndefault_properties = ?provider=slhdsa-tls\n[list]\n"
                    "slhdsa-tls = slhdsa\ndefault = builtin\n"
                    f"[slhdsa]\nmodule = {module}\nactivate = 1\n[builtin]\nactivate = 1\n")
    return dict(os.environ, OPENSSL_CONF=str(conf))


class Asking:
    """Clients that make one handshake with the slow name after the other."""

    def __init__(self, edge, authority, count, env):
        command = (f"while :; do openssl s_client -connect 127.0.0.1:{edge.port} -servername {NAME} "
                   f"-CAfile {authority.chain} </dev/null >/dev/null 2>&1; done")
        self.running = [subprocess.Popen(["bash", "-c", command], env=env, start_new_session=True)
                        for _ in range(count)]

    def stop(self):
        for process in self.running:
            os.killpg(process.pid, 9)
            process.wait()


def percentile(edge, protocol, options, directory):
    out = directory / "load.json"
    done = harness.run(PQLOAD, "-p", protocol, "-c", "32", "-t", options.seconds, "--warm-up", "0.5",
                       "-r", options.rate, "--handshake-each", "--sni", "localhost", "--json", out,
                       f"https://127.0.0.1:{edge.port}/", timeout=options.seconds + 60)
    # 1: some requests failed, as they may while the worker signs itself.
    if done.returncode not in (0, 1) or not out.exists():
        raise SystemExit(done.stderr.decode())
    return json.loads(out.read_text())["latency_us"]["p99"] / 1000


def start(directory, name, threads, authority, env):
    folder = directory / name
    folder.mkdir()
    quick = authority.issue("quick", folder=folder)
    slow = authority.issue("slow", (NAME,), kind="SLH-DSA-SHA2-128s", folder=folder)
    port = harness.free_port()
    edge = harness.Edge(
        folder,
        f'[[listener]]\nname = "https"\naddress = "127.0.0.1:{port}"\n' + quick.toml() + slow.toml()
        + f'[signing]\nthreads = {threads}\n[tls]\nhandshake_timeout = "60s"\n'
        '[[route]]\nname = "all"\nstatus = 200\nbody = "ok"\n[logging]\naccess = ""\n',
        listener=False, env=env)
    edge.port = port
    return edge


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="pqedge-slow-signatures-"))
    edges = {}
    try:
        env = provider(directory)
        authority = Authority(directory)
        edges["threads"] = start(directory, "threads", 1, authority, env)
        edges["worker"] = start(directory, "worker", 0, authority, env)
        print(f"{options.rate:.0f} handshakes a second with ECDSA P-256; {options.clients} clients ask "
              "for SLH-DSA-SHA2-128s; p99 in ms: median [least, most]")
        for protocol in ("h1", "h3"):
            seen = {"alone": [], "beside": [], "on the worker": []}
            for _ in range(options.rounds):
                seen["alone"].append(percentile(edges["threads"], protocol, options, directory))
                for state, edge in (("beside", edges["threads"]), ("on the worker", edges["worker"])):
                    asking = Asking(edge, authority, options.clients, env)
                    try:
                        seen[state].append(percentile(edge, protocol, options, directory))
                    finally:
                        asking.stop()
            made = edges["threads"].metric("pqedge_slow_signatures_made_total")
            moved = [b - a for a, b in zip(seen["alone"], seen["beside"])]
            for state, values in seen.items():
                print(f"{protocol}  {state:14} {statistics.median(values):9.2f} "
                      f"[{min(values):.2f}, {max(values):.2f}]")
            print(f"{protocol}  moved by       {statistics.median(moved):9.2f} "
                  f"[{min(moved):.2f}, {max(moved):.2f}]; {made:.0f} slow signatures made so far")
    finally:
        for edge in edges.values():
            edge.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
