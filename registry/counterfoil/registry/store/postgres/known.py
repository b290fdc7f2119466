"""Caches of what the database has, and a storage over them alone while it cannot be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from counterfoil.registry.store.changes import JournalChangeKind, ScopeSettings
from counterfoil.registry.store.postgres.news import GatheredReads
from counterfoil.registry.store.postgres.reads import PostgresReads
from counterfoil.registry.store.protocol import Load, StoreContact
from counterfoil.registry.subjects.versions import SubjectHistory, VersionEntry
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from uuid import UUID

    from counterfoil.registry.store.changes import JournalChange, WrittenChanges
    from counterfoil.registry.store.protocol import Observer
    from counterfoil.registry.store.writes import Requester, StoragePlan
    from counterfoil.registry.subjects.versions import VersionUse
    from counterfoil.schema.contexts import QualifiedSubject


# A cache of subjects' histories, each valid until any server writes to the subject.

_MAX_VERSIONS: Final = 50_000


class KnownHistories:
    """The most recently used histories; an observer of the storage from which ``read`` reads them.

    The cache is as current as the storage's last call of its observers: call ``catch_up`` of the storage first.
    """

    def __init__(self, read: Callable[[QualifiedSubject], Awaitable[SubjectHistory]]) -> None:
        self._read = read
        self._known: RecentValues[QualifiedSubject, SubjectHistory] = RecentValues(_MAX_VERSIONS)
        self._being_read: dict[QualifiedSubject, object] = {}

    async def of(self, subject: QualifiedSubject) -> SubjectHistory:
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

    def known(self, subject: QualifiedSubject) -> SubjectHistory | None:
        """Return all versions of a subject without a read; None when they are not cached."""
        return self._known.get(subject)

    def _put(self, subject: QualifiedSubject, history: SubjectHistory) -> None:
        self._known.put(subject, history, weight=1 + len(history.entries))

    def __call__(self, written: WrittenChanges | None, /) -> None:
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

    def _with(self, change: JournalChange, decided_on: int | None) -> SubjectHistory | None:
        """Return the cached history with a new version that was registered on it, if that is all that has changed."""
        known = self._known.get(change.subject)
        if known is None or known.revision != decided_on or change.kind is not JournalChangeKind.REGISTERED:
            return None
        if change.version is None or change.schema_id is None or change.guid is None:
            return None
        if len(known.active) != len(known.entries):
            return None  # it may have superseded a deleted one
        entry = VersionEntry(change.version, change.schema_id, change.guid, deleted=False, ts=change.ts)
        return SubjectHistory(change.seq, known.put(entry).entries)

    def _drop(self, subject: QualifiedSubject) -> None:
        self._known.drop(subject)
        self._being_read.pop(subject, None)


# A cache of reads about schema ids, used while the database cannot be reached.

Key = (
    tuple[Literal["guid", "uses"], str, int]
    | tuple[Literal["ids"], "UUID"]
    | tuple[Literal["id"], str, "UUID"]
    | tuple[Literal["contexts"]]
)
"""The kinds of reads: the fingerprint or the uses of an id, the ids or the id of a fingerprint, the contexts."""

_MAX_READ: Final = 40_000


class KnownIds:
    """The values that were read last; an observer of the storage, which removes values that a write may have changed.

    While the database responds, nothing is read from here.
    """

    def __init__(self) -> None:
        self._known: RecentValues[Key, Any] = RecentValues(_MAX_READ)
        self._changes = 0

    async def noting(self, key: Key, reading: Awaitable[Any]) -> Any:
        """Return the result of ``reading``, and cache it unless something was written in the meantime."""
        changes = self._changes
        value = await reading
        if value is not None and changes == self._changes:
            self._known.put(key, value, weight=1)
        return value

    def get(self, key: Key) -> Any:
        """Return the value that was read last; None when it is not cached."""
        return self._known.get(key)

    def __call__(self, written: WrittenChanges | None, /) -> None:
        """Remove what a write may have changed."""
        if written is None:
            self._known = RecentValues(_MAX_READ)
        else:
            for change in written.changes:
                if change.schema_id is not None:
                    self._drop(change.subject.context, change.schema_id, change.guid)
                elif change.subject.is_context:
                    self._known.drop(("contexts",))
        self._changes += 1

    def _drop(self, context: str, schema_id: int, guid: UUID | None) -> None:
        self._known.drop(("guid", context, schema_id))
        self._known.drop(("uses", context, schema_id))
        if guid is not None:
            self._known.drop(("ids", guid))
            self._known.drop(("id", context, guid))
        if context not in (self._known.get(("contexts",)) or ()):
            self._known.drop(("contexts",))


# A cache of all config and modes, valid until any server changes one.

MAX_SCOPES: Final = 1000
"""With more scopes than that, each is read when it is requested: every subject may have one."""

_MAX_ONES: Final = 10_000
_NOTHING: Final = ScopeSettings()


class KnownSettings:
    """The stored settings of scopes; an observer of the storage from which they are read.

    Most subjects have no settings of their own, which is known without a read when all scopes with settings are cached.
    ``read_all`` returns more than :data:`MAX_SCOPES` if there are more; ``read_one`` reads one scope.
    """

    def __init__(
        self,
        read_all: Callable[[], Awaitable[Sequence[tuple[QualifiedSubject, ScopeSettings]]]],
        *,
        read_one: Callable[[QualifiedSubject], Awaitable[ScopeSettings]],
    ) -> None:
        self._read_all = read_all
        self._read_one = read_one
        self._readings: GatheredReads[None, dict[QualifiedSubject, ScopeSettings]] = GatheredReads(self._read)
        self._known: dict[QualifiedSubject, ScopeSettings] | None = None
        self._ones: RecentValues[QualifiedSubject, ScopeSettings] = RecentValues(_MAX_ONES)
        self.changes = 0
        """The number of writes that may have changed cached settings."""

    async def of(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope."""
        known = self._known
        if known is None:
            changes = self.changes
            known = await self._readings.read(None)
            if changes == self.changes:
                self._known = known
        return await self._one(scope) if len(known) > MAX_SCOPES else known.get(scope, _NOTHING)

    async def _one(self, scope: QualifiedSubject) -> ScopeSettings:
        changes = self.changes
        found = await self._read_one(scope)
        if changes == self.changes:
            self._ones.put(scope, found, weight=1)
        return found

    def known(self, scope: QualifiedSubject) -> ScopeSettings | None:
        """Return the settings that were last read for a scope, without a read; None when they are not cached."""
        known = self._known
        return self._ones.get(scope) if known is None or len(known) > MAX_SCOPES else known.get(scope, _NOTHING)

    async def _read(self, callers: Sequence[None]) -> Sequence[dict[QualifiedSubject, ScopeSettings]]:
        known = dict(await self._read_all())
        return [known for _ in callers]

    def __call__(self, written: WrittenChanges | None, /) -> None:
        """Remove what a write may have changed."""
        if written is not None and not written.has_new_terms:
            return
        self._known = None
        self._ones = RecentValues(_MAX_ONES)
        self.changes += 1


