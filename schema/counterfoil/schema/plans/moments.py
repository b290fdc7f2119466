"""Points in time, dates, times of day and durations as each other and as numbers of a unit: units, zones, rounding.

======================  ==============================================================================================
number                  counts units of ``unit``: since 1970 in UTC for a point in time, since midnight for a time of
                        day. Beside a ``zone`` it is a point in time
point in time           ``timestamp-*``, ``date-time``: in UTC
local                   ``local-timestamp-*``: what the clock of some zone shows; a date is one, too
time of day, duration   have no zone
======================  ==============================================================================================

A conversion between a point in time and a local one needs a zone. One to a larger unit needs a rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final

from counterfoil.schema.datum import Datum
from counterfoil.schema.plans import FailureCode, shown
from counterfoil.schema.plans.casts import CastRefused, bytes_of_scaled, decimal_of, is_beyond
from counterfoil.schema.plans.model import Cast, Op, Recount, Rounding, Scalar, Shift
from counterfoil.schema.plans.moment_words import NANOS_BY_UNIT, MomentWords
from counterfoil.schema.plans.notation import NANOS_RANGE, offset_minutes, zone_of
from counterfoil.schema.plans.rounding import rounded_ratio
from counterfoil.schema.plans.types import NUMERIC, casts, is_instant, range_of, ticks_per_second, widens

_SECOND: Final = NANOS_BY_UNIT["seconds"]
_NAME_BY_NANOS: Final = {nanos: f"a {unit.rstrip('s')}" for unit, nanos in NANOS_BY_UNIT.items()} | {
    1: "a nanosecond", 1_000: "a microsecond", 1_000_000: "a millisecond", 3_600 * _SECOND: "an hour",
}  # fmt: skip
_NANOS: Final = Scalar("timestamp-nanos", "long", is_wide=True)
_DATE: Final = Scalar("date", "int")
_LONG: Final = Scalar("long", "long")
_DOUBLE: Final = Scalar("double", "double")
_SECONDS_RANGE: Final = NANOS_RANGE[0] // _SECOND, NANOS_RANGE[1] // _SECOND
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES_OF_DAY: Final = frozenset({"time-millis", "time-micros"})


class MomentKind(StrEnum):
    """What a value says about time."""

    NUMBER = "number"
    INSTANT = "point in time"
    LOCAL = "local time"
    DATE = "date"
    TIME = "time of day"
    DURATION = "duration"


@dataclass(frozen=True, slots=True)
class ConvertedMoment:
    """The operation, and what is lost, as a clause; empty if nothing is."""

    op: Op
    loss: str = ""


class MomentRefused(Exception):
    """A conversion that a rule does not say enough about, or too much; ``text`` is a sentence."""

    def __init__(self, text: str, *, is_loss: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.is_loss = is_loss


def moment_kind(scalar: Scalar) -> MomentKind | None:
    """Return what values of a type say about time; a number or a text may count units."""
    word = scalar.word
    if word in {"date", "full-date"}:
        return MomentKind.DATE
    if word in _TIMES_OF_DAY:
        return MomentKind.TIME
    if word == "duration-nanos":
        return MomentKind.DURATION
    if word == "date-time" or is_instant(scalar):
        return MomentKind.LOCAL if word.startswith("local-") else MomentKind.INSTANT
    return MomentKind.NUMBER if word in {*NUMERIC, "decimal", "string"} else None


_INSTANT, _LOCAL, _DAY = MomentKind.INSTANT, MomentKind.LOCAL, MomentKind.DATE
_PAIRS: Final = frozenset(
    {
        *((one, other) for one in (_INSTANT, _LOCAL, _DAY) for other in (_INSTANT, _LOCAL, _DAY)),
        *(
            (one, other)
            for one in (MomentKind.TIME, MomentKind.DURATION)
            for other in (MomentKind.TIME, MomentKind.DURATION)
        ),
    }
)
_MAY_HAVE_ZONE: Final = frozenset({_LOCAL, _DAY})


def as_moment(op: Op, source: Scalar, target: Scalar, words: MomentWords) -> ConvertedMoment | None:
    """Return the conversion of a time that a rule asks for; None if it is another conversion, or none.

    Raise ``MomentRefused`` where the rule must say more, or says what has no effect.
    """
    one, other = moment_kind(source), moment_kind(target)
    if one is None or other is None or one is other is MomentKind.NUMBER or source == target:
        return None
    kinds = one, other
    if MomentKind.NUMBER not in kinds and kinds not in _PAIRS:
        return None
    if words.unit is None and "string" in {source.word, target.word}:
        return None  # a text is a number only where a unit says so
    if not words.are_given and (casts(source, target) or widens(source, target)):
        return None
    _check_unit(kinds, source, target, words)
    _check_zone(kinds, source, target, words)
    chain = _Chain(op, source, words)
    chain.enter(target)
    chain.shift(target)
    chain.leave(target)
    return chain.finished(target)


def known_loss(source: Scalar, target: Scalar) -> str:
    """Return what is lost by a cast of times that needs no word, as a clause; empty if nothing is."""
    if source.word == "date-time" and is_instant(target):
        return _NO_OFFSET
    if is_instant(source) and is_instant(target) and nanos_of(target) > nanos_of(source):
        return f"what is smaller than {_NAME_BY_NANOS[nanos_of(target)]} is not kept (floor)"
    return ""


_NO_OFFSET: Final = "the offset is not kept"
_MULTIPLES: Final = frozenset({"int", "long", "uint32", "uint64", "double", "decimal"})
"""The types that the multiple of a number may have."""


def as_multiple(op: Op, source: Scalar, target: Scalar, words: MomentWords) -> ConvertedMoment | None:
    """Return a number that a rule multiplies, exactly; None if it multiplies none. Raise ``MomentRefused``."""
    if words.times is None:
        return None
    is_number = moment_kind(source) is moment_kind(target) is MomentKind.NUMBER
    if not is_number or target.word not in _MULTIPLES or (words.unit, words.zone) != (None, None):
        raise MomentRefused(f"times has no effect on {source} as {target}; leave it out")
    ratio = Fraction(words.times) * (10**target.scale if target.word == "decimal" else 1)
    may_lose = target.word != "double" and (source.word in _MAY_HAVE_DIGITS or ratio.denominator > 1)
    if source.word == "decimal" and target.word != "double":
        may_lose = (ratio / 10**source.scale).denominator > 1
    if may_lose and words.rounding is None:
        text = f"{source} times {words.times} as {target} may lose digits; say how it is rounded, such as"
        raise MomentRefused(f"{text} rounding: half-up, or rounding: exact, so that it is an error", is_loss=True)
    if words.rounding is not None and not may_lose:
        raise MomentRefused(f"rounding has no effect on {source} as {target}; leave it out")
    made = Recount(op, source, target, ratio.numerator, ratio.denominator, words.rounding or Rounding.EXACT)
    is_cut = may_lose and words.rounding is not Rounding.EXACT
    return ConvertedMoment(made, f"digits that {target} has not are not kept" if is_cut else "")


def _check_unit(kinds: tuple[MomentKind, MomentKind], source: Scalar, target: Scalar, words: MomentWords) -> None:
    if MomentKind.NUMBER not in kinds:
        if words.unit is not None:
            raise MomentRefused(f"unit has no effect on {source} as {target}; leave it out")
    elif words.unit is None:
        raise MomentRefused(f"{source} as {target} needs the unit of the number, such as unit: millis", is_loss=True)


def _check_zone(kinds: tuple[MomentKind, MomentKind], source: Scalar, target: Scalar, words: MomentWords) -> None:
    one, other = kinds
    frames = {_is_local(kind) for kind in kinds if kind is not MomentKind.NUMBER}
    is_needed = len(frames) > 1 and None not in frames
    may_have = MomentKind.NUMBER in kinds and (_LOCAL in kinds or other is _DAY)
    may_have = may_have or (target.word == "date-time" and one in {_INSTANT, MomentKind.NUMBER})
    if is_needed and words.zone is None:
        raise MomentRefused(f"{source} as {target} needs a zone, such as zone: Europe/Paris", is_loss=True)
    if words.zone is not None and not (is_needed or may_have):
        raise MomentRefused(f"zone has no effect on {source} as {target}; leave it out")


def _is_local(kind: MomentKind) -> bool | None:
    """Return whether it is what a clock shows, and not a point in time; None for what has no zone."""
    return {_INSTANT: False, _LOCAL: True, _DAY: True}.get(kind)


def nanos_of(scalar: Scalar) -> int:
    """Return how many nanoseconds a unit of a time has."""
    if scalar.word == "date":
        return NANOS_BY_UNIT["days"]
    return 1 if scalar.word == "duration-nanos" else _SECOND // ticks_per_second(scalar)


def _counted(scalar: Scalar) -> Scalar:
    """Return the type of the numbers of a time; of a text, that of what it means."""
    return {"date-time": _NANOS, "full-date": _DATE}.get(scalar.word, scalar)


def _instant_of(scalar: Scalar) -> Scalar:
    """Return the point in time of the unit of a time; of a date, and of what has none, the smallest unit."""
    return _framed(scalar, is_local=False) if is_instant(scalar) else _NANOS


class _Chain:
    """The steps from one time to another, as they are found."""

    def __init__(self, op: Op, source: Scalar, words: MomentWords) -> None:
        self._op = op
        self._first = source
        self._now = source
        self._words = words
        self._losses: list[str] = []
        self._is_rounded = False
        self._is_day = False

    def enter(self, target: Scalar) -> None:
        """Take a text as what it means, and a number as what it counts."""
        source, kind, wanted = self._now, moment_kind(self._now), moment_kind(target)
        self._is_day = wanted is _DAY and (kind is not MomentKind.NUMBER or self._words.zone is not None)
        if source.word == "full-date":
            self._op, self._now = Cast(self._op, source, _DATE), _DATE
        elif source.word == "date-time":
            self._read_text(_instant_of(target))
        elif kind is MomentKind.NUMBER:
            has_zone = self._words.zone is not None and wanted in _MAY_HAVE_ZONE
            self._recount(_instant_of(target) if has_zone else _counted(target), _unit(self._words), None)

    def _read_text(self, made: Scalar) -> None:
        rounding = self._words.rounding
        if self._is_day and rounding is None:
            rounding = Rounding.FLOOR
        self._is_rounded = self._words.rounding is not None
        self._op = Cast(self._op, self._now, made, rounding=None if rounding is Rounding.EXACT else rounding)
        self._losses.append(_NO_OFFSET)
        self._now = made

    def shift(self, target: Scalar) -> None:
        """Go from a point in time to what a clock shows, or back."""
        kind, wanted = moment_kind(self._now), moment_kind(target)
        if kind is None or wanted is None or self._words.zone is None:
            return
        is_local = _is_local(kind)
        is_wanted_local = False if wanted is MomentKind.NUMBER else _is_local(wanted)
        if is_local is None or is_wanted_local is None or is_local == is_wanted_local:
            return
        if self._now.word == "date":
            unit = target if wanted is _INSTANT and target.word != "date-time" else _NANOS
            self._recount(_framed(unit, is_local=True), None, None)
        made = _framed(self._now, is_local=is_wanted_local)
        self._op = Shift(self._op, self._now, made, self._words.zone, is_local)
        if not is_local and wanted is _LOCAL and offset_minutes(self._words.zone) is None:
            self._losses.append("of an hour that the clock shows twice it is not kept which one it was")
        self._now = made

    def leave(self, target: Scalar) -> None:
        """Make the target's number or text of what was counted."""
        if moment_kind(target) is MomentKind.NUMBER:
            self._as_number(target)
            return
        counted = _counted(target) if target.word != "date-time" else self._now
        if counted != self._now:
            self._recount(counted, None, None)
        if target.word == "date-time":
            self._op = Cast(self._op, self._now, target, zone=_written(self._words.zone))
        elif target.word == "full-date":
            self._op = Cast(self._op, self._now, target)
        self._now = target

    def _as_number(self, target: Scalar) -> None:
        unit, word = _unit(self._words), target.word
        if word == "string":
            self._recount(_LONG, None, unit)
            self._op = Cast(self._op, _LONG, target)
        elif word in {"float", "number"} and not (word == "number" and nanos_of(self._now) % unit == 0):
            self._recount(_DOUBLE, None, unit)
            self._op = Cast(self._op, _DOUBLE, target)
        else:
            self._recount(_LONG if word == "number" else target, None, unit)
        self._now = target

    def _recount(self, target: Scalar, from_unit: int | None, to_unit: int | None) -> None:
        source = self._now
        one, other = from_unit or nanos_of(source), to_unit or nanos_of(target)
        scale = 10**target.scale if target.word == "decimal" else 1
        ratio = Fraction(one * scale, other)
        up, down = ratio.numerator, ratio.denominator
        is_exact = target.base == "double" or (down == 1 and source.word not in _MAY_HAVE_DIGITS)
        rounding = Rounding.EXACT if is_exact else self._rounding(target, other)
        self._op = Recount(self._op, source, target, up, down, rounding)
        self._now = target

    def _rounding(self, target: Scalar, unit: int) -> Rounding:
        """Return how a result that is not whole is rounded, which the rule says; a date needs no word for it."""
        given, name = self._words.rounding, _NAME_BY_NANOS[unit]
        if target.word == "decimal":
            name = f"{target.scale} decimals of {name}"
        if given is None and not self._is_day:
            text = (
                f"{self._first} as {target} may lose what is smaller than {name}; say how it is rounded, such as "
                "rounding: floor, or rounding: exact, so that such a value is an error"
            )
            raise MomentRefused(text, is_loss=True)
        self._is_rounded = True
        rounding = given or Rounding.FLOOR
        if rounding is Rounding.EXACT:
            self._losses.append(f"a value with a part of {name} is cast-failed")
        elif self._is_day:
            self._losses.append("the time of day is not kept")
        else:
            self._losses.append(f"what is smaller than {name} is not kept ({rounding.value})")
        return rounding

    def finished(self, target: Scalar) -> ConvertedMoment:
        """Return the conversion; a rounding without anything to round is refused."""
        if self._words.rounding is not None and not self._is_rounded:
            raise MomentRefused(f"rounding has no effect on {self._first} as {target}; leave it out")
        return ConvertedMoment(self._op, "; ".join(dict.fromkeys(self._losses)))


