"""Observation of what a program reads, of one message in many.

>>> from counterfoil.sdk.usage.observation import Usage
>>> batches = []
>>> usage = Usage("billing", batches.append, one_in=1)
>>> usage.close()
>>> batches
[]
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.references import resolve_references
from counterfoil.sdk.usage.batches import BatchSender, sink_of
from counterfoil.sdk.usage.recording import WHOLE, recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

    from counterfoil.schema.model import ResolvedReference, Schema
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.plans import ReadPlan
    from counterfoil.sdk.serde.sources import SchemaCalls
    from counterfoil.sdk.usage.batches import Sink
    from counterfoil.sdk.usage.places import Place

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
        self._observed: dict[tuple[Any, ...], ObservedSchema] = {}
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
        """Send what was observed so far, in this thread."""
        self._sender.send()

    def close(self) -> None:
        """Send what was observed, and end; it waits two seconds at most."""
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

    def _observing(self, held: ObservedSchema, read: Callable[..., Any]) -> Callable[..., Any]:
        start = self._sender.start

        def observe(*args: Any) -> Any:
            held.left -= 1
            if held.left > 0:
                return read(*args)
            start()
            return held.recorded(read(*args))

        return observe

    def _batch(self) -> dict[str, Any] | None:
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
    """What was observed of the messages of one schema, the first of them and then one in ``one_in``.

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
        self._place: Place | None = None
        self._paths: Counter[str] = Counter()
        self._lock = Lock()

    def forget(self) -> None:
        """Remove what was observed, in a process in which no other thread runs."""
        self._lock = Lock()
        self._taken, self._sampled = self._messages(), 0
        self._paths = Counter()

    def recorded(self, value: Any) -> Any:
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

    def take(self) -> dict[str, Any] | None:
        """Return what was observed since the last call; None if there was no message."""
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

    def _root(self) -> Place | None:
        """Return the place of whole values; None for a deserializer without a schema, or one that cannot be parsed."""
        if self._place is None and self._schema is not None:
            from counterfoil.schema.errors import InvalidSchema
            from counterfoil.schema.parsing import parse_schema
            from counterfoil.sdk.usage.places import Place

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
            self._place = Place.root(parsed)
        return self._place
