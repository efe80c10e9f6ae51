"""A certificate authority for tests with responders and logs: certificates that name them, OCSP
answers good and bad, and a log of Certificate Transparency."""

import base64
import contextlib
import datetime
import hashlib
import http.server
import json
import pathlib
import threading
import time
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID

import harness

DAY = datetime.timedelta(days=1)
SECOND = datetime.timedelta(seconds=1)


def now():
    return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


def name(common):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


def pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())


def der(certificate):
    return certificate.public_bytes(serialization.Encoding.DER)


def der_key(key):
    return key.public_key().public_bytes(serialization.Encoding.DER,
                                         serialization.PublicFormat.SubjectPublicKeyInfo)


class Issued:
    """A certificate in files: .chain (with the authority's behind it) and .key."""

    def __init__(self, certificate, key, authority, stem):
        self.certificate = certificate
        self.serial = certificate.serial_number
        self.chain = authority.directory / f"{stem}.pem"
        self.key = authority.directory / f"{stem}.key"
        self.key.write_bytes(pem(key))
        self.key.chmod(0o600)
        self.chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM)
                               + authority.certificate.public_bytes(serialization.Encoding.PEM))

    def toml(self, **more):
        lines = ["[[certificate]]", f'chain = "{self.chain}"', f'key = "{self.key}"']
        lines += [f"{k} = {json.dumps(str(v))}" for k, v in more.items()]
        return "\n".join(lines) + "\n"

    @property
    def fingerprint(self):
        return hashlib.sha256(der(self.certificate)).hexdigest()


class Authority:
    def __init__(self, directory, common="test authority"):
        self.directory = pathlib.Path(directory)
        self.key = new_key()
        self.name = name(common)
        public = self.key.public_key()
        self.certificate = (
            x509.CertificateBuilder().subject_name(self.name).issuer_name(self.name)
            .public_key(public).serial_number(x509.random_serial_number())
            .not_valid_before(now() - DAY).not_valid_after(now() + 300 * DAY)
            .add_extension(x509.BasicConstraints(True, None), True)
            .add_extension(x509.KeyUsage(True, False, False, False, False, True, True, False, False),
                           True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
            .sign(self.key, hashes.SHA256()))
        self.file = self.directory / "authority.pem"
        self.file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        self.key_file = self.directory / "authority.key"
        self.key_file.write_bytes(pem(self.key))
        self.issued = {}

    def issue(self, host, responder=None, must_staple=False, log=None):
        """For a host; `responder` is a URL or a list of them; `log`: its timestamp is in it."""
        key = new_key()
        builder = (
            x509.CertificateBuilder().subject_name(name(host)).issuer_name(self.name)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now() - DAY).not_valid_after(now() + 90 * DAY)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False))
        if responder:
            urls = [responder] if isinstance(responder, str) else responder
            builder = builder.add_extension(x509.AuthorityInformationAccess([
                x509.AccessDescription(AuthorityInformationAccessOID.OCSP,
                                       x509.UniformResourceIdentifier(u)) for u in urls]), False)
        if must_staple:
            builder = builder.add_extension(
                x509.TLSFeature([x509.TLSFeatureType.status_request]), False)
        certificate = builder.sign(self.key, hashes.SHA256())
        if log:
            certificate = log.embed(builder, certificate, self)
        issued = Issued(certificate, key, self, host)
        self.issued[issued.serial] = issued
        return issued

    def answer(self, issued, this_update=0, next_update=3600, status="good", signer=None):
        """An OCSP response in DER; times in seconds from now."""
        signer = signer or self
        revoked = status == "revoked"
        return (
            ocsp.OCSPResponseBuilder().add_response(
                issued.certificate, self.certificate, hashes.SHA1(),
                getattr(ocsp.OCSPCertStatus, status.upper()),
                now() + this_update * SECOND, now() + next_update * SECOND,
                now() - DAY if revoked else None,
                x509.ReasonFlags.key_compromise if revoked else None)
            .responder_id(ocsp.OCSPResponderEncoding.NAME, signer.certificate)
            .sign(signer.key, hashes.SHA256())
            .public_bytes(serialization.Encoding.DER))


class WebServer:
    """HTTP on loopback in a thread; respond(method, path, body) gives (status, fields, body), or None
    to say nothing until the server stops. `requests` keeps (method, path, body)."""

    def __init__(self, respond):
        self.requests = []
        self.stopping = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append((self.command, self.path, body))
                answer = respond(self.command, self.path, body)
                if answer is None:
                    outer.stopping.wait(harness.WAIT)
                    return
                status, fields, data = answer
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for key, value in fields.items():
                        self.send_header(key, value)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)

            do_GET = do_POST = answer

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128  # of connections that wait: the default is 5

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self):
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join(harness.WAIT)


