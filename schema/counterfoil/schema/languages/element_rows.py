"""The walk over the elements of a schema of any language, with a bound on the number of its rows.

A language says which elements are at a place, and which types are inside an element; this module decides which types
are expanded where.

- A type is never expanded inside itself: there the row ends with the name of the type.
- The first use of a type, in the order of the text, is always expanded: its fields follow as rows.
- A further use is expanded as well, so that both ``billing.city`` and ``shipping.city`` are found, as long as the rows
  of the whole schema are few: :data:`FREE_ROWS` and one for each :data:`CHARACTERS_A_ROW` characters of the schema. In
  a schema with more rows, a further use is expanded only if its type has few rows (:data:`SMALL_TYPE`), and if these
  are still too many, not at all: then its fields are found under its first use alone.
- The characters of paths are counted, too, since a name may be long and have many elements inside: once they are used
  up, nothing more is expanded, and what is expanded ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from counterfoil.schema.marks import matches_path
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import Step, print_inside
from counterfoil.schema.rest.inspection import ElementRow
from counterfoil.schema.texts import excerpt

FREE_ROWS: Final = 100
"""The rows that even the smallest schema may have."""
CHARACTERS_A_ROW: Final = 10
"""The number of characters of a schema for each further row."""
SMALL_TYPE: Final = 16
"""The largest number of rows of a type that is expanded at each of its uses, in a schema with many rows."""
FREE_CHARACTERS: Final = 1_000_000
PATHS_A_CHARACTER: Final = 20
"""The characters of paths for each character of a schema, beside :data:`FREE_CHARACTERS`."""
LONGEST_WORDS: Final = 1_000
"""The largest number of characters of a type in words: that of a large union ends with an ellipsis."""


class ElementPlace(NamedTuple):
    """A place in the table of elements: its path as text, and how many rows are around it."""

    path: str = ""
    depth: int = 0

    def inside(self, step: Step) -> ElementPlace:
        """Return the place one step further, with the same rows around it."""
        return ElementPlace(print_inside(self.path, step), self.depth)

    @property
    def deeper(self) -> ElementPlace:
        """The same place, seen from the elements inside it."""
        return ElementPlace(self.path, self.depth + 1)


class ElementEntry(NamedTuple):
    """A row, and the types inside it that may be expanded; ``row`` is None if these describe the row before."""

    row: ElementRow | None
    inner: Sequence[InnerType] = ()


class InnerType(NamedTuple):
    """A type inside an element: ``key`` is the same at each of its uses, ``entries`` returns what is in it there."""

    key: Hashable
    entries: Callable[[], Iterable[ElementEntry]]


ElementEntries: TypeAlias = Iterable[ElementEntry]

_ROOT_DEPTH: Final = 1
"""The depth of the elements that are in no other one; at 0 are the types whose elements they are."""
_ROOT: Final = object()
"""The key of the place around all elements."""


class _TooManyRows(Exception):
    """A walk has more rows than it may have."""


def element_rows(schema: ParsedSchema, entries: Callable[[], ElementEntries]) -> tuple[ElementRow, ...]:
    """Return the rows of all elements of ``schema``; ``entries`` returns those that are in no other."""
    chars = len(schema.text) + schema.referenced_chars
    most = FREE_ROWS + chars // CHARACTERS_A_ROW
    characters = FREE_CHARACTERS + PATHS_A_CHARACTER * chars
    root = InnerType(_ROOT, entries)
    for largest_again in (None, SMALL_TYPE):
        try:
            return _Walk(largest_again, most, characters).rows(root)
        except _TooManyRows:
            continue
    return _Walk(0, None, characters).rows(root)


class _Walk:
    """One walk: ``largest_again`` are the rows of the largest type that is expanded at each of its uses."""

    def __init__(self, largest_again: int | None, most: int | None, characters: int) -> None:
        self._largest_again = largest_again
        self._most = most
        self._characters = characters
        self._characters_at_root = characters
        self._expanded: set[Hashable] = set()
        self._size_by_key: dict[Hashable, int] = {}

    def rows(self, root: InnerType) -> tuple[ElementRow, ...]:
        rows: list[ElementRow] = []
        for steps, entry in enumerate(_unfolded(root, self._expands, self._goes_on)):
            if self._most is not None and steps > self._most:
                raise _TooManyRows
            if entry.row is not None:
                rows.append(entry.row)
                self._characters -= len(entry.row.path)
        return tuple(rows)

    def _expands(self, inner: InnerType) -> bool:
        if inner.key not in self._expanded:
            self._expanded.add(inner.key)
            return True
        return self._largest_again is None or self._size_of(inner) <= self._largest_again

    def _goes_on(self, depth: int) -> bool:
        """Return whether there are characters left at a depth; what is inside nothing else has as many once more."""
        return self._characters >= (-self._characters_at_root if depth <= _ROOT_DEPTH else 0)

    def _size_of(self, inner: InnerType) -> int:
        """Return the number of rows of a type with everything inside it, or one more than a small type has.

        Each type is counted once, whatever it is used for; inside itself it has no rows.
        """
        sizes = self._size_by_key
        counted = [] if inner.key in sizes else [_Counted(inner)]
        opened = {inner.key}
        while counted:
            here = counted[-1]
            part = next(here.parts, None) if here.size <= SMALL_TYPE else None
            if part is None:
                counted.pop()
                opened.discard(here.key)
                sizes[here.key] = min(here.size, SMALL_TYPE + 1)
                if counted:
                    counted[-1].size += sizes[here.key]
            elif isinstance(part, ElementEntry):
                here.size += 1
            elif part.key in sizes:
                here.size += sizes[part.key]
            elif part.key not in opened:
                opened.add(part.key)
                counted.append(_Counted(part))
        return sizes[inner.key]


class _Counted:
    """A type whose rows are being counted."""

    __slots__ = ("key", "parts", "size")

    def __init__(self, inner: InnerType) -> None:
        self.key = inner.key
        self.size = 0
        self.parts = _parts_of(inner)


def _parts_of(inner: InnerType) -> Iterator[ElementEntry | InnerType]:
    """Yield each entry of a type, and after it the types inside it."""
    for entry in inner.entries():
        yield entry
        yield from entry.inner


def _unfolded(
    root: InnerType, expands: Callable[[InnerType], bool], goes_on: Callable[[int], bool]
) -> Iterator[ElementEntry]:
    """Yield the entries of a type, each before those inside it, without recursion; no type is entered inside itself.

    ``goes_on`` is asked before each entry with its depth; where it returns False, the type at that depth ends.
    """
    opened: set[Hashable] = set()
    waiting: list[tuple[InnerType, Iterator[ElementEntry] | None, int]] = [(root, None, 0)]
    while waiting:
        inner, entries, depth = waiting.pop()
        if entries is None:
            if inner.key in opened or not expands(inner):
                continue
            opened.add(inner.key)
            entries = iter(inner.entries())
        entry = next(entries, None) if goes_on(depth) else None
        if entry is None:
            opened.discard(inner.key)
            continue
        yield entry
        waiting.append((inner, entries, depth))
        waiting.extend((each, None, depth + 1) for each in reversed(entry.inner))


class ElementTags:
    """Finds the tags of elements: those in the text, and those that the metadata of a schema assign by path."""

    def __init__(self, by_path: Mapping[str, Sequence[str]]) -> None:
        self._by_path = by_path

    def of(self, inline: Sequence[str], *names: str) -> tuple[str, ...]:
        """Return the tags of an element: ``inline`` first, then those of the paths that match one of its names."""
        if not self._by_path:
            return tuple(dict.fromkeys(inline)) if inline else ()
        given = (
            tag
            for path, tags in self._by_path.items()
            if any(matches_path(path, name) for name in names)
            for tag in tags
        )
        return tuple(dict.fromkeys((*inline, *given)))


def shortened(words: str) -> str:
    """Return a type in words without what is too long for a table."""
    return excerpt(words, LONGEST_WORDS)


def few(symbols: Sequence[str]) -> tuple[str, ...]:
    """Return the symbols of a declared type for a row that uses it; empty if there are many."""
    return tuple(symbols) if len(symbols) <= SMALL_TYPE else ()
