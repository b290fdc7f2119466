"""The choices from which example values are made, within the limits that a contract promises.

They are made from a seed, or by a library that searches and shrinks. The walks over schemas are written once,
for any source of choices. A source should make the first of several options, and the number nearest to zero, its
simplest choice.

>>> SeededChoices(1).integer(5, 5)
5
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final, Protocol, TypeVar

from counterfoil.contracts.errors import NoExample
from counterfoil.schema.agreements import FieldPromise, Promise, ValueRange
from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.datum import Datum
from counterfoil.schema.paths import FieldPath, StepKind, print_path
from counterfoil.schema.patterns.samples import matching_strings

# The choices from which example values are made: from a seed, or by a library that searches and shrinks.

T = TypeVar("T")

SINGLE_BITS: Final = 32
DOUBLE_BITS: Final = 64
MAX_LENGTH: Final = 12
"""The usual largest length of texts and bytes."""

_EDGE_SHARE: Final = 0.3
"""The share of the values that are special: limits, powers of two, unusual characters."""
_NEAR: Final = 100
_WORDS: Final = (
    "",
    "a",
    "0",
    " ",
    "é",
    "e\u0301",
    "中文",
    "\U0001f600",
    "\x00",
    "\u202etxt",
    "null",
    "'\"\\\n",
    "ß",
    "İ",
)
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789-"
_REALS: Final = (
    0.0,
    -0.0,
    0.1,
    1.5,
    -1.0,
    1e-300,
    1e300,
    5e-324,
    1.7976931348623157e308,
    math.inf,
    -math.inf,
    math.nan,
)
_WHOLES: Final = (0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))


@dataclass(frozen=True, slots=True)
class ExampleShape:
    """Which examples are made.

    ``leaves_out``: without everything that may be absent. ``has_unknown_symbols``: enums have values that their readers
    do not know: :data:`UNKNOWN_SYMBOL`, or a number of Protobuf without a name.
    """

    leaves_out: bool = False
    has_unknown_symbols: bool = False


USUAL: Final = ExampleShape()
UNKNOWN_SYMBOL: Final = "UNKNOWN_TO_READERS"


class ExampleChoices(Protocol):
    """A source of choices."""

    def flag(self) -> bool:
        """Return a truth value."""

    def integer(self, low: int, high: int) -> int:
        """Return a whole number between two limits, which are included."""

    def real(self, low: float | None, high: float | None, *, bits: int) -> float:
        """Return a number of 32 or 64 bits between two limits; without limits it may be infinite or no number."""

    def text(self, *, least: int = 0, most: int | None = None) -> str:
        """Return a text with a length in characters."""

    def data(self, *, least: int = 0, most: int | None = None) -> bytes:
        """Return bytes."""

    def matching(self, pattern: str) -> str:
        """Return a text in which a regular expression is found; raise ``NoExample`` if none is known."""

    def one_of(self, options: Sequence[T]) -> T:
        """Return one of several options, of which there is at least one."""


class SeededChoices:
    """Choices from a seed: the same ones on every machine."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)  # noqa: S311 - nothing secret

    def flag(self) -> bool:
        """Return a truth value."""
        return self._random.random() < 0.5  # noqa: PLR2004 - one half

    def integer(self, low: int, high: int) -> int:
        """Return a whole number: special, small, or any."""
        edges = [number for number in (low, high, *_WHOLES) if low <= number <= high]
        if self._is_edge():
            return self._random.choice(edges)
        near = min(max(0, low), high)
        if self.flag():
            return self._random.randint(max(low, near - _NEAR), min(high, near + _NEAR))
        return self._random.randint(low, high)

    def real(self, low: float | None, high: float | None, *, bits: int) -> float:
        """Return a number: special, or any."""
        if low is None and high is None:
            found = self._random.choice(_REALS) if self._is_edge() else self._random.uniform(-1e6, 1e6)
            return single(found) if bits == SINGLE_BITS else found
        least = low if low is not None else min(-1e6, high or 0.0)
        most = high if high is not None else max(1e6, least)
        found = self._random.choice((least, most)) if self._is_edge() else self._random.uniform(least, most)
        narrow = single(found) if bits == SINGLE_BITS else found
        return narrow if least <= narrow <= most else found

    def text(self, *, least: int = 0, most: int | None = None) -> str:
        """Return a text: a special one, or letters and digits."""
        longest = max(least, MAX_LENGTH if most is None else min(most, least + MAX_LENGTH))
        words = [word for word in _WORDS if least <= len(word) <= longest]
        if words and self._is_edge():
            return self._random.choice(words)
        return "".join(self._random.choice(_LETTERS) for _ in range(self._random.randint(least, longest)))

    def data(self, *, least: int = 0, most: int | None = None) -> bytes:
        """Return bytes."""
        longest = max(least, MAX_LENGTH if most is None else min(most, least + MAX_LENGTH))
        size = self._random.randint(least, longest)
        return self._random.choice((bytes(size), b"\xff" * size)) if self._is_edge() else self._random.randbytes(size)

    def matching(self, pattern: str) -> str:
        """Return one of a few texts in which the regular expression is found."""
        found = matching_strings(pattern)
        if not found:
            raise NoExample(f"no text is known that matches {pattern}")
        return self._random.choice(found)

    def one_of(self, options: Sequence[T]) -> T:
        """Return one of several options."""
        return self._random.choice(options)

    def _is_edge(self) -> bool:
        return self._random.random() < _EDGE_SHARE


