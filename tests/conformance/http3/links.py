"""Transfers over the link emulator of `pqcost scenario exec`, which loses, doubles and reorders.

    links.py serve CONFIGURATION     the backend and pqedge, in the server's namespace
    links.py transfer CERTIFICATE SIZE [rebind]
                                     in the client's: curl and aioquic, down and up; prints JSON
"""

import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import harness
from http3 import frames as f
from http3.client import Client
from relay import Relay

PQCOST = os.environ.get("PQCOST_BIN", "build/pqcost")
HERE = pathlib.Path(__file__).resolve()
BACKEND = 8080


def patience(size):
    """Seconds that a transfer may take: a few are usual."""
    return 40 * harness.SLOW * max(1, size / 1_000_000)


def blob(size):
    return random.Random(size).randbytes(size)


# A browser's transfers: down, up, and whether the server has what we have.
PAGE = b"""<!doctype html><title>page</title><p id=result>not yet</p><script>
addEventListener('load', async () => {
  const say = text => document.getElementById('result').textContent = text;
  try {
    const bytes = await (await fetch('/down/1000000')).arrayBuffer();
    const seen = await (await fetch('/up', {method: 'PUT', body: bytes})).text();
    const own = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    const text = Array.from(own, b => b.toString(16).padStart(2, '0')).join('');
    const hops = performance.getEntriesByType('resource').map(e => e.nextHopProtocol);
    say((seen === text ? 'same ' : 'other ') + bytes.byteLength + ' bytes over ' + hops.join(' '));
  } catch (e) { say('failed: ' + e); }
});
</script>"""

# ---- in the server's namespace ------------------------------------------------------------------


def serve(configuration):
    def answer(sock, _):
        reader = harness.RequestReader(sock)
        while (request := reader.read()) is not None:
            head, body = request
            path = head.split(b" ")[1]
            if path == b"/page":
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
                             % len(PAGE) + PAGE)
                continue
            text = hashlib.sha256(body).hexdigest().encode() if head.startswith(b"PUT ") else \
                blob(int(path.rpartition(b"/")[2]))
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)

    harness.Backend(answer, BACKEND)
    sys.exit(subprocess.call([harness.PQEDGE, "--config", configuration]))


def configuration(directory, certificate):
    """pqedge on the server's address of the emulated link."""
    return f"""version = 1
[server]
workers = 2
[admin]
control_socket = "{directory}/control.sock"
[[listener]]
name = "https"
address = "10.77.0.2:443"
[[certificate]]
chain = "{certificate.chain}"
key = "{certificate.key}"
{harness.pool(f"127.0.0.1:{BACKEND}")}{harness.route()}"""


# ---- in the client's namespace ------------------------------------------------------------------


class LinkRelay(Relay):
    """To the server over the link: what it sends from another port looks like a NAT's new mapping."""

    def __init__(self, server, rebind_every):
        super().__init__(443, to_client=self._count)
        self.server, self.every, self.down = (server, 443), rebind_every, 0

    @staticmethod
    def _socket(_):
        return Relay._socket(("0.0.0.0", 0))

    def _count(self, datagrams):
        self.down += 1
        if self.down % self.every == 0:
            self.rebind()
        return datagrams


def curl(certificate, address, port, size, *arguments):
    limit = int(patience(size))
    return harness.run("curl", "-sS", "--http3-only", "--cacert", certificate, "--max-time", limit,
                       "--connect-to", f"localhost:443:{address}:{port}", *arguments, timeout=limit + 10)


def down_by_curl(server, certificate, size, rebind):
    relay = LinkRelay(server, 200) if rebind else None
    address, port = ("127.0.0.1", relay.port) if relay else (server, 443)
    done = curl(certificate, address, port, size, f"https://localhost/down/{size}")
    return done.stdout == blob(size) or done.stderr.decode() or f"{len(done.stdout)} other bytes"


