"""Requests to the DEK registry, as short as the tests of them need."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from counterfoil.registry.keys.services import open_kms
from strategies.registry.driver import InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

KEKS = "/dek-registry/v1/keks"
AWS = {"kmsType": "aws-kms", "kmsKeyId": "arn:aws:kms:eu:1:key/2"}
LOCAL = {"kmsType": "local-kms", "kmsKeyId": "mine", "shared": True}
WRAPPED = {"encryptedKeyMaterial": "d3JhcHBlZA=="}
TABLE_OF_SIZES = [("AES128_GCM", b"\x1a\x10", 18), ("AES256_GCM", b"\x1a\x20", 34), ("AES256_SIV", b"\x12\x40", 66)]


def tell(story: Callable[[InProcessRegistry], Coroutine[Any, Any, None]], **settings: Any) -> None:
    settings.setdefault("wrapping", open_kms({"LOCAL_SECRET": "s3cret"}, brought=()))
    asyncio.run(story(InProcessRegistry(**settings)))


async def kek(registry: InProcessRegistry, name: str = "k", **fields: Any) -> Reply:
    return await registry.post(KEKS, {"name": name, **AWS, **fields})


async def dek(registry: InProcessRegistry, of: str = "s", /, *, query: str = "", **fields: Any) -> Reply:
    return await registry.post(f"{KEKS}/k/deks/{of}{query}", fields)


def facts(reply: Reply) -> dict[str, Any]:
    """The answer without its time."""
    assert reply.status == 200, reply.text
    return {name: value for name, value in reply.json.items() if name != "ts"}
