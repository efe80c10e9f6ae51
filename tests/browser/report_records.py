"""Records for the tests of the report: complete by the program's own schema, figures made up here.

Two hosts. The first has nine runs, of which the newest is withheld and the one before it keeps its
samples; some of its strings are hostile. The second has one run of everything.
"""

import json
import math
import os
import random
import statistics
import subprocess

HOSTILE = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)>"\'&{{data}}'
PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")


class Maker:
    def __init__(self):
        done = subprocess.run([PQCOST, "convert", "--schema"], capture_output=True, check=True)
        self.schema = json.loads(done.stdout)

    def blank(self, schema):
        """The least value that the schema allows."""
        if "$ref" in schema:
            return self.make(schema["$ref"].rsplit("/", 1)[1])
        if "const" in schema:
            return schema["const"]
        kind = schema["type"]
        if isinstance(kind, list):
            return None
        if kind == "object":
            return {n: self.blank(schema["properties"][n]) for n in schema.get("required", [])}
        return {"string": "", "boolean": False, "integer": 0, "number": 0, "array": []}[kind]

    def make(self, kind, /, **values):
        schema = self.schema["$defs"][kind]
        made = self.blank(schema)
        for key in values:
            if key not in schema["properties"]:
                raise KeyError(f"{kind} has no member {key}")
        return {**made, **values}

    def record(self, **values):
        return {**self.blank(self.schema), **values}


def percentile(ascending, p):
    return ascending[max(0, math.ceil(p / 100 * len(ascending)) - 1)]


def figures(samples):
    ascending = sorted(samples)
    mean = statistics.fmean(ascending)
    deviation = statistics.stdev(ascending)
    return {
        "iterations": len(ascending), "mean_us": mean, "median_us": percentile(ascending, 50),
        "p95_us": percentile(ascending, 95),
        "p99_us": percentile(ascending, 99) if len(ascending) >= 100 else None,
        "stdev_us": deviation, "min_us": ascending[0], "max_us": ascending[-1],
        "mean_ci95_us": 1.96 * deviation / math.sqrt(len(ascending)),
        "tail": ascending[-1] / mean, "ops_per_second": 1e6 / mean,
    }


