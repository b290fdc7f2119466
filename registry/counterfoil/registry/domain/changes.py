"""The changes of a registry, in the order in which they were committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document


class ChangeKind(Enum):
    """The kinds of changes."""

    REGISTERED = "version-registered"
    DELETED = "version-deleted"
    """A version was soft-deleted."""
    REMOVED = "version-removed"
    """A version was permanently deleted."""
    SETTINGS = "settings-changed"
    """Config or mode of a scope; the document has the stored ``config`` and ``mode``."""
    CONTEXT_DELETED = "context-deleted"
    RECORD = "record-changed"
    """A key, an association or a bridge; the document names its ``kind`` and ``key``, but not its content.

    For the audit it may have ``before`` and ``after``, which tell equal contents from others, and ``context``.
    """


TERM_KINDS: Final = frozenset({ChangeKind.SETTINGS, ChangeKind.RECORD})
"""The changes that can change the settings in effect. Changes of records do not name their subjects."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    ``seq`` counts all changes of a registry from 1 without a gap, in the order in which they were committed. ``ts``
    (epoch ms) never decreases from one change to the next. ``subject`` is the scope for settings, and the empty name
    of its context for a context. ``version``, ``schema_id`` and ``guid`` belong to versions. ``author`` is the
    principal that requested the change, if authentication is set up, and ``request_id`` the id of its request.
    """

    seq: int
    ts: int
    kind: ChangeKind
    subject: QualifiedSubject
    version: int | None = None
    schema_id: int | None = None
    guid: UUID | None = None
    document: Document | None = None
    author: str | None = None
    request_id: str | None = None

    @property
    def shown(self) -> Document | None:
        """The document without what the audit alone has."""
        if self.kind is not ChangeKind.RECORD or self.document is None:
            return self.document
        return {name: value for name, value in self.document.items() if name in {"kind", "key"}}


@dataclass(frozen=True, slots=True)
class Written:
    """The changes of one write of this server, or of writes of other servers, in order.

    ``has_new_terms``: config or modes are among them, or records on which registrations and deletions depend.
    ``decided_on`` are the revisions that subjects had before a write of this server, if each version's time of storage
    is that of its change. ``is_leased``: servers may answer by the state from before while they have a lease, since an
    id that other versions had before is among the changes, or a record about access.
    """

    changes: tuple[Change, ...]
    has_new_terms: bool = False
    decided_on: Mapping[QualifiedSubject, int] = field(default_factory=dict, compare=False)
    is_leased: bool = field(default=False, compare=False)

    @property
    def registered(self) -> list[tuple[int, int]]:
        """The ids and numbers of the registered versions, in order."""
        return [
            (change.schema_id, change.version)
            for change in self.changes
            if change.kind is ChangeKind.REGISTERED and change.schema_id is not None and change.version is not None
        ]
