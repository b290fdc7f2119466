"""Patterns and other keywords of JSON schemas in the engine ``java``: as the reference, and as ECMA 262, says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.engines.choice import AUTO, choose_engine
from counterfoil.converter.engines.java.engine import JavaEngine
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.schema.patterns.matching import holds_match
from counterfoil.schema.wire import frame
from strategies.engines.conversions import SOURCE_ID, conversion_of, schema
from strategies.engines.java import check
from strategies.json_schema.ecma_patterns import CASES, OF_OTHERS

if TYPE_CHECKING:
    from counterfoil.converter.engines.protocol import Conversion
    from strategies.engines.java import Convert

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SEARCHED_BY_JAVA = {r"(a)\1", "a++b", "(?>a|ab)c"}
"""Some of the patterns with back-references and atomic groups that mean the same in Java."""
OF_ECMA_262_ALONE = {r"(a)?\1b", r"(?:(a)|b)*\1", r"(?<=(a+))b\1"}
"""Some of those that do not: a group that did not take part, or several times, or that is matched backwards."""


def between(source: Any, target: Any) -> Conversion:
    """Return the conversion of objects with the properties ``source`` to those with ``target``."""
    one, other = (schema({"$schema": DRAFT, "type": "object", "properties": each}) for each in (source, target))
    found = conversion_of(one, other)
    assert found is not None
    return found


def messages_of(values: list[Any]) -> list[bytes]:
    """Return one message for each value: the value at ``p`` and its number."""
    return [frame(SOURCE_ID, json.dumps({f"p{n}": value}).encode()) for n, value in enumerate(values)]


def why_not_in_java(pattern: str) -> str | None:
    """Return why Java does not try a pattern; None if it does."""
    conversion = between({"p": {"type": "string"}}, {"p": {"type": "string", "pattern": pattern}})
    try:
        JavaEngine(conversion)
    except EngineCannot as refusal:
        return refusal.why
    return None


def tried(cases: list[tuple[str, str]], convert: Convert) -> None:
    """Fail unless Java finds what the reference and ECMA 262 say: one property for each pattern and text."""
    target = {f"p{n}": {"type": "string", "pattern": pattern} for n, (pattern, _) in enumerate(cases)}
    conversion = between({name: {"type": "string"} for name in target}, target)
    answers = check(conversion, messages_of([text for _, text in cases]), convert)
    wrong = [
        case for case, (value, _) in zip(cases, answers, strict=True) if (value is not None) is not holds_match(*case)
    ]
    assert not wrong


def test_java_finds_what_ecma_262_says(convert: Convert) -> None:
    refused = {each: why_not_in_java(each) for each in (*CASES, *OF_OTHERS)}
    assert {why for why in refused.values() if why} == {
        "a pattern with a back-reference whose meaning in Java is another one"
    }
    patterns = [each for each, why in refused.items() if why is None]
    assert all(why_not_in_java(each) for each in OF_ECMA_262_ALONE)
    assert not any(why_not_in_java(each) for each in SEARCHED_BY_JAVA)
    assert len(patterns) > 50
    tried([(pattern, text) for pattern in patterns for text in {**CASES, **OF_OTHERS}[pattern]], convert)


PIECES = st.sampled_from(
    [
        "a",
        "b",
        ".",
        r"\d",
        r"\w",
        "[^a]",
        "a|b",
        "(?:ab)",
        "(a|)",
        "^",
        "$",
        r"\b",
        r"\B",
        "(?=a)",
        "(?!b)",
        "(?<=a)",
        "(?<!b)",
    ]
)
COUNTS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{0,2}", "*?"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Draw a pattern of pieces, some of them repeated, some in groups."""
    made = ""
    for piece in draw(st.lists(PIECES, min_size=1, max_size=5)):
        is_place = piece in {"^", "$", r"\b", r"\B"} or piece.startswith(("(?=", "(?!", "(?<"))
        made += piece if is_place else f"(?:{piece}){draw(COUNTS)}"
        made = f"(?:{made}){draw(COUNTS)}" if draw(st.integers(0, 5)) == 0 else made
    return made


TEXTS = st.text(st.sampled_from("aab1 \n\u00e9\U0001f600"), max_size=8)


@given(st.lists(st.tuples(patterns(), TEXTS), min_size=20, max_size=40))
def test_java_finds_what_the_reference_finds(convert: Convert, cases: list[tuple[str, str]]) -> None:
    tried(cases, convert)


REFERRED = st.sampled_from(["(a|ab)", "(b?)", "([^a]a*)", "((?:a|b)+)", "(a*?)"])


