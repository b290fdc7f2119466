"""What the use cases ask of a storage: reads, and writes as plans.

A plan says what was decided and on what it was decided. The storage carries plans out one after another: it checks that
nothing they were decided on has changed (``StaleWrite`` when it has: plan again), that no reference is broken
(``ReferenceExists``), and writes all of it or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.schema.rest.config import config_document, read_config
from counterfoil.schema.rest.modes import Mode
from counterfoil.schema.rest.object_forms import Member, ObjectForm

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from counterfoil.registry.domain.changes import Change
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.versions import History
    from counterfoil.registry.service.contact import StoreContact
    from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix
    from counterfoil.schema.rest.config import Config
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.versions import Visibility


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    """What is stored for a subject or a context; a None is not stored."""

    config: Config | None = None
    mode: Mode | None = None


SCOPE_SETTINGS: Final = ObjectForm(
    ScopeSettings,
    (
        Member("config", "config", read_config, config_document),
        Member("mode", "mode", lambda value: value.one_of(Mode), str),
    ),
    keeps_empty=True,
)
"""The document of all that is stored for a scope."""


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """One version that holds a schema id."""

    subject: QualifiedSubject
    version: int
    schema_id: int
    deleted: bool
    ts: int


@dataclass(frozen=True, slots=True)
class Target:
    """A version that a schema refers to, fully named. ``must_be_active``: a soft-deleted one will not do."""

    subject: QualifiedSubject
    version: int
    must_be_active: bool = True


@dataclass(frozen=True, slots=True)
class Append:
    """Store a version of ``subject``, and the content it holds.

    ``schema_id`` is the id that an import brings; None takes the content's id in this context, or a new one.
    ``version`` None means one above the highest. ``ts`` (epoch ms) is when an import knows the version to have been
    stored; None is now.
    """

    subject: QualifiedSubject
    content: Content
    targets: tuple[Target, ...]
    revision: int
    settings_revision: int
    schema_id: int | None = None
    version: int | None = None
    ts: int | None = None


@dataclass(frozen=True, slots=True)
class SoftDelete:
    """Mark versions as deleted. A referrer inside the subject is no obstacle when ``ignore_own_references``."""

    subject: QualifiedSubject
    versions: tuple[int, ...]
    revision: int
    settings_revision: int
    ignore_own_references: bool = False


@dataclass(frozen=True, slots=True)
class HardDelete:
    """Remove versions for good; the last one takes the subject's config and mode along."""

    subject: QualifiedSubject
    versions: tuple[int, ...]
    revision: int
    settings_revision: int
    ignore_own_references: bool = False


@dataclass(frozen=True, slots=True)
class PutSettings:
    """Replace what is stored for some scopes.

    With ``purge``, the write first asks that no version of those subjects is active, and removes the soft-deleted.
    """

    scopes: tuple[tuple[QualifiedSubject, ScopeSettings], ...]
    settings_revision: int
    purge: SubjectPrefix | QualifiedSubject | None = None


@dataclass(frozen=True, slots=True)
class DropContext:
    """Forget a context in which nothing is stored."""

    context: str


@dataclass(frozen=True, slots=True)
class Record:
    """Something kept beside schemas: a key, an association.

    ``kind`` names the sort and ``key`` tells those of a sort apart. ``ts`` (epoch ms) is when it was stored as it is;
    ``revision`` changes with every write to it.
    """

    kind: str
    key: tuple[str, ...]
    document: Document
    ts: int
    revision: int


@dataclass(frozen=True, slots=True)
class RecordWrite:
    """Store a record, or remove it where ``document`` is None.

    ``revision`` is the one that was read, 0 where there was no such record. Writing what is there already gives it a
    new revision, so that what was decided on the old one is not carried out.
    """

    kind: str
    key: tuple[str, ...]
    document: Document | None
    revision: int


@dataclass(frozen=True, slots=True)
class PutRecords:
    """Write records, all or none.

    ``subjects`` are those that it was decided on, with their revisions. With ``settings_revision`` the records have a
    say in registrations and deletions: it is compared, and changed, so that no plan made before is carried out.
    ``unreferenced`` are subjects whose versions no version of another subject may refer to (``ReferenceExists``).
    """

    writes: tuple[RecordWrite, ...]
    subjects: tuple[tuple[QualifiedSubject, int], ...] = ()
    settings_revision: int | None = None
    unreferenced: tuple[QualifiedSubject, ...] = ()


@dataclass(frozen=True, slots=True)
class Together:
    """Carry out several plans, all or none.

    What they were decided on is compared before the first of them writes. The records come first; the other plans are
    of a subject each, and none refers to another's. The outcome is None: each of them says what number it gives out.
    """

    records: PutRecords
    plans: tuple[Append | HardDelete, ...]


Plan = Append | SoftDelete | HardDelete | PutSettings | DropContext | PutRecords | Together


