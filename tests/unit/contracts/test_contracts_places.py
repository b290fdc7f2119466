"""Every finding stands at the line that a reviewer would point to, and is called by the element there.

The cases are thousands; a run takes some of them, and all of them where ``COUNTERFOIL_EXAMPLES`` is set.
"""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

import pytest

import place_cases_avro as avro
import place_cases_json as json_schema
import place_cases_protobuf as protobuf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from place_cases import PlaceCase

AVRO = [*chain(avro.cases(), avro.dependants(), avro.tables(), avro.moved(), avro.layouts())]
PROTOBUF = [*chain(protobuf.cases(), protobuf.dependants(), protobuf.files(), protobuf.moved(), protobuf.tables())]
JSON = [*chain(json_schema.cases(), json_schema.dependants(), json_schema.tables())]
ALL = bool(os.environ.get("COUNTERFOIL_EXAMPLES"))
PARTS = 6
"""How many tests share the cases of a language; each case by itself takes less time than a test."""


def some(cases: list[PlaceCase], stride: int) -> list[PlaceCase]:
    """Each of the cases, or one of ``stride``; strides are prime, so that every rule and place has its turn."""
    return cases if ALL else cases[::stride]


def wrong(cases: Iterable[PlaceCase]) -> list[str]:
    found = ((case, case.places()) for case in cases)
    return [f"{case.name}: {case.expected}, not {places}" for case, places in found if case.expected not in places]


@pytest.mark.parametrize("part", range(PARTS))
def test_findings_in_avro_stand_where_they_belong(part: int):
    assert wrong(some(AVRO, 7)[part::PARTS]) == []


@pytest.mark.parametrize("part", range(PARTS))
def test_findings_in_protobuf_stand_where_they_belong(part: int):
    assert wrong(some(PROTOBUF, 3)[part::PARTS]) == []


@pytest.mark.parametrize("part", range(PARTS))
def test_findings_in_json_schemas_stand_where_they_belong(part: int):
    assert wrong(some(JSON, 29)[part::PARTS]) == []


def test_the_cases_are_many():
    assert (len(AVRO), len(PROTOBUF), len(JSON)) == (1758, 454, 5361)
