"""Deciding what a write consists of: reading what it depends on, refusing it, or returning its plan.

Every plan has guards for what was read here, so that it is refused as stale if that has changed before it is carried
out. Mode, compatibility and associations are checked by the use cases before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from counterfoil.registry.store.changes import ScopeSettings
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import (
    AtRevision,
    DropContext,
    Extent,
    Guard,
    IdFree,
    IdOf,
    MarkDeleted,
    PutSettings,
    PutVersion,
    ReferenceTarget,
    RemoveVersions,
    SameTerms,
    StoragePlan,
    SubjectCount,
    Unreferenced,
    same_terms,
    together,
)
from counterfoil.registry.subjects.versions import Content, ReferredTo, SubjectHistory
from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
from counterfoil.schema.errors import ContextNotEmpty, OperationNotPermitted
from counterfoil.schema.rest.versions import Visibility

_NOTHING = ScopeSettings()


@dataclass(frozen=True, slots=True)
class SubjectState:
    """What was read of a subject: its history, and the revision of the settings, which was read before."""

    subject: QualifiedSubject
    history: SubjectHistory
    settings_revision: int

    @property
    def versions(self) -> tuple[int, ...]:
        """The numbers of all versions."""
        return tuple(entry.version for entry in self.history.entries)

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The guards that the history, and config and mode in effect, have not changed."""
        return same_terms(self.subject, self.settings_revision), AtRevision(self.subject, self.history.revision)


async def read_state(storage: Storage, subject: QualifiedSubject) -> SubjectState:
    """Return the present state of a subject."""
    settings_revision = await storage.settings_revision()
    return SubjectState(subject, await storage.history(subject), settings_revision)


# --- versions ---------------------------------------------------------------------------------------------------------


async def plan_version(
    storage: Storage,
    state: SubjectState,
    content: Content,
    *,
    targets: tuple[ReferenceTarget, ...] = (),
    schema_id: int | None = None,
    version: int | None = None,
    ts: int | None = None,
) -> StoragePlan:
    """Return the plan that stores a version of a subject.

    ``schema_id``, ``version`` and ``ts`` are those of an import; ``version`` None is one above the highest. Earlier
    versions with the same id that are soft-deleted are superseded, that is removed, unless a schema refers to them.
    """
    subject, history = state.subject, state.history
    number = history.next_version if version is None else version
    guards: list[Guard] = [*state.guards, *targets]
    if schema_id is not None:
        guards.append(IdFree(subject.context, schema_id, content.guid))
    replaced = history.find(number, deleted=True)
    put = PutVersion(subject, number, content, targets, schema_id=schema_id, ts=ts, replaced=replaced)
    plan = StoragePlan(tuple(guards), (put,))
    if any(entry.deleted and entry.guid == content.guid and entry.version < number for entry in history.entries):
        return together((plan, await _superseding(storage, put, history)))
    return plan


async def _superseding(storage: Storage, put: PutVersion, history: SubjectHistory) -> StoragePlan:
    """Return the plan that removes what ``put`` supersedes."""
    subject, guid = put.subject, put.content.guid
    schema_id = await storage.id_of_guid(subject.context, guid) if put.schema_id is None else put.schema_id
    if schema_id is None:
        return StoragePlan()
    same_id = [
        entry.version
        for entry in history.entries
        if entry.deleted and entry.schema_id == schema_id and entry.version < put.version
    ]
    uses = await asyncio.gather(*(storage.referrers(subject, version) for version in same_id))
    superseded = tuple(version for version, found in zip(same_id, uses, strict=True) if not found)
    if not superseded:
        return StoragePlan()
    guards: tuple[Guard, ...] = (Unreferenced(subject, superseded),)
    if put.schema_id is None:
        guards = (IdOf(subject.context, guid, schema_id), *guards)
    return StoragePlan(guards, (RemoveVersions(subject, superseded),))


async def plan_soft_deletion(
    storage: Storage, state: SubjectState, versions: Sequence[int], *, own_references_count: bool = True
) -> StoragePlan:
    """Return the plan that soft-deletes versions of a subject; raise ``ReferenceExists`` if one is referred to.

    Soft-deleted referring versions do not count, and those of the subject itself only if ``own_references_count``.
    """
    inside = None if own_references_count else Extent.of(state.subject)
    unreferenced = Unreferenced(state.subject, tuple(versions), inside, deleted_count=False)
    await check_unreferenced(storage, unreferenced)
    marked = tuple(entry.version for entry in state.history.entries_of(versions) if not entry.deleted)
    return StoragePlan((*state.guards, unreferenced), (MarkDeleted(state.subject, marked),) if marked else ())


