"""A store that is opened directly, as a source and a target of facts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.access.records import ACCESS_KINDS
from counterfoil.registry.access.resources import REGISTRY
from counterfoil.registry.access.rules import STORE_OWNER
from counterfoil.registry.audit.events import AuditEvent, EventKind
from counterfoil.registry.bridges.records import REPORT_RECORD_KINDS
from counterfoil.registry.contracts.records import DEPLOYMENTS, MIGRATIONS, VERIFICATIONS
from counterfoil.registry.moving.facts import ContextFact, RecordFact, SettingsFact, Unreadable, VersionFact
from counterfoil.registry.moving.importing import ABSENT, SAME, FactStanding, clash, id_clash, version_standing
from counterfoil.registry.moving.sources import targets_of
from counterfoil.registry.store.changes import JournalChangeKind
from counterfoil.registry.store.committing import until_current
from counterfoil.registry.store.writes import (
    NO_REQUEST,
    RecordEvents,
    ReferenceTarget,
    SameTerms,
    StoragePlan,
    record_write,
    together,
)
from counterfoil.registry.subjects.levels import level_of
from counterfoil.registry.subjects.planning import (
    plan_context_removal,
    plan_hard_deletion,
    plan_settings,
    plan_soft_deletion,
    plan_version,
    read_state,
)
from counterfoil.registry.subjects.versions import make_content
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, SubjectPrefix
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.subjects import Config
from counterfoil.schema.rest.versions import Visibility

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from counterfoil.registry.moving.facts import Fact, Key
    from counterfoil.registry.store.protocol import Storage, StorageRecord
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.subjects import Mode


# The facts of a store that is opened directly.

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
        facts: Document = {"resource": str(REGISTRY), "outcome": "success", "caller": {"principal": STORE_OWNER}}
        if self._with_access:
            facts["detail"] = "with users, tokens and rules"
        await self._storage.commit(
            StoragePlan((), (RecordEvents((AuditEvent(EventKind.REGISTRY_EXPORT, facts),)),)), by=NO_REQUEST
        )

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
                if change.kind is JournalChangeKind.CONTEXT_DELETED:
                    dropped.add(change.subject.context)
                elif change.kind is JournalChangeKind.RECORD and change.document is not None:
                    kinds.add(change.document["kind"])
        self._known = after, dropped, kinds
        return dropped, kinds

    async def settings(self) -> AsyncIterator[SettingsFact]:
        """Yield the config and mode of every scope."""
        for scope, stored in await self._storage.scopes():
            yield SettingsFact(scope, stored.config, stored.mode)


# Importing facts into a store directly: without the checks that could refuse a restore.

PLACEHOLDER: Final = "counterfoil-reserved-id"
"""The subject of a schema that is registered under a context's highest id and deleted at once.

