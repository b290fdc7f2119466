"""Documents that users write: what each node means, where it stands, and what is refused."""

from __future__ import annotations

import contextlib
import re
import string
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.documents import InvalidDocument, MappingNode, ScalarNode, YamlKind, plain_value
from counterfoil.schema.documents.yaml_reader import MAX_CHARACTERS, MAX_DEPTH, read_yaml
from counterfoil.schema.texts import Position

_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def read(text: str) -> Any:
    root = read_yaml(text)
    assert root is not None
    return plain_value(root)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("true", YamlKind.BOOLEAN, True),
        ("FALSE", YamlKind.BOOLEAN, False),
        ("~", YamlKind.NULL, None),
        ("null", YamlKind.NULL, None),
        ("12", YamlKind.INTEGER, 12),
        ("-0", YamlKind.INTEGER, 0),
        ("0x1F", YamlKind.INTEGER, 31),
        ("1.5", YamlKind.NUMBER, 1.5),
        ("-.inf", YamlKind.NUMBER, float("-inf")),
        ("a b", YamlKind.TEXT, "a b"),
        ("2026-01-31", YamlKind.TEXT, "2026-01-31"),
        ("tRUE", YamlKind.TEXT, "tRUE"),
        ("'yes'", YamlKind.TEXT, "yes"),
        ('"0755"', YamlKind.TEXT, "0755"),
        ("!!str 12", YamlKind.TEXT, "12"),
        ("=", YamlKind.TEXT, "="),
    ],
)
def test_a_scalar_has_a_kind_and_a_value(text: str, kind: YamlKind, value: object) -> None:
    node = read_yaml(text)
    assert isinstance(node, ScalarNode)
    assert (node.kind, node.value, type(node.value)) == (kind, value, type(value))


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("yes", "true in YAML 1.1, the text 'yes' in YAML 1.2"),
        ("Off", "false in YAML 1.1, the text 'Off' in YAML 1.2"),
        ("0755", "493 in YAML 1.1, 755 in YAML 1.2"),
        ("0o17", "the text '0o17' in YAML 1.1, 15 in YAML 1.2"),
        ("1:30", "90 in YAML 1.1, the text '1:30' in YAML 1.2"),
        ("1_000", "1000 in YAML 1.1, the text '1_000' in YAML 1.2"),
        ("1e3", "the text '1e3' in YAML 1.1, 1000.0 in YAML 1.2"),
    ],
)
def test_what_means_one_thing_in_yaml_1_1_and_another_in_1_2_is_refused_where_its_value_is_needed(
    text: str, meanings: str
) -> None:
    with pytest.raises(InvalidDocument) as refused:
        read(f"a:\n  - {text}\n")
    assert refused.value.problem == f"{text} has two meanings: {meanings}; write the one that is meant"
    assert refused.value.position == Position(2, 5)


@given(
    st.sampled_from(string.ascii_letters + string.digits + "+-.~_$/"),
    st.sampled_from(["", "1", ".5", "o", "e", "es", "rue", "ull", "inf", ".nan", "o17"]),
)
def test_a_text_is_a_text_in_yaml_1_1_as_well(first: str, rest: str) -> None:
    with contextlib.suppress(InvalidDocument):
        node = read_yaml(first + rest)
        if isinstance(node, ScalarNode) and node.kind is YamlKind.TEXT:
            assert not isinstance(yaml.safe_load(first + rest), int | float | None)
            assert _JSON_NUMBER.fullmatch(node.text) is None


def test_every_node_and_key_has_its_position() -> None:
    root = read_yaml("a: 1\nb:\n  - c: d\n")
    assert isinstance(root, MappingNode)
    assert root.key_positions == {"a": Position(1, 1), "b": Position(2, 1)}
    assert root.entries["a"].position == Position(1, 4)
    assert root.entries["b"].position == Position(3, 3)


def test_keys_are_texts_as_they_are_written() -> None:
    assert read("{null: 1, on: 2, 0755: 3, <<: 4}") == {"null": 1, "on": 2, "0755": 3, "<<": 4}


def test_nothing_is_no_document() -> None:
    assert read_yaml("") is None
    assert read_yaml("# nothing\n") is None


