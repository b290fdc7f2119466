"""What consumers read of generated schemas: a yes only where libraries of other projects read what was written.

The judge decodes records of the writer (:mod:`strategies.fleets.meaning`); it knows nothing of the product. The other
way round, a no has a record that breaks the consumer, or is one that documents leave open.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema import SchemaType, parse_schema
from counterfoil.schema.agreements import RULE_BY_ID, Expectation, ExpectedRead, OnUnknownEnum
from counterfoil.schema.agreements.findings import Offer, Reader
from counterfoil.schema.paths import parse_path
from counterfoil.schema.texts import Position
from strategies.contracts.read_judgements import judged_change
from strategies.fleets.changes import Drawing
from strategies.fleets.languages import LANGUAGES
from strategies.fleets.meaning import Reading, misses_of
from strategies.fleets.shapes import places, printed, shapes_of
from strategies.fleets.story import FieldRead

if TYPE_CHECKING:
    from strategies.fleets.shapes import Shape

AT = Position(1, 1)
LONG_RUN = 400


@dataclass(frozen=True)
class Question:
    """A consumer, the schema with which it reads, and the schema of what is written now."""

    reader: Shape
    writer: Shape
    reads: tuple[FieldRead, ...] | None
    is_declared: bool
    mode: str


def is_usable(shape: Shape) -> bool:
    """Return whether a drawn schema is one: no name is that of two fields, or of two types."""
    types: dict[str, Shape] = {}
    for each in shapes_of(shape):
        names = [one.name for one in each.fields]
        if len(names) != len(set(names)):
            return False
        known = types.setdefault(each.name, each) if each.name else each
        if (known.kind, known.fields, known.symbols) != (each.kind, each.fields, each.symbols):
            return False
    return True


def drawn(seed: int, language: str) -> Question | None:
    """Return the question of a seed; None where a drawn schema cannot be used."""
    random = Random(f"{seed} {language}")
    drawing = Drawing(random, language, LANGUAGES[language].kinds)
    earlier = later = drawing.record()
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        later = drawing.changed(later)
    is_declared = random.random() < 0.4
    reader = drawing.changed(earlier) if is_declared and random.random() < 0.35 else earlier
    found = list(places(reader))
    chosen = sorted(random.sample(found, min(len(found), random.randint(1, 3))))
    reads = None if random.random() < 0.2 else tuple(FieldRead(each, random.random() < 0.3) for each in chosen)
    mode = random.choice(("", "", "", "fail", "default", "pass"))
    asked = Question(reader, later, reads, is_declared, mode)
    return asked if is_usable(reader) and is_usable(later) else None


def is_refused(asked: Question, language: str) -> tuple[bool, list[str]]:
    """Return whether the product finds a break, and all of its sentences."""
    schema_type, text = SchemaType[language], LANGUAGES[language].text
    reads = None
    if asked.reads is not None:
        reads = tuple(
            ExpectedRead(parse_path(printed(each.path)), AT, is_required=each.is_required) for each in asked.reads
        )
    handled = OnUnknownEnum(asked.mode) if asked.mode else None
    expectation = Expectation("orders", "orders", "1", AT, reads, on_unknown_enum=handled)
    schema = parse_schema(text(asked.reader), schema_type)
    reader = Reader("ui", expectation, schema=schema if asked.is_declared else None)
    earlier = None if asked.is_declared else Offer(schema)
    found = judged_change(earlier, Offer(parse_schema(text(asked.writer), schema_type)), [reader])
    return any(RULE_BY_ID[each.rule].is_breaking for each in found), [each.text for each in found]


def check(seed: int, language: str) -> None:
    asked = drawn(seed, language)
    if asked is None:
        return
    missed = misses_of(Reading(language, asked.reader, asked.reads, asked.is_declared, asked.mode), asked.writer)
    certain = {key: example for key, example in missed.certain.items() if not key[1].startswith("unit:")}
    refused, texts = is_refused(asked, language)
    about = f"seed {seed}, {language}: {asked}\n{certain}\n{texts}"
    assert refused or not certain, about
    assert not refused or missed.all, about


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
@given(st.integers(0, 10**9))
def test_a_consumer_that_is_not_broken_reads_every_record(language: str, seed: int) -> None:
    check(seed, language)


@pytest.mark.long
@pytest.mark.parametrize("language", LANGUAGES)
def test_many_consumers_that_are_not_broken_read_every_record(language: str) -> None:
    for seed in range(LONG_RUN):
        check(seed, language)
