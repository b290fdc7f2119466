"""What the use cases ask of a storage: reads, and writes as plans.

A plan says what was decided and on what it was decided. The storage carries plans out one after another: it checks that
nothing they were decided on has changed (``StaleWrite`` when it has: plan again), that no reference is broken
(``ReferenceExists``), and writes all of it or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from counterfoil.registry.domain.config import Config
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.modes import Mode
    from counterfoil.registry.domain.versions import History
    from counterfoil.schema.contexts import QualifiedSubject, SubjectPrefix


class Visibility(Enum):
    """Which subjects or versions a listing holds."""

    ACTIVE = "active"
    ALL = "all"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    """What is stored for a subject or a context; a None is not stored."""

    config: Config | None = None
    mode: Mode | None = None


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
    ``version`` None means one above the highest.
    """

    subject: QualifiedSubject
    content: Content
    targets: tuple[Target, ...]
    revision: int
    settings_revision: int
    schema_id: int | None = None
    version: int | None = None


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


Plan = Append | SoftDelete | HardDelete | PutSettings | DropContext


@dataclass(frozen=True, slots=True)
class Appended:
    """The id and number that a version got."""

    schema_id: int
    version: int


class Observer(Protocol):
    """Whoever keeps something that writes may change."""

    def __call__(self, plan: Plan | None, outcome: Appended | None, /) -> None:
        """Take note that ``plan`` was carried out; None stands for any writes, by other servers on the same store."""


class Storage(Protocol):
    """The port that the use cases write and read through; every read sees all writes that were answered."""

    def observe(self, observer: Observer) -> None:
        """Tell ``observer`` of every write that was carried out, before its caller is answered.

        Of the writes of other servers it is told when one asks to :meth:`catch_up`: to be done before the read that is
        kept, and before each use of it.
        """

    async def catch_up(self) -> None:
        """Return when the observers know of every write, by any server, that was answered before."""

    async def commit(self, plan: Plan) -> Appended | None:
        """Carry out ``plan``, durably. Raises ``StaleWrite``, ``ReferenceExists``, or ``StoreUnavailable``."""

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

    async def contexts(self) -> Sequence[str]:
        """The contexts in which something was registered, sorted."""

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """What is stored for a scope."""

    async def settings_revision(self) -> int:
        """A number that changes with every change of any config or mode."""

    async def scopes(self) -> Sequence[tuple[QualifiedSubject, ScopeSettings]]:
        """All scopes with something stored."""

    async def check(self) -> None:
        """Return when the storage answers; else ``StoreUnavailable``."""

    async def close(self) -> None:
        """Finish the writes under way and let go of the store."""
