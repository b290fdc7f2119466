"""Thousands of different wrong credentials: memory stays level, and whoever has right ones is served.

``benchmarks/http/abuse.py`` sends a million of them to a running server.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import bcrypt
import pytest

from counterfoil.registry.access.file.values import AccessFile, Issuer
from counterfoil.registry.access.gate import AccessControl
from counterfoil.registry.access.identities.authenticator import RegistryAuthenticator
from counterfoil.registry.access.identities.hashes import parse_hash
from counterfoil.registry.access.identities.issuers import IssuerKeys
from counterfoil.registry.access.identities.passwords import StoredUser, generate_token
from counterfoil.registry.access.identity import Throttle
from counterfoil.registry.access.rules import RulesInForce, administrator
from counterfoil.registry.audit.events import EventPlace
from counterfoil.registry.audit.recording import AuditRecords
from counterfoil.registry.store.memory import MemoryStorage
from strategies.access.token_issuer import AUDIENCE, ISSUER, NOW, Published, claims, public_jwk, token
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.access.identities.passwords import StoredToken

AT_ONCE = 1200
MOST_ROWS = 1001
LEVEL_BYTES = 100 * AT_ONCE
"""Less than what one entry for each of the credentials would take."""


class NoTokens:
    state = None

    def note_use(self, token_id: str, /) -> None:
        raise AssertionError(token_id)

    async def find_token(self, token_id: str, /) -> StoredToken | None:
        assert token_id
        return None


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


WRONG: tuple[Callable[[int], str], ...] = (
    lambda number: basic("alice", f"guess {number}"),
    lambda number: basic(f"somebody {number}", "guess"),
    lambda _: basic("token", generate_token().text),
    lambda _: f"Bearer {generate_token().text}",
    lambda number: f"Bearer {token(kid=f'unknown {number}')}",
    lambda number: f"Bearer {token(claims(exp=NOW - 1000 - number))}",
    lambda number: f"Bearer {token(claims(iss=f'https://evil.example/{number}'))}",
    lambda number: f"Bearer {number}." + "x" * 2000,
    lambda number: f"Digest username={number}",
    lambda number: f"Basic !{number}",
    lambda number: f"{number}",
)


@pytest.mark.slow
def test_memory_is_level_and_others_are_served() -> None:
    alice = StoredUser("alice", parse_hash(bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()))
    origin = Published(public_jwk("ES256", "k1"))
    authenticator = RegistryAuthenticator(
        AccessFile(Path("access.yaml"), users={"alice": alice}, issuers=(Issuer(ISSUER, (AUDIENCE,)),)),
        tokens=NoTokens(),
        throttle=Throttle(most=100),
        open_keys=lambda issuer: IssuerKeys(issuer, origin),
        clock=lambda: NOW,
    )
    policy = RulesInForce((administrator("User:alice"),))

    async def story() -> None:
        storage = MemoryStorage()
        audit = AuditRecords(storage)
        registry = InProcessRegistry(
            storage, access=AccessControl(authenticator, lambda: policy), audit=audit, log_requests=False
        )
        right = {"Authorization": basic("alice", "right"), "Content-Type": "application/json"}
        body = b'{"schema": "\\"string\\""}'
        assert (await registry.ask("POST", "/subjects/s/versions", body, right)).status == 200

        async def attack(begin: int) -> set[int]:
            statuses = set()
            for number in range(begin, begin + AT_ONCE):
                header = WRONG[number % len(WRONG)](number)
                address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
                statuses.add(await status_of(registry, header, address))
                if number % 50 == 0:
                    assert (await registry.ask("GET", "/schemas/ids/1", None, right)).status == 200
            return statuses

        for begin in (0, AT_ONCE):  # memories are full after this
            assert await attack(begin) == {401}
        tracemalloc.start()
        try:
            assert await attack(2 * AT_ONCE) == {401}
            gc.collect()
            before, _ = tracemalloc.get_traced_memory()
            assert await attack(3 * AT_ONCE) == {401}
            gc.collect()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert after - before < LEVEL_BYTES, after - before
        await audit.write_minute()
        counted = await storage.audit_events(EventPlace(0), 2**62, 2 * AT_ONCE)
        assert 0 < len(counted) <= MOST_ROWS
        assert sum(each.facts["count"] for each in counted) == 4 * AT_ONCE
        assert origin.fetches <= 2

    asyncio.run(story())


async def status_of(registry: InProcessRegistry, authorization: str, address: str) -> int:
    """Return the status of a request from an address."""
    answered: list[int] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, object]) -> None:
        status = message.get("status")
        if isinstance(status, int):
            answered.append(status)

    sent = [(b"authorization", authorization.encode())]
    path = {"method": "GET", "path": "/schemas/ids/1", "raw_path": b"/schemas/ids/1", "query_string": b""}
    scope = {"type": "http", **path, "headers": sent, "client": (address, 1)}
    await registry.app(scope, receive, send)  # type: ignore[arg-type]  # ASGI's own types are wider
    return answered[0]
