"""Constraints of values: one meaning for records of topics, of tests, and of converters."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.contracts.check.migrated_values import unkept
from counterfoil.contracts.testing.record import FieldCheck
from counterfoil.contracts.values.constraints import (
    MISSING,
    Required,
    constraints_of,
    is_key_of,
    placed_values,
    values_at,
)
from counterfoil.schema.agreements.model import EnumValue, ExpectedRead, FieldPromise, ValueRange
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.paths import parse_path
from counterfoil.schema.plans.languages import tree_of
from counterfoil.schema.texts import Position

HERE = Position(1, 1)
NAMES = st.sampled_from("abc")
PATHS = st.lists(st.sampled_from(["a", "b", "c", "[]", "[0]", "{}", "<int>"]), min_size=1, max_size=4).map(
    lambda parts: "".join(f".{each}" if each.isalpha() else each for each in parts).lstrip(".")
)
RECORDS = st.recursive(
    st.none() | st.integers(-3, 3) | st.text("xy", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner) | st.tuples(st.just("int"), inner),
    max_leaves=8,
)


def promised(path: str = "v", **more: Any) -> FieldPromise:
    return FieldPromise(parse_path(path), HERE, **more)


@given(RECORDS, PATHS)
def test_values_with_their_places_are_the_values_without(record: Any, text: str) -> None:
    try:
        path = parse_path(text)
    except ValueError:
        return
    assert [value for _, value in placed_values(record, path)] == list(values_at(record, path))


def test_places_name_items_and_entries() -> None:
    record = {"lines": [{"sku": "x"}, {}], "by_day": {"mon": 1}, "kind": ("int", 5)}
    for text, found in {
        "lines[].sku": [("lines[0].sku", "x"), ("lines[1].sku", MISSING)],
        "lines[1].sku": [("lines[1].sku", MISSING)],
        "by_day{}": [("by_day['mon']", 1)],
        "kind": [("kind", 5)],
        "gone.name": [],
    }.items():
        assert list(placed_values(record, parse_path(text))) == found


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("^[a-z]+$", "abc", "abc\n"),
        (r"^\d+$", "12", "\u0663\u0664"),
        (r"^\w+$", "a_1", "\u00e9"),
        (r"^\s$", "\ufeff", "\x85"),
        (r"^\u{1F600}$", "\U0001f600", "u"),
        (r"^(?<n>a|b)\k<n>$", "aa", "ab"),
        (r"^\p{Lu}$", "A", "a"),
        (r"^a\z", "a", "a\n"),
    ],
)
def test_patterns_of_contracts_are_those_of_ecma_262(pattern: str, fitting: str, other: str) -> None:
    """As JSON Schema and the Open Data Contract Standard say, and as JSON messages are validated."""
    check = FieldCheck(promised(pattern=pattern))
    assert not [*check.violations({"v": fitting})]
    assert [each.rule for each in check.violations({"v": other})] == ["pattern-unmatched"]


LIMITS = st.none() | st.integers(-3, 3) | st.floats(-3, 3)
VALUES = st.none() | st.integers(-4, 4) | st.floats(-4, 4) | st.text("xy1", max_size=2)
PROMISES = st.builds(
    promised,
    is_required=st.booleans(),
    range=st.builds(ValueRange, LIMITS, LIMITS, is_open_below=st.booleans(), is_open_above=st.booleans()),
    enum=st.none() | st.lists(VALUES.filter(lambda each: each is not None).map(EnumValue), min_size=1).map(tuple),
    pattern=st.none() | st.sampled_from(["^x", "y$", "1"]),
)


@given(PROMISES, VALUES)
def test_records_of_topics_of_tests_and_of_converters_are_judged_alike(promise: FieldPromise, value: Any) -> None:
    kind = {int: "long", float: "double", str: "string"}.get(type(value), "long")
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "v", "type": ["null", kind]}]})
    schema = language_for(SchemaType.AVRO).parse(text, (), validation=Validation.STRICT)
    record = {"v": value}
    in_topics = all(each.fits(found) for found in values_at(record, promise.path) for each in constraints_of(promise))
    in_tests = not [*FieldCheck(promise).violations(record)]
    in_converters = not [*unkept(tree_of(schema), record, [promise])]
    assert in_topics is in_tests is in_converters


@pytest.mark.parametrize(
    ("limits", "value", "is_fine"),
    [
        (ValueRange(0, 5), 5, True),
        (ValueRange(0, 5, is_open_above=True), 5, False),
        (ValueRange(0.1), Decimal("0.1"), True),
        (ValueRange("2024-01-01"), datetime(2024, 1, 1, tzinfo=UTC), True),
        (ValueRange("2024-01-02"), date(2024, 1, 1), False),
        (ValueRange("2024-01-01T00:00:00Z"), "2024-01-01T01:00:00+00:00", True),
        (ValueRange(0), "five", False),
        (ValueRange(0), None, True),
        (ValueRange(0), MISSING, True),
    ],
)
def test_a_range_is_of_numbers_and_of_times(limits: ValueRange, value: Any, *, is_fine: bool) -> None:
    [constraint] = constraints_of(promised(range=limits))
    assert constraint.fits(value) is is_fine


def test_a_consumer_expects_as_a_contract_promises() -> None:
    listed = promised(is_required=True, enum=(EnumValue("NEW"), EnumValue("PAID")), pattern="^[A-Z]+$")
    read = ExpectedRead(listed.path, HERE, is_required=True, enum=("NEW", "PAID"), pattern="^[A-Z]+$")
    assert list(constraints_of(read)) == list(constraints_of(listed))
    optional = ExpectedRead(listed.path, HERE, is_required=True, when_present=True)
    assert list(constraints_of(optional)) == [Required(may_be_missing=True)]
    assert [each.words for each in constraints_of(listed)] == [
        "a value",
        "one of NEW, PAID",
        "a text that matches ^[A-Z]+$",
    ]


@pytest.mark.parametrize(
    ("key", "value", "is_fine"),
    [
        ("a", "a", True),
        ("7", 7, True),
        ({"order_id": 7, "shop": 1}, 7, True),
        ({"order_id": 8}, 7, False),
        ("a", "b", False),
        (None, "a", False),
        ("a", MISSING, False),
        (None, MISSING, True),
    ],
)
def test_a_key_is_that_of_a_field(key: Any, value: Any, *, is_fine: bool) -> None:
    assert is_key_of(key, parse_path("order.order_id"), value) is is_fine


def test_a_value_of_one_branch_of_several_is_judged_as_that_branch() -> None:
    branches = [
        {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]} for name in ("cents", "euros")
    ]
    text = json.dumps({"type": "object", "properties": {"pay": {"oneOf": branches}}})
    tree = tree_of(language_for(SchemaType.JSON).parse(text, (), validation=Validation.STRICT))
    limit = [promised("pay.cents", range=ValueRange(0))]
    assert [*unkept(tree, {"pay": (1, {"cents": -1})}, limit)] == ["pay.cents is -1, and >= 0 is expected"]
    assert [*unkept(tree, {"pay": (1, {"cents": 1})}, limit)] == []
    assert [*unkept(tree, {"pay": (2, {"euros": -1})}, limit)] == []
