"""A small certificate authority of openssl's, for tests of mutual TLS and of TLS to backends."""

import datetime
import pathlib

import harness


def _stamp(days):
    when = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    return when.strftime("%Y%m%d%H%M%SZ")


def _key_options(algorithm):
    if algorithm == "ec":
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    return ["-newkey", algorithm]


def _openssl(*args):
    done = harness.run("openssl", *args)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {args}: {done.stderr.decode()}")
    return done.stdout


class Issued:
    def __init__(self, chain, key):
        self.chain, self.key = chain, key

    def text(self, *options):
        return _openssl("x509", "-noout", "-in", self.chain, *options).decode().strip()

    def fingerprint(self):
        return self.text("-fingerprint", "-sha256").partition("=")[2].replace(":", "").lower()

    def serial(self):
        return self.text("-serial").partition("=")[2]

    def curl(self):
        return "--cert", str(self.chain), "--key", str(self.key)


class Authority:
    def __init__(self, directory, stem="ca", name="Test CA", algorithm="ec"):
        self.directory = pathlib.Path(directory)
        self.stem, self.name = stem, name
        self.certificate = self.directory / f"{stem}.pem"
        self.key = self.directory / f"{stem}.key"
        _openssl("req", "-x509", "-nodes", "-days", "3", *_key_options(algorithm), "-keyout", self.key,
                 "-out", self.certificate, "-subj", f"/CN={name}",
                 "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self._revoked = []

    def subordinate(self, stem, name):
        """An authority whose certificate this one signs."""
        other = Authority(self.directory, stem, name)
        request, extensions = self.directory / f"{stem}.csr", self.directory / f"{stem}.ext"
        extensions.write_text("basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n")
        _openssl("req", "-new", "-key", other.key, "-out", request, "-subj", f"/CN={name}")
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-out",
                 other.certificate, "-extfile", extensions, "-days", "3")
        return other

    def issue(self, stem, subject="/O=Example/CN=alice", sans="", algorithm="ec", begins=-1, ends=2,
              purpose="clientAuth,serverAuth", padding=0):
        request = self.directory / f"{stem}.csr"
        issued = Issued(self.directory / f"{stem}.pem", self.directory / f"{stem}.key")
        extensions = self.directory / f"{stem}.ext"
        lines = [f"extendedKeyUsage={purpose}", "basicConstraints=critical,CA:FALSE"]
        if sans:
            lines.append(f"subjectAltName={sans}")
        if padding:
            lines.append(f"nsComment={'x' * padding}")
        extensions.write_text("\n".join(lines) + "\n")
        _openssl("req", "-new", "-nodes", *_key_options(algorithm), "-keyout", issued.key, "-out",
                 request, "-subj", subject)
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-out",
                 issued.chain, "-extfile", extensions, "-not_before", _stamp(begins), "-not_after",
                 _stamp(ends))
        return issued

    def revoke(self, issued):
        self._revoked.append(issued)

    def revocation_list(self, path, ends=1):
        """Writes a list of what was revoked so far."""
        folder = self.directory / f"{self.stem}-db"
        folder.mkdir(exist_ok=True)
        now = datetime.datetime.now(datetime.timezone.utc)
        short = "%y%m%d%H%M%SZ"
        index = "".join(
            f"R\t{(now + datetime.timedelta(days=2)).strftime(short)}\t{now.strftime(short)}\t"
            f"{i.serial()}\tunknown\t/CN=x\n" for i in self._revoked)
        (folder / "index").write_text(index)
        (folder / "number").write_text("01\n")
        (folder / "conf").write_text(
            f"[ca]\ndefault_ca=d\n[d]\ndatabase={folder}/index\ncrlnumber={folder}/number\n"
            f"default_md=default\n")
        temporary = pathlib.Path(str(path) + ".new")
        _openssl("ca", "-gencrl", "-config", folder / "conf", "-cert", self.certificate, "-keyfile",
                 self.key, "-out", temporary, "-crl_lastupdate", _stamp(min(ends, 0) - 1),
                 "-crl_nextupdate", _stamp(ends))
        temporary.rename(path)
        return path
