"""Every engine gives the reference's bytes or the reference's reason, for good values, odd ones and broken bytes."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.engines.choice import ENGINES
from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import ReferenceEngine
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.rules import parse_rules
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


@pytest.mark.parametrize("name", ["java", "reference"])
def test_a_secret_reaches_the_tasks_of_a_query(name: str, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = parse_schema('{"type": "record", "name": "R", "fields": [{"name": "card", "type": "string"}]}')
    plan = derive_plan(schema, schema, parse_rules({"card": {"expr": "hash(trim(card), 'SALT_OF_QUERY')"}}))
    monkeypatch.setenv("SALT_OF_QUERY", "pepper")
    engine = ENGINES[name](Conversion(plan, {7: schema}, 9))
    monkeypatch.delenv("SALT_OF_QUERY")  # tasks may run where the variable is not set
    ((value, failure),) = run(engine, [b"\0\0\0\0\x07\x0c 4111 "], spark)
    made = hmac.new(b"pepper", b"4111", hashlib.sha256).hexdigest()
    assert (value, failure) == (b"\0\0\0\0\x09\x80\x01" + made.encode(), None)
    assert "pepper" not in getattr(getattr(engine, "source", None), "text", "")