@given(st.lists(st.tuples(REFERRED, st.data(), st.text("aab", max_size=8)), min_size=10, max_size=20))
def test_java_finds_back_references_as_the_reference(convert: Convert, cases: list[tuple[str, Any, str]]) -> None:
    made = [
        (f"{data.draw(st.sampled_from(['^', '', 'b']))}{group}{data.draw(patterns())}\\1{data.draw(COUNTS)}", text)
        for group, data, text in cases
    ]
    tried([(pattern, text) for pattern, text in made if why_not_in_java(pattern) is None], convert)


def test_long_texts_and_nested_repetitions_end_soon(convert: Convert) -> None:
    patterns = ["^(a+)+$", "^(?:a|a)*$", "^(?:[a-z]+[.])*[a-z]+$", "^(?:.|x)*y", r"(?:a?){30}a{30}$"]
    target = {f"p{n}": {"type": "string", "pattern": pattern} for n, pattern in enumerate(patterns)}
    conversion = between({name: {"type": "string"} for name in target}, target)
    long = "a" * 20_000
    answers = convert(conversion, messages_of([f"{long}!", long, long, f"{long}y", "a" * 30]))
    assert [value is not None for value, _ in answers] == [False, True, True, True, True]


def test_a_search_for_a_back_reference_that_takes_too_long_is_a_dead_letter(convert: Convert) -> None:
    conversion = between({"p0": {"type": "string"}}, {"p0": {"type": "string", "pattern": r"^(a*)*(b)\2$"}})
    answers = convert(conversion, messages_of(["a" * 5_000]))
    assert answers == [(None, ("unencodable", "p0"))]


def test_other_keywords_are_checked_for_their_field_alone(convert: Convert) -> None:
    text, whole = {"type": "string"}, {"type": "integer"}
    null = {"type": "null"}
    source = {
        "p0": text,
        "p1": whole,
        "p2": {"type": "array", "items": text},
        "p3": {"type": "array", "items": whole},
        "p4": whole,
        "p5": {"type": "object", "additionalProperties": text},
        "p6": {"type": ["string", "null"]},
        "p7": {"type": "array", "items": text},
        "p8": {"type": "object", "additionalProperties": text},
        "p9": {"type": ["object", "null"], "properties": {"inner": text}},
    }
    code = {"type": "string", "pattern": "^[A-Z]{3}$"}
    target = {
        "p0": code,
        "p1": {"type": "integer", "multipleOf": 5},
        "p2": {"type": "array", "items": text, "uniqueItems": True},
        "p3": {"type": "array", "items": whole, "uniqueItems": True},
        "p4": {"type": "integer", "enum": [1, 2, 2**60]},
        "p5": {"type": "object", "additionalProperties": text, "minProperties": 1, "maxProperties": 2},
        "p6": {"oneOf": [null, code]},
        "p7": {"type": "array", "items": code},
        "p8": {"type": "object", "additionalProperties": code},
        "p9": {"anyOf": [null, {"type": "object", "properties": {"inner": code}}]},
    }
    conversion = between(source, target)
    assert choose_engine(AUTO, conversion).engine.name == "java"
    tried: dict[str, list[Any]] = {
        "p0": ["ABC", "abc", "ABC\n", ""],
        "p1": [10, 0, -5, 7],
        "p2": [[], ["a", "b"], ["a", "b", "a"], ["", ""]],
        "p3": [[1, 2], [1, 1], [2**60, 2**60]],
        "p4": [1, 3, 2**60],
        "p5": [{}, {"a": "b"}, {"a": "", "b": "", "c": ""}],
        "p6": [None, "ABC", "AB"],
        "p7": [["ABC", "x"], ["ABC"]],
        "p8": [{"a.b": "x"}, {"a": "ABC"}, {"": "x"}],
        "p9": [None, {"inner": "ABC"}, {"inner": "x"}],
    }
    bodies = [{name: value} for name, values in tried.items() for value in values]
    answers = check(conversion, [frame(SOURCE_ID, json.dumps(each).encode()) for each in bodies], convert)
    assert {failure and failure[0] for _, failure in answers} == {None, "unencodable"}
    wrong = [name for (_, failure), body in zip(answers, bodies, strict=True) for name in body if failure]
    assert sorted(set(wrong)) == sorted(tried)


