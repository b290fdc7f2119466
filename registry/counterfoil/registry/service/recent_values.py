"""Memory for what was used last."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class RecentValues(Generic[_K, _V]):
    """The values used last, up to a total weight; the one unused for longest goes first."""

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
        """The total weight of what is remembered."""
        return self._weight

    def get(self, key: _K) -> _V | None:
        """Return the value of ``key``, which is then the last used; None when it is not remembered."""
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: _K, value: _V, *, weight: int) -> None:
        """Remember ``value``."""
        self.drop(key)
        self._entries[key] = (value, weight)
        self._weight += weight
        while self._weight > self._max_weight:
            _, (_, gone) = self._entries.popitem(last=False)
            self._weight -= gone

    def drop(self, key: _K) -> None:
        """Forget ``key``."""
        found = self._entries.pop(key, None)
        if found is not None:
            self._weight -= found[1]
