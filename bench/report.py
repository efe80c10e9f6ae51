"""The table, and the raw rows."""

import csv
import json
import math
import pathlib

import arms
import estimates
import guards

MODES = {"equal": "At one equal offered rate (70 % of the slowest arm's peak)", "saturated": "At saturation"}


class Results:
    """All measurements of a run, and what is worked out from them."""

    def __init__(self, arm_names):
        self.arm_names = arm_names
        self.rows = []  # of (mode, cell, repetition, arm, Measurement, offered rate)
        self.withheld = []  # {"mode", "cell", "reason"}: their rows are kept, no figure is made of them

    def add(self, mode, cell, repetition, arm, measurement, offered=None):
        self.rows.append((mode, cell, repetition, arm, measurement, offered))

    def withhold(self, mode, cell, reason):
        self.withheld.append({"mode": mode, "cell": cell.name, "reason": reason})

    def is_withheld(self, mode, cell):
        return any((w["mode"], w["cell"]) == (mode, cell.name) for w in self.withheld)

    def series(self, mode, cell, arm, value):
        """One figure of each repetition, in their order; none where the comparison is withheld."""
        if self.is_withheld(mode, cell):
            return []
        return [value(m) for row_mode, row_cell, _, row_arm, m, _ in self.rows
                if (row_mode, row_cell, row_arm) == (mode, cell, arm)]  # fmt: skip

    def cells(self, mode):
        return list(dict.fromkeys(cell for row_mode, cell, *_ in self.rows if row_mode == mode))

    def cpu(self, mode, cell, arm):
        return self.series(mode, cell, arm, lambda m: m.total())

    def better_rival(self, mode, cell):
        """Of HAProxy and nginx, the one that takes less."""
        present = [name for name in arms.RIVALS if self.cpu(mode, cell, name)]
        return min(present, key=lambda name: estimates.median(self.cpu(mode, cell, name)), default=None)

    def ours(self):
        return [name for name in self.arm_names if name.startswith("pqedge")]

    def ratio(self, mode, cell, arm):
        rival = self.better_rival(mode, cell)
        if rival is None or not self.cpu(mode, cell, arm):
            return None
        return estimates.ratio(self.cpu(mode, cell, arm), self.cpu(mode, cell, rival))

    def user_beyond_floor(self, mode, cell, arm="pqedge"):
        """The arm's user time beyond the floor's, over the better rival's beyond the floor's."""
        rival = self.better_rival(mode, cell)
        user = {name: estimates.median(self.series(mode, cell, name, lambda m: m.cpu["arm"]["user"]))
                for name in (arm, rival, "floor") if name}  # fmt: skip
        if rival is None or any(math.isnan(user.get(name, math.nan)) for name in (arm, rival, "floor")):
            return None
        beyond = user[rival] - user["floor"]
        return (user[arm] - user["floor"]) / beyond if beyond > 0 else None


def _number(value, digits=1):
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _cpu_text(results, mode, cell, arm):
    """"25.1 (8.0+17.1) 4%": total, user + kernel, spread."""
    total = results.cpu(mode, cell, arm)
    if not total:
        return "-"
    user = estimates.median(results.series(mode, cell, arm, lambda m: m.cpu["arm"]["user"]))
    kernel = estimates.median(results.series(mode, cell, arm, lambda m: m.cpu["arm"]["kernel"]))
    return f"{_number(estimates.median(total))} ({_number(user)}+{_number(kernel)}) {estimates.spread(total):.0%}"


def _ratio_text(results, mode, cell, arm):
    """"0.84 [0.82, 0.86] nginx": against whom; in parentheses when 1 is not excluded."""
    if results.is_withheld(mode, cell):
        return "withheld"
    estimate = results.ratio(mode, cell, arm)
    if estimate is None:
        return "-"
    text = f"{estimate[0]:.2f} [{estimate[1]:.2f}, {estimate[2]:.2f}]"
    if not estimates.excludes_one(estimate):
        text = f"({text})"
    return f"{text} {results.better_rival(mode, cell)}"


