"""The handshake table of `bench/run.py --handshakes`: group x certificate, over TCP and QUIC.

Each figure is the CPU of the server for one full TLS 1.3 handshake with one small request, in
microseconds, the median of the repetitions; the arms take turns, in a new order each repetition. Bytes
are those of the first request's connection as a client sees them: TLS records on TCP, UDP payload on
QUIC, less what an answer without handshake takes (measured beside it on a kept connection).

  BENCH_HANDSHAKE_GROUPS   comma-separated; BENCH_HANDSHAKE_CERTIFICATES likewise
  BENCH_HANDSHAKE_PROTOCOLS   h1,h3

The arm pqedge-fast is taken where build/pqedge-fast.so is there (make fast-crypto).
"""

import csv
import dataclasses
import json
import os
import sys

import arms
import cells
import estimates
import guards
import stand

GROUPS = ("X25519", "P-256", "X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024", "MLKEM768")
CERTIFICATES = {
    "ECDSA P-256": ("ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
    "RSA-2048": ("rsa:2048",),
    "ML-DSA-44": ("ml-dsa-44",),
    "ML-DSA-65": ("ml-dsa-65",),
}
PROTOCOLS = ("h1", "h3")
WARM = 300  # requests on kept connections, for the bytes of an answer


@dataclasses.dataclass(frozen=True)
class Row:
    certificate: str
    group: str
    protocol: str
    arm: str
    microseconds: float
    spread: float  # between the first and the last of the repetitions, as a share
    bytes_in: float
    bytes_out: float


def say(text):
    print(text, file=sys.stderr, flush=True)


def chosen(variable, known):
    names = [name for name in os.environ.get(variable, "").split(",") if name]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise guards.GuardBroken(f"{variable}: {', '.join(unknown)}; there are: {', '.join(known)}")
    return names or list(known)


def cell_of(group, protocol, handshake=True):
    name = f"{protocol}-{group}"
    return cells.Cell(name, protocol, "0", 10, 1, handshake, group)


def each(measurement, key):
    return measurement.traffic[key] / max(1, measurement.requests)


# As OpenSSL says it of a finished handshake.
NEGOTIATED = {"P-256": "secp256r1", "P-384": "secp384r1"}


def check(measurement, cell, arm):
    wanted = NEGOTIATED.get(cell.groups, cell.groups)
    known = {name.lower() for name in (wanted, cell.groups, "")}  # OpenSSL says "x25519"
    if measurement.failed or not measurement.requests or measurement.group.lower() not in known:
        raise guards.GuardBroken(f"{arm}, {cell.name}: {measurement.requests} answered, {measurement.failed} failed, "
                                 f"group {measurement.group}: "
                                 f"{measurement.first_failure}")  # fmt: skip


def rows_of(bench, certificate, group, protocol, options):
    """Every arm that serves this protocol, or a reason why one does not."""
    cell = cell_of(group, protocol)
    names = bench.serving(cell)
    times = {name: [] for name in names}
    traffic = {}
    for name in names:
        plain, _ = bench.measure(name, cell_of(group, protocol, False), min(0.5, options.seconds))
        check(plain, cell, name)
        traffic[name] = (each(plain, "bytes_sent"), each(plain, "bytes_received"))
    for repetition in range(options.repetitions):
        turn = repetition % len(names)
        for name in [*names[turn:], *names[:turn]]:
            measurement, _ = bench.measure(name, cell, options.seconds)
            check(measurement, cell, name)
            times[name].append(measurement.total())
            if repetition == 0:
                sent, received = traffic[name]
                traffic[name] = (each(measurement, "bytes_sent") - sent,
                                 each(measurement, "bytes_received") - received)  # fmt: skip
    for name in names:
        middle = estimates.median(times[name])
        spread = (max(times[name]) - min(times[name])) / middle if middle else 0
        yield Row(certificate, group, protocol, name, middle, spread, *traffic[name])


def arm_names(options):
    names = [name for name in options.arm_names if name != "floor"]
    if "pqedge" in names and (arms.TOP / "build" / "pqedge-fast.so").exists() and "pqedge-fast" not in names:
        names.insert(names.index("pqedge") + 1, "pqedge-fast")
    return names


def markdown(rows, facts):
    names = list(dict.fromkeys(row.arm for row in rows))
    by = {(row.certificate, row.group, row.protocol, row.arm): row for row in rows}
    text = "# Handshakes\n\n"
    text += "CPU of the server a full handshake with one small request, microseconds (median).\n\n"
    for name, versions in facts["versions"].items():
        text += f"- {name}: {versions.get('version', '?')}, {versions.get('tls', '?')}\n"
    text += f"\n{facts['repetitions']} repetitions of {facts['seconds']} s\n"
    for protocol, title in (("h1", "TCP"), ("h3", "QUIC")):
        here = [row for row in rows if row.protocol == protocol]
        if not here:
            continue
        text += f"\n## {title}\n\n"
        text += "| certificate | group | " + " | ".join(names) + " | best rival | bytes to server / to client |\n"
        text += "|---|---|" + "---|" * len(names) + "---|---|\n"
        for certificate, group in dict.fromkeys((row.certificate, row.group) for row in here):
            found = {name: by.get((certificate, group, protocol, name)) for name in names}
            cpu = [f"{row.microseconds:.0f} ({row.spread:.0%})" if row else "not served" for row in found.values()]
            rivals = [row.microseconds for name, row in found.items() if row and name in arms.RIVALS]
            ours = found.get("pqedge-fast") or found.get("pqedge")
            ratio = f"{ours.microseconds / min(rivals):.2f}" if rivals and ours else ""
            size = f"{ours.bytes_in:.0f} / {ours.bytes_out:.0f}" if ours else ""
            text += f"| {certificate} | {group} | " + " | ".join(cpu) + f" | {ratio} | {size} |\n"
        text += "\nIn brackets: the distance between the least and the most of the repetitions. \"best rival\": "
        text += "pqedge (with the fast module, where it is there) over the better of haproxy and nginx.\n"
    for skipped in facts["skipped"]:
        text += f"\nLeft out: {skipped}\n"
    return text


def run(options):
    groups = chosen("BENCH_HANDSHAKE_GROUPS", GROUPS)
    certificates = chosen("BENCH_HANDSHAKE_CERTIFICATES", tuple(CERTIFICATES))
    protocols = chosen("BENCH_HANDSHAKE_PROTOCOLS", PROTOCOLS)
    names = arm_names(options)
    if any(name in arms.RIVALS for name in names):
        stand.install_rivals()
    rows, skipped, versions = [], [], {}
    for certificate in certificates:
        for group in groups:
            # One group a server: nothing is negotiated, and a rival that lacks it does not start.
            try:
                with stand.Bench(names, options.pqedge, certificate=CERTIFICATES[certificate],
                                 groups=(group,)) as bench:  # fmt: skip
                    versions = {name: server.versions() for name, server in bench.servers.items()}
                    for protocol in protocols:
                        found = list(rows_of(bench, certificate, group, protocol, options))
                        rows += found
                        say(f"  {certificate}, {group}, {protocol}: "
                            + ", ".join(f"{row.arm} {row.microseconds:.0f}" for row in found))  # fmt: skip
            except (arms.ArmError, guards.GuardBroken) as error:
                skipped.append(f"{certificate}, {group}: {error}")
                say(f"  {certificate}, {group}: left out: {error}")
    facts = {"versions": versions, "repetitions": options.repetitions, "seconds": options.seconds,
             "skipped": skipped}  # fmt: skip
    text = markdown(rows, facts)
    for directory in [stand.OUT, *([options.publish] if options.publish else [])]:
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "handshakes.md"), "w", encoding="utf-8") as out:
            out.write(text)
        with open(os.path.join(directory, "handshakes.json"), "w", encoding="utf-8") as out:
            json.dump({"facts": facts, "rows": [dataclasses.asdict(row) for row in rows]}, out, indent=1)
        with open(os.path.join(directory, "handshakes.csv"), "w", encoding="utf-8", newline="") as out:
            table = csv.writer(out)
            table.writerow([field.name for field in dataclasses.fields(Row)])
            table.writerows(dataclasses.astuple(row) for row in rows)
    print(text)
    return 1 if skipped else 0
