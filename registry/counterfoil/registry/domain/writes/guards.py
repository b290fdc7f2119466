"""Guards: the data on which a write plan was decided.

A storage checks the guards of a plan in order, under its lock and before the first effect. The first one that does not
hold refuses the plan with its ``refusal``: ``StaleWrite`` if the write must be planned again, and another error if the
same plan would be refused for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.registry.domain.errors import StaleWrite
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, QualifiedSubject
from counterfoil.schema.errors import OperationNotPermitted

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.registry.domain.versions import Use
    from counterfoil.registry.domain.writes.extents import Extent
    from counterfoil.schema.errors import CounterfoilError


@dataclass(frozen=True, slots=True)
class AtRevision:
    """The history of ``subject`` has this revision."""

    subject: QualifiedSubject
    revision: int

    def refusal(self) -> CounterfoilError:
        """Return the error for a subject that has changed."""
        return StaleWrite(f"{self.subject} has changed since the write was planned")


@dataclass(frozen=True, slots=True)
class SameTerms:
    """Config and mode of ``scopes`` have not changed since the settings had this revision; None is all scopes.

    A change of another scope does not refuse the plan; otherwise registrations would be repeated for ever in a registry
    whose settings change all the time. A change of a record counts as one of the top level.
    """

    revision: int
    scopes: tuple[QualifiedSubject, ...] | None = None

    def refusal(self) -> CounterfoilError:
        """Return the error for a config or mode that has changed."""
        return StaleWrite("config or mode has changed since the write was planned")


def same_terms(scope: QualifiedSubject, revision: int) -> SameTerms:
    """Return the guard that what is in effect for ``scope`` has not changed since a revision of the settings."""
    levels = (scope, QualifiedSubject(scope.context, ""), TOP_LEVEL, GLOBAL_LEVEL)
    return SameTerms(revision, tuple(dict.fromkeys(levels)))


@dataclass(frozen=True, slots=True)
class Target:
    """A version that a schema refers to exists. ``must_be_active``: it is not soft-deleted."""

    subject: QualifiedSubject
    version: int
    must_be_active: bool = True

    def refusal(self) -> CounterfoilError:
        """Return the error for a version that no longer exists."""
        return StaleWrite(f"{self.subject} version {self.version} is gone")


@dataclass(frozen=True, slots=True)
class IdFree:
    """No content has this id, or the content with this fingerprint has it."""

    context: str
    schema_id: int
    guid: UUID

    def refusal(self) -> CounterfoilError:
        """Return the error for an import with an id that another schema has."""
        return OperationNotPermitted(
            f"Id {self.schema_id} already stands for another schema in context {self.context!r}; ids are never re-bound"
        )


@dataclass(frozen=True, slots=True)
class IdOf:
    """A new version with the content of this fingerprint gets this id."""

    context: str
    guid: UUID
    schema_id: int

    def refusal(self) -> CounterfoilError:
        """Return the error for a content that has another id."""
        return StaleWrite(f"the id of {self.guid} has changed since the write was planned")


@dataclass(frozen=True, slots=True)
class Unreferenced:
    """No schema refers to these versions of ``subject``.

    Referring subjects in ``inside`` do not count; soft-deleted referring versions only if ``deleted_count``.
    """

    subject: QualifiedSubject
    versions: tuple[int, ...]
    inside: Extent | None = None
    deleted_count: bool = True

    def is_broken_by(self, use: Use) -> bool:
        """Return whether a version that refers to one of these counts."""
        is_inside = self.inside is not None and use.subject in self.inside
        return not is_inside and (self.deleted_count or not use.deleted)

    def refusal(self) -> CounterfoilError:
        """Return the error for a reference that was registered in the meantime."""
        return StaleWrite(f"a schema refers to {self.subject} since the write was planned")


@dataclass(frozen=True, slots=True)
class RecordAt:
    """A record has this revision; 0 stands for no record."""

    kind: str
    key: tuple[str, ...]
    revision: int

    def refusal(self) -> CounterfoilError:
        """Return the error for a record that has changed."""
        return StaleWrite(f"{self.kind} {'/'.join(self.key)} has changed since the write was planned")


@dataclass(frozen=True, slots=True)
class SubjectCount:
    """A context, or with None the registry, has this number of subjects, soft-deleted ones included."""

    context: str | None
    count: int

    def refusal(self) -> CounterfoilError:
        """Return the error for subjects that were added or removed."""
        where = "the registry" if self.context is None else f"context {self.context}"
        return StaleWrite(f"the subjects of {where} have changed since the write was planned")


Guard: TypeAlias = AtRevision | SameTerms | Target | IdFree | IdOf | Unreferenced | RecordAt | SubjectCount
