"""Client certificates beside users, tokens and rules of a store; what is checked where no credentials are demanded."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.access.control import ServerAccess
from counterfoil.registry.access.gate import CERTIFICATE
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import NO_REQUEST
from strategies.access.certificates import Authority
from strategies.registry.driver import MEDIA_TYPE, InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ROOT = "Basic " + base64.b64encode(b"root:right").decode()
RULES = "RULE:CN=([^,]+),OU=apps/$1/"


class World:
    """A registry whose store demands credentials, where the subject of a certificate names its caller."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._authority = Authority(folder)
        storage = MemoryStorage()
        given: dict[str, Any] = {"store": "sqlite://", "tls_principal_rules": RULES, **settings}
        self.access = ServerAccess(storage, ServerSettings(**given))
        self._storage = storage

    async def start(self) -> World:
        await self.access.administration.require("root", b"right", by=NO_REQUEST)
        await self.access.start()
        self._registry = InProcessRegistry(self._storage, server=self.access)
        self._app = self._registry.app
        return self

    def certificate_of(self, name: str, unit: str = "apps") -> bytes:
        pem, _ = self._authority.issue(name, subject=f"CN={name},OU={unit}")
        return ssl.PEM_cert_to_DER_cert(pem.read_text())

    async def ask(
        self, method: str, path: str, body: Any = None, *, certificate: bytes | None = None, authorization: str = ""
    ) -> Reply:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await self._app({**scope, **({CERTIFICATE: certificate} if certificate else {})}, receive, send)

        self._registry.app = app
        headers = {"Content-Type": MEDIA_TYPE, **({"Authorization": authorization} if authorization else {})}
        return await self._registry.ask(method, path, None if body is None else json.dumps(body).encode(), headers)


def test_rules_of_the_store_are_for_names_of_certificates(tmp_path: Path) -> None:
    async def story() -> None:
        world = await World(tmp_path, tls_principal_prefix="cert:").start()
        billing, other = world.certificate_of("billing"), world.certificate_of("other", unit="people")
        binding = {"to": "User:cert:billing", "allow": "developer", "on": "pay.*"}
        assert (await world.ask("POST", "/auth/v1/bindings", binding, authorization=ROOT)).status == 200
        schema = {"schema": '"string"'}
        for subject, status in [("pay.a", 200), ("orders", 403)]:
            reply = await world.ask("POST", f"/subjects/{subject}/versions", schema, certificate=billing)
            assert reply.status == status
        who = (await world.ask("GET", "/auth/v1/whoami", certificate=billing)).json
        assert (who["principal"], who["method"]) == ("User:cert:billing", "certificate")
        assert (await world.ask("GET", "/subjects", certificate=other)).status == 401  # no rule finds a name in it
        assert (await world.ask("GET", "/subjects")).status == 401
        wrong = "Basic " + base64.b64encode(b"root:wrong").decode()
        assert (await world.ask("GET", "/subjects", certificate=billing, authorization=wrong)).status == 401
        made = (await world.ask("POST", "/auth/v1/tokens", {"name": "x"}, authorization=ROOT)).json
        token = f"Bearer {made['token']}"
        who = (await world.ask("GET", "/auth/v1/whoami", certificate=billing, authorization=token)).json
        assert who["principal"] == "User:root"

    asyncio.run(story())


@pytest.mark.slow
def test_users_of_the_store_and_names_of_certificates_are_kept_apart(tmp_path: Path) -> None:
    async def story(**settings: str) -> Reply:
        world = await World(tmp_path, **settings).start()
        return await world.ask("PUT", "/auth/v1/users/billing", {"password": "of billing"}, authorization=ROOT)

    assert asyncio.run(story(tls_principal_prefix="cert:")).status == 200
    refused = asyncio.run(story())
    assert refused.status == 409
    assert "tls_principal_rules" in refused.json["message"]


@pytest.mark.parametrize(
    ("settings", "is_warned"),
    [
        ({"host": "0.0.0.0"}, True),
        ({"host": "127.0.0.1"}, False),
        ({"host": "0.0.0.0", "tls_certificate": "server.crt"}, False),
        ({"host": "0.0.0.0", "auth_file": "{}"}, True),
        ({"host": "0.0.0.0", "auth_file": "proxy: {addresses: [127.0.0.1], prefix: 'sso:'}"}, False),
    ],
)
def test_credentials_in_the_clear_are_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, settings: dict[str, str], *, is_warned: bool
) -> None:
    if "auth_file" in settings:
        file = tmp_path / "access.yaml"
        file.write_text(f"admins: [User:root]\n{settings['auth_file'].removeprefix('{}')}\n")
        settings = {**settings, "auth_file": str(file)}
    with caplog.at_level(logging.WARNING):
        asyncio.run(World(tmp_path, tls_principal_prefix="cert:", **settings).start())
    assert ("in the clear" in caplog.text) == is_warned


@asynccontextmanager
async def running(registry: InProcessRegistry) -> AsyncIterator[None]:
    """Run the lifespan of the application meanwhile."""
    begun, asked = asyncio.Event(), asyncio.Queue[dict[str, str]]()

    async def send(message: Any) -> None:
        assert not message["type"].endswith("failed"), message
        begun.set()

    task = asyncio.create_task(registry.app({"type": "lifespan", "state": {}}, asked.get, send))
    await asked.put({"type": "lifespan.startup"})
    await begun.wait()
    yield
    await asked.put({"type": "lifespan.shutdown"})
    await task


def test_the_names_of_a_server_are_checked_while_it_demands_no_credentials() -> None:
    async def story() -> None:
        storage = MemoryStorage()
        access = ServerAccess(storage, ServerSettings(store="sqlite://"))
        registry = InProcessRegistry(storage, server=access)

        async def statuses() -> tuple[int, int]:
            by_other_name = {"Host": "evil.example"}
            open_path = await registry.ask("GET", "/health/live", headers=by_other_name)
            return open_path.status, (await registry.ask("GET", "/subjects", headers=by_other_name)).status

        async def become(expected: tuple[int, int]) -> None:
            async with asyncio.timeout(300):
                while await statuses() != expected:  # noqa: ASYNC110  the server shows it in its answers alone
                    await asyncio.sleep(0.01)

        async with running(registry):
            await become((403, 403))
            await access.administration.require("root", b"right", by=NO_REQUEST)
            await become((200, 401))
            await access.administration.disable(by=NO_REQUEST)
            await become((403, 403))

    asyncio.run(story())


def test_a_stream_that_began_without_credentials_ends_when_they_are_demanded() -> None:
    async def story() -> None:
        storage = MemoryStorage()
        access = ServerAccess(storage, ServerSettings(store="sqlite://"))
        registry = InProcessRegistry(storage, server=access, heartbeat_s=0.05)
        begun = asyncio.Event()
        sent: list[bytes] = []

        async def receive() -> Any:
            await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))
            begun.set()

        path = {"method": "GET", "path": "/changes", "raw_path": b"/changes", "query_string": b""}
        headers = [(b"accept", b"text/event-stream")]
        scope = {"type": "http", **path, "headers": headers, "client": ("10.0.0.1", 1)}
        async with running(registry):
            stream = asyncio.create_task(registry.app(scope, receive, send))
            await begun.wait()
            await access.administration.require("root", b"right", by=NO_REQUEST)
            async with asyncio.timeout(300):
                await stream
        assert sent[-1] == b""

    asyncio.run(story())