# The database as it was when it was last reached: a storage over caches alone.


class NotInMemory(StoreUnavailable):
    """The requested data is not cached, and the database cannot be reached."""


class _NoConnections:
    """A replacement of connections that refuses every statement."""

    async def rows(self, statement: str, *arguments: object) -> NoReturn:
        """Raise ``NotInMemory``."""
        del statement, arguments
        raise NotInMemory("The store cannot be reached, and this is not in memory")


class LastKnown(PostgresReads):
    """A storage over the cached reads of another; every other read, and every write, raises ``NotInMemory``."""

    def __init__(self, *, histories: KnownHistories, settings: KnownSettings, ids: KnownIds) -> None:
        super().__init__(_NoConnections())
        self.contact = StoreContact()
        self._histories = histories
        self._settings = settings
        self._ids = ids

    def observe(self, observer: Observer, *, of_records: bool = False) -> None:
        """Do nothing: nothing is written here."""

    async def catch_up(self) -> None:
        """Do nothing: there is no newer data."""

    async def catch_up_soon(self) -> None:
        """Do nothing: there is no newer data."""

    @property
    def has_current_ids(self) -> bool:
        """False: other servers may have written."""
        return False

    def last_known(self) -> LastKnown:
        """Return this storage."""
        return self

    async def history(self, subject: QualifiedSubject) -> SubjectHistory:
        """Return the cached versions of a subject."""
        found = self._histories.known(subject)
        return await super().history(subject) if found is None else found

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the cached settings of a scope."""
        found = self._settings.known(scope)
        return await super().settings(scope) if found is None else found

    async def settings_revision(self) -> int:
        """Return a number that changes with every change of the cached settings."""
        return self._settings.changes

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return the cached fingerprint of an id's content."""
        found: UUID | None = self._ids.get(("guid", context, schema_id))
        return await super().guid_of_id(context, schema_id) if found is None else found

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the cached id of a content in a context."""
        found: int | None = self._ids.get(("id", context, guid))
        return await super().id_of_guid(context, guid) if found is None else found

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return the cached ids of a content."""
        found: Sequence[tuple[str, int]] | None = self._ids.get(("ids", guid))
        return await super().ids_of_guid(guid) if found is None else found

    async def uses(self, context: str, schema_id: int) -> Sequence[VersionUse]:
        """Return the cached versions with an id."""
        found: Sequence[VersionUse] | None = self._ids.get(("uses", context, schema_id))
        return await super().uses(context, schema_id) if found is None else found

    async def contexts(self) -> Sequence[str]:
        """Return the cached contexts."""
        found: Sequence[str] | None = self._ids.get(("contexts",))
        return await super().contexts() if found is None else found

    @property
    def load(self) -> Load:
        """A load of zero: nothing waits here."""
        return Load()

    async def commit(self, plan: StoragePlan, *, by: Requester) -> WrittenChanges:
        """Raise ``NotInMemory``."""
        del plan, by
        raise NotInMemory("The store cannot be reached, and accepts no writes")

    async def check(self) -> None:
        """Raise ``NotInMemory``."""
        raise NotInMemory("The store cannot be reached")

    async def close(self) -> None:
        """Do nothing: the other storage is closed separately."""
