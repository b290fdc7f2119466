"""Plans, which are made once and used for all later messages: how to write to a topic, how to read a prefix.

Plans are in plain dictionaries that are replaced and never changed, so that looking one up takes no lock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from counterfoil.sdk.processes import Locking

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.schema.model import Schema
    from counterfoil.sdk.serde.codec import Decode, Encode, RowSource
    from counterfoil.sdk.serde.rules.reading import ReadRules
    from counterfoil.sdk.serde.rules.writing import WriteRules

V = TypeVar("V")
K = TypeVar("K", bound=Hashable)

CAPACITY: Final = 10_000
"""How many plans of one kind a serializer keeps; of more, the oldest are removed."""

MAX_CHARS: Final = 16 * 1024 * 1024
"""The largest number of characters of the schemas in the keys of one table; the last plan stays, whatever its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan: used until ``expires_s`` by the serializer's clock, and resolved again from ``due_s`` on."""

    due_s: float = math.inf
    expires_s: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan(Plan):
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
class ReadPlan(Plan):
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
