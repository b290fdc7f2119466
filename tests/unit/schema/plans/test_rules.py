"""Rules: each word is read, and each mistake is told with its field and what would be right."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.plans import PlanError
from counterfoil.schema.plans.cast_rules import CastRule
from counterfoil.schema.plans.expressions import FieldValue, paths_of
from counterfoil.schema.plans.formulas import target_path
from counterfoil.schema.plans.rules import (
    Const,
    FieldRule,
    FormatOf,
    Formula,
    From,
    JoinOf,
    ParseOf,
    PlanRules,
    SplitOf,
    Word,
    parse_rules,
)


def rule(entry: Any, name: str = "f") -> FieldRule:
    return parse_rules({name: entry}).fields[0]


def test_every_origin() -> None:
    assert rule({"from": "a.b"}).origin == From(("a", "b"))
    assert rule({"join": ["a", "b"], "with": "-"}).origin == JoinOf((("a",), ("b",)), "-")
    assert rule({"join": ["a"]}).origin == JoinOf((("a",),), "")
    assert rule({"split": {"from": "a", "on": " ", "take": -1}}).origin == SplitOf(("a",), " ", -1)
    assert rule({"expr": "km"}).origin == Formula(FieldValue(("km",)), "km")
    assert rule({"expr": 5}).origin == rule({"expr": "5"}).origin
    assert rule({"const": None}).origin == Const(None)
    formatted = rule({"format": "t", "as": "yyyy-MM-dd", "zone": "+05:30"}).origin
    assert isinstance(formatted, FormatOf)
    assert (formatted.path, formatted.pattern.spelt, formatted.zone) == (("t",), "yyyy-MM-dd", "+05:30")
    parsed = rule({"parse": "s", "as": "yyyyMMdd"}).origin
    assert isinstance(parsed, ParseOf)
    assert parsed.zone == "UTC"


def test_every_step() -> None:
    made = rule({"from": "a", "lookup": {"x": 1}, "else": "keep", "cast": "int", "null": "error"})
    assert made.lookup is not None
    assert made.lookup.table == (("x", 1),)
    assert made.lookup.otherwise is Word.KEEP
    assert made.cast == CastRule("int")
    assert made.null is Word.ERROR
    assert rule({"from": "a", "cast": "string", "decimals": 2}).cast == CastRule("string", 2)
    assert rule({"from": "a", "null": {"const": "error"}}).null == Const("error")
    assert rule({"from": "a", "null": "keep"}).null == Const("keep")
    assert rule({"from": "a", "lookup": {"x": 1}, "else": {"const": "keep"}}).lookup.otherwise == Const("keep")


def test_yaml_reads_null_and_on_as_something_else() -> None:
    assert rule({"from": "a", None: 0}).null == Const(0)
    assert rule({"split": {"from": "a", True: "/", "take": 0}}).origin == SplitOf(("a",), "/", 0)


def test_names_that_are_no_words_are_quoted_where_they_could_be_read_otherwise() -> None:
    assert target_path("user-id.$ref[].größe") == ("user-id", "$ref", "[]", "größe")
    made = rule({"from": '"a.b".user-id'}, '"x.y"[].z')
    assert (made.target, made.spelt, made.origin) == (("x.y", "[]", "z"), '"x.y"[].z', From(("a.b", "user-id")))
    assert rule({"from": "a"}, '"plain"').spelt == "plain"
    formula = rule({"expr": '"user-id" - user.id'}).origin
    assert isinstance(formula, Formula)
    assert list(paths_of(formula.expression)) == [("user-id",), ("user", "id")]
    assert parse_rules({}, ['"a"', '"b.c"']).drop == ("a", '"b.c"')


def test_paths() -> None:
    assert target_path("a") == ("a",)
    assert target_path("a.b[].c{}.d") == ("a", "b", "[]", "c", "{}", "d")
    assert parse_rules({}, ["a", "b.c", "d[].e"]) == PlanRules((), ("a", "b.c", "d[].e"))
    assert parse_rules({}, "rest").drop_rest


@pytest.mark.parametrize(
    ("entry", "problem", "expected"),
    [
        ("a", "'a' is no rule", "from"),
        ({}, "nothing says where the value comes from", "one of from"),
        ({"from": "a", "const": 1}, "from and const are given together", "one of"),
        ({"form": "a"}, "there is no rule word 'form'", "one of as, branch"),
        ({"from": 3}, "3 is no source field", "a field"),
        ({"from": "a..b"}, "'a..b' is no source field", "a field"),
        ({"from": "a[]"}, "no source field", "a field"),
        ({"const": 1, "cast": "int"}, "'cast' cannot be combined with 'const'", "to"),
        ({"to": "Card"}, "to: 'Card' is no branch", "a branch such as <Card>, or error, null or drop"),
        ({"to": "<A><B>"}, "is no branch", "a branch such as <Card>"),
        ({"to": {"A": "<Card>"}}, "has no field beside it", "by: kind"),
        ({"to": {}, "by": "kind"}, "has no field beside it", "by: kind"),
        ({"to": "<Card>", "by": "kind"}, "by has no table beside it", "to: {CARD: <Card>}"),
        ({"to": {"A": "Card"}, "by": "kind"}, "to: 'Card' is no branch", "a branch such as <Card>"),
        ({"to": "error", "null": 0}, "'null' cannot be combined with 'to'", "by, else"),
        ({"to": "error", "else": 0}, "else has no table beside it", "to: {CARD: <Card>}"),
        ({"branch": "a", "cast": "string"}, "'cast' cannot be combined with 'branch'", "lookup"),
        ({"expr": "a", "with": "x"}, "'with' cannot be combined with 'expr'", "cast"),
        ({"expr": "a +"}, "at character 4", "a number"),
        ({"expr": '1 + "\\x"'}, "is no name at character 5", "JSON string"),
        ({"expr": True}, "true is no formula", "expr"),
        ({"join": "a"}, "'a' cannot be joined", "a list"),
        ({"join": []}, "[] cannot be joined", "a list"),
        ({"join": ["a"], "with": 1}, "1 is no text", "with"),
        ({"split": "a"}, "'a' cannot be split", "take"),
        ({"split": {"from": "a", "on": " "}}, "split has from, on", "take"),
        ({"split": {"from": "a", "on": "", "take": 0}}, "separates nothing", "a text"),
        ({"split": {"from": "a", "on": "x", "take": "0"}}, "is no piece", "a number"),
        ({"split": {"from": "a", "on": "x", "take": True}}, "is no piece", "a number"),
        ({"from": "a", "else": "keep"}, "else: keep has no lookup", "error, null, or a value"),
        ({"from": "a", "ignore_case": True}, "ignore_case has no lookup", "lookup"),
        ({"from": "a", "lookup": {}}, "no table", "lookup"),
        ({"from": "a", "lookup": [1]}, "no table", "lookup"),
        ({"from": "a", "lookup": {"x": 1}, "else": {"value": 1}}, "is no value", "const"),
        ({"from": "a", "lookup": {"x": "1"}, "cast": "string", "decimals": 2}, "no decimals", "lookup or decimals"),
        ({"from": "a", "decimals": 2}, "decimals has no cast", "cast: string"),
        ({"from": "a", "cast": 1}, "is no type", "cast: float"),
        ({"from": "a", "cast": "string", "decimals": 19}, "decimals: 19", "0 to 18"),
        ({"from": "a", "cast": "string", "decimals": True}, "decimals: true", "0 to 18"),
        ({"format": "t"}, "format needs a pattern", "yyyy"),
        ({"format": "t", "as": "yy-MM"}, "'yy'", "yyyy"),
        ({"format": "t", "as": "'open"}, "a quote that is not closed", "'…'"),
        ({"format": "t", "as": "--"}, "has no letters", "yyyy-MM-dd"),
        ({"format": "t", "as": "yyyy yyyy"}, "says one thing twice", "once"),
        ({"format": "t", "as": "SSS SSSSSS"}, "says one thing twice", "once"),
        ({"format": "t", "as": "yyyy", "zone": "Mars/Base"}, "'Mars/Base' is no time zone", "UTC"),
        ({"format": "t", "as": "yyyy", "zone": "+19:00"}, "no time zone", "UTC"),
        ({"format": "t", "as": "yyyy", "zone": "../../etc/passwd"}, "no time zone", "UTC"),
        ({"format": "t", "as": "yyyy", "zone": "EST"}, "no time zone", "UTC"),
        ({"const": "\ud800"}, "half a surrogate pair", "UTF-8"),
        ({"from": "a", "lookup": {"\udfff": 1}}, "half a surrogate pair", "UTF-8"),
    ],
)
def test_mistakes(entry: Any, problem: str, expected: str) -> None:
    with pytest.raises(PlanError) as mistake:
        rule(entry, "pickup.lat")
    assert mistake.value.field == "pickup.lat"
    assert problem in str(mistake.value)
    assert expected in mistake.value.expected
    assert str(mistake.value).startswith("pickup.lat: ")


@pytest.mark.parametrize(
    ("fields", "drop", "field"),
    [
        ([], None, "fields"),
        ({"a<>": {"from": "a"}}, None, "a<>"),
        ({"a(b is there)": {"from": "a"}}, None, "a(b is there)"),
        ({'"[]"': {"from": "a"}}, None, '"[]"'),
        ({"$key.a": {"from": "a"}}, None, "$key.a"),
        ({1: {"from": "a"}}, None, "1"),
        ({"[]": {"from": "a"}}, None, "[]"),
        ({}, "all", "drop"),
        ({}, 3, "drop"),
        ({}, ["a", 3], "drop"),
        ({}, ["a..b"], "drop"),
    ],
)
def test_mistakes_around_the_rules(fields: Any, drop: Any, field: str) -> None:
    with pytest.raises(PlanError) as mistake:
        parse_rules(fields, drop)
    assert mistake.value.field == field


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["from", "lookup", "else", "null", "cast", "expr", "join", "with", "split", "on", "take", "as"]
            )
            | st.none()
            | st.booleans()
            | st.text(max_size=3),
            inner,
            max_size=3,
        )
    ),
)


@given(st.dictionaries(st.text(max_size=5) | st.sampled_from(["a", "a.b"]), _PLAIN, max_size=2), _PLAIN)
def test_any_document_gives_rules_or_an_error_of_ours(fields: Any, drop: Any) -> None:
    with suppress(PlanError):
        assert isinstance(parse_rules(fields, drop), PlanRules)
