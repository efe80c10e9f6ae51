"""A certificate authority for tests, by openssl."""

import pathlib
import shutil

import harness

NEW_KEY = {
    "P-256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "P-384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "P-521": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
    "RSA": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
    "RSA-4096": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:4096"],
    "RSA-PSS": ["-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"],
}


def openssl(*args):
    done = harness.run("openssl", *args)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    return done.stdout.decode()


def new_key(path, kind, *more):
    """A private key of `kind`: of NEW_KEY, or as openssl genpkey names it."""
    openssl("genpkey", *NEW_KEY.get(kind, ["-algorithm", kind]), *more, "-out", path)
    return path


class Pair:
    """A chain and its key in files."""

    def __init__(self, chain, key, serial):
        self.chain, self.key, self.serial = pathlib.Path(chain), pathlib.Path(key), serial

    def toml(self, *more):
        lines = ["[[certificate]]", f'chain = "{self.chain}"', f'key = "{self.key}"', *more]
        return "\n".join(lines) + "\n"


class Authority:
    def __init__(self, directory, kind="P-256"):
        self.directory = pathlib.Path(directory)
        self.chain = self.directory / "ca.pem"
        self.key = new_key(self.directory / "ca.key", kind)
        openssl("req", "-x509", "-new", "-key", self.key, "-out", self.chain, "-days", "30",
                "-subj", "/CN=Test CA", "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self._serial = 0x1000

    def issue(self, stem, names=("localhost",), kind="P-256", key=None, days=20, folder=None, serial=None,
              extensions=()):
        """A certificate with a serial number of its own; the key is made unless it is given. `extensions`
        are as openssl req -addext takes them."""
        self._serial += 1
        serial = serial or self._serial
        folder = pathlib.Path(folder or self.directory)
        chain = folder / f"{stem}.pem"
        own = folder / f"{stem}.key"
        if key is None:
            new_key(own, kind)
        elif pathlib.Path(key) != own:
            shutil.copyfile(key, own)
        own.chmod(0o600)
        alt = ",".join([f"DNS:{n}" for n in names] + ["IP:127.0.0.1"])
        request = self.directory / f"{stem}.csr"
        openssl("req", "-new", "-key", own, "-out", request, "-subj", f"/CN={names[0]}",
                "-addext", f"subjectAltName={alt}", *(a for e in extensions for a in ("-addext", e)))
        leaf = openssl("x509", "-req", "-in", request, "-CA", self.chain, "-CAkey", self.key,
                       "-days", str(days), "-set_serial", str(serial),
                       "-copy_extensions", "copyall")
        chain.write_text(leaf)
        return Pair(chain, own, serial)
