"""The rows of the table of casts in the documentation, as plans: each row is one field of one record."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.messages.table import make_reader, make_writer, pack
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans.casts import decimal_of_bytes, decimal_of_number
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.languages import tree_of
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.plans.types import scalar_of, split_null
from counterfoil.schema.wire import ID_PREFIX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.plans.model import Scalar

PAGE: Final = Path(__file__).parents[3] / "docs" / "bridge-casts.md"
SOURCE_ID: Final = 7
TARGET_ID: Final = 9
_ROW: Final = re.compile(r"^\| `([^`]+)` \| `(.*)` \| `([^`]+)` \| (.*?) \| (`.*`|[a-z-]+) \|$")
_LOGICAL: Final = {
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    **{f"{local}timestamp-{unit}": "long" for local in ("", "local-") for unit in ("millis", "micros", "nanos")},
}
_PROTOBUF: Final = {
    "uint32": "uint32",
    "uint64": "uint64",
    "Timestamp": "google.protobuf.Timestamp",
    "Duration": "google.protobuf.Duration",
}
_JSON: Final[dict[str, dict[str, Any]]] = {
    "number": {"type": "number"},
    "date-time": {"type": "string", "format": "date-time"},
    "full-date": {"type": "string", "format": "date"},
    "base64": {"type": "string", "contentEncoding": "base64"},
}
_PARTS: Final = re.compile(r"(\w+)\((.*)\)")


@dataclass(frozen=True)
class Row:
    """A row: the types and the value as they are written, the words beside ``cast``, and the result or its code."""

    source: str
    value: str
    target: str
    words: str
    result: str

    @property
    def languages(self) -> tuple[SchemaType, SchemaType]:
        return language_of(self.source), language_of(self.target)

    def rule(self, name: str) -> dict[str, Any]:
        more = yaml.safe_load(f"{{{self.words}}}") if self.words else {}
        return {"from": name, **more}


def rows_of(text: str) -> list[Row]:
    """Return the rows of the page's table."""
    found = (_ROW.match(line) for line in text.splitlines())
    return [
        Row(each[1], each[2], each[3], each[4].strip("`").strip(), each[5].strip("`"))
        for each in found
        if each is not None
    ]


def language_of(word: str) -> SchemaType:
    if word in _PROTOBUF:
        return SchemaType.PROTOBUF
    return SchemaType.JSON if word in _JSON else SchemaType.AVRO


def schema_of(words: Sequence[str], language: SchemaType) -> ParsedSchema:
    """Return a schema with one field of each type, which may be null."""
    if language is SchemaType.AVRO:
        fields = [{"name": f"f{n}", "type": ["null", _avro(word, n)], "default": None} for n, word in enumerate(words)]
        return parse_schema(json.dumps({"type": "record", "name": "R", "fields": fields}))
    if language is SchemaType.JSON:
        properties = {f"f{n}": _JSON[word] for n, word in enumerate(words)}
        return parse_schema(json.dumps({"type": "object", "properties": properties}), language)
    lines = "".join(
        f"  {'optional ' if '.' not in _PROTOBUF[word] else ''}{_PROTOBUF[word]} f{n} = {n + 1};\n"
        for n, word in enumerate(words)
    )
    imports = "".join(f'import "google/protobuf/{name}.proto";\n' for name in ("timestamp", "duration"))
    return parse_schema(f'syntax = "proto3";\n{imports}message R {{\n{lines}}}\n', language)


def _avro(word: str, number: int) -> Any:
    parts = _PARTS.fullmatch(word)
    if parts is None:
        return word if word not in {*_LOGICAL, "uuid"} else {"type": _LOGICAL.get(word, "string"), "logicalType": word}
    arguments = [each.strip() for each in parts[2].split(",")]
    if parts[1] == "decimal":
        precision, scale = map(int, arguments)
        return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    if parts[1] == "fixed":
        return {"type": "fixed", "name": f"F{number}", "size": int(arguments[0])}
    return {"type": "enum", "name": f"E{number}", "symbols": arguments}


def scalar_at(schema: ParsedSchema, number: int) -> Scalar:
    inner = split_null(tree_of(schema).fields[number].type)[1]  # type: ignore[union-attr]
    found = None if inner is None else scalar_of(inner)
    assert found is not None
    return found


def base_value(text: str, scalar: Scalar) -> Any:
    """Return the base value that a row writes."""
    if text in {"NaN", "Infinity", "-Infinity"} and scalar.base in {"float", "double"}:
        return float(text.replace("Infinity", "inf"))
    if text.startswith("0x"):
        return bytes.fromhex(text[2:])
    value = json.loads(text)
    if scalar.word == "decimal":
        made = decimal_of_number(value, scalar)
        assert made is not None, text
        return made
    return float(value) if scalar.base in {"float", "double"} else value


def shown_value(value: Any, scalar: Scalar) -> str:
    """Return a base value as a row writes it."""
    if scalar.word == "decimal":
        return f"{decimal_of_bytes(value, scalar):f}"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Trial:
    """All rows between two languages: the conversion, and one framed message for each row."""

    rows: tuple[Row, ...]
    conversion: Conversion
    messages: list[bytes]

    def shown(self, made: bytes, number: int) -> str:
        """Return the value of a field of a converted message, as its row writes it."""
        target = self.conversion.plan.target
        read = make_reader(pack(target), {TARGET_ID: pack(target)})
        return shown_value(read(TARGET_ID, made, ID_PREFIX_BYTES)[f"f{number}"], scalar_at(target, number))


def trial_of(rows: Iterable[Row]) -> Trial:
    """Return the trial of rows that have the same two languages."""
    rows = tuple(rows)
    source_language, target_language = rows[0].languages
    source = schema_of([row.source for row in rows], source_language)
    target = schema_of([row.target for row in rows], target_language)
    rules = parse_rules({f"f{n}": row.rule(f"f{n}") for n, row in enumerate(rows)})
    plan = derive_plan(source, target, rules)
    assert plan.is_complete, plan.problems
    write = make_writer(pack(source), SOURCE_ID)
    names = [f"f{n}" for n in range(len(rows))]
    messages = []
    for number, row in enumerate(rows):
        value = dict.fromkeys(names) | {f"f{number}": base_value(row.value, scalar_at(source, number))}
        messages.append(write(value))
    return Trial(rows, Conversion(plan, {SOURCE_ID: source}, TARGET_ID), messages)
