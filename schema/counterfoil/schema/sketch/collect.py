"""Collecting a sketch: values are counted in mutable objects; values of hidden fields are not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.schema.sketch.model import MAX_SYMBOLS, MAX_TEXT, PlaceSketch, SchemaSketch
from counterfoil.schema.tags import Hidden, hidden_by_tags

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.sketch.model import Place, WriterSchema


# Collecting a sketch: values are counted in mutable objects, which are frozen at the end.


class SketchBuilder:
    """Counts the values at the places of one schema, record by record; ``texts`` is whether texts are kept."""

    def __init__(self, writer: WriterSchema, *, texts: bool = True) -> None:
        self.records = 0
        self.uncertain = 0
        self.depth: int | None = None
        self.places: dict[Place, PlaceCounts] = {}
        self._writer = writer
        self._texts = texts

    def at(self, place: Place, kind: str = "", *, is_hidden: bool = False) -> PlaceCounts:
        """Return the counts of a place; they are the same object for one place."""
        known = self.places.get(place)
        if known is None:
            known = self.places[place] = PlaceCounts(kind, is_hidden=is_hidden, texts=self._texts)
        return known

    def finish(self) -> SchemaSketch:
        """Return the sketch of the counted records."""
        places = {place: counts.frozen() for place, counts in self.places.items()}
        return SchemaSketch(self._writer, self.records, places, self.uncertain, self.depth).bounded()


class PlaceCounts:
    """The counts of one place during collection; see :class:`~counterfoil.schema.sketch.model.PlaceSketch`."""

    __slots__ = (
        "_branches",
        "_is_hidden",
        "_kind",
        "_last_record",
        "_least",
        "_longest",
        "_most",
        "_names",
        "_nulls",
        "_records",
        "_shortest",
        "_symbols",
        "_texts",
        "_values",
    )

    def __init__(self, kind: str = "", *, is_hidden: bool = False, texts: bool = True) -> None:
        self._kind = kind
        self._records = self._values = self._nulls = 0
        self._last_record = -1
        self._branches: dict[str, int] = {}
        self._symbols: dict[str, int] | None = None if is_hidden else {}
        self._names: dict[str, int] | None = None if is_hidden else {}
        self._least: float | None = None
        self._most: float | None = None
        self._shortest: int | None = None
        self._longest: int | None = None
        self._is_hidden = is_hidden
        self._texts = texts and not is_hidden

    def seen(self, record: int) -> None:
        """Count a value of the record with this number."""
        self._values += 1
        if record != self._last_record:
            self._last_record = record
            self._records += 1

    def null(self) -> None:
        """Count a value as null."""
        self._nulls += 1

    def branch(self, name: str) -> None:
        """Count the union branch or JSON type of a value."""
        self._branches[name] = self._branches.get(name, 0) + 1

    def text(self, text: str) -> None:
        """Count a text."""
        self.size(len(text))
        if self._symbols is not None:
            if self._texts and len(text) <= MAX_TEXT:
                self.word(text)
            else:
                self._symbols = None

    def word(self, word: str) -> None:
        """Count a word of the schema: a symbol of an enum."""
        symbols = self._symbols
        if symbols is None:
            return
        symbols[word] = symbols.get(word, 0) + 1
        if len(symbols) > MAX_SYMBOLS:
            self._symbols = None

    def name(self, name: str) -> None:
        """Count a name that the schema does not have: of a property, or the key of a map."""
        names = self._names
        if names is None:
            return
        if not self._texts or len(name) > MAX_TEXT:
            self._names = None
            return
        names[name] = names.get(name, 0) + 1
        if len(names) > MAX_SYMBOLS:
            self._names = None

    def size(self, size: int) -> None:
        """Extend the range of lengths."""
        if self._is_hidden:
            return
        if self._shortest is None or size < self._shortest:
            self._shortest = size
        if self._longest is None or size > self._longest:
            self._longest = size

    def number(self, number: float) -> None:
        """Extend the range of numbers; what is not a number has no place in it."""
        if self._is_hidden or number != number:  # noqa: PLR0124 - only NaN differs from itself
            return
        if self._least is None or number < self._least:
            self._least = number
        if self._most is None or number > self._most:
            self._most = number

    def frozen(self) -> PlaceSketch:
        """Return the counts as a frozen value."""
        return PlaceSketch(
            kind=self._kind,
            records=self._records,
            values=self._values,
            nulls=self._nulls,
            branches=dict(self._branches),
            symbols=None if self._symbols is None else dict(self._symbols),
            names=None if self._names is None else dict(self._names),
            least=self._least,
            most=self._most,
            shortest=self._shortest,
            longest=self._longest,
            is_hidden=self._is_hidden,
        )


# Functions that count values of one place: what the sketches of Avro and Protobuf have in common.

if TYPE_CHECKING:
    Visit: TypeAlias = Callable[[Any, int], None]
    """Counts a value of the record with a number."""


def visit_of_number(counts: PlaceCounts) -> Visit:
    """Return the function that counts a number."""

    def visit_number(value: Any, record: int) -> None:
        counts.seen(record)
        counts.number(value)

    return visit_number


def visit_of_text(counts: PlaceCounts) -> Visit:
    """Return the function that counts a text."""

    def visit_text(value: Any, record: int) -> None:
        counts.seen(record)
        counts.text(value)

    return visit_text


def visit_of_bytes(counts: PlaceCounts) -> Visit:
    """Return the function that counts bytes by their number."""

    def visit_bytes(value: Any, record: int) -> None:
        counts.seen(record)
        counts.size(len(value))

    return visit_bytes


def visit_of_items(counts: PlaceCounts, inner: Visit) -> Visit:
    """Return the function that counts a list, and has ``inner`` count each item."""

    def visit_items(items: Any, record: int) -> None:
        counts.seen(record)
        counts.size(len(items))
        for each in items:
            inner(each, record)

    return visit_items


# Which fields of a schema have a tag that forbids to keep their values in a sketch.

DEFAULT_TAGS: Final = frozenset({"PII"})
"""The tags of fields of which a sketch keeps counts alone."""


def hidden_fields(
    schema: ParsedSchema, writer: WriterSchema, *, tags: frozenset[str], by_path: Mapping[str, Sequence[str]]
) -> Hidden:
    """Return the fields of ``schema`` and of its references that have one of ``tags``, in any case of letters.

    ``by_path`` are the tags of the schema's metadata. ``writer`` is the text that ``schema`` was parsed from.
    """
    wanted = frozenset(tag.casefold() for tag in tags)
    return hidden_by_tags(schema, writer.references, lambda tag: tag.casefold() in wanted, by_path=by_path)
