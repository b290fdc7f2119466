"""Every finding stands at the line that a reviewer would point to, and is called by the element there.

The cases are thousands; a run takes some of them, and all of them where ``COUNTERFOIL_EXAMPLES`` is set.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest

from strategies.cases.depth import IS_DEEP, some_of
from strategies.cases.each_case import check_each
from strategies.places import avro, json_schema, protobuf, seeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from strategies.places.cases import PlaceCase

AVRO = (avro.cases, avro.dependants, avro.tables, avro.moved, avro.layouts)
PROTOBUF = (protobuf.cases, protobuf.dependants, protobuf.files, protobuf.moved, protobuf.tables)
JSON = (json_schema.cases, json_schema.dependants, json_schema.tables)


# Strides are prime, so that every rule and place has its turn.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("makers", "count", "stride"),
    [(AVRO, 1758, 11), (PROTOBUF, 454, 3), (JSON, 5361, 61)],
    ids=["Avro", "Protobuf", "JSON Schema"],
)
def test_findings_stand_where_they_belong(
    makers: Iterable[Callable[[], Iterable[PlaceCase]]], count: int, stride: int
) -> None:
    cases = [*chain.from_iterable(make() for make in makers)]
    assert len(cases) == count
    check_each(((case.name, case) for case in some_of(cases, stride)), check_place)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["Avro", "JSON Schema", "Protobuf"])
def test_findings_of_seeded_changes_stand_at_the_changed_line(language: str) -> None:
    """The generator knows the line; every policy and both directions are asked, and every finding counts."""
    seeds = range(400 if IS_DEEP else 40)
    changes = {
        "Avro": lambda: (make(seed) for seed in seeds for make in (seeded.avro_change, seeded.avro_without_a_field)),
        "JSON Schema": lambda: some_of([*seeded.json_changes()], 5),
        "Protobuf": lambda: map(seeded.protobuf_change, seeds),
    }
    misplaced = [each for change in changes[language]() for each in change.misplaced()]
    assert misplaced == []


def check_place(case: PlaceCase) -> None:
    assert case.expected in case.places()
