"""The hash chain of the journal: a change that is edited, removed or moved afterwards does not fit its chain.

The chain of a change is SHA-256 over the chain before, in hexadecimal digits, and all facts of the change, joined by
U+001F, which none of them contains. PostgreSQL computes the same in ``store/postgres/commit.sql``, and the migrations
to format 3 do in SQL.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.domain.changes import Change

_SEPARATOR: Final = "\x1f"


def facts_of(change: Change, document: str | None) -> tuple[int | str | None, ...]:
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
