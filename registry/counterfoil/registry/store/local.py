"""What the storages in this process share: reads are answered at once, from tables at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.service.contact import StoreContact
from counterfoil.registry.service.storage import Load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.versions import History
    from counterfoil.registry.service.storage import Appended, Observer, Plan, Record, ScopeSettings, Totals, Use
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
        """None: reads are answered by what this process has open, whatever happens beside it."""

    def observe(self, observer: Observer) -> None:
        """Tell ``observer`` of every write that was carried out, before its caller is answered."""
        self._observers.append(observer)

    async def catch_up(self) -> None:
        """Return: nobody else writes what this process has open."""

    async def catch_up_soon(self) -> None:
        """As :meth:`catch_up`."""
        await self.catch_up()

    @property
    def has_current_ids(self) -> bool:
        """True: nobody else writes."""
        return True

    def _announce(self, plan: Plan, outcome: Appended | None) -> None:
        for observer in self._observers:
            observer(plan, outcome)

    async def history(self, subject: QualifiedSubject) -> History:
        """All versions of a subject."""
        return self._reads.history(subject)

    async def content(self, guid: UUID) -> Content | None:
        """The content with this fingerprint."""
        return self._reads.content(guid)

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """What an id stands for."""
        return self._reads.guid_of_id(context, schema_id)

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """The id of a content in a context."""
        return self._reads.id_of_guid(context, guid)

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """All ids of a content."""
        return self._reads.ids_of_guid(guid)

    async def max_id(self, context: str) -> int:
        """The highest id seen in a context."""
        return self._reads.max_id(context)

    async def uses(self, context: str, schema_id: int) -> Sequence[Use]:
        """The versions that hold an id."""
        return self._reads.uses(context, schema_id)

    async def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[Use]:
        """The versions that refer to a version."""
        return self._reads.referrers(subject, version)

    async def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """The subjects whose names begin so."""
        return self._reads.subjects(prefix, visibility)

    async def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, *, first: int, last: int) -> str:
        """The names of those subjects, as the text of a JSON array."""
        return self._reads.subject_names(prefix, visibility, first, last)

    async def contexts(self) -> Sequence[str]:
        """The known contexts."""
        return self._reads.contexts()

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """What is stored for a scope."""
        return self._reads.settings(scope)

    async def settings_revision(self) -> int:
        """The stamp of the last change of settings."""
        return self._reads.settings_revision()

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """All scopes with settings."""
        return self._reads.scopes()

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Sequence[Record]:
        """The records of a kind whose keys begin so."""
        return self._reads.records(kind, prefix)

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        """The changes after one, so many at most."""
        return self._reads.changes(after, limit)

    async def changes_of(self, subject: QualifiedSubject, until: int) -> Sequence[Change]:
        """The changes of one scope up to a number."""
        return self._reads.changes_of(subject, until)

    async def totals(self) -> Totals:
        """How much is stored."""
        return self._reads.totals()

    @property
    def load(self) -> Load:
        """Nothing waits here."""
        return Load()

    async def last_change(self, until_ts: int | None = None) -> int:
        """The number of the last change up to a time."""
        return self._reads.last_change(until_ts)
