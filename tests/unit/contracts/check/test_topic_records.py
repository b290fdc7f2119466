"""A check with the sketch of a topic: how many records trigger each finding, and which findings may be ignored."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from counterfoil.contracts.cli.check import check
from counterfoil.schema import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.sketch import PartSketch, TopicSketch, WriterSchema, make_sketcher, write_sketch

if TYPE_CHECKING:
    from pathlib import Path


def ride(symbols: list[str], payment: str = "string", **more: Any) -> str:
    vendor = {"type": "enum", "name": "Vendor", "symbols": symbols}
    fields = [{"name": "vendor", "type": vendor}, {"name": "payment", "type": payment}]
    return json.dumps({"type": "record", "name": "Ride", "fields": fields, **more})


OLDEST, BEFORE = ride(["CMT", "HELIX", "MYLE"], "int"), ride(["CMT", "HELIX"])
CMT, HELIX = {"vendor": "CMT", "payment": "cash"}, {"vendor": "HELIX", "payment": "card"}


def part_of(data_by_schema: dict[str, list[Any]], **more: Any) -> PartSketch:
    by_writer = {}
    for number, (text, data) in enumerate(data_by_schema.items(), 1):
        sketcher = make_sketcher(parse_schema(text), WriterSchema(SchemaType.AVRO, text))
        for datum in data:
            sketcher.add(datum, 0)
        by_writer[str(number)] = sketcher.finish()
    return PartSketch(by_writer, **more)


def run(
    folder: Path, after: str, sketch: TopicSketch | str, *options: str, before: str = BEFORE, name: str = "rides-value"
) -> tuple[int, Any]:
    """The exit code of ``check --sketch`` and its report, as JSON."""
    (folder / "base").mkdir()
    (folder / "head").mkdir()
    (folder / "base" / f"{name}.avsc").write_text(before)
    (folder / "head" / f"{name}.avsc").write_text(after)
    text = sketch if isinstance(sketch, str) else write_sketch(sketch)
    (folder / "sketch.json").write_text(text)
    paths = ["head", "--against", "base", "--sketch", "sketch.json"]
    with contextlib.chdir(folder):
        done = CliRunner().invoke(check, [*paths, "--format", "json", *options], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return int(done.return_value), json.loads(done.stdout)


def topic(part: PartSketch, **more: Any) -> TopicSketch:
    return TopicSketch("rides", value=part, value_subject="rides-value", **more)


def said(report: Any) -> dict[str, str]:
    return {each["rule"]: each.get("records", {}).get("text", "") for each in report["findings"]}


def test_each_finding_says_how_many_records_trigger_it(tmp_path: Path):
    sketch = topic(part_of({BEFORE: [CMT] * 1200}, problems={"unreadable": 4}))
    code, report = run(tmp_path, ride(["CMT"], "bytes"), sketch, "--policy", "SOUND", "--level", "FULL")
    assert code == 1
    assert said(report) == {
        "missing-enum-symbols": "0 of 1,200 records trigger this finding; 4 more could not be read",
        "bytes-read-as-string": "the sketch cannot say how many records trigger this finding: it is about records to "
        "come",
    }


def test_a_record_that_triggers_the_finding_is_counted(tmp_path: Path):
    _, report = run(tmp_path, ride(["CMT"]), topic(part_of({BEFORE: [CMT, HELIX, CMT]})))
    assert said(report) == {"missing-enum-symbols": "1 of 3 records triggers this finding"}


@pytest.mark.parametrize(
    ("sketch", "code"),
    [
        (topic(part_of({BEFORE: [CMT] * 3})), 0),
        (topic(part_of({BEFORE: [CMT, HELIX]})), 1),
        (topic(part_of({BEFORE: [CMT] * 3}), share=0.5), 1),
        (topic(part_of({BEFORE: [CMT] * 3}, problems={"unreadable": 1})), 1),
    ],
    ids=["no record triggers it", "a record triggers it", "a sample", "a record was not read"],
)
def test_only_what_no_record_can_trigger_is_ignored_and_only_on_request(tmp_path: Path, sketch: TopicSketch, code: int):
    assert run(tmp_path, ride(["CMT"]), sketch, "--ignore-untriggered")[0] == code
    (finding,) = json.loads((tmp_path / "sketch.json").read_text())["value"]["schemas"]
    assert finding["writer"] == "1"


def test_without_the_option_a_finding_that_no_record_triggers_fails_the_check(tmp_path: Path):
    assert run(tmp_path, ride(["CMT"]), topic(part_of({BEFORE: [CMT]})))[0] == 1


def test_records_of_a_schema_that_was_not_compared_are_reported(tmp_path: Path):
    sketch = topic(part_of({OLDEST: [{"vendor": "CMT", "payment": 1}] * 2, BEFORE: [CMT]}))
    code, report = run(tmp_path, ride(["CMT"]), sketch)
    assert code == 1
    (warning,) = [each for each in report["findings"] if each["rule"] == "unread-in-topic"]
    assert warning["severity"] == "warning"
    assert warning["text"].startswith("2 records in the topic were written with schema id 1, which was not compared")
    assert "2 of them cannot be read" in warning["text"]


def test_such_records_fail_a_check_that_ignores_what_no_record_triggers(tmp_path: Path):
    sketch = topic(part_of({OLDEST: [{"vendor": "CMT", "payment": 1}], BEFORE: [CMT]}))
    assert run(tmp_path, ride(["CMT"]), sketch, "--ignore-untriggered")[0] == 1


def test_a_sketch_is_found_by_the_name_of_the_record_too(tmp_path: Path):
    _, report = run(tmp_path, ride(["CMT"]), topic(part_of({BEFORE: [CMT]})), name="ride")
    assert said(report) == {"missing-enum-symbols": "0 of 1 record triggers this finding"}


def test_a_sketch_of_other_subjects_is_named(tmp_path: Path):
    other = part_of({ride(["CMT"]).replace("Ride", "Fare"): [CMT]})
    _, report = run(tmp_path, ride(["CMT"]), TopicSketch("fares", value=other, value_subject="fares-value"))
    assert said(report) == {"missing-enum-symbols": ""}
    assert report["note"] == "no checked file is of a subject in the sketch: fares-value"


def test_a_file_that_is_no_sketch_is_named(tmp_path: Path):
    with pytest.raises(Exception, match=r"sketch\.json is no sketch of a topic: sketchVersion is missing"):
        run(tmp_path, ride(["CMT"]), "{}")


def test_ignoring_needs_a_sketch():
    done = CliRunner().invoke(check, [".", "--ignore-untriggered"])
    assert done.exit_code == 2
    assert "needs a sketch" in done.stderr