def _rate_text(results, cell, arm):
    """Requests a second; in parentheses when the arm was not what limited them."""
    rates = results.series("saturated", cell, arm, lambda m: m.rate)
    if not rates:
        return "-"
    share = estimates.median(results.series("saturated", cell, arm, lambda m: m.cpu["arm"]["share"]))
    text = f"{estimates.median(rates):.0f}"
    return text if share >= guards.SATURATED else f"({text})"


def _datagrams_text(results, mode, cell, arm):
    def of(name):
        return estimates.median(results.series(mode, cell, arm, lambda m: m.traffic.get(name, 0) / m.requests))

    if not results.cpu(mode, cell, arm):
        return "-"
    return f"{of('datagrams_received'):.2f} / {of('datagrams_sent'):.2f}, {of('ack_only_sent'):.2f}"


def _table(header, rows):
    """A Markdown table whose columns also stand straight in a terminal."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
             for row in [header, *rows]]  # fmt: skip
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def markdown(results, facts):
    names = results.arm_names
    parts = [_heading(facts)]
    for mode, title in MODES.items():
        chosen = results.cells(mode)
        if not chosen:
            continue
        rows = []
        for cell in chosen:
            row = [cell.title, *(_cpu_text(results, mode, cell, name) for name in names)]
            row += [*(_ratio_text(results, mode, cell, name) for name in results.ours()), _number(cell.aim, 2)]
            rows.append(row)
        parts += [f"## {title}: CPU us a request",
                  "Median: user + kernel (user + kernel apart), and the spread of the repetitions. The ratio is "
                  "pqedge's to the better rival's, of paired repetitions, with its 95 % interval; in parentheses "
                  "when that does not exclude 1.",
                  _table(["cell", *names, *(f"{name}: ratio, rival" for name in results.ours()), "aim"], rows)]  # fmt: skip
    if results.cells("saturated"):
        parts += ["## At saturation: requests a second",
                  "In parentheses: the arm used less than 90 % of its core, so it was not the limit.",
                  _table(["cell", *names], [[cell.title, *(_rate_text(results, cell, name) for name in names)]
                                            for cell in results.cells("saturated")])]  # fmt: skip
    parts += _floor_part(results) + _datagram_part(results) + _latency_part(results) + _load_part(results)
    return "\n\n".join(parts) + "\n"


def _heading(facts):
    lines = ["# pqedge beside its rivals", ""]
    if facts["withheld"]:
        lines += ["Withheld, since a guard broke:", "",
                  *(f"- {w['cell']}, {w['mode']}: {w['reason']}" for w in facts["withheld"]), ""]  # fmt: skip
    if facts["broken"]:
        lines += ["**Guards were broken: this is no result.**", *(f"- {text}" for text in facts["broken"][:20]), ""]
    lines += [f"- {name}: {versions.get('version', '?')}, {versions.get('tls', 'no TLS')}"
              for name, versions in facts["versions"].items()]  # fmt: skip
    network = facts["network"]
    lines += [f"- machine: {facts['machine']['cpu']}, {facts['machine']['cores']} cores, Linux {facts['machine']['kernel']}",
              f"- network: a namespace's loopback, MTU {network['mtu']}, {network['congestion_control']}, "
              f"qdisc {network['qdisc']}, initial window {network['initcwnd']}",
              f"- {facts['repetitions']} repetitions of {facts['seconds']} s, arms interleaved, order rotated, "
              f"commit {facts['commit']}, {facts['date']}",
              "- the backend alone: " + ", ".join(f"/{body} {rate:.0f} a second" for body, rate in facts["ceilings"].items()),
              "- the same requests by our generator / by h2load: " +
              (", ".join(f"{row['protocol']} {row['ratio']:.3f} [{row['interval'][0]:.3f}, {row['interval'][1]:.3f}] of the server's CPU, {row['rate_ratio']:.3f} of the rate"
                         for row in facts["agreement"])
                                          or "not compared"),
              f"- repetitions taken again, since an arm did not get the offered rate: {facts['taken_again']}",
              "- guards held: " + "; ".join(facts["passed"])]  # fmt: skip
    if facts["warnings"]:
        lines.append(f"- warnings: {len(facts['warnings'])}, first: {facts['warnings'][0]}")
    return "\n".join(lines)


def _floor_part(results):
    rows = []
    for mode in MODES:
        for cell in results.cells(mode):
            beyond = results.user_beyond_floor(mode, cell)
            if beyond is not None:
                rows.append([cell.title, mode, f"{beyond:.2f}", "0.55"])
    if not rows:
        return []
    return ["## User time beyond the floor's, over the better rival's beyond the floor's",
            _table(["cell", "load", "ratio", "aim"], rows)]  # fmt: skip


def _datagram_part(results):
    rows = []
    for mode in MODES:
        for cell in results.cells(mode):
            if cell.protocol == "h3":
                rows.append([cell.title, mode, *(_datagrams_text(results, mode, cell, name)
                                                 for name in results.arm_names if name != "floor")])  # fmt: skip
    if not rows:
        return []
    return ["## HTTP/3: datagrams a request",
            "From the server / from the generator, of which acknowledgements only.",
            _table(["cell", "load", *(name for name in results.arm_names if name != "floor")], rows)]  # fmt: skip


def _latency_part(results):
    rows = []
    for cell in results.cells("equal"):
        row = [cell.title]
        for name in results.arm_names:
            percentiles = [estimates.median(results.series("equal", cell, name, lambda m, p=p: m.latency[p]))
                           for p in ("p50", "p99")]  # fmt: skip
            row.append("-" if math.isnan(percentiles[0]) else " / ".join(f"{p:.0f}" for p in percentiles))
        rows.append(row)
    if not rows:
        return []
    return ["## At the equal rate: latency, us, 50 % / 99 %, from the intended time",
            _table(["cell", *results.arm_names], rows)]  # fmt: skip


def _load_part(results):
    rows = []
    for mode in MODES:
        for cell in results.cells(mode):
            row = [cell.title, mode]
            for name in results.arm_names:
                generator = estimates.median(
                    results.series(mode, cell, name, lambda m: m.generator["user"] + m.generator["kernel"]))
                backend = estimates.median(results.series(mode, cell, name, lambda m: m.total("backend")))
                row.append("-" if math.isnan(generator) else f"{generator:.1f} + {backend:.1f}")
            rows.append(row)
    return ["## CPU us a request of generator + backend", _table(["cell", "load", *results.arm_names], rows)] if rows else []


def write_raw(results, facts, directory):
    """raw.csv: one line a run; run.json: all that is known; table.md."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "table.md").write_text(markdown(results, facts))
    flat = [_flat(*row) for row in results.rows]
    with open(directory / "raw.csv", "w", newline="") as file:
        names = list(dict.fromkeys(key for row in flat for key in row))
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(flat)
    (directory / "run.json").write_text(json.dumps({"facts": facts, "rows": flat}, indent=1) + "\n")


def _flat(mode, cell, repetition, arm, m, offered):
    row = {
        "mode": mode, "cell": cell.name, "repetition": repetition, "arm": arm,
        "protocol": cell.protocol, "body": cell.body, "connections": cell.connections, "streams": cell.streams,
        "handshake_each": int(cell.handshake_each), "group": m.group, "cipher": m.cipher,
        "requests": m.requests, "requests_per_second": round(m.rate, 1),
        "offered_per_second": "" if offered is None else round(offered, 1),
        "failed": m.failed, "handshakes": m.handshakes,
        "cpu_us": round(m.total(), 3), "user_us": round(m.cpu["arm"]["user"], 3),
        "kernel_us": round(m.cpu["arm"]["kernel"], 3), "core_share": round(m.cpu["arm"]["share"], 4),
        "backend_us": round(m.total("backend"), 3),
        "generator_us": round(m.generator["user"] + m.generator["kernel"], 3),
        "foreign_share": round(m.proxy_core_foreign, 4), "stolen_share": round(m.proxy_core_stolen, 4),
    }  # fmt: skip
    row |= {f"latency_{key}_us": round(value, 1) for key, value in m.latency.items() if key != "count"}
    row |= m.traffic
    return row
