"""Our texts, guids and verdicts on validity against those of the reference registry, recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Reference, ResolvedReference
from strategies.cases.each_case import by_id, check_each

RECORDINGS = Path(__file__).parents[3] / "data" / "recordings" / "canonical.protobuf.jsonl"
RECORDS = [json.loads(line) for line in RECORDINGS.read_text(encoding="ascii").splitlines()]
SIDES = ("plain", "normalized")

# Where we differ on purpose, since the reference changes what a reader gets: docs/decisions/0005.
WANTED_BY_ID = {
    "5f5428b4e63d3a1e": ("the default 1e-7 stays; the reference makes it 0", "default = 1e-7", "default = 0"),
}


def _references(record: dict[str, Any]) -> list[ResolvedReference]:
    return [
        ResolvedReference(Reference(each["name"], each["subject"], each["version"]), each["schema"])
        for each in record.get("references", ())
    ]


def _answer(record: dict[str, Any], key: str, side: str) -> tuple[int, str]:
    try:
        schema = parse_protobuf(record[key], _references(record))
    except SchemaParseError as error:
        return error.status, ""
    return 200, schema.canonical() if side == "plain" else schema.normalized()


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
def test_status_text_and_guid_are_the_references(side: str) -> None:
    def check(record: dict[str, Any]) -> None:
        expected = record[side]
        status, text = _answer(record, "schema", side)
        assert status == expected["status"]
        if side == "normalized" and record["id"] in WANTED_BY_ID:
            _, ours, theirs = WANTED_BY_ID[record["id"]]
            assert text == expected["schema"].replace(theirs, ours)
            assert text != expected["schema"]
        elif status == 200:
            assert text == expected["schema"]
            references = [each.reference for each in _references(record)]
            assert str(content_guid(text, references)) == expected["guid"]

    check_each(by_id(RECORDS), check)


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
def test_another_spelling_is_the_same_content_where_the_reference_says_so(side: str) -> None:
    def check(record: dict[str, Any]) -> None:
        expected = record[side]["again"]
        status, text = _answer(record, "again", side)
        assert status == expected["status"]
        if expected["version"] == 1:
            assert text == _answer(record, "schema", side)[1]
        else:
            assert text == expected["schema"]
            assert text != _answer(record, "schema", side)[1]

    check_each(by_id(record for record in RECORDS if "again" in record[side]), check)


@pytest.mark.slow
def test_a_stored_text_is_read_again_as_itself() -> None:
    def check(record: dict[str, Any]) -> None:
        for side in SIDES:
            _, text = _answer(record, "schema", side)
            again = parse_protobuf(text, _references(record))
            assert (again.canonical() if side == "plain" else again.normalized()) == text

    check_each(by_id(record for record in RECORDS if record["plain"]["status"] == 200), check)


def test_the_recordings_hold_what_this_file_thinks() -> None:
    assert len(RECORDS) == 278
    assert sum(record["plain"]["status"] == 200 for record in RECORDS) == 253
    assert set(WANTED_BY_ID) <= {record["id"] for record in RECORDS}
