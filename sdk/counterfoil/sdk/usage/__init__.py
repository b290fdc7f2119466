"""Observation of a program's reads, of one message in many, and the batches in which they are sent.

A program makes one :class:`Usage` and gives it to its deserializers:

>>> from counterfoil.sdk.usage import Usage
>>> batches = []
>>> usage = Usage("billing", batches.append, one_in=1)
>>> usage.close()
>>> batches
[]
"""

from __future__ import annotations

import atexit
import json
import os
import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, Self, TypeAlias

from counterfoil.schema.datum import Datum, Json, JsonObject
from counterfoil.schema.model import ResolvedReference, Schema
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.codec import resolve_references
from counterfoil.sdk.usage.recording import WHOLE, recorded

if TYPE_CHECKING:
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.plans import ReadPlan
    from counterfoil.sdk.serde.sources import SchemaCalls
    from counterfoil.sdk.usage.recording import ObservedPlace


# Batches on their way to a sink: sent by a thread of their own, a bounded number of them, and none without need.

Sink: TypeAlias = "Callable[[JsonObject], object]"
"""Takes a batch. An exception means that it could not be sent, and is sent again later: see :class:`BatchRefused`."""

MAX_BATCHES: Final = 10
"""How many batches wait at most; of more, the oldest are dropped and counted."""

_MAX_DOUBLINGS: Final = 5
"""How often the pause doubles at most, while the sink takes nothing: 32 times as long."""

_NEVER_ACCEPTED: Final = frozenset({400, 413, 422})
"""The statuses with which a registry says that a batch is not valid, and will not be."""


class BatchRefused(Exception):
    """Raised by a sink for a batch that it will never take; it is dropped and counted."""


_senders: weakref.WeakSet[BatchSender] = weakref.WeakSet()


