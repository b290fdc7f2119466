"""Every engine gives the reference's bytes or the reference's reason, for good values, odd ones and broken bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.engines.choice import ENGINES
from counterfoil.converter.engines.reference import ReferenceEngine
from strategies.engines.cases import CASES, conversion_of, values_of

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
    records = spark.createDataFrame(list(enumerate(values)), "number int, value binary").coalesce(1)
    found = engine.convert(records).collect()
    assert [row.number for row in found] == list(range(len(values))), "rows must stay in their order"
    return [
        (None if row.converted is None else bytes(row.converted), None if row.failure is None else tuple(row.failure))
        for row in found
    ]


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
