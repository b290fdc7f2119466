"""The registry as it was: moments in requests, and a storage that reads the journal up to one change."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn
from uuid import UUID

from counterfoil.registry.audit.events import EventPlace
from counterfoil.registry.store.changes import SCOPE_SETTINGS, JournalChange, JournalChangeKind, ScopeSettings
from counterfoil.registry.store.name_ranges import SubjectRange, within
from counterfoil.registry.store.protocol import Load, Observer, Storage, StorageRecord, StoreContact
from counterfoil.registry.store.writes import Requester, StoragePlan
from counterfoil.registry.subjects.versions import (
    Content,
    SubjectHistory,
    SubjectSummary,
    VersionEntry,
    VersionUse,
    last_of,
    summarized,
)
from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
from counterfoil.schema.errors import BadRequest, SchemaNotFound
from counterfoil.schema.rest.object_forms import RequestJson
from counterfoil.schema.rest.versions import Visibility

# Moments in a registry's past, as requests name them.

_TIMES: Final = "2026-11-01T12:00:00Z or ts:1793534400000"
_FORMS: Final = f"expected the number of a change (42 or seq:42), or a time ({_TIMES})"
_MAX_DIGITS: Final = 18
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


async def resolve_moment(storage: Storage, text: str) -> int:
    """Return the number of the last change up to the moment that ``text`` names; 0 is before the first.

    ``42`` and ``seq:42`` are the moment right after change 42. ``ts:`` and a number is a time in epoch milliseconds;
    anything else is a time of ISO 8601 with ``Z`` or an offset. Raises ``BadRequest`` for another text, and for a time
    in the future.
    """
    kind, mark, digits = text.strip().partition(":")
    if mark and kind == "ts":
        return await _seq_at(storage, _number(digits, text), text)
    if mark and kind == "seq":
        return await _known(storage, _number(digits, text))
    if text.strip().isdigit():
        return await _known(storage, _number(text.strip(), text))
    return await _seq_at(storage, _epoch_ms(text.strip()), text)


def iso_time(ts: int) -> str:
    """Return a time (epoch ms) as ISO 8601 writes it.

    >>> iso_time(1793534400000)
    '2026-11-01T12:00:00.000Z'
    """
    return (_EPOCH + ts * _MILLISECOND).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number(digits: str, text: str) -> int:
    if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS:
        return int(digits)
    raise _unreadable(text)


def _epoch_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(
            text.replace(" ", "+") if "T" in text else text
        )  # a plus that is not encoded arrives as a blank
        if moment.tzinfo is None:
            raise BadRequest(f"as_of is {text[:80]!r}, a time without Z or an offset; {_FORMS}")
        return (moment - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        raise _unreadable(text) from None


def _unreadable(text: str) -> BadRequest:
    return BadRequest(f"as_of is {text[:80]!r}; {_FORMS}")


async def _known(storage: Storage, seq: int) -> int:
    last = await storage.last_change()
    if seq > last:
        raise BadRequest(f"as_of names change {seq}, but the last one so far is {last}; a time is written {_TIMES}")
    return seq


async def _seq_at(storage: Storage, ts: int, text: str) -> int:
    now = time.time_ns() // 1_000_000
    if ts > now:
        last = await storage.changes(max(await storage.last_change() - 1, 0), 1)
        if not last or ts > last[-1].ts:  # the clock of the changes' times may be ahead of this one
            raise BadRequest(f"as_of is {text[:80]!r}, which has not come yet; now it is {iso_time(now)}")
    return await storage.last_change(ts)


# The registry as it was: a storage that reads the journal up to one change.
#
# The use cases work over it as over the store itself. The journal has the versions and the settings; the schemas' texts
# are those of the store, so that a permanently deleted one is missing here, too.

EVER: Final = 2**63 - 1
"""A number that no change will reach."""

_PAGE: Final = 500
_SUBJECTS_A_TURN: Final = 50
_NEW_ROW: Final = frozenset({JournalChangeKind.REGISTERED, JournalChangeKind.REMOVED})


class VersionRemoved(SchemaNotFound):
    """A version that existed then has been permanently deleted since.

    ``seq`` and ``ts`` (epoch ms) are of the deletion.
    """

    def __init__(self, subject: QualifiedSubject, version: int, *, seq: int, ts: int) -> None:
        super().__init__(
            f"Version {version} of subject {str(subject)!r} was there then, but was deleted for good by change {seq} "
            f"at {iso_time(ts)}, and its schema with it"
        )
        self.seq = seq
        self.ts = ts


_NO_AUDIT: Final = "The audit is not read as of a moment; since and until select events by time"


class AsOf:
    """``storage`` as it was right after the change with the number ``seq``; 0 is before the first.

    It is used for one request and caches what it reads. A question that the journal cannot answer is refused with
    ``BadRequest``.
    """

    def __init__(self, storage: Storage, seq: int) -> None:
        self._storage = storage
        self._seq = seq
        self._holders: dict[UUID, tuple[QualifiedSubject, int]] = {}

    @property
    def contact(self) -> StoreContact:
        """Whether the store answers."""
        return self._storage.contact

    async def totals(self) -> NoReturn:
        """Raise, since the past is not counted."""
        raise BadRequest("What was stored then is not counted")

    @property
    def load(self) -> Load:
        """The current load of the storage."""
        return self._storage.load

    def last_known(self) -> None:
        """Return None: the past is read from the journal."""

    # --- versions

    async def history(self, subject: QualifiedSubject) -> SubjectHistory:
        """Return all versions that the subject had.

        A version's time is the one that it was stored with; if its row was deleted, the time of the change.
        """
        now = await self._storage.history(subject)  # before the changes, so that a write in between is among them
        changes = await self._storage.changes_of(subject, EVER)
        earlier = [change for change in changes if change.seq <= self._seq]
        renewed = {change.version for change in changes if change.seq > self._seq and change.kind in _NEW_ROW}
        stored_at = {entry.version: entry.ts for entry in now.entries if entry.version not in renewed}
        entries = [replace(each, ts=stored_at.get(each.version, each.ts)) for each in _entries(earlier)]
        self._holders.update({entry.guid: (subject, entry.version) for entry in entries})
        return SubjectHistory(earlier[-1].seq if earlier else 0, tuple(entries))

    async def content(self, guid: UUID) -> Content:
        """Return the content with this fingerprint; raise ``VersionRemoved`` if it was deleted."""
        found = await self._storage.content(guid)
        if found is None:
            await self._refuse_removed(guid)
        return found

    async def _refuse_removed(self, guid: UUID) -> NoReturn:
        holder = self._holders.get(guid)
        if holder is not None:
            subject, version = holder
            for change in await self._storage.changes_of(subject, EVER):
                if change.seq > self._seq and change.version == version and change.kind in _NEW_ROW:
                    raise VersionRemoved(subject, version, seq=change.seq, ts=change.ts)
        raise SchemaNotFound(f"The schema with guid {guid} is stored no longer")

    # --- subjects and contexts

    async def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """Return the subjects that existed whose context and name begin with the prefix.

        They are the present ones, corrected by the later changes; the time depends on the number of these.
        """
        found = set(await self._storage.subjects(prefix, visibility))
        touched = {change.subject async for change in self._since() if change.version is not None}
        candidates = [subject for subject in touched if _begins(subject, prefix)]
        for number, subject in enumerate(candidates):
            found.discard(subject)
            if _is_listed(_entries(await self._changes_until(subject)), visibility):
                found.add(subject)
            if number % _SUBJECTS_A_TURN == 0:
                await asyncio.sleep(0)
        return sorted(found)

    async def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, *, first: int, last: int) -> str:
        """Return the names of those subjects, as the text of a JSON array."""
        names = sorted(map(str, await self.subjects(prefix, visibility)))[first:last]
        return json.dumps(names, ensure_ascii=False, separators=(",", ":"))

    async def names_within(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, *, first: int, last: int
    ) -> str:
        """Return the names of the subjects in ranges, as the text of a JSON array."""
        names = sorted(map(str, within(await self.subjects(SubjectPrefix(None, ""), visibility), ranges)))
        return json.dumps(names[first:last], ensure_ascii=False, separators=(",", ":"))

    async def summaries(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, limit: int
    ) -> Sequence[SubjectSummary]:
        """Return the first of those subjects, with the versions that were the latest ones."""
        found = within(await self.subjects(SubjectPrefix(None, ""), visibility), ranges)[:limit]
        return [await self._summary(each) for each in found]

    async def _summary(self, subject: QualifiedSubject) -> SubjectSummary:
        history = await self.history(subject)
        return summarized(subject, history, (await self.content(last_of(history).guid)).schema_type)

    async def contexts(self) -> Sequence[str]:
        """Return the contexts that may have been in use: the present ones, and those deleted since."""
        found = set(await self._storage.contexts())
        async for change in self._since():
            if change.kind is JournalChangeKind.CONTEXT_DELETED:
                found.add(change.subject.context)
        return sorted(found)

    async def _since(self) -> AsyncIterator[JournalChange]:
        """Yield the later changes in order; other requests are handled in between."""
        after = self._seq
        while page := await self._storage.changes(after, _PAGE):
            for change in page:
                yield change
            after = page[-1].seq
            await asyncio.sleep(0)

    async def _changes_until(self, scope: QualifiedSubject) -> Sequence[JournalChange]:
        return await self._storage.changes_of(scope, self._seq)

    # --- settings

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return what was stored for a scope."""
        for change in reversed(await self._changes_until(scope)):
            if change.kind is JournalChangeKind.SETTINGS:
                return SCOPE_SETTINGS.read(RequestJson(change.document or {}))
        return ScopeSettings()

    async def settings_revision(self) -> int:
        """Return the number of the change; the settings at that time never change."""
        return self._seq

    # --- not possible for the past

    def observe(self, observer: Observer, *, of_records: bool = False) -> None:
        """Do nothing: the past does not change."""

    async def catch_up(self) -> None:
        """Do nothing: the past does not change."""

    async def catch_up_soon(self) -> None:
        """Do nothing: the past does not change."""

    @property
    def has_current_ids(self) -> bool:
        """True: the past does not change."""
        return True

    async def commit(self, plan: StoragePlan, *, by: Requester) -> NoReturn:
        """Raise, since the past cannot be changed."""
        del plan, by
        raise _not_then("a write cannot be carried out")

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Raise, since the journal does not have it."""
        raise _not_then(f"What id {schema_id} of context {context!r} stood for is not known")

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Raise, since the journal does not have it."""
        raise _not_then(f"Which id {guid} had in context {context!r} is not known")

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Raise, since the journal does not have it."""
        raise _not_then(f"Which ids {guid} had is not known")

    async def max_id(self, context: str) -> int:
        """Raise, since the journal does not have it."""
        raise _not_then(f"The highest id of context {context!r} is not known")

    async def uses(self, context: str, schema_id: int) -> Sequence[VersionUse]:
        """Raise, since the journal does not have it."""
        raise _not_then(f"Which versions held id {schema_id} of context {context!r} is not known")

    async def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[VersionUse]:
        """Raise, since the journal does not have it."""
        raise _not_then(f"What referred to version {version} of subject {str(subject)!r} is not known")

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Raise, since the journal does not have it."""
        raise _not_then("A list of all settings is not known")

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Sequence[StorageRecord]:
        """Raise, since the journal has no content of records."""
        raise _not_then(f"What was kept as {kind} {'/'.join(prefix)} is not known")

    async def records_under(self, kind: str, prefixes: Sequence[tuple[str, ...]]) -> Sequence[Sequence[StorageRecord]]:
        """Raise, since the journal has no content of records."""
        return [await self.records(kind, prefix) for prefix in prefixes]

    async def changes(self, after: int, limit: int) -> Sequence[JournalChange]:
        """Return the changes up to the moment."""
        return [change for change in await self._storage.changes(after, limit) if change.seq <= self._seq]

    async def changes_of(
        self,
        subject: QualifiedSubject,
        until: int,
        *,
        versions: range | None = None,
        kind: JournalChangeKind | None = None,
        newest: int | None = None,
    ) -> Sequence[JournalChange]:
        """Return the changes of one scope up to the moment."""
        until = min(until, self._seq)
        return await self._storage.changes_of(subject, until, versions=versions, kind=kind, newest=newest)

    async def last_change(self, until_ts: int | None = None) -> int:
        """Return the number of the last change up to the moment."""
        return min(self._seq, await self._storage.last_change(until_ts))

    async def journal_head(self) -> NoReturn:
        """Raise, since the audit is read as it is now."""
        raise BadRequest(_NO_AUDIT)

    async def audit_events(self, after: EventPlace, last_change: int, limit: int) -> NoReturn:
        """Raise, since the audit is read as it is now."""
        del after, last_change, limit
        raise BadRequest(_NO_AUDIT)

    async def check(self) -> None:
        """Check that the storage responds."""
        await self._storage.check()

    async def close(self) -> None:
        """Do nothing: it has no connections of its own."""


