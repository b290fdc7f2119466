"""The choices from which example values are made: from a seed, or by a library that searches and shrinks.

The walks over schemas are written once, for any source of choices. A source should make the first of several options,
and the number nearest to zero, its simplest choice.

>>> SeededChoices(1).integer(5, 5)
5
"""

from __future__ import annotations

import math
import random
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from counterfoil.contracts.errors import NoExample
from counterfoil.schema.formats.jsonschema.read.matching import matching_strings

if TYPE_CHECKING:
    from collections.abc import Sequence

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
class Shape:
    """Which examples are made.

    ``leaves_out``: without everything that may be absent. ``has_unknown_symbols``: enums have values that their readers
    do not know: :data:`UNKNOWN_SYMBOL`, or a number of Protobuf without a name.
    """

    leaves_out: bool = False
    has_unknown_symbols: bool = False


USUAL: Final = Shape()
UNKNOWN_SYMBOL: Final = "UNKNOWN_TO_READERS"


class Choices(Protocol):
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
