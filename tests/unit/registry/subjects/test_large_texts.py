"""Large texts are parsed, normalised and printed by judges; the answers are those of a registry that does it itself.

The judge of these tests is the registry inside another program, which parses every text in threads of its own.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.judges.judging import LongJudgements
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.subjects.reading import UnparsedSchema
from counterfoil.registry.subjects.versions import SchemaRequest
from counterfoil.registry.use_cases import use_cases
from counterfoil.schema.contexts import DEFAULT_CONTEXT
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from strategies.contracts.stories import LINK, promise
from strategies.registry.driver import InProcessRegistry, Reply
from strategies.registry.packed_judges import PackedJudges

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 400
"""Fields, so that each text has more than 8 kB."""

_WORKS = {"summary_of", "answer", "messages_only", "find_tags", "edit_tags", "compare_sides", "plan_head"}
PLAN = """\
bridge: b
source: {topic: a, subject: s}
target: {topic: b, subject: s}
"""


def avro(change: str = "int", **more: Any) -> str:
    fields = [{"name": f"field_{at}", "type": change if at == 3 else "int"} for at in range(COUNT)]
    return json.dumps({"type": "record", "name": "A", "fields": fields, **more})


def json_schema(change: str = "integer", **more: Any) -> str:
    properties = {f"property_{at}": {"type": change if at == 3 else "integer"} for at in range(COUNT)}
    return json.dumps({"title": "A", "properties": properties, **more})


def protobuf(change: str = "int32") -> str:
    fields = "".join(f"{change if at == 3 else 'int32'} field_number_{at} = {at + 1};\n" for at in range(COUNT))
    return f'syntax = "proto3";\nmessage A {{\n{fields}}}'


TEXTS = {SchemaType.AVRO: avro, SchemaType.JSON: json_schema, SchemaType.PROTOBUF: protobuf}
CHANGES = {SchemaType.AVRO: "string", SchemaType.JSON: "string", SchemaType.PROTOBUF: "string"}


def requests(language: SchemaType) -> Iterator[tuple[str, str, Any]]:
    text, changed = TEXTS[language](), TEXTS[language](CHANGES[language])
    first, second = ({"schema": each, "schemaType": language.value} for each in (text, changed))
    broken = {**first, "schema": text[:-1]}
    reference = {"name": "A.proto" if language is SchemaType.PROTOBUF else "A", "subject": "s", "version": 1}
    yield "POST", "/subjects/s/versions", broken
    yield "POST", "/subjects/s/versions", first
    yield "POST", "/subjects/s/versions", first
    yield "POST", "/subjects/s?normalize=true", {**first, "schema": text + " "}
    yield "POST", "/subjects/s", second
    yield "POST", "/compatibility/subjects/s/versions?verbose=true", second
    yield "POST", "/compatibility/subjects/s/versions?verbose=true&normalize=true", {**first, "schema": f" {text}"}
    yield "POST", "/compatibility/subjects/s/versions?verbose=true", broken
    yield "POST", "/subjects/s/versions", second
    yield "POST", "/subjects/s/versions", {"schema": '"int"', "schemaType": "AVRO"}
    for form in ("resolved", "serialized", "ignore_extensions", "nothing"):
        yield "GET", f"/subjects/s/versions/1?format={form}", None
    yield "GET", "/subjects/s/versions/1?findTags=true", None
    entities = {"AVRO": "A.field_3", "JSON": "object.property_3", "PROTOBUF": ".A.field_number_3"}
    for path in (entities[language.value], "nothing"):
        edit = {"tagsToAdd": [{"schemaEntity": {"entityPath": path, "entityType": "sr_field"}, "tags": ["PII"]}]}
        yield "POST", "/subjects/s/versions/1/tags", edit
    tags = {f"**.nothing{at}": ["X"] for at in range(20)}
    yield "POST", "/subjects/t/versions", {**first, "metadata": {"tags": tags}}
    yield "POST", "/subjects/u/versions", {**first, "references": [reference]}
    yield "PUT", "/config/v", {"compatibility": "FULL", "compatibilityPolicy": "SOUND", "validateFields": True}
    yield "POST", "/subjects/v/versions", {**first, "metadata": {"properties": {"confluent:reserved": "field_3"}}}
    yield "POST", "/subjects/v/versions", {**first, "metadata": {"properties": {"confluent:reserved": "other"}}}
    yield "POST", "/compatibility/subjects/v/versions?verbose=true", second
    yield "PUT", "/config/s", {"compatibility": "NONE"}
    yield "POST", "/subjects/s/versions?normalize=true", second
    for version, schema in (("1.0.0", first), ("2.0.0", second)):
        content = promise(version, contract="c", subject="s", about="x" * 9_000)
        published = {"content": content, "schemas": {LINK: schema}}
        yield "POST", "/contracts/v1/publish", {"application": "a", "version": version, "contracts": [published]}
    yield "GET", "/contracts/v1/contracts/c/versions/2.0.0/diff?from=1.0.0", None
    yield "POST", "/contracts/v1/check", {"subject": "s", "schema": first}
    yield "POST", "/bridges/v1", {"plan": PLAN, "owner": "o", "sourceSchema": first, "registerSource": True}
    yield "POST", "/bridges/v1", {"plan": "bridge: [", "owner": "o"}
    yield "PUT", "/sketches/v1/subjects/s", {"topic": "t"}


def plain(reply: Reply) -> tuple[int, str]:
    """Return a response without the times in it."""
    return reply.status, re.sub(r'"[A-Za-z]*([tT]s|[tT]ime|At)":("[^"]*"|\d+)', "", reply.text)


@pytest.mark.slow
@pytest.mark.parametrize("language", SchemaType)
def test_answers_are_those_of_a_registry_that_parses_itself(language: SchemaType) -> None:
    async def story() -> None:
        judges = PackedJudges()
        apart, itself = InProcessRegistry(judges=judges), InProcessRegistry()
        statuses = set()
        for method, path, body in requests(language):
            given = None if body is None else json.dumps(body).encode()
            head = {"Content-Type": "application/json"}
            first, second = [await each.ask(method, path, given, head) for each in (apart, itself)]
            assert plain(first) == plain(second), (method, path)
            statuses.add(first.status)
        assert {200, 409, 422} <= statuses
        assert set(judges.works) >= _WORKS

    asyncio.run(story())


@pytest.mark.parametrize("language", SchemaType)
def test_a_large_text_is_not_parsed_in_the_event_loop(language: SchemaType) -> None:
    """Whatever a parsed schema of this language has besides its summary would be read from ``whole``."""

    async def story() -> None:
        cases = use_cases(MemoryStorage(), long=LongJudgements(PackedJudges()))
        request = SchemaRequest(text=TEXTS[language](), schema_type=language.value)
        read = await cases.reader.read(
            DEFAULT_CONTEXT, request, validation=Validation.STRICT, normalize=True, deleted=False
        )
        parsed = read.candidate.parsed
        assert isinstance(parsed, UnparsedSchema)
        assert "whole" not in vars(parsed)
        assert (parsed.name, len(parsed.field_names())) == ("A", COUNT)
        assert read.candidate.content.text == parsed.canonical() == parsed.whole.canonical()

    asyncio.run(story())
