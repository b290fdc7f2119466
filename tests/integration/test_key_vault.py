"""Keys wrapped by Vault's transit engine: a small server that encrypts for real stands in for Vault, on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import threading
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, ClassVar

import httpx
import pytest
from cryptography import x509
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from counterfoil.registry.kms.opening import open_kms
from local_services import RegistryProcess, free_port
from registry_driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

KEKS = "/dek-registry/v1/keks"
TOKEN = "root-token"


class Vault(ThreadingHTTPServer):
    """Tokens, AppRole, and a transit engine with the keys ``orders`` and ``teams/a``'s ``rides``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _VaultRequest)
        self.ciphers = {name: AESGCM(os.urandom(32)) for name in ("transit/orders", "teams/a/transit/rides")}
        self.tokens = {TOKEN}
        self.asked: list[tuple[str, str | None, str | None]] = []
        self.hangs = threading.Event()
        self.begun = threading.Event()
        self.goes_on = threading.Event()
        self.answer: tuple[int, bytes] | None = None

    scheme = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}"


class _VaultRequest(BaseHTTPRequestHandler):
    server: Vault
    log_message: ClassVar[Any] = lambda *_: None

    def do_POST(self) -> None:
        vault = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        token = self.headers.get("X-Vault-Token")
        vault.asked.append((self.path, token, self.headers.get("X-Vault-Namespace")))
        if vault.hangs.is_set():
            vault.begun.set()
            vault.goes_on.wait(30)
        if vault.answer is not None:
            self._send(*vault.answer)
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
            nonce = os.urandom(12)
            sealed = nonce + cipher.encrypt(nonce, b64decode(body["plaintext"]), None)
            self._give({"data": {"ciphertext": "vault:v1:" + b64encode(sealed).decode()}})
        else:
            try:
                sealed = b64decode(body["ciphertext"].removeprefix("vault:v1:"))
                plain = cipher.decrypt(sealed[:12], sealed[12:], None)
            except (InvalidTag, ValueError):
                self._refuse(400, "invalid ciphertext")
                return
            self._give({"data": {"plaintext": b64encode(plain).decode()}})

    def _give(self, value: dict[str, Any]) -> None:
        self._send(200, json.dumps(value).encode())

    def _refuse(self, status: int, reason: str) -> None:
        self._send(status, json.dumps({"errors": [reason]}).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 307:
            self.send_header("Location", f"{self.server.url}/v1/transit/encrypt/orders")
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def vault() -> Iterator[Vault]:
    with Vault() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.goes_on.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a certificate of 127.0.0.1 and its key, which nobody else vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "vault of the tests")])
    now = datetime.now(tz=UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, SHA256())
    )
    file = tmp_path / "vault.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(made.public_bytes(Encoding.PEM) + private)
    return file


def tell(story: Callable[[InProcessRegistry], Awaitable[None]], *, timeout_s: float = 10, **environment: str) -> None:
    async def main() -> None:
        wrapping = open_kms(environment, timeout_s=timeout_s, brought=())
        try:
            await story(InProcessRegistry(wrapping=wrapping))
        finally:
            await wrapping.close()

    asyncio.run(main())


async def kek(registry: InProcessRegistry, key_id: str, **fields: Any) -> None:
    body = {"name": "k", "kmsType": "hcvault", "kmsKeyId": key_id, "shared": True, **fields}
    made = await registry.post(KEKS, body)
    assert made.status == 200, made.text


def test_vault_wraps_and_unwraps(vault: Vault) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, f"{vault.url}/transit/keys/orders")
        assert (await registry.ask("POST", f"{KEKS}/k/test")).status == 200
        made = (await registry.post(f"{KEKS}/k/deks/s", {"algorithm": "AES256_SIV"})).json
        wrapped = b64decode(made["encryptedKeyMaterial"])
        assert wrapped.startswith(b"vault:v1:")
        sealed = b64decode(wrapped.removeprefix(b"vault:v1:"))
        opened = vault.ciphers["transit/orders"].decrypt(sealed[:12], sealed[12:], None)
        assert b64encode(opened).decode() == made["keyMaterial"]
        assert (await registry.get(f"{KEKS}/k/deks/s?algorithm=AES256_SIV")).json == made
        again = (await registry.post(f"{KEKS}/k/deks/s?rewrap=true", {"algorithm": "AES256_SIV"})).json
        assert again["keyMaterial"] == made["keyMaterial"]
        assert again["encryptedKeyMaterial"] != made["encryptedKeyMaterial"]

    tell(story, VAULT_ADDR=vault.url, VAULT_TOKEN=TOKEN)


