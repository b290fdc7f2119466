"""The size of a pattern is computed before it is compiled, and what is too large is compared as a text."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.agreements.standards import MAX_PATTERN_LENGTH as MAX_CONTRACT_PATTERN
from counterfoil.schema.agreements.standards import pattern_of
from counterfoil.schema.compatibility.policies import CompatibilityLevel, CompatibilityPolicy, OutOfSteps, Steps
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.documents import InvalidDocument
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.errors import JudgementUndecided
from counterfoil.schema.judgement import judge
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.patterns.matching import (
    MAX_EXPANDED_SIZE,
    MAX_PATTERN_LENGTH,
    CountedPatterns,
    compile_pattern,
    expanded_size,
    holds_match,
    is_too_large,
)
from counterfoil.schema.patterns.samples import MAX_BUILT, matching_strings, stretched

LARGE = (
    "((b{1000}){1000}){2}",
    "([a-c]{1000}){1000}",
    "((a?){1000}){1000}",
    "b{65535}",
    "((ab){1000}+){1000}",
    "(?:(?:b{1000}?){1000}?)",
    "(?x)((b{1000}) {1000})",
    "(?x)(b{1000}) # a comment\n{1000}",
    "(b{1000})(?# a comment){1000}",
    "(?i-x:(b{1000}){1000})",
    "(?<=(b{1000}){1000})",
    "(?P<name>(b{1000}){1000})",
    r"(?>(\p{L}{1000}){1000})",
    r"\Qab\E{30000}",
    "b{000000000000000030000}",
    "b{99999999999999999999}",
    "((b{1000,}){1000,})",
    "(a{1}" + " " * 15_000 + "){1000}",
    "[" + "abcdefghij" * 1_000 + "]{1000}",
)
SMALL = (
    "^.{0,65535}$",
    "^[A-Za-z0-9+/=]{1,10000}$",
    "^[A-Za-z0-9._%+-]{5000}$",
    "(a{0,1000}){0,1000}",
    "(a{1000}){0,1000}",
    "^(?:[a-z0-9]{1,63}\\.){1,127}[a-z]{2,63}$",
    "(?x) ( b{10} ) {10}",
    "(?# a comment)b{100}",
    r"\{1000\}{3}",
    "[{1000}]",
    "x{1000",
    "b{0}",
)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", LARGE)
def test_a_large_pattern_is_not_compiled(pattern: str):
    tracemalloc.start()
    try:
        assert is_too_large(pattern)
        assert compile_pattern(pattern) is None
        assert holds_match(pattern, "b") is None
        assert matching_strings(pattern) == ()
        assert stretched(pattern, 20) is None
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pattern", SMALL)
def test_a_small_pattern_is_compiled(pattern: str):
    assert not is_too_large(pattern)
    assert compile_pattern(pattern) is not None


def _nested(inner: st.SearchStrategy[tuple[str, int]]) -> st.SearchStrategy[tuple[str, int]]:
    return st.builds(_repeated, st.lists(inner, min_size=1, max_size=3), st.integers(0, 9))


def _repeated(parts: list[tuple[str, int]], least: int) -> tuple[str, int]:
    """Return a pattern, and the length of its shortest match."""
    inner, length = "".join(pattern for pattern, _ in parts), sum(length for _, length in parts)
    return f"(?:{inner}){{{least}}}", length * least


@given(st.recursive(st.sampled_from([("a", 1), ("[a-z]", 1), (".", 1), ("a{4}", 4)]), _nested, max_leaves=9))
def test_the_size_is_at_least_the_length_of_the_shortest_match(case: tuple[str, int]):
    pattern, length = case
    assert expanded_size(pattern) >= length
    compiled = compile_pattern(pattern)
    assert (compiled is None) is (expanded_size(pattern) > MAX_EXPANDED_SIZE)
    if compiled is not None and length < 500:
        assert holds_match(f"^(?:{pattern})$", "a" * length)


def test_texts_that_are_built_to_match_are_short():
    for pattern in ("((((a*)*)*)*)*", "(((a+){0,300}){0,300}){0,300}", "(a{299})" * 200):
        texts = (*matching_strings(pattern), *filter(None, [stretched(pattern, 300)]))
        assert all(len(text) <= MAX_BUILT for text in texts)


@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_a_large_pattern_is_a_warning(keyword: str):
    large = LARGE[0]
    schema = parse_json_schema(json.dumps({keyword: large if keyword == "pattern" else {large: {"type": "string"}}}))
    assert [warning.rule for warning in schema.warnings()] == ["large-pattern"]


def _incompatible(reader: object, writer: object, policy: CompatibilityPolicy) -> list[str]:
    schemas = [parse_schema(json.dumps(each), SchemaType.JSON) for each in (reader, writer)]
    judged = judge(schemas[0], [Earlier(schemas[1])], CompatibilityLevel.BACKWARD, policy=policy)
    judged.witnesses()
    return [each.difference.rule for each in judged.incompatibilities]


@pytest.mark.parametrize("policy", [CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND])
def test_large_patterns_are_compared_as_texts(policy: CompatibilityPolicy):
    one, other = ({"type": "string", "pattern": f"{LARGE[0]}{end}"} for end in "ab")
    assert _incompatible(one, one, policy) == []
    assert _incompatible(one, other, policy) == ["pattern-changed"]


def test_what_a_large_pattern_decides_is_never_a_yes_under_sound():
    writer = {"type": "object", "patternProperties": {LARGE[0]: {"type": "string"}}, "additionalProperties": False}
    reader = {**writer, "patternProperties": {LARGE[0]: {"type": "integer"}}}
    assert _incompatible(reader, writer, CompatibilityPolicy.SOUND)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (LARGE[0], "parts after its repetitions"),
        ("(" * 9_000 + ")" * 9_000, "nested too deep"),
        ("a{99999999999999999999999}", "parts after its repetitions"),
        ("[a", "no regular expression"),
    ],
)
def test_patterns_of_contracts_that_cannot_be_searched_for_are_refused(pattern: str, message: str):
    node = read_yaml(f"pattern: {json.dumps(pattern)}")
    with pytest.raises(InvalidDocument, match=message):
        pattern_of(node.entries["pattern"])


def test_the_patterns_of_one_judgement_are_counted_together_and_once():
    steps = Steps(100_000)
    patterns = CountedPatterns(steps)
    for at in range(5):
        for _ in range(3):
            patterns.holds_match(f"(?:[a-z]{{1000}}){{15}}{at}", "b")
    assert 15_000 < steps.left < 30_000
    patterns.holds_match("(?:[a-z]{1000}){10}", "b")
    with pytest.raises(OutOfSteps):
        patterns.holds_match("(?:[a-z]{1000}){15}b", "b")


@pytest.mark.slow
@pytest.mark.parametrize("policy", [CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND])
def test_many_large_patterns_do_not_suffice_for_the_steps_of_a_judgement(policy: CompatibilityPolicy):
    patterns = {f"(?:[a-z]{{1000}}){{19}}{at}": {"type": "string"} for at in range(400)}
    reader = {"patternProperties": patterns, "additionalProperties": False, "properties": {"a": {}}}
    writer = {"patternProperties": patterns, "additionalProperties": False, "properties": {"b": {}}}
    with pytest.raises(JudgementUndecided):
        _incompatible(reader, writer, policy)


def test_the_limit_of_patterns_in_contracts_is_that_of_schemas():
    assert MAX_CONTRACT_PATTERN == MAX_PATTERN_LENGTH


@pytest.mark.slow
def test_compiling_a_pattern_again_takes_steps_again():
    names = [f"^[a-z]{{{number}}}x*{number}" for number in range(800, 1000)]  # too large together for the cache
    steps = Steps(10_000_000)
    patterns = CountedPatterns(steps)
    spent = []
    for _ in range(3):
        before = steps.left
        assert [patterns.holds_match(each, "b") for each in names] == [False] * len(names)
        spent.append(before - steps.left)
    assert spent[0] < spent[1] == spent[2]


@pytest.mark.slow
def test_many_patterns_that_are_too_large_together_end_a_judgement_by_its_steps():
    earlier, later = (
        json.dumps(
            {
                "patternProperties": {
                    f"^[a-z]{{{at}}}x*{at}": {"type": "string", "minLength": least} for at in range(500)
                }
            }
        )
        for least in (1, 2)
    )
    parsed = [parse_schema(text, SchemaType.JSON) for text in (earlier, later)]
    with pytest.raises(JudgementUndecided):
        judge(parsed[1], [Earlier(parsed[0])], CompatibilityLevel.FULL, policy=CompatibilityPolicy.SOUND)
