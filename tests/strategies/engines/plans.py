"""Random plans for engines: fields of the plain cases, put together, inside records, arrays and maps, for two writers.

``plans()`` draws a ``Case`` of ``engine_cases``.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from strategies.engines.cases import CASES, COLOUR, Case, nullable, record

SOURCE_ID, EARLIER_ID = 7, 6
PLACES = ["copied", "plain", "nested", "items", "values"]


def _pair_of(case: Case) -> tuple[Any, Any, dict[str, Any]]:
    """Return a case of one field as its two types and its rule, without the name of the source field."""
    (source,) = case.writers[SOURCE_ID]["fields"]
    (target,) = case.target["fields"]
    (rule,) = case.rules.values()
    return source["type"], target["type"], _without(rule, source["name"])


def _without(rule: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        key: _without(value, name) if key == "split" else "{name}" if value == name else value
        for key, value in rule.items()
    }


def _with(rule: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        key: _with(value, name) if key == "split" else name if value == "{name}" else value
        for key, value in rule.items()
    }


def _has_one_field(case: Case) -> bool:
    sides = (case.writers[SOURCE_ID]["fields"], case.target["fields"])
    return all(len(fields) == 1 for fields in sides) and len(case.rules) == 1 and "expr" not in str(case.rules)


PAIRS = [_pair_of(case) for case in CASES if _has_one_field(case)]
COPIED = [
    "boolean", "int", "long", "float", "double", "string", "bytes", COLOUR, nullable("long"), ["string", "null"],
    {"type": "array", "items": nullable("float")}, {"type": "map", "values": "string"},
    {"type": "array", "items": {"type": "map", "values": record(("x", "int"), ("y", nullable("double")), name="XY")}},
]  # fmt: skip
SKIPPED = ["long", "string", nullable("bytes"), COLOUR, {"type": "array", "items": {"type": "map", "values": "float"}}]


@st.composite
def plans(draw: st.DrawFn) -> Case:
    """Draw a plan of a few fields, for the source's schema and for an earlier one."""
    sources: list[Any] = []
    targets: list[Any] = []
    rules: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 6))):
        place = draw(st.sampled_from(PLACES))
        if place == "copied":
            node = draw(st.sampled_from(COPIED))
            sources.append((f"s{number}", node))
            targets.append((f"s{number}", node))
        else:
            source, target, rule = _placed(place, draw(st.sampled_from(PAIRS)), number)
            sources.append(source)
            targets.append(target)
            rules |= rule
    unused = draw(st.sampled_from(SKIPPED))
    sources.append(("unused", unused))
    earlier = [*draw(st.permutations(sources)), ("gone", draw(st.sampled_from(SKIPPED)))]
    filled = draw(st.sampled_from([("long", 4), ("string", "é"), (nullable("int"), None), ("double", 0.5)]))
    target = [*draw(st.permutations(targets)), ("filled", filled[0])]
    return Case(
        "drawn",
        {EARLIER_ID: record(*earlier), SOURCE_ID: record(*sources, ("filled", *filled))},
        record(*target),
        rules,
        ["unused"],
    )


def _placed(place: str, pair: tuple[Any, Any, dict[str, Any]], number: int) -> tuple[Any, Any, dict[str, Any]]:
    """Return the source's field, the target's and the rule of a pair: plain, or inside a record."""
    source, target, rule = pair
    name = f"s{number}"
    if place == "plain":
        return (name, source), (f"t{number}", target), {f"t{number}": _with(rule, name)}
    inner = record(("v", source), ("u", "int"), ("same", "string"), name=f"In{number}")
    outer = record(("u", "long"), ("w", target), ("same", "string"), name=f"In{number}")
    step = {"nested": "", "items": "[]", "values": "{}"}[place]
    path = "v" if step else f"{name}.v"
    return (name, _within(place, inner)), (name, _within(place, outer)), {f"{name}{step}.w": _with(rule, path)}


def _within(place: str, node: Any) -> Any:
    if place == "nested":
        return nullable(node)
    return {"type": "array", "items": node} if place == "items" else {"type": "map", "values": node}