def test_an_engine_elsewhere_in_a_namespace(vault: Vault) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, f"{vault.url}/teams/a/transit/keys/rides", kmsProps={"namespace": "own"})
        assert (await registry.post(f"{KEKS}/k/deks/s", {})).status == 200
        assert vault.asked == [("/v1/teams/a/transit/encrypt/rides", TOKEN, "own")]

    tell(story, VAULT_ADDR=f"{vault.url}/", VAULT_TOKEN=TOKEN, VAULT_NAMESPACE="ours")


def test_a_role_gets_a_token_and_another_when_it_has_run_out(vault: Vault) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, f"{vault.url}/transit/keys/orders")
        for version in (1, 2):
            assert (await registry.post(f"{KEKS}/k/deks/s", {"version": version})).status == 200
        assert [path for path, _, _ in vault.asked].count("/v1/auth/approle/login") == 1
        vault.tokens.clear()
        assert (await registry.post(f"{KEKS}/k/deks/s", {"version": 3})).status == 200
        assert [path for path, _, _ in vault.asked].count("/v1/auth/approle/login") == 2

    tell(story, VAULT_ADDR=vault.url, VAULT_APPROLE_ROLE_ID="role", VAULT_APPROLE_SECRET_ID="secret")


@pytest.mark.parametrize(
    ("environment", "props", "code", "reason"),
    [
        ({"VAULT_TOKEN": "wrong"}, {}, 40370, "permission denied"),
        ({"VAULT_TOKEN": TOKEN}, {"token.id": "wrong"}, 40370, "permission denied"),
        ({"VAULT_APPROLE_ROLE_ID": "x"}, {}, 50070, "invalid role"),
        ({}, {}, 40370, "VAULT_TOKEN"),
        ({}, {"token.id": "a\nb"}, 50070, "header"),
        ({"VAULT_TOKEN": TOKEN, "VAULT_NAMESPACE": "ü"}, {}, 50070, "ascii"),
        ({"VAULT_ADDR": "vault:8200", "VAULT_TOKEN": TOKEN}, {}, 50070, "expected vault:8200/"),
        ({"VAULT_TOKEN": TOKEN, "VAULT_CACERT": "/nowhere.pem"}, {}, 50070, "/nowhere.pem"),
        ({"VAULT_ADDR": ""}, {}, 50070, "VAULT_ADDR"),
        ({"VAULT_ADDR": "http://127.0.0.1:1", "VAULT_TOKEN": TOKEN}, {}, 50070, "expected http://127.0.0.1:1/"),
    ],
)
def test_who_may_not_leaves_no_key(
    vault: Vault, environment: dict[str, str], props: dict[str, str], code: int, reason: str
) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, f"{vault.url}/transit/keys/orders", kmsProps=props)
        refused = await registry.post(f"{KEKS}/k/deks/s", {})
        assert refused.code == code
        assert reason in refused.json["message"]
        assert (await registry.get(f"{KEKS}/k/deks?deleted=true")).json == []

    tell(story, **{"VAULT_ADDR": vault.url, **environment})


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/transit",
        "/transit/keys/",
        "/transit/keys/a/b",
        "/transit/keys/../orders",
        "/transit/keys/orders?x=y",
        "/transit/../sys/keys/orders",
        "/transit/keys/%2e%2e",
        "/keys/orders",
        "@elsewhere/transit/keys/orders",
    ],
)
def test_an_address_that_is_no_transit_key_is_not_requested(vault: Vault, path: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, vault.url + path)
        assert (await registry.post(f"{KEKS}/k/deks/s", {})).code == 50070
        assert vault.asked == []

    tell(story, VAULT_ADDR=vault.url, VAULT_TOKEN=TOKEN)


