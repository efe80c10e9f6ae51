"""The servers that are compared, and their backend."""

import pathlib
import random
import re
import shutil
import subprocess

import cells
import processes

TOP = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = TOP / "bench" / "configs"
RIVALS_ROOT = TOP / "build" / "rivals" / "root"
PROXY_CORE = 0
LOAD_CORE = 1
BACKEND_PORT = 800  # below the namespace's local ports: no client can sit on it
ALL_PROTOCOLS = ("h1", "h2", "h3")


class ArmError(Exception):
    pass


class Site:
    """Files that every arm serves with: one certificate, the bodies, and a directory for a run."""

    # `certificate`: as openssl names the key, with its options; `groups`: what every arm offers.
    def __init__(self, directory, certificate=("ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
                 groups=(cells.HYBRID, cells.CLASSICAL)):  # fmt: skip
        self.directory = pathlib.Path(directory)
        self.certificate = certificate
        self.groups = groups
        shutil.rmtree(self.directory, ignore_errors=True)
        (self.directory / "www").mkdir(parents=True)
        generator = random.Random(20260101)
        self.bodies = {
            "0": b"",
            # Goes into a configuration file as a word.
            "1k": bytes(generator.choice(b"abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(1024)),
            "64k": generator.randbytes(65536),
        }
        for name, body in self.bodies.items():
            (self.directory / "www" / name).write_bytes(body)
        self._make_certificate()

    def _make_certificate(self):
        certificate = self.directory / "cert.pem"
        key = self.directory / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", *self.certificate, "-nodes",
             "-keyout", key, "-out", certificate, "-days", "30", "-subj", "/CN=bench.test",
             "-addext", "subjectAltName=DNS:bench.test"],
            check=True, capture_output=True,
        )  # fmt: skip
        (self.directory / "both.pem").write_bytes(certificate.read_bytes() + key.read_bytes())

    def configuration(self, template, into, run, port, fast="off"):
        """Fills a template in: `run` is the directory as the program sees it."""
        text = (CONFIGS / template).read_text()
        values = {
            "RUN": str(run),
            "PORT": str(port),
            "BACKEND_PORT": str(BACKEND_PORT),
            "BODY_1K": self.bodies["1k"].decode(),
            "USER": "user root;",
            "GROUPS": ":".join(self.groups),
            "GROUP_LIST": "[" + ", ".join(f'"{group}"' for group in self.groups) + "]",
            "FAST": str(fast),
        }
        text = re.sub(r"@([A-Z0-9_]+)@", lambda match: values[match[1]], text)
        path = pathlib.Path(into) / template
        path.write_text(text)
        return path


class Server:
    """Something that listens on a port of the namespace, pinned to a core."""

    name = ""
    core = PROXY_CORE
    protocols = ALL_PROTOCOLS

    def __init__(self, namespace, site, port):
        self.namespace = namespace
        self.site = site
        self.port = port
        self.process = None
        self.tool = []  # words before the command: a program that watches it
        self.start_seconds = 10

    def command(self):
        raise NotImplementedError

    def environment(self):
        return {}

    def versions(self):
        """What to print of it: {"version": ..., "tls": ...}."""
        return {}

    def prepare(self):
        pass

    def start(self):
        self.prepare()
        command = [*self.namespace.command(self.core), *map(str, [*self.tool, *self.command()])]
        self.process = processes.Process(command, self.site.directory / f"{self.name}.out", self.environment())
        ready = processes.wait_until(lambda: not self.process.running() or self._listens(), self.start_seconds)
        if not ready or not self.process.running():
            raise ArmError(f"{self.name} did not start:\n{self.process.last_words()}")

    def stop(self):
        if self.process:
            self.process.stop()

    def pids(self):
        return self.process.pids()

    def _listens(self):
        return self.namespace.output("ss", "-tlnH", f"sport = :{self.port}").strip() != ""

    def url(self, path):
        return f"https://127.0.0.1:{self.port}{path}"


class Backend(Server):
    name = "backend"
    core = LOAD_CORE
    protocols = ("h1",)

    def prepare(self):
        self.site.configuration("backend.conf", self.site.directory, self.site.directory, self.port)

    def command(self):
        return [_machine_program("nginx"), "-p", self.site.directory, "-c", self.site.directory / "backend.conf"]

    def versions(self):
        return {"version": _output("nginx", "-v")}

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"


class Pqedge(Server):
    """With OpenSSL's own code alone, as its rivals."""

    name = "pqedge"
    fast = "off"

    def __init__(self, *arguments, binary=TOP / "build" / "pqedge"):
        super().__init__(*arguments)
        self.binary = pathlib.Path(binary)

    def prepare(self):
        if not self.binary.exists():
            raise ArmError(f"{self.binary} is not there: make build")
        into = self.site.directory / self.name
        into.mkdir(exist_ok=True)
        self.configuration = self.site.configuration("pqedge.toml", into, self.site.directory, self.port, self.fast)

    def command(self):
        return [self.binary, "--config", self.configuration]

    def versions(self):
        lines = _output(self.binary, "version", environment=self.environment()).splitlines()
        tls = [line for line in lines if "openssl" in line.lower()]
        return {"version": lines[0] if lines else "?", "tls": tls[0].strip() if tls else "?"}


class PqedgeFast(Pqedge):
    """pqedge with pqedge-fast.so, which lies beside it."""

    name = "pqedge-fast"

    def prepare(self):
        self.fast = self.binary.parent / "pqedge-fast.so"
        if not self.fast.exists():
            raise ArmError(f"{self.fast} is not there: make fast-crypto")
        super().prepare()


class PqedgeVariant(Pqedge):
    """pqedge with a line or two of its configuration changed."""

    changes = ()  # (what is there, what is there instead)

    def prepare(self):
        super().prepare()
        text = self.configuration.read_text()
        for before, after in self.changes:
            if before not in text:
                raise ArmError(f"bench/configs/pqedge.toml has no {before!r}")
            text = text.replace(before, after.replace("@RUN@", str(self.site.directory)))
        self.configuration.write_text(text)


class PqedgeLogging(PqedgeVariant):
    """With an access log on disk and metrics to be read."""

    name = "pqedge-logging"
    changes = (("[logging]\n", '[logging]\naccess = "@RUN@/access.log"\n'),
               ("listen = []", 'listen = ["127.0.0.1:799"]'))  # fmt: skip


class PqedgeTwoWorkers(PqedgeVariant):
    """With two workers, a core each; the second shares its core with the load."""

    name = "pqedge-two-workers"
    core = f"{PROXY_CORE},{LOAD_CORE}"
    changes = (("workers = 1", "workers = 2"),)


class PqedgeWithRivalsLibrary(Pqedge):
    """pqedge on the OpenSSL that the rivals use: what is left is the proxy's own difference."""

    name = "pqedge-forky-openssl"

    def prepare(self):
        super().prepare()
        self.libraries = self.site.directory / "forky-openssl"
        self.libraries.mkdir(exist_ok=True)
        for library in ("libssl.so.3", "libcrypto.so.3"):
            source = next(RIVALS_ROOT.glob(f"usr/lib/*/{library}"))
            shutil.copy(source, self.libraries / library)

    def environment(self):
        return {"LD_LIBRARY_PATH": str(self.libraries)}


class Rival(Server):
    """A program of the private root, run inside it."""

    template = ""

    def prepare(self):
        if not (RIVALS_ROOT / "bench" / "complete").exists():
            raise ArmError("the rivals are not installed: make bench-rivals")
        run = RIVALS_ROOT / "bench" / self.name
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir()
        for name in ("cert.pem", "key.pem", "both.pem"):
            shutil.copy(self.site.directory / name, run / name)
        self.site.configuration(self.template, run, f"/bench/{self.name}", self.port)

    def _inside(self, *command):
        return ["chroot", str(RIVALS_ROOT), *command]


class RivalNginx(Rival):
    name = "nginx"
    template = "nginx.conf"

    def command(self):
        return self._inside("/usr/sbin/nginx", "-p", f"/bench/{self.name}", "-c", f"/bench/{self.name}/nginx.conf")

    def versions(self):
        text = _output(*self._inside("/usr/sbin/nginx", "-V"))
        running = re.findall(r"(?:running|built) with (OpenSSL \S+)", text)
        return {"version": text.splitlines()[0].split(": ")[1], "tls": running[-1]}


class RivalHaproxy(Rival):
    name = "haproxy"
    template = "haproxy.cfg"

    def command(self):
        return self._inside("/usr/sbin/haproxy", "-f", f"/bench/{self.name}/haproxy.cfg")

    def versions(self):
        return _haproxy_versions(_output(*self._inside("/usr/sbin/haproxy", "-vv")))


class MachineNginx(Server):
    """The machine's own nginx: an extra arm, never the rival. It may lack HTTP/3 or hybrid groups."""

    name = "machine-nginx"
    protocols = ("h1", "h2")

    def prepare(self):
        self.configuration = self.site.configuration("nginx.conf", self.site.directory, self.site.directory, self.port)
        text = self.configuration.read_text()
        # Modules differ: what this build does not know is left out.
        if "http_v3_module" not in _output("nginx", "-V"):
            text = re.sub(r"(?m)^.*(quic|http3_).*\n", "", text)
        self.configuration.write_text(text)

    def command(self):
        return [_machine_program("nginx"), "-p", self.site.directory, "-c", self.configuration]

    def versions(self):
        text = _output("nginx", "-V")
        running = re.findall(r"(?:running|built) with (OpenSSL \S+)", text)
        return {"version": text.splitlines()[0].split(": ")[1], "tls": running[-1]}


class MachineHaproxy(Server):
    """The machine's own HAProxy: an extra arm. Before 3.2 its QUIC needs a compatibility layer."""

    name = "machine-haproxy"
    protocols = ("h1", "h2")

    def prepare(self):
        self.configuration = self.site.configuration("haproxy.cfg", self.site.directory, self.site.directory, self.port)
        text = re.sub(r"(?m)^.*quic.*\n", "", self.configuration.read_text())
        self.configuration.write_text(text)

    def command(self):
        return [_machine_program("haproxy"), "-f", self.configuration]

    def versions(self):
        return _haproxy_versions(_output("haproxy", "-vv"))


class Floor(Server):
    """The bare loop: HTTP/1.1 only."""

    name = "floor"
    protocols = ("h1",)

    def command(self):
        binary = TOP / "build" / "bench_floor"
        if not binary.exists():
            raise ArmError(f"{binary} is not there: make bench builds it")
        return [binary, "--listen", f"127.0.0.1:{self.port}", "--backend", f"127.0.0.1:{BACKEND_PORT}",
                "--cert", self.site.directory / "cert.pem", "--key", self.site.directory / "key.pem",
                "--groups", f"{cells.HYBRID}:{cells.CLASSICAL}"]  # fmt: skip

    def versions(self):
        return {"version": "bench/floor", "tls": _output("openssl", "version").split(" (")[0]}


ARMS = {arm.name: arm for arm in (Pqedge, PqedgeFast, RivalHaproxy, RivalNginx, Floor, PqedgeWithRivalsLibrary,
                                  PqedgeLogging, PqedgeTwoWorkers, MachineNginx, MachineHaproxy)}  # fmt: skip
DEFAULT_ARMS = ("pqedge", "haproxy", "nginx", "floor")
RIVALS = ("haproxy", "nginx")


def _output(*command, environment=None):
    try:
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                                env=None if not environment else {**environment, "PATH": "/usr/bin:/usr/sbin"})  # fmt: skip
    except OSError as error:
        return f"? ({error})"
    return (result.stdout + result.stderr).strip()


def _machine_program(name):
    path = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if path is None:
        raise ArmError(f"{name} is not installed: make deps DEPS=bench")
    return path


def _haproxy_versions(text):
    running = re.search(r"Running on (?:SSL library|OpenSSL) version *: *(OpenSSL \S+)", text)
    return {"version": "HAProxy " + text.split()[2], "tls": running[1] if running else "?"}
