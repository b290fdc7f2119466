"""Whoever deploys only what can-i-deploy permits has no live producer whose records a live consumer cannot read.

Records of every live producer are made and decoded by libraries of other projects, in three languages, with the schema
of the writer, and with the one that the consumer reads with. What nothing in schema and contract promises is only a
warning, so that a consumer which expects it is not deployed here.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strategies.contracts.stories import BASE, LINK, PRODUCTION, can_deploy, deploy, expectation
from strategies.languages.records import (
    ABSENT,
    INNER,
    LANGUAGES,
    LIMITS,
    NAMES,
    TEXTS,
    Language,
    drawn_model,
    evolved,
    projected,
    value_at,
)
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from strategies.languages.records import Field, Model

STEPS: Final = 14
RECORDS: Final = 8
READER_LINK: Final = "./reader.avsc"
LOGICAL_TYPES: Final = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
UNITS: Final = ("EUR", "EUR.cent")


@dataclass(frozen=True)
class Expected:
    """What a consumer relies on at one path."""

    path: str
    required: bool
    when_present: bool
    logical_type: str | None = None
    enum: tuple[str, ...] | None = None
    limits: tuple[int, int] | None = None
    unit: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"path": self.path, "required": self.required, "whenPresent": self.when_present}
        if self.logical_type is not None:
            document["as"] = self.logical_type
        if self.enum is not None:
            document["enum"] = list(self.enum)
        if self.limits is not None:
            document["min"], document["max"] = self.limits
        if self.unit is not None:
            document["unit"] = self.unit
        return document

    def is_met(self, record: dict[str, Any], *, is_sparse: bool) -> bool:
        """Return whether a consumer that does what it says can use a decoded record.

        No knowledge of the judge is used. ``is_sparse``: a field that is in the schema may be absent from a record.
        """
        value = value_at(record, self.path)
        if value is ABSENT:
            parent = value_at(record, self.path.rpartition(".")[0]) if "." in self.path else record
            is_left_out = is_sparse and (parent is ABSENT or not self.required)
            return self.when_present or parent is None or is_left_out
        if value is None:
            return not self.required
        if self.enum is not None and value not in self.enum:
            return False
        is_flag = isinstance(value, bool)
        if self.limits is not None and (
            is_flag or not isinstance(value, int | float) or not self.limits[0] <= value <= self.limits[1]
        ):
            return False
        if self.logical_type is None:
            return True
        return isinstance(value, LOGICAL_TYPES[self.logical_type]) and is_flag is (self.logical_type == "boolean")


@dataclass(frozen=True)
class Reader:
    """A live consumer: its expectations, None for the whole record; ``schema`` is the one that it declares.

    Without one it reads with a schema for which it was built: that of a producer in ``met``, those that were live when
    it was deployed, or the first one after that (decision 39).
    """

    reads: tuple[Expected, ...] | None
    schema: Model | None = None
    language: Language | None = None
    """The language of its schema."""
    met: tuple[Writer, ...] = ()

    def meeting(self, *writers: Writer) -> Reader:
        """Return the consumer beside live producers, of which only the first ones say what it was built for."""
        return self if self.met else replace(self, met=writers)

    def seen_of(self, model: Model) -> Model:
        """Return the part of a schema that the consumer needs."""
        return model if self.reads is None else projected(model, {each.path for each in self.reads})

    def parsed_of(self, model: Model) -> Model:
        """Return that part for a consumer that parses JSON by itself: what it reads when present may be absent."""
        left_out = {each.path for each in self.reads or () if each.when_present}
        certain = {each.path.partition(".")[0] for each in self.reads or () if not each.when_present}

        def part(each: Field, path: str) -> Field:
            inner = tuple(part(one, f"{path}.{one.name}") for one in each.inner)
            is_left_out = path in left_out or ("." not in path and path not in certain)
            return replace(each, inner=inner, is_optional=each.is_optional or is_left_out)

        return tuple(part(each, each.name) for each in self.seen_of(model))


@dataclass(frozen=True)
class Writer:
    """A live producer: its schema, and the units that its contract promises, by field."""

    schema: Model
    units: dict[str, str]
    language: Language


def drawn_reads(random: Random, language: Language, model: Model) -> tuple[Expected, ...]:
    """Return expectations, more often of fields that a schema has."""
    found = {}
    for _ in range(random.randint(1, 3)):
        path = random.choice([each.name for each in model] if random.random() < 0.8 else NAMES)
        field = next((each for each in model if each.name == path), None)
        if random.random() < 0.3:
            path = f"{path}.{random.choice(INNER)}"
        required, when_present = random.random() < 0.4, random.random() < 0.3
        logical_type = random.choice((*LOGICAL_TYPES, None, None, None))
        enum, limits, unit = None, None, None
        chance = random.random()
        if field is not None and field.kind == "enum" and chance < 0.7:
            listed = language.symbols(field)
            enum, logical_type = tuple(random.sample(listed, random.randint(1, len(listed)))), None
        elif field is not None and field.promised and chance < 0.7 and "." not in path:
            if field.kind == "string":
                enum, logical_type = TEXTS[: random.randint(1, 2)], None
            else:
                low, high = sorted(random.sample(LIMITS, 2))
                limits = (low, high)
        elif field is not None and chance > 0.9 and "." not in path:
            unit = random.choice(UNITS)
        found[path] = Expected(path, required, when_present, logical_type, enum, limits, unit)
    return tuple(found.values())


def promise_of(model: Model, units: dict[str, str], *, version: str) -> str:
    """Return the producer's contract, with what is promised of values."""
    properties: list[dict[str, Any]] = []
    for each in model:
        entry: dict[str, Any] = {"name": each.name}
        if each.kind in {"int", "long", "double"}:
            entry["logicalType"] = "number" if each.kind == "double" else "integer"
        elif each.kind == "string":
            entry["logicalType"] = "string"
        if each.promised and each.kind == "string":
            entry["enum"] = [{"value": value} for value in each.promised]
        elif each.promised:
            entry["logicalTypeOptions"] = {"minimum": each.promised[0], "maximum": each.promised[1]}
        if each.name in units:
            entry["customProperties"] = [{"property": "unit", "value": units[each.name]}]
        properties.append(entry)
    described = {
        "name": "Order",
        "physicalName": "orders",
        "authoritativeDefinitions": [{"type": "schema", "url": LINK}],
        "properties": properties,
    }
    head = {"apiVersion": "v3.2.0", "kind": "DataContract", "id": "orders", "version": version, "status": "active"}
    return json.dumps({**head, "schema": [described]})