_MAY_HAVE_DIGITS: Final = frozenset({"float", "double", "number", "decimal", "string"})


def _unit(words: MomentWords) -> int:
    return NANOS_BY_UNIT[words.unit or "nanos"]


def _written(zone: str | None) -> str | None:
    """Return the zone in which a text is written; None for UTC, as for texts without a zone."""
    return None if zone in {None, "UTC", "Z", "+00:00", "-00:00"} else zone


def _framed(scalar: Scalar, *, is_local: bool) -> Scalar:
    """Return the type of the same unit that is local, or not."""
    word = scalar.word.removeprefix("local-")
    return replace(scalar, word=f"local-{word}" if is_local else word)


def moment_of_text(op: Op, scalar: Scalar) -> tuple[Op, Scalar]:
    """Return what a ``date-time`` or ``full-date`` means, as an operation and its type; others as they are."""
    made = _counted(scalar)
    return (op, scalar) if made is scalar else (Cast(op, scalar, made), made)


def meant_by_text(scalar: Scalar) -> Scalar:
    """Return the type of what a ``date-time`` or ``full-date`` means; others as they are."""
    return _counted(scalar)


# The meaning of the operations.


def recounted(op: Recount, value: Datum) -> Datum:
    """Return the number of other units. Raises ``CastRefused``."""
    numerator, denominator = _ratio(op, value)
    if op.target.base == "double":
        return _double(numerator, denominator, value)
    made = rounded_ratio(numerator, denominator, op.rounding)
    if made is None:
        raise CastRefused(FailureCode.CAST_FAILED, f"{shown(value)} is no whole number of units of {op.target}")
    if op.target.word == "decimal":
        return bytes_of_scaled(made, shown(value), op.target)
    low, high = limits_of(op.target)
    if not low <= made <= high:
        raise CastRefused(FailureCode.OUT_OF_RANGE, f"{shown(value)} does not fit {op.target}")
    return made


