"""The registry as it was: a storage that answers from the journal, up to one change and no further.

The use cases work over it as over the store itself. The journal says which versions there were and what was set; the
schemas' texts are those of the store, so that one which was deleted for good since is gone here too.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NoReturn

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.domain.versions import History, VersionEntry
from counterfoil.registry.service.moments import iso_time
from counterfoil.registry.service.storage import SCOPE_SETTINGS, ScopeSettings
from counterfoil.schema.errors import BadRequest, SchemaNotFound
from counterfoil.schema.rest.json_values import RequestJson
from counterfoil.schema.rest.versions import Visibility

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from uuid import UUID

    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.service.contact import StoreContact
    from counterfoil.registry.service.storage import Load, Observer, Plan, Record, Storage, Use
    from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix

EVER: Final = 2**63 - 1
"""A number that no change will reach."""

_PAGE: Final = 500
_SUBJECTS_A_TURN: Final = 50
_NEW_ROW: Final = frozenset({ChangeKind.REGISTERED, ChangeKind.REMOVED})


class VersionRemoved(SchemaNotFound):
    """A version that was there then has been deleted for good since. ``seq`` and ``ts`` (epoch ms) say when."""

    def __init__(self, subject: QualifiedSubject, version: int, *, seq: int, ts: int) -> None:
        super().__init__(
            f"Version {version} of subject {str(subject)!r} was there then, but was deleted for good by change {seq} "
            f"at {iso_time(ts)}, and its schema with it"
        )
        self.seq = seq
        self.ts = ts


class AsOf:
    """``storage`` as it was right after the change with the number ``seq``; 0 is before the first.

    For one request: it remembers what it has found. What the journal cannot answer is refused with ``BadRequest``.
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
        """Raise: the past is not counted."""
        raise BadRequest("What was stored then is not counted")

    @property
    def load(self) -> Load:
        """How busy the storage is just now."""
        return self._storage.load

    def last_known(self) -> None:
        """None: the past is read from the journal."""

    # --- versions

    async def history(self, subject: QualifiedSubject) -> History:
        """All versions that the subject had.

        A version's time is the one that it was stored with; where its row is gone, the time of the change.
        """
        now = await self._storage.history(subject)  # before the changes: what happens in between is among those
        changes = await self._storage.changes_of(subject, EVER)
        earlier = [change for change in changes if change.seq <= self._seq]
        renewed = {change.version for change in changes if change.seq > self._seq and change.kind in _NEW_ROW}
        stored_at = {entry.version: entry.ts for entry in now.entries if entry.version not in renewed}
        entries = [replace(each, ts=stored_at.get(each.version, each.ts)) for each in _entries(earlier)]
        self._holders.update({entry.guid: (subject, entry.version) for entry in entries})
        return History(earlier[-1].seq if earlier else 0, tuple(entries))

    async def content(self, guid: UUID) -> Content:
        """The content with this fingerprint; ``VersionRemoved`` when it is gone."""
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
        """The subjects that there were whose context and name begin so.

        Those of now, put right where something has happened since: it takes as long as that is much.
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
        """The names of those subjects, as the text of a JSON array."""
        names = sorted(map(str, await self.subjects(prefix, visibility)))[first:last]
        return json.dumps(names, ensure_ascii=False, separators=(",", ":"))

    async def contexts(self) -> Sequence[str]:
        """The contexts in which something may have been registered: those of now, and those deleted since."""
        found = set(await self._storage.contexts())
        async for change in self._since():
            if change.kind is ChangeKind.CONTEXT_DELETED:
                found.add(change.subject.context)
        return sorted(found)

    async def _since(self) -> AsyncIterator[Change]:
        """What has happened since, in order; others get their turn in between."""
        after = self._seq
        while page := await self._storage.changes(after, _PAGE):
            for change in page:
                yield change
            after = page[-1].seq
            await asyncio.sleep(0)

    async def _changes_until(self, scope: QualifiedSubject) -> Sequence[Change]:
        return await self._storage.changes_of(scope, self._seq)

    # --- settings

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """What was stored for a scope."""
        for change in reversed(await self._changes_until(scope)):
            if change.kind is ChangeKind.SETTINGS:
                return SCOPE_SETTINGS.read(RequestJson(change.document or {}))
        return ScopeSettings()

    async def settings_revision(self) -> int:
        """The number of the moment, at which nothing changes any more."""
        return self._seq

    # --- what the past cannot be asked

    def observe(self, observer: Observer) -> None:
        """Nothing happens in the past."""

    async def catch_up(self) -> None:
        """Return: nothing happens in the past."""

    async def catch_up_soon(self) -> None:
        """Return: nothing happens in the past."""

    @property
    def has_current_ids(self) -> bool:
        """True: nothing happens in the past."""
        return True

    async def commit(self, plan: Plan) -> NoReturn:
        """Refused: the past stays as it was."""
        raise _not_then(f"{type(plan).__name__} cannot be carried out")

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Refused."""
        raise _not_then(f"What id {schema_id} of context {context!r} stood for is not known")

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Refused."""
        raise _not_then(f"Which id {guid} had in context {context!r} is not known")

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Refused."""
        raise _not_then(f"Which ids {guid} had is not known")

    async def max_id(self, context: str) -> int:
        """Refused."""
        raise _not_then(f"The highest id of context {context!r} is not known")

    async def uses(self, context: str, schema_id: int) -> Sequence[Use]:
        """Refused."""
        raise _not_then(f"Which versions held id {schema_id} of context {context!r} is not known")

    async def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[Use]:
        """Refused."""
        raise _not_then(f"What referred to version {version} of subject {str(subject)!r} is not known")

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Refused."""
        raise _not_then("A list of all settings is not known")

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Sequence[Record]:
        """Refused: the journal does not tell what records held."""
        raise _not_then(f"What was kept as {kind} {'/'.join(prefix)} is not known")

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        """The changes up to the moment."""
        return [change for change in await self._storage.changes(after, limit) if change.seq <= self._seq]

    async def changes_of(self, subject: QualifiedSubject, until: int) -> Sequence[Change]:
        """The changes of one scope up to the moment."""
        return await self._storage.changes_of(subject, min(until, self._seq))

    async def last_change(self, until_ts: int | None = None) -> int:
        """The number of the last change up to the moment."""
        return min(self._seq, await self._storage.last_change(until_ts))

    async def check(self) -> None:
        """Return when the storage answers."""
        await self._storage.check()

    async def close(self) -> None:
        """Nothing of its own to let go of."""


def _entries(changes: Iterable[Change]) -> list[VersionEntry]:
    """The versions that ``changes`` of one subject lead to, ascending."""
    found: dict[int, VersionEntry] = {}
    for change in changes:
        if change.version is None or change.schema_id is None or change.guid is None:
            continue
        if change.kind is ChangeKind.REMOVED:
            found.pop(change.version, None)
            continue
        deleted = change.kind is ChangeKind.DELETED
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