def asked_for(method, path, body):
    """The serial number in an OCSP request (RFC 6960 A.1)."""
    if method == "GET":
        body = base64.b64decode(urllib.parse.unquote(path.rsplit("/", 1)[1]))
    return ocsp.load_der_ocsp_request(body).serial_number


class Log:
    """A log of Certificate Transparency (RFC 6962), without a tree."""

    def __init__(self, url="https://unused.test/"):
        self.key = new_key()
        self.spki = der_key(self.key)
        self.id = hashlib.sha256(self.spki).digest()
        self.url = url

    def sign(self, entry):
        """(milliseconds, digitally-signed)."""
        # openssl compares with the session's time in whole seconds: one of this second is of the
        # future to it.
        millis = int(time.time() * 1000) - 5000
        data = b"\0\0" + millis.to_bytes(8, "big") + entry + b"\0\0"
        signature = self.key.sign(data, ec.ECDSA(hashes.SHA256()))
        return millis, b"\x04\x03" + len(signature).to_bytes(2, "big") + signature

    def timestamp(self, entry):
        millis, signed = self.sign(entry)
        return b"\0" + self.id + millis.to_bytes(8, "big") + b"\0\0" + signed

    def of_certificate(self, certificate):
        data = der(certificate)
        return self.timestamp(b"\0\0" + len(data).to_bytes(3, "big") + data)

    def embed(self, builder, precertificate, authority):
        tbs = precertificate.tbs_certificate_bytes
        issuer_hash = hashlib.sha256(der_key(authority.key)).digest()
        octets = sct_list([self.timestamp(
            b"\0\1" + issuer_hash + len(tbs).to_bytes(3, "big") + tbs)])
        wrapped = b"\x04" + (b"" if len(octets) < 128 else b"\x81") + bytes([len(octets)]) + octets
        oid = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
        return builder.add_extension(x509.UnrecognizedExtension(oid, wrapped), False).sign(
            authority.key, hashes.SHA256())

    def add_chain(self, body):
        """The answer to add-chain, in JSON."""
        leaf = base64.b64decode(json.loads(body)["chain"][0])
        millis, signed = self.sign(b"\0\0" + len(leaf).to_bytes(3, "big") + leaf)
        return json.dumps({"sct_version": 0, "id": base64.b64encode(self.id).decode(),
                           "timestamp": millis, "extensions": "",
                           "signature": base64.b64encode(signed).decode()}).encode()


def check(directory, toml):
    """(exit status, output) of `pqedge check` on a configuration."""
    file = pathlib.Path(directory) / "checked.toml"
    file.write_text(f'version = 1\n[[listener]]\naddress = "127.0.0.1:{harness.free_port()}"\n' + toml)
    done = harness.run(harness.PQEDGE, "check", file)
    return done.returncode, (done.stdout + done.stderr).decode()


def recipe(page, replace):
    """The configurations in docs/recipes/PAGE.md, with other paths."""
    text = (harness.SOURCE / "docs" / "recipes" / f"{page}.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```toml\n")[1:]]
    for i, block in enumerate(blocks):
        for old, new in replace.items():
            block = block.replace(old, str(new))
        blocks[i] = block
    return blocks


def sct_list(timestamps):
    inside = b"".join(len(t).to_bytes(2, "big") + t for t in timestamps)
    return len(inside).to_bytes(2, "big") + inside


def log_list(*logs):
    """In the form of the public lists, version 3."""
    return json.dumps({"version": "1.0", "operators": [{"name": "Test", "email": [], "logs": [
        {"description": f"Test log {i}", "log_id": base64.b64encode(log.id).decode(),
         "key": base64.b64encode(log.spki).decode(), "url": log.url, "mmd": 86400,
         "state": {"usable": {"timestamp": "2026-01-01T00:00:00Z"}}}
        for i, log in enumerate(logs)]}]})


def openssl_log_list(*logs):
    """For `openssl s_client -ctlogfile`."""
    text = "enabled_logs = " + ",".join(f"log{i}" for i in range(len(logs))) + "\n"
    for i, log in enumerate(logs):
        text += f"[log{i}]\ndescription = Test log {i}\nkey = {base64.b64encode(log.spki).decode()}\n"
    return text
