"""Dumps of the topic ``_schemas``, as Confluent's registry and as Karapace write it."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.moving.facts import MovingError, UnreadableContent
from counterfoil.registry.moving.importing import FactImport, ImportOutcome, MoveProgress
from counterfoil.registry.moving.sources import facts_of
from counterfoil.registry.moving.store_facts import StoreTarget
from counterfoil.registry.moving.topic_dump import TopicSource
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.subjects.versions import make_content
from counterfoil.schema.model import SchemaType
from strategies.registry.driver import InProcessRegistry
from strategies.registry.histories import ITEM, REFERRING

if TYPE_CHECKING:
    from pathlib import Path

QUIET = MoveProgress()


def confluent(kind: str, value: Any, /, **key: Any) -> str:
    """A line of a console consumer, keys in the order in which Confluent's registry writes them."""
    fields = {"keytype": kind, **key, "magic": 1 if kind == "SCHEMA" else 0}
    return f"{json.dumps(fields, separators=(',', ':'))}\t{json.dumps(value, separators=(',', ':'))}"


def karapace(kind: str, value: Any, /, **key: Any) -> str:
    """The same in the order of older Karapace, whose tombstones are empty values."""
    fields = {**key, "magic": 1 if kind == "SCHEMA" else 0, "keytype": kind}
    return f"{json.dumps(fields, separators=(',', ':'))}\t{'' if value is None else json.dumps(value)}"


def schema(subject: str, version: int, schema_id: int, text: Any, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "version": version, "id": schema_id, "schema": json.dumps(text), **more}


async def imported(path: Path, *lines: str, **options: Any) -> tuple[InProcessRegistry, ImportOutcome]:
    storage = MemoryStorage()
    await written(path, *lines)
    topic = TopicSource(path)
    outcome = await FactImport(lambda: facts_of(topic), StoreTarget(storage), QUIET).run(verify=True, **options)
    return InProcessRegistry(storage), outcome


async def written(path: Path, *lines: str) -> None:
    def write() -> None:
        path.write_text("".join(f"{line}\n" for line in lines))

    await asyncio.to_thread(write)


def test_the_topic_of_confluents_registry(tmp_path: Path) -> None:
    text = '{"type":"enum","name":"E","symbols":["A"]}'
    canonical = make_content(text, SchemaType.AVRO)
    cart = {"references": [{"name": "ns.Item", "subject": "item", "version": 1}], "schemaType": "AVRO", "ts": 77}

    async def check() -> None:
        registry, outcome = await imported(
            tmp_path / "dump",
            confluent("NOOP", None),
            confluent("CONFIG", {"subject": None, "compatibilityLevel": "FULL"}, subject=None),
            confluent("SCHEMA", schema("cart", 1, 2, REFERRING, deleted=False, **cart), subject="cart", version=1),
            confluent("SCHEMA", schema("item", 1, 1, ITEM, deleted=False), subject="item", version=1),
            confluent("SCHEMA", schema("item", 2, 3, "string", deleted=False), subject="item", version=2),
            confluent("SCHEMA", schema("item", 2, 3, "string", deleted=True), subject="item", version=2),
            confluent("SCHEMA", schema(":.c:item", 4, 9, "int", deleted=False), subject=":.c:item", version=4),
            confluent("SCHEMA", schema("gone", 1, 8, "long", deleted=False), subject="gone", version=1),
            confluent("SCHEMA", None, subject="gone", version=1),
            confluent("CONTEXT", {"tenant": "default", "context": ".c"}, tenant="default", context=".c"),
            confluent("CONFIG", {"subject": "item", "compatibilityLevel": "NONE", "alias": "x"}, subject="nobody"),
            confluent("CONFIG", {"subject": "cart", "compatibilityLevel": "NONE"}, subject="cart"),
            confluent("CONFIG", None, subject="cart"),
            confluent("MODE", {"subject": ":.c:", "mode": "READONLY"}, subject=":.c:"),
            confluent("MODE", {"subject": None, "mode": "IMPORT"}, subject=None),
            confluent("MODE", None, subject=None),
            confluent(
                "SCHEMA",
                {**schema("e", 1, 4, ""), "schema": text, "md5": base64.b64encode(canonical.guid.bytes).decode()},
                subject="e",
                version=1,
            ),
            "Processed a total of 17 messages",
        )
        assert outcome.written.total() == outcome.verified - outcome.same == 9
        assert (await registry.get("/subjects?deleted=true")).json == [":.c:item", "cart", "e", "item"]
        stored = (await registry.get("/subjects/cart/versions/1")).json
        assert (stored["id"], stored["ts"], stored["references"]) == (2, 77, cart["references"])
        assert (await registry.get("/subjects/item/versions?deleted=true")).json == [1, 2]
        assert (await registry.get("/subjects/item/versions")).json == [1]
        assert (await registry.get("/contexts/.c/subjects/item/versions/4")).json["id"] == 9
        assert (await registry.get("/config")).json == {"compatibilityLevel": "FULL"}
        assert (await registry.get("/config/nobody")).json == {"alias": "x", "compatibilityLevel": "NONE"}
        assert (await registry.get("/config/cart")).code == 40408
        assert (await registry.get("/mode/:.c:")).json == {"mode": "READONLY"}
        assert (await registry.get("/mode")).json == {"mode": "READWRITE"}
        assert (await registry.register("new", '"double"')).json["id"] == 9  # 8 was given out, and is not again

    asyncio.run(check())


