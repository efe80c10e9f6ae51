"""What is measured: protocol x body x connections, and the two special loads."""

import dataclasses
import fnmatch

BODIES = {"0": 0, "1k": 1024, "64k": 65536}
HYBRID = "X25519MLKEM768"
CLASSICAL = "X25519"
CIPHER = "TLS_AES_128_GCM_SHA256"


@dataclasses.dataclass(frozen=True)
class Cell:
    name: str
    protocol: str  # "h1", "h2", "h3", as pqload names them
    body: str  # a key of BODIES
    connections: int
    streams: int = 1
    handshake_each: bool = False
    groups: str = HYBRID

    @property
    def path(self):
        return "/" + self.body

    @property
    def title(self):
        protocol = {"h1": "HTTP/1.1", "h2": "HTTP/2", "h3": "HTTP/3"}[self.protocol]
        if self.handshake_each:
            return f"{protocol}, full handshake + 1 request, {self.groups}"
        body = {"0": "empty", "1k": "1 KB", "64k": "64 KB"}[self.body]
        load = f"{self.connections}" if self.protocol == "h1" else f"{self.connections} x {self.streams}"
        return f"{protocol}, {body}, {load}"

    @property
    def aim(self):
        """The largest ratio of CPU time to the better rival's that is aimed at."""
        if self.handshake_each:
            return None
        if self.body == "64k":
            return 0.95
        return 0.85 if self.protocol == "h1" else 0.80


def _all_cells():
    # B1: the eighteen.
    for protocol in ("h1", "h2", "h3"):
        for body in BODIES:
            for connections in (10, 100):
                streams = 1 if protocol == "h1" else 10
                yield Cell(f"{protocol}-{body}-{connections}", protocol, body, connections, streams)
    # B4: a full handshake and one request.
    for protocol in ("h1", "h3"):
        for groups, short in ((CLASSICAL, "x25519"), (HYBRID, "mlkem")):
            yield Cell(f"{protocol}-handshake-{short}", protocol, "1k", 10, 1, True, groups)
    # B5: one request in flight a connection.
    yield Cell("h3-1k-10x1", "h3", "1k", 10, 1)


CELLS = tuple(_all_cells())


def select(patterns):
    """The cells whose names match one of the comma-separated shell patterns; all for none."""
    if not patterns:
        return CELLS
    wanted = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]
    chosen = tuple(c for c in CELLS if any(fnmatch.fnmatch(c.name, w) for w in wanted))
    if not chosen:
        raise ValueError(f"no cell matches {patterns}; there are: {' '.join(c.name for c in CELLS)}")
    return chosen
