"""Levels: which earlier versions are asked, in which direction and order."""

from __future__ import annotations

import doctest
import json
from itertools import count
from typing import TYPE_CHECKING

import pytest

from counterfoil.schema import judgement as check
from counterfoil.schema.compatibility.policies import CompatibilityLevel, Direction
from counterfoil.schema.compatibility.report import Earlier
from counterfoil.schema.judgement import SCHEMA_TYPE_CHANGED, check_compatibility
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.languages.avro.schema import AvroSchema


class ForeignSchema:
    """A schema of a language that this test does not need to read."""

    schema_type = SchemaType.JSON
    text = name = "{}"

    def canonical(self) -> str:
        return self.text


def fields(**default_by_name: int | None) -> AvroSchema:
    listed = [
        {"name": name, "type": "int"} | ({} if default is None else {"default": default})
        for name, default in default_by_name.items()
    ]
    return parse_avro(json.dumps({"type": "record", "name": "R", "fields": listed}))


BARE, REQUIRED, DEFAULTED = fields(a=None), fields(a=None, b=None), fields(a=None, b=1)

# candidate, earlier: what reads what
BACKWARD_ONLY = (BARE, REQUIRED)
FORWARD_ONLY = (REQUIRED, BARE)
BOTH = (DEFAULTED, BARE)
NEITHER = (fields(c=None), BARE)

ALLOWED = {
    "NONE": (True, True, True, True),
    "BACKWARD": (True, False, True, False),
    "FORWARD": (False, True, True, False),
    "FULL": (False, False, True, False),
}


@pytest.mark.parametrize("level", CompatibilityLevel)
def test_each_level_allows_what_it_says(level: CompatibilityLevel):
    verdicts = tuple(
        check_compatibility(candidate, [Earlier(earlier)], level).is_compatible
        for candidate, earlier in (BACKWARD_ONLY, FORWARD_ONLY, BOTH, NEITHER)
    )
    assert verdicts == ALLOWED[level.removesuffix("_TRANSITIVE")]


@pytest.mark.parametrize("level", CompatibilityLevel)
def test_a_subject_without_versions_takes_anything(level: CompatibilityLevel):
    report = check_compatibility(BARE, [], level)
    assert report.is_compatible
    assert report.checked == 0


def test_a_plain_level_asks_the_latest_version_alone():
    asked: list[int] = []
    report = check_compatibility(REQUIRED, history([REQUIRED, BARE], asked), CompatibilityLevel.BACKWARD)
    assert report.is_compatible
    assert (report.checked, asked) == (1, [2])


def test_a_transitive_level_asks_every_version_newest_first():
    asked: list[int] = []
    report = check_compatibility(
        DEFAULTED, history([DEFAULTED, REQUIRED, BARE], asked), CompatibilityLevel.FULL_TRANSITIVE
    )
    assert report.is_compatible
    assert (report.checked, asked) == (3, [3, 2, 1])


def test_a_transitive_level_stops_at_the_first_version_that_fails():
    asked: list[int] = []
    newest_first = [REQUIRED, BARE, BARE, REQUIRED]
    report = check_compatibility(REQUIRED, history(newest_first, asked), CompatibilityLevel.BACKWARD_TRANSITIVE)
    assert [failure.earlier.version for failure in report.failures] == [3]
    assert (report.checked, asked) == (2, [4, 3])


def test_under_none_the_history_is_not_read():
    asked: list[int] = []
    assert check_compatibility(NEITHER[0], history([BARE], asked), CompatibilityLevel.NONE).is_compatible
    assert asked == []


def history(newest_first: list[AvroSchema], asked: list[int]) -> Iterator[Earlier]:
    for version, schema in zip(count(len(newest_first), -1), newest_first, strict=False):
        asked.append(version)
        yield Earlier(schema, version)


def test_under_full_the_earlier_schema_reads_first():
    candidate, earlier = NEITHER
    report = check_compatibility(candidate, [Earlier(earlier, 1)], CompatibilityLevel.FULL)
    assert [failure.direction for failure in report.failures] == [Direction.FORWARD, Direction.BACKWARD]
    assert [(failure.reader, failure.writer) for failure in report.failures] == [
        (earlier, candidate),
        (candidate, earlier),
    ]
    assert [failure.differences[0].detail for failure in report.failures] == ["a", "c"]


def test_another_language_fails_under_every_level_but_none():
    for level in CompatibilityLevel:
        report = check_compatibility(BARE, [Earlier(ForeignSchema(), 1)], level)
        rules = [difference.rule for failure in report.failures for difference in failure.differences]
        assert rules == ([] if level is CompatibilityLevel.NONE else [SCHEMA_TYPE_CHANGED.id])


def test_the_examples_in_docstrings_hold():
    tried = doctest.testmod(check)
    assert (tried.attempted > 0, tried.failed) == (True, 0)
