"""A consumer that reads paths of a schema, and the findings of a change."""

from __future__ import annotations

import json
from typing import Any

from counterfoil.schema import SchemaType, parse_schema
from counterfoil.schema.agreements.findings import Offer, Reader, ReadFinding
from counterfoil.schema.agreements.model import Expectation, ExpectedRead, OnUnknownEnum
from counterfoil.schema.paths import parse_path, print_path
from counterfoil.schema.texts import Position
from strategies.contracts.read_judgements import judged_change

AT = Position(1, 1)
AVRO, PROTOBUF, JSON = SchemaType.AVRO, SchemaType.PROTOBUF, SchemaType.JSON


def reader(*paths: str, mode: str = "", declared: str | None = None, language: SchemaType = AVRO) -> Reader:
    """Return a consumer of some paths, of the whole record without any; ``!`` is required, ``?`` when present."""
    reads = tuple(
        ExpectedRead(parse_path(each.rstrip("!?")), AT, is_required="!" in each, when_present="?" in each)
        for each in paths
    )
    handled = OnUnknownEnum(mode) if mode else None
    expectation = Expectation("orders", "orders", "1", AT, reads or None, on_unknown_enum=handled)
    schema = None if declared is None else parse_schema(declared, language)
    return Reader("ui", expectation, schema=schema)


def found(language: SchemaType, was: str, now: str, *paths: str, mode: str = "") -> list[ReadFinding]:
    """Return what breaks a consumer that reads with the earlier schema."""
    before, after = (Offer(parse_schema(each, language)) for each in (was, now))
    return list(judged_change(before, after, [reader(*paths, mode=mode)]))


def facts(findings: list[ReadFinding]) -> set[tuple[str, str]]:
    """Return the places of new breaks, with what is written there."""
    new = (each for each in findings if each.is_breaking)
    return {(print_path(each.place), each.written) for each in new}


def record(**fields: Any) -> str:
    return json.dumps(
        {"type": "record", "name": "Order", "fields": [{"name": name, "type": each} for name, each in fields.items()]}
    )


# --- symbols that a consumer does not know


def enum(*symbols: str, default: str = "") -> Any:
    return {"type": "enum", "name": "E", "symbols": symbols, **({"default": default} if default else {})}
