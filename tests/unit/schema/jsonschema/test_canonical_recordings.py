"""Our texts, guids and verdicts on validity against those of the reference registry, recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.model import Reference, ResolvedReference
from strategies.cases.each_case import by_id, check_each

DATA = Path(__file__).parents[3] / "data" / "recordings"
RECORDS = [json.loads(line) for line in (DATA / "canonical.json.jsonl").read_text(encoding="ascii").splitlines()]
SIDES = ("plain", "normalized")

# Where we refuse on purpose, since the reference changes or drops what was sent: docs/decisions/0006.
REFUSED_BY_ID = {
    "051e727fca6a26a0": ('NaN is no JSON; the reference makes it the string "NaN"', "unexpected 'NaN}'"),
    "4d5c490b676b43b1": ('NaN is no JSON; the reference makes it the string "NaN"', "unexpected 'NaN}'"),
    "6ad8d7f5f5f12d68": ("half a surrogate pair, which no UTF-8 text can carry", "half of a surrogate pair"),
    "91375e3e46359783": ("a comment after the schema; the reference drops it", "text after the end of the schema"),
    "cb04fa485f7bb01e": ("a brace too many; the reference drops it", "text after the end of the schema"),
    "f5d38075db344dd6": ("a comment after the schema; the reference drops it", "text after the end of the schema"),
}


def _references(record: dict[str, Any]) -> list[ResolvedReference]:
    return [
        ResolvedReference(Reference(one["name"], one["subject"], one["version"]), one["schema"])
        for one in record.get("references", [])
    ]


def _answer(record: dict[str, Any], spelling: str, side: str) -> tuple[int, str]:
    try:
        schema = parse_json_schema(record[spelling], _references(record))
    except InvalidSchema as error:
        return error.status, str(error)
    return 200, schema.canonical() if side == "plain" else schema.normalized()


@pytest.mark.parametrize("side", SIDES)
def test_status_text_and_guid_are_the_references(side: str) -> None:
    def check(record: dict[str, Any]) -> None:
        expected = record[side]
        status, text = _answer(record, "schema", side)
        if record["id"] in REFUSED_BY_ID:
            assert (status, expected["status"]) == (422, 200)
            assert REFUSED_BY_ID[record["id"]][1] in text
            return
        assert status == expected["status"]
        if status == 200:
            references = [reference.reference for reference in _references(record)]
            assert text == expected["schema"]
            assert str(content_guid(text, references)) == expected["guid"]

    check_each(by_id(RECORDS), check)


@pytest.mark.parametrize("side", SIDES)
def test_another_spelling_is_the_same_content_where_the_reference_says_so(side: str) -> None:
    def check(record: dict[str, Any]) -> None:
        expected = record[side]["again"]
        status, text = _answer(record, "again", side)
        assert status == expected["status"]
        if status == 200:
            assert (text == _answer(record, "schema", side)[1]) == (expected["version"] == 1)
            assert text == expected.get("schema", text)

    check_each(by_id(record for record in RECORDS if "again" in record[side]), check)


def test_what_is_refused_is_refused_with_its_place() -> None:
    def check(record: dict[str, Any]) -> None:
        with pytest.raises(InvalidSchema) as caught:
            parse_json_schema(record["schema"], _references(record))
        error: Any = caught.value
        assert error.position is not None
        assert error.expected

    check_each(by_id(record for record in RECORDS if record["plain"]["status"] != 200), check)


@pytest.mark.slow
def test_the_verdicts_recordings_hold_only_schemas_that_are_read() -> None:
    lines = (DATA / "verdicts.json.jsonl").read_text(encoding="ascii").splitlines()
    texts = {json.loads(line)[side] for line in lines for side in ("reader_or_new", "writer_or_old")}
    whole = [text for text in texts if '"$ref":"' not in text.replace(" ", "")]
    assert len(whole) > 1000
    for text in whole:
        parse_json_schema(text)


def test_the_recordings_hold_what_this_file_thinks() -> None:
    assert len(RECORDS) == 360
    assert set(REFUSED_BY_ID) <= {record["id"] for record in RECORDS}
