"""Random conversions of times beside their meaning, written from the page about casts with datetime and fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    import random

SECONDS_BY_UNIT: Final = {
    "nanos": Fraction(1, 10**9), "micros": Fraction(1, 10**6), "millis": Fraction(1, 1000), "seconds": Fraction(1),
    "minutes": Fraction(60), "hours": Fraction(3600), "days": Fraction(86400),
}  # fmt: skip
ROUNDINGS: Final = ("floor", "ceiling", "down", "up", "half-up", "half-down", "half-even", "exact")
ZONES: Final = (
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "+05:30",
    "-11:45",
    "Pacific/Apia",
)
MOMENTS: Final = {
    f"{local}timestamp-{unit}": unit for local in ("", "local-") for unit in ("millis", "micros", "nanos")
} | {"date": "days"}
NUMBERS: Final = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1), "double": None}
FIRST, LAST = -62_135_596_800, 253_402_300_799


class Failed(Exception):
    """A value without a result; its argument is the code."""


@dataclass(frozen=True)
class Trial:
    """A conversion: the types of Avro, and the words of the rule beside ``from`` and ``cast``."""

    source: str
    target: str
    words: dict[str, str]

    @property
    def rule(self) -> dict[str, str]:
        return {"cast": self.target, **self.words}


def rounded(value: Fraction, rounding: str) -> int:
    """Return a number as a whole one."""
    below = math.floor(value)
    if value == below:
        return below
    if rounding == "exact":
        raise Failed("cast-failed")
    nearest = round(value)  # half to even
    is_tie = value - below == Fraction(1, 2)
    away, toward = (below + 1, below) if value > 0 else (below, below + 1)
    return {
        "floor": below,
        "ceiling": below + 1,
        "down": toward,
        "up": away,
        "half-even": nearest,
        "half-up": away if is_tie else nearest,
        "half-down": toward if is_tie else nearest,
    }[rounding]


def zone(name: str) -> Any:
    if name == "UTC":
        return UTC
    if "/" in name:
        return ZoneInfo(name)
    hours, minutes = map(int, name[1:].split(":"))
    return timezone(timedelta(hours=hours, minutes=minutes) * (-1 if name[0] == "-" else 1))


def clock(seconds: Fraction, name: str, *, is_back: bool) -> Fraction:
    """Return seconds since 1970 as a clock shows them, or those of what a clock shows."""
    whole = math.floor(seconds)
    if not FIRST <= whole <= LAST:
        raise Failed("out-of-range")
    try:
        if is_back:
            shown = datetime(1970, 1, 1) + timedelta(seconds=whole)  # noqa: DTZ001 - what a clock shows
            offset = shown.replace(tzinfo=zone(name)).utcoffset()
        else:
            offset = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=whole)).astimezone(zone(name)).utcoffset()
    except OverflowError:
        raise Failed("out-of-range") from None
    assert offset is not None
    made = seconds + (-1 if is_back else 1) * Fraction(int(offset.total_seconds()))
    if not FIRST <= math.floor(made) <= LAST:
        raise Failed("out-of-range")
    return made


def is_local(word: str) -> bool:
    return word == "date" or word.startswith("local-")


def meaning(trial: Trial, value: Any) -> Any:
    """Return the result of a conversion. Raises ``Failed``."""
    name, rounding = trial.words.get("zone"), trial.words.get("rounding", "exact")
    if trial.source in NUMBERS:
        if isinstance(value, float):
            if not math.isfinite(value):
                raise Failed("cast-failed")
            value = Decimal(repr(value))
        seconds = Fraction(value) * SECONDS_BY_UNIT[trial.words["unit"]]
        from_local = False if name else is_local(trial.target)
    else:
        seconds = value * SECONDS_BY_UNIT[MOMENTS[trial.source]]
        from_local = is_local(trial.source)
    to_local = is_local(trial.target) if trial.target in MOMENTS else (False if name else from_local)
    if trial.target in MOMENTS and trial.source in NUMBERS and trial.target != "date":
        unit = SECONDS_BY_UNIT[MOMENTS[trial.target]]  # a number is rounded before a zone is looked at
        seconds = rounded(seconds / unit, rounding) * unit
        _check(seconds / unit, "long")
    if name and from_local != to_local:
        seconds = _moved(trial, seconds, name, from_local=from_local)
    if trial.target == "double":
        return float(seconds / SECONDS_BY_UNIT[trial.words["unit"]])
    if trial.target in NUMBERS:
        return _check(rounded(seconds / SECONDS_BY_UNIT[trial.words["unit"]], rounding), trial.target)
    is_day = trial.target == "date" and (trial.source not in NUMBERS or name)
    is_unit = trial.source in MOMENTS and not trial.words and is_local(trial.source) == is_local(trial.target)
    if (is_day or is_unit) and "rounding" not in trial.words:
        rounding = "floor"
    made = rounded(seconds / SECONDS_BY_UNIT[MOMENTS[trial.target]], rounding)
    return _check(made, "int" if trial.target == "date" else "long")


def _moved(trial: Trial, seconds: Fraction, name: str, *, from_local: bool) -> Fraction:
    """Return what another clock shows: in 64 bits of the unit of its own type, of a date in that of the other one."""
    moved = trial.target if trial.source in {"date", *NUMBERS} else trial.source
    unit = SECONDS_BY_UNIT["nanos" if moved == "date" else MOMENTS[moved]]
    has_limit = moved != "date"
    if has_limit:
        _check(seconds / unit, "long")
    made = clock(seconds, name, is_back=from_local)
    return _check(made / unit, "long") * unit if has_limit else made


def _check(number: Any, word: str) -> Any:
    low, high = NUMBERS[word]  # type: ignore[misc]
    if not low <= number <= high:
        raise Failed("out-of-range")
    return number


def trials(rng: random.Random) -> Trial:
    """Return a conversion with the words that it needs, and a rounding."""
    source, target = rng.choice([*MOMENTS, *NUMBERS]), rng.choice([*MOMENTS, *NUMBERS])
    if (source in NUMBERS and target in NUMBERS) or source == target:
        return trials(rng)
    words: dict[str, str] = {}
    if source in NUMBERS or target in NUMBERS:
        words["unit"] = rng.choice([*SECONDS_BY_UNIT])
    is_shifted = source in MOMENTS and target in MOMENTS and is_local(source) != is_local(target)
    may_be_shifted = source in NUMBERS and is_local(target)
    if is_shifted or (may_be_shifted and rng.random() < 0.5):
        words["zone"] = rng.choice(ZONES)
    return Trial(source, target, words)


def values(rng: random.Random, word: str) -> Any:
    """Return a value of a type, of the years 1 to 9999 or beyond, or next to a change of clocks."""
    if word == "double":
        return rng.choice(
            [0.1, -0.5, 1.5, -2.5, 1e300, 1e-300, float("nan"), 1700000000.123456, rng.uniform(-1e9, 2e9)]
        )
    unit = {"int": "seconds", "long": "seconds"}.get(word) or MOMENTS[word]
    ticks = int(1 / SECONDS_BY_UNIT[unit]) if unit != "days" else 1
    changes = [1711846800, 1711850400, 1729990800, 1729994400, 1325239200, 1712415600, 0, -1, FIRST, LAST, -(2**33)]
    second = rng.choice([*changes, rng.randrange(-(10**10), 2 * 10**11)]) + rng.randrange(-7200, 7200)
    if unit == "days":
        return rng.choice([0, -1, date(2024, 2, 29).toordinal() - 719163, -719162, 2932896, 2**31 - 1, second // 86400])
    made = second * ticks + rng.choice([0, 0, ticks // 2, ticks - 1, rng.randrange(ticks)])
    low, high = (-(2**31), 2**31 - 1) if word == "int" else (-(2**63), 2**63 - 1)
    return min(max(made, low), high) if rng.random() < 0.9 else rng.choice([low, high])
