"""The elements of a schema as rows of a table, and their lives through the versions of a subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from counterfoil.schema.languages.table import language_for
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.rest.inspection import ElementKind, ElementRow

_NO_TAGS: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})


def find_elements(
    schema: ParsedSchema, *, tags_by_path: Mapping[str, Sequence[str]] = _NO_TAGS
) -> tuple[ElementRow, ...]:
    """Return the fields, properties, branches and items of a schema, in the order of its text.

    ``tags_by_path`` are the tags that its metadata assign. A type is expanded at its first use, and at every further
    one as long as the rows are few; never inside itself (see
    :mod:`~counterfoil.schema.languages.element_rows`). The number of rows grows with the text and no faster.

    >>> from counterfoil.schema.languages.table import parse_schema
    >>> text = '{"type": "record", "name": "A", "fields": [{"name": "b", "type": {"type": "array", "items": "A"}}]}'
    >>> [(row.path, row.type, row.pointer) for row in find_elements(parse_schema(text))]
    [('b', 'array of A', '/fields/0')]
    """
    return language_for(schema.schema_type).find_elements(schema, tags_by_path)


def declared_types(
    schema: ParsedSchema, *, tags_by_path: Mapping[str, Sequence[str]] = _NO_TAGS
) -> tuple[ElementRow, ...]:
    """Return the records, enums, messages, definitions … of a schema, and those of its references that it uses.

    The constants of an enum of Protobuf follow it as rows of the kind ``SYMBOL``.
    """
    return language_for(schema.schema_type).declared_types(schema, tags_by_path)


# The life of an element: the versions through which it is there with the same facts.
#
# Two rows are of the same element if their kinds and paths are the same (and, where a schema has several with one path,
# their order). A life ends where a fact that a reader of the table sees is another one: another type, default,
# documentation, tag … It does not end where only the place in the text is another one, since each field that is added
# moves those below it. So a field whose documentation changed in v3 has two lives; both rows have the same ``since``,
# the version since which the field is there at all.

_Identity: TypeAlias = tuple[ElementKind, str, int]


@dataclass(frozen=True, slots=True)
class ElementLife:
    """An element with the same facts from the version ``since`` to ``until``, None if it is in the last version.

    ``row.since`` is the version since which the element is there without a gap, whatever its facts were.
    """

    row: ElementRow
    since: int
    until: int | None = None


def element_facts(row: ElementRow) -> tuple[object, ...]:
    """Return the facts whose change begins another life of an element: all but its places and its age."""
    return (
        row.type,
        row.types,
        row.default,
        row.doc,
        row.tags,
        row.constraints,
        row.symbols,
        row.aliases,
        row.required,
        row.number,
        row.label,
        row.reference,
        row.is_deprecated,
    )


def element_lives(versions: Sequence[tuple[int, Sequence[ElementRow]]]) -> list[ElementLife]:
    """Return the lives of all elements of a subject, in the order in which they begin.

    ``versions`` are the numbers and rows of its versions, in order. The row of a life is that of its last version.
    """
    found: list[ElementLife] = []
    open_lives: dict[_Identity, int] = {}
    before: int | None = None
    for version, rows in versions:
        now: dict[_Identity, int] = {}
        for identity, row in _identified(rows):
            index = open_lives.pop(identity, None)
            life = None if index is None else found[index]
            there_since = version if life is None or life.row.since is None else life.row.since
            aged = replace(row, since=there_since)
            if index is not None and life is not None and element_facts(life.row) == element_facts(row):
                found[index] = ElementLife(aged, life.since)
                now[identity] = index
                continue
            if index is not None and life is not None:
                found[index] = ElementLife(life.row, life.since, before)
            now[identity] = len(found)
            found.append(ElementLife(aged, version))
        for index in open_lives.values():
            found[index] = ElementLife(found[index].row, found[index].since, before)
        open_lives, before = now, version
    return found


def rows_with_since(versions: Sequence[tuple[int, Sequence[ElementRow]]]) -> tuple[ElementRow, ...]:
    """Return the rows of the last of these versions with the version since which each is there without a gap."""
    if not versions:
        return ()
    since: dict[_Identity, int] = {}
    for version, rows in versions:
        since = {identity: since.get(identity, version) for identity, _ in _identified(rows)}
    return tuple(replace(row, since=since[identity]) for identity, row in _identified(versions[-1][1]))


def rows_since(before: Sequence[ElementRow], rows: Sequence[ElementRow]) -> tuple[ElementRow, ...]:
    """Return the rows of a version with the version since which each is there without a gap.

    ``before`` are the rows of the version before, which know it of theirs; those that are new here know it, too.
    """
    since = {identity: row.since for identity, row in _identified(before)}
    return tuple(
        replace(row, since=since[identity]) if identity in since else row for identity, row in _identified(rows)
    )


def _identified(rows: Sequence[ElementRow]) -> Iterator[tuple[_Identity, ElementRow]]:
    """Yield each row with what identifies its element among those of a version."""
    seen: Counter[tuple[ElementKind, str]] = Counter()
    for row in rows:
        key = row.kind, row.path
        yield (*key, seen[key]), row
        seen[key] += 1