def single(number: float) -> float:
    """Return the nearest number of 32 bits; infinity for one that is too large."""
    if math.isinf(number) or math.isnan(number):
        return number
    try:
        found: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    return found


# What a contract promises of the values of each field, as limits of the examples.

MICROS: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CACHE_BYTES: Final = 1024 * 1024
_BYTES_OF_LIMITS: Final = 300


class ExampleLimits:
    """The promises of a topic by the paths of fields; branches of unions are no steps of them."""

    def __init__(self, promise: Promise | None) -> None:
        fields = promise.fields if promise is not None else ()
        self._promise_by_path = {each.path: each for each in fields}

    def at(self, path: FieldPath) -> FieldPromise | None:
        """Return the promise about a field; None if there is none."""
        return self._promise_by_path.get(tuple(step for step in path if step.kind is not StepKind.BRANCH))

    def is_required(self, path: FieldPath) -> bool:
        """Return whether a field is promised to be there."""
        found = self.at(path)
        return found is not None and found.is_required

    def range(self, path: FieldPath) -> ValueRange | None:
        """Return the promised limits of a field; None if there are none."""
        found = self.at(path)
        return found.range if found is not None and found.range.is_limited else None

    def listed(self, path: FieldPath) -> tuple[Datum, ...] | None:
        """Return the promised values of a field; None if they are not listed."""
        found = self.at(path)
        return None if found is None or found.enum is None else tuple(each.value for each in found.enum)

    def text(self, path: FieldPath, choices: ExampleChoices) -> str:
        """Return a text that the promise permits."""
        listed = self.listed(path)
        if listed is not None:
            return str(choices.one_of([*listed]))
        found = self.at(path)
        return choices.text() if found is None or found.pattern is None else choices.matching(found.pattern)

    def integer(self, path: FieldPath, choices: ExampleChoices, low: int, high: int) -> int:
        """Return a whole number between limits of its type that the promise permits."""
        listed = self.listed(path)
        if listed is not None:
            wanted = [int(each) for each in listed if isinstance(each, int | float) and low <= each <= high]
            return int(choices.one_of(_some(wanted, path)))
        least, most = whole_limits(self.range(path), low, high)
        if least > most:
            raise NoExample(f"{print_path(path)} has no value: {self.range(path)} is outside of its type")
        return choices.integer(least, most)

    def real(self, path: FieldPath, choices: ExampleChoices, *, bits: int) -> float:
        """Return a number of 32 or 64 bits that the promise permits."""
        listed = self.listed(path)
        if listed is not None:
            return float(choices.one_of(_some([each for each in listed if isinstance(each, int | float)], path)))
        limits = self.range(path)
        if limits is None:
            return choices.real(None, None, bits=bits)
        low, high = (None if one is None else float(one) for one in (limits.minimum, limits.maximum))
        if low is not None:
            low = _inwards(low, math.inf, bits, is_open=limits.is_open_below)
        if high is not None:
            high = _inwards(high, -math.inf, bits, is_open=limits.is_open_above)
        return choices.real(low, high, bits=bits)

    def day(self, path: FieldPath, choices: ExampleChoices) -> date:
        """Return a date that the promise permits."""
        first, last = self._moments(path)
        zero = _EPOCH.date()
        return zero + timedelta(days=choices.integer((first.date() - zero).days, (last.date() - zero).days))

    def moment(self, path: FieldPath, choices: ExampleChoices, *, per_second: int) -> datetime:
        """Return a time in UTC that the promise permits, in milliseconds or microseconds."""
        first, last = self._moments(path)
        unit = 1_000_000 // per_second
        low, high = -((_EPOCH - first) // MICROS // unit), (last - _EPOCH) // MICROS // unit
        return _EPOCH + timedelta(microseconds=choices.integer(low, high) * unit)

    def clock(self, path: FieldPath, choices: ExampleChoices, *, per_second: int) -> time:
        """Return a time of day that the promise permits."""
        limits, unit = self.range(path), 1_000_000 // per_second
        day = timedelta(days=1) // MICROS
        bounds = [None if limits is None else _clock_micros(each) for each in _ends(limits)]
        low, high = bounds[0] or 0, day - 1 if bounds[1] is None else bounds[1]
        micros = choices.integer(-(-low // unit), high // unit) * unit
        return (datetime.min + timedelta(microseconds=micros)).time()  # noqa: DTZ901 - a time of day has no zone

    def _moments(self, path: FieldPath) -> tuple[datetime, datetime]:
        low, high = (_moment(each) for each in _ends(self.range(path)))
        return (
            low or datetime(1, 1, 2, tzinfo=UTC),
            high or datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=UTC),
        )


def _bytes_of(found: tuple[int, int], limits: ValueRange | None, *_: int) -> int:
    texts = [end for end in _ends(limits) if isinstance(end, str)]
    return _BYTES_OF_LIMITS + sum(map(len, texts)) + sum(each.bit_length() // 4 for each in found)


@cached_by_size(_CACHE_BYTES, size_of=_bytes_of)
def whole_limits(limits: ValueRange | None, low: int, high: int, *, scale: int = 0) -> tuple[int, int]:
    """Return the limits of whole numbers, which are those of a range in units of ``10 ** -scale``."""
    least, most = _ends(limits)
    factor = 10**scale
    if isinstance(least, int | float | str) and (found := _fraction(least)) is not None:
        first = math.ceil(found * factor)
        low = max(low, first + (limits is not None and limits.is_open_below and first == found * factor))
    if isinstance(most, int | float | str) and (found := _fraction(most)) is not None:
        last = math.floor(found * factor)
        high = min(high, last - (limits is not None and limits.is_open_above and last == found * factor))
    return low, high


def _ends(limits: ValueRange | None) -> tuple[Datum, Datum]:
    return (None, None) if limits is None else (limits.minimum, limits.maximum)


def _fraction(limit: float | str) -> Fraction | None:
    try:
        return Fraction(Decimal(str(limit)))
    except (InvalidOperation, ValueError, OverflowError):
        return None


def _inwards(limit: float, towards: float, bits: int, *, is_open: bool) -> float:
    """Return the nearest number of the type inside a limit."""
    if bits == SINGLE_BITS:
        while (single(limit) < limit if towards > 0 else single(limit) > limit) or (is_open and single(limit) == limit):
            limit, is_open = _next_single(limit, towards), False
        return single(limit)
    return math.nextafter(limit, towards) if is_open else limit


def _next_single(number: float, towards: float) -> float:
    step = max(abs(number) * 2.0**-23, 2.0**-149)
    return single(number + math.copysign(step, towards))


def _moment(limit: object) -> datetime | None:
    if not isinstance(limit, str):
        return None
    try:
        found = datetime.fromisoformat(limit)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _clock_micros(limit: object) -> int | None:
    try:
        found = time.fromisoformat(limit) if isinstance(limit, str) else None
    except ValueError:
        return None
    if found is None:
        return None
    return ((found.hour * 60 + found.minute) * 60 + found.second) * 1_000_000 + found.microsecond


def _some(options: Sequence[object], path: FieldPath) -> Sequence[Datum]:
    if not options:
        raise NoExample(f"{print_path(path)} has no value: none of those that are listed is of its type")
    return options