def test_the_topic_of_karapace(tmp_path: Path) -> None:
    async def check() -> None:
        registry, _ = await imported(
            tmp_path / "dump",
            karapace("CONFIG", {"compatibilityLevel": "FORWARD"}),
            karapace("SCHEMA", schema("a", 1, 1, ITEM, deleted=False), subject="a", version=1),
            karapace("SCHEMA", schema("a", 2, 2, "string", deleted=False), subject="a", version=2),
            karapace("DELETE_SUBJECT", {"subject": "a", "version": 2}, subject="a"),
            karapace("SCHEMA", schema("a", 3, 3, {"type": "int"}, deleted=False), subject="a", version=3),
            karapace("SCHEMA", schema("b", 1, 3, {"type": "int"}, deleted=False), subject="b", version=1),
            karapace("SCHEMA", None, subject="b", version=1),
            karapace(
                "SCHEMA",
                schema("j", 1, 4, {"type": "object"}, schemaType="JSON", deleted=False),
                subject="j",
                version=1,
            ),
        )
        assert (await registry.get("/subjects")).json == ["a", "j"]
        assert (await registry.get("/subjects/a/versions")).json == [3]
        assert (await registry.get("/subjects/a/versions?deleted=true")).json == [1, 2, 3]
        assert (await registry.get("/schemas/ids/3/schema")).text == '"int"'  # in the canonical spelling
        assert (await registry.get("/config")).json == {"compatibilityLevel": "FORWARD"}

    asyncio.run(check())


def test_a_cleared_subject_has_no_soft_deleted_versions(tmp_path: Path) -> None:
    async def check() -> None:
        registry, _ = await imported(
            tmp_path / "dump",
            confluent("SCHEMA", schema("a", 1, 1, "int", deleted=True), subject="a", version=1),
            confluent("SCHEMA", schema("a", 2, 2, "long", deleted=False), subject="a", version=2),
            confluent("CLEAR_SUBJECT", {"subject": "a"}, subject="a"),
        )
        assert (await registry.get("/subjects/a/versions?deleted=true")).json == [2]

    asyncio.run(check())


@pytest.mark.parametrize(
    "line",
    [
        "{key}\t{value}",
        "CreateTime:1699574968787\t{key}\t{value}",
        "CreateTime:1699574968787\tPartition:0\tOffset:12\tNO_HEADERS\t{key}\t{value}",
        "Partition:0\tX-Registry-Version:karapace-3,X-Origin-Host:a\t{key}\t{value}",
        '{{"key": {key}, "value": {value}}}',
        '{{"topic": "_schemas", "partition": 0, "ts": 1699574968787, "key": {quoted_key}, "payload": {quoted_value}}}',
        '{{"topic": "_schemas", "key": {quoted_key}, "value": {quoted_value}, "timestamp": 1699574968787}}',
    ],
)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_way_of_printing_a_record(tmp_path: Path, line: str, suffix: str) -> None:
    key = json.dumps({"keytype": "SCHEMA", "subject": "a", "version": 1, "magic": 1})
    value = json.dumps(schema("a", 1, 5, "int"))
    text = line.format(key=key, value=value, quoted_key=json.dumps(key), quoted_value=json.dumps(value))
    path = tmp_path / f"dump{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix else text.encode())

    async def check() -> None:
        (fact,) = await TopicSource(path).versions((await TopicSource(path).subjects())[0])
        assert (fact.schema_id, fact.content.text) == (5, '"int"')
        assert fact.ts == (1699574968787 if "1699574968787" in line else None)

    asyncio.run(check())


