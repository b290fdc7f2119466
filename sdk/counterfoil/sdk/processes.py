"""Clients and serializers in other processes: pickled, or inherited by a fork."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, Final, Self
from weakref import WeakSet


class PickledByArguments:
    """An object that is made again, of the same arguments, where it is unpickled.

    The copy has no connections, no caches and no plans, and sends its requests itself. Arguments that cannot be
    pickled, such as a local function, fail as they do everywhere.
    """

    _made_of: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *arguments: object, **options: object) -> Self:
        """Return the object, which keeps its arguments."""
        made = super().__new__(cls)
        made._made_of = (arguments, options)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how the object is made again."""
        return _made_again, (type(self), *self._made_of)


def _made_again(kind: type[Any], arguments: tuple[object, ...], options: dict[str, Any]) -> Any:
    return kind(*arguments, **options)


class Locking(ABC):
    """An object with locks: a forked process makes them anew, since the threads that held them are not in it."""

    def __init__(self) -> None:
        self.make_locks()
        _LOCKING.add(self)

    @abstractmethod
    def make_locks(self) -> None:
        """Set every lock, and every state that only other threads would end."""


_LOCKING: Final[WeakSet[Locking]] = WeakSet()


def _make_locks() -> None:
    for each in list(_LOCKING):
        each.make_locks()


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=_make_locks)
