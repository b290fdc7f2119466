"""The chain of the journal: whatever is edited, removed or moved in it does not fit any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.store.changes import chain_after
from counterfoil.registry.store.inspection.rows import chain_links

if TYPE_CHECKING:
    from collections.abc import Iterator

names = st.text(st.characters(blacklist_categories=("Cc", "Cs")), max_size=4)
facts_of_changes = st.tuples(
    st.integers(0, 99),
    st.sampled_from(["version-registered", "settings-changed"]),
    names,
    names,
    st.none() | st.integers(0, 99),
    st.none() | st.integers(0, 99),
    st.none() | st.binary(min_size=16, max_size=16),
    st.none() | st.sampled_from(['{"a": 1}', "{}"]),
    st.none() | names.filter(bool),
    st.none() | names.filter(bool),
)


class FoundRows:
    """The rows of a journal."""

    dialect = "sqlite"

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def each(self, statement: str) -> Iterator[tuple[Any, ...]]:
        del statement
        return iter(self._rows)

    def one(self, statement: str) -> Any:
        raise NotImplementedError(statement)


def journal(facts: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    chain, rows = b"", []
    for seq, each in enumerate(facts, 1):
        ts, kind, context, name, version, schema_id, guid, *rest = each
        digits = None if guid is None else guid.hex()
        chain = chain_after(chain, (seq, ts, kind, context, name, version, schema_id, digits, *rest))
        rows.append((seq, *each, chain))
    return rows


def is_whole(rows: list[tuple[Any, ...]]) -> bool:
    return all(link.fits for link in chain_links(FoundRows(rows)))


@given(st.lists(facts_of_changes, min_size=2, max_size=6), st.data())
def test_every_edit_cut_and_swap_is_found(facts: list[tuple[Any, ...]], data: st.DataObject) -> None:
    rows = journal(facts)
    assert is_whole(rows)
    place = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[0]) - 2))
    changed = list(rows[place])
    old = rows[place][column]
    changed[column] = data.draw(st.sampled_from([each[column] for each in journal(facts[::-1])]) | names.filter(bool))
    if changed[column] is not None and str(changed[column]) != ("" if old is None else str(old)):
        assert not is_whole([*rows[:place], tuple(changed), *rows[place + 1 :]])
    if place < len(rows) - 1:  # what is cut off at the end is found by signed heads
        assert not is_whole([*rows[:place], *rows[place + 1 :]])
        swapped = rows.copy()
        swapped[place], swapped[place + 1] = rows[place + 1], rows[place]
        assert not is_whole(swapped)
