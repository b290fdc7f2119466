"""A value of a union arrives as the branch that its bytes say; the judge reads the branch of every value itself."""

from __future__ import annotations

import io
import json
import random
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.engines.reference import RecordConverter, recipe_of
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans import ConversionError
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.evaluate import evaluate
from counterfoil.schema.plans.rules import parse_rules
from counterfoil.schema.wire import frame
from strategies.avro.unions import Unions, altered, branched, changed, drawn, without_logical_types

if TYPE_CHECKING:
    from counterfoil.schema.plans.model import ConversionPlan

SOURCE_ID, TARGET_ID = 7, 9


def plan_of(source: Any, target: Any) -> ConversionPlan:
    return derive_plan(parse_avro(json.dumps(source)), parse_avro(json.dumps(target)))


def written(node: Any, value: Any) -> bytes:
    """The bytes that fastavro writes; a value of a union names its branch."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(without_logical_types(node)), value)
    return out.getvalue()


def plain(node: Any) -> Any:
    """The schema with each named type wherever it is used."""
    return json.loads(json.dumps(node).replace('"acme.E"', json.dumps(E)))


def converted(plan: ConversionPlan, body: bytes) -> bytes:
    converter = RecordConverter(recipe_of(Conversion(plan, {SOURCE_ID: plan.source}, TARGET_ID)))
    outcome = converter.convert_value(frame(SOURCE_ID, body))
    assert outcome.failure is None, outcome.failure
    assert outcome.value is not None
    return outcome.value[5:]


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
def test_an_unchanged_schema_keeps_every_branch(seed: int) -> None:
    rng = random.Random(seed)
    source = Unions(rng).root()
    plan = plan_of(source, source)
    assert plan.is_complete
    for _ in range(5):
        body = written(source, drawn(rng, source))
        made = converted(plan, body)
        assert branched(source, made) == branched(source, body)
        read = [fastavro.schemaless_reader(io.BytesIO(each), without_logical_types(source)) for each in (body, made)]
        assert read[0] == read[1]


@given(seed=st.integers(0, 2**32))
def test_a_complete_plan_between_changed_schemas_keeps_every_branch(seed: int) -> None:
    rng = random.Random(seed)
    source = Unions(rng).root()
    target, namespaces = changed(rng, source)
    plan = plan_of(source, target)
    if plan.is_complete:
        for _ in range(5):
            body = written(source, drawn(rng, source))
            assert branched(target, converted(plan, body)) == branched(source, body, namespaces)


@given(seed=st.integers(0, 2**32))
def test_a_plan_that_is_complete_between_other_unions_makes_no_dead_letter(seed: int) -> None:
    rng = random.Random(seed)
    source = Unions(rng).root()
    target = altered(rng, source)
    plan = plan_of(source, target)
    if plan.is_complete:
        for _ in range(5):
            body = written(source, drawn(rng, source))
            assert_kept(branched(source, body), branched(target, converted(plan, body)), plan.notes)


def assert_kept(before: Any, after: Any, notes: tuple[str, ...]) -> None:
    """Fail unless each value is there; its branch has the same name, a larger type, or a note of the plan."""
    if isinstance(before, tuple):
        if isinstance(after, tuple) and before[0] != after[0] and before[0] not in WIDER:
            assert any(f"{before[0].rpartition('.')[2]} becomes" in note for note in notes), (before, after)
        assert_kept(before[1], after[1] if isinstance(after, tuple) else after, notes)
    elif isinstance(after, tuple):
        assert_kept(before, after[1], notes)
    elif isinstance(before, dict):
        assert before.keys() == after.keys()
        for key, value in before.items():
            assert_kept(value, after[key], notes)
    elif isinstance(before, list):
        for value, made in zip(before, after, strict=True):
            assert_kept(value, made, notes)
    else:
        assert before == (after.decode() if isinstance(before, str) and isinstance(after, bytes) else after)


WIDER = {"int", "long", "float", "string"}


def named(name: str, *fields: tuple[str, Any], namespace: str = "acme") -> dict[str, Any]:
    members = [{"name": field, "type": node} for field, node in fields]
    return {"type": "record", "name": name, "namespace": namespace, "fields": members}


def enum(name: str, *symbols: str) -> dict[str, Any]:
    return {"type": "enum", "name": name, "namespace": "acme", "symbols": [*symbols]}


def fixed(name: str) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "namespace": "acme", "size": 2}


CARD, CASH = named("Card", ("x", "int")), named("Cash", ("x", "int"))
E, F = enum("E", "A", "B"), enum("F", "A", "B")
UNCHANGED = {
    "records": [CARD, CASH],
    "namespaces": [CARD, named("Card", ("x", "int"), namespace="acme.old")],
    "record and map": [CARD, {"type": "map", "values": "int"}],
    "enum": ["string", E],
    "enums": [E, F],
    "fixed": ["bytes", fixed("A")],
    "two fixed": [fixed("A"), fixed("B")],
    "reals": ["float", "double"],
    "wholes": ["int", "long"],
    "dates": [{"type": "int", "logicalType": "date"}, "long"],
    "times": ["int", {"type": "long", "logicalType": "timestamp-millis"}],
    "decimals": [{"type": "bytes", "logicalType": "decimal", "precision": 4}, fixed("A")],
    "uuid": [{"type": "string", "logicalType": "uuid"}, E],
}


@pytest.mark.slow
@pytest.mark.parametrize("inside", ["field", "array", "map", "record", "top"])
@pytest.mark.parametrize("union", UNCHANGED.values(), ids=UNCHANGED)
def test_each_branch_that_both_sides_have_is_kept(union: list[Any], inside: str) -> None:
    node: Any = [union[0], "null", *union[1:]] if inside in {"field", "map", "top"} else union
    wrapped = {
        "field": lambda: named("Root", ("u", node)),
        "array": lambda: named("Root", ("u", {"type": "array", "items": node})),
        "map": lambda: named("Root", ("u", {"type": "map", "values": node})),
        "record": lambda: named("Root", ("u", ["null", named("Inner", ("v", node))])),
        "top": lambda: node,
    }[inside]()
    plan = plan_of(wrapped, wrapped)
    assert plan.is_complete, plan.problems
    rng = random.Random(5)
    for _ in range(20):
        body = written(wrapped, drawn(rng, wrapped))
        assert converted(plan, body) == body


def test_branches_in_another_order_or_namespace_are_found_by_their_names() -> None:
    source = named("Root", ("u", ["null", CARD, CASH, "int", "long", E, "string"]))
    others = [named(each["name"], ("x", "long"), namespace="new") for each in (CASH, CARD)]
    target = named("Root", ("u", ["string", "long", {**E, "namespace": "new"}, *others, "int", "null"]))
    plan = plan_of(source, target)
    assert plan.is_complete, plan.problems
    for value, expected in (
        (("acme.Card", {"x": 1}), ("new.Card", {"x": 1})),
        (("acme.Cash", {"x": 2}), ("new.Cash", {"x": 2})),
        (("int", 3), ("int", 3)),
        (("long", 3), ("long", 3)),
        (("acme.E", "A"), ("new.E", "A")),
        (("string", "A"), ("string", "A")),
        (None, None),
    ):
        assert branched(target, converted(plan, written(source, {"u": value}))) == {"u": expected}


@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [
        ([CARD, CASH], [named("Debit", ("x", "int")), named("Coins", ("x", "int"))], "could be record Debit or"),
        ([CARD, CASH], CARD, "the branches record Card and record Cash would become one in record Card"),
        ([CARD, CASH, "string"], [CARD, "string"], "the branches record Card and record Cash would become one"),
        (["string", E], "string", "the branches string and enum E would become one in string"),
        (["int", "long"], ["null", "long"], "the branches int and long would become one"),
        (["float", "double"], ["double", "string"], "the branches float and double would become one"),
        ([E, F], [E, "null"], "the branches enum E and enum F would become one"),
        (named("Coins", ("x", "int")), [CARD, CASH], "could be record Card or record Cash"),
    ],
)
def test_a_branch_that_would_be_lost_is_refused(source: Any, target: Any, problem: str) -> None:
    plan = plan_of(named("Root", ("u", source)), named("Root", ("u", target)))
    assert problem in " ".join(map(str, plan.problems))


def test_a_branch_of_another_name_is_the_only_one_with_its_fields_and_the_plan_notes_it() -> None:
    source = named("Root", ("u", [CARD, named("Coins", ("n", "int"))]))
    target = named("Root", ("u", [CARD, named("Cash", ("n", "int"))]))
    plan = plan_of(source, target)
    assert plan.is_complete
    assert plan.notes == ("u: the branch record Coins becomes record Cash, which has the same fields",)
    made = converted(plan, written(source, {"u": ("acme.Coins", {"n": 1})}))
    assert branched(target, made) == {"u": ("acme.Cash", {"n": 1})}


def test_defaults_constants_and_single_values_have_a_branch() -> None:
    source = named("Root", ("a", E), ("b", CASH), ("c", ["null", "string"]))
    again = ["null", "string", "acme.E"]
    target = named("Root", ("a", ["string", E, F]), ("b", [CARD, CASH]), ("c", again), ("k", ["acme.E", "string"]))
    target["fields"].append({"name": "d", "type": ["acme.E", "string"], "default": "B"})
    sides = [parse_avro(json.dumps(each)) for each in (source, target)]
    plan = derive_plan(sides[0], sides[1], parse_rules({"k": {"const": "other"}}))
    assert plan.is_complete, plan.problems
    made = converted(plan, written(source, {"a": "A", "b": {"x": 1}, "c": ("string", "A")}))
    assert branched(plain(target), made) == {
        "a": ("acme.E", "A"),
        "b": ("acme.Cash", {"x": 1}),
        "c": ("string", "A"),
        "k": ("string", "other"),
        "d": ("acme.E", "B"),
    }


def test_messages_of_an_earlier_version_keep_their_branch() -> None:
    earlier = named("Root", ("u", [CASH, "long", E]))
    newest = named("Root", ("u", [CARD, CASH, "long", "int", E]), ("f", "double"))
    newest["fields"].append({"name": "w", "type": [F, "acme.E", "string"], "default": "A"})
    newest["fields"][1]["default"] = 1.5
    plan = plan_of(newest, newest)
    writers = {6: parse_avro(json.dumps(earlier)), SOURCE_ID: plan.source}
    converter = RecordConverter(recipe_of(Conversion(plan, writers, TARGET_ID)))
    for value in (("acme.Cash", {"x": 1}), ("long", 1), ("acme.E", "B")):
        outcome = converter.convert_value(frame(6, written(earlier, {"u": value})))
        assert outcome.value is not None, outcome.failure
        assert branched(plain(newest), outcome.value[5:]) == {"u": value, "f": 1.5, "w": ("acme.F", "A")}


def test_a_whole_number_that_is_rounded_to_a_float_keeps_its_branch() -> None:
    earlier = named("Root", ("u", [CARD, CASH, "string"]), ("f", "long"))
    newest = named("Root", ("u", ["string", CASH, CARD]), ("f", "float"))
    plan = plan_of(newest, newest)
    writers = {6: parse_avro(json.dumps(earlier)), SOURCE_ID: plan.source}
    converter = RecordConverter(recipe_of(Conversion(plan, writers, TARGET_ID)))
    for value in (("acme.Card", {"x": 1}), ("acme.Cash", {"x": 1}), ("string", "A")):
        outcome = converter.convert_value(frame(6, written(earlier, {"u": value, "f": 2**24 + 1})))
        assert outcome.value is not None, outcome.failure
        assert branched(newest, outcome.value[5:]) == {"u": value, "f": float(2**24)}


ONEOF = """syntax = "proto3";
message Root { oneof u { Card card = 1; Cash cash = 2; int32 i = 3; int64 l = 4; string s = 5; } }
message Card { int32 x = 1; } message Cash { int32 x = 1; }"""
TITLED = [
    {
        "title": title,
        "type": "object",
        "properties": {"x": {"type": "integer"}, "kind": {"const": title}},
        "required": ["x", "kind"],
    }
    for title in ("Card", "Cash")
]


def test_unions_become_oneofs_and_come_back() -> None:
    union = ["null", CASH, CARD, "long", "int", "string"]
    avro, proto = parse_avro(json.dumps(named("Root", ("u", union)))), parse_schema(ONEOF, SchemaType.PROTOBUF)
    there, back = derive_plan(avro, proto), derive_plan(proto, avro)
    assert there.is_complete, there.problems
    assert back.is_complete, back.problems
    values = [
        None,
        *(("acme." + name, {"x": 3}) for name in ("Cash", "Card")),
        ("long", 3),
        ("int", 3),
        ("string", "A"),
    ]
    for value in values:
        body = written(json.loads(avro.text), {"u": value})
        assert converted(back, converted(there, body)) == body


def test_unions_become_choices_of_json_and_come_back() -> None:
    records = [named(name, ("x", "long"), ("kind", enum(f"Kind{name}", name))) for name in ("Cash", "Card")]
    avro = parse_avro(json.dumps(named("Root", ("u", ["null", *records]))))
    choice = {"anyOf": [{"type": "null"}, *TITLED]}
    document = {"type": "object", "properties": {"u": choice}, "required": ["u"]}
    other = parse_schema(json.dumps(document), SchemaType.JSON)
    there, back = derive_plan(avro, other), derive_plan(other, avro)
    assert there.is_complete, there.problems
    assert back.is_complete, back.problems
    for value in (None, *((f"acme.{name}", {"x": 3, "kind": name}) for name in ("Cash", "Card"))):
        body = written(json.loads(avro.text), {"u": value})
        assert converted(back, converted(there, body)) == body


def test_evaluate_takes_and_returns_the_name_of_a_branch() -> None:
    plan = plan_of(named("Root", ("u", [CARD, CASH, "int", "long"])), named("Root", ("u", ["long", "int", CASH, CARD])))
    assert evaluate(plan, {"u": ("acme.Cash", {"x": 1})}) == {"u": ("acme.Cash", {"x": 1})}
    assert evaluate(plan, {"u": {"-type": "acme.Card", "x": 1}}) == {"u": ("acme.Card", {"x": 1})}
    assert evaluate(plan, {"u": 5}) == {"u": ("int", 5)}
    assert evaluate(plan, {"u": 2**40}) == {"u": ("long", 2**40)}
    with pytest.raises(ConversionError, match=r"does not tell its branch: give \(name, value\)"):
        evaluate(plan, {"u": {"x": 1}})


def without_namespace(name: str) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": 2}


RENAMED = [
    ([named("A", ("x", "int")), "string"], [named("B", ("x", "int")), "string"], "record A becomes record B"),
    ([named("A", ("x", "int")), "string"], ["string", named("B", ("x", "int"))], "record A becomes record B"),
    (["null", named("A", ("x", "int")), "long"], ["null", "long", named("B", ("x", "int"))], "A becomes record B"),
    ([enum("E", "P"), "int"], ["int", enum("F", "P")], "E becomes"),
    ([enum("E", "P"), "int"], ["int", "string"], "E becomes string"),
    ([without_namespace("G"), "int"], ["int", without_namespace("H")], "G becomes"),
    (
        {"type": "array", "items": [named("A", ("x", "int")), "string"]},
        {"type": "array", "items": ["string", named("B", ("x", "int")), "long"]},
        "record A becomes record B",
    ),
    (
        [named("A", ("x", "int")), named("C", ("y", "int"))],
        [named("C", ("y", "int")), named("B", ("x", "int"))],
        "record A becomes record B",
    ),
]


@pytest.mark.parametrize(("source", "target", "text"), RENAMED)
def test_a_branch_that_gets_another_name_is_noted(source: Any, target: Any, text: str) -> None:
    plan = plan_of(named("Root", ("f", source)), named("Root", ("f", target)))
    assert plan.is_complete
    assert [text in note for note in plan.notes] == [True]


@pytest.mark.parametrize("source", [source for source, _, _ in RENAMED] + [["null", named("A", ("x", "int"))]])
def test_a_branch_that_keeps_its_name_is_not_noted(source: Any) -> None:
    plan = plan_of(named("Root", ("f", source)), named("Root", ("f", source)))
    assert (plan.is_complete, plan.notes) == (True, ())