@dataclass(frozen=True, slots=True)
class Appended:
    """The id and number that a version got; where a storage tells, its time and the subject's new revision.

    ``shares_id``: other versions had that id before, or this one is in the place of another.
    """

    schema_id: int
    version: int
    ts: int = field(default=0, compare=False)
    revision: int = field(default=0, compare=False)
    shares_id: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What other servers on the same store have changed, in order.

    ``has_new_terms``: config or modes are among it, or records that have a say like them.
    """

    changes: tuple[Change, ...]
    has_new_terms: bool = False


@dataclass(frozen=True, slots=True)
class Load:
    """How busy a storage is: writes that wait or are carried out, and connections in use of those there may be."""

    waiting_writes: int = 0
    connections_in_use: int = 0
    max_connections: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """How many subjects and versions there are that are not deleted."""

    subjects: int
    versions: int


class Observer(Protocol):
    """Whoever keeps something that writes may change."""

    def __call__(self, written: Plan | Elsewhere | None, outcome: Appended | None, /) -> None:
        """Take note that ``written`` was carried out; None stands for any writes at all, by other servers."""


class Storage(Protocol):
    """The port that the use cases write and read through.

    Every read sees all writes of this server that were answered, and those of other servers that were answered before
    the last :meth:`catch_up`: to be asked for once by whoever answers a request, and before a plan is made again.
    """

    @property
    def contact(self) -> StoreContact:
        """Whether the store answers."""

    def last_known(self) -> Storage | None:
        """What is in memory, as it was when the store was last reached; what is not raises ``StoreUnavailable``.

        None where nothing is kept for that: the store's own file goes on being read.
        """

    def observe(self, observer: Observer) -> None:
        """Tell ``observer`` of every write that was carried out, before its caller is answered.

        Of the writes of other servers it is told by :meth:`catch_up`: to be asked for before the read that is kept, and
        before each use of it.
        """

    async def catch_up(self) -> None:
        """Return when the observers know of every write, by any server, that was answered before."""

    async def catch_up_soon(self) -> None:
        """As :meth:`catch_up`, for who can do without it: ``StoreSlow`` when it takes long."""

    @property
    def has_current_ids(self) -> bool:
        """Whether the observers know of every answered write, by any server, that concerns an id that was there before.

        Then what is kept about an id needs no :meth:`catch_up`.
        """

    async def commit(self, plan: Plan) -> Appended | None:
        """Carry out ``plan``, durably; ``StaleWrite``, ``ReferenceExists``, ``StoreUnavailable``, ``StoreTimeout``."""

    async def history(self, subject: QualifiedSubject) -> History:
        """All versions of a subject."""

    async def content(self, guid: UUID) -> Content | None:
        """The content with this fingerprint."""

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """The fingerprint of what an id stands for."""

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """The id that a content has in a context."""

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """All contexts and ids that a content has, sorted."""

    async def max_id(self, context: str) -> int:
        """The highest id that the context has given out or taken in; 0 when none."""

    async def uses(self, context: str, schema_id: int) -> Sequence[Use]:
        """The versions that hold an id, sorted by subject and version, soft-deleted ones included."""

    async def referrers(self, subject: QualifiedSubject, version: int) -> Sequence[Use]:
        """The versions, in any context, whose schema refers to this one."""

    async def subjects(self, prefix: SubjectPrefix, visibility: Visibility) -> Sequence[QualifiedSubject]:
        """The subjects whose context and name begin so."""

    async def subject_names(self, prefix: SubjectPrefix, visibility: Visibility, *, first: int, last: int) -> str:
        """The names of those subjects, qualified, as the text of a JSON array sorted by code point.

        ``first`` and ``last`` are indexes into all of them; the latter is not included any more. There may be a hundred
        thousand: they go from the store to the caller without becoming objects on the way.
        """

    async def contexts(self) -> Sequence[str]:
        """The contexts in which something was registered, sorted."""

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """What is stored for a scope."""

    async def settings_revision(self) -> int:
        """A number that changes with every change of any config or mode."""

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """All scopes with something stored."""

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Sequence[Record]:
        """The records of a kind whose keys begin with these parts, sorted by key."""

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        """At most ``limit`` changes with a higher ``seq`` than ``after``, in order."""

    async def changes_of(self, subject: QualifiedSubject, until: int) -> Sequence[Change]:
        """The changes of one subject or scope up to the one with the number ``until``, in order."""

    async def last_change(self, until_ts: int | None = None) -> int:
        """The number of the last change, or of the last one up to a time (epoch ms); 0 when there is none."""

    async def totals(self) -> Totals:
        """How much is stored: counted, which takes as long as there are many subjects."""

    @property
    def load(self) -> Load:
        """How busy the storage is just now."""

    async def check(self) -> None:
        """Return when the storage answers; else ``StoreUnavailable``."""

    async def close(self) -> None:
        """Finish the writes under way and let go of the store."""
