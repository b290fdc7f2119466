"""A bridge between two versions of a subject, as clients register it and report about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry, Reply

ALL = "/bridges/v1"
NAME = "rides-v2-to-v1"
ONE = f"{ALL}/{NAME}"
SUBJECT = "rides-value"


def record(total: str) -> str:
    fields = [{"name": "id", "type": "long"}, {"name": "total", "type": total}]
    return json.dumps({"type": "record", "name": "Ride", "fields": fields})


OLD, NEW = record("double"), record("string")
PLAN = f"""\
bridge: {NAME}
source: {{topic: rides-v2, subject: {SUBJECT}}}
target: {{topic: rides, subject: {SUBJECT}, version: 1}}
fields:
  total: {{from: total, cast: double}}
"""
BACK = f"""\
bridge: back
source: {{topic: rides, subject: {SUBJECT}}}
target: {{topic: rides-v2, subject: {SUBJECT}}}
fields:
  total: {{from: total, cast: string, decimals: 2}}
"""


def new_bridge(**fields: Any) -> dict[str, Any]:
    return {"plan": PLAN, "owner": "rides", **fields}


def proposed(**fields: Any) -> dict[str, Any]:
    """The bridge of a schema that is not registered yet."""
    return new_bridge(sourceSchema={"schema": NEW}, **fields)


async def permit(registry: InProcessRegistry) -> None:
    """Register the old schema, and permit incompatible versions with a bridge."""
    assert (await registry.register(SUBJECT, OLD)).status == 200
    assert (await registry.put(f"/config/{SUBJECT}", {"incompatibleVersions": "BRIDGED"})).status == 200


async def registered(registry: InProcessRegistry, **fields: Any) -> dict[str, Any]:
    """Register the old schema, and the new one together with its bridge; return the bridge."""
    await permit(registry)
    made = await registry.post(ALL, proposed(registerSource=True, **fields))
    assert made.status == 200, made.text
    found: dict[str, Any] = made.json
    return found


def progress(bridge: dict[str, Any], *, lag: int = 0, dead: int = 0, **fields: Any) -> dict[str, Any]:
    partitions = [{"partition": 0, "position": 2**40, "end": 2**40 + lag}, {"partition": 1, "position": 0, "end": 0}]
    counts = {"converted": 100 - dead, "deadLetters": {"cast-failed": dead}}
    return {"job": "j", "epoch": 1, "planHash": bridge["planHash"], "partitions": partitions, **counts, **fields}


def verification(bridge: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"planHash": bridge["planHash"], "records": 100, "faults": {}, **fields}


async def transit(registry: InProcessRegistry, state: str, **fields: Any) -> Reply:
    return await registry.post(f"{ONE}/transitions", {"to": state, "by": "ann", **fields})
