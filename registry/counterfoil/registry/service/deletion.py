"""Deleting versions and subjects: softly, then permanently; never while another schema refers to them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.versions import reference_exists, subject_not_found, version_not_found
from counterfoil.registry.service.storage import DropContext, HardDelete, SoftDelete
from counterfoil.schema.errors import (
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)

if TYPE_CHECKING:
    from counterfoil.registry.domain.versions import History, VersionEntry
    from counterfoil.registry.service.associations.index import SubjectGuard
    from counterfoil.registry.service.retrying import Turns
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject


class Deletion:
    """The use cases of deleting."""

    def __init__(self, storage: Storage, *, scopes: Scopes, guard: SubjectGuard, turns: Turns) -> None:
        self._storage = storage
        self._scopes = scopes
        self._guard = guard
        self._turns = turns

    async def soft_delete_subject(self, subject: QualifiedSubject) -> tuple[int, ...]:
        """Soft-delete a subject and return the versions that were active."""
        return await self._turns.take(partial(self._soft_delete_subject, subject), written=subject)

    async def _soft_delete_subject(self, subject: QualifiedSubject) -> tuple[int, ...]:
        terms = await self._scopes.terms(subject)
        history = await self._storage.history(subject)
        if not history.entries:
            raise subject_not_found(subject)
        versions = tuple(entry.version for entry in history.active)
        if not versions:
            raise SubjectSoftDeleted(
                f"Subject {str(subject)!r} is soft-deleted already; delete it with permanent=true to remove it"
            )
        check_writable(terms.mode, subject)
        await self._guard.check_subject_deletion(subject)
        await self._storage.commit(
            SoftDelete(subject, versions, history.revision, terms.settings_revision, ignore_own_references=True)
        )
        return versions

    async def hard_delete_subject(self, subject: QualifiedSubject) -> tuple[int, ...]:
        """Permanently delete a subject and return all of its versions."""
        return await self._turns.take(partial(self._hard_delete_subject, subject), written=subject)

    async def _hard_delete_subject(self, subject: QualifiedSubject) -> tuple[int, ...]:
        terms = await self._scopes.terms(subject)
        history = await self._storage.history(subject)
        if not history.entries:
            raise subject_not_found(subject)
        check_writable(terms.mode, subject)
        await self._guard.check_subject_deletion(subject)
        versions = tuple(entry.version for entry in history.entries)
        if history.active:
            await self._check_unreferenced(subject, versions, own_count=False)
            raise SubjectNotSoftDeleted(
                f"Subject {str(subject)!r} is not soft-deleted; delete it without permanent=true first"
            )
        await self._storage.commit(
            HardDelete(subject, versions, history.revision, terms.settings_revision, ignore_own_references=True)
        )
        return versions

    async def soft_delete_version(self, subject: QualifiedSubject, version: int | None) -> int:
        """Soft-delete a version and return its number; None means the latest."""
        return await self._turns.take(partial(self._soft_delete_version, subject, version), written=subject)

    async def _soft_delete_version(self, subject: QualifiedSubject, version: int | None) -> int:
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
        await self._storage.commit(SoftDelete(subject, (entry.version,), history.revision, terms.settings_revision))
        return entry.version

    async def hard_delete_version(self, subject: QualifiedSubject, version: int | None) -> int:
        """Permanently delete a version and return its number; None means the latest."""
        return await self._turns.take(partial(self._hard_delete_version, subject, version), written=subject)

    async def _hard_delete_version(self, subject: QualifiedSubject, version: int | None) -> int:
        terms = await self._scopes.terms(subject)
        history = await self._storage.history(subject)
        entry = _existing(subject, history, version)
        check_writable(terms.mode, subject)
        await self._guard.check_version_deletion(subject, entry.version, history)
        if not entry.deleted:
            await self._check_unreferenced(subject, (entry.version,), own_count=True)
            raise VersionNotSoftDeleted(
                f"Version {entry.version} of subject {str(subject)!r} is not soft-deleted; "
                "delete it without permanent=true first"
            )
        await self._storage.commit(HardDelete(subject, (entry.version,), history.revision, terms.settings_revision))
        return entry.version

    async def _check_unreferenced(
        self, subject: QualifiedSubject, versions: tuple[int, ...], *, own_count: bool
    ) -> None:
        for version in versions:
            for use in await self._storage.referrers(subject, version):
                if own_count or use.subject != subject:
                    raise reference_exists(subject, version, by=use.subject, by_version=use.version)

    async def drop_context(self, context: str) -> None:
        """Delete a context; raise ``ContextNotEmpty`` if it has schemas."""
        await self._storage.commit(DropContext(context))


def _existing(subject: QualifiedSubject, history: History, version: int | None) -> VersionEntry:
    """Return the version to delete, soft-deleted or not; None means the latest, which is an active one.

    Raises ``SubjectNotFound`` only if the subject has no version at all: a soft-deleted one can be permanently deleted.
    """
    found = history.find(version, deleted=True)
    if found is not None:
        return found
    raise version_not_found(subject, version) if history.entries else subject_not_found(subject)
