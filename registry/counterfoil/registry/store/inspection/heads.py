"""What a store has of audit files, and what audit files have of its journal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from counterfoil.registry.domain.audit.events import EventKind
from counterfoil.registry.store.inspection.chain import chain_links

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.registry.store.inspection.rows import Rows

_EVENTS = "SELECT number, event, document FROM audit ORDER BY number"


def stored_heads(rows: Rows) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the heads of audit files in a store: the number of the event, and its facts."""
    for number, event, document in rows.each(_EVENTS):
        if event == EventKind.AUDIT_HEAD.text:
            yield number, json.loads(document)


def check_journal(rows: Rows, head_by_change: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    """Yield the changes that do not fit the journal's own chain, or the heads of it that were kept elsewhere."""
    last = 0
    for link in chain_links(rows):
        last = link.seq
        if not link.fits:
            yield link.seq, "it is not what was written, or the change before it is not (the hashes differ)"
        elif head_by_change.get(link.seq, link.chain.hex()) != link.chain.hex():
            yield link.seq, "the audit file has another hash of it: the journal was written anew"
    for change in sorted(head_by_change):
        if change > last:
            yield change, f"the audit file has its hash, but the journal ends at change {last}: changes were removed"