CONDITIONS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"not": {"const": "a"}}, ["a", "b", None]),
    (
        {"if": {"minLength": 3}, "then": {"pattern": "^x"}, "else": {"enum": ["y", None]}},
        ["xab", "abc", "y", "z", None],
    ),
    ({"if": {"minLength": 3}, "then": {"pattern": "^x"}}, ["xab", "abc", "z"]),
    ({"type": "string", "oneOf": [{}, {"minLength": 2}]}, ["", "ab"]),
    ({"type": "string", "anyOf": [{"maxLength": 1}, {"pattern": r"^(a|b)\\1$"}]}, ["", "aa", "ab"]),
    ({"allOf": [{"minLength": 1}, {"maxLength": 2}], "type": "string"}, ["", "a", "abc"]),
]
OF_OBJECTS: list[dict[str, Any]] = [
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"properties": {"b": {"const": 1}}}}},
    {"if": {"required": ["a"]}, "then": {"properties": {"b": {"minimum": 2}}, "required": ["b"]}},
    {"not": {"required": ["a", "b"]}},
    {"propertyNames": {"pattern": "^b"}},
    {"minProperties": 1, "maxProperties": 1},
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"patternProperties": {"^a": {"multipleOf": 0.5, "exclusiveMaximum": 2}}},
    {"allOf": [{"properties": {"a": {"maximum": 2}}}], "unevaluatedProperties": False},
    {"allOf": [{"if": {"required": ["b"]}, "then": {"properties": {"a": {"const": 3}}}}]},
]
OF_ARRAYS: list[dict[str, Any]] = [
    {"contains": {"const": 1}},
    {"contains": {"minimum": 2}, "minContains": 2, "maxContains": 2},
    {"uniqueItems": True},
    {"not": {"contains": {"const": 1}}},
    {"if": {"minItems": 2}, "then": {"items": {"multipleOf": 0.1}}},
    {"contains": {"const": 1}, "unevaluatedItems": {"const": 2}},
]
MEMBERS = {"a": {"type": "number"}, "b": {"type": "number"}}
OBJECTS: list[Any] = [{}, {"a": 1}, {"b": 1}, {"a": 3, "b": 2.5}, {"a": 0.5, "b": 1}]
ARRAYS: list[Any] = [[], [1], [1, 1.0], [2, 2], [2, 0.3], [0.25, 2], [1, 2, 3]]


def test_conditions_are_checked_for_their_field_alone(convert: Convert) -> None:
    cases = [({"type": ["string", "null"], **extra}, values) for extra, values in CONDITIONS]
    cases += [({"type": "object", "properties": MEMBERS, **extra}, OBJECTS) for extra in OF_OBJECTS]
    cases += [({"type": "array", "items": {"type": "number"}, **extra}, ARRAYS) for extra in OF_ARRAYS]
    plain: dict[str, Any] = {
        "string": {"type": ["string", "null"]},
        "object": {"type": "object", "properties": MEMBERS},
    }
    plain["array"] = {"type": "array", "items": {"type": "number"}}
    kinds = [each["type"] if isinstance(each["type"], str) else "string" for each, _ in cases]
    source = {f"p{n}": plain[kind] for n, kind in enumerate(kinds)}
    target = {f"p{n}": each for n, (each, _) in enumerate(cases)}
    conversion = between(source, target)
    assert choose_engine(AUTO, conversion).engine.name == "java"
    bodies = [{f"p{n}": value} for n, (_, values) in enumerate(cases) for value in values]
    answers = check(conversion, [frame(SOURCE_ID, json.dumps(each).encode()) for each in bodies], convert)
    found = {name: set[bool]() for name in target}
    for (value, _), body in zip(answers, bodies, strict=True):
        found[next(iter(body))].add(value is not None)
    assert found == {name: {True, False} for name in target}


def test_null_is_judged_where_it_is_written(convert: Convert) -> None:
    text = {"type": ["string", "null"]}
    conversion = between({"p0": text, "p1": text}, {"p0": text | {"not": {"type": "null"}}, "p1": text})
    bodies = [{"p0": "a"}, {"p0": None}, {"p1": "a"}]
    answers = check(conversion, [frame(SOURCE_ID, json.dumps(each).encode()) for each in bodies], convert)
    assert [failure for _, failure in answers] == [None, ("unencodable", "p0"), ("unencodable", "p0")]


def test_long_lists_and_many_conditions_have_room_in_java_or_are_refused(convert: Convert) -> None:
    words = [f"w{n}" * 20 for n in range(5_000)]
    conditions = {f"q{n}": {"type": "string", "not": {"const": f"x{n}"}} for n in range(300)}
    texts: dict[str, Any] = {"p0": {"type": "string", "not": {"enum": words}}, **conditions}
    conversion = between({name: {"type": "string"} for name in texts}, texts)
    bodies = [{"p0": words[-1]}, {"p0": "w"}, {"q299": "x299"}, {"q299": "x"}]
    answers = check(conversion, [frame(SOURCE_ID, json.dumps(each).encode()) for each in bodies], convert)
    assert [value is not None for value, _ in answers] == [False, True, False, True]
    numbers = {"p0": {"type": "number", "not": {"enum": [*map(float, range(5_000))]}}}
    choice = choose_engine(AUTO, between({"p0": {"type": "number"}}, numbers))
    assert choice.engine.name == "reference"
    assert "java cannot (p0: a list of values that is too long for a Java method)" in choice.why
