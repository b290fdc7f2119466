"""What was observed of readers: reads, added up for each application, subject and schema id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from counterfoil.registry.access.rights import Shown, everything
from counterfoil.registry.contracts.events import Event, Events
from counterfoil.registry.contracts.records import ContractRecords, HeldRecord
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.records import Key, StoredKind
from counterfoil.registry.store.writes import NO_REQUEST, RecordAt, RefreshRecord, Requester, StoragePlan, together
from counterfoil.registry.subjects.levels import Scopes, check_writable
from counterfoil.schema.agreements.findings import Activity, ReaderOrigin
from counterfoil.schema.contexts import DEFAULT_CONTEXT, TOP_LEVEL, QualifiedSubject, parse_subject
from counterfoil.schema.rest.contracts import EventType
from counterfoil.schema.rest.observations import (
    OBSERVED_USE,
    WHOLE_RECORD,
    ObservedUse,
    PathUse,
    UsageBatch,
    UsageOrigin,
    UsageRead,
    UsageReceipt,
)

# What was observed of readers, as stored: one record for an application, subject, environment, origin and schema id.
#
# Later batches are added to it, so that it grows with the number of paths alone. Pure functions.

DAY_MS: Final = 86_400_000
MAX_PATHS: Final = 2000
"""How many paths one record has at most; of more, those that were not read for the longest time are dropped."""


@dataclass(frozen=True, slots=True)
class ActivityLimits:
    """After how many days without a read a reader counts as stale, and as gone."""

    active_days: float = 7
    stale_days: float = 30

    def of(self, last_seen: int, now_ms: int) -> Activity:
        """Return the activity of a reader that was last seen then (epoch ms)."""
        days = (now_ms - last_seen) / DAY_MS
        if days < self.active_days:
            return Activity.ACTIVE
        return Activity.STALE if days < self.stale_days else Activity.GONE


_EXISTENCE_ONLY: Final = frozenset({UsageOrigin.FETCHED, UsageOrigin.GROUP})
"""Origins that do not know which fields are read."""


@dataclass(frozen=True, slots=True)
class ObservedReader:
    """What is known of one application that was seen to read a subject, by the most trusted origin.

    ``paths`` are those that were read in the last time; ``is_whole``: the whole record may be read. Times are epoch ms.
    """

    application: str
    version: str
    origin: ReaderOrigin
    environments: tuple[str, ...]
    first_seen: int
    last_seen: int
    activity: Activity
    paths: Mapping[str, PathUse]
    is_whole: bool = False

    @property
    def is_unknown(self) -> bool:
        """Whether it is only known that it exists."""
        return self.origin in {ReaderOrigin.FETCHED, ReaderOrigin.GROUP}


def readers_of(uses: Iterable[ObservedUse], limits: ActivityLimits, now_ms: int) -> list[ObservedReader]:
    """Return who reads a subject, sorted by application; paths that were not read for long are left out."""
    by_application: dict[str, list[ObservedUse]] = {}
    for each in uses:
        by_application.setdefault(each.application, []).append(each)
    return [_reader(by_application[name], limits, now_ms) for name in sorted(by_application)]


def _reader(uses: list[ObservedUse], limits: ActivityLimits, now_ms: int) -> ObservedReader:
    """Return the reader; what only says that it exists does not count beside what says which fields it reads."""
    chosen = [each for each in uses if not _says_nothing(each)] or uses
    newest = max(chosen, key=lambda each: each.last_seen)
    paths: dict[str, PathUse] = {}
    for path, use in ((path, use) for each in chosen for path, use in each.paths.items()):
        if limits.of(use.last_seen, now_ms) is not Activity.GONE:
            known = paths.get(path) or replace(use, count=0)
            first, last = min(known.first_seen, use.first_seen), max(known.last_seen, use.last_seen)
            paths[path] = PathUse(known.count + use.count, first, last)
    return ObservedReader(
        newest.application,
        newest.version,
        min(ReaderOrigin[each.origin.name] for each in chosen),
        tuple(sorted({each.environment for each in chosen if each.environment})),
        min(each.first_seen for each in chosen),
        newest.last_seen,
        limits.of(newest.last_seen, now_ms),
        dict(sorted(paths.items())),
        is_whole=WHOLE_RECORD in paths or all(map(_says_nothing, chosen)),
    )


def _says_nothing(use: ObservedUse) -> bool:
    """Return whether nothing is known of which fields are read: no message was observed."""
    return use.origin in _EXISTENCE_ONLY or not (use.paths or use.sampled)


def observed_prefix(subject: QualifiedSubject) -> Key:
    """Return the prefix of the keys of all that is observed of a subject."""
    return subject.context, subject.name


def _key(use: ObservedUse) -> Key:
    prefix = observed_prefix(parse_subject(use.subject))
    return *prefix, use.application, use.environment, use.origin, str(use.schema_id)


OBSERVED_USES: Final[StoredKind[ObservedUse]] = StoredKind("observed-use", OBSERVED_USE, _key)


def new_use(batch: UsageBatch, subject: QualifiedSubject, schema_id: int) -> ObservedUse:
    """Return the record of a batch's application before anything was added to it."""
    return ObservedUse(batch.application, str(subject), schema_id, batch.environment, origin=batch.origin)


