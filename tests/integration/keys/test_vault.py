"""Keys wrapped by Vault's transit engine: a small server that encrypts for real stands in for Vault, on loopback."""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from counterfoil.registry.keys.services import open_kms
from local_services import RegistryProcess, free_port
from strategies.encryption.key_services import DEADLINE_S, TOKEN, Vault, certificate_file, serving
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

KEKS = "/dek-registry/v1/keks"


@pytest.fixture
def vault() -> Iterator[Vault]:
    with serving(Vault()) as server:
        yield server


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return certificate_file(tmp_path)


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
        assert await asyncio.to_thread(vault.begun.wait, DEADLINE_S), "waited for the request to the vault"
        for _ in range(20):
            assert (await registry.register("s", '"int"')).status == 200
        assert not waiting.done()
        vault.goes_on.set()
        assert (await waiting).status == 200

    tell(story, timeout_s=DEADLINE_S, VAULT_ADDR=vault.url, VAULT_TOKEN=TOKEN)


def test_a_vault_that_does_not_answer_in_time_is_named_and_tried_again(vault: Vault) -> None:
    async def story(registry: InProcessRegistry) -> None:
        vault.hangs.set()
        await kek(registry, f"{vault.url}/transit/keys/orders")
        refused = await registry.post(f"{KEKS}/k/deks/s", {})
        assert refused.code == 50070
        assert "did not answer within 0.5 s" in refused.json["message"]
        vault.hangs.clear()
        wait_s = time.monotonic() + DEADLINE_S
        while (await registry.post(f"{KEKS}/k/deks/s", {})).status != 200:  # half a second is short on a busy machine
            assert time.monotonic() < wait_s, "waited for the vault that answers again"

    tell(story, timeout_s=0.5, VAULT_ADDR=vault.url, VAULT_TOKEN=TOKEN)


def test_a_vault_is_believed_by_its_certificate_only(vault: Vault, certificate: Path) -> None:
    vault.secure(certificate)

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