Afterwards the id is never assigned again.
"""


class StoreTarget:
    """Writes to ``storage``, without the checks of modes and compatibility."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def standing(self, fact: Fact) -> FactStanding:
        """Return the state of ``fact`` in the store."""
        match fact:
            case VersionFact():
                return await self._version_standing(fact)
            case ContextFact():
                return await self._context_standing(fact)
            case RecordFact():
                return self._record_standing(fact, await self._record(fact))
            case SettingsFact():
                return await self._settings_standing(fact)

    async def put(self, fact: Fact) -> None:
        """Write ``fact`` to the store."""
        match fact:
            case VersionFact():
                await until_current(partial(self._put_version, fact), catch_up=self._storage.catch_up)
            case ContextFact():
                await until_current(partial(self._reserve, fact), catch_up=self._storage.catch_up)
            case RecordFact():
                await until_current(partial(self._put_record, fact), catch_up=self._storage.catch_up)
            case SettingsFact():
                await until_current(partial(self._put_settings, fact), catch_up=self._storage.catch_up)

    async def finish(self) -> None:
        """Do nothing: the import changes no modes."""

    # --- versions

    async def _version_standing(self, fact: VersionFact) -> FactStanding:
        context, guid = fact.subject.context, fact.content.guid
        bound = await self._storage.guid_of_id(context, fact.schema_id)
        if bound is not None and bound != guid:
            return id_clash(fact, bound)
        entry = (await self._storage.history(fact.subject)).find(fact.version, deleted=True)
        if entry is None:
            return ABSENT
        return version_standing(fact, guid=entry.guid, schema_id=entry.schema_id, deleted=entry.deleted)

    async def _put_version(self, fact: VersionFact) -> None:
        state = await read_state(self._storage, fact.subject)
        if state.history.find(fact.version, deleted=True) is None:
            plan = await plan_version(
                self._storage,
                state,
                fact.content,
                targets=tuple(
                    ReferenceTarget(subject, version, must_be_active=False) for subject, version in targets_of(fact)
                ),
                schema_id=fact.schema_id,
                version=fact.version,
                ts=fact.ts,
            )
            await self._storage.commit(plan, by=NO_REQUEST)
            state = await read_state(self._storage, fact.subject) if fact.deleted else state
        if fact.deleted:
            deletion = await plan_soft_deletion(self._storage, state, (fact.version,), own_references_count=False)
            await self._storage.commit(deletion, by=NO_REQUEST)

    # --- contexts

    async def _context_standing(self, fact: ContextFact) -> FactStanding:
        leftover = await self._storage.history(QualifiedSubject(fact.name, PLACEHOLDER))
        if leftover.entries:  # of an import that was interrupted
            return ABSENT
        listed = fact.name in await self._storage.contexts()
        if await self._storage.max_id(fact.name) >= fact.max_id and (listed or not fact.listed):
            return SAME
        return ABSENT

    async def _reserve(self, fact: ContextFact) -> None:
        """Register and delete a schema under the context's highest id.

        Afterwards the id counts as assigned, and the context exists.
        """
        subject = QualifiedSubject(fact.name, PLACEHOLDER)
        was_listed = fact.name in await self._storage.contexts()
        text = f'{{"type":"fixed","name":"counterfoil_reserved_id","size":{fact.max_id}}}'
        state = await read_state(self._storage, subject)
        if not state.versions:
            schema_id = max(fact.max_id, await self._storage.max_id(fact.name))
            if await self._storage.guid_of_id(fact.name, schema_id) is not None:
                schema_id += 1
            content = make_content(text, SchemaType.AVRO)
            await self._storage.commit(
                await plan_version(self._storage, state, content, schema_id=schema_id), by=NO_REQUEST
            )
            state = await read_state(self._storage, subject)
        await self._storage.commit(await plan_hard_deletion(self._storage, state, state.versions), by=NO_REQUEST)
        is_empty = not await self._storage.subjects(SubjectPrefix(fact.name, ""), Visibility.WITH_DELETED)
        if not fact.listed and not was_listed and is_empty:
            await self._storage.commit(await plan_context_removal(self._storage, fact.name), by=NO_REQUEST)

    # --- records

    async def _record(self, fact: RecordFact) -> StorageRecord | None:
        found = await self._storage.records(fact.kind, fact.key)
        return next((record for record in found if record.key == fact.key), None)

    @staticmethod
    def _record_standing(fact: RecordFact, record: StorageRecord | None) -> FactStanding:
        if record is None:
            return ABSENT
        return SAME if record.document == fact.document else clash(f"{fact} is there with other content")

    async def _put_record(self, fact: RecordFact) -> None:
        revision = await self._storage.settings_revision()
        if await self._record(fact) is None:
            write = record_write(fact.kind, fact.key, fact.document, revision=0, is_term=True)
            await self._storage.commit(together((StoragePlan((SameTerms(revision),)), write)), by=NO_REQUEST)

    # --- settings

    async def _settings_standing(self, fact: SettingsFact) -> FactStanding:
        stored = await self._storage.settings(fact.scope)
        return settings_standing(fact, SettingsFact(fact.scope, stored.config, stored.mode))

    async def _put_settings(self, fact: SettingsFact) -> None:
        revision = await self._storage.settings_revision()
        stored = await self._storage.settings(fact.scope)
        wanted = replace(stored, config=fact.config or stored.config, mode=fact.mode or stored.mode)
        await self._storage.commit(plan_settings({fact.scope: wanted}, revision), by=NO_REQUEST)


def settings_standing(fact: SettingsFact, stored: SettingsFact) -> FactStanding:
    """Return the state of ``fact`` in a target with ``stored``; what the fact does not set is ignored."""
    missing = False
    for name in ("config", "mode"):
        wanted, held = getattr(fact, name), getattr(stored, name)
        if wanted is None or shown(wanted) == shown(held):
            continue
        if held is not None:
            return clash(f"{name} of {str(fact.scope) or 'the default context'!r} is there with other content")
        missing = True
    return ABSENT if missing else SAME


def shown(value: Config | Mode | None) -> Config | Mode | None:
    """Return a config with the level that applies; a mode unchanged."""
    return as_read(value) if isinstance(value, Config) else value


def as_read(config: Config) -> Config:
    """Return ``config`` with the level that applies."""
    return replace(config, compatibility_level=level_of(config))
