"""The pairs of schemas that the implementations are asked about, the same on every run.

COUNTERFOIL_DIFFERENTIAL_PAIRS says how many; ``make differential`` asks about 20,000.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, seed, settings

from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.parsed import Validation
from strategies.avro.edits import avro_pairs
from strategies.avro.seeded import seeded_pairs

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema

COUNT = int(os.environ.get("COUNTERFOIL_DIFFERENTIAL_PAIRS") or 2000)
SEED = 20_000
DRAWN_OF_TEN = 1  # this many of ten pairs are drawn by the strategy that the property tests use; it is slow

Pair = tuple[str, str]


@cache
def pairs() -> tuple[Pair, ...]:
    """``COUNT`` texts of readers and writers."""
    drawn = _drawn_pairs(COUNT * DRAWN_OF_TEN // 10)
    return (*drawn, *seeded_pairs(SEED, COUNT - len(drawn)))


@cache
def parsed_pairs() -> tuple[tuple[AvroSchema, AvroSchema], ...]:
    """The same, parsed as stored schemas are."""
    return tuple((parsed(reader), parsed(writer)) for reader, writer in pairs())


def parsed(text: str) -> AvroSchema:
    """A text, read as stored schemas are."""
    return parse_avro(text, validation=Validation.LENIENT)


def _drawn_pairs(count: int) -> list[Pair]:
    drawn: dict[Pair, None] = {}

    @seed(SEED)
    @settings(
        max_examples=count, database=None, phases=[Phase.generate], deadline=None, suppress_health_check=[*HealthCheck]
    )
    @given(avro_pairs())
    def draw(pair: Pair) -> None:
        drawn[pair] = None

    if count:
        draw()
    return list(drawn)[:count]
