"""What the integration tests share: the real pqedge, real and scripted backends, and clients.

Every port is free on loopback when it is taken; every process is stopped by its PID; every wait is
for an event, with a limit that only a fault reaches.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

PQEDGE = os.environ.get("PQEDGE_BIN", "build/pqedge")
SOURCE = pathlib.Path(os.environ.get("PQEDGE_SRC", pathlib.Path(__file__).resolve().parents[2]))
# Sanitizer builds are slow: limits that only a fault reaches are longer there.
SLOW = float(os.environ.get("PQEDGE_TEST_SLOWNESS", "1"))
WAIT = 20 * SLOW

_handed_out = set()


def free_port():
    """A port that is free for TCP and UDP on 127.0.0.1 now, and not handed out before.

    It lies below the range that the kernel gives to outgoing connections (ip_local_port_range):
    one of those, made by a test that runs beside, could take it before its user binds it.
    """
    for _ in range(200):
        port = random.randrange(10_000, 32_000)
        if port in _handed_out:
            continue
        try:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                with socket.socket(socket.AF_INET, kind) as s:
                    s.bind(("127.0.0.1", port))
        except OSError:
            continue
        _handed_out.add(port)
        return port
    raise RuntimeError("no free port")


def wait_for(condition, what, limit=None):
    """Polls until condition() is true; its value is returned."""
    end = time.monotonic() + (limit or WAIT)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.01)


def run(*args, **kwargs):
    kwargs.setdefault("timeout", 60 * SLOW)
    return subprocess.run([str(a) for a in args], capture_output=True, **kwargs)


class Certificate:
    """A self-signed certificate in files, made by openssl."""

    def __init__(self, directory, names=("localhost",), algorithm="ec", stem="cert"):
        self.chain = pathlib.Path(directory) / f"{stem}.pem"
        self.key = pathlib.Path(directory) / f"{stem}.key"
        alt = ",".join([f"DNS:{n}" for n in names] + ["IP:127.0.0.1"])
        newkey = (
            ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            if algorithm == "ec"
            else ["-newkey", algorithm]
        )
        done = run(
            "openssl", "req", "-x509", "-nodes", "-days", "2", *newkey,
            "-keyout", self.key, "-out", self.chain, "-subj", f"/CN={names[0]}",
            "-addext", f"subjectAltName={alt}",
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode())


class Process:
    """A child process whose output goes to a file; stopped by PID."""

    def __init__(self, args, log_path, env=None, cwd=None, sockets=()):
        self.log_path = pathlib.Path(log_path)
        self._log = open(self.log_path, "wb")
        args, high = [str(a) for a in args], []
        if sockets:  # sd_listen_fds(3): from 3 upwards, for this process ID
            high = [fcntl.fcntl(s, fcntl.F_DUPFD, 200) for s in sockets]
            moves = " ".join(f"{3 + i}<&{fd} {fd}<&-" for i, fd in enumerate(high))
            args = ["/bin/bash", "-c", f'exec {moves}; LISTEN_PID=$$ LISTEN_FDS={len(high)} exec "$@"',
                    "bash", *args]
        self.process = subprocess.Popen(
            args, stdout=self._log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env,
            cwd=cwd, pass_fds=high,
        )
        for fd in high:
            os.close(fd)

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        return self.log_path.read_text(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def send_signal(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM, limit=None):
        if self.alive():
            self.process.send_signal(number)
        try:
            self.process.wait(limit or WAIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"did not stop in time:\n{self.log()[-4000:]}") from None
        finally:
            self._log.close()
        return self.process.returncode

    def kill(self):
        if self.alive():
            self.process.kill()
        self.process.wait()
        self._log.close()

    def memory_kib(self):
        """Resident memory. 0 with sanitizers: their allocators hold back what was freed, so that
        nothing can be said of it."""
        if os.environ.get("PQEDGE_SANITIZE"):
            return 0
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        return 0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class Edge(Process):
    """A running pqedge with a configuration made for the test.

    `toml` is completed with version, a TLS listener, a certificate, and an admin port unless it
    brings its own [[listener]].
    """

    def __init__(self, directory, toml, listener=True, workers=1, extra_args=(), env=None,
                 names=("localhost", "*.test", "a.test"), wait=True, listener_toml="",
                 server_toml="", sockets=()):
        directory = pathlib.Path(directory)
        self.directory = directory
        self.port = free_port()
        self.admin_port = free_port()
        self.access_path = directory / "access.log"
        self.control = directory / "control.sock"
        self.config_path = directory / "edge.toml"
        self.certificate = Certificate(directory, names)
        self._head = (
            f"version = 1\n[server]\nworkers = {workers}\n{server_toml}\n"
            f'[admin]\nlisten = ["127.0.0.1:{self.admin_port}"]\n'
            f'control_socket = "{self.control}"\n'
        )
        if "[logging]" not in toml:
            self._head += f'[logging]\naccess = "{self.access_path}"\nlevel = "debug"\n'
        if listener:
            self._head += (
                f'[[listener]]\nname = "https"\naddress = "127.0.0.1:{self.port}"\n{listener_toml}\n'
                f'[[certificate]]\nchain = "{self.certificate.chain}"\n'
                f'key = "{self.certificate.key}"\n'
            )
        self.write_config(toml)
        super().__init__([PQEDGE, "--config", self.config_path, *extra_args],
                         directory / "edge.log", env=env, sockets=sockets)
        if wait:
            self.wait_ready()

    def write_config(self, toml):
        temporary = self.config_path.with_suffix(".new")
        temporary.write_text(self._head + toml)
        temporary.rename(self.config_path)

    def wait_ready(self):
        def ready():
            if not self.alive():
                raise AssertionError(f"pqedge ended at start:\n{self.log()}")
            try:
                return self.admin("/readyz")[0] == 200
            except OSError:
                return False

        wait_for(ready, "pqedge to be ready")

    def admin(self, path, method="GET", host=None):
        """(status, body) from the TCP admin port."""
        import http.client

        c = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=WAIT)
        try:
            c.request(method, path, headers={"Host": host} if host else {})
            r = c.getresponse()
            return r.status, r.read().decode()
        finally:
            c.close()

    def control_request(self, path, method="POST"):
        """(status, body) from the control socket."""
        import http.client

        c = http.client.HTTPConnection("localhost", timeout=WAIT)
        c.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        c.sock.settimeout(WAIT)
        c.sock.connect(str(self.control))
        try:
            c.request(method, path)
            r = c.getresponse()
            return r.status, r.read().decode()
        finally:
            c.close()

    def reload(self):
        """By the control socket: returns when the new configuration is in force."""
        status, body = self.control_request("/reload")
        return status, body

    def metrics(self):
        """name{labels} -> value."""
        status, text = self.admin("/metrics")
        assert status == 200, text
        values = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                values[name] = float(value)
        return values

    def metric(self, prefix):
        """The sum of all series whose name begins with `prefix`."""
        return sum(v for k, v in self.metrics().items() if k.startswith(prefix))

    def access(self):
        """The access log's records so far. Every line must be valid JSON."""
        if not self.access_path.exists():
            return []
        data = self.access_path.read_bytes()
        lines = data[: data.rfind(b"\n") + 1].splitlines()
        return [json.loads(line.decode("utf-8")) for line in lines]

    def wait_access(self, count=1, where=lambda r: True):
        def found():
            records = [r for r in self.access() if where(r)]
            return records if len(records) >= count else None

        return wait_for(found, f"{count} access records")

    def url(self, path="/", host="localhost"):
        return f"https://{host}:{self.port}{path}"

    def curl(self, path="/", *args, http="2", host="localhost", **kwargs):
        """Runs curl against the edge; http is "1.1", "2" or "3"."""
        version = {"1.0": "--http1.0", "1.1": "--http1.1", "2": "--http2", "3": "--http3-only"}[http]
        return run(
            "curl", "-sS", "--cacert", self.certificate.chain, "--max-time", str(int(60 * SLOW)),
            "--resolve", f"{host}:{self.port}:127.0.0.1", version, *args, self.url(path, host),
            **kwargs,
        )

    def get(self, path="/", *args, http="2", host="localhost"):
        """(status, headers, body) by curl. Header names are in lower case; values in lists."""
        with tempfile.NamedTemporaryFile() as head:
            done = self.curl(path, "-D", head.name, *args, http=http, host=host)
            if done.returncode != 0:
                raise AssertionError(f"curl: exit {done.returncode}: {done.stderr.decode()}\n"
                                     f"{self.log()[-2000:]}")
            return *parse_head(pathlib.Path(head.name).read_bytes()), done.stdout

    def tls(self, alpn=("http/1.1",), server_name="localhost"):
        """A connected TLS socket to the edge, for raw HTTP/1.1 or HTTP/2."""
        context = ssl.create_default_context(cafile=str(self.certificate.chain))
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if alpn:
            context.set_alpn_protocols(list(alpn))
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)
        return context.wrap_socket(raw, server_hostname=server_name)


