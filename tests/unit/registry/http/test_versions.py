"""Answers in the words of older versions, and fields that are withheld."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.http.answers import DIALECT_BY_VERSION
from counterfoil.registry.settings import COMPAT_VERSIONS
from strategies.registry.driver import MEDIA_TYPE, InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def run(story: Callable[[InProcessRegistry], Awaitable[Any]], **settings: Any) -> Any:
    return asyncio.run(story(InProcessRegistry(**settings)))


# --- older versions


AVRO = {"type": "fixed", "name": "F", "size": 4}
OTHER = {"type": "fixed", "name": "F", "size": 5}
TOLERANT = {"Confluent-Accept-Unknown-Properties": "true"}


async def tell(registry: InProcessRegistry, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """A short story in which versions differ: keys of bodies, codes of errors."""

    async def ask(method: str, path: str, schema: Any = None, **fields: Any) -> Any:
        body = None if schema is None else json.dumps({"schema": json.dumps(schema), **fields}).encode()
        reply = await registry.ask(method, path, body, {"Content-Type": MEDIA_TYPE, **(headers or {})})
        value = reply.json
        if reply.status != 200:
            return [reply.status, reply.code]
        return sorted(value[0] if isinstance(value, list) and value else value)

    registered = await ask("POST", "/subjects/s/versions", AVRO)
    return {
        "register": registered,
        "again": await ask("POST", "/subjects/s/versions", AVRO),
        "look up": await ask("POST", "/subjects/s", AVRO),
        "version": await ask("GET", "/subjects/s/versions/1"),
        "list": await ask("GET", "/schemas?subjectPrefix=s"),
        "by id": await ask("GET", "/schemas/ids/1"),
        "incompatible": await ask("POST", "/subjects/s/versions", OTHER),
        "no config": await ask("GET", "/config/s"),
        "no mode": await ask("GET", "/mode/s"),
        "json": await ask("POST", "/subjects/j/versions", {"type": "string"}, schemaType="JSON"),
        "json's version": await ask("GET", "/subjects/j/versions/1"),
        "associations": await ask("GET", "/associations/subjects/none"),
        "guid": await ask("GET", "/schemas/guids/00000000-0000-0000-0000-000000000000"),
    }


FULL = {
    "register": ["guid", "id", "schema", "schemaType", "version"],
    "again": ["guid", "id", "schema", "schemaType", "version"],
    "look up": ["guid", "id", "schema", "schemaType", "subject", "version"],
    "version": ["deleted", "guid", "id", "schema", "schemaType", "subject", "ts", "version"],
    "list": ["deleted", "guid", "id", "schema", "schemaType", "subject", "ts", "version"],
    "by id": ["deleted", "guid", "schema", "schemaType", "subject", "ts", "version"],
    "incompatible": [409, 40901],
    "no config": [404, 40408],
    "no mode": [404, 40409],
    "json": ["guid", "id", "schema", "schemaType", "version"],
    "json's version": ["deleted", "guid", "id", "schema", "schemaType", "subject", "ts", "version"],
    "associations": [],
    "guid": [404, 40403],
}
SHORT = {
    "register": ["id"],
    "again": ["id"],
    "look up": ["id", "schema", "subject", "version"],
    "version": ["id", "schema", "subject", "version"],
    "list": ["id", "schema", "subject", "version"],
    "by id": ["schema"],
    "incompatible": [409, 409],
    "no config": [404, 40408],
    "no mode": [404, 40409],
    "json": ["id"],
    "json's version": ["id", "schema", "schemaType", "subject", "version"],
    "associations": [404, 404],
    "guid": [404, 404],
}
WITHHELD = {
    **SHORT,
    "by id": ["schema", "subject", "version"],
    "incompatible": [409, 40901],
    "associations": [],
    "guid": [404, 40403],
}
EXPECTED = {
    "8": FULL,
    "7": SHORT,
    "6": SHORT,
    "5": {**SHORT, "no config": [404, 40401], "no mode": [404, 40401]},
}


def test_every_version_is_tried() -> None:
    assert EXPECTED.keys() == DIALECT_BY_VERSION.keys() == set(COMPAT_VERSIONS)


@pytest.mark.parametrize("version", EXPECTED)
@pytest.mark.parametrize("fast_lane", [True, False])
def test_answers_in_the_words_of_a_version(version: str, *, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> list[dict[str, Any]]:
        return [await tell(registry), await tell(registry), await tell(registry, TOLERANT)]

    first, second, tolerant = run(story, compat_version=version, fast_lane=fast_lane)
    assert first == second == tolerant == EXPECTED[version]


@pytest.mark.parametrize("fast_lane", [True, False])
def test_new_fields_are_withheld_from_who_does_not_say_that_he_tolerates_them(*, fast_lane: bool) -> None:
    async def story(registry: InProcessRegistry) -> list[dict[str, Any]]:
        asked = (None, TOLERANT, {"Confluent-Accept-Unknown-Properties": "false"}, TOLERANT, None)
        return [await tell(registry, headers) for headers in asked]

    assert run(story, withhold_new_fields=True, fast_lane=fast_lane) == [WITHHELD, FULL, WITHHELD, FULL, WITHHELD]
