"""The protocol of a storage for the use cases: reads, and writes as plans.

The storage carries out plans (:mod:`counterfoil.registry.domain.writes`) one after another: it checks all guards of a
plan, and then carries out all of its effects, or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from counterfoil.registry.domain.audit.events import Place, StoredEvent
    from counterfoil.registry.domain.changes import Change, Written
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.name_ranges import SubjectRange
    from counterfoil.registry.domain.scope_settings import ScopeSettings
    from counterfoil.registry.domain.versions import History, Use
    from counterfoil.registry.domain.writes.plan import Plan
    from counterfoil.registry.service.contact import StoreContact
    from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.versions import Visibility


@dataclass(frozen=True, slots=True)
class Record:
    """Other stored data: a key, an association, a bridge, a report about one.

    ``kind`` is its kind, and ``key`` its identity within the kind. ``ts`` (epoch ms) is the time of its last write;
    ``revision`` changes with every write to it that is in the journal.
    """

    kind: str
    key: tuple[str, ...]
    document: Document
    ts: int
    revision: int


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a storage: writes that wait or run, and used and permitted connections."""

    waiting_writes: int = 0
    connections_in_use: int = 0
    max_connections: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers of subjects and versions that are not deleted."""

    subjects: int
    versions: int


class Observer(Protocol):
    """A cache whose content writes may change."""

    def __call__(self, written: Written | None, /) -> None:
        """Remove what ``written`` may have changed; None stands for unknown writes of other servers."""


class Storage(Protocol):
    """The protocol through which the use cases read and write.

    Every read sees all answered writes of this server, and those of other servers that were answered before the last
    :meth:`catch_up`, which is called once for each request, and before a plan is made again.
    """

    @property
    def contact(self) -> StoreContact:
        """Whether the store answers."""

    def last_known(self) -> Storage | None:
        """Return a storage of the data in memory when the store was last reached.

        For other data it raises ``StoreUnavailable``. None for a store that needs none, such as a file.
        """

    def observe(self, observer: Observer) -> None:
        """Call ``observer`` for every write that was carried out, before its caller gets a response.

        Writes of other servers are reported by :meth:`catch_up`, which is called before a read that is cached, and
        before each use of the cached value.
        """

    async def catch_up(self) -> None:
        """Wait until the observers were called for every write, of any server, that was answered before."""

    async def catch_up_soon(self) -> None:
        """Call :meth:`catch_up`, but raise ``StoreSlow`` if it takes long."""

    @property
    def has_current_ids(self) -> bool:
        """Whether the observers were called for every answered write, of any server, to an existing id or about access.

        Then a cached value about an id, or about a caller, needs no :meth:`catch_up`.
        """

    async def commit(self, plan: Plan) -> Written:
        """Carry out ``plan`` durably and return its changes.

        Raise the refusal of a guard that does not hold, ``StoreUnavailable``, ``StoreTimeout``.
        """

    async def history(self, subject: QualifiedSubject) -> History:
        """Return all versions of a subject."""

    async def content(self, guid: UUID) -> Content | None:
        """Return the content with this fingerprint."""

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return the fingerprint of an id's content."""

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the id that a content has in a context."""

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return all contexts and ids that a content has, sorted."""

    async def max_id(self, context: str) -> int:
        """Return the highest id that was ever used in the context; 0 if none."""

    async def uses(self, context: str, schema_id: int) -> Sequence[Use]:
        """Return the versions with an id, sorted by subject and version, soft-deleted ones included."""

    async def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[Use]:
        """Return the versions, in any context, whose schema refers to this one."""

    async def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """Return the subjects with a context and a prefix."""

    async def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, *, first: int, last: int) -> str:
        """Return the names of those subjects, qualified, as the text of a JSON array sorted by code point.

        ``first`` and ``last`` are indexes into all of them; the latter is exclusive. There may be a hundred thousand,
        so that they are passed as text, without an object for each.
        """

    async def names_within(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, *, first: int, last: int
    ) -> str:
        """Return the names of the subjects in disjoint ``ranges``, as :meth:`subject_names` returns names."""

    async def contexts(self) -> Sequence[str]:
        """Return the contexts in which something was registered, sorted."""

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope."""

    async def settings_revision(self) -> int:
        """Return a number that changes with every change of any config or mode."""

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Return all scopes with stored settings."""

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Sequence[Record]:
        """Return the records of a kind whose keys begin with these parts, sorted by key."""

    async def records_under(self, kind: str, prefixes: Sequence[tuple[str, ...]]) -> Sequence[Sequence[Record]]:
        """Return what :meth:`records` returns for each of some prefixes, in their order."""

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        """Return at most ``limit`` changes with a higher ``seq`` than ``after``, in order."""

    async def changes_of(self, subject: QualifiedSubject, until: int) -> Sequence[Change]:
        """Return the changes of one subject or scope up to the one with the number ``until``, in order."""

    async def last_change(self, until_ts: int | None = None) -> int:
        """Return the number of the last change, or of the last one up to a time (epoch ms); 0 when there is none."""

    async def journal_head(self) -> tuple[int, bytes]:
        """Return the number of the last change, and the chain of hashes up to it; 0 and an empty one if none."""

    async def audit_events(self, after: Place, last_change: int, limit: int) -> Sequence[StoredEvent]:
        """Return at most ``limit`` events of the audit after one, in order, none after a later change than one."""

    async def totals(self) -> Totals:
        """Count subjects and versions; this takes longer the more subjects there are."""

    @property
    def load(self) -> Load:
        """The current load of the storage."""

    async def check(self) -> None:
        """Check that the storage responds; raise ``StoreUnavailable`` if not."""

    async def close(self) -> None:
        """Finish the running writes and close the store."""
