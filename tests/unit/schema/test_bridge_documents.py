"""Bridge documents: the examples of the grammar, and the JSON schema that editors use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from counterfoil.schema.bridges.document import read_bridge
from counterfoil.schema.bridges.editors import bridge_json_schema
from counterfoil.schema.documents.nodes import InvalidDocument, plain_value
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.evolution import rules

SMALLEST = "bridge: b\nsource: {topic: in}\ntarget: {topic: out}\n"
EDITORS = Draft202012Validator(bridge_json_schema())
PAGE = Path(__file__).parents[3] / "docs" / "bridge.md"


def documented_rules() -> str:
    """The examples of rules in the module that reads them, as the end of a document."""
    lines = (rules.__doc__ or "").split("::\n\n")[1].split("\n\n")[0].splitlines()
    return "\n".join(line.removeprefix("    ") for line in lines) + "\n"


def documents_of_the_page() -> list[str]:
    blocks = PAGE.read_text().split("```yaml\n")[1:]
    return [text for block in blocks if (text := block.split("```")[0]).startswith("bridge:")]


def marks(text: str) -> list[str]:
    node = read_yaml(text)
    assert node is not None
    return [error.message for error in EDITORS.iter_errors(plain_value(node))]


@pytest.mark.parametrize("text", [SMALLEST, SMALLEST + documented_rules(), *documents_of_the_page()])
def test_every_documented_example_is_read_and_has_no_marks_in_editors(text: str):
    assert read_bridge(text).name
    assert marks(text) == []


def test_all_keys_have_no_marks_in_editors():
    text = (
        "bridge: b\nsource: {topic: in, subject: s, versions: all}\ntarget: {topic: out, subject: t, version: 4, "
        "framing: id, message: taxi.Ride}\n"
        "key: {source: {subject: k, message: taxi.Key}, target: {version: 1}, fields: {a: {from: b}}, drop: rest}\n"
        "partition: by-key\ntimestamp: now\ndrop: rest\nerrors: {topic: dead, stop_above: 1%}\n"
        "fields:\n  stops[].x: {from: a.b, lookup: {A: 1}, else: {const: error}, cast: int, null: 0}\n"
        "  user-id: {from: '\"a.b\".$id'}\n"
    )
    assert read_bridge(text).rules.drop_rest
    assert marks(text) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("fields:\n  a: {from: b, with: x}\n", "5:3: a: 'with' cannot stand beside 'from'"),
        ("fields:\n  a: {}\n", "5:3: a: nothing says where the value comes from"),
        ("fields:\n  a: {expr: 1 +}\n", "5:3: a: the end stands at character 4"),
        ("fields:\n  a: {split: {from: x, on: '', take: 0}}\n", "5:3: a: on: '' separates nothing"),
        ("fields:\n  a: {format: x}\n", "5:3: a: format needs a pattern"),
        ("drop: all\n", "4:7: drop: 'all' is no list"),
        ("key: keep\n", "4:6: key must be copy, convert, or a mapping"),
        ("errors: {stop_over: 1}\n", "4:10: errors has no key stop_over; did you mean stop_above?"),
    ],
)
def test_mistakes_have_their_place_and_a_mark_in_editors(wrong: str, words: str):
    with pytest.raises(InvalidDocument) as caught:
        read_bridge(SMALLEST + wrong)
    assert str(caught.value).startswith(words)
    is_text_of_a_formula = "expr" in wrong
    assert is_text_of_a_formula or marks(SMALLEST + wrong)


def test_schema_for_editors_is_valid_json_schema():
    Draft202012Validator.check_schema(json.loads(json.dumps(bridge_json_schema())))
