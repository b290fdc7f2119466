"""Plans, made once for all later messages: how to write to a topic, how to read a prefix, and their renewal."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from counterfoil.schema.errors import CounterfoilError
from counterfoil.sdk.errors import RegistryUnavailable
from counterfoil.sdk.processes import Locking

if TYPE_CHECKING:
    import asyncio
    from uuid import UUID

    from counterfoil.schema.datum import Datum
    from counterfoil.schema.model import Schema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.codec import Decode, Encode, RowSource
    from counterfoil.sdk.serde.rules.plans import ReadRules, WriteRules
    from counterfoil.sdk.serde.sources import RegistrySource


# Plans, which are made once and used for all later messages: how to write to a topic, how to read a prefix.
#
# Plans are in plain dictionaries that are replaced and never changed, so that looking one up takes no lock.

V = TypeVar("V")
K = TypeVar("K", bound=Hashable)

CAPACITY: Final = 10_000
"""How many plans of one kind a serializer keeps; of more, the oldest are removed."""

MAX_CHARS: Final = 16 * 1024 * 1024
"""The largest number of characters of the schemas in the keys of one table; the last plan stays, whatever its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePlan:
    """A plan: used until ``expires_s`` by the serializer's clock, and resolved again from ``due_s`` on."""

    due_s: float = math.inf
    expires_s: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan(MessagePlan):
    """How to write to one subject: ``encode(value, prefix)``, and the header that holds the id, if any.

    ``rules`` are those that run when values are written, if there are any; they replace ``encode``.
    """

    encode: Encode
    prefix: bytes
    header: tuple[str, bytes] | None
    subject: str
    schema_id: int
    rules: WriteRules | None = None


def _ignored(count: int) -> None:
    del count


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan(MessagePlan):
    """How to read data of one schema: ``decode(data, offset)``; ``row_source()`` makes rows of tables.

    ``rules`` are those that run when messages are read, if there are any; they replace ``decode``. They belong to one
    topic: a plan that is used for all topics has ``needs_topic`` instead.

    ``note_rows`` is called with the number of rows that were added to a table.

    ``schema_id`` is the id in the frame, if it has one. ``schema`` is None for a deserializer without a registry, and
    so is ``guid``, unless it is in the frame. ``reader`` is the schema of the values, if it is another one.
    """

    decode: Decode
    row_source: Callable[[], RowSource]
    offset: int
    schema: Schema | None
    record_name: str | None
    schema_id: int | None
    guid: UUID | None
    reader: Schema | None = None
    rules: ReadRules | None = None
    needs_topic: bool = False
    note_rows: Callable[[int], object] = _ignored

    @property
    def is_direct(self) -> bool:
        """Whether ``decode`` is all that a message needs."""
        return self.rules is None and not self.needs_topic