def parse_head(raw):
    """The last header block that curl -D wrote: (status, {name: [values]})."""
    blocks = [b for b in raw.split(b"\r\n\r\n") if b.startswith(b"HTTP/")]
    lines = blocks[-1].split(b"\r\n")
    status = int(lines[0].split()[1])
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        fields.setdefault(name.decode("latin-1").lower(), []).append(value.strip().decode("latin-1"))
    return status, fields


def read_response(sock, method="GET"):
    """One HTTP/1.1 response from a raw socket: (status, {name: [values]}, body, raw_head).

    A connection that ends early raises AssertionError with what had come.
    """
    data = b""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more:
            raise AssertionError(f"the connection ended within the head: {data!r}")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    status, fields = parse_head(head + b"\r\n\r\n")
    if status < 200:
        return status, fields, rest, head
    if method == "HEAD" or status in (204, 304):
        return status, fields, rest, head
    if "chunked" in fields.get("transfer-encoding", []):
        body = b""
        while True:
            while b"\r\n" not in rest:
                rest += _more(sock, rest)
            size_line, _, rest = rest.partition(b"\r\n")
            size = int(size_line.split(b";")[0], 16)
            while len(rest) < size + 2:
                rest += _more(sock, rest)
            body += rest[:size]
            rest = rest[size + 2 :]
            if size == 0:
                return status, fields, body, head
    if "content-length" in fields:
        length = int(fields["content-length"][0])
        while len(rest) < length:
            rest += _more(sock, rest)
        return status, fields, rest[:length], head
    while more := sock.recv(65536):
        rest += more
    return status, fields, rest, head