async def plan_hard_deletion(
    storage: Storage, state: SubjectState, versions: Sequence[int], *, own_references_count: bool = True
) -> StoragePlan:
    """Return the plan that removes versions of a subject; raise ``ReferenceExists`` if one is referred to."""
    inside = None if own_references_count else Extent.of(state.subject)
    await check_unreferenced(storage, Unreferenced(state.subject, tuple(versions), inside))
    return await _plan_removal(storage, state, versions, inside)


async def _plan_removal(
    storage: Storage, state: SubjectState, versions: Sequence[int], inside: Extent | None
) -> StoragePlan:
    """Return the plan that removes versions to which nothing outside of ``inside`` refers.

    With the last version of a subject, its config and mode are removed.
    """
    subject = state.subject
    removed = tuple(entry.version for entry in state.history.entries_of(versions))
    if not removed:
        return StoragePlan(state.guards)
    guards = (*state.guards, Unreferenced(subject, removed, inside))
    is_last = len(removed) == len(state.history.entries) and not subject.is_context
    if is_last and await storage.settings(subject) != _NOTHING:
        return StoragePlan(guards, (RemoveVersions(subject, removed), PutSettings(subject, _NOTHING)))
    return StoragePlan(guards, (RemoveVersions(subject, removed),))


async def check_unreferenced(storage: Storage, *guards: Unreferenced) -> None:
    """Raise ``ReferenceExists`` for the first reference that breaks one of ``guards``."""
    places = [(guard, version) for guard in guards for version in guard.versions]
    found = await asyncio.gather(*(storage.referrers(guard.subject, version) for guard, version in places))
    for (guard, version), uses in zip(places, found, strict=True):
        for use in uses:
            if guard.is_broken_by(use):
                raise ReferredTo(guard.subject, version, by=use.subject, by_version=use.version)


# --- settings and contexts --------------------------------------------------------------------------------------------


def plan_settings(scopes: Mapping[QualifiedSubject, ScopeSettings], settings_revision: int) -> StoragePlan:
    """Return the plan that replaces what is stored for ``scopes``, decided at a revision of the settings."""
    terms = SameTerms(settings_revision)
    if len(scopes) == 1:
        [scope] = scopes
        terms = same_terms(scope, settings_revision)
    return StoragePlan((terms,), tuple(PutSettings(scope, settings) for scope, settings in scopes.items()))


async def plan_purge(storage: Storage, extent: Extent, settings_revision: int) -> StoragePlan:
    """Return the plan that removes the subjects in ``extent``, all of whose versions must be soft-deleted.

    Raises ``OperationNotPermitted`` if a version is active, and ``ReferenceExists`` if another subject refers to one.
    """
    subjects = await _subjects_in(storage, extent)
    histories = await asyncio.gather(*map(storage.history, subjects))
    states = [SubjectState(*found, settings_revision) for found in zip(subjects, histories, strict=True)]
    idle = list(takewhile(lambda state: not state.history.active, states))
    if extent.context is not None:  # otherwise there is nothing outside
        await check_unreferenced(storage, *(Unreferenced(state.subject, state.versions, extent) for state in idle))
    if len(idle) < len(states):
        raise OperationNotPermitted(
            f"Mode IMPORT needs a scope without schemas; subject {str(subjects[len(idle)])!r} has active versions"
        )
    removals = await asyncio.gather(*(_plan_removal(storage, state, state.versions, extent) for state in idle))
    guards = (SubjectCount(extent.context, len(subjects)),) if extent.name is None else ()
    return together((StoragePlan(guards), *removals))


async def _subjects_in(storage: Storage, extent: Extent) -> Sequence[QualifiedSubject]:
    if extent.context is not None and extent.name is not None:
        return [QualifiedSubject(extent.context, extent.name)]
    return await storage.subjects(SubjectPrefix(extent.context, ""), Visibility.WITH_DELETED)


async def plan_context_removal(storage: Storage, context: str) -> StoragePlan:
    """Return the plan that removes a context from the listing; raise ``ContextNotEmpty`` if it has a subject."""
    if await storage.subjects(SubjectPrefix(context, ""), Visibility.WITH_DELETED):
        raise ContextNotEmpty(
            f"Context {context!r} still holds schemas, soft-deleted ones count; delete them permanently first"
        )
    return StoragePlan((SubjectCount(context, 0),), (DropContext(context),))
