"""Branches of unions, items and types that contain themselves in plans: what is derived, said by rules, and refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.plans import ConversionError
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.evaluate import evaluate
from counterfoil.schema.plans.model import MAX_LEVELS, ConversionPlan, ProblemKind
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.plans.suggest import suggest_rules


def record(name: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": node} for each, node in fields.items()]}


def enum(*symbols: str, name: str = "E") -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": [*symbols]}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def mapped(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


def plan(source: Any, target: Any, rules: Any = None, drop: Any = None) -> ConversionPlan:
    return derive_plan(parse_avro(json.dumps(source)), parse_avro(json.dumps(target)), parse_rules(rules or {}, drop))


def field(source: Any, target: Any, rules: Any = None, drop: Any = None) -> ConversionPlan:
    """The plan between records with the field ``p``."""
    return plan(record("R", p=source), record("R", p=target), rules, drop)


def complete(made: ConversionPlan) -> ConversionPlan:
    assert made.is_complete, made.problems
    return made


def texts(made: ConversionPlan) -> list[str]:
    return [str(each) for each in made.problems]


CARD, IBAN, CASH = record("Card", pan="string", year="int"), record("Iban", iban="string"), record("Cash", x="int")
WIDER = record("Card", year="long", pan="string")
PAYMENT = record("Payment", number="string")
A_CARD, AN_IBAN = ("Card", {"pan": "4", "year": 30}), ("Iban", {"iban": "DE"})


# -- what Avro's own resolution does, too


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        (["null", CARD, IBAN], [IBAN, "null", CARD], A_CARD, A_CARD),
        (["null", CARD, IBAN], ["null", CASH, CARD, IBAN], AN_IBAN, AN_IBAN),
        (["null", CARD, IBAN], ["null", IBAN, WIDER], A_CARD, A_CARD),
        (["null", "string", CARD], [WIDER, "string", "null"], {"pan": "4", "year": 30}, {"pan": "4", "year": 30}),
        (CARD, ["null", WIDER, IBAN], {"pan": "4", "year": 30}, A_CARD),
        (["string", enum("A")], ["null", "string", enum("A")], ("E", "A"), ("E", "A")),
        (["string", enum("A")], ["null", "string", enum("A")], ("string", "A"), ("string", "A")),
        (["int", array(CARD)], [array(WIDER), "int"], [A_CARD[1]], [A_CARD[1]]),
    ],
)
def test_a_branch_becomes_the_one_of_its_name(source: Any, target: Any, value: Any, expected: Any) -> None:
    assert evaluate(complete(field(source, target)), {"p": value}) == {"p": expected}


def test_events_of_a_topic_are_a_union_at_the_top() -> None:
    started, ended = record("Started", id="string", at="long"), record("Ended", id="string", km="double")
    target = [record("Ended", ride="string", km="double"), record("Started", ride="string", at="long")]
    rules = {"<Started>.ride": {"from": "id"}, "<Ended>.ride": {"from": "id"}}
    made = complete(plan([started, ended], target, rules))
    assert evaluate(made, ("Ended", {"id": "r", "km": 1.5})) == ("Ended", {"ride": "r", "km": 1.5})
    assert [(row.target, row.how, row.source) for row in made.rows()] == [
        ("(value)", "whole value", "(value)"),
        ("<Started>", "branch", "<Started>"),
        ("<Started>.ride", "from", "id"),
        ("<Started>.at", "same name", "<Started>.at"),
        ("<Ended>", "branch", "<Ended>"),
        ("<Ended>.ride", "from", "id"),
        ("<Ended>.km", "same name", "<Ended>.km"),
    ]


def test_a_record_at_the_top_becomes_an_event_of_a_union_and_back() -> None:
    assert evaluate(complete(plan(CARD, [IBAN, WIDER])), A_CARD[1]) == A_CARD
    back = complete(plan([CARD, IBAN], WIDER, {"<Iban>": {"to": "error"}}))
    assert evaluate(back, A_CARD) == A_CARD[1]
    with pytest.raises(ConversionError, match=r"no branch takes .*union-branch-missing"):
        evaluate(back, AN_IBAN)


# -- rules for branches


def test_rules_inside_a_branch_read_the_branch() -> None:
    new = record("Card", number="string", year="int", scheme="string")
    rules = {"p<Card>.number": {"from": "pan"}, "p<Card>.scheme": {"const": "visa"}}
    made = complete(field(["null", CARD, IBAN], ["null", new, IBAN], rules))
    assert evaluate(made, {"p": A_CARD}) == {"p": ("Card", {"number": "4", "year": 30, "scheme": "visa"})}
    assert evaluate(made, {"p": None}) == {"p": None}


def test_branches_are_mapped_and_merged() -> None:
    rules = {
        "p<Card>": {"to": "<Payment>"},
        "p<Card>.number": {"from": "pan"},
        "p<Iban>": {"to": "<Payment>"},
        "p<Iban>.number": {"from": "iban"},
    }
    for target in (["null", PAYMENT, CASH], PAYMENT):
        made = complete(field([CARD, IBAN], target, rules, ["p<Card>.year"]))
        single = target is PAYMENT
        for value, number in ((A_CARD, "4"), (AN_IBAN, "DE")):
            expected = {"number": number}
            assert evaluate(made, {"p": value}) == {"p": expected if single else ("Payment", expected)}
        assert "p" in made.lossy
        assert ("p<Iban>", "branch", "p<Iban>", "as <Payment>") in [
            (row.target, row.how, row.source, row.note) for row in made.rows()
        ]


def test_a_branch_is_split_by_a_field() -> None:
    source = record("Any", kind="string", number="string")
    rules = {
        "p<Any>": {"by": "kind", "to": {"c": "<Card>", "i": "<Iban>", "n": None}, "else": "error"},
        "p<Any><Card>.pan": {"from": "number"},
        "p<Any><Card>.year": {"const": 0},
        "p<Any><Iban>.iban": {"from": "number"},
    }
    for given in (["null", source, CASH], source):
        made = complete(field(given, ["null", CARD, CASH, IBAN], rules))
        assert evaluate(made, {"p": _any("c", is_single=given is source)}) == {"p": ("Card", {"pan": "7", "year": 0})}
        assert evaluate(made, {"p": _any("i", is_single=given is source)}) == {"p": ("Iban", {"iban": "7"})}
        assert evaluate(made, {"p": _any("n", is_single=given is source)}) == {"p": None}
        with pytest.raises(ConversionError, match="union-branch-missing"):
            evaluate(made, {"p": _any("x", is_single=given is source)})


def _any(kind: str, *, is_single: bool) -> Any:
    value = {"kind": kind, "number": "7"}
    return value if is_single else ("Any", value)


def test_a_union_is_flattened_into_fields_and_the_name_of_its_branch() -> None:
    target = record("R", pan=["null", "string"], both="string", kind="string", code="int")
    rules = {
        "pan": {"from": "p<Card>.pan"},
        "both": {"from": "p<Iban>.iban", "null": "-"},
        "kind": {"branch": "p", "null": "none"},
        "code": {"branch": "p", "lookup": {"Card": 1, "Iban": 2}, "null": 0},
    }
    made = complete(plan(record("R", p=["null", CARD, IBAN]), target, rules, ["p<Card>.year"]))
    assert evaluate(made, {"p": A_CARD}) == {"pan": "4", "both": "-", "kind": "Card", "code": 1}
    assert evaluate(made, {"p": AN_IBAN}) == {"pan": None, "both": "DE", "kind": "Iban", "code": 2}
    assert evaluate(made, {"p": None}) == {"pan": None, "both": "-", "kind": "none", "code": 0}


def test_fields_of_a_branch_that_nothing_reads_are_named_with_it() -> None:
    source, target = record("R", p=[CARD, IBAN]), record("R", pan=["null", "string"])
    rules = {"pan": {"from": "p<Card>.pan"}}
    assert [(each.kind, each.field) for each in plan(source, target, rules).problems] == [
        (ProblemKind.UNUSED, "p<Card>.year"),
        (ProblemKind.UNUSED, "p<Iban>"),
    ]
    made = complete(plan(source, target, rules, ["p<Card>.year", "p<Iban>"]))
    assert made.dropped == ("p<Card>.year", "p<Iban>")
    assert plan(source, target, rules, ["p.year", "p<Iban>"]).is_complete  # the branch may be left out


# -- branches that the target does not have


def test_a_branch_that_is_lost_is_refused_until_the_file_says_what_becomes_of_it() -> None:
    made = field(["null", CARD, IBAN], ["null", CARD])
    assert [(each.kind, each.field) for each in made.problems] == [(ProblemKind.WRONG_TYPE, "p<Iban>")]
    assert "say what becomes of it, such as p<Iban>: {to: <Card> or error or null}" in texts(made)[0]
    null = complete(field(["null", CARD, IBAN], ["null", CARD], {"p<Iban>": {"to": None}}))
    assert evaluate(null, {"p": AN_IBAN}) == {"p": None}
    assert evaluate(null, {"p": A_CARD}) == {"p": A_CARD[1]}
    assert null.lossy == ("p<Iban>",)
    letter = complete(field(["null", CARD, IBAN], ["null", CARD], {"p<Iban>": {"to": "error"}}))
    with pytest.raises(ConversionError) as failure:
        evaluate(letter, {"p": AN_IBAN})
    assert (str(failure.value.code), failure.value.field) == ("union-branch-missing", "p")
    notes = {
        row.target: row.note for made in (null, letter) for row in made.rows() if row.note in {"null", "dead letter"}
    }
    assert notes == {"p<Iban>": "dead letter"}


def test_items_and_entries_of_a_branch_are_left_out() -> None:
    rules = {"p[]<Iban>": {"to": "drop"}, "p[]<int>": {"to": "drop"}}
    made = complete(field(array(["int", CARD, IBAN]), array(WIDER), rules))
    assert evaluate(made, {"p": [1, A_CARD, AN_IBAN]}) == {"p": [A_CARD[1]]}
    entries = complete(
        field(mapped(["null", "int", "string"]), mapped(["null", "int"]), {"p{}<string>": {"to": "drop"}})
    )
    assert evaluate(entries, {"p": {"a": 1, "b": "x", "c": None}}) == {"p": {"a": 1, "c": None}}


# -- items and values that are no records


@pytest.mark.parametrize(
    ("source", "target", "rule", "value", "expected"),
    [
        (array(enum("A", "B")), array(enum("A", "C")), {"from": "value", "lookup": {"A": "A", "B": "C"}}, ["B"], ["C"]),
        (array("int"), array("string"), {"from": "value", "cast": "string"}, [1, -2], ["1", "-2"]),
        (array("int"), array("long"), {"expr": "value * 100 + 1"}, [1, 2], [101, 201]),
        (array(["null", "int"]), array("int"), {"from": "value", "null": 0}, [1, None], [1, 0]),
        (array("string"), array("string"), {"split": {"from": "value", "on": "-", "take": 1}}, ["a-b"], ["b"]),
    ],
)
def test_a_rule_for_items_reads_the_item_as_value(
    source: Any, target: Any, rule: Any, value: Any, expected: Any
) -> None:
    assert evaluate(complete(field(source, target, {"p[]": rule})), {"p": value}) == {"p": expected}
    inside = {"type": "map", "values": source}, {"type": "map", "values": target}
    made = complete(field(*inside, {"p{}[]": rule}))
    assert evaluate(made, {"p": {"k": value}}) == {"p": {"k": expected}}


# -- types that contain themselves

NODE = record("Node", value="int", name="string", kids=array("Node"))
NEW_NODE = record("Node", kids=array("Node"), value="long", label="string")
TREE = {"value": 1, "name": "a", "kids": [{"value": 2, "name": "b", "kids": []}]}
NEW_TREE = {"value": 1, "label": "a", "kids": [{"value": 2, "label": "b", "kids": []}]}


def test_a_tree_is_converted_at_every_level() -> None:
    assert evaluate(complete(plan(NODE, NEW_NODE, {"label": {"from": "name"}})), TREE) == NEW_TREE
    made = complete(field(["null", NODE], ["null", NEW_NODE], {"p.label": {"from": "p.name"}}))
    assert evaluate(made, {"p": TREE}) == {"p": NEW_TREE}
    assert evaluate(made, {"p": None}) == {"p": None}


def test_types_that_contain_each_other_are_derived_once() -> None:
    kinds = [f"K{number}" for number in range(12)]
    seen: set[str] = set()

    def node(kind: str, leaf: str) -> Any:
        if kind in seen:
            return kind
        seen.add(kind)
        return record(kind, v=leaf, more={"type": "array", "items": [node(each, leaf) for each in kinds]})

    source = record("R", p=node(kinds[0], "int"))
    seen.clear()
    target = record("R", p=node(kinds[0], "long"))
    made = complete(plan(source, target))
    assert len(made.rows()) < 3 * len(kinds) ** 2


def test_a_failure_inside_has_the_whole_path() -> None:
    rules = {"label": {"from": "name", "lookup": {"a": "x"}, "else": "error"}}
    with pytest.raises(ConversionError) as failure:
        evaluate(complete(plan(NODE, NEW_NODE, rules)), TREE)
    assert (str(failure.value.code), failure.value.field) == ("lookup-missing", "kids[].label")


def test_a_value_that_contains_itself_too_often_is_a_dead_letter() -> None:
    made = complete(plan(NODE, NEW_NODE, {"label": {"from": "name"}}))

    def nested(levels: int) -> Any:
        value: Any = {"value": 0, "name": "", "kids": []}
        for _ in range(levels - 1):
            value = {"value": 0, "name": "", "kids": [value]}
        return value

    assert evaluate(made, nested(MAX_LEVELS))
    with pytest.raises(ConversionError, match="contains itself more than") as failure:
        evaluate(made, nested(MAX_LEVELS + 1))
    assert str(failure.value.code) == "unencodable"


# -- mistakes

ONE, TWO, NULLED = [CARD], [CARD, IBAN], ["null", CARD]


@pytest.mark.parametrize(
    ("source", "target", "rules", "problem"),
    [
        (TWO, TWO, {"p<Crad>.pan": {"from": "x"}}, "the source has no branch <Crad> here; did you mean <Card>?"),
        (
            TWO,
            TWO,
            {"p<x>.pan": {"from": "x"}},
            "p<x>: the source has no branch <x> here; the branches are <Card>, <Iban>",
        ),
        (TWO, TWO, {"p.pan": {"const": "x"}}, "p.pan: the value is of a union; name its branch, such as p<Card>"),
        (TWO, ONE, {"p<Iban>": {"to": "<Cash>"}}, "the target has no branch <Cash> here; the branches are <Card>"),
        (TWO, ONE, {"p<Iban>": {"to": None}}, "p<Iban>: to: null, but null is no value here"),
        (TWO, NULLED, {"p<Iban>": {"to": "drop"}}, "leaves an item of an array or an entry of a map out"),
        (["null", *TWO], ["null", *TWO], {"p<null>": {"to": "error"}}, "p<null>: the source has no branch <null>"),
        (TWO, TWO, {"p<Card>": {"from": "pan", "to": "<Iban>"}}, "string cannot become record Iban"),
        (CARD, CARD, {"p<Card>.pan": {"from": "pan"}}, "record Card is no union; write its field without <Card>"),
        (CARD, WIDER, {"p<Card>.pan": {"from": "pan"}}, "p<Card>: record Card is no union"),
        ("int", "int", {"p": {"to": "error"}}, "in a rule for that branch, such as p<Card>"),
        (["int", "string"], "string", {"p": {"branch": "p", "lookup": {"int": "i"}}}, "nothing for string"),
        ("int", "string", {"p": {"branch": "p"}}, "p is int; expected a union of several types"),
        (TWO, NULLED, {"p<Iban>": {"by": "iban", "to": {"x": "<Card>"}}}, "p<Iban><Card>.pan: nothing fills it"),
        (TWO, NULLED, {"p<Iban>": {"by": "x", "to": {"x": None}}}, "no field p<Iban>.x; the fields there are iban"),
        (TWO, NULLED, {"p<Card>": {"by": "year", "to": {"x": None}}}, "lookup 'x': the key is no int"),
        (array("int"), array("string"), {"p[]": {"from": "x", "cast": "string"}}, "the fields there are value"),
    ],
)
def test_mistakes_are_named_with_the_branch(source: Any, target: Any, rules: Any, problem: str) -> None:
    assert any(problem in each for each in texts(field(source, target, rules))), texts(field(source, target, rules))


def test_one_branch_has_its_rules_under_one_name() -> None:
    union = record("R", p=[{**each, "namespace": "a"} for each in (CARD, IBAN)])
    rules = {"p<Card>.pan": {"from": "pan"}, "p<a.Card>.year": {"from": "year"}}
    assert any("<Card> and <a.Card> are one branch" in each for each in texts(plan(union, union, rules)))


def test_a_name_that_two_branches_have_is_written_with_the_namespace() -> None:
    union = [{**CARD, "namespace": "a"}, {**CARD, "namespace": "b"}]
    made = field(union, union, {"p<Card>.pan": {"from": "pan"}})
    assert any("several branches <Card> here; write one of <a.Card>, <b.Card>" in each for each in texts(made))
    complete(field(union, union, {"p<a.Card>.pan": {"const": "x"}}, ["p<a.Card>.pan"]))


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ({"p.label": {"from": "p.name"}, "p.kids[].label": {"from": "name"}}, "at the outermost level: write p.label"),
        ({"p.label": {"from": "title"}}, "can read the fields of the level alone; title is outside"),
        ({"p.label": {"expr": "size"}}, "can read the fields of the level alone; size is outside"),
    ],
)
def test_mistakes_in_types_that_contain_themselves(rules: Any, problem: str) -> None:
    source = record("R", title="string", size="int", p=NODE)
    number = record("Node", value="long", label="double" if "size" in str(rules) else "string", kids=array("Node"))
    made = plan(source, record("R", p=number), rules, "rest")
    assert any(problem in each for each in texts(made)), texts(made)


def test_recursion_without_an_end_is_refused_by_every_record() -> None:
    endless, longer = (record("Loop", v=kind, next="Loop") for kind in ("int", "long"))
    made = complete(plan(endless, longer))
    value: dict[str, Any] = {"v": 1}
    value["next"] = value
    with pytest.raises(ConversionError, match="contains itself more than"):
        evaluate(made, value)


def test_a_rule_for_a_branch_that_is_lost_is_refused() -> None:
    rules = {"p<Iban>": {"to": "error"}, "p<Iban>.pan": {"from": "iban"}}
    found = texts(field(["null", CARD, IBAN], ["null", CARD], rules))
    assert any(
        "p<Iban>.pan: the values of this branch become nothing, so that no rule has a meaning" in each for each in found
    ), found


def test_suggestions_for_fields_of_a_branch_name_it_and_read_its_fields() -> None:
    source, target = (record("Card", pan_number=kind, year="int") for kind in ("string", "string"))
    target["fields"][0]["name"] = "number_of_pan"
    made = field([source, IBAN], [target, IBAN])
    (suggestion,) = suggest_rules(made)
    assert (suggestion.field, suggestion.rule) == ("p<Card>.number_of_pan", {"from": "pan_number"})
    complete(field([source, IBAN], [target, IBAN], {suggestion.field: dict(suggestion.rule)}))
