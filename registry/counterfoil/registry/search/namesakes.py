"""The elements that have the name of another one, in the latest versions of other subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.search.lives import HitRole, LifeState, scope_key, word_of
from counterfoil.registry.search.matching import FoundRow
from counterfoil.registry.search.rows import row_of
from counterfoil.schema.rest.inspection import ElementElsewhere
from counterfoil.schema.searchable import element_name

if TYPE_CHECKING:
    from counterfoil.registry.search.answering import ReadableRanges
    from counterfoil.registry.search.index import SearchIndex
    from counterfoil.registry.search.protocol import IndexTransaction
    from counterfoil.schema.contexts import QualifiedSubject

MAX_NAMESAKES: Final = 50
"""The largest number of elements that are listed."""

_ROWS_AT_ONCE: Final = 128


async def find_namesakes(
    index: SearchIndex,
    found: IndexTransaction,
    g: int,
    *,
    subject: QualifiedSubject,
    path: str,
    readable: ReadableRanges,
) -> tuple[ElementElsewhere, ...]:
    """Return the elements with the name of the one at ``path``, of other subjects than ``subject``, by subject.

    Its word is found by its digest, so that other names are not read, however many there are.
    """
    name = element_name(path)
    word = word_of(HitRole.ELEMENT, name)
    number = await index.number_of(found, g, word)
    if number is None or not readable.ranges:
        return ()
    dialect, own = index.database.dialect, scope_key(subject)
    ranges = dialect.ranges(readable.ranges)
    kept: list[FoundRow] = []
    scope, place = "", -1
    while True:
        given = (dialect.numbers([number]), ranges, int(LifeState.LATEST))
        rows = await found.rows(dialect.hits_in_order(g), *given, _ROWS_AT_ONCE, scope, place)
        named = [row_of(each, HitRole.ELEMENT, word.text) for each in rows]
        kept += [each for each in named if each.scope != own and _is_shown(each, name, readable)]
        if len(rows) < _ROWS_AT_ONCE or len(kept) >= MAX_NAMESAKES:
            break
        scope, place = rows[-1][2], rows[-1][3]
    kept = kept[:MAX_NAMESAKES]
    numbers = await index.version_numbers(found, g, list(dict.fromkeys(each.scope for each in kept)))
    latest = {scope: version for scope, (version, _) in numbers.items() if version is not None}
    return tuple(
        ElementElsewhere(str(each.subject), latest[each.scope], each.path, each.type)
        for each in kept
        if each.scope in latest
    )


def _is_shown(row: FoundRow, name: str, readable: ReadableRanges) -> bool:
    """Return whether an element has the name itself, and not as an alias, in a subject that the caller may read."""
    return element_name(row.path) == name and readable.shows(row.scope)