class BatchSender:
    """Calls ``collect`` every ``every_s`` seconds, and gives the result to the sink.

    Its thread begins with :meth:`start`, in a forked process again, where ``forget`` removes what the parent has
    observed. While the sink takes nothing, the pauses become longer, up to 32 times. Programs end without waiting for
    more than ``close_s`` seconds.
    """

    def __init__(
        self,
        collect: Callable[[], JsonObject | None],
        sink: Sink,
        *,
        forget: Callable[[], None],
        every_s: float,
        close_s: float = 2.0,
    ) -> None:
        self.dropped = 0
        self._collect = collect
        self._forget = forget
        self._sink = sink
        self._every_s = every_s
        self._close_s = close_s
        self._renew()
        _senders.add(self)

    def _renew(self) -> None:
        self._waiting: deque[JsonObject] = deque()
        self._failures = 0
        self._ended = Event()
        self._thread: Thread | None = None
        self._lock = Lock()
        self._sending = Lock()

    def start(self) -> None:
        """Start the thread, if it does not run."""
        if self._thread is None:
            with self._lock:
                if self._thread is None and not self._ended.is_set():
                    self._thread = Thread(target=self._run, name="counterfoil-usage", daemon=True)
                    self._thread.start()

    def send(self) -> None:
        """Send the batches, in this thread; the ones that the sink does not take wait."""
        batch = self._collect()
        with self._sending:
            if batch is not None:
                self._waiting.append({**batch, "droppedBatches": self.dropped})
            while len(self._waiting) > MAX_BATCHES:
                self._waiting.popleft()
                self.dropped += 1
            while self._waiting:
                try:
                    self._sink(self._waiting[0])
                except BatchRefused:
                    self.dropped += 1
                except Exception:  # noqa: BLE001 (a sink may raise anything, and reading goes on in any case)
                    self._failures += 1
                    return
                self._waiting.popleft()
            self._failures = 0

    def close(self) -> None:
        """Send the batches once more, and end the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(self._close_s)
        else:  # nothing was observed, as a rule
            self.send()

    def forked(self) -> None:
        """Begin anew, in a forked process: the parent sends its own reads.

        No lock is taken, since a thread that no longer exists may hold it.
        """
        self._renew()
        self._forget()

    def _run(self) -> None:
        while not self._ended.wait(self._every_s * 2 ** min(self._failures, _MAX_DOUBLINGS)):
            self.send()
        self.send()


def file_sink(path: str | os.PathLike[str]) -> Sink:
    """Return a sink that appends each batch to a file as one line of JSON."""
    place = Path(path)

    def append(batch: JsonObject) -> None:
        with place.open("a", encoding="utf-8") as file:
            file.write(json.dumps(batch, ensure_ascii=False) + "\n")

    return append


def registry_sink(registry: Registry) -> Sink:
    """Return a sink that posts each batch to a registry."""

    def post(batch: JsonObject) -> None:
        from counterfoil.schema.errors import RegistryError
        from counterfoil.sdk import operations

        try:
            registry.call(operations.post_usage(batch))
        except RegistryError as error:
            if error.status in _NEVER_ACCEPTED:
                raise BatchRefused(str(error)) from error
            raise

    return post


def sink_of(given: object) -> Sink:
    """Return the function that takes batches; raise ``InvalidSettings`` for an object that cannot take any."""
    from counterfoil.sdk.client import Registry

    if isinstance(given, Registry):
        return registry_sink(given)
    if isinstance(given, (str, os.PathLike)):
        return file_sink(given)
    if callable(given):
        return given
    problem = f"sink is a {type(given).__name__}; expected a Registry, the path of a file, or a function of a batch"
    raise InvalidSettings(problem, setting="sink")


def _close_all() -> None:
    for sender in list(_senders):
        sender.close()


def _after_fork() -> None:
    for sender in list(_senders):
        sender.forked()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# Observation of what a program reads, of one message in many.

_SCHEMA_VERSION: Final = 1


class Usage:
    """Observes one message in ``one_in`` of the deserializers that are given to ``Deserializer.observe``.

    ``application`` and ``version`` are the program's, ``environment`` is where it runs. ``sink`` takes the batches: the
    client of a registry, to which they are posted; the path of a file, to which each is appended as a line of JSON; or
    a function of the batch. A thread does that every ``every_s`` seconds. A batch has ids, counts and the names of
    fields, never a value. Reading neither waits for the sink nor fails because of it.

    A context manager; the last batch is sent by :meth:`close`, or when the program ends.
    """

    def __init__(
        self,
        application: str,
        sink: Registry | Sink | str | Path,
        *,
        version: str | None = None,
        environment: str | None = None,
        one_in: int = 100,
        every_s: float = 60.0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if isinstance(one_in, bool) or not isinstance(one_in, int) or one_in < 1:
            raise InvalidSettings(f"one_in is {one_in!r}; expected a whole number, 1 or more", setting="one_in")
        if isinstance(every_s, bool) or not isinstance(every_s, (int, float)) or not every_s > 0:
            problem = f"every_s is {every_s!r}; expected a number of seconds that is greater than 0"
            raise InvalidSettings(problem, setting="every_s")
        self._application = application
        self._version = version
        self._environment = environment
        self._one_in = one_in
        self._now = now
        self._since = now()
        self._lock = Lock()
        self._observed: dict[tuple[Json, ...], ObservedSchema] = {}
        self._sender = BatchSender(self._batch, sink_of(sink), forget=self._forget, every_s=every_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("A Usage cannot be pickled: it has a thread; make one in each process, and call observe there")

    @property
    def dropped_batches(self) -> int:
        """How many batches were dropped because the sink did not take them in time."""
        return self._sender.dropped

    def send(self) -> None:
        """Send the reads that were observed so far, in this thread."""
        self._sender.send()

    def close(self) -> None:
        """Send the observed reads, and end; it waits two seconds at most."""
        self._sender.close()

    def observed(self, calls: SchemaCalls, script: Script[ReadPlan]) -> Script[ReadPlan]:
        """Return the plan of a script, with a decoder that observes one message in ``one_in``."""
        plan = yield from script
        schema = plan.reader or plan.schema
        references = () if schema is None else (yield from resolve_references(calls, schema))
        key = (plan.schema_id, plan.guid, None if plan.reader is None else (plan.reader.text, plan.reader.references))
        with self._lock:
            held = self._observed.get(key)
            if held is None:
                held = self._observed[key] = ObservedSchema(plan, schema, references, one_in=self._one_in)

        def note_rows(count: int) -> None:
            self._sender.start()
            held.note_rows(count)

        plan, rules = replace(plan, note_rows=note_rows), plan.rules
        if rules is not None:
            return replace(plan, rules=replace(rules, closed=self._observing(held, rules.closed)))
        return replace(plan, decode=self._observing(held, plan.decode))

    def _observing(self, held: ObservedSchema, read: Callable[..., Datum]) -> Callable[..., Datum]:
        start = self._sender.start

        def observe(*args: object) -> Json:
            held.left -= 1
            if held.left > 0:
                return read(*args)
            start()
            return held.recorded(read(*args))

        return observe

    def _batch(self) -> JsonObject | None:
        with self._lock:
            reads = [found for held in self._observed.values() if (found := held.take()) is not None]
            since, self._since = self._since, self._now()
        if not reads:
            return None
        return {
            "schemaVersion": _SCHEMA_VERSION,
            "kind": "usage",
            "application": self._application,
            "version": self._version,
            "environment": self._environment,
            "from": since.isoformat(timespec="seconds"),
            "to": self._since.isoformat(timespec="seconds"),
            "oneIn": self._one_in,
            "reads": reads,
        }

    def _forget(self) -> None:
        self._lock = Lock()
        self._since = self._now()
        for held in list(self._observed.values()):
            held.forget()


class ObservedSchema:
    """The observed reads of messages of one schema, the first of them and then one in ``one_in``.

    ``left`` is how many messages there are to the next one. Threads count without a lock, so that the numbers of
    messages are a little too small where several read at once.
    """

    __slots__ = ("_lock", "_one_in", "_paths", "_place", "_plan", "_references", "_rows", "_sampled", "_schema",
                 "_started", "_taken", "left")  # fmt: skip

    def __init__(
        self, plan: ReadPlan, schema: Schema | None, references: Sequence[ResolvedReference], *, one_in: int
    ) -> None:
        self.left = 1
        self._one_in = one_in
        self._started = 1 - one_in
        """How many messages there were at the last one that was observed; not positive before the first."""
        self._rows = 0
        self._taken = 0
        self._sampled = 0
        self._plan = plan
        self._schema = schema
        self._references = references
        self._place: ObservedPlace | None = None
        self._paths: Counter[str] = Counter()
        self._lock = Lock()

    def forget(self) -> None:
        """Remove the observed reads, in a process in which no other thread runs."""
        self._lock = Lock()
        self._taken, self._sampled = self._messages(), 0
        self._paths = Counter()

    def recorded(self, value: object) -> Json:
        """Return the value, as one that notes which of its fields are read."""
        with self._lock:
            self._started += self._one_in
            self.left = self._one_in
            self._sampled += 1
        seen: set[str] = set()

        def note(texts: tuple[str, ...]) -> None:
            with self._lock:
                self._paths.update(text for text in texts if text not in seen)
                seen.update(texts)

        place = self._root()
        if place is None:
            note(WHOLE)
            return value
        return recorded(value, place, note)

    def note_rows(self, count: int) -> None:
        """Note messages that became rows of a table, which has all fields."""
        with self._lock:
            self._rows += count
            self._sampled += count
            self._paths.update(dict.fromkeys(WHOLE, count))

    def take(self) -> JsonObject | None:
        """Return the reads that were observed since the last call; None if there was no message."""
        with self._lock:
            total = self._messages()
            messages, self._taken = total - self._taken, total
            sampled, self._sampled = self._sampled, 0
            paths, self._paths = self._paths, Counter()
        if not messages and not paths:
            return None
        return {
            "schemaId": self._plan.schema_id,
            "guid": self._plan.guid and str(self._plan.guid),
            "name": self._plan.record_name,
            "readerFields": self._reader_fields(),
            "messages": messages,
            "sampled": sampled,
            "paths": dict(sorted(paths.items())),
        }

    def _messages(self) -> int:
        return self._rows + (self._started + self._one_in - self.left if self._started > 0 else 0)

    def _reader_fields(self) -> list[str] | None:
        """Return the top-level fields of the reader's schema, which are all that the program can read."""
        root = self._root()
        return None if root is None or self._plan.reader is None else list(root.schema.field_names())

    def _root(self) -> ObservedPlace | None:
        """Return the place of whole values; None for a deserializer without a schema, or one that cannot be parsed."""
        if self._place is None and self._schema is not None:
            from counterfoil.schema.errors import InvalidSchema
            from counterfoil.schema.languages.table import parse_schema
            from counterfoil.sdk.usage.recording import ObservedPlace

            try:
                parsed = parse_schema(
                    self._schema.text,
                    self._schema.schema_type,
                    references=self._references,
                    validation=Validation.LENIENT,
                )
            except InvalidSchema:
                self._schema = None
                return None
            self._place = ObservedPlace.root(parsed)
        return self._place
