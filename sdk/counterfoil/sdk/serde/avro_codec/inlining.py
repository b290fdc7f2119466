"""Which parts of a schema become functions of their own, and which are written in place.

A record that contains itself must be a function. A record that takes many lines is one, so that the code is not longer
than in proportion to the schema; everything else is written in place, which is fastest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MAX_WEIGHT: Final = 60


class Inlining:
    """The decision for every node of the graph under ``root``; only nodes that ``is_record`` become functions."""

    def __init__(
        self, root: Any, *, children_of: Callable[[Any], Sequence[Any]], is_record: Callable[[Any], bool]
    ) -> None:
        self._root = root
        self._children_of = children_of
        self._is_record = is_record
        self._recursive = {id(one) for one in _reachable([root], children_of) if is_record(one) and self._returns(one)}
        self._weights: dict[int, int] = {}

    def is_function(self, node: Any) -> bool:
        """Return whether the node becomes a function that is called."""
        return id(node) in self._recursive or (self._is_record(node) and self._weight(node) > _MAX_WEIGHT)

    def _returns(self, node: Any) -> bool:
        return any(one is node for one in _reachable(self._children_of(node), self._children_of))

    def _weight(self, node: Any) -> int:
        """Return about how many lines the node takes in place, where each call counts as one."""
        if id(node) not in self._weights:
            self._weights[id(node)] = 1  # for a recursive node, which is called
            inner = sum(self._cost(one) for one in self._children_of(node))
            self._weights[id(node)] = 1 + inner
        return self._weights[id(node)]

    def _cost(self, node: Any) -> int:
        weight = self._weight(node)
        return 1 if self.is_function(node) else weight


def _reachable(start: Sequence[Any], children_of: Callable[[Any], Sequence[Any]]) -> list[Any]:
    found: dict[int, Any] = {}
    rest = list(start)
    while rest:
        one = rest.pop()
        if id(one) not in found:
            found[id(one)] = one
            rest.extend(children_of(one))
    return list(found.values())
