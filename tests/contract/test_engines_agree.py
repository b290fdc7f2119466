"""Every engine gives the reference's bytes or the reference's reason, for good values, odd ones and broken bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from counterfoil.converter.engines.choice import ENGINES
from counterfoil.converter.engines.reference import ReferenceEngine
from counterfoil.converter.engines.sql.engine import SqlEngine
from counterfoil.schema.evolution import base_schema
from counterfoil.schema.wire import frame
from counterfoil.sdk.serde.avro_codec import compile_encoder
from engine_cases import CASES, COLOUR, MILLIS, PATTERN, Case, conversion_of, nullable, record, values_of

if TYPE_CHECKING:
    from counterfoil.converter.engines.protocol import Engine

Answer = tuple[bytes | None, tuple[str, str, str] | None]


def expected_of(engine: ReferenceEngine, value: bytes | None) -> Answer:
    if value is None:
        return None, None
    made = engine.convert_value(value)
    failure = made.failure
    return made.value, None if failure is None else (str(failure.code), failure.field, failure.text)


def run(engine: Engine, values: list[bytes | None], spark: Any) -> list[Answer]:
    columns = {"number": pa.array(range(len(values)), pa.int32()), "value": pa.array(values, pa.binary())}
    records = spark.createDataFrame(pa.table(columns)).coalesce(1)  # rows of Python's would need a worker of their own
    found = engine.convert(records).collect()
    assert [row.number for row in found] == list(range(len(values))), "rows must stay in their order"
    return [
        (None if row.converted is None else bytes(row.converted), None if row.failure is None else tuple(row.failure))
        for row in found
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sql_is_the_reference(case: Case, spark: Any) -> None:
    conversion = conversion_of(case)
    reference = ReferenceEngine(conversion)
    values = list(values_of(case, conversion))
    expected = [expected_of(reference, value) for value in values]
    found = run(SqlEngine(conversion), values, spark)
    wrong = [(v and v.hex(), f, e) for v, f, e in zip(values, found, expected, strict=True) if f != e]
    assert not wrong, f"{len(wrong)} of {len(values)}: {wrong[:3]}"
    assert any(value for value, _ in expected), "a case in which nothing converts shows nothing"


def test_good_rows_are_not_doubtful(spark: Any) -> None:
    ride = record(("i", "int"), ("amount", "string"), ("e", COLOUR), ("t", MILLIS), ("s", nullable("string")))
    case = Case(
        "good",
        {7: ride},
        record(("amount", "float"), ("joined", "int"), ("text", "string"), ("s", "string")),
        {
            "amount": {"from": "amount", "cast": "float"},
            "joined": {"join": ["e", "i"], "with": "/", "lookup": {f"RED/{number}": number for number in range(10)}},
            "text": {"format": "t", "as": PATTERN},
            "s": {"from": "s", "null": "-"},
        },
    )
    conversion = conversion_of(case)
    encode = compile_encoder(base_schema(conversion.writer_by_id[7]))
    rides = [
        {"i": n, "amount": f"{n}.30", "e": "RED", "t": 1_593_561_600_000 + n, "s": "x" * n if n % 2 else None}
        for n in range(10)
    ]
    records = spark.createDataFrame([(frame(7, encode(value)),) for value in rides], "value binary")
    assert SqlEngine(conversion).doubtful(records).count() == 0
    broken = spark.createDataFrame([(frame(7, encode(rides[0]))[:-1],), (None,)], "value binary")
    assert SqlEngine(conversion).doubtful(broken).count() == 1


@pytest.mark.parametrize("name", ["java", "reference"])
def test_every_engine_is_the_reference_in_a_query(name: str, spark: Any) -> None:
    case = CASES[0]
    conversion = conversion_of(case)
    reference = ReferenceEngine(conversion)
    values = list(values_of(case, conversion))
    found = run(ENGINES[name](conversion), values, spark)
    expected = [expected_of(reference, value) for value in values]
    if name == "reference":
        assert found == expected
    assert [(value, failure and failure[:2]) for value, failure in found] == [
        (value, failure and failure[:2]) for value, failure in expected
    ]
