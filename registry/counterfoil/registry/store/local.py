"""The common part of the storages in this process, whose reads do not wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.service.contact import StoreContact
from counterfoil.registry.service.storage import Load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from counterfoil.registry.domain.audit.events import Place, StoredEvent
    from counterfoil.registry.domain.changes import Change, Written
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.name_ranges import SubjectRange
    from counterfoil.registry.domain.scope_settings import ScopeSettings
    from counterfoil.registry.domain.versions import History, Use
    from counterfoil.registry.service.storage import Observer, Record, Totals
    from counterfoil.registry.store.tables import Reads
    from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
    from counterfoil.schema.rest.versions import Visibility


class LocalStorage:
    """The reads of a :class:`~counterfoil.registry.service.storage.Storage` over ``reads``."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._observers: list[Observer] = []
        self.contact = StoreContact()

    def last_known(self) -> None:
        """Return None: reads need no other process, so that they never lose contact."""

    def observe(self, observer: Observer) -> None:
        """Call ``observer`` for every write that was carried out, before its caller gets the outcome."""
        self._observers.append(observer)

    async def catch_up(self) -> None:
        """Do nothing: only this process writes the store."""

    async def catch_up_soon(self) -> None:
        """Do nothing, as :meth:`catch_up`."""
        await self.catch_up()

    @property
    def has_current_ids(self) -> bool:
        """True: only this process writes."""
        return True

    def _announce(self, written: Written) -> None:
        for observer in self._observers:
            observer(written)

    async def history(self, subject: QualifiedSubject) -> History:
        """Return all versions of a subject."""
        return self._reads.history(subject)

    async def content(self, guid: UUID) -> Content | None:
        """Return the content with this fingerprint."""
        return self._reads.content(guid)

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return the fingerprint of an id's content."""
        return self._reads.guid_of_id(context, schema_id)

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the id of a content in a context."""
        return self._reads.id_of_guid(context, guid)

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return all ids of a content."""
        return self._reads.ids_of_guid(guid)

    async def max_id(self, context: str) -> int:
        """Return the highest id that was ever used in a context."""
        return self._reads.max_id(context)

    async def uses(self, context: str, schema_id: int) -> Sequence[Use]:
        """Return the versions with an id."""
        return self._reads.uses(context, schema_id)

    async def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[Use]:
        """Return the versions that refer to a version."""
        return self._reads.referrers(subject, version)

    async def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """Return the subjects with a prefix."""
        return self._reads.subjects(prefix, visibility)

    async def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, *, first: int, last: int) -> str:
        """Return the names of subjects with a prefix, as the text of a JSON array."""
        return self._reads.subject_names(prefix, visibility, first, last)

    async def names_within(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, *, first: int, last: int
    ) -> str:
        """Return the names of subjects in ranges, as the text of a JSON array."""
        return self._reads.names_within(ranges, visibility, first, last)

    async def contexts(self) -> Sequence[str]:
        """Return the known contexts."""
        return self._reads.contexts()

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope."""
        return self._reads.settings(scope)

    async def settings_revision(self) -> int:
        """Return the revision of the settings."""
        return self._reads.settings_revision()

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Return all scopes with settings."""
        return self._reads.scopes()

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Sequence[Record]:
        """Return the records of a kind whose keys have a prefix."""
        return self._reads.records(kind, prefix)

    async def records_under(self, kind: str, prefixes: Sequence[tuple[str, ...]]) -> Sequence[Sequence[Record]]:
        """Return the records of a kind by prefix."""
        return self._reads.records_under(kind, prefixes)

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        """Return at most ``limit`` changes after one."""
        return self._reads.changes(after, limit)

    async def changes_of(self, subject: QualifiedSubject, until: int) -> Sequence[Change]:
        """Return the changes of one scope up to a number."""
        return self._reads.changes_of(subject, until)

    async def totals(self) -> Totals:
        """Return the numbers of subjects and versions."""
        return self._reads.totals()

    @property
    def load(self) -> Load:
        """A load of zero: nothing waits here."""
        return Load()

    async def journal_head(self) -> tuple[int, bytes]:
        """Return the number of the last change and the chain up to it; 0 and an empty one if there is none."""
        return self._reads.journal_head()

    async def audit_events(self, after: Place, last_change: int, limit: int) -> Sequence[StoredEvent]:
        """Return at most ``limit`` events of the audit after one, and not after a later change."""
        return self._reads.audit_events(after, last_change, limit)

    async def last_change(self, until_ts: int | None = None) -> int:
        """Return the number of the last change up to a time."""
        return self._reads.last_change(until_ts)