def with_batch(held: ObservedUse, batch: UsageBatch, read: UsageRead, now_ms: int) -> ObservedUse:
    """Return a record with an entry of a batch; times in the future are now."""
    until = min(batch.until or now_ms, now_ms)
    since = min(batch.since or until, until)
    return replace(
        held,
        version=batch.version or held.version,
        first_seen=min(held.first_seen or since, since),
        last_seen=max(held.last_seen, until),
        messages=held.messages + read.messages,
        sampled=held.sampled + read.sampled,
        paths=_paths(held.paths, read.paths, since, until),
        stale_since=0,
    )


def _paths(held: Mapping[str, PathUse], given: Mapping[str, int], since: int, until: int) -> dict[str, PathUse]:
    found = dict(held)
    for path, count in given.items():
        known = found.get(path) or PathUse(0, since, until)
        first, last = min(known.first_seen, since), max(known.last_seen, until)
        found[path] = PathUse(known.count + count, first, last)
    newest = sorted(found, key=lambda path: -found[path].last_seen)[:MAX_PATHS]
    return {path: found[path] for path in sorted(newest)}


def is_news(held: ObservedUse | None, use: ObservedUse) -> bool:
    """Return whether a change belongs in the journal: a new reader, path, version or day, but not each new count."""
    return (
        held is None
        or held.paths.keys() != use.paths.keys()
        or (held.version, held.first_seen, held.stale_since) != (use.version, use.first_seen, use.stale_since)
        or held.last_seen // DAY_MS != use.last_seen // DAY_MS
    )


# Observed use: batches of reads, added up in one record for each application, subject and schema id.

_SHOWN: Final = 80


@dataclass(slots=True)
class _Draft:
    """What a batch changes, by the key of the record: what was read, and what it becomes."""

    held: dict[Key, HeldRecord[ObservedUse]] = field(default_factory=dict)
    uses: dict[Key, ObservedUse] = field(default_factory=dict)
    added: dict[tuple[str, str], Event] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    stored: int = 0