def is_of_schema(expected: Expected, model: Model) -> bool:
    """Return whether an expectation is about the schema alone: a contract promises nothing of older records."""
    is_enum = any(each.name == expected.path and each.kind == "enum" for each in model)
    return expected.limits is None and expected.unit is None and (expected.enum is None or is_enum)


def drawn_units(random: Random, model: Model) -> dict[str, str]:
    return {each.name: random.choice(UNITS) for each in model if random.random() < 0.5}


class World:
    """A registry with one environment, and what is live there."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.language = self.random.choice(LANGUAGES)
        self.registry = InProcessRegistry()
        self.models: list[Model] = [drawn_model(self.random)]
        self.writers: dict[str, Writer] = {}
        self.readers: dict[str, Reader] = {}
        self.deployed = 0

    def schema_of(self, model: Model, language: Language | None) -> dict[str, str]:
        written = language or self.language
        return {"schemaType": written.name, "schema": written.text(model)}

    def next_model(self) -> Model:
        model = drawn_model(self.random) if self.random.random() < 0.15 else evolved(self.random, self.models[-1])
        self.models.append(model)
        return model

    async def publish(self, application: str, version: str, *contracts: dict[str, Any]) -> None:
        body = {"application": application, "version": version, "contracts": list(contracts)}
        made = await self.registry.post(f"{BASE}/publish", body)
        assert made.status == 200, f"seed {self.seed}: {made.text}"

    def contract_of(self, writer: Writer, *, version: str) -> dict[str, Any]:
        content = promise_of(writer.schema, writer.units, version=version)
        return {"content": content, "schemas": {LINK: self.schema_of(writer.schema, writer.language)}}

    def product_of(self, application: str, reader: Reader, **more: Any) -> dict[str, Any]:
        documents = [each.document for each in reader.reads or ()]
        if reader.schema is None:
            return {"content": expectation(*documents, name=application, **more)}
        content = expectation(*documents, name=application, readerSchema=READER_LINK, **more)
        return {"content": content, "schemas": {READER_LINK: self.schema_of(reader.schema, reader.language)}}

    def drawn_reader(self) -> Reader:
        model = self.random.choice(self.models[-3:])
        reads = drawn_reads(self.random, self.language, model) if self.random.random() < 0.8 else None
        schema = None
        if self.random.random() < 0.4:
            schema = evolved(self.random, model) if self.random.random() < 0.4 else model
        return Reader(reads, schema, self.drawn_language())

    def drawn_language(self) -> Language:
        """Return the language of most schemas, or another one."""
        return self.random.choice(LANGUAGES) if self.random.random() < 0.1 else self.language

    async def may_deploy(self, application: str, version: str) -> bool:
        """Return whether can-i-deploy says yes, without a warning; approve some breaks now and then, for a moment."""
        deployable, reasons = await can_deploy(self.registry, application, version)
        if deployable is False and self.random.random() < 0.2:
            await approve_some(self.registry, application, version, self.random)
            assert await can_deploy(self.registry, application, version) == (deployable, reasons)
        return deployable is True and "UNBACKED" not in reasons

    def check_record(self, data: bytes, writer: Writer, reader: Reader, about: str) -> None:
        """Check that a consumer can use a record; one that declares no schema reads with that of the writer."""
        record = writer.language.read(data, writer.schema)
        for each in reader.reads or ():
            assert each.is_met(record, is_sparse=writer.language.name == "JSON"), f"{about}: {each} of {record}"
            if each.unit is not None and value_at(record, each.path) not in (None, ABSENT):
                assert writer.units.get(each.path) == each.unit, f"{about}: {each} of units {writer.units}"
        if reader.schema is not None and reader.language is not None:
            self.check_read_with(reader.schema, reader.language, data, writer, reader, about=about)

    def check_read_with(
        self, schema: Model, language: Language, data: bytes, writer: Writer, reader: Reader, *, about: str
    ) -> None:
        """Check that a record is decoded with another schema, and that what the consumer reads is what was written."""
        record = writer.language.read(data, writer.schema)
        assert writer.language is language, f"{about}: {writer.language.name} is read as {language.name}"
        is_parsed = language.name == "JSON" and reader.schema is None
        seen = reader.parsed_of(schema) if is_parsed else reader.seen_of(schema)
        try:
            found = language.read(data, writer.schema, seen)
        except Exception as error:
            raise AssertionError(f"{about}: {record} of {writer} is not read with {seen}") from error
        for each in reader.reads or ():
            value, given = value_at(found, each.path), value_at(record, each.path)
            if ABSENT not in (value, given) and not isinstance(value, dict):
                is_same = language.is_same(given, value)
                assert is_same, f"{about}: {each.path} is {given}, and read as {value} with {seen}"

    def check_live(self, about: str) -> None:
        """Check that every live consumer can use records of every live producer."""
        for writer in self.writers.values():
            for _ in range(RECORDS):
                data = writer.language.written(writer.schema, self.random)
                for name, reader in self.readers.items():
                    self.check_record(data, writer, reader, f"{about}, {name}")
                    for met in reader.met if reader.schema is None else ():
                        self.check_read_with(met.schema, met.language, data, writer, reader, about=f"{about}, {name}")


async def approve_some(registry: InProcessRegistry, application: str, version: str, random: Random) -> None:
    """Approve some breaks for a moment: the verdict is yes only if a live approval covers each of them."""
    path = f"{BASE}/can-i-deploy?application={application}&version={version}&environment=production"
    breaks = {each["fingerprint"] for each in (await registry.get(path)).json["reasons"] if "fingerprint" in each}
    chosen = random.sample(sorted(breaks), random.randint(1, len(breaks)))
    body = {"fingerprints": chosen, "owner": "ana", "reason": "agreed", "until": "2999-12-31"}
    made = (await registry.post(f"{BASE}/approvals", body)).json
    found = (await registry.get(path)).json
    assert (found["deployable"] is False) == (breaks > set(chosen)), found
    covered = {each["fingerprint"] for each in found["reasons"] if each["reason"] == "APPROVED_BREAK"}
    assert covered == set(chosen)
    await registry.delete(f"{BASE}/approvals/{made['id']}")


async def play(seed: int) -> int:
    """Deploy what may be deployed, step by step, and return how many deployments there were."""
    world = World(seed)
    random, registry = world.random, world.registry
    await registry.put(PRODUCTION, {})
    for number in range(STEPS):
        about = f"seed {seed}, {world.language.name}, step {number}"
        is_producer = not world.writers or random.random() < 0.5
        application, version = random.choice(("shop", "outlet") if is_producer else ("billing", "audit")), str(number)
        if is_producer:
            model = world.next_model()
            writer = Writer(model, drawn_units(random, model), world.drawn_language())
            await world.publish(application, version, world.contract_of(writer, version=f"2.{number}.0"))
        else:
            reader = world.drawn_reader()
            await world.publish(application, version, world.product_of(application, reader))
        if await world.may_deploy(application, version):
            await deploy(registry, application, version)
            world.deployed += 1
            if is_producer:
                world.writers[application] = writer
                world.readers = {name: each.meeting(writer) for name, each in world.readers.items()}
            else:
                world.readers[application] = reader.meeting(*world.writers.values())
        world.check_live(about)
    return world.deployed


async def play_own(seed: int) -> int:
    """Deploy versions of an application that reads its own topic from the beginning, and return how many there were."""
    world = World(seed)
    random, registry, language = world.random, world.registry, world.language
    await registry.put(PRODUCTION, {})
    await registry.put("/config", {"compatibility": "NONE"})
    written: list[tuple[Writer, bytes]] = []
    ids: list[int] = []
    for number in range(STEPS):
        about = f"seed {seed}, {language.name}, step {number}"
        model = world.next_model()
        reads = drawn_reads(random, language, model) if random.random() < 0.7 else None
        reads = reads and tuple(each for each in reads if is_of_schema(each, model))
        reader = Reader(reads or None, model if random.random() < 0.2 else None, language)
        own = Writer(model, {}, language)
        contract = world.contract_of(own, version=f"2.{number}.0")
        product = world.product_of("ledger", reader, reprocessesFrom="retention")
        await world.publish("ledger", str(number), contract, product)
        if not await world.may_deploy("ledger", str(number)):
            continue
        liveness = (await deploy(registry, "ledger", str(number))).json
        for writer, data in written:
            world.check_record(data, writer, reader, about)
            world.check_read_with(model, language, data, writer, reader, about=about)
        written += [(own, language.written(model, random)) for _ in range(RECORDS)]
        made = await registry.post("/subjects/orders-value/versions", world.schema_of(model, language))
        assert made.status == 200, made.text
        ids.append(made.json["id"])
        counted = [{"schemaId": each, "count": RECORDS} for each in sorted(set(ids))]
        body = {"environment": "production", "records": len(written), "complete": True, "schemas": counted}
        assert (await registry.post(f"{BASE}/topics/orders/stats", body)).status == 200
        if random.random() < 0.3:  # nothing is live, and the records stay
            await registry.delete(f"{PRODUCTION}/deployments/{liveness['id']}")
        world.deployed += 1
    return world.deployed


@pytest.mark.slow
@example(1085)  # a field of bool is read as an enum: the number is the same
@example(10973)  # a consumer was built for a producer without its field, which another one adds and changes later
@given(st.integers(0, 2**32))
def test_only_what_everyone_reads_is_deployed(seed: int) -> None:
    assert asyncio.run(play(seed)) > 0


@pytest.mark.slow
@given(st.integers(0, 2**32))
def test_an_application_reads_all_that_it_has_written(seed: int) -> None:
    assert asyncio.run(play_own(seed)) > 0
