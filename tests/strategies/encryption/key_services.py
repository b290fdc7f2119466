"""Key management services on loopback, each of which encrypts for real: Vault, AWS KMS, Azure Key Vault, Google KMS."""

from __future__ import annotations

import json
import os
import re
import ssl
import threading
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import parse_qs

from cryptography import x509
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from strategies.machine.late_modules import late_module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import grpc
    from google.cloud import kms_v1
    from google.cloud.kms_v1.services.key_management_service import transports
else:
    grpc = late_module("grpc")
    kms_v1 = late_module("google.cloud.kms_v1")
    transports = late_module("google.cloud.kms_v1.services.key_management_service.transports")

TOKEN = "root-token"
DEADLINE_S = 120
Server = TypeVar("Server", bound="Service")


class Service(ThreadingHTTPServer):
    """A server that can hang, answer what a test chooses, and use TLS; ``asked`` has what was requested."""

    scheme = "http"

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.asked: list[Any] = []
        self.hangs = threading.Event()
        self.begun = threading.Event()
        self.goes_on = threading.Event()
        self.answer: tuple[int, bytes] | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    def secure(self, certificate: Path) -> None:
        secured = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        secured.load_cert_chain(certificate)
        self.socket = secured.wrap_socket(self.socket, server_side=True)
        self.scheme = "https"


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Serve in a thread until the end of the block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.goes_on.set()
            server.shutdown()
            thread.join()


class _Request(BaseHTTPRequestHandler):
    server: Service
    log_message: ClassVar[Any] = lambda *_: None

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def _is_prepared(self) -> bool:
        """Wait while ``hangs`` is set; return whether the prepared answer, if there is one, was sent."""
        if self.server.hangs.is_set():
            self.server.begun.set()
            self.server.goes_on.wait(DEADLINE_S)
        if self.server.answer is not None:
            self._send(*self.server.answer)
            return True
        return False

    def _give(self, value: dict[str, Any], status: int = 200) -> None:
        self._send(status, json.dumps(value).encode())

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status == 307:
            self.send_header("Location", f"{self.server.url}/v1/transit/encrypt/orders")
        self.end_headers()
        self.wfile.write(body)


def sealed(cipher: AESGCM, plain: bytes) -> bytes:
    nonce = os.urandom(12)
    return nonce + cipher.encrypt(nonce, plain, None)


def unsealed(cipher: AESGCM, data: bytes) -> bytes:
    return cipher.decrypt(data[:12], data[12:], None)


class Vault(Service):
    """Tokens, AppRole, and a transit engine with the keys ``orders`` and ``teams/a``'s ``rides``."""

    def __init__(self) -> None:
        super().__init__(_VaultRequest)
        self.ciphers = {name: AESGCM(os.urandom(32)) for name in ("transit/orders", "teams/a/transit/rides")}
        self.tokens = {TOKEN}


class _VaultRequest(_Request):
    server: Vault

    def do_POST(self) -> None:
        vault = self.server
        body = json.loads(self._body())
        token = self.headers.get("X-Vault-Token")
        vault.asked.append((self.path, token, self.headers.get("X-Vault-Namespace")))
        if self._is_prepared():
            return
        if self.path == "/v1/auth/approle/login":
            if (body["role_id"], body["secret_id"]) != ("role", "secret"):
                self._refuse(400, "invalid role or secret ID")
                return
            token = f"token-{len(vault.asked)}"
            vault.tokens.add(token)
            self._give({"auth": {"client_token": token}})
            return
        if token not in vault.tokens:
            self._refuse(403, "permission denied")
            return
        self._transit(body)

    def _transit(self, body: dict[str, str]) -> None:
        engine, action, name = self.path.removeprefix("/v1/").rsplit("/", 2)
        cipher = self.server.ciphers.get(f"{engine}/{name}")
        if cipher is None:
            self._refuse(400, "encryption key not found")
        elif action == "encrypt":
            wrapped = b64encode(sealed(cipher, b64decode(body["plaintext"]))).decode()
            self._give({"data": {"ciphertext": "vault:v1:" + wrapped}})
        else:
            try:
                plain = unsealed(cipher, b64decode(body["ciphertext"].removeprefix("vault:v1:")))
            except (InvalidTag, ValueError):
                self._refuse(400, "invalid ciphertext")
                return
            self._give({"data": {"plaintext": b64encode(plain).decode()}})

    def _refuse(self, status: int, reason: str) -> None:
        self._give({"errors": [reason]}, status)


class AwsServices(Service):
    """KMS and STS with the users ``AKID`` and, once it was assumed, ``ASSUMED``; the key is the last part of an ARN."""

    def __init__(self) -> None:
        super().__init__(_AwsRequest)
        self.ciphers = {"key/1": AESGCM(os.urandom(32)), "key/2": AESGCM(os.urandom(32))}
        self.users = {"AKID"}


