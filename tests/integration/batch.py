"""Many requests by one curl, each with a version of its own: a process each would take most of a
test's time."""

import os
import pathlib
import tempfile
import threading

import harness

# A name of the certificate each: curl would take a connection of another version again.
VERSIONS = {"1.1": ("--http1.1", "127.0.0.1"), "2": ("--http2", "localhost"),
            "3": ("--http3-only", "a.test")}


class Answer:
    def __init__(self, status, failed, head, body):
        self.status, self.failed, self.head, self.body = status, failed, head, body

    @property
    def fields(self):
        """{name in lower case: [values]} of the last head."""
        return harness.parse_head(self.head)[1]


class Unsized:
    """A file for curl's -T whose length curl cannot know. For one request."""

    def __init__(self, directory, name, body):
        self.path = pathlib.Path(directory) / name
        os.mkfifo(self.path)
        threading.Thread(target=self._write, args=(body,), daemon=True).start()

    def _write(self, body):
        with open(self.path, "wb") as pipe:  # waits for curl to open its end
            pipe.write(body)

    def __str__(self):
        return str(self.path)


def ask(edge, requests, together=False):
    """requests: (version, path, *curl arguments) each. One Answer each, in order; sent one after the
    other, or all together.

    `failed` is curl's own error (0: the answer came whole). Failures do not stop the rest. `head` has
    interim answers and trailers too.
    """
    with tempfile.TemporaryDirectory(prefix="pqedge-batch-") as directory:
        args = ["-Z", "--parallel-immediate", "--parallel-max", "100"] if together else []
        for n, (http, path, *more) in enumerate(requests):
            version, host = VERSIONS[http]
            args += ["--next"] if n else []
            args += ["-sS", "--cacert", edge.certificate.chain, "--max-time",
                     str(int(60 * harness.SLOW)), "--resolve", f"{host}:{edge.port}:127.0.0.1",
                     version, "-o", f"{directory}/{n}", "-D", f"{directory}/{n}.head",
                     "-w", f"{n} %{{http_code}} %{{exitcode}}\\n", *more, edge.url(path, host)]
        done = harness.run("curl", *args, timeout=120 * harness.SLOW)
        lines = sorted((line.split() for line in done.stdout.decode().splitlines()), key=lambda line: int(line[0]))
        if [int(line[0]) for line in lines] != list(range(len(requests))):
            raise AssertionError(f"curl: {done.stdout!r} {done.stderr.decode()}")

        def read(name):
            path = pathlib.Path(directory) / name
            return path.read_bytes() if path.exists() else b""

        return [Answer(int(status), int(failed), read(f"{n}.head"), read(str(n)))
                for n, (_, status, failed) in enumerate(lines)]


def statuses(edge, requests, together=False):
    return [a.status for a in ask(edge, requests, together)]
