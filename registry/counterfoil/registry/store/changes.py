"""The changes of a registry in the order of their commits, their hash chain, and the settings of a scope."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final
from uuid import UUID

from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.rest.object_forms import Document, JsonType, Member, ObjectForm, word_of
from counterfoil.schema.rest.subjects import Config, Mode, config_document, read_config

# The changes of a registry, in the order in which they were committed.


class JournalChangeKind(Enum):
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


TERM_KINDS: Final = frozenset({JournalChangeKind.SETTINGS, JournalChangeKind.RECORD})
"""The changes that can change the settings in effect. Changes of records do not name their subjects."""


@dataclass(frozen=True, slots=True)
class JournalChange:
    """One change.

    ``seq`` counts all changes of a registry from 1 without a gap, in the order in which they were committed. ``ts``
    (epoch ms) never decreases from one change to the next. ``subject`` is the scope for settings, and the empty name
    of its context for a context. ``version``, ``schema_id`` and ``guid`` belong to versions. ``author`` is the
    principal that requested the change, if authentication is set up, and ``request_id`` the id of its request.
    """

    seq: int
    ts: int
    kind: JournalChangeKind
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
        if self.kind is not JournalChangeKind.RECORD or self.document is None:
            return self.document
        return {name: value for name, value in self.document.items() if name in {"kind", "key"}}


@dataclass(frozen=True, slots=True)
class WrittenChanges:
    """The changes of one write of this server, or of writes of other servers, in order.

    ``has_new_terms``: config or modes are among them, or records on which registrations and deletions depend.
    ``decided_on`` are the revisions that subjects had before a write of this server, if each version's time of storage
    is that of its change. ``is_leased``: servers may answer by the state from before while they have a lease, since an
    id that other versions had before is among the changes, or a record about access.
    """

    changes: tuple[JournalChange, ...]
    has_new_terms: bool = False
    decided_on: Mapping[QualifiedSubject, int] = field(default_factory=dict, compare=False)
    is_leased: bool = field(default=False, compare=False)

    @property
    def has_records(self) -> bool:
        """Whether a record was written."""
        return any(change.kind is JournalChangeKind.RECORD for change in self.changes)

    @property
    def registered(self) -> list[tuple[int, int]]:
        """The ids and numbers of the registered versions, in order."""
        return [
            (change.schema_id, change.version)
            for change in self.changes
            if change.kind is JournalChangeKind.REGISTERED
            and change.schema_id is not None
            and change.version is not None
        ]


# The hash chain of the journal: a change that is edited, removed or moved afterwards does not fit its chain.
#
# The chain of a change is SHA-256 over the chain before, in hexadecimal digits, and all facts of the change, joined by
# U+001F, which none of them contains. PostgreSQL computes the same in ``store/postgres/commit.sql``, and the migrations
# to format 3 do in SQL.

_SEPARATOR: Final = "\x1f"


def facts_of(change: JournalChange, document: str | None) -> tuple[int | str | None, ...]:
    """Return the facts of ``change`` in the order of the journal's columns; ``document`` is the text that is stored."""
    subject, guid = change.subject, change.guid
    return (
        change.seq,
        change.ts,
        change.kind.value,
        subject.context,
        subject.name,
        change.version,
        change.schema_id,
        None if guid is None else guid.hex,
        document,
        change.author,
        change.request_id,
    )


def chain_after(before: bytes, facts: Iterable[int | str | None]) -> bytes:
    """Return the chain up to the change with ``facts``; ``before`` ends before it, and is empty for the first one."""
    text = _SEPARATOR.join([before.hex(), *("" if fact is None else str(fact) for fact in facts)])
    return hashlib.sha256(text.encode()).digest()


# The config and mode that are stored for one scope, and their document in the journal.


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    """The stored settings of a subject or a context; None is not stored."""

    config: Config | None = None
    mode: Mode | None = None


SCOPE_SETTINGS: Final = ObjectForm(
    ScopeSettings,
    (
        Member("config", "config", JsonType(read_config, config_document)),
        Member("mode", "mode", word_of(Mode)),
    ),
    keeps_empty=True,
)
"""The document of all that is stored for a scope."""


def document_text(document: Document | None) -> str | None:
    """Return the stored text of a document; None for none."""
    return None if document is None else json.dumps(document)


def bounds(versions: range | None) -> tuple[int | None, int | None]:
    """Return the first of some versions and the one behind the last, as arguments of a statement."""
    return (None, None) if versions is None else (versions.start, versions.stop)
