"""Deleting versions and subjects: softly, then permanently; never while another schema refers to them."""

from __future__ import annotations

from functools import partial

from counterfoil.registry.associations.records import SubjectGuard
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import Extent, Requester, Unreferenced
from counterfoil.registry.subjects.levels import Scopes, check_writable
from counterfoil.registry.subjects.planning import (
    SubjectState,
    check_unreferenced,
    plan_context_removal,
    plan_hard_deletion,
    plan_soft_deletion,
)
from counterfoil.registry.subjects.versions import SubjectHistory, VersionEntry, subject_not_found, version_not_found
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import (
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)


class SubjectDeletion:
    """The use cases of deleting."""

    def __init__(self, storage: Storage, *, scopes: Scopes, guard: SubjectGuard, turns: WriteTurns) -> None:
        self._storage = storage
        self._scopes = scopes
        self._guard = guard
        self._turns = turns

    async def soft_delete_subject(self, subject: QualifiedSubject, *, by: Requester) -> tuple[int, ...]:
        """Soft-delete a subject and return the versions that were active."""
        return await self._turns.take(partial(self._soft_delete_subject, subject, by=by), written=subject)

    async def _soft_delete_subject(self, subject: QualifiedSubject, *, by: Requester) -> tuple[int, ...]:
        terms = await self._scopes.terms(subject)
        history = await self._storage.history(subject)
        if not history.entries:
            raise subject_not_found(subject, history)
        versions = tuple(entry.version for entry in history.active)
        if not versions:
            raise SubjectSoftDeleted(
                f"Subject {str(subject)!r} is soft-deleted already; delete it with permanent=true to remove it"
            )
        check_writable(terms.mode, subject)
        await self._guard.check_subject_deletion(subject)
        state = SubjectState(subject, history, terms.settings_revision)
        plan = await plan_soft_deletion(self._storage, state, versions, own_references_count=False)
        await self._storage.commit(plan, by=by)
        return versions

    async def hard_delete_subject(self, subject: QualifiedSubject, *, by: Requester) -> tuple[int, ...]:
        """Permanently delete a subject and return all of its versions."""
        return await self._turns.take(partial(self._hard_delete_subject, subject, by=by), written=subject)

    async def _hard_delete_subject(self, subject: QualifiedSubject, *, by: Requester) -> tuple[int, ...]:
        terms = await self._scopes.terms(subject)
        history = await self._storage.history(subject)
        if not history.entries:
            raise subject_not_found(subject, history)
        check_writable(terms.mode, subject)
        await self._guard.check_subject_deletion(subject)
        versions = tuple(entry.version for entry in history.entries)
        if history.active:
            await check_unreferenced(self._storage, Unreferenced(subject, versions, Extent.of(subject)))
            raise SubjectNotSoftDeleted(
                f"Subject {str(subject)!r} is not soft-deleted; delete it without permanent=true first"
            )
        state = SubjectState(subject, history, terms.settings_revision)
        plan = await plan_hard_deletion(self._storage, state, versions, own_references_count=False)
        await self._storage.commit(plan, by=by)
        return versions

    async def soft_delete_version(self, subject: QualifiedSubject, version: int | None, *, by: Requester) -> int:
        """Soft-delete a version and return its number; None means the latest."""
        return await self._turns.take(partial(self._soft_delete_version, subject, version, by=by), written=subject)

    async def _soft_delete_version(self, subject: QualifiedSubject, version: int | None, *, by: Requester) -> int:
        terms = await self._scopes.terms(subject)
        history = await self._storage.history(subject)
        entry = _existing(subject, history, version)
        if entry.deleted:
            raise VersionSoftDeleted(
                f"Version {entry.version} of subject {str(subject)!r} is soft-deleted already; "
                "delete it with permanent=true to remove it"
            )
        check_writable(terms.mode, subject)
        await self._guard.check_version_deletion(subject, entry.version, history)
        state = SubjectState(subject, history, terms.settings_revision)
        await self._storage.commit(await plan_soft_deletion(self._storage, state, (entry.version,)), by=by)
        return entry.version

    async def hard_delete_version(self, subject: QualifiedSubject, version: int | None, *, by: Requester) -> int:
        """Permanently delete a version and return its number; None means the latest."""
        return await self._turns.take(partial(self._hard_delete_version, subject, version, by=by), written=subject)

    async def _hard_delete_version(self, subject: QualifiedSubject, version: int | None, *, by: Requester) -> int:
        terms = await self._scopes.terms(subject)
        history = await self._storage.history(subject)
        entry = _existing(subject, history, version)
        check_writable(terms.mode, subject)
        await self._guard.check_version_deletion(subject, entry.version, history)
        if not entry.deleted:
            await check_unreferenced(self._storage, Unreferenced(subject, (entry.version,)))
            raise VersionNotSoftDeleted(
                f"Version {entry.version} of subject {str(subject)!r} is not soft-deleted; "
                "delete it without permanent=true first"
            )
        state = SubjectState(subject, history, terms.settings_revision)
        await self._storage.commit(await plan_hard_deletion(self._storage, state, (entry.version,)), by=by)
        return entry.version

    async def drop_context(self, context: str, *, by: Requester) -> None:
        """Delete a context; raise ``ContextNotEmpty`` if it has schemas."""
        await self._turns.take(partial(self._drop_context, context, by=by), written=context)

    async def _drop_context(self, context: str, *, by: Requester) -> None:
        await self._storage.commit(await plan_context_removal(self._storage, context), by=by)


def _existing(subject: QualifiedSubject, history: SubjectHistory, version: int | None) -> VersionEntry:
    """Return the version to delete, soft-deleted or not; None means the latest, which is an active one.

    Raises ``SubjectNotFound`` only if the subject has no version at all: a soft-deleted one can be permanently deleted.
    """
    found = history.find(version, deleted=True)
    if found is not None:
        return found
    raise version_not_found(subject, version, history) if history.entries else subject_not_found(subject, history)
