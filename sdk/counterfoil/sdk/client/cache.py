"""The client's cache, and one call at a time for each key that is not in it.

A :class:`Cache` is bounded, removes the least recently used entry first, and may give entries a time to live. Its
:meth:`Cache.fetch` is a script: the first caller of a missing key makes the call, other callers of the same key wait
for its result, and callers of other keys do not wait.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from counterfoil.schema.errors import RegistryError
from counterfoil.sdk.processes import Locking
from counterfoil.sdk.script import JoinFlight, Script

if TYPE_CHECKING:
    from concurrent.futures import Future


V = TypeVar("V")

MAX_CHARS: Final = 32 * 1024 * 1024
"""The largest number of characters of all values of one cache; the last one stays, whatever its size."""


class _Abandoned(Exception):
    """The caller that made the call was interrupted, so one of the waiting callers makes the call."""


class Cache(Locking, Generic[V]):
    """Values by key, shared by threads and tasks.

    ``ttl_s`` is how long a value is used, in seconds; None is without a limit. Registry errors of the class
    ``remembers`` are cached as well, for ``missing_ttl_s`` seconds, so that an unknown id does not cause a request for
    every message. ``size_of`` returns the characters of a value whose size others choose; all values together have at
    most ``MAX_CHARS``.
    """

    def __init__(
        self,
        capacity: int,
        clock: Callable[[], float],
        *,
        ttl_s: float | None = None,
        remembers: type[RegistryError] | None = None,
        missing_ttl_s: float = 0.0,
        size_of: Callable[[V], int] = lambda _: 0,
    ) -> None:
        self._values = _Bounded[V](capacity, clock, size_of)
        self._missing = _Bounded["RegistryError"](capacity, clock, lambda _: 0)
        self._ttl_s = ttl_s
        self._remembers = remembers
        self._missing_ttl_s = missing_ttl_s
        super().__init__()

    def make_locks(self) -> None:
        """Make the lock; no call is running, as far as this process is concerned."""
        self._flights: dict[Hashable, Future[V]] = {}
        self._lock = threading.Lock()

    def fetch(self, key: Hashable, call: Callable[[], Script[V]]) -> Script[V]:
        """Return the value of ``key``, from the cache or from ``call``; raise the errors of the call."""
        while True:
            with self._lock:
                found = self._values.get(key)
                if found is not None:
                    return found
                missing = self._missing.get(key)
                if missing is not None:
                    raise type(missing)(missing.message, status=missing.status, code=missing.code)
                flight = self._flights.get(key)
                if flight is None:
                    own = self._flights[key] = _new_flight()
            if flight is None:
                return (yield from self._lead(key, own, call))
            try:
                joined: V = yield JoinFlight(flight)
            except _Abandoned:
                continue
            return joined

    def _lead(self, key: Hashable, flight: Future[V], call: Callable[[], Script[V]]) -> Script[V]:
        try:
            value = yield from call()
        except BaseException as error:
            self._crash(key, flight, error)
            raise
        with self._lock:
            if self._leaves(key, flight):
                self._values.put(key, value, self._ttl_s)
        flight.set_result(value)
        return value

    def _crash(self, key: Hashable, flight: Future[V], error: BaseException) -> None:
        with self._lock:
            if self._leaves(key, flight) and self._remembers is not None and isinstance(error, self._remembers):
                self._missing.put(key, error, self._missing_ttl_s)
        flight.set_exception(error if isinstance(error, Exception) else _Abandoned())

    def _leaves(self, key: Hashable, flight: Future[V]) -> bool:
        """Remove the running call.

        Return false when its key was removed during the call, so that its result is not cached.
        """
        if self._flights.get(key) is not flight:
            return False
        del self._flights[key]
        return True

    def put(self, key: Hashable, value: V) -> None:
        """Store a value that another call returned."""
        with self._lock:
            self._missing.drop(lambda other: other == key)
            self._values.put(key, value, self._ttl_s)

    def forget(self, concerns: Callable[[Hashable], bool] = lambda _: True) -> None:
        """Remove the keys for which ``concerns`` is true, by default all.

        The results of running calls are not cached either.
        """
        with self._lock:
            self._values.drop(concerns)
            self._missing.drop(concerns)
            for key in [key for key in self._flights if concerns(key)]:
                del self._flights[key]

    def forget_missing(self) -> None:
        """Remove the cached errors."""
        with self._lock:
            self._missing.drop(lambda _: True)

    def __len__(self) -> int:
        return len(self._values)


def _new_flight() -> Future[Any]:
    """Return a call that is running; its parts are loaded with the first one, since they load logging."""
    from concurrent.futures import Future

    return Future()


class _Bounded(Generic[V]):
    """A bounded map that removes the least recently used entries first and ignores expired ones. Not thread-safe."""

    def __init__(self, capacity: int, clock: Callable[[], float], size_of: Callable[[V], int]) -> None:
        self._capacity = capacity
        self._clock = clock
        self._size_of = size_of
        self._chars = 0
        self._entries: OrderedDict[Hashable, tuple[V, float | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> V | None:
        """Return the value, or None."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        value, expires_at = entry
        if expires_at is not None and self._clock() >= expires_at:
            self._remove(key)
            return None
        self._entries.move_to_end(key)
        return value

    def put(self, key: Hashable, value: V, ttl_s: float | None) -> None:
        """Store the value, and remove the least recently used entries when there is no room."""
        self._remove(key)
        self._entries[key] = (value, None if ttl_s is None else self._clock() + ttl_s)
        self._chars += self._size_of(value)
        while len(self._entries) > self._capacity or (self._chars > MAX_CHARS and len(self._entries) > 1):
            self._remove(next(iter(self._entries)))

    def drop(self, concerns: Callable[[Hashable], bool]) -> None:
        """Remove the entries of the keys for which ``concerns`` is true."""
        for key in [key for key in self._entries if concerns(key)]:
            self._remove(key)

    def _remove(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._chars -= self._size_of(entry[0])