def draw(rng, middle, n=1000, spread=0.03):
    slow = [middle * rng.lognormvariate(0, spread) for _ in range(n)]
    for i in rng.sample(range(n), max(1, n // 60)):
        slow[i] *= 1 + 2 * rng.random()
    return slow


# Middles in microseconds, of the two libraries.
SPEED = {
    "OpenSSL": {"x": (37, 32), "p256": (13, 57), "p384": (160, 330), "768": (47, 32, 50),
                "1024": (72, 50, 74)},
    "Botan": {"x": (48, 45), "p256": (31, 82), "p384": (70, 190), "768": (21, 18, 24),
              "1024": (33, 27, 36)},
}
TLS = [
    ("X25519", "classical", "x", None, 0x1D, (32, 32)),
    ("MLKEM768", "lattice", None, "768", 0x201, (1184, 1088)),
    ("SecP256r1MLKEM768", "hybrid", "p256", "768", 0x11EB, (1249, 1153)),
    ("X25519MLKEM768", "hybrid", "x", "768", 0x11EC, (1216, 1120)),
    ("SecP384r1MLKEM1024", "hybrid", "p384", "1024", 0x11ED, (1665, 1665)),
]
SSH = [
    ("curve25519-sha256", "classical", "x", None, None, (32, 32)),
    ("mlkem768x25519-sha256", "hybrid", "x", "768", None, (1216, 1120)),
]


def exchange_suite(make, rng, row, provider, speed, samples, factor):
    name, family, classical, kem, code, wire = row
    phases = []
    if kem:
        for phase, side, middle in zip(("KEM keygen", "KEM encapsulate", "KEM decapsulate"),
                                       ("client", "server", "client"), speed[kem]):
            phases.append((phase, side, 1, draw(rng, middle * factor)))
    if classical:
        for phase, middle in zip(("Classical keygen", "Classical derive"), speed[classical]):
            phases.append((phase, "both", 2, draw(rng, middle * factor)))
    client = [0.0] * 1000
    server = [0.0] * 1000
    for _, side, weight, drawn in phases:
        for turn in range(weight):
            target = server if side == "server" or turn == 1 else client
            order = drawn if turn == 0 else rng.sample(drawn, len(drawn))
            for i, value in enumerate(order):
                target[i] += value
    total = [a + b for a, b in zip(client, server)]
    whole = [value * rng.uniform(1.01, 1.05) for value in total]
    composed = figures(total)
    composed["mean_us"] = sum(w * statistics.fmean(d) for _, _, w, d in phases)
    composed["tail"] = composed["max_us"] / composed["mean_us"]
    composed["ops_per_second"] = 1e6 / composed["mean_us"]
    end = figures(whole)
    suite = make.make(
        "suite", name=name, family=family, provider=provider,
        provider_version="3.5.9" if provider == "OpenSSL" else "3.7.1",
        code="portable C" if provider == "OpenSSL" else "AVX2", keys="parsed at import",
        baseline=kem is None,
        note="post-quantum alone: no classical part to fall back on" if not classical else "",
        phases=[make.make("phase", name=p, side=s, weight=w, **figures(d),
                          **({"samples_us": d} if samples else {})) for p, s, w, d in phases],
        composed=composed, client=figures(client), server=figures(server), end_to_end=end,
        end_to_end_ratio=end["median_us"] / composed["median_us"],
        wire_bytes=sum(wire),
        wire_bytes_by_direction={"client_to_server": wire[0], "server_to_client": wire[1]},
        wire_details=[make.make("wire_detail", name="handshake messages", source="RFC 8446 4",
                                bytes={"client_to_server": wire[0] + 290,
                                       "server_to_client": wire[1] + 90})],
        sizes={"kem_public_key": wire[0]} if kem else {"classical_public_key": wire[0]})
    if code:
        suite["code_point"] = code
    return suite


def track(make, rng, name, title, rows, providers=("OpenSSL", "Botan"), samples=False, factor=1.0):
    suites = []
    for provider in providers:
        own = [exchange_suite(make, rng, row, provider, SPEED[provider], samples, factor)
               for row in rows]
        for suite in own[1:]:
            ratio = suite["composed"]["median_us"] / own[0]["composed"]["median_us"]
            suite["against_baseline"] = {"value": ratio, "ci95": [ratio * 0.985, ratio * 1.02]}
        suites += own
    if name == "ssh":
        suites.append(make.make("suite", name="sntrup761x25519-sha512", family="hybrid",
                                absent="no library here offers sntrup761"))
    threads = [make.make("throughput", suite=suite, provider="OpenSSL", threads=n,
                         per_second=rate * n * (0.97 ** n), per_second_per_thread=rate * 0.97 ** n)
               for suite, rate in (("X25519", 7100.0), ("X25519MLKEM768", 3700.0))
               for n in (1, 2, 4)]
    return make.make("track", name=name, title=title, suites=suites,
                     throughput=threads if name == "tls" else [])


SIGNATURES = [
    ("ECDSA-P256", "classical", (13, 19.5, 65), 65, 91, 72),
    ("Ed25519", "classical", (33, 35, 96), 32, 44, 64),
    ("RSA-2048-PSS", "classical", (61000, 334, 22), 270, 294, 256),
    ("ML-DSA-44", "lattice", (98, 608, 114), 1312, 1334, 2420),
    ("ML-DSA-65", "lattice", (161, 998, 172), 1952, 1974, 3309),
    ("ML-DSA-87", "lattice", (248, 1220, 277), 2592, 2614, 4627),
    ("Falcon-512 (round 3)", "lattice", (9100, 320, 41), 897, None, 752),
    ("SLH-DSA-SHAKE-128s", "hash_based", (111000, 851000, 850), 32, 50, 7856),
    ("SLH-DSA-SHAKE-128f", "hash_based", (1740, 40790, 2430), 32, 50, 17088),
]


def signatures(make, rng):
    suites = []
    for name, family, middles, raw, spki, signature in SIGNATURES:
        phases = []
        for phase, middle in zip(("Keygen", "Sign", "Verify"), middles):
            n = 12 if middle > 50000 else 1000
            wide = 0.6 if family == "lattice" and phase == "Sign" else 0.04
            drawn = draw(rng, middle, n, wide)
            phases.append(make.make("phase", name=phase, side="both", weight=1, **figures(drawn)))
        sizes = {"public_key": raw, "signature": signature}
        if spki:
            sizes["spki"] = spki
        suites.append(make.make(
            "suite", name=name, family=family, phases=phases, sizes=sizes, keys="parsed",
            provider="PQClean" if name.startswith("Falcon") else "OpenSSL",
            provider_version="0.8.1" if name.startswith("Falcon") else "3.5.9", code="portable C",
            note="the third round's Falcon" if name.startswith("Falcon") else ""))
    suites.append(make.make("suite", name="XMSS-SHA2_10_256", family="stateful_hash",
                            absent="no library here offers it"))
    suites[2]["withheld"] = {"reason": "spread of 31 % in the reference loop, 10 % is the limit"}
    return make.make("track", name="signatures", title="Signatures", suites=suites)


def bulk(make, rng):
    suites = []
    for name, middle in (("AES-256-GCM", 2.0), ("ChaCha20-Poly1305", 9.4)):
        phases = [make.make("phase", name=phase, side="both", weight=1,
                            **figures(draw(rng, middle)))
                  for phase in ("Encrypt", "Decrypt")]
        suites.append(make.make("suite", name=name, family="symmetric", provider="OpenSSL",
                                provider_version="3.5.9", code="AES-NI and AVX2", phases=phases,
                                baseline=name == "AES-256-GCM", sizes={"plaintext": 16384}))
    return make.make("track", name="bulk", title="Records of 16,384 bytes", suites=suites)


CHAINS = [
    ("ECDSA P-256", 466, 431), ("RSA-2048", 860, 822), ("RSA-3072", 1116, 1078),
    ("ML-DSA-44", 4059, 4020), ("ML-DSA-65", 5588, 5549), ("ML-DSA-87", 7546, 7507),
]


def chains(make):
    made = [make.make("chain", name=name, leaf_algorithm=name, intermediate_algorithm=name,
                      root_algorithm=name, leaf_der=leaf, intermediate_der=between,
                      certificate_message=leaf + between + 10,
                      multiple_of_p256=(leaf + between) / 897, captured=True,
                      profile="minimal", savings={"intermediate left out": between + 5},
                      parts={"leaf public key (SPKI)": 91})
            for name, leaf, between in CHAINS]
    made.append(make.make("chain", name="ML-DSA-44, 2 SCTs", leaf_algorithm="ML-DSA-44",
                          intermediate_algorithm="ML-DSA-44", root_algorithm="ML-DSA-44",
                          leaf_der=8999, intermediate_der=4020, certificate_message=13029, scts=2,
                          multiple_of_p256=13019 / 897))
    return made


def flights(make):
    made = []
    signature = {"ECDSA P-256": 80, "RSA-2048": 264, "RSA-3072": 392, "ML-DSA-44": 2428,
                 "ML-DSA-65": 3317, "ML-DSA-87": 4635}
    for transport in ("tcp", "quic"):
        for name, leaf, between in CHAINS:
            parts = {"ServerHello": 1210, "EncryptedExtensions": 12,
                     "Certificate": leaf + between + 10, "CertificateVerify": signature[name],
                     "Finished": 52, "TLS records" if transport == "tcp" else "QUIC packets": 115}
            size = sum(parts.values())
            windows = [(1460, 14600), (1448, 14480), (1428, 14280)]
            rules = [f"10 x {s} (RFC 6928)" for s, _ in windows]
            if transport == "quic":
                windows = [(1200, 7200), (1200, 12000)]
                rules = ["3 x 2400 (RFC 9000 8.1)", "address validated (RFC 9002 7.2)"]
            verdicts = [make.make("window_verdict", segment=s, window=w, rule=r, fits=size <= w,
                                  extra_round_trips=0 if size <= w else 1)
                        for (s, w), r in zip(windows, rules)]
            first = verdicts[0]
            made.append(make.make(
                "flight", chain=name, transport=transport, group="X25519MLKEM768",
                client_hello=1481, client_datagrams=2 if transport == "quic" else 0,
                server_flight=size, parts=parts, segment=first["segment"], window=first["window"],
                window_rule=first["rule"], fits=first["fits"],
                extra_round_trips=first["extra_round_trips"], windows=verdicts))
    return made


def tokens(make):
    made = []
    for name, registered, header, raw in (
            ("ES256", True, 36, 64), ("PS256 (2048)", True, 36, 256), ("PS256 (3072)", True, 36, 384),
            ("ML-DSA-44", True, 42, 2420), ("ML-DSA-65", True, 42, 3309),
            ("ML-DSA-87", True, 42, 4627), ("FN-DSA-512", False, 43, 666),
            ("SLH-DSA-SHA2-128s", False, 51, 7856)):
        signature = math.ceil(raw * 4 / 3)
        total = header + 280 + signature + 2
        limits = {"cookie in a browser": 4096, "Apache, one field": 8190, "nginx, one field": 8192,
                  "HAProxy, whole head": 15360, "Node, whole head": 16384}
        made.append(make.make(
            "token", algorithm=name, registered=registered, header=header, payload=280,
            signature=signature, signature_raw=raw, total=total, multiple_of_es256=total / 404,
            first_request={"hpack": total + 10, "hpack if indexed": total + 12, "qpack": total + 9},
            following_request={"hpack": total + 10,
                               "hpack if indexed": 1 if total <= 4044 else total + 12,
                               "qpack": total + 9},
            forms={"authorization line": total + 24},
            fits_in=[n for n, b in limits.items() if total <= b],
            too_large_for=[n for n, b in limits.items() if total > b],
            note="" if registered else "a draft's name"))
    return made


def limits(make):
    return [make.make("documented_limit", name=n, bytes=b, counts="one field's line", answer=a,
                      source="example.org")
            for n, b, a in (("cookie in a browser", 4096, "ignored"), ("Apache, one field", 8190, "400"),
                            ("nginx, one field", 8192, "400"), ("HAProxy, whole head", 15360, "400"),
                            ("Node, whole head", 16384, "431"), ("Caddy, whole head", 1000000, "431"))]


def environment(make, date, commit, host, cpu, identity):
    facts = make.make("host", name=host, id=identity, kernel="Linux 6.12.0", distribution="Debian 13",
                      virtualization="kvm",
                      cpu=make.make("cpu", model=cpu, architecture="x86_64", logical_cores=2,
                                    features=["avx2", "bmi2", "vaes"], smt=True,
                                    mhz_before=2445.0, mhz_after=2447.0))
    noise = make.make("noise", steal_percent=0.2, load_before=0.3, load_after=1.1,
                      spread_percent=2.4, involuntary_switches=14)
    return make.make("environment", date=date, pqcost_version="0.1.0", commit=commit,
                     compiler="GCC 14.2.0", compiler_flags="-O2", host=facts, pinned_core=1,
                     command_line="pqcost run all --samples", clock_source="CLOCK_MONOTONIC",
                     clock_resolution_ns=10, clock_overhead_ns=21.0, noise=noise,
                     libraries=[{"name": "OpenSSL", "version": "3.5.9"},
                                {"name": "Botan", "version": "3.7.1"}])


def records():
    """File name to record."""
    make = Maker()
    made = {}
    for day in range(1, 10):
        rng = random.Random(day)
        env = environment(make, f"2026-11-{20 + day}T09:00:00Z", f"6ed429a{day:05d}",
                          "edge-1 " + HOSTILE, "AMD EPYC 9004 " + HOSTILE, "a" * 16)
        record = make.record(
            id=f"{day:032x}", environment=env, complete=True,
            tracks=[track(make, rng, "tls", "TLS 1.3 key exchange", TLS, samples=day == 8,
                          factor=1 + 0.04 * math.sin(day)),
                    track(make, rng, "ssh", "SSH key exchange", SSH)],
            known_answers=[make.make("known_answer", provider="OpenSSL", algorithm="ML-KEM-768",
                                     source="NIST ACVP ML-KEM-keyGen-FIPS203 tcId 26", passed=True),
                           make.make("known_answer", provider="Botan", algorithm=HOSTILE,
                                     source="RFC 7748 6.1", passed=False, detail=HOSTILE)],
            absent=[make.make("absent", provider="liboqs", reason="not installed"),
                    make.make("absent", algorithm="sntrup761", reason="no library offers it")])
        if day == 9:
            record["withheld"] = {"reason": "steal of 6.1 %, 2 % is the limit"}
        if day == 8:
            record["tracks"][0]["suites"][3]["note"] = HOSTILE
        made[f"edge-1-{day}.json"] = record
    rng = random.Random(99)
    wire = {"client_to_server": 1604, "server_to_client": 2950}
    made["lab-2.json"] = make.record(
        id="f" * 32, complete=True,
        environment=environment(make, "2026-11-15T12:30:00Z", "9f57fb3aaaaa", "lab-2",
                                "Neoverse V1", "b" * 16),
        tracks=[track(make, rng, "tls", "TLS 1.3 key exchange", TLS, providers=("OpenSSL",)),
                signatures(make, rng), bulk(make, rng)],
        chains=chains(make), flights=flights(make), tokens=tokens(make), token_claims='{"sub":"x"}',
        documented_limits=limits(make),
        limits=[make.make("limit", software="nginx", version="1.26", http_version="HTTP/1.1",
                          what="ML-DSA-65 bearer token", bytes=4760, outcome="200",
                          documented_limit="8,192 a line", source="nginx.org")],
        live=[make.make("live", target="localhost:8443", transport=t, group="X25519MLKEM768",
                        group_code=0x11EC, cipher="TLS_AES_256_GCM_SHA384", bytes=wire,
                        packets={"client_to_server": 4, "server_to_client": 4}, packets_known=True,
                        times_us={"connect": 210.0, "server_hello": 1030.0, "finished": 1870.0},
                        outcome="handshake") for t in ("tls", "quic")],
        scenarios=[make.make("scenario", scenario="loss", variant=v, emulator="TUN relay",
                             settings={"delay": "50 ms"}, added_delay_us=31.0, added_delay_p99_us=80.0,
                             seeds=[1, 2, 3], outcomes={"handshake": 3},
                             times_us={"finished": {"median": m, "low": m * 0.9, "high": m * 2.1,
                                                    "runs": 3}})
                   for v, m in (("X25519, 1 %", 104000.0), ("X25519MLKEM768, 1 %", 106000.0))])
    return made


def write_all(folder):
    for name, record in records().items():
        (folder / name).write_text(json.dumps(record), encoding="utf-8")
