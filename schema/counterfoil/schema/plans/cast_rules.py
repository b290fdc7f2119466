"""The words of a rule about the type of its value: the cast, its decimals, unit, zone and rounding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from counterfoil.schema.plans import PlanError, shown
from counterfoil.schema.plans.model import Rounding
from counterfoil.schema.plans.moment_words import NANOS_BY_UNIT, NO_WORDS, MomentWords
from counterfoil.schema.plans.notation import MAX_DECIMALS, check_zone

CAST_WORDS: Final = frozenset({"cast", "decimals", "rounding", "times", "unit", "zone"})
"""The words that say how a value becomes the type of the target."""
_BESIDE_CAST: Final = ("decimals", "rounding", "times", "unit", "zone")
_MOST_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class CastRule:
    """The type to convert to, by name, and how: the decimals of a number, the unit, the zone, the rounding."""

    to: str
    decimals: int | None = None
    moment: MomentWords = NO_WORDS


def parse_cast(given: Mapping[str, object], spelt: str) -> CastRule | None:
    """Return the cast of a rule; raise ``PlanError`` for words that cannot be read."""
    for word in _BESIDE_CAST:
        if word in given and "cast" not in given:
            raise PlanError(
                f"{word} has no cast beside it",
                field=spelt,
                expected="cast: and a type, such as cast: string",
                word=word,
            )
    if "cast" not in given:
        return None
    if not isinstance(given["cast"], str):
        raise PlanError(f"cast: {shown(given['cast'])} is no type", field=spelt, expected="such as cast: float")
    decimals = given.get("decimals")
    if decimals is not None and (
        isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= MAX_DECIMALS
    ):
        raise PlanError(
            f"decimals: {shown(decimals)}", field=spelt, expected=f"a number from 0 to {MAX_DECIMALS}", word="decimals"
        )
    words = MomentWords(_unit(given, spelt), _zone(given, spelt), rounding_of(given, spelt), _times(given, spelt))
    return CastRule(given["cast"], decimals, words)


def _times(given: Mapping[str, object], spelt: str) -> Decimal | None:
    """Return what a number is multiplied by, exactly as it is written."""
    if "times" not in given:
        return None
    times = given["times"]
    if not isinstance(times, bool) and isinstance(times, int | float) and math.isfinite(times) and times > 0:
        made = Decimal(repr(times))
        if max(abs(made.adjusted()), -int(made.as_tuple().exponent)) <= _MOST_DIGITS:
            return made
    raise PlanError(
        f"times: {shown(times)}",
        field=spelt,
        expected=f"a positive number of at most {_MOST_DIGITS} digits",
        word="times",
    )


def rounding_of(given: Mapping[str, object], spelt: str) -> Rounding | None:
    """Return the rounding of a rule."""
    if "rounding" not in given:
        return None
    words = [each.value for each in Rounding]
    if given["rounding"] not in words:
        raise PlanError(
            f"rounding: {shown(given['rounding'])}", field=spelt, expected=f"one of {', '.join(words)}", word="rounding"
        )
    return Rounding(given["rounding"])


def _unit(given: Mapping[str, object], spelt: str) -> str | None:
    unit = given.get("unit")
    if unit is None or (isinstance(unit, str) and unit in NANOS_BY_UNIT):
        return unit
    raise PlanError(f"unit: {shown(unit)}", field=spelt, expected=f"one of {', '.join(NANOS_BY_UNIT)}", word="unit")


def _zone(given: Mapping[str, object], spelt: str) -> str | None:
    if "zone" not in given:
        return None
    try:
        return check_zone(str(given["zone"]), field=spelt)
    except PlanError as error:
        error.word = "zone"
        raise
