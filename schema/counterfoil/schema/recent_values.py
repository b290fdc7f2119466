"""A cache of recently used values."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class RecentValues(Generic[_K, _V]):
    """The most recently used values, up to a total weight; the least recently used is removed first."""

    def __init__(self, max_weight: int) -> None:
        self._max_weight = max_weight
        self._weight = 0
        self._entries: OrderedDict[_K, tuple[_V, int]] = OrderedDict()

    def __contains__(self, key: _K) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def weight(self) -> int:
        """The total weight of the cached values."""
        return self._weight

    def get(self, key: _K) -> _V | None:
        """Return the value of ``key`` and mark it as used; None when it is not cached."""
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: _K, value: _V, *, weight: int) -> None:
        """Store ``value``."""
        self.drop(key)
        self._entries[key] = (value, weight)
        self._weight += weight
        while self._weight > self._max_weight:
            _, (_, gone) = self._entries.popitem(last=False)
            self._weight -= gone

    def drop(self, key: _K) -> None:
        """Remove ``key``."""
        found = self._entries.pop(key, None)
        if found is not None:
            self._weight -= found[1]
