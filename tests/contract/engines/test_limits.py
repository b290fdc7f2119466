"""What the engines refuse when they are made, and what hostile bytes may cost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.converter.engines.choice import ENGINES
from counterfoil.converter.engines.protocol import Conversion, EngineCannot
from counterfoil.converter.engines.reference import ReferenceEngine
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.plans import PlanUnfinished
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.avro.coders import compile_encoder


def schema(*fields: tuple[str, Any], name: str = "R") -> Any:
    members = [{"name": field, "type": node} for field, node in fields]
    return parse_avro(json.dumps({"type": "record", "name": name, "fields": members}))


def conversion(source: Any, target: Any = None, rules: dict[str, Any] | None = None) -> Conversion:
    plan = derive_plan(source, target or source, parse_rules(rules or {}))
    return Conversion(plan, {7: source}, 9)


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
LIST = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}


def test_the_reference_casts_decimals() -> None:
    source, target = schema(("price", DECIMAL)), schema(("price", "string"))
    case = conversion(source, target, {"price": {"from": "price", "cast": "string"}})
    value = frame(7, bytes((4, 0x27, 0x10)))
    assert ReferenceEngine(case).convert_value(value).value == frame(9, b"\x0c100.00")


def test_reference_converts_unions_and_lists() -> None:
    source = schema(("u", ["int", "string", "null"]), ("list", LIST))
    target = schema(("list", LIST), ("u", ["null", "string", "double"]))
    engine = ReferenceEngine(conversion(source, target))
    encode, expected = compile_encoder(source), compile_encoder(target)
    for value in (5, "x", None):
        record = {"u": value, "list": {"next": {"next": None}}}
        assert engine.convert_value(frame(7, encode(record))).value == frame(9, expected(record))


def test_a_writer_that_counts_in_another_unit_is_refused() -> None:
    earlier = schema(("t", {"type": "long", "logicalType": "timestamp-millis"}))
    newest = schema(("t", {"type": "long", "logicalType": "timestamp-micros"}))
    plan = derive_plan(newest, newest)
    with pytest.raises(EngineCannot, match="timestamp-millis would be read as timestamp-micros") as refusal:
        ReferenceEngine(Conversion(plan, {6: earlier, 7: newest}, 9))
    assert refusal.value.field == "t (schema id 6)"


def test_an_unfinished_plan_makes_no_engine() -> None:
    case = conversion(schema(("a", "int")), schema(("b", "int")))
    for engine in ENGINES.values():
        with pytest.raises(PlanUnfinished, match="b: nothing fills it"):
            engine(case)


@pytest.mark.parametrize("name", list(ENGINES))
@pytest.mark.parametrize("length", [1 << 28, (1 << 31) - 1, 1 << 40])
def test_a_length_of_gigabytes_costs_nothing(length: int, name: str, spark: Any) -> None:
    source = schema(("s", "string"), ("y", "bytes"), ("xs", {"type": "array", "items": "int"}))
    engine = ENGINES[name](conversion(source))
    varint = compile_encoder(parse_avro('"long"'))(length)
    bodies = [varint, b"\x00" + varint, b"\x00\x00" + varint]
    records = spark.createDataFrame([(frame(7, body),) for body in bodies], "value binary")
    assert {row.failure.code for row in engine.convert(records).collect()} == {"undecodable"}


def test_other_columns_stay_as_they_are(spark: Any) -> None:
    source = schema(("a", "int"))
    rows = [(b"k", frame(7, b"\x02"), "t", 1, [("h", None), ("h", b"")]), (None, None, "t", 1, None)]
    ddl = "key binary, value binary, topic string, partition int, headers array<struct<key: string, value: binary>>"
    records = spark.createDataFrame(rows, ddl)
    for make_engine in ENGINES.values():
        engine = make_engine(conversion(source))
        converted = engine.convert(records)
        assert converted.columns == [*records.columns, "converted", "failure"]
        assert converted.schema["failure"].dataType.simpleString() == "struct<code:string,field:string,text:string>"
        assert converted.drop("converted", "failure").collect() == records.collect()
        assert [row.converted and bytes(row.converted) for row in converted.collect()] == [frame(9, b"\x02"), None]
        assert converted.where("failure IS NOT NULL").count() == 0
