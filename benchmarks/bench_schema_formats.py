"""Parse and check of a large schema in every language: 200 Protobuf messages, 300 JSON nodes, 50 Avro fields.

The candidate has one optional field more than the earlier schema. The languages take turns; printed are the medians in
milliseconds of processor time: parsing of both texts, the comparison of parsed schemas, and both. Run it with ``python
benchmarks/bench_schema_formats.py``.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import TYPE_CHECKING

from bench_compatibility import record

from counterfoil.schema.languages.table import language_for, parse_schema
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 9
MILLI = 1e3
MESSAGES = 200
PROPERTIES = 60  # of five nodes each, with the objects that contain them


def protobuf(*, added: bool) -> str:
    """Return 200 messages of five fields, each using the one before."""
    lines = ['syntax = "proto3";', "package shop;"]
    for number in range(MESSAGES):
        before = f"M{number - 1}" if number else "string"
        lines += [
            f"message M{number} {{",
            "  string id = 1;",
            "  int64 count = 2;",
            "  repeated double amounts = 3;",
            f"  {before} before = 4;",
            "  map<string, string> tags = 5;",
            *(["  string note = 6;"] if added and number == 0 else []),
            "}",
        ]
    return "\n".join(lines)


def json_schema(*, added: bool) -> str:
    """Return 300 nodes: closed objects, with numbers, texts, lists and enums."""
    properties: dict[str, object] = {
        f"p{number}": {
            "type": "object",
            "properties": {
                "id": {"type": "string", "maxLength": 40},
                "count": {"type": "integer", "minimum": 0},
                "tags": {"type": "array", "items": {"enum": ["A", "B", "C"]}},
            },
            "additionalProperties": False,
        }
        for number in range(PROPERTIES)
    }
    if added:
        properties["note"] = {"type": "string"}
    return json.dumps({"type": "object", "properties": properties, "additionalProperties": False})


TEXTS: dict[SchemaType, tuple[str, str]] = {
    SchemaType.AVRO: (record(50, added=1), record(50)),
    SchemaType.PROTOBUF: (protobuf(added=True), protobuf(added=False)),
    SchemaType.JSON: (json_schema(added=True), json_schema(added=False)),
}


def main() -> None:
    parsed = {kind: tuple(parse_schema(text, kind) for text in texts) for kind, texts in TEXTS.items()}
    for kind, (reader, writer) in parsed.items():
        assert not list(language_for(kind).find_differences(reader, writer)), kind
    rounds = [{kind: measure(kind, *parsed[kind]) for kind in TEXTS} for _ in range(ROUNDS)]
    print(f"{'':10} {'parse both':>12} {'check':>12} {'both':>12}")
    for kind in TEXTS:
        parse_ms, check_ms = (statistics.median(each[kind][part] for each in rounds) * MILLI for part in (0, 1))
        print(f"{kind:10} {parse_ms:9.2f} ms {check_ms:9.2f} ms {parse_ms + check_ms:9.2f} ms")


def measure(kind: SchemaType, reader: object, writer: object) -> tuple[float, float]:
    compare = language_for(kind).find_differences
    return (
        processor_seconds(lambda: [parse_schema(text, kind) for text in TEXTS[kind]]),
        processor_seconds(lambda: compare(reader, writer)),  # type: ignore[arg-type]  # parsed schemas, of any language
    )


def processor_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