def up_by_curl(server, certificate, size, rebind):
    relay = LinkRelay(server, 100) if rebind else None
    address, port = ("127.0.0.1", relay.port) if relay else (server, 443)
    with tempfile.NamedTemporaryFile() as file:
        file.write(blob(size))
        file.flush()
        done = curl(certificate, address, port, size, "-T", file.name, "https://localhost/up")
    return done.stdout == hashlib.sha256(blob(size)).hexdigest().encode() or \
        done.stderr.decode() or f"another digest: {done.stdout[:100]}"


def by_aioquic(server, size, rebind, method):
    """Down, or up with PUT. `rebind`: a new socket now and then, without a word to the server."""
    with Client(443, host=server) as c:
        c.run(lambda: c.quic._handshake_confirmed, "the handshake", limit=patience(size))
        c.write(2, f.varint(f.CONTROL) + f.settings())
        body = blob(size) if method == "PUT" else None
        number = c.request(f"/any/{size}", body=body, method=method)
        moved = 0

        def there():
            nonlocal moved
            if rebind and len(c.arrived) > moved + 150:
                c.move()
                moved = len(c.arrived)
            return c.stream(number).ended

        c.run(there, f"{method} of {size} bytes", limit=patience(size))
        status, _, got = c.answer(number)
    wanted = hashlib.sha256(body).hexdigest().encode() if body else blob(size)
    return (status == 200 and got == wanted) or f"status {status}, {len(got)} bytes"


def transfer(certificate, size, rebind):
    server = os.environ["PQCOST_SERVER_IP"]
    kinds = {"down by curl": lambda: down_by_curl(server, certificate, size, rebind),
             "up by curl": lambda: up_by_curl(server, certificate, size, rebind),
             "down by aioquic": lambda: by_aioquic(server, size, rebind, "GET"),
             "up by aioquic": lambda: by_aioquic(server, size, rebind, "PUT")}
    found = {}

    def one(name, call):
        begun = time.monotonic()
        try:
            result = call()
        except Exception as e:  # the report is the test's
            result = repr(e)
        found[name] = {"result": result, "seconds": round(time.monotonic() - begun, 2)}

    threads = [threading.Thread(target=one, args=kind) for kind in kinds.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(found))


# ---- the test's side ----------------------------------------------------------------------------


def scenario(link, size, server, *command):
    return harness.run(PQCOST, "scenario", "exec", "--link", link, "--server", server, "--wait-port",
                       443, "--", *command, timeout=2 * patience(size))


def run(test, link, size, command):
    """What command(directory, certificate) prints in the client's namespace of that link."""
    directory = pathlib.Path(tempfile.mkdtemp(dir=test.directory))
    certificate = harness.Certificate(directory)
    toml = directory / "edge.toml"
    toml.write_text(configuration(directory, certificate))
    log = directory / "edge.log"
    for _ in range(3):
        done = scenario(link, size, f"exec {sys.executable} {HERE} serve {toml} >{log} 2>&1",
                        *command(directory, certificate))
        # On a busy machine the server may not get to run in the time that is allowed for its start.
        if b"nothing listens" not in done.stderr:
            break
    text = log.read_text(errors="replace") if log.exists() else ""
    test.assertEqual(done.returncode, 0, done.stderr.decode() + text[-3000:])
    for wrong in ("ERROR: AddressSanitizer", "runtime error:", "ThreadSanitizer"):
        test.assertNotIn(wrong, text)
    return done.stdout.decode()


def over(test, link, size, rebind=False):
    """All four transfers over that link: what became of each, by name."""
    return json.loads(run(test, link, size, lambda _, certificate: (
        sys.executable, HERE, "transfer", certificate.chain, str(size), *(["rebind"] if rebind else []))))


def why_not():
    """Why there can be no emulated link here, or None."""
    done = harness.run(PQCOST, "scenario", "exec", "--", "true")
    return None if done.returncode == 0 else done.stderr.decode().strip()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        transfer(sys.argv[2], int(sys.argv[3]), "rebind" in sys.argv)
