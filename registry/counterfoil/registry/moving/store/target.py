"""Importing facts into a store directly: without the checks that could refuse a restore."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.config import level_of
from counterfoil.registry.domain.content import make_content
from counterfoil.registry.domain.writes.guards import SameTerms, Target
from counterfoil.registry.domain.writes.plan import Plan, record_write, together
from counterfoil.registry.moving.facts import ContextFact, RecordFact, SettingsFact, VersionFact
from counterfoil.registry.moving.source import targets_of
from counterfoil.registry.moving.target import ABSENT, SAME, Standing, clash, id_clash, version_standing
from counterfoil.registry.service.planning import (
    plan_context_removal,
    plan_hard_deletion,
    plan_settings,
    plan_soft_deletion,
    plan_version,
    read_state,
)
from counterfoil.registry.service.retrying import until_current
from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.config import Config
from counterfoil.schema.rest.versions import Visibility

if TYPE_CHECKING:
    from counterfoil.registry.moving.facts import Fact
    from counterfoil.registry.service.storage import Record, Storage
    from counterfoil.schema.rest.modes import Mode

PLACEHOLDER: Final = "counterfoil-reserved-id"
"""The subject of a schema that is registered under a context's highest id and deleted at once.

Afterwards the id is never assigned again.
"""


class StoreTarget:
    """Writes to ``storage``, without the checks of modes and compatibility."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def standing(self, fact: Fact) -> Standing:
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

    async def _version_standing(self, fact: VersionFact) -> Standing:
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
                targets=tuple(Target(subject, version, must_be_active=False) for subject, version in targets_of(fact)),
                schema_id=fact.schema_id,
                version=fact.version,
                ts=fact.ts,
            )
            await self._storage.commit(plan)
            state = await read_state(self._storage, fact.subject) if fact.deleted else state
        if fact.deleted:
            deletion = await plan_soft_deletion(self._storage, state, (fact.version,), own_references_count=False)
            await self._storage.commit(deletion)

    # --- contexts

    async def _context_standing(self, fact: ContextFact) -> Standing:
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
            await self._storage.commit(await plan_version(self._storage, state, content, schema_id=schema_id))
            state = await read_state(self._storage, subject)
        await self._storage.commit(await plan_hard_deletion(self._storage, state, state.versions))
        is_empty = not await self._storage.subjects(SubjectPrefix(fact.name, ""), Visibility.WITH_DELETED)
        if not fact.listed and not was_listed and is_empty:
            await self._storage.commit(await plan_context_removal(self._storage, fact.name))

    # --- records

    async def _record(self, fact: RecordFact) -> Record | None:
        found = await self._storage.records(fact.kind, fact.key)
        return next((record for record in found if record.key == fact.key), None)

    @staticmethod
    def _record_standing(fact: RecordFact, record: Record | None) -> Standing:
        if record is None:
            return ABSENT
        return SAME if record.document == fact.document else clash(f"{fact} is there with other content")

    async def _put_record(self, fact: RecordFact) -> None:
        revision = await self._storage.settings_revision()
        if await self._record(fact) is None:
            write = record_write(fact.kind, fact.key, fact.document, revision=0, is_term=True)
            await self._storage.commit(together((Plan((SameTerms(revision),)), write)))

    # --- settings

    async def _settings_standing(self, fact: SettingsFact) -> Standing:
        stored = await self._storage.settings(fact.scope)
        return settings_standing(fact, SettingsFact(fact.scope, stored.config, stored.mode))

    async def _put_settings(self, fact: SettingsFact) -> None:
        revision = await self._storage.settings_revision()
        stored = await self._storage.settings(fact.scope)
        wanted = replace(stored, config=fact.config or stored.config, mode=fact.mode or stored.mode)
        await self._storage.commit(plan_settings({fact.scope: wanted}, revision))


def settings_standing(fact: SettingsFact, stored: SettingsFact) -> Standing:
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