@pytest.mark.parametrize(
    "answer",
    [
        (500, b'{"errors":["sealed"]}'),
        (503, b"<html>"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"data":[]}'),
        (307, b"{}"),
        (200, b'{"data":{"ciphertext":1}}'),
        (404, b'{"errors":{}}'),
        (200, b"\xff"),
    ],
)
def test_an_answer_that_is_none(vault: Vault, answer: tuple[int, bytes]) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, f"{vault.url}/transit/keys/orders")
        vault.answer = answer
        assert (await registry.post(f"{KEKS}/k/deks/s", {})).code == 50070
        assert len(vault.asked) == 1
        assert (await registry.get(f"{KEKS}/k/deks?deleted=true")).json == []

    tell(story, VAULT_ADDR=vault.url, VAULT_TOKEN=TOKEN)


def test_a_vault_that_hangs_stops_nobody_else(vault: Vault) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, f"{vault.url}/transit/keys/orders")
        vault.hangs.set()
        waiting = asyncio.create_task(registry.post(f"{KEKS}/k/deks/s", {}))
        assert await asyncio.to_thread(vault.begun.wait, 10)
        for _ in range(20):
            assert (await registry.register("s", '"int"')).status == 200
        assert not waiting.done()
        refused = await waiting
        assert refused.code == 50070
        assert "did not answer within 0.5 s" in refused.json["message"]
        vault.hangs.clear()
        assert (await registry.post(f"{KEKS}/k/deks/s", {})).status == 200

    tell(story, timeout_s=0.5, VAULT_ADDR=vault.url, VAULT_TOKEN=TOKEN)


def test_a_vault_is_believed_by_its_certificate_only(vault: Vault, certificate: Path) -> None:
    secured = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secured.load_cert_chain(certificate)
    vault.socket = secured.wrap_socket(vault.socket, server_side=True)
    vault.scheme = "https"

    def story(status: int) -> Callable[[InProcessRegistry], Awaitable[None]]:
        async def told(registry: InProcessRegistry) -> None:
            await kek(registry, f"{vault.url}/transit/keys/orders")
            assert (await registry.ask("POST", f"{KEKS}/k/test")).status == status

        return told

    tell(story(200), VAULT_ADDR=vault.url, VAULT_TOKEN=TOKEN, VAULT_CACERT=str(certificate))
    tell(story(500), VAULT_ADDR=vault.url, VAULT_TOKEN=TOKEN)
    assert len(vault.asked) == 1


def test_a_vault_that_is_not_there() -> None:
    address = f"http://127.0.0.1:{free_port()}"

    async def story(registry: InProcessRegistry) -> None:
        await kek(registry, f"{address}/transit/keys/orders")
        assert (await registry.post(f"{KEKS}/k/deks/s", {})).code == 50070

    tell(story, VAULT_ADDR=address, VAULT_TOKEN=TOKEN)


def test_how_long_a_service_may_take_is_a_setting(vault: Vault) -> None:
    vault.hangs.set()
    settings = {"VAULT_ADDR": vault.url, "VAULT_TOKEN": TOKEN, "COUNTERFOIL_KMS_TIMEOUT_S": "0.25"}
    body = {"name": "k", "kmsType": "hcvault", "kmsKeyId": f"{vault.url}/transit/keys/orders", "shared": True}
    with RegistryProcess(settings=settings) as running, httpx.Client(base_url=running.url, trust_env=False) as client:
        assert client.post(KEKS, json=body).status_code == 200
        refused = client.post(f"{KEKS}/k/test")
        assert (refused.status_code, refused.json()["error_code"]) == (500, 50070)
        assert "did not answer within 0.25 s" in refused.json()["message"]
        vault.hangs.clear()
        assert client.post(f"{KEKS}/k/test").status_code == 200