def _entries(changes: Iterable[JournalChange]) -> list[VersionEntry]:
    """Return the versions after ``changes`` of one subject, ascending."""
    found: dict[int, VersionEntry] = {}
    for change in changes:
        if change.version is None or change.schema_id is None or change.guid is None:
            continue
        if change.kind is JournalChangeKind.REMOVED:
            found.pop(change.version, None)
            continue
        deleted = change.kind is JournalChangeKind.DELETED
        ts = found[change.version].ts if deleted and change.version in found else change.ts
        found[change.version] = VersionEntry(change.version, change.schema_id, change.guid, deleted=deleted, ts=ts)
    return sorted(found.values(), key=lambda entry: entry.version)


def _is_listed(entries: Sequence[VersionEntry], visibility: Visibility) -> bool:
    if visibility is Visibility.WITH_DELETED:
        return bool(entries)
    has_active = any(not entry.deleted for entry in entries)
    return bool(entries) and has_active == (visibility is Visibility.ACTIVE)


def _begins(subject: QualifiedSubject, prefix: SubjectPrefix) -> bool:
    return prefix.context in {None, subject.context} and subject.name.startswith(prefix.name)


def _not_then(problem: str) -> BadRequest:
    return BadRequest(f"{problem} as of an earlier moment; ask without as_of")
