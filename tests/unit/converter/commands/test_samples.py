"""The samples of ``bridge plan --sample``: what each file is, and what is wrong with one that is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.bridge import parse_bridge_file
from counterfoil.converter.commands.plan import show_plan
from counterfoil.converter.errors import BridgeError
from counterfoil.converter.sketch.command import load_samples
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.sketch import PartSketch, TopicSketch, WriterSchema, make_sketcher, write_sketch
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess

if TYPE_CHECKING:
    from pathlib import Path

    from counterfoil.schema.plans.suggest import CountedSamples

NO_REGISTRY = RegistryAccess(THE_REGISTRY, {})
BRIDGE = "bridge: b\nsource: {topic: in}\ntarget: {topic: out}\n"
SCHEMA = '{"type": "record", "name": "R", "fields": [{"name": "%s", "type": "string"}]}'


def load(*names: Any) -> CountedSamples:
    file = parse_bridge_file(BRIDGE)
    return load_samples([str(name) for name in names], file, registry=NO_REGISTRY, kafka=None)


def sketch_of(topic: str, field: str, *texts: str) -> str:
    schema = parse_schema(SCHEMA % field)
    sketcher = make_sketcher(schema, WriterSchema(schema.schema_type, schema.text))
    for text in texts:
        sketcher.add({field: text}, 0)
    return write_sketch(TopicSketch(topic, value=PartSketch({"1": sketcher.finish()})))


def test_sketches_and_lines_of_both_sides(tmp_path: Path):
    sketch, lines = tmp_path / "out.json", tmp_path / "values.jsonl"
    sketch.write_text(sketch_of("out", "city", "Oslo", "Rome"))
    lines.write_text('{"a": {"b": 3}, "c": null}\n\n{"a": {"b": 7}, "c": "x"}\n')
    samples = load(sketch, lines)
    assert samples.target["city",].symbols == {"Oslo": 1, "Rome": 1}
    assert (samples.source["a", "b"].most, samples.source["c",].nulls) == (7, 1)
    assert load(f"target={lines}").target["a", "b"].least == 3
    lines.write_text('{"c": "one\u2028value"}\r\n', encoding="utf-8")
    assert load(lines).source["c",].symbols == {"one\u2028value": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "is neither the topic in or out, nor can it be read"),
        ('{"a": 1}\n[1]\n', "line 2, is '[1]'; expected an object"),
        ("{\n", "line 1, is no JSON"),
        ('{"sketchVersion": 9}', "sketchVersion is 9"),
        (sketch_of("other", "a", "b"), "a sketch of other; expected one of in or out"),
    ],
)
def test_what_is_no_sample_is_named(tmp_path: Path, text: str | None, words: str):
    path = tmp_path / "sample"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BridgeError, match="The sample") as caught:
        load(path)
    assert words in str(caught.value)


def test_plan_prints_suggestions_of_samples_as_comments(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    cities = ["Oslo", "Rome", "Lima"] * 10
    for name, field in (("in", "town"), ("out", "place")):
        (tmp_path / f"{name}.avsc").write_text(SCHEMA % field)
        (tmp_path / f"{name}.json").write_text(sketch_of(name, field, *cities))
    (tmp_path / "bridge.yaml").write_text(BRIDGE)
    code = show_plan(
        file=tmp_path / "bridge.yaml", registry=NO_REGISTRY, formats=(), source_schema=tmp_path / "in.avsc",
        target_schema=tmp_path / "out.avsc", suggest=False, kafka=None,
        samples=[str(tmp_path / "in.json"), str(tmp_path / "out.json")],
    )  # fmt: skip
    printed = capsys.readouterr().out
    assert code is ExitCode.BROKEN
    assert json.dumps("town") in printed
    assert '#   place: {from: "town"}  # 0.85: 100% of 30 and 30 values are the same' in printed
