"""A small ACME server (RFC 8555, RFC 9773) that can fail in every way a real one can.

It checks nonces and signatures, and challenges where it is told the port to look at.
"""

import base64
import datetime
import hashlib
import http.client
import http.server
import ipaddress
import json
import secrets
import ssl
import threading
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.x509.oid import NameOID

import harness


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def stamp(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)


class Problem(Exception):
    def __init__(self, status, kind, detail="", headers=()):
        super().__init__(kind)
        self.status, self.kind, self.detail, self.headers = status, kind, detail, dict(headers)


class AcmeCa:
    """Attributes may be set while it runs. `faults` maps the beginning of a path to a fault:
    "hang", "close", "garbage", "html", "500", "429", "huge", "deep", "lie", "nonce", "empty"."""

    def __init__(self, directory, http_port=None):
        self.http_port = http_port  # where http-01 is looked at; None: every challenge is valid
        self.lifetime = 90 * 86400
        self.backdate = 0
        self.window = None  # None: no renewal information; else f(number of the certificate)
        self.faults = {}
        self.retry_after = 3
        self.orders, self.certificates, self.requests, self.replaces = [], [], [], []
        self._nonces, self._keys = set(), {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test CA")])
        now = time.time()
        self.root = (
            x509.CertificateBuilder().subject_name(name).issuer_name(name)
            .public_key(self.key.public_key()).serial_number(1)
            .not_valid_before(stamp(now - 86400)).not_valid_after(stamp(now + 86400 * 3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), False)
            .sign(self.key, hashes.SHA256())
        )
        self.root_file = directory / "acme-root.pem"
        self.root_file.write_bytes(self.root.public_bytes(serialization.Encoding.PEM))
        self._serve(directory)

    def _serve(self, directory):
        own_key = ec.generate_private_key(ec.SECP256R1())
        host = self._sign(["localhost"], own_key.public_key(), 86400, ip="127.0.0.1")
        chain = directory / "acme-server.pem"
        chain.write_bytes(
            own_key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                  serialization.NoEncryption())
            + host.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        ca = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                ca._handle(self, None)

            do_HEAD = do_GET

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                ca._handle(self, body)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # the client went away

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.base = f"https://localhost:{self._server.server_address[1]}"
        self.directory = self.base + "/directory"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()

    def _sign(self, names, public_key, lifetime, ip=None):
        now = time.time()
        alternatives = [x509.DNSName(n) for n in names]
        if ip:
            alternatives.append(x509.IPAddress(ipaddress.ip_address(ip)))
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([])).issuer_name(self.root.subject).public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(stamp(now - self.backdate if hasattr(self, "backdate") else now))
            .not_valid_after(stamp(now + lifetime))
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), False)
            .sign(self.key, hashes.SHA256())
        )

    def renewal_id(self, number):
        certificate = self.certificates[number]
        serial = certificate.serial_number
        raw = serial.to_bytes(serial.bit_length() // 8 + 1, "big")
        key_id = certificate.extensions.get_extension_for_class(
            x509.AuthorityKeyIdentifier).value.key_identifier
        return f"{b64(key_id)}.{b64(raw)}"

    # ---- requests --------------------------------------------------------------------------------

    def _fault(self, path):
        for prefix, fault in self.faults.items():
            if path.startswith(prefix):
                return fault
        return None

    def _handle(self, request, body):
        path = request.path
        with self._lock:
            self.requests.append((request.command, path))
        fault = self._fault(path)
        if fault == "hang":
            self._stop.wait(60)
            return
        if fault == "close":
            request.close_connection = True
            return
        if fault == "huge":
            request.send_response(200)
            request.end_headers()
            for _ in range(2000):
                request.wfile.write(b"[" * 65536)
            return
        raw = {
            "garbage": (200, b"\x00\xff\x1f garbage"), "html": (200, b"<html>busy</html>"),
            "500": (500, json.dumps({"type": "urn:ietf:params:acme:error:serverInternal",
                                     "detail": "the database is down"}).encode()),
            "429": (429, json.dumps({"type": "urn:ietf:params:acme:error:rateLimited",
                                     "detail": "too many certificates"}).encode()),
            "deep": (200, b"[" * 50_000), "empty": (200, b""),
            "nonce": (400, json.dumps({"type": "urn:ietf:params:acme:error:badNonce",
                                       "detail": "never"}).encode()),
        }.get(fault)
        if raw:
            headers = {"Retry-After": str(self.retry_after)} if fault == "429" else {}
            return self._send(request, raw[0], raw[1], headers)
        try:
            status, answer, headers = self._answer(request, path, body, fault)
        except Problem as p:
            status, headers = p.status, p.headers
            answer = {"type": "urn:ietf:params:acme:error:" + p.kind, "detail": p.detail}
        if not isinstance(answer, bytes):
            answer = json.dumps(answer).encode()
        self._send(request, status, answer, headers)

    def _send(self, request, status, body, headers):
        nonce = b64(secrets.token_bytes(12))
        with self._lock:
            self._nonces.add(nonce)
        request.send_response(status)
        if not self._fault(request.path) or request.path != "/nonce":
            request.send_header("Replay-Nonce", nonce)
        request.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)

    def _verify(self, body, path):
        """The payload of a JWS whose nonce, URL and signature are right."""
        jws = json.loads(body)
        header = json.loads(unb64(jws["protected"]))
        with self._lock:
            if header["nonce"] not in self._nonces:
                raise Problem(400, "badNonce")
            self._nonces.remove(header["nonce"])
        if header["url"] != self.base + path or header["alg"] != "ES256":
            raise Problem(400, "malformed", "url or alg")
        if "jwk" in header:
            jwk = header["jwk"]
            self.jwk = jwk
        else:
            jwk = self._keys.get(header["kid"])
            if jwk is None:
                raise Problem(400, "accountDoesNotExist")
        numbers = ec.EllipticCurvePublicNumbers(
            *(int.from_bytes(unb64(jwk[c]), "big") for c in "xy"), ec.SECP256R1())
        raw = unb64(jws["signature"])
        der = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"),
                                         int.from_bytes(raw[32:], "big"))
        numbers.public_key().verify(der, f"{jws['protected']}.{jws['payload']}".encode(),
                                    ec.ECDSA(hashes.SHA256()))
        self.thumbprint = b64(hashlib.sha256(json.dumps(
            jwk, sort_keys=True, separators=(",", ":")).encode()).digest())
        return json.loads(unb64(jws["payload"]) or b"null")

    def _answer(self, request, path, body, fault):
        if path == "/directory":
            directory = {"newNonce": self.base + "/nonce", "newAccount": self.base + "/account",
                         "newOrder": self.base + "/order",
                         "meta": {"termsOfService": self.base + "/terms"}}
            if self.window:
                directory["renewalInfo"] = self.base + "/ari"
            return 200, directory, {}
        if path == "/nonce":
            return 200, b"", {}
        if path.startswith("/ari/"):
            ids = [self.renewal_id(i) for i in range(len(self.certificates))]
            if path[5:] not in ids:
                raise Problem(404, "malformed", "no such certificate")
            start, end = self.window(ids.index(path[5:]))
            return 200, {"suggestedWindow": {"start": stamp(start).isoformat(),
                                             "end": stamp(end).isoformat()}}, {"Retry-After": "60"}
        payload = self._verify(body, path)
        if path == "/account":
            if not payload["termsOfServiceAgreed"]:
                raise Problem(403, "userActionRequired")
            url = f"{self.base}/account/{b64(secrets.token_bytes(6))}"
            self._keys[url] = self.jwk
            return 201, {"status": "valid"}, {"Location": url}
        if path == "/order":
            return self._new_order(payload)
        kind, number = path.strip("/").split("/")[:2]
        order = self.orders[int(number)]
        if kind == "order":
            return 200, self._order(int(number)), {"Retry-After": "1"} if order.get("slow") else {}
        if kind == "authz":
            return 200, self._authorization(int(number), int(path.split("/")[3])), {}
        if kind == "challenge":
            i = int(path.split("/")[3])
            order["valid"][i] = self._look(order, i)
            return 200, self._authorization(int(number), i)["challenges"][0], {}
        if kind == "finalize":
            csr = x509.load_der_x509_csr(unb64(payload["csr"]))
            assert csr.is_signature_valid
            names = csr.extensions.get_extension_for_class(
                x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
            if sorted(names) != sorted(order["names"]):
                raise Problem(400, "badCSR", "other names")
            certificate = self._sign(["liar.test"] if fault == "lie" else names, csr.public_key(),
                                     self.lifetime)
            with self._lock:
                self.certificates.append(certificate)
                order["certificate"] = len(self.certificates) - 1
            return 200, self._order(int(number)), {}
        if kind == "cert":
            certificate = self.certificates[order["certificate"]]
            return 200, (certificate.public_bytes(serialization.Encoding.PEM)
                         + self.root.public_bytes(serialization.Encoding.PEM)), {}
        raise Problem(404, "malformed", "no such resource")

    def _new_order(self, payload):
        names = [i["value"] for i in payload["identifiers"]]
        with self._lock:
            self.orders.append({"names": names, "valid": [None] * len(names),
                                "tokens": [b64(secrets.token_bytes(16)) for _ in names]})
            self.replaces.append(payload.get("replaces"))
            number = len(self.orders) - 1
        return 201, self._order(number), {"Location": f"{self.base}/order/{number}"}

    def _order(self, number):
        order = self.orders[number]
        status = "pending"
        if "certificate" in order:
            status = "valid"
        elif all(order["valid"]):
            status = "ready"
        elif False in order["valid"]:
            status = "invalid"
        answer = {"status": status, "finalize": f"{self.base}/finalize/{number}",
                  "identifiers": [{"type": "dns", "value": n} for n in order["names"]],
                  "authorizations": [f"{self.base}/authz/{number}/{i}"
                                     for i in range(len(order["names"]))]}
        if status == "valid":
            answer["certificate"] = f"{self.base}/cert/{number}"
        return answer

    def _authorization(self, number, i):
        order = self.orders[number]
        status = {None: "pending", True: "valid", False: "invalid"}[order["valid"][i]]
        challenge = {"type": "http-01", "status": status, "token": order["tokens"][i],
                     "url": f"{self.base}/challenge/{number}/{i}"}
        if status == "invalid":
            challenge["error"] = {"type": "urn:ietf:params:acme:error:incorrectResponse",
                                  "detail": "the answer was another"}
        return {"status": status, "identifier": {"type": "dns", "value": order["names"][i]},
                "challenges": [challenge]}

    def _look(self, order, i):
        if self.http_port is None:
            return True
        c = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=harness.WAIT)
        try:
            token = order["tokens"][i]
            c.request("GET", "/.well-known/acme-challenge/" + token,
                      headers={"Host": order["names"][i]})
            answer = c.getresponse()
            return answer.status == 200 and \
                answer.read().decode() == f"{token}.{self.thumbprint}"
        finally:
            c.close()
