"""Fields that are found by their number, and what a name or a rule uses."""

from __future__ import annotations

from typing import Any

import pytest

from counterfoil.schema.plans.derivations import changes_since, derive_both_ways, stored_plan
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.model import ConversionPlan, ProblemKind
from counterfoil.schema.plans.rules import NumberMeaning, PlanRules, parse_rules
from strategies.engines.message_plans import as_dict, converted, message_of, proto


def numbered(
    source: str, target: str, numbers: NumberMeaning = NumberMeaning.SAME, drop: Any = None, **rules: Any
) -> ConversionPlan:
    return derive_plan(proto(source), proto(target), parse_rules(rules, drop, numbers=numbers))


def filled(plan: ConversionPlan) -> dict[str, tuple[str, str]]:
    return {row.target: (row.how, row.source) for row in plan.rows() if row.target}


FIRST, SECOND = "string first = 1; string last = 2;", "string full_name = 1; string nick = 2;"
BOTH = {"full_name": {"join": ["first", "last"], "with": " "}}


def test_a_field_that_a_rule_uses_is_not_found_by_its_number():
    plan = numbered(FIRST, SECOND, **BOTH)
    assert plan.is_complete
    assert filled(plan) == {"full_name": ("join", "first, last"), "nick": ("default", "")}
    body = message_of(plan.source, first="Ada", last="Lovelace")
    assert as_dict(plan.target, converted(plan, body)) == {"full_name": "Ada Lovelace"}
    assert filled(numbered(FIRST, SECOND, NumberMeaning.ALL, **BOTH))["nick"] == ("same number", "last")


@pytest.mark.parametrize(
    ("source", "target", "rules", "expected"),
    [
        ("string a = 1; string b = 2;", "string b = 1; string c = 2;", {}, {"b": "same name", "c": "default"}),
        ("string a = 1;", "string b = 1; string c = 2;", {"c": {"from": "a"}}, {"b": "default", "c": "from"}),
        ("int32 a = 1;", "int32 b = 1; int32 c = 2;", {"c": {"expr": "a * 2"}}, {"b": "default", "c": "expr"}),
        (
            "message M { string x = 1; } M m = 1;",
            "message M { string y = 1; string z = 2; } M m = 1;",
            {"m.z": {"from": "m.x"}},
            {"m.y": "default", "m.z": "from"},
        ),
        (
            "message M { string x = 1; } repeated M m = 1;",
            "message M { string y = 1; string z = 2; } repeated M m = 1;",
            {"m[].z": {"from": "x"}},
            {"m[].y": "default", "m[].z": "from"},
        ),
        (
            "message M { string x = 1; } map<string, M> m = 1;",
            "message M { string y = 1; string z = 2; } map<string, M> m = 1;",
            {"m{}.z": {"from": "x"}},
            {"m{}.y": "default", "m{}.z": "from"},
        ),
        (
            "oneof o { string a = 1; int32 b = 2; }",
            "oneof o { string c = 1; int32 d = 2; } string e = 3;",
            {"e": {"from": "a"}},
            {"c": "null", "d": "same number", "e": "from"},
        ),
        (
            "string userName = 1;",
            "string user_name = 2; string other = 1;",
            {},
            {"user_name": "alias", "other": "default"},
        ),
    ],
)
def test_what_a_name_or_a_rule_uses_stays_with_it(
    source: str, target: str, rules: dict[str, Any], expected: dict[str, str]
):
    plan = derive_plan(proto(source), proto(target), parse_rules(rules))
    assert {row.target: row.how for row in plan.rows() if row.target in expected} == expected


def test_the_way_back_finds_by_number_what_the_way_there_did():
    source, target = proto(f"{FIRST} int64 km = 3;"), proto(f"{SECOND} int64 distance = 3;")
    both = derive_both_ways(source, target, parse_rules(BOTH))
    assert filled(both.there)["distance"] == ("same number", "km")
    assert filled(both.back) == {"first": ("default", ""), "last": ("default", ""), "km": ("same number", "distance")}
    assert {loss.field for loss in both.losses} == {"first", "last"}
    nested = "message M { int32 a = 1; } repeated M m = 1;"
    both = derive_both_ways(proto(nested), proto(nested.replace("a = 1", "b = 1")))
    assert filled(both.back)["m[].a"] == ("same number", "m[].b")


def test_a_dropped_field_is_not_found_by_its_number():
    plan = numbered("string a = 1; string b = 2;", "string c = 1; string b = 2;", drop=["a"])
    assert (filled(plan)["c"], plan.dropped) == (("default", ""), ("a",))


def test_numbers_are_asked_for_once():
    source = "int64 km = 1; string x = 2; message M { string a = 1; } M m = 4;"
    target = "int64 distance = 1; string y = 2; message M { string b = 1; } M m = 4;"
    asked = numbered(source, target, NumberMeaning.ASK)
    (problem,) = asked.problems
    assert problem.kind is ProblemKind.BY_NUMBER
    assert "distance from km (number 1), y from x (number 2), m.b from m.a (number 1)" in problem.text
    assert "say numbers: same" in problem.text
    notes = {row.target: row.note for row in asked.rows()}
    assert notes["y"] == "BY NUMBER 2 ALONE, the names differ"
    answered = numbered(source, target)
    assert answered.is_complete
    assert (stored_plan(answered, PlanRules()), stored_plan(asked, PlanRules(numbers=NumberMeaning.ASK))) == (
        None,
        answered,
    )
    assert not numbered("string a = 1;", "string a = 2;", NumberMeaning.ASK).problems


def test_what_a_stored_plan_does_otherwise_is_named():
    rules = parse_rules(BOTH, numbers=NumberMeaning.ASK)
    plan = derive_plan(proto(FIRST), proto(SECOND), rules)
    earlier = stored_plan(plan, rules)
    assert earlier is not None
    assert filled(earlier)["nick"] == ("same number", "last")
    (change,) = changes_since(earlier, plan)
    assert change.startswith("nick is filled from last by its number alone, which a rule or drop uses as well")
