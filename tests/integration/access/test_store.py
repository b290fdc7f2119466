"""Users, tokens and rules in a store: three servers on one PostgreSQL, real clients, and the commands."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import Schema as ConfluentSchema
from confluent_kafka.schema_registry import SchemaRegistryClient, SchemaRegistryError

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.registry.access.control import ServerAccess
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.writes import NO_REQUEST
from counterfoil.schema import Schema
from counterfoil.schema.errors import Forbidden, Unauthorized
from counterfoil.sdk import BasicAuth, BearerToken, Registry
from local_services.registry import RegistryProcess
from strategies.registry.driver import MEDIA_TYPE, InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PASSWORD = "the first password"


async def ask(server: InProcessRegistry, method: str, path: str, login: str, body: Any = None) -> Reply:
    basic = base64.b64encode(login.encode()).decode()
    headers = {"Authorization": f"Bearer {login}" if login.startswith("cfr_") else f"Basic {basic}"}
    if body is not None:
        headers["Content-Type"] = MEDIA_TYPE
    return await server.ask(method, path, None if body is None else json.dumps(body).encode(), headers)


def test_a_revoked_token_is_accepted_by_no_server_on_the_store(postgres_url: str) -> None:
    async def story() -> None:
        settings = ServerSettings(store=postgres_url)
        async with AsyncExitStack() as stack:
            servers = []
            for _ in range(3):
                storage = await asyncio.to_thread(open_store, postgres_url)
                stack.push_async_callback(storage.close)
                access = ServerAccess(storage, settings)
                if not servers:
                    await access.administration.require("root", PASSWORD.encode(), by=NO_REQUEST)
                await access.start()
                servers.append(InProcessRegistry(storage, server=access))
            root = f"root:{PASSWORD}"
            schema = {"schema": '"string"'}
            assert (await ask(servers[0], "POST", "/subjects/a/versions", root, schema)).status == 200
            for number in range(10):
                made = (await ask(servers[number % 3], "POST", "/auth/v1/tokens", root, {"name": "x"})).json
                token, place = made["token"], f"/auth/v1/tokens/{made['id']}"
                stop = asyncio.Event()
                busy = [asyncio.create_task(ask_until(each, token, stop)) for each in servers]
                for each in servers:
                    assert (await ask(each, "GET", "/schemas/ids/1", token)).status == 200
                assert (await ask(servers[(number + 1) % 3], "DELETE", place, root)).status == 204
                after = await asyncio.gather(*(ask(each, "GET", "/schemas/ids/1", token) for each in servers))
                assert [each.status for each in after] == [401, 401, 401]
                stop.set()
                await asyncio.gather(*busy)

    asyncio.run(story())


async def ask_until(server: InProcessRegistry, token: str, stop: asyncio.Event) -> None:
    """Ask for an id all the time, so that the server holds a lease."""
    while not stop.is_set():
        assert (await ask(server, "GET", "/schemas/ids/1", token)).status in {200, 401}
        await asyncio.sleep(0)


@pytest.fixture
def auth(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run `counterfoil auth`; return its exit code and output."""

    def command(*arguments: str, stdin: str = "") -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = run(root_command(), ["auth", *arguments])
        return code, capsys.readouterr().out

    return command


@pytest.fixture
def server(tmp_path: Path, auth: Callable[..., tuple[int, str]]) -> Iterator[str]:
    """Yield the URL of a server on a store after `auth init`."""
    store = f"sqlite:///{tmp_path / 'registry.db'}"
    assert auth("init", "--store", store, "--user", "root", "--password-stdin", stdin=f"{PASSWORD}\n")[0] == 0
    assert auth("user", "add", "bob", "--password-stdin", "--store", store, stdin="bobs password\n")[0] == 0
    assert auth("bind", "User:bob", "developer", "pay.*", "--store", store)[0] == 0
    with RegistryProcess(store=store) as running:
        yield running.url


def test_real_clients(server: str, auth: Callable[..., tuple[int, str]]) -> None:
    at = ("--url", server, "--user", f"root:{PASSWORD}")
    code, out = auth("token", "create", "ci", "--for", "User:bob", "--scope", "developer:pay.*", *at)
    assert code == 0
    token = out.strip()
    for confluent in (
        {"basic.auth.user.info": "bob:bobs password"},
        {"basic.auth.user.info": f"token:{token}"},
        {
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": token,
            "bearer.auth.logical.cluster": "",
            "bearer.auth.identity.pool.id": "",
        },
    ):
        client = SchemaRegistryClient({"url": server, "max.retries": 0, **confluent})
        assert client.register_schema("pay.a", ConfluentSchema('"string"', "AVRO")) == 1
        with pytest.raises(SchemaRegistryError, match="denied operation Write on Subject: other"):
            client.register_schema("other", ConfluentSchema('"string"', "AVRO"))
    wrong = SchemaRegistryClient({"url": server, "max.retries": 0, "basic.auth.user.info": "bob:guess"})
    with pytest.raises(SchemaRegistryError, match="Unauthorized"):
        wrong.get_subjects()
    with (
        Registry(server, auth=BasicAuth("bob", "bobs password")) as by_password,
        Registry(server, auth=BasicAuth("token", token)) as as_password,
        Registry(server, auth=BearerToken(token)) as as_bearer,
    ):
        for each in (by_password, as_password, as_bearer):
            assert each.register("pay.a", Schema('"string"')).id == 1
            with pytest.raises(Forbidden):
                each.register("other", Schema('"string"'))
        token_id = token.split("_")[1]
        assert auth("token", "list", *at)[1].startswith(f"{token_id}  User:bob  ci  ")
        assert auth("token", "revoke", token_id, *at)[0] == 0
        for each in (as_password, as_bearer):
            with pytest.raises(Unauthorized):
                each.subjects()
        assert by_password.subjects() == ("pay.a",)
        assert auth("user", "disable", "bob", *at)[0] == 0
        with pytest.raises(Unauthorized):
            by_password.subjects()
    with pytest.raises(SchemaRegistryError, match="Unauthorized"):
        client.get_subjects()