GOOD = confluent("SCHEMA", schema("a", 1, 1, "int"), subject="a", version=1)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("no record", "does not begin with a key"),
        ('{"keytype":"NOOP"}', "no tab after the key"),
        ('{"magic":0}\tnull', "not a JSON object with a keytype"),
        ('{"keytype":"NOOP"}\t[1]', "neither a JSON object nor null"),
        ('{"keytype":"NOOP"}\t{"a"', "no record"),
        ('{"keytype":"NEWS","magic":0}\tnull', "its key type is 'NEWS'"),
        ('{"keytype":"SCHEMA","subject":"a","version":0}\tnull', "version is 0"),
        ('{"keytype":"SCHEMA","subject":["a"],"version":1}\tnull', "subject must be a text"),
        (confluent("SCHEMA", {"id": 3}, subject="a", version=2), "schema must be a text"),
        (confluent("SCHEMA", schema("a", 2, -1, "int"), subject="a", version=2), "id is -1"),
        (
            confluent("SCHEMA", schema("a", 2, 2, "int", schemaType="XML"), subject="a", version=2),
            "schemaType is 'XML'",
        ),
        (confluent("CONFIG", {"compatibilityLevel": "MOST"}, subject="a"), "MOST"),
        (confluent("MODE", {"mode": "OFF"}, subject="a"), "mode is 'OFF'"),
        ("\udcff", "not UTF-8"),
        ("[" * 5000, "does not begin with a key"),
        ("{" * 5000, "no record"),
        ('{"key":' + "[" * 100_000, "no record"),
    ],
)
def test_lines_that_cannot_be_read_stop_an_import_unless_an_option_permits_them(
    tmp_path: Path, bad: str, why: str
) -> None:
    path = tmp_path / "dump"
    path.write_bytes(f"{GOOD}\n\n{bad}\n".encode(errors="surrogateescape"))

    async def check() -> None:
        topic, storage = TopicSource(path), MemoryStorage()
        carrying = FactImport(lambda: facts_of(topic), StoreTarget(storage), QUIET)
        with pytest.raises(UnreadableContent) as refusal:
            await carrying.run()
        assert [problem for problem in refusal.value.problems if why in problem and "line 3:" in problem]
        assert await storage.last_change() == 0
        outcome = await carrying.run(skip_unreadable=True, verify=True)
        assert (outcome.written["version"], outcome.left_out) == (1, 1)

    asyncio.run(check())


def test_schemas_that_make_no_sense_are_reported(tmp_path: Path) -> None:
    gone = {"references": [{"name": "ns.Item", "subject": "item", "version": 1}]}

    async def check() -> None:
        lines = [
            confluent("SCHEMA", schema("cart", 1, 1, REFERRING, **gone), subject="cart", version=1),
            confluent("SCHEMA", schema("odd", 1, 2, {"type": "nothing"}), subject="odd", version=1),
            confluent("SCHEMA", schema("one", 1, 3, "int"), subject="one", version=1),
            confluent("SCHEMA", schema("two", 1, 3, "long"), subject="two", version=1),
        ]
        with pytest.raises(UnreadableContent) as refusal:
            await imported(tmp_path / "dump", *lines)
        cart, odd, two = refusal.value.problems
        assert "refers to version 1 of subject 'item', which is not there" in cart
        assert "version 1 of subject 'odd' (id 2)" in odd
        assert two == "version 1 of subject 'two': the topic has two schemas under id 3"
        registry, outcome = await imported(tmp_path / "dump", *lines, skip_unreadable=True)
        assert outcome.left_out == 3
        assert (await registry.get("/subjects")).json == ["one"]

    asyncio.run(check())


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(MovingError, match="No such file"):
        TopicSource(tmp_path / "none")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(GOOD.encode() * 100)[:-9])
    with pytest.raises(MovingError, match="cannot be read"):
        TopicSource(tmp_path / "cut.gz")
