"""A cache of subjects' histories, each valid until any server writes to the subject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.versions import History, VersionEntry
from counterfoil.registry.service.recent_values import RecentValues
from counterfoil.registry.service.storage import Append, Elsewhere, HardDelete, PutSettings, SoftDelete, Together

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.registry.service.storage import Appended, Plan
    from counterfoil.schema.contexts import QualifiedSubject

_MAX_VERSIONS: Final = 50_000


class KnownHistories:
    """The most recently used histories; an observer of the storage from which ``read`` reads them.

    The cache is as current as the storage's last call of its observers: call ``catch_up`` of the storage first.
    """

    def __init__(self, read: Callable[[QualifiedSubject], Awaitable[History]]) -> None:
        self._read = read
        self._known: RecentValues[QualifiedSubject, History] = RecentValues(_MAX_VERSIONS)
        self._being_read: dict[QualifiedSubject, object] = {}

    async def of(self, subject: QualifiedSubject) -> History:
        """Return all versions of a subject."""
        found = self._known.get(subject)
        if found is not None:
            return found
        reading = self._being_read[subject] = object()
        try:
            found = await self._read(subject)
            if self._being_read.get(subject) is reading:  # otherwise it was written to in the meantime, or read again
                self._put(subject, found)
        finally:
            if self._being_read.get(subject) is reading:
                del self._being_read[subject]
        return found

    def known(self, subject: QualifiedSubject) -> History | None:
        """Return all versions of a subject without a read; None when they are not cached."""
        return self._known.get(subject)

    def _put(self, subject: QualifiedSubject, history: History) -> None:
        self._known.put(subject, history, weight=1 + len(history.entries))

    def __call__(self, written: Plan | Elsewhere | None, outcome: Appended | None, /) -> None:
        """Remove what a write may have changed."""
        match written:
            case Append() if outcome is not None:
                self._note_append(written, outcome)
            case SoftDelete() | HardDelete():
                self._drop(written.subject)
            case Elsewhere():
                for change in written.changes:
                    self._drop(change.subject)
            case Together():
                for plan in written.plans:
                    self._drop(plan.subject)
            case PutSettings() if written.purge is None:
                return
            case None | PutSettings():
                self._known = RecentValues(_MAX_VERSIONS)
                self._being_read.clear()

    def _note_append(self, plan: Append, outcome: Appended) -> None:
        known = self._known.get(plan.subject)
        self._drop(plan.subject)
        if known is None or known.revision != plan.revision or len(known.active) != len(known.entries):
            return
        entry = VersionEntry(outcome.version, outcome.schema_id, plan.content.guid, deleted=False, ts=outcome.ts)
        self._put(plan.subject, History(outcome.revision, known.put(entry).entries))

    def _drop(self, subject: QualifiedSubject) -> None:
        self._known.drop(subject)
        self._being_read.pop(subject, None)