class ObservedUsage:
    """The use cases of observed use. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        scopes: Scopes,
        events: Events,
        limits: ActivityLimits,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._events = events
        self._limits = limits
        self._now_ms = now_ms
        self._turns = WriteTurns(storage.catch_up)

    # --- reading

    async def uses(
        self, subject: QualifiedSubject | None = None, *, application: str | None = None, environment: str | None = None
    ) -> list[ObservedUse]:
        """Return what is stored: of a subject or of all, of one application, in one environment.

        What an application reports without an environment counts in every one.
        """
        found = await self._records.all(OBSERVED_USES, () if subject is None else observed_prefix(subject))
        return [
            each
            for each in found
            if (application is None or each.application == application)
            and (environment is None or each.environment in {"", environment})
        ]

    async def readers(self, subject: QualifiedSubject, environment: str | None = None) -> list[ObservedReader]:
        """Return who was seen to read a subject."""
        return readers_of(await self.uses(subject, environment=environment), self._limits, self._now_ms())

    def activity(self, last_seen: int) -> Activity:
        """Return the activity of what was last seen then (epoch ms)."""
        return self._limits.of(last_seen, self._now_ms())

    # --- writing

    async def post(self, batch: UsageBatch, *, by: Requester, shows: Shown = everything) -> UsageReceipt:
        """Add a batch to what is stored; entries about unknown schema ids are left out, with a notice for each.

        Of the subjects that have a schema id those count that ``shows`` says the caller may read.
        """
        return await self._turns.take(partial(self._post, batch, shows, by=by), written=batch.application)

    async def _post(self, batch: UsageBatch, shows: Shown, *, by: Requester) -> UsageReceipt:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        draft = _Draft()
        for read in batch.reads:
            subjects = [each for each in await self._subjects(read) if shows(each)]
            for subject in subjects:
                await self._add(batch, read, subject, draft)
            draft.stored += bool(subjects)
            if not subjects:
                draft.notices.append(_unknown(read))
        plans = [_write(draft.held[key], use, key) for key, use in draft.uses.items()]
        if plans:
            await self._storage.commit(together((*plans, await self._events.plan(*draft.added.values()))), by=by)
        return UsageReceipt(draft.stored, tuple(draft.notices))

    async def note_stale(self) -> None:
        """Store an event for each application that has not been seen to read a subject for long, once."""
        newest: dict[tuple[str, str], ObservedUse] = {}
        for each in await self.uses():
            known = newest.get((each.application, each.subject))
            if known is None or each.last_seen > known.last_seen:
                newest[each.application, each.subject] = each
        now = self._now_ms()
        for use in newest.values():
            if not use.stale_since and self.activity(use.last_seen) is not Activity.ACTIVE:
                await self._turns.take(partial(self._note_stale, use, now), written=use.application)

    async def _note_stale(self, use: ObservedUse, now: int) -> None:
        held = await self._records.find(OBSERVED_USES, OBSERVED_USES.key(use))
        if held.value is None or held.value.stale_since or held.value.last_seen != use.last_seen:
            return  # another server has noted it, or it was seen again
        facts = {"application": use.application, "subject": use.subject, "lastSeen": use.last_seen}
        event = await self._events.plan(Event(EventType.CONSUMER_STALE, use.application, facts))
        stale, subjects = replace(use, stale_since=now), [parse_subject(use.subject)]
        stored = OBSERVED_USES.write(stale, revision=held.revision, subjects=subjects)
        await self._storage.commit(together((stored, event)), by=NO_REQUEST)

    async def _subjects(self, read: UsageRead) -> list[QualifiedSubject]:
        """Return the subjects that the reads are of: all that have the schema id, unless one is given."""
        given = parse_subject(read.subject) if read.subject else None
        if not read.schema_id:
            return [] if given is None or not (await self._storage.history(given)).entries else [given]
        context = DEFAULT_CONTEXT if given is None else given.context
        found = dict.fromkeys(each.subject for each in await self._storage.uses(context, read.schema_id))
        return [each for each in found if given in {None, each}]

    async def _add(self, batch: UsageBatch, read: UsageRead, subject: QualifiedSubject, draft: _Draft) -> None:
        empty = new_use(batch, subject, read.schema_id)
        key = OBSERVED_USES.key(empty)
        if key not in draft.uses:
            held = draft.held[key] = await self._records.find(OBSERVED_USES, key)
            draft.uses[key] = held.value or empty
            if held.value is None:
                await self._note_new(batch, subject, draft)
        draft.uses[key] = with_batch(draft.uses[key], batch, read, self._now_ms())

    async def _note_new(self, batch: UsageBatch, subject: QualifiedSubject, draft: _Draft) -> None:
        known = await self._storage.records(OBSERVED_USES.name, (*observed_prefix(subject), batch.application))
        if not known:
            facts = {"application": batch.application, "subject": str(subject), "origin": str(batch.origin)}
            draft.added[batch.application, str(subject)] = Event(EventType.CONSUMER_ADDED, batch.application, facts)


def _unknown(read: UsageRead) -> str:
    where = f"subject {read.subject[:_SHOWN]!r}" if read.subject else "the registry"
    if not read.schema_id:
        return f"{where} has no version" if read.subject else "an entry has neither a schema id nor a subject"
    return f"{where} has no schema id {read.schema_id}"


def _write(held: HeldRecord[ObservedUse], use: ObservedUse, key: Key) -> StoragePlan:
    """Return the plan that stores a record; without an entry in the journal where only counts have changed."""
    if is_news(held.value, use):
        return OBSERVED_USES.write(use, revision=held.revision, subjects=[parse_subject(use.subject)])
    refreshed = RefreshRecord(OBSERVED_USES.name, key, OBSERVED_USES.form.write(use))
    return StoragePlan((RecordAt(OBSERVED_USES.name, key, held.revision),), (refreshed,))
