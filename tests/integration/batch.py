"""Many requests by one curl, each with a version of its own: a process each would take most of a
test's time."""

import pathlib
import tempfile

import harness

# A name of the certificate each: curl would take a connection of another version again.
VERSIONS = {"1.1": ("--http1.1", "127.0.0.1"), "2": ("--http2", "localhost"),
            "3": ("--http3-only", "a.test")}


class Answer:
    def __init__(self, status, failed, body):
        self.status, self.failed, self.body = status, failed, body


def ask(edge, requests):
    """requests: (version, path, *curl arguments) each. One Answer each, in order, one at a time.

    `failed` is curl's own error (0: the answer came whole). Failures do not stop the rest.
    """
    with tempfile.TemporaryDirectory(prefix="pqedge-batch-") as directory:
        args = []
        for n, (http, path, *more) in enumerate(requests):
            version, host = VERSIONS[http]
            args += ["--next"] if n else []
            args += ["-sS", "--cacert", edge.certificate.chain, "--max-time",
                     str(int(60 * harness.SLOW)), "--resolve", f"{host}:{edge.port}:127.0.0.1",
                     version, "-o", f"{directory}/{n}",
                     "-w", f"{n} %{{http_code}} %{{exitcode}}\\n", *more, edge.url(path, host)]
        done = harness.run("curl", *args, timeout=120 * harness.SLOW)
        lines = [line.split() for line in done.stdout.decode().splitlines()]
        if [int(line[0]) for line in lines] != list(range(len(requests))):
            raise AssertionError(f"curl: {done.stdout!r} {done.stderr.decode()}")

        def body(n):
            path = pathlib.Path(directory) / str(n)
            return path.read_bytes() if path.exists() else b""

        return [Answer(int(status), int(failed), body(n))
                for n, (_, status, failed) in enumerate(lines)]


def statuses(edge, requests):
    return [a.status for a in ask(edge, requests)]