def limits_of(scalar: Scalar) -> tuple[int, int]:
    """Return the smallest and the largest number of a time: a time of day is within a day."""
    if scalar.word in _TIMES_OF_DAY:
        return 0, 86_400 * ticks_per_second(scalar) - 1
    return range_of(scalar)


def _ratio(op: Recount, value: Datum) -> tuple[int, int]:
    if op.source.base in {"int", "long", "uint64"}:
        return value * op.up, op.down
    number: Decimal = decimal_of(value, op.source)
    if is_beyond(number):
        raise CastRefused(FailureCode.OUT_OF_RANGE, f"{shown(value)} does not fit {op.target}")
    ratio = Fraction(number) * op.up / op.down
    return ratio.numerator, ratio.denominator


def _double(numerator: int, denominator: int, value: Datum) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        raise CastRefused(FailureCode.OUT_OF_RANGE, f"{shown(value)} does not fit double") from None


def shifted(op: Shift, value: int) -> int:
    """Return a point in time as a clock shows it, or back. Raises ``CastRefused``."""
    ticks = ticks_per_second(op.source)
    seconds, rest = divmod(value, ticks)
    made = seconds + _offset(op, seconds, value)
    _check_years(made, value)
    number = made * ticks + rest
    low, high = range_of(op.target)
    if not low <= number <= high:
        raise CastRefused(FailureCode.OUT_OF_RANGE, f"{value} does not fit {op.target}")
    return number


def _offset(op: Shift, seconds: int, value: int) -> int:
    """Return the seconds that are added: those by which the clock is ahead, or their negative."""
    _check_years(seconds, value)
    zone, utc = zone_of(op.zone), _EPOCH + timedelta(seconds=seconds)
    try:
        moment = utc.replace(tzinfo=zone) if op.is_back else utc.astimezone(zone)
        offset = moment.utcoffset() or timedelta()
    except (OverflowError, ValueError):
        raise _out_of_years(value) from None
    return math.floor(offset.total_seconds()) * (-1 if op.is_back else 1)


def _check_years(seconds: int, value: int) -> None:
    if not _SECONDS_RANGE[0] <= seconds <= _SECONDS_RANGE[1]:
        raise _out_of_years(value)


def _out_of_years(value: int) -> CastRefused:
    return CastRefused(FailureCode.OUT_OF_RANGE, f"{value} is not in the years 1 to 9999")