class PlanTable(Locking, Generic[K, V]):
    """Plans by key. ``found`` is the dictionary to read; for a missing key call :meth:`resolve`."""

    def __init__(self) -> None:
        self.found: dict[K, V] = {}
        self._chars = 0
        super().__init__()

    def make_locks(self) -> None:
        """Make the locks; no plan is being built, as far as this process is concerned."""
        self._guard = Lock()
        self._lock_by_key: dict[K, Lock] = {}

    def resolve(self, key: K, build: Callable[[], V]) -> V:
        """Return the plan of ``key``, built by one thread while others that need it wait; other keys do not wait."""
        with self._guard:
            lock = self._lock_by_key.setdefault(key, Lock())
        try:
            with lock:
                plan = self.found.get(key)
                return self.put(key, build()) if plan is None else plan
        finally:
            with self._guard:
                self._lock_by_key.pop(key, None)

    def put(self, key: K, plan: V) -> V:
        """Store the plan, replacing an earlier one."""
        with self._guard:
            found = {**self.found, key: plan}
            if len(found) > CAPACITY:
                found = dict(islice(found.items(), len(found) // 10, None))
            self._chars += 0 if key in self.found else _chars_of(key)
            if self._chars > MAX_CHARS:
                found = _newest(found)
            if len(found) <= len(self.found):
                self._chars = sum(map(_chars_of, found))
            self.found = found
        return plan

    def clear(self) -> None:
        """Remove every plan."""
        with self._guard:
            self.found = {}
            self._chars = 0


def _newest(found: dict[K, V]) -> dict[K, V]:
    """Return the newest half of the plans by the characters of their keys, or the last one alone."""
    kept: list[K] = []
    chars = 0
    for key in reversed(found):
        chars += _chars_of(key)
        if kept and chars > MAX_CHARS // 2:
            break
        kept.append(key)
    return {key: found[key] for key in reversed(kept)}


def _chars_of(key: object) -> int:
    """Return the characters of the schemas in a key; a plan takes memory in proportion to them."""
    if isinstance(key, tuple):
        return sum(map(_chars_of, key))
    return len(key) if isinstance(key, str) else 0


# Plans that are made of a subject's latest version, and are made again after a time, without letting messages wait.
#
# When four fifths of the time are over, the plan is resolved in the background, and the known plan stays in use
# meanwhile, also when its time ends before the registry has answered. A plan that is found expired when nobody is
# resolving it, since no message came for a while, is resolved at once. While the registry cannot be reached, the known
# plan stays in use.

RenewedT = TypeVar("RenewedT", bound=MessagePlan)
V_co = TypeVar("V_co", bound=MessagePlan, covariant=True)


class Build(Protocol[V_co]):
    """The script that makes a plan."""

    def __call__(self, *, refresh: bool) -> Script[V_co]:
        """Return the plan; with ``refresh`` versions and associations are requested even if they are cached."""


_DUE: Final = 0.8
_PATIENCE_S: Final = 1.0
"""How long a message waits at most for a renewal that has just begun, when its plan has expired."""


class _Renewal:
    """One run of a plan's script while the known plan is in use."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._patient_until_s = time.monotonic() + _PATIENCE_S

    def end(self) -> None:
        """Let those continue that wait."""
        self._done.set()

    def wait(self) -> None:
        """Wait for the end, but not longer than ``_PATIENCE_S`` after the beginning."""
        self._done.wait(max(0.0, self._patient_until_s - time.monotonic()))


class Planner(PlanTable[K, RenewedT]):
    """The plans of one serializer by key, resolved with its registry; ``ttl_s`` None: they never change."""

    def __init__(self, source: RegistrySource, *, ttl_s: float | None, clock: Callable[[], float]) -> None:
        super().__init__()
        self._source = source
        self._ttl_s = ttl_s
        self._clock = clock
        self._tasks: set[asyncio.Task[Datum]] = set()

    def make_locks(self) -> None:
        """Make the locks; no plan is being renewed, as far as this process is concerned."""
        super().make_locks()
        self._renewals: dict[K, _Renewal] = {}
        self._starting = threading.Lock()

    def get(self, key: K, build: Build[RenewedT]) -> RenewedT:
        """Return the plan of the key. Raises the errors of the script."""
        plan = self.found.get(key)
        if plan is None:
            return self.resolve(key, lambda: self._timed(self._source.run(build(refresh=False))))
        if self._ttl_s is None or self._clock() < plan.due_s:
            return plan
        return self._renewed(key, plan, build)

    async def warm(self, key: K, build: Build[RenewedT]) -> None:
        """Resolve the plan of the key unless it is known."""
        plan = self.found.get(key)
        if plan is None or self._clock() >= plan.expires_s:
            self.put(key, self._timed(await self._source.arun(build(refresh=plan is not None))))

    def _timed(self, plan: RenewedT) -> RenewedT:
        if self._ttl_s is None:
            return plan
        now_s = self._clock()
        return replace(plan, due_s=now_s + _DUE * self._ttl_s, expires_s=now_s + self._ttl_s)

    def _renewed(self, key: K, plan: RenewedT, build: Build[RenewedT]) -> RenewedT:
        """Return the plan to use now: the known one, or after its time a new one."""
        is_expired = self._clock() >= plan.expires_s
        with self._starting:
            renewal = self._renewals.get(key)
            is_first = renewal is None
            if renewal is None:
                renewal = self._renewals[key] = _Renewal()
        if not is_first:
            if is_expired and not self._source.is_async:
                renewal.wait()
        elif self._source.is_async:
            self._begin_task(key, plan, build, renewal)
        elif is_expired:
            self._renew(key, plan, build, renewal)
        else:
            threading.Thread(target=self._renew_quietly, args=(key, plan, build, renewal), daemon=True).start()
        return self.found.get(key, plan)

    def _renew(self, key: K, plan: RenewedT, build: Build[RenewedT], renewal: _Renewal) -> None:
        try:
            self.put(key, self._timed(self._source.run(build(refresh=True))))
        except RegistryUnavailable:
            self.put(key, self._timed(plan))
        finally:
            self._end(key, renewal)

    def _renew_quietly(self, key: K, plan: RenewedT, build: Build[RenewedT], renewal: _Renewal) -> None:
        """Renew in the background. An error is raised by the message that finds the plan expired."""
        try:
            self._renew(key, plan, build, renewal)
        except CounterfoilError:
            self.put(key, replace(plan, due_s=plan.expires_s))

    def _begin_task(self, key: K, plan: RenewedT, build: Build[RenewedT], renewal: _Renewal) -> None:
        """Renew in a task of the running event loop; outside of one, the known plan stays in use."""
        import asyncio

        script = self._arenew(key, plan, build, renewal)
        try:
            task = asyncio.get_running_loop().create_task(script)
        except RuntimeError:
            script.close()
            self._end(key, renewal)
            return
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _arenew(self, key: K, plan: RenewedT, build: Build[RenewedT], renewal: _Renewal) -> None:
        try:
            self.put(key, self._timed(await self._source.arun(build(refresh=True))))
        except CounterfoilError:
            self.put(key, self._timed(plan))
        finally:
            self._end(key, renewal)

    def _end(self, key: K, renewal: _Renewal) -> None:
        with self._starting:
            self._renewals.pop(key, None)
        renewal.end()
