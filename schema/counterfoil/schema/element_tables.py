"""The elements of a version as a table, with the version since which each is there, and the life of one element.

Versions are given as the sources of their schemas, so that another process may do the work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from counterfoil.schema.answers import placed_warnings
from counterfoil.schema.elements import declared_types, element_facts, find_elements, rows_since, rows_with_since
from counterfoil.schema.errors import BadRequest, InvalidSchema
from counterfoil.schema.languages.table import find_changes, parse_schema
from counterfoil.schema.layout import lay_out, number_lines
from counterfoil.schema.parsed import ParsedSchema, SchemaSource, Validation
from counterfoil.schema.rest.inspection import ElementRow, ElementRows, ElementStep, SourceWindow

MAX_ELEMENTS: Final = 200
"""The largest number of elements, and of declared types, on one page."""

_MAX_WARNINGS: Final = 100


@dataclass(frozen=True, slots=True)
class NumberedSource:
    """A version of a subject: its number, what its schema is parsed from, and the tags that its metadata assign."""

    version: int
    source: SchemaSource
    tags: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def tags_by_path(self) -> Mapping[str, Sequence[str]]:
        """The tags by path."""
        return dict(self.tags)

    def parsed(self) -> ParsedSchema:
        """Return the stored schema, which had to pass no more than the validation of its source."""
        source = self.source
        with suppress(InvalidSchema):
            return parse_schema(
                source.text, source.schema_type, references=source.references, validation=Validation.STRICT
            )
        return parse_schema(source.text, source.schema_type, references=source.references, validation=source.validation)


@dataclass(frozen=True, slots=True)
class ElementTable:
    """What a page about a version has of its schema: all elements, or a window of them.

    ``tags`` are those that mark something in the schema.
    """

    name: str
    elements: ElementRows
    types: tuple[ElementRow, ...] = ()
    tags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def element_table(version: NumberedSource, before: Sequence[NumberedSource] = ()) -> ElementTable:
    """Return the table of all elements of a version; ``before`` are the versions before it, ascending.

    Versions with one text and the same tags are walked once. Raises ``InvalidSchema``.
    """
    schema = version.parsed()
    rows = find_elements(schema, tags_by_path=version.tags_by_path)
    if before:
        walked = {_walked(version): rows}
        for each in before:
            if _walked(each) not in walked:
                walked[_walked(each)] = _rows(each)
        rows = rows_with_since([(each.version, walked[_walked(each)]) for each in (*before, version)])
    else:
        rows = tuple(replace(each, since=version.version) for each in rows)
    return _table(version, schema, rows, ElementRows(rows, len(rows)))


def _walked(version: NumberedSource) -> Hashable:
    """Return everything that the elements of a version depend on."""
    return version.source, version.tags


def table_after(table: ElementTable, before: ElementTable) -> ElementTable:
    """Return the table of a version that was made without those before it, as :func:`element_table` makes it with them.

    ``before`` is the table of the version before it, with everything that it depends on.
    """
    rows = rows_since(before.elements.elements, table.elements.elements)
    return replace(table, elements=replace(table.elements, elements=rows))


def element_windows(
    version: NumberedSource, prefix: str, after: str, limit: int = MAX_ELEMENTS, pages: int = 1
) -> tuple[ElementTable, ...]:
    """Return consecutive pages of the elements of a version with a large schema.

    They are without the versions since which the elements are there. Raises ``InvalidSchema``, and ``BadRequest`` for
    an ``after`` that no element has.
    """
    schema = version.parsed()
    rows = find_elements(schema, tags_by_path=version.tags_by_path)
    every = ElementRows(rows, len(rows))
    first = _table(version, schema, rows, page_of(every, prefix, after, limit=limit))
    found, layout = [first], lay_out(schema)
    while len(found) < pages and found[-1].elements.next:
        page = page_of(every, prefix, found[-1].elements.next, limit=limit)
        found.append(replace(first, elements=replace(page, elements=number_lines(page.elements, layout))))
    return tuple(found)


def _table(
    version: NumberedSource, schema: ParsedSchema, rows: Sequence[ElementRow], shown: ElementRows
) -> ElementTable:
    """Return the table of a schema with all its elements that shows some of them, with their lines."""
    layout = lay_out(schema)
    types = declared_types(schema, tags_by_path=version.tags_by_path)
    tags = {tag for row in (*rows, *types) for tag in row.tags}
    return ElementTable(
        schema.name or "",
        replace(shown, elements=number_lines(shown.elements, layout)),
        number_lines(types[:MAX_ELEMENTS], layout),
        tuple(sorted(tags)),
        tuple(f"{each.text} ({each.rule}, {each.place})" for each in placed_warnings(schema)[:_MAX_WARNINGS]),
    )


def source_windows(schema: ParsedSchema, first: int, count: int, windows: int = 1) -> tuple[SourceWindow, ...]:
    """Return consecutive windows of ``count`` lines of the laid-out text of a schema, as far as it has them."""
    layout = lay_out(schema)
    starts = range(first, first + windows * count, count)
    return tuple(layout.window(each, count) for each in starts if each == first or each <= layout.total)


def page_of(rows: ElementRows, prefix: str, after: str, *, limit: int = MAX_ELEMENTS) -> ElementRows:
    """Return the elements whose paths have a prefix, after one of them; ``total`` is the number of those with it.

    Raises ``BadRequest`` for an ``after`` that no element has.
    """
    found = [each for each in rows.elements if each.path.startswith(prefix)]
    keys = _keys(found)
    first = 0
    if after:
        if after not in keys:
            raise BadRequest(f"after is {after[:200]!r}, which is no element here; expected the `next` of a page")
        first = keys.index(after) + 1
    page = found[first : first + limit]
    is_last = first + len(page) >= len(found)
    return ElementRows(tuple(page), len(found), "" if is_last else keys[first + len(page) - 1])


@dataclass(frozen=True, slots=True)
class TablePlace:
    """The place of an element: ``after`` is that of the page of elements that has it.

    It is of the element itself if the ``path`` is given, or else of the ``line`` in the laid-out text.
    """

    after: str = ""
    path: str | None = None
    line: int | None = None


def place_in(rows: Sequence[ElementRow], at: str) -> TablePlace | None:
    """Return the place of the first of all elements of a version with a path, or a pointer; None if there is none."""
    for number, row in enumerate(rows):
        if at == row.path:
            first = number // MAX_ELEMENTS * MAX_ELEMENTS
            return TablePlace(_keys(rows)[first - 1] if first else "", row.path)
        if at == row.pointer and row.line is not None:
            return TablePlace(line=row.line)
    return None


def place_of(version: NumberedSource, at: str) -> TablePlace | None:
    """Return what :func:`place_in` does, of a version with a large schema; raise ``InvalidSchema``."""
    schema = version.parsed()
    rows = find_elements(schema, tags_by_path=version.tags_by_path)
    layout = lay_out(schema)
    numbered = (number_lines((each,), layout)[0] if each.pointer == at else each for each in rows)
    return place_in([*numbered], at)


def element_history(versions: Sequence[NumberedSource], path: str) -> tuple[ElementStep, ...]:
    """Return the life of the element at a path: a step for each of some versions in which it came, changed or went.

    The versions are ascending. A version whose schema cannot be parsed any more is left out.
    """
    steps: list[ElementStep] = []
    before: ElementRow | None = None
    earlier: ParsedSchema | None = None
    for each in versions:
        try:
            schema = each.parsed()
        except (InvalidSchema, RecursionError):
            continue
        found = find_elements(schema, tags_by_path=each.tags_by_path)
        row = next((one for one in found if one.path == path), None)
        if _facts(row) != _facts(before):
            shown = None if row is None else number_lines((row,), lay_out(schema))[0]
            steps.append(ElementStep(each.version, shown, _changes(earlier, schema, path)))
        before, earlier = row, schema
    return tuple(steps)


def _facts(row: ElementRow | None) -> object:
    return None if row is None else element_facts(row)


def _changes(earlier: ParsedSchema | None, later: ParsedSchema, path: str) -> tuple[str, ...]:
    if earlier is None or earlier.schema_type is not later.schema_type:
        return ()
    try:
        return tuple(each.text for each in find_changes(earlier, later) if each.element == path)
    except InvalidSchema:
        return ()


def _rows(version: NumberedSource) -> tuple[ElementRow, ...]:
    try:
        return find_elements(version.parsed(), tags_by_path=version.tags_by_path)
    except (InvalidSchema, RecursionError):
        return ()


def _keys(rows: Sequence[ElementRow]) -> list[str]:
    """Return what identifies each element of a schema: its kind and path, with a number from the second of these on."""
    seen: Counter[str] = Counter()
    found = []
    for row in rows:
        key = f"{row.kind}:{row.path}"
        found.append(f"{row.kind}~{seen[key]}:{row.path}" if seen[key] else key)
        seen[key] += 1
    return found
