"""A cache of subjects' histories, each valid until any server writes to the subject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.changes import ChangeKind
from counterfoil.registry.domain.versions import History, VersionEntry
from counterfoil.schema.recent_values import RecentValues

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.registry.domain.changes import Change, Written
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

    def __call__(self, written: Written | None, /) -> None:
        """Remove what a write may have changed, or add its version to what is cached."""
        if written is None:
            self._known = RecentValues(_MAX_VERSIONS)
            self._being_read.clear()
            return
        for change in written.changes:
            longer = self._with(change, written.decided_on.get(change.subject))
            self._drop(change.subject)
            if longer is not None:
                self._put(change.subject, longer)

    def _with(self, change: Change, decided_on: int | None) -> History | None:
        """Return the cached history with a new version that was registered on it, if that is all that has changed."""
        known = self._known.get(change.subject)
        if known is None or known.revision != decided_on or change.kind is not ChangeKind.REGISTERED:
            return None
        if change.version is None or change.schema_id is None or change.guid is None:
            return None
        if len(known.active) != len(known.entries):
            return None  # it may have superseded a deleted one
        entry = VersionEntry(change.version, change.schema_id, change.guid, deleted=False, ts=change.ts)
        return History(change.seq, known.put(entry).entries)

    def _drop(self, subject: QualifiedSubject) -> None:
        self._known.drop(subject)
        self._being_read.pop(subject, None)
