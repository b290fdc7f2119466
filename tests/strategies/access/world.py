"""A registry whose store demands credentials, after ``auth init``."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any

from counterfoil.registry.access.control import ServerAccess
from counterfoil.registry.audit.recording import AuditRecords
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import NO_REQUEST
from strategies.registry.driver import MEDIA_TYPE, InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ROOT = "root:the first password"
BOB = "bob:a password of bob"


class World:
    """A registry after ``auth init``: ``root`` is its administrator."""

    def __init__(
        self, registry: InProcessRegistry, server: ServerAccess, audit: AuditRecords, storage: MemoryStorage
    ) -> None:
        self.registry = registry
        self.storage = storage
        self.server = server
        self.audit = audit

    async def ask(self, method: str, path: str, who: str | None = ROOT, body: Any = None, **headers: str) -> Reply:
        """Return the response to a request of ``who``: a name and a password with a colon, or a token."""
        sent = {"Content-Type": MEDIA_TYPE} if body is not None else {}
        if who is not None:
            basic = base64.b64encode(who.encode()).decode()
            sent["Authorization"] = f"Bearer {who}" if who.startswith("cfr_") else f"Basic {basic}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.registry.ask(method, path, None if body is None else json.dumps(body).encode(), sent)

    async def done(self, method: str, path: str, who: str = ROOT, body: Any = None) -> Any:
        reply = await self.ask(method, path, who, body)
        assert reply.status < 300, reply.text
        return reply.json if reply.body else None

    async def add(self, who: str, *rules: dict[str, Any]) -> None:
        """Add a user with rules."""
        name, _, password = who.partition(":")
        await self.done("PUT", f"/auth/v1/users/{name}", body={"password": password})
        for rule in rules:
            await self.done("POST", "/auth/v1/bindings", body={"to": f"User:{name}", **rule})

    async def register(self, subject: str, who: str) -> int | None:
        body = {"schema": '"string"'}
        return (await self.ask("POST", f"/subjects/{subject}/versions", who, body)).code


def in_world(
    story: Callable[[World], Awaitable[None]],
    *,
    wrapping: Any = None,
    storage: MemoryStorage | None = None,
    **settings: Any,
) -> None:
    async def run() -> None:
        store = storage or MemoryStorage()
        audit = AuditRecords(store)
        server = ServerAccess(store, ServerSettings(store="sqlite://", **settings), record=audit.record)
        await server.administration.require("root", b"the first password", by=NO_REQUEST)
        await server.start()
        registry = InProcessRegistry(store, wrapping=wrapping, server=server, audit=audit, **settings)
        await story(World(registry, server, audit, store))

    asyncio.run(run())