@pytest.mark.parametrize(
    ("text", "problem", "position"),
    [
        ("a: 1\nb: 2\na: 3\n", "a is here a second time; the first is in line 1", Position(3, 1)),
        ("? [a]\n: 1\n", "a key must be a plain word", Position(1, 3)),
        ("a: [", "not YAML: ", Position(1, 5)),
        ("a: \x07", "not YAML: ", Position(1, 4)),
        ("a: 1\n---\nb: 2\n", "not YAML: ", Position(2, 1)),
        ("a: *b", "not YAML: found undefined alias", Position(1, 4)),
        ("a:\n    b: 1\n  c: 2\n", "not YAML: this line is not indented as the entries", Position(3, 3)),
        ("a:\n  b: 1\n   c: 2\n", "not YAML: a key is not expected here; indent it", Position(3, 5)),
        ("a: b: c", "not YAML: a key is not expected here; indent it", Position(1, 5)),
        ("a: [1, 2\nb: 3\n", "not YAML: the bracket here is not closed; expected a comma or ]", Position(1, 4)),
        ("a: 1\nb: 'x\nc: 2\n", "not YAML: the quotation mark here is not closed", Position(2, 4)),
        ("a: 1\nb\nc: 2\n", "not YAML: a key without a colon", Position(2, 1)),
        ("a: @b", "not YAML: a value cannot begin with @; put it in quotes", Position(1, 4)),
        ("a:\n\tb: 1\n", "not YAML: a tab; expected spaces", Position(2, 1)),
        ("a: !!int x", "'x' is no value of the type int", Position(1, 4)),
        ("a: " + "9" * 5000, "is no value of the type int", Position(1, 4)),
        ("&a [*a]", "expected no cycles", Position(1, 1)),
        ("a: &x 1\nb: &x 2\n", "not YAML: a second anchor x", Position(2, 4)),
        ("[" * 100 + "]" * 100, "nested too deeply", Position(1, MAX_DEPTH + 2)),
        ("[\n" * 5000 + "]\n" * 5000, "nested too deeply", Position(MAX_DEPTH + 2, 1)),
        ("a" * (MAX_CHARACTERS + 1), "at most 1048576", None),
        ("a: 1\n<<<<<<< ours\nb: 1\n=======\nb: 2\n>>>>>>> theirs\n", "conflict of a merge", Position(2, 1)),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, problem: str, position: Position | None) -> None:
    with pytest.raises(InvalidDocument) as refused:
        read_yaml(text)
    assert problem in refused.value.problem
    assert refused.value.position == position


def test_a_text_of_many_beginnings_of_conflicts_is_read_in_one_pass() -> None:
    assert read("<<<<<<< \n" * 100_000) == " ".join(["<<<<<<<"] * 100_000)


@pytest.mark.slow
def test_aliases_stand_for_values_and_cannot_blow_up() -> None:
    assert read("a: &x [1, 2]\nb: *x\n") == {"a": [1, 2], "b": [1, 2]}
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    with pytest.raises(InvalidDocument, match="more than 100000 values"):
        read_yaml("\n".join(lines))


def test_aliases_can_be_refused_and_count_toward_the_depth() -> None:
    with pytest.raises(InvalidDocument, match=r"2:4: an alias, \*x; expected the value itself"):
        read_yaml("a: &x [1, 2]\nb: *x\n", aliases=False)
    assert read("? &x a\n: *x\n") == {"a": "a"}
    half = MAX_DEPTH // 2 + 2
    with pytest.raises(InvalidDocument, match="nested too deeply"):
        read_yaml("a: &x " + "[" * half + "]" * half + "\nb: " + "[" * half + "*x" + "]" * half + "\n")


@given(st.text(max_size=100))
def test_no_text_ends_in_a_foreign_exception(text: str) -> None:
    with contextlib.suppress(InvalidDocument):
        root = read_yaml(text)
        if root is not None:
            plain_value(root)


NUMBER_IN_1_2 = re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]+|0o[0-7]+")  # which PyYAML writes as they are
TEXTS = st.text(max_size=10).filter(lambda text: not NUMBER_IN_1_2.fullmatch(text))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(VALUES)
def test_what_is_written_is_read_again(value: Any) -> None:
    assert read(yaml.safe_dump(value)) == value