def _more(sock, so_far):
    more = sock.recv(65536)
    if not more:
        raise AssertionError(f"the connection ended within the body after {so_far[-200:]!r}")
    return more


class Backend:
    """A TCP server in threads: `serve(sock, number)` is called for each connection."""

    def __init__(self, serve, port=None):
        self.serve = serve
        self.listener = socket.create_server(("127.0.0.1", port or 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        self._open = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.settimeout(WAIT * 2)
            with self._lock:
                number = self.connections
                self.connections += 1
                self._open.add(sock)
            threading.Thread(target=self._run, args=(sock, number), daemon=True).start()

    def _run(self, sock, number):
        with contextlib.suppress(OSError, AssertionError, ValueError):
            self.serve(sock, number)
        with self._lock:
            self._open.discard(sock)
        with contextlib.suppress(OSError):
            sock.close()

    def close_connections(self):
        with self._lock:
            sockets = list(self._open)
        for s in sockets:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def stop(self):
        # shutdown() wakes the thread in accept(); close() alone does not.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._thread.join(WAIT)
        self.close_connections()


class RequestReader:
    """Reads HTTP/1.1 requests from a socket, keeping the exact bytes."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""

    def _fill(self):
        more = self.sock.recv(65536)
        if not more:
            raise EOFError
        self.buffer += more

    def read(self):
        """(head bytes with the blank line, body bytes), or None at the end of the connection."""
        try:
            while b"\r\n\r\n" not in self.buffer:
                self._fill()
        except EOFError:
            return None
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        fields = {}
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            fields.setdefault(name.strip().lower(), []).append(value.strip())
        body = b""
        if b"transfer-encoding" in fields:
            raw = b""
            while True:
                while b"\r\n" not in self.buffer:
                    self._fill()
                line, _, self.buffer = self.buffer.partition(b"\r\n")
                raw += line + b"\r\n"
                size = int(line.split(b";")[0], 16)
                if size == 0:
                    while True:
                        while b"\r\n" not in self.buffer:
                            self._fill()
                        line, _, self.buffer = self.buffer.partition(b"\r\n")
                        if not line:
                            return head + b"\r\n\r\n", body
                        self.trailers = getattr(self, "trailers", []) + [line]
                while len(self.buffer) < size + 2:
                    self._fill()
                body += self.buffer[:size]
                self.buffer = self.buffer[size + 2 :]
        elif b"content-length" in fields:
            size = int(fields[b"content-length"][0])
            while len(self.buffer) < size:
                self._fill()
            body, self.buffer = self.buffer[:size], self.buffer[size:]
        return head + b"\r\n\r\n", body


class EchoBackend(Backend):
    """Answers each request with the exact head it saw; `requests` keeps (head, body) of all."""

    def __init__(self, port=None, fields=b""):
        self.requests = []
        self.fields = fields
        super().__init__(self._echo, port)

    def _echo(self, sock, number):
        reader = RequestReader(sock)
        while (request := reader.read()) is not None:
            self.requests.append(request)
            head, body = request
            answer = head + body
            text = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + self.fields
            text += b"Content-Length: %d\r\n\r\n" % len(answer)
            sock.sendall(text if head.startswith(b"HEAD ") else text + answer)


class Nginx(Process):
    """Debian's nginx in the foreground, as a backend that serves files from `root`."""

    def __init__(self, directory, server="", http="", listen=""):
        self.port = free_port()
        directory = pathlib.Path(directory)
        self.root = directory / "www"
        self.root.mkdir(exist_ok=True)
        conf = directory / "nginx.conf"
        conf.write_text(f"""
daemon off; master_process off; pid {directory}/nginx.pid; error_log {directory}/nginx-error.log;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log off; default_type application/octet-stream; client_max_body_size 0;
  client_body_temp_path {directory}/nginx-body; proxy_temp_path {directory}/nginx-proxy;
  fastcgi_temp_path {directory}/nginx-fcgi; uwsgi_temp_path {directory}/nginx-uwsgi;
  scgi_temp_path {directory}/nginx-scgi;
  {http}
  server {{ listen 127.0.0.1:{self.port} {listen}; root {self.root}; {server} }}
}}
""")
        super().__init__([shutil.which("nginx") or "/usr/sbin/nginx", "-p", directory, "-c", conf],
                         directory / "nginx.log")
        wait_for(self._listening, "nginx to listen")

    def _listening(self):
        if not self.alive():
            raise AssertionError(f"nginx ended at start:\n{self.log()}")
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"


def pool(*addresses, name="app", **settings):
    lines = [f"[[pool]]\nname = \"{name}\"\nservers = {json.dumps(list(addresses))}"]
    lines += [f"{k} = {json.dumps(v)}" for k, v in settings.items()]
    return "\n".join(lines) + "\n"


def route(pool_name="app", name="all", **settings):
    lines = [f"[[route]]\nname = \"{name}\"\npool = \"{pool_name}\""]
    lines += [f"{k} = {json.dumps(v)}" for k, v in settings.items()]
    return "\n".join(lines) + "\n"


class TestCase(unittest.TestCase):
    """Gives each test a directory and stops what it started, the edge first."""

    maxDiff = None

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pqedge-test-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def backend(self, serve):
        b = Backend(serve)
        self.addCleanup(b.stop)
        return b

    def echo(self, **kwargs):
        b = EchoBackend(**kwargs)
        self.addCleanup(b.stop)
        return b

    def nginx(self, **kwargs):
        n = Nginx(self.directory, **kwargs)
        self.addCleanup(n.kill)
        return n

    def edge(self, toml, **kwargs):
        e = Edge(self.directory, toml, **kwargs)
        self.addCleanup(self._end_edge, e)
        return e

    def _end_edge(self, e):
        """An edge that crashed, or a sanitizer that spoke, fails the test."""
        crashed = not e.alive() and e.process.returncode not in (0, 1, None, -signal.SIGKILL)
        if e.alive():
            # The first drains, the next does not wait any more. Two that come at once are one, so it
            # is sent until the end.
            end = time.monotonic() + WAIT
            while e.alive():
                if time.monotonic() > end:
                    e.kill()
                    self.fail(f"the edge did not stop:\n{e.log()[-4000:]}")
                e.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    e.process.wait(0.1)
        e._log.close()
        log = e.log()
        if crashed or "ERROR: AddressSanitizer" in log or "runtime error:" in log or \
                "ThreadSanitizer" in log or "LeakSanitizer" in log:
            self.fail(f"the edge failed (status {e.process.returncode}):\n{log[-8000:]}")


ALL_VERSIONS = ("1.1", "2", "3")


def recipe(page):
    """The configuration in docs/recipes/PAGE.md: its first block of TOML."""
    text = (SOURCE / "docs" / "recipes" / f"{page}.md").read_text()
    return text.partition("```toml\n")[2].partition("```")[0]


def main():
    unittest.main(verbosity=2)
