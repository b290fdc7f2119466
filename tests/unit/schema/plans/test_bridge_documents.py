"""Bridge documents: the examples of the grammar, and the JSON schema that editors use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from counterfoil.schema.documents import InvalidDocument, plain_value
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.plans import ConversionError, rules
from counterfoil.schema.plans.bridge_document import bridge_json_schema, read_bridge
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.evaluate import evaluate
from counterfoil.schema.plans.rules import parse_rules

SMALLEST = "bridge: b\nsource: {topic: in}\ntarget: {topic: out}\n"
EDITORS = Draft202012Validator(bridge_json_schema())
DOCS = Path(__file__).parents[4] / "docs"
PAGES = (DOCS / "bridge.md", DOCS / "bridge-reference.md")


def documented_rules() -> str:
    """The examples of rules in the module that reads them, as the end of a document."""
    lines = (rules.__doc__ or "").split("::\n\n")[1].split("\n\n")[0].splitlines()
    return "\n".join(line.removeprefix("    ") for line in lines) + "\n"


def documents_of_the_page() -> list[str]:
    blocks = [block for page in PAGES for block in page.read_text().split("```yaml\n")[1:]]
    return [text for block in blocks if (text := block.split("```")[0]).startswith("bridge:")]


RULES = DOCS / "bridge-rules.md"


def table_of(heading: str) -> list[list[str]]:
    """The rows of the first table after a heading of the page about rules, without back quotes."""
    lines = RULES.read_text().split(f"## {heading}\n")[1].split("\n## ")[0].splitlines()
    rows = [line.strip("| ").replace("\\|", "\0").split(" | ") for line in lines if line.startswith("|")]
    return [[cell.strip().strip("`").replace("\0", "|") for cell in row] for row in rows[2:]]


@pytest.mark.parametrize(("kind", "rule", "given", "result"), table_of("Examples"))
def test_documented_rules_have_the_documented_results(kind: str, rule: str, given: str, result: str):
    source = parse_schema(RULES.read_text().split("```json\n")[1].split("```")[0])
    wanted = parse_schema(
        json.dumps({"type": "record", "name": "T", "fields": [{"name": "f", "type": json.loads(kind)}]})
    )
    node = read_yaml(rule)
    assert node is not None
    plan = derive_plan(source, wanted, parse_rules({"f": plain_value(node)}, "rest"))
    assert plan.is_complete, plan.problems
    defaults = {field["name"]: field.get("default") for field in json.loads(source.text)["fields"]}
    try:
        found = json.dumps(evaluate(plan, {**defaults, **json.loads(given)})["f"])
    except ConversionError as failure:
        found = str(failure.code)
    assert found == result


@pytest.mark.parametrize(("mistake", "message"), table_of("Mistakes"))
def test_documented_mistakes_have_the_documented_messages(mistake: str, message: str):
    with pytest.raises(InvalidDocument) as caught:
        read_bridge(SMALLEST + mistake.replace("↵", "\n").replace("⇥", "\t"))
    assert str(caught.value).startswith(message.removesuffix(" …"))


def test_the_grammar_names_every_word_of_a_rule():
    grammar = RULES.read_text().split("```text\n")[1].split("```")[0]
    words = {*rules.FOLLOWING_BY_ORIGIN, *(word for each in rules.FOLLOWING_BY_ORIGIN.values() for word in each)}
    assert [word for word in sorted(words) if f'"{word}"' not in grammar] == []


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
        "progress: {topic: bridges}\n"
        "fields:\n  stops[].x: {from: a.b, lookup: {A: 1}, else: {const: error}, cast: int, null: 0}\n"
        "  user-id: {from: '\"a.b\".$id'}\n"
    )
    assert read_bridge(text).rules.drop_rest
    assert read_bridge(text).progress_topic == "bridges"
    assert marks(text) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("fields:\n  a: {from: b, with: x}\n", "5:16: a: 'with' cannot be combined with 'from'"),
        ("fields:\n  a: {}\n", "5:3: a: nothing says where the value comes from"),
        ("fields:\n  a: {expr: 1 +}\n", "5:7: a: the end stands at character 4"),
        ("fields:\n  a: {split: {from: x, on: '', take: 0}}\n", "5:7: a: on: '' separates nothing"),
        ("fields:\n  a: {format: x}\n", "5:7: a: format needs a pattern"),
        ("drop: all\n", "4:7: drop: 'all' is no list"),
        ("key: keep\n", "4:6: key must be copy, convert, or a mapping"),
        ("progress: {}\n", "4:11: progress needs topic"),
        ("errors: {stop_over: 1}\n", "4:10: errors has no key stop_over; did you mean stop_above?"),
    ],
)
def test_mistakes_have_their_place_and_a_mark_in_editors(wrong: str, words: str):
    with pytest.raises(InvalidDocument) as caught:
        read_bridge(SMALLEST + wrong)
    assert str(caught.value).startswith(words)
    is_text_of_a_formula = "expr" in wrong
    assert is_text_of_a_formula or marks(SMALLEST + wrong)


def test_progress_is_not_written_to_a_topic_of_the_bridge():
    for topic in ("in", "out", "in.bridge-dlq"):
        with pytest.raises(InvalidDocument, match="4:11: progress needs a topic of its own"):
            read_bridge(f"{SMALLEST}progress: {{topic: {topic}}}\n")


def test_schema_for_editors_is_valid_json_schema():
    Draft202012Validator.check_schema(json.loads(json.dumps(bridge_json_schema())))
