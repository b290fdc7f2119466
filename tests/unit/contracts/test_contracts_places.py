"""Every finding stands at the line that a reviewer would point to, and is called by the element there."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest

import place_cases_avro as avro
import place_cases_json as json_schema
import place_cases_protobuf as protobuf

if TYPE_CHECKING:
    from place_cases import PlaceCase

AVRO = [*chain(avro.cases(), avro.dependants(), avro.tables(), avro.moved(), avro.layouts())]
PROTOBUF = [*chain(protobuf.cases(), protobuf.dependants(), protobuf.files(), protobuf.moved(), protobuf.tables())]
JSON = [*chain(json_schema.cases(), json_schema.dependants(), json_schema.tables())]
PARTS = 12
"""How many tests share the cases of a language; each case by itself takes less time than a test."""


def _wrong(cases: list[PlaceCase], part: int) -> list[str]:
    return [
        f"{case.name}: {case.expected}, not {places}"
        for case in cases[part::PARTS]
        if case.expected not in (places := case.places())
    ]


@pytest.mark.parametrize("part", range(PARTS))
def test_findings_in_avro_stand_where_they_belong(part: int):
    assert _wrong(AVRO, part) == []


@pytest.mark.parametrize("part", range(PARTS))
def test_findings_in_protobuf_stand_where_they_belong(part: int):
    assert _wrong(PROTOBUF, part) == []


@pytest.mark.parametrize("part", range(PARTS))
def test_findings_in_json_schemas_stand_where_they_belong(part: int):
    assert _wrong(JSON, part) == []


def test_the_cases_are_many():
    assert (len(AVRO), len(PROTOBUF), len(JSON)) == (1758, 454, 5361)
