"""The hash chain of the journal, computed again from what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from counterfoil.registry.domain.journal_chain import chain_after
from counterfoil.registry.store.inspection.breach import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.registry.store.inspection.rows import Rows

_CHANGES = """
SELECT seq, ts, kind, context, name, version, schema_id, guid, document, author, request_id, chain
FROM changes ORDER BY seq"""
_GUID = 7


class Link(NamedTuple):
    """A change's number and stored chain, and whether the change and the chain before lead to it."""

    seq: int
    chain: bytes
    fits: bool


def chain_links(rows: Rows) -> Iterator[Link]:
    """Yield the links of the chain in order."""
    before = b""
    for *facts, chain in rows.each(_CHANGES):
        match facts[_GUID]:
            case bytes() as guid:
                facts[_GUID] = guid.hex()
            case UUID() as guid:
                facts[_GUID] = guid.hex
            case _:  # none, or what somebody has put there by hand
                pass
        yield Link(facts[0], bytes(chain), chain_after(before, facts) == bytes(chain))
        before = bytes(chain)


def check_chain(rows: Rows) -> Iterator[Breach]:
    """Yield the changes that are not, or do not follow, what was written."""
    for link in chain_links(rows):
        if not link.fits:
            message = "it is not what was written, or the change before it is not the one that was (the hashes differ)"
            yield Breach("journal-chain", f"change {link.seq}", message)
