"""The protocol of a storage, whether it responds, the errors of late writes, and the format of a store."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from counterfoil.registry.audit.events import EventPlace, StoredEvent
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind, ScopeSettings, WrittenChanges
from counterfoil.registry.store.name_ranges import SubjectRange
from counterfoil.registry.store.writes import Requester, StoragePlan, StoreNotUsable
from counterfoil.registry.subjects.versions import Content, SubjectHistory, SubjectSummary, VersionUse
from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
from counterfoil.schema.errors import RegistryError, StoreTimeout, StoreUnavailable
from counterfoil.schema.rest.object_forms import Document
from counterfoil.schema.rest.versions import Visibility

# Whether the store responds: recorded at each use, logged once when it is lost and once when it responds again.

_LOGGER: Final = logging.getLogger("counterfoil.registry.store")


def _nothing() -> None:
    """Do nothing."""


class StoreSlow(StoreTimeout):
    """The store has not responded for so long that a reader should use cached data; it may still respond."""


class StoreContact:
    """The state of the store at its last use.

    ``at_loss`` is called when it is lost, so that it is tried again. ``clock_s`` is monotonic.
    """

    def __init__(
        self, at_loss: Callable[[], None] = _nothing, *, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._at_loss = at_loss
        self._clock_s = clock_s
        self._lost_at_s = 0.0
        self._are_writes_refused = False
        self.error: RegistryError | None = None
        """Why the store cannot be read; None when it can be read."""

    @property
    def lost_for_s(self) -> float | None:
        """The seconds since the store was found lost; None when it responds."""
        return None if self.error is None else self._clock_s() - self._lost_at_s

    def note_lost(self, error: RegistryError) -> None:
        """Record that the store could not be read because of ``error``."""
        if self.error is not None:
            self.error = error
            return
        self.error, self._lost_at_s = error, self._clock_s()
        _LOGGER.error("the store is lost", extra={"cause": error.message})
        self._at_loss()

    def note_reached(self) -> None:
        """Record that the store has responded."""
        lost_for_s = self.lost_for_s
        if lost_for_s is not None:
            self.error = None
            _LOGGER.info("the store is back", extra={"lost_for_s": round(lost_for_s, 3)})

    def note_write(self, failure: Exception | None = None) -> None:
        """Record that the store has carried out a write, or could not because of ``failure``."""
        if failure is None:
            if self._are_writes_refused:
                _LOGGER.info("the store takes writes again")
            self._are_writes_refused = False
        elif isinstance(failure, (StoreUnavailable, StoreTimeout)) and not self._are_writes_refused:
            self._are_writes_refused = True
            _LOGGER.warning("the store does not take writes", extra={"cause": failure.message})


# The protocol of a storage for the use cases: reads, and writes as plans.
#
# The storage carries out plans (:mod:`counterfoil.registry.store.writes`) one after another: it checks all guards of a
# plan, and then carries out all of its effects, or nothing.


@dataclass(frozen=True, slots=True)
class StorageRecord:
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
class StoreTotals:
    """The numbers of subjects and versions that are not deleted."""

    subjects: int
    versions: int


class Observer(Protocol):
    """A cache whose content writes may change."""

    def __call__(self, written: WrittenChanges | None, /) -> None:
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

    def observe(self, observer: Observer, *, of_records: bool = False) -> None:
        """Call ``observer`` for every write that was carried out, before its caller gets a response.

        With ``of_records`` it is not called for writes of which it is known that they change no record.
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

    async def commit(self, plan: StoragePlan, *, by: Requester) -> WrittenChanges:
        """Carry out ``plan`` durably for ``by``, whose trail has its changes then, and return them.

        Raise the refusal of a guard that does not hold, ``StoreUnavailable``, ``StoreTimeout``.
        """

    async def history(self, subject: QualifiedSubject) -> SubjectHistory:
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

    async def uses(self, context: str, schema_id: int) -> Sequence[VersionUse]:
        """Return the versions with an id, sorted by subject and version, soft-deleted ones included."""

    async def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[VersionUse]:
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

    async def summaries(
        self, ranges: Sequence[SubjectRange], visibility: Visibility, limit: int
    ) -> Sequence[SubjectSummary]:
        """Return the first ``limit`` subjects in ``ranges``, sorted by context and name, with their latest versions.

        The ranges are sorted by context and name, too, and disjoint, so that no more is read than is returned.
        """

    async def contexts(self) -> Sequence[str]:
        """Return the contexts in which something was registered, sorted."""

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope."""

    async def settings_revision(self) -> int:
        """Return a number that changes with every change of any config or mode."""

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """Return all scopes with stored settings."""

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Sequence[StorageRecord]:
        """Return the records of a kind whose keys begin with these parts, sorted by key."""

    async def records_under(self, kind: str, prefixes: Sequence[tuple[str, ...]]) -> Sequence[Sequence[StorageRecord]]:
        """Return what :meth:`records` returns for each of some prefixes, in their order."""

    async def changes(self, after: int, limit: int) -> Sequence[JournalChange]:
        """Return at most ``limit`` changes with a higher ``seq`` than ``after``, in order."""

    async def changes_of(
        self,
        subject: QualifiedSubject,
        until: int,
        *,
        versions: range | None = None,
        kind: JournalChangeKind | None = None,
        newest: int | None = None,
    ) -> Sequence[JournalChange]:
        """Return the changes of one subject or scope up to the one with the number ``until``, in order.

        Of some ``versions`` alone, or of one ``kind``, if they are given; others are not read as values then. With
        ``newest``, so many of them at most, from the end.
        """

    async def last_change(self, until_ts: int | None = None) -> int:
        """Return the number of the last change, or of the last one up to a time (epoch ms); 0 when there is none."""

    async def journal_head(self) -> tuple[int, bytes]:
        """Return the number of the last change, and the chain of hashes up to it; 0 and an empty one if none."""

    async def audit_events(self, after: EventPlace, last_change: int, limit: int) -> Sequence[StoredEvent]:
        """Return at most ``limit`` events of the audit after one, in order, none after a later change than one."""

    async def totals(self) -> StoreTotals:
        """Count subjects and versions; this takes longer the more subjects there are."""

    @property
    def load(self) -> Load:
        """The current load of the storage."""

    async def check(self) -> None:
        """Check that the storage responds; raise ``StoreUnavailable`` if not."""

    async def close(self) -> None:
        """Finish the running writes and close the store."""


# The errors of writes that a storage did not carry out in time, or perhaps carried out.


def uncertain(sentence: str) -> str:
    """Return the error for a write whose outcome is not known.

    Every other error of a write means that it was undone.
    """
    return f"{sentence}. The write may have been carried out; to register again is safe"


def queue_full(max_waiting: int) -> StoreUnavailable:
    """Return the error for a write when too many wait."""
    return StoreUnavailable(
        f"{max_waiting} writes wait for the store already (max_waiting_writes); this one was not carried out, try later"
    )


def waited_too_long(timeout_s: float, *, is_underway: bool) -> StoreTimeout:
    """Return the error for a write that was not carried out in time."""
    said = f"The store did not carry out the write within {timeout_s:g} s (write_timeout_s)"
    return StoreTimeout(uncertain(said) if is_underway else f"{said}; it was not begun, try again later")


# The format of a store: the number of its tables' layout.

FORMAT: Final = 3
"""The format of this version: the number of the newest file in ``store/upgrades/``."""


def check_format(found: int, *, shown: str, url: str) -> None:
    """Raise ``StoreNotUsable``, which says what to do, unless a store of the format ``found`` can be used as it is."""
    if found > FORMAT:
        raise StoreNotUsable(
            f"{shown} was written by a newer counterfoil (store format {found}, this one supports {FORMAT}); "
            "upgrade counterfoil"
        )
    if found < FORMAT:
        raise StoreNotUsable(
            f"{shown} was written by an older counterfoil (store format {found}, this one needs {FORMAT}); "
            f"stop its servers, back it up, and run: counterfoil db upgrade --store {url}"
        )
