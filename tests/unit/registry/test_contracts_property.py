"""Whoever deploys only what can-i-deploy permits has no live producer whose records a live consumer cannot read.

An expectation that nothing in schema and contract promises is only a warning, so that it is not deployed here.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_stories import BASE, PRODUCTION, can_deploy, deploy, expectation, promise, publish
from registry_driver import InProcessRegistry

STEPS: Final = 12
RECORDS: Final = 12
NAMES: Final = ("a", "b", "c")
SYMBOLS: Final = ("X", "Y", "Z")
LOGICAL_TYPES: Final = ("string", "integer", "number", "boolean")
KINDS: Final = ("string", "int", "long", "double", "boolean", "enum", "nested")


@dataclass(frozen=True)
class Expected:
    """What a consumer relies on at one path."""

    path: str
    required: bool
    when_present: bool
    logical_type: str | None = None
    enum: tuple[str, ...] | None = None

    @property
    def document(self) -> dict[str, Any]:
        given_type = {} if self.logical_type is None else {"as": self.logical_type}
        listed = {} if self.enum is None else {"enum": list(self.enum)}
        return {
            "path": self.path,
            "required": self.required,
            "whenPresent": self.when_present,
            **given_type,
            **listed,
        }

    def reads(self, record: dict[str, Any]) -> bool:
        """Return whether a consumer that does what it says can use the record: no knowledge of the judge is used."""
        value: Any = record
        for step in self.path.split("."):
            if value is None:  # what contains the field may be null
                return self.when_present or not self.required
            if not isinstance(value, dict) or step not in value:
                return self.when_present
            value = value[step]
        if value is None:
            return not self.required
        if self.enum is not None and value not in self.enum:
            return False
        kinds: dict[str | None, tuple[type, ...]] = {
            None: (object,),
            "string": (str,),
            "integer": (int,),
            "number": (int, float),
            "boolean": (bool,),
        }
        is_flag = isinstance(value, bool)
        return isinstance(value, kinds[self.logical_type]) and (not is_flag or self.logical_type in {None, "boolean"})


def drawn_field(random: Random, name: str) -> dict[str, Any]:
    kind: Any = random.choice(KINDS)
    if kind == "enum":
        kind = {"type": "enum", "name": f"E_{name}", "symbols": random.sample(SYMBOLS, random.randint(1, 3))}
    elif kind == "nested":
        inner = [drawn_plain(random, each) for each in random.sample(("p", "q"), random.randint(1, 2))]
        kind = {"type": "record", "name": f"R_{name}", "fields": inner}
    return {"name": name, "type": ["null", kind] if random.random() < 0.3 else kind}


def drawn_plain(random: Random, name: str) -> dict[str, Any]:
    kind = random.choice(KINDS[:5])
    return {"name": name, "type": ["null", kind] if random.random() < 0.3 else kind}


def drawn_schema(random: Random) -> dict[str, Any]:
    names = random.sample(NAMES, random.randint(1, len(NAMES)))
    return {"type": "record", "name": "Order", "fields": [drawn_field(random, name) for name in names]}


def drawn_value(random: Random, kind: Any) -> Any:
    if isinstance(kind, list):
        return drawn_value(random, random.choice(kind))
    if isinstance(kind, dict):
        if kind["type"] == "enum":
            return random.choice(kind["symbols"])
        return {each["name"]: drawn_value(random, each["type"]) for each in kind["fields"]}
    return {"null": None, "string": "s", "int": 7, "long": 2**40, "double": 0.5, "boolean": True}[kind]


def drawn_reads(random: Random) -> list[Expected]:
    found = {}
    for _ in range(random.randint(1, 2)):
        path = random.choice((*NAMES, "a.p", "b.q"))
        kind, listed = random.choice((*LOGICAL_TYPES, None)), None
        if random.random() < 0.2:
            kind, listed = None, tuple(random.sample(SYMBOLS, random.randint(1, 3)))
        found[path] = Expected(path, random.random() < 0.4, random.random() < 0.3, kind, listed)
    return list(found.values())


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
    random, registry = Random(seed), InProcessRegistry()
    await registry.put(PRODUCTION, {})
    writers: dict[str, dict[str, Any]] = {}
    readers: dict[str, list[Expected]] = {}
    done = 0
    for number in range(STEPS):
        is_producer = not writers or random.random() < 0.5
        application = "shop" if is_producer else random.choice(("billing", "audit"))
        version, schema, reads = str(number), drawn_schema(random), drawn_reads(random)
        if is_producer:
            content: Any = (promise(f"2.{number}.0").replace('"total"', '"a"'), json.dumps(schema))
        else:
            content = expectation(*(each.document for each in reads), name=application)
        made = await publish(registry, application, version, content)
        assert made.status == 200, made.text
        deployable, reasons = await can_deploy(registry, application, version)
        if deployable is False and random.random() < 0.5:
            await approve_some(registry, application, version, random)
            assert await can_deploy(registry, application, version) == (deployable, reasons)
        if deployable and "UNBACKED" not in reasons:
            await deploy(registry, application, version)
            done += 1
            if is_producer:
                writers[application] = schema
            else:
                readers[application] = reads
        for written in writers.values():
            for _ in range(RECORDS):
                record = drawn_value(random, written)
                unread = [each for reads in readers.values() for each in reads if not each.reads(record)]
                assert not unread, f"seed {seed}, step {number}: {unread} cannot read {record} of {written}"
    return done


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_only_what_everyone_reads_is_deployed(seed: int) -> None:
    assert asyncio.run(play(seed)) > 0
