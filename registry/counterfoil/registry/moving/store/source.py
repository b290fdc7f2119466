"""The facts of a store that is opened directly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.access.names import STORE_OWNER
from counterfoil.registry.domain.access.records import ACCESS_KINDS
from counterfoil.registry.domain.access.resources import REGISTRY
from counterfoil.registry.domain.audit.events import AuditEvent, EventKind
from counterfoil.registry.domain.bridges.stored import REPORT_RECORD_KINDS
from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.domain.contracts.stored import DEPLOYMENTS, MIGRATIONS, VERIFICATIONS
from counterfoil.registry.domain.writes.effects import RecordEvents
from counterfoil.registry.domain.writes.plan import Plan
from counterfoil.registry.moving.facts import ContextFact, RecordFact, SettingsFact, Unreadable, VersionFact
from counterfoil.schema.contexts import DEFAULT_CONTEXT, SubjectPrefix
from counterfoil.schema.rest.versions import Visibility

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from counterfoil.registry.moving.facts import Key
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject

_CHANGES_AT_A_TIME: Final = 10_000
_LAST: Final = REPORT_RECORD_KINDS | {DEPLOYMENTS.name, MIGRATIONS.name, VERIFICATIONS.name}


class StoreSource:
    """Reads ``storage``; ``origin`` is the source's name in a backup.

    Users, tokens and rules are left out unless ``with_access``.
    """

    def __init__(self, storage: Storage, *, origin: str, with_access: bool = False) -> None:
        self._storage = storage
        self._with_access = with_access
        self._left_out = frozenset() if with_access else ACCESS_KINDS
        self._origin = origin
        self._known: tuple[int, set[str], set[str]] = (0, set(), set())

    @property
    def origin(self) -> str:
        """The source's name."""
        return self._origin

    async def record_export(self) -> None:
        """Add an event to the audit of the store: everything was read. Raise ``RegistryError`` if that fails."""
        facts: dict[str, Any] = {"resource": str(REGISTRY), "outcome": "success", "caller": {"principal": STORE_OWNER}}
        if self._with_access:
            facts["detail"] = "with users, tokens and rules"
        await self._storage.commit(Plan((), (RecordEvents((AuditEvent(EventKind.REGISTRY_EXPORT, facts),)),)))

    async def mark(self) -> int:
        """Return the number of the last change."""
        return await self._storage.last_change()

    async def unreadable(self) -> list[Unreadable]:
        """Return an empty list: a store is read completely."""
        return []

    async def subjects(self) -> Sequence[QualifiedSubject]:
        """Return all subjects."""
        return await self._storage.subjects(SubjectPrefix(None, ""), Visibility.WITH_DELETED)

    async def versions(self, subject: QualifiedSubject) -> list[VersionFact | Unreadable]:
        """Return all versions of a subject."""
        found: list[VersionFact | Unreadable] = []
        for entry in (await self._storage.history(subject)).entries:
            content = await self._storage.content(entry.guid)
            if content is None:  # deleted since its row was read, which the mark shows
                found.append(Unreadable(f"version {entry.version} of subject {str(subject)!r} has no content"))
            else:
                found.append(
                    VersionFact(subject, entry.version, entry.schema_id, content, deleted=entry.deleted, ts=entry.ts)
                )
        return found

    async def bound_before(self, fact: VersionFact) -> list[Key]:
        """Return the versions with the other ids of the content, if look-ups return the id of ``fact``."""
        context, guid = fact.subject.context, fact.content.guid
        ids = [held for place, held in await self._storage.ids_of_guid(guid) if place == context]
        if len(ids) == 1 or await self._storage.id_of_guid(context, guid) != fact.schema_id:
            return []
        others = [held for held in ids if held != fact.schema_id]
        return [(use.subject, use.version) for held in others for use in await self._storage.uses(context, held)]

    async def contexts(self) -> list[ContextFact]:
        """Return all contexts, also deleted ones as far as the journal has them, since their ids stay assigned."""
        listed = set(await self._storage.contexts())
        dropped, _ = await self._of_the_journal()
        found = [
            ContextFact(name, await self._storage.max_id(name), listed=name in listed)
            for name in sorted({DEFAULT_CONTEXT, *listed, *dropped})
        ]
        return [context for context in found if context.max_id]

    async def records(self) -> list[RecordFact]:
        """Return all records, of every kind in the journal that is not left out."""
        _, kinds = await self._of_the_journal()
        ordered = sorted(kinds - self._left_out, reverse=True)  # a key before those that it wraps
        ordered.sort(key=_LAST.__contains__)  # what a report, a deployment or a migration is about comes before it
        return [
            RecordFact(kind, record.key, record.document)
            for kind in ordered
            for record in await self._storage.records(kind)
        ]

    async def _of_the_journal(self) -> tuple[set[str], set[str]]:
        """Return the contexts that were ever deleted, and the kinds of records that were ever written."""
        after, dropped, kinds = self._known
        while changes := await self._storage.changes(after, _CHANGES_AT_A_TIME):
            after = changes[-1].seq
            for change in changes:
                if change.kind is ChangeKind.CONTEXT_DELETED:
                    dropped.add(change.subject.context)
                elif change.kind is ChangeKind.RECORD and change.document is not None:
                    kinds.add(change.document["kind"])
        self._known = after, dropped, kinds
        return dropped, kinds

    async def settings(self) -> AsyncIterator[SettingsFact]:
        """Yield the config and mode of every scope."""
        for scope, stored in await self._storage.scopes():
            yield SettingsFact(scope, stored.config, stored.mode)
