"""Caches of recently used values, and caches of functions that are bounded by bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable


# A cache of recently used values.

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


# Caches of functions that are bounded by bytes, since callers choose how large arguments and results are.
#
# ``functools.lru_cache`` bounds the number of entries alone. It is right where every argument and every result is
# small; elsewhere a caller could fill the memory with a few large ones.

_P = ParamSpec("_P")
_R = TypeVar("_R")

_LARGEST_SHARE = 4
"""A result that takes more than this part of a cache's bytes is not cached."""


def cached_by_size(
    max_bytes: int, *, size_of: Callable[..., int], keeps_large: bool = False
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that caches the most recently used results of a function, up to ``max_bytes`` together.

    ``size_of`` is called with the result and the arguments, and returns the bytes that they take, at least about. The
    arguments are positional and can be hashed. With ``keeps_large``, a result that takes more than its part of the
    bytes is cached as well: the last two, since a comparison has two directions. Threads may share the function.

    >>> @cached_by_size(1000, size_of=lambda result, text: len(text))
    ... def shout(text):
    ...     return text.upper()
    >>> shout("a"), shout("a") is shout("a")
    ('A', True)
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        known: RecentValues[Any, tuple[_R]] = RecentValues(max_bytes)
        lock = threading.Lock()

        @wraps(function)
        def cached(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            key = (args, *kwargs.items()) if kwargs else args
            with lock:
                found = known.get(key)
            if found is not None:
                return found[0]
            result = function(*args, **kwargs)
            size = size_of(result, *args)
            if keeps_large or size <= max_bytes // _LARGEST_SHARE:
                with lock:
                    known.put(key, (result,), weight=min(size, max_bytes // 2))
            return result

        return cached

    return decorate


def cached_if_short(entries: int, *, longest: int) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that caches ``entries`` results of a function; none of a first argument beyond ``longest``.

    The first argument has a length, and the size of a result is that of the arguments, or constant: so the cache is
    bounded by ``entries`` times ``longest``.

    >>> @cached_if_short(2, longest=3)
    ... def shout(text):
    ...     return text.upper()
    >>> shout("abc"), shout("abcd")
    ('ABC', 'ABCD')
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        remembered = cast("Callable[_P, _R]", lru_cache(maxsize=entries)(function))

        @wraps(function)
        def cached(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if len(cast("Any", args[0])) <= longest:
                return remembered(*args, **kwargs)
            return function(*args, **kwargs)

        return cached

    return decorate


class Attempt(Generic[_R]):
    """A call that is made once, when its result is first needed; if it raises ``refusal``, that is raised each time.

    A ``cached_property`` would make the call again for each use after a refusal.

    >>> calls = []
    >>> attempt = Attempt(lambda: calls.append(1) or int("x"), ValueError)
    >>> for _ in range(2):
    ...     try:
    ...         attempt.result()
    ...     except ValueError:
    ...         print(len(calls))
    1
    1
    """

    def __init__(self, call: Callable[[], _R], refusal: type[Exception]) -> None:
        self._call = call
        self._refusal = refusal
        self._done: tuple[_R] | None = None
        self._refused: Exception | None = None

    def result(self) -> _R:
        """Return the call's result, or raise its refusal."""
        if self._refused is not None:
            raise self._refused.with_traceback(None)
        if self._done is None:
            try:
                self._done = (self._call(),)
            except self._refusal as refused:
                self._refused = refused
                raise
        return self._done[0]
