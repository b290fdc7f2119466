"""Plans that engines are tested with, and framed values for them, whole and broken.

``CASES`` are the plans, ``conversion_of`` makes the argument of an engine, ``values_of`` draws framed values of all
writers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.schema.languages.avro.schema import AvroSchema, parse_avro
from counterfoil.schema.plans.avro import base_schema
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.avro.coders import compile_encoder
from strategies.engines.values import Draw

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET_ID = 9
VALUES_PER_WRITER = 60
MUTATIONS_PER_VALUE = 4


@dataclass(frozen=True)
class Case:
    """A plan, its writers by id (the last is the source), and its special properties."""

    name: str
    writers: dict[int, Any]
    target: Any
    rules: dict[str, Any] = field(default_factory=dict)
    drop: Any = None


def record(*fields: Any, name: str = "Ride") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [one(member) for member in fields]}


def one(member: Any) -> dict[str, Any]:
    if isinstance(member, dict):
        return member
    return dict(zip(("name", "type", "default"), member, strict=False))


COLOUR = {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN", "BLUE"]}
FEWER = {"type": "enum", "name": "Colour", "symbols": ["GREEN", "RED"]}
MORE = {"type": "enum", "name": "Colour", "symbols": ["BLACK", "BLUE", "GREEN", "RED"]}
POINT = record(("lat", "double"), ("colour", COLOUR), name="Point")
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
LOCAL = {"type": "long", "logicalType": "local-timestamp-millis"}
NANOS = {"type": "long", "logicalType": "timestamp-nanos"}
DATE = {"type": "int", "logicalType": "date"}
PATTERN = "yyyy-MM-dd HH:mm:ss.SSS"


def nullable(node: Any) -> list[Any]:
    return ["null", node]


CASES = [
    Case(
        "copies",
        {
            7: record(
                ("i", "int"),
                ("l", "long"),
                ("f", "float"),
                ("d", "double"),
                ("b", "boolean"),
                ("s", "string"),
                ("y", "bytes"),
                ("x", {"type": "fixed", "name": "X", "size": 3}),
                ("e", COLOUR),
                ("t", MICROS),
                ("p", POINT),
                ("ns", nullable("string")),
                ("ni", ["int", "null"]),
                ("np", nullable("Point")),
            )
        },
        record(
            ("np", nullable(POINT)),
            ("i", "int"),
            ("l", "long"),
            ("f", "float"),
            ("d", "double"),
            ("b", "boolean"),
            ("s", "string"),
            ("y", "bytes"),
            ("x", {"type": "fixed", "name": "X", "size": 3}),
            ("e", MORE),
            ("t", MICROS),
            ("p", "Point"),
            ("ns", nullable("string")),
            ("ni", nullable("int")),
            ("new", nullable("int")),
            ("filled", record(("z", "int"), name="Z"), {"z": 3}),
        ),
    ),
    Case(
        "widening",
        {
            7: record(
                ("i", "int"),
                ("j", "int"),
                ("f", "float"),
                ("s", "string"),
                ("e", COLOUR),
                ("g", COLOUR),
                ("t", MILLIS),
                ("u", MILLIS),
                ("n", nullable("int")),
                ("x", {"type": "fixed", "name": "X", "size": 2}),
            )
        },
        record(
            ("i", "long"),
            ("j", nullable("double")),
            ("f", "double"),
            ("s", "bytes"),
            ("e", "string"),
            ("g", MORE),
            ("t", MICROS),
            ("u", "long"),
            ("n", nullable("long")),
            ("x", "bytes"),
        ),
    ),
    *(
        Case(f"cast {name}", {7: record(("v", source))}, record(("w", target)), {"w": {"from": "v", **rule}})
        for name, source, target, rule in (
            ("long to boolean", "long", "boolean", {"cast": "boolean"}),
            ("long to double", "long", "double", {"cast": "double"}),
            ("long to text", "long", "string", {"cast": "string"}),
            ("long to local time", "long", LOCAL, {"cast": "local-timestamp-millis"}),
            ("float to int", "float", "int", {"cast": "int"}),
            ("float to long", nullable("float"), nullable("long"), {"cast": "long"}),
            ("boolean to int", "boolean", "int", {"cast": "int"}),
            ("boolean to text", nullable("boolean"), nullable("string"), {"cast": "string"}),
            ("int to date", "int", DATE, {"cast": "date"}),
            ("text to int", "string", "int", {"cast": "int"}),
            ("text to long", "string", "long", {"cast": "long"}),
            ("text to float", "string", "float", {"cast": "float"}),
            ("text to double", "string", "double", {"cast": "double"}),
            ("text to boolean", "string", "boolean", {"cast": "boolean"}),
            ("text to enum", "string", COLOUR, {"cast": "enum"}),
            ("text to uuid", "string", {"type": "string", "logicalType": "uuid"}, {"cast": "uuid"}),
            ("enum to fewer", COLOUR, FEWER, {"cast": "enum"}),
            ("long to int", "long", "int", {"cast": "int"}),
            ("long to float", "long", "float", {"cast": "float"}),
            ("double to float", "double", "float", {"cast": "float"}),
            ("double to int", "double", "int", {"cast": "int"}),
            ("double to long", "double", "long", {"cast": "long"}),
            ("double to text", "double", "string", {"cast": "string", "decimals": 2}),
            ("double to whole text", "double", "string", {"cast": "string", "decimals": 0}),
            ("float to text", "float", "string", {"cast": "string", "decimals": 2}),
            ("nullable float to text", nullable("float"), nullable("string"), {"cast": "string", "decimals": 3}),
            ("bytes to text", "bytes", "string", {"cast": "string"}),
            ("bytes to fixed", "bytes", {"type": "fixed", "name": "Y", "size": 2}, {"cast": "fixed"}),
            ("micros to millis", MICROS, MILLIS, {"cast": "timestamp-millis"}),
            ("nanos to micros", NANOS, MICROS, {"cast": "timestamp-micros"}),
            ("nullable to error", nullable("int"), "int", {"null": "error"}),
            ("nullable to value", nullable("int"), "long", {"null": -1}),
            ("table", "string", "int", {"lookup": {"RED": 1, "": 2, "9.30": 3}, "else": 0}),
            (
                "table or error",
                nullable("string"),
                nullable("int"),
                {"lookup": {"RED": 1, "a b": None}, "else": "error"},
            ),
            ("table or keep", "string", "string", {"lookup": {"RED": "GREEN"}, "else": "keep"}),
            ("table or null", "int", nullable(COLOUR), {"lookup": {"1": "RED", "-1": "BLUE"}, "else": None}),
            (
                "table of booleans",
                nullable("boolean"),
                COLOUR,
                {"lookup": {"true": "RED", "false": "BLUE"}, "null": "GREEN"},
            ),
            (
                "decimals",
                {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
                {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
                {},
            ),
        )
    ),
    *(
        Case(
            f"dates {zone}",
            {7: record(("t", source), ("s", "string"), ("day", DATE))},
            record(("text", "string"), ("day_text", "string")),
            {
                "text": {"format": "t", "as": PATTERN, "zone": zone},
                "day_text": {"format": "day", "as": "'d'dd/MM''yyyy"},
            },
            ["s"],
        )
        for zone, source in (
            ("UTC", MILLIS),
            ("+05:30", MICROS),
            ("Europe/Paris", MILLIS),
            ("America/New_York", LOCAL),
            ("UTC", NANOS),
        )
    ),
    *(
        Case(
            f"parse {zone} {target['logicalType']}",
            {7: record(("s", "string"))},
            record(("t", target)),
            {"t": {"parse": "s", "as": pattern, "zone": zone}},
        )
        for zone, target, pattern in (
            ("UTC", MILLIS, PATTERN),
            ("-03:00", MICROS, PATTERN),
            ("Europe/Paris", MILLIS, PATTERN),
            ("UTC", LOCAL, PATTERN),
            ("UTC", DATE, "yyyy-MM-dd"),
            ("Europe/Paris", NANOS, "yyyy-MM-dd"),
        )
    ),
    *(
        Case(
            f"formula {text}",
            {7: record(("i", "int"), ("l", "long"), ("d", "double"), ("f", nullable("float")))},
            record(("v", target)),
            {"v": {"expr": text, **more}},
            "rest",
        )
        for text, target, more in (
            ("l + i * 2 - 1", "long", {}),
            ("-l", "long", {}),
            ("abs(l)", "long", {}),
            ("l / i", "double", {}),
            ("d / (i - 1)", "double", {}),
            ("d * d", "float", {}),
            ("round(d * 100)", "long", {}),
            ("floor(d) + ceil(-d)", "double", {}),
            ("f * 2 + d", nullable("double"), {}),
            ("f", "double", {"null": 0}),
            ("i * 3", "int", {}),
            ("l * 1.0", "double", {}),
            ("round(f / 7)", nullable("int"), {}),
            ("l", "string", {"cast": "string"}),
        )
    ),
    Case(
        "texts",
        {7: record(("s", "string"), ("n", nullable("string")), ("e", COLOUR), ("i", "int"), ("b", "boolean"))},
        record(
            ("joined", "string"),
            ("maybe", nullable("string")),
            ("first", "string"),
            ("last", "string"),
            ("number", nullable("int")),
        ),
        {
            "joined": {"join": ["s", "e", "i", "b"], "with": "|"},
            "maybe": {"join": ["n", "s"]},
            "first": {"split": {"from": "s", "on": " ", "take": 0}},
            "last": {"split": {"from": "s", "on": "|", "take": -1}},
            "number": {"split": {"from": "n", "on": "/", "take": 1}, "cast": "int"},
        },
    ),
    Case(
        "split beyond",
        {7: record(("s", "string"))},
        record(("v", "string")),
        {"v": {"split": {"from": "s", "on": ".", "take": 1}}},
    ),
    Case(
        "nested",
        {
            7: record(
                ("p", nullable(record(("a", "int"), ("q", record(("b", "string"), name="Q")), name="P"))),
                ("x", "double"),
            )
        },
        record(
            ("p", nullable(record(("a", "long"), ("q", record(("b", "float"), name="Q")), name="P"))),
            ("made", record(("x", "double"), ("b", nullable("string")), name="Made")),
        ),
        {"p.q.b": {"from": "p.q.b", "cast": "float"}, "made.x": {"expr": "x * 2"}, "made.b": {"from": "p.q.b"}},
    ),
    Case(
        "null records",
        {
            7: record(
                ("p", nullable(record(("a", "int"), name="P"))),
                ("xs", nullable({"type": "array", "items": "int"})),
            )
        },
        record(
            ("required", record(("a", "long"), name="Q")),
            ("replaced", record(("b", "long"), name="R")),
            ("maybe", nullable(record(("a", "double"), name="S"))),
            ("xs", {"type": "array", "items": "long"}),
        ),
        {
            "required": {"from": "p", "null": "error"},
            "replaced": {"from": "p", "null": {"const": {"b": -1}}},
            "replaced.b": {"from": "p.a"},
            "maybe": {"from": "p"},
            "xs": {"from": "xs", "null": "error"},
        },
    ),
    Case(
        "arrays",
        {
            7: record(
                ("xs", {"type": "array", "items": "int"}),
                ("same", {"type": "array", "items": COLOUR}),
                (
                    "stops",
                    nullable({"type": "array", "items": record(("lat", "double"), ("tag", "string"), name="Stop")}),
                ),
                ("deep", {"type": "array", "items": {"type": "array", "items": nullable("int")}}),
            )
        },
        record(
            ("xs", {"type": "array", "items": "long"}),
            ("same", {"type": "array", "items": MORE}),
            ("stops", nullable({"type": "array", "items": record(("latitude", "float"), ("tag", "int"), name="Stop")})),
            ("deep", {"type": "array", "items": {"type": "array", "items": nullable("double")}}),
        ),
        {"stops[].latitude": {"from": "lat", "cast": "float"}, "stops[].tag": {"from": "tag", "cast": "int"}},
    ),
    Case(
        "maps",
        {
            7: record(
                ("same", {"type": "map", "values": COLOUR}),
                ("m", {"type": "map", "values": "int"}),
                ("left", {"type": "map", "values": "string"}),
                ("n", nullable({"type": "map", "values": "float"})),
            )
        },
        record(
            ("same", {"type": "map", "values": MORE}),
            ("m", {"type": "map", "values": "long"}),
            ("n", nullable({"type": "map", "values": "double"})),
        ),
        drop=["left"],
    ),
    Case(
        "all nullable",
        {7: record(("a", nullable("int")), ("b", nullable("string")))},
        record(("b", nullable("string")), ("c", nullable("long"))),
        {"c": {"from": "a"}},
    ),
    Case("floats alone", {7: record(("f", "float"), ("n", nullable("int")))}, record(("f", "double")), drop="rest"),
    Case(
        "promotions",
        {
            6: record(("f", "int"), ("g", "long"), ("d", "long"), ("s", "bytes"), ("y", "string")),
            7: record(("f", "float"), ("g", "float"), ("d", "double"), ("s", "string"), ("y", "bytes")),
        },
        record(("f", "double"), ("g", "double"), ("d", "double"), ("s", "string"), ("y", "bytes")),
    ),
    Case(
        "versions",
        {
            5: record(("i", "int"), ("old", "string"), ("e", MORE), ("s", nullable("string"))),
            6: record(("i", "int"), ("s", "string"), ("p", record(("a", "int"), name="P")), ("e", COLOUR)),
            8: {
                **record(
                    ("i", "long"),
                    ("e", {**COLOUR, "default": "RED"}),
                    ("s", nullable("string")),
                    ("k", "int", 4),
                    {
                        "name": "p",
                        "type": nullable(record(("a", "long"), ("c", "double", 1.5), name="P")),
                        "default": None,
                    },
                ),
                "doc": "the same but for a word",
            },
            7: record(
                ("i", "long"),
                ("e", {**COLOUR, "default": "RED"}),
                ("s", nullable("string")),
                ("k", "int", 4),
                {"name": "p", "type": nullable(record(("a", "long"), ("c", "double", 1.5), name="P")), "default": None},
            ),
        },
        record(("i", "int"), ("e", COLOUR), ("s", "string"), ("k", "long"), ("c", nullable("double"))),
        {"i": {"from": "i", "cast": "int"}, "s": {"from": "s", "null": "-"}, "c": {"from": "p.c"}},
        "rest",
    ),
]


def schema_text(node: Any) -> str:
    """Return the text of a schema in which each named type is declared where it first occurs.

    Different types with one name get names of their own.
    """
    return json.dumps(declared_once(node, {}))


def declared_once(node: Any, known: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [declared_once(branch, known) for branch in node]
    if not isinstance(node, dict):
        return node
    if "name" in node and node["type"] in {"record", "enum", "fixed"}:
        name = node["name"]
        while name in known and known[name] != node:
            name += "_"
        if name in known:
            return name
        known[name] = node
        node = {**node, "name": name}
    if node["type"] == "record":
        members = [{**member, "type": declared_once(member["type"], known)} for member in node["fields"]]
        return {**node, "fields": members}
    return {key: declared_once(part, known) if key in {"items", "values"} else part for key, part in node.items()}


def conversion_of(case: Case) -> Conversion:
    writers = {schema_id: parse_avro(schema_text(node)) for schema_id, node in case.writers.items()}
    source = writers[list(writers)[-1]]
    plan = derive_plan(source, parse_avro(schema_text(case.target)), parse_rules(case.rules, case.drop))
    assert plan.is_complete, [str(problem) for problem in plan.problems]
    return Conversion(plan, writers, TARGET_ID)


def values_of(case: Case, conversion: Conversion) -> Iterator[bytes | None]:
    """Yield framed values of every writer, whole and broken, and values without a valid frame."""
    draw = Draw(seed=11)
    yield from (None, b"", b"\x00", b"\x01\x00\x00\x00\x07abc", b"\x00\x00\x00\x00\x63ab")
    for schema_id, node in case.writers.items():
        writer = conversion.writer_by_id[schema_id]
        assert isinstance(writer, AvroSchema)
        encode = compile_encoder(base_schema(writer))
        yield frame(schema_id, b"")
        for _ in range(VALUES_PER_WRITER):
            data = frame(schema_id, encode(draw.value(node, {})))
            yield data
            yield from (draw.broken(data) for _ in range(MUTATIONS_PER_VALUE))
