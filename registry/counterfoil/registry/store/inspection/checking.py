"""``counterfoil db check``: every invariant of a stored registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.store.inspection.breach import Breach
from counterfoil.registry.store.inspection.chain import check_chain
from counterfoil.registry.store.inspection.contents import check_contents, check_references
from counterfoil.registry.store.inspection.journal import check_bindings, check_order, check_records, check_replay
from counterfoil.registry.store.inspection.tables import check_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.registry.store.inspection.rows import Rows

_SOUND: Final = "ok"


def check(rows: Rows) -> Iterator[Breach]:
    """Yield each breach when it is found; a few thousand rows are in memory at a time."""
    if rows.dialect == "sqlite":
        yield from _check_file(rows)
    for part in (check_tables, check_contents, check_references, check_order, check_chain, check_replay):
        yield from part(rows)
    yield from check_bindings(rows)
    yield from check_records(rows)


def _check_file(rows: Rows) -> Iterator[Breach]:
    for (said,) in rows.each("PRAGMA quick_check"):
        if said != _SOUND:
            yield Breach("file-sound", "file", str(said))