class _AwsRequest(_Request):
    server: AwsServices

    def do_POST(self) -> None:
        body = self._body()
        user = re.search(r"Credential=([^/]+)/", self.headers.get("Authorization", ""))
        target = self.headers.get("X-Amz-Target", "")
        self.server.asked.append((target, user and user[1]))
        if self._is_prepared():
            return
        if user is None or user[1] not in self.server.users:
            self._give({"__type": "UnrecognizedClientException", "message": "no such user"}, 400)
        elif not target:
            self._assume(parse_qs(body.decode()))
        else:
            self._use(target, json.loads(body))

    def _assume(self, wanted: dict[str, list[str]]) -> None:
        self.server.asked.append((wanted["RoleArn"][0], wanted["RoleSessionName"][0], wanted.get("ExternalId")))
        self.server.users.add("ASSUMED")
        until = (datetime.now(tz=UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._send(
            200,
            (
                '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>'
                "<AccessKeyId>ASSUMED</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
                f"<Expiration>{until}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
            ).encode(),
        )

    def _use(self, target: str, body: dict[str, str]) -> None:
        cipher = self.server.ciphers.get(body["KeyId"].rsplit(":", 1)[-1])
        if cipher is None:
            self._give({"__type": "NotFoundException", "message": "no such key"}, 400)
        elif target == "TrentService.Encrypt":
            wrapped = b64encode(sealed(cipher, b64decode(body["Plaintext"]))).decode()
            self._give({"CiphertextBlob": wrapped, "KeyId": body["KeyId"]})
        else:
            try:
                plain = unsealed(cipher, b64decode(body["CiphertextBlob"]))
            except (InvalidTag, ValueError):
                self._give({"__type": "InvalidCiphertextException"}, 400)
                return
            self._give({"Plaintext": b64encode(plain).decode(), "KeyId": body["KeyId"]})


class AzureVault(Service):
    """The key ``orders`` with the versions ``1…1`` and ``2…2`` (the latest), for callers with any bearer token."""

    def __init__(self) -> None:
        super().__init__(_AzureRequest)
        self.keys = {digit * 32: rsa.generate_private_key(65537, 2048) for digit in "12"}


class _AzureRequest(_Request):
    server: AzureVault

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self._body() or b"{}"))

    def _answer(self, body: dict[str, str]) -> None:
        path = self.path.partition("?")[0].strip("/").split("/")
        self.server.asked.append((self.command, *path))
        if self._is_prepared():
            return
        if "Authorization" not in self.headers:
            challenge = 'Bearer authorization="https://login.invalid/tenant", resource="https://vault.azure.net"'
            self._send(401, b"{}", WWW_Authenticate=challenge)
            return
        version = path[2] if len(path) > 2 and path[2] in self.server.keys else "2" * 32
        if path[:2] != ["keys", "orders"]:
            self._give({"error": {"code": "KeyNotFound", "message": "no such key"}}, 404)
        elif path[-1] == "decrypt":
            self._decrypt(version, body)
        else:
            self._give(self._described(version))

    def _decrypt(self, version: str, body: dict[str, str]) -> None:
        try:
            plain = self.server.keys[version].decrypt(
                urlsafe_b64decode(body["value"] + "=="), padding.OAEP(padding.MGF1(SHA256()), SHA256(), None)
            )
        except ValueError:
            self._give({"error": {"code": "BadParameter", "message": "cannot be decrypted"}}, 400)
            return
        self._give({"kid": self._kid(version), "value": _url64(plain)})

    def _described(self, version: str) -> dict[str, Any]:
        numbers = self.server.keys[version].public_key().public_numbers()
        e, n = (_url64(number.to_bytes((number.bit_length() + 7) // 8, "big")) for number in (numbers.e, numbers.n))
        operations = ["encrypt", "decrypt", "wrapKey", "unwrapKey"]
        key = {"kid": self._kid(version), "kty": "RSA", "key_ops": operations, "n": n, "e": e}
        return {"key": key, "attributes": {"enabled": True}}

    def _kid(self, version: str) -> str:
        return f"{self.server.url}/keys/orders/{version}"


def _url64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


class GoogleKms:
    """Google's KMS over gRPC, with the key ``key``; ``status`` is what it answers instead, if any."""

    key_id = "projects/p/locations/l/keyRings/r/cryptoKeys/key"

    def __init__(self) -> None:
        self.cipher = AESGCM(os.urandom(32))
        self.status: grpc.StatusCode | None = None
        self._server = grpc.server(ThreadPoolExecutor(2))
        self._server.add_generic_rpc_handlers((self._handlers(),))
        self.port = self._server.add_insecure_port("127.0.0.1:0")

    @contextmanager
    def client(self) -> Iterator[kms_v1.KeyManagementServiceClient]:
        """Serve, and yield a client without credentials."""
        self._server.start()
        transport = transports.KeyManagementServiceGrpcTransport
        with grpc.insecure_channel(f"127.0.0.1:{self.port}") as channel:
            yield kms_v1.KeyManagementServiceClient(transport=transport(channel=channel))
        self._server.stop(0).wait()

    def _handlers(self) -> grpc.GenericRpcHandler:
        methods: dict[str, tuple[Any, Any, Any]] = {
            "Encrypt": (self._encrypt, kms_v1.EncryptRequest, kms_v1.EncryptResponse),
            "Decrypt": (self._decrypt, kms_v1.DecryptRequest, kms_v1.DecryptResponse),
        }
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(call, asked.deserialize, answer.serialize)
            for name, (call, asked, answer) in methods.items()
        }
        return grpc.method_handlers_generic_handler("google.cloud.kms.v1.KeyManagementService", handlers)

    def _encrypt(self, request: Any, context: Any) -> Any:
        self._check(request, context)
        return kms_v1.EncryptResponse(name=request.name, ciphertext=sealed(self.cipher, request.plaintext))

    def _decrypt(self, request: Any, context: Any) -> Any:
        self._check(request, context)
        try:
            return kms_v1.DecryptResponse(plaintext=unsealed(self.cipher, request.ciphertext))
        except InvalidTag:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "Decryption failed")

    def _check(self, request: Any, context: Any) -> None:
        if self.status is not None:
            context.abort(self.status, "prepared")
        if request.name != self.key_id:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such key")


def certificate_file(folder: Path) -> Path:
    """Return a file with a certificate of 127.0.0.1 and its key, which nobody else vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "key service of the tests")])
    now = datetime.now(tz=UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, SHA256())
    )
    file = folder / "service.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(made.public_bytes(Encoding.PEM) + private)
    return file
