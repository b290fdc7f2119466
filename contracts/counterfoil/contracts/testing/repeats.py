"""Values that occur more than once in a window of time, found with digests of them."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.contracts.testing.tally import Place

MOST_KEYS: Final = 1_000_000
"""How many different values are kept, for all windows together: about 100 MB."""


def digest_of(values: tuple[Any, ...]) -> int:
    """Return a number of 64 bits for values; equal values have the same in every process."""
    return int.from_bytes(blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


class Key(NamedTuple):
    """The values of one record, as a digest, with its timestamp in milliseconds and its place."""

    digest: int
    moment_ms: int | None
    place: Place


def window_start(moment_ms: int | None, length_ms: int) -> int | None:
    """Return the start of the window of a moment; 0 for windows of no length, None without a moment.

    >>> window_start(5_500, 1_000), window_start(None, 0)
    (5000, 0)
    """
    if not length_ms:
        return 0
    return None if moment_ms is None else moment_ms // length_ms * length_ms


class RepeatedKeys(Protocol):
    """What keys are added to: they are compared, or collected."""

    @property
    def is_crowded(self) -> bool:
        """Whether keys had to be forgotten that may occur again."""

    def add(self, keys: Iterable[Key]) -> list[tuple[int, int]]:
        """Add keys; return those that were there before: their numbers, and the starts of their windows."""


class Repeats:
    """The values of one rule; windows begin at multiples of ``window_ms``, and 0 is one window for all records."""

    def __init__(self, window_ms: int, *, most_keys: int = MOST_KEYS) -> None:
        self._window_ms = window_ms
        self._most_keys = most_keys
        self._seen: dict[int, set[int]] = {}
        self._keys = 0
        self.is_crowded = False
        """Whether keys had to be forgotten that may occur again."""

    def add(self, keys: Iterable[Key]) -> list[tuple[int, int]]:
        """Add keys; return those that were there before: their numbers, and the starts of their windows."""
        repeated = []
        for number, key in enumerate(keys):
            start = window_start(key.moment_ms, self._window_ms)
            if start is None:
                continue
            seen = self._seen.setdefault(start, set())
            if key.digest in seen:
                repeated.append((number, start))
                continue
            seen.add(key.digest)
            self._keys += 1
            if self._keys > self._most_keys:
                self._forget()
        return repeated

    def _forget(self) -> None:
        """Forget the oldest window."""
        oldest = min(self._seen)
        self._keys -= len(self._seen.pop(oldest))
        self.is_crowded = True