def test_an_access_file_is_loaded_into_a_store(tmp_path: Path, auth: Callable[..., tuple[int, str]]) -> None:
    store = ("--store", f"sqlite:///{tmp_path / 'registry.db'}")
    digest = base64.b64encode(hashlib.pbkdf2_hmac("sha256", b"anas password", b"salt of ana", 5000)).decode()
    karapace = {
        "users": [{"username": "ana", "algorithm": "sha256", "salt": "salt of ana", "password_hash": digest}],
        "permissions": [
            {"username": "ana", "operation": "Write", "resource": "Subject:pay.*"},
            {"username": "ana", "operation": "Read", "resource": "Subject:shared$"},
        ],
    }
    (tmp_path / "karapace.json").write_text(json.dumps(karapace))
    acls = [
        "Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=pay, patternType=LITERAL)`:",
        "  (principal=User:eve, host=*, operation=READ, permissionType=ALLOW)",
        "  (principal=User:eve, host=*, operation=WRITE, permissionType=DENY)",
    ]
    (tmp_path / "acls.txt").write_text("\n".join(acls))
    for number, option in enumerate(("--karapace", "--kafka-acls")):
        code, text = auth("import", option, str(tmp_path / ("karapace.json", "acls.txt")[number]))
        assert code == 0
        (tmp_path / "access.yaml").write_text(text)
        for _ in range(2):
            code, out = auth("load", str(tmp_path / "access.yaml"), *store)
            assert code == 0
        assert out == "stored: 0 roles, 0 users, 0 bindings\n"
    code, out = auth("bindings", *store)
    assert sorted(line.split("  ", 1)[1] for line in out.splitlines()) == [
        "allow ALTER_CONFIGS, PURGE, WRITE to User:ana on pay*",
        "allow reader to User:ana on shared",
        "allow reader to User:eve on pay-key",
        "allow reader to User:eve on pay-value",
        "deny WRITE to User:eve on pay-key",
        "deny WRITE to User:eve on pay-value",
    ]
    code, out = auth("who-can", "WRITE", "pay.a", *store)
    assert (code, out.split("  by binding ")[0]) == (0, "User:ana")
    assert auth("who-can", "WRITE", "other", *store)[0] == 1
    code, out = auth("can", "User:eve", "WRITE", "pay-key", *store)
    assert (code, out.splitlines()[1].split(": ")[1]) == (1, "deny WRITE to User:eve on pay-key")
    assert auth("init", *store, "--user", "root", "--password-stdin", stdin=f"{PASSWORD}\n")[0] == 0
    with (
        RegistryProcess(store=store[1]) as running,
        Registry(running.url, auth=BasicAuth("ana", "anas password")) as ana,
    ):
        ana.register("pay.a", Schema('"string"'))
    (tmp_path / "access.yaml").write_text("groups: {a: [User:ana]}\nopen: [metrics]\n")
    assert auth("load", str(tmp_path / "access.yaml"), *store)[0] != 0


def test_commands_over_the_network(server: str, auth: Callable[..., tuple[int, str]]) -> None:
    at = ("--url", server, "--user", f"root:{PASSWORD}")
    assert auth("service", "add", "ci", "--description", "builds", *at)[0] == 0
    assert auth("service", "list", *at)[1] == "ci  builds\n"
    code, out = auth("bind", "Service:ci", "DELETE", "pay.*", "--deny", *at)
    assert code == 0
    assert f"{out.strip()}  deny DELETE to Service:ci on pay.*\n" in auth("bindings", *at)[1]
    assert auth("unbind", out.strip(), *at)[0] == 0
    assert len(json.loads(auth("bindings", "--json", *at)[1])) == 2
    code, out = auth("can", "User:bob", "PUT /config/pay.a", *at)
    assert code == 1
    assert "denied: ALTER_CONFIGS on Subject: pay.a" in out
    assert auth("can", "User:bob", "WRITE", "pay.a", *at)[0] == 0
    assert auth("user", "list", *at)[1] == "bob\nroot\n"
    assert auth("user", "delete", "bob", *at)[0] == 0
    assert auth("user", "delete", "root", *at)[0] == 13
    assert auth("user", "list", "--url", server)[0] == 12
