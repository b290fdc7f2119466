"""The sketch of a topic: counts, symbols, ranges and lengths of its values, and how they are collected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeAlias, TypeVar

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import ResolvedReference, SchemaType
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.tags import Hidden, hidden_by_tags

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.findings import Difference


# The sketch of a topic: counts, symbols, ranges and lengths of the values at each place of the writers' schemas.
#
# Sketches merge: ``a.merge(b)`` is the sketch of the records of both, in any order and grouping of the parts, so that a
# cluster can build one from many partitions. Their size depends on the schemas, not on the number of records.

Number = int | float

_Key = TypeVar("_Key")
_Bound = TypeVar("_Bound", bound=Number)


class _Merging(Protocol):
    def merge(self, other: Self) -> Self: ...


_Sketch = TypeVar("_Sketch", bound=_Merging)

Place: TypeAlias = tuple[str, ...]
"""Where values are, in the terms of the language; :func:`print_place` is its text.

Avro: the full name of the innermost named type around it, then field names, ``items``, ``values`` and branch numbers.
Protobuf: the full name of a message or enum, then a field's number, then ``items``, ``keys`` or ``values``. JSON: the
steps from the root: ``.name``, ``[]`` for items, ``{}`` for properties that no schema of the writer names.
"""

MAX_SYMBOLS: Final = 256
"""The largest number of different texts or names that are counted at one place; if there are more, none is counted."""
MAX_TEXT: Final = 80
"""The length of the longest text that is counted; if there is a longer one at a place, none is counted there."""
MAX_PLACES: Final = 4096
"""The largest number of places of one schema; if there are more, the deepest ones are left out."""


@dataclass(frozen=True, slots=True)
class PlaceSketch:
    """The counts of the values at one place.

    ``records`` counts the records with a value there, ``values`` all values, ``nulls`` those among them that were null.
    ``branches`` counts values by union branch or JSON type. ``symbols`` counts texts and enum symbols, ``names`` the
    properties of objects and keys of maps that the schema does not name; both are None where they were not kept: too
    many, too long, or left out on request. ``least`` and ``most`` are the range of numbers; ``shortest`` and
    ``longest`` that of lengths: characters of a text, bytes, items, properties. The four are None when nothing was
    measured, and also if ``is_hidden``: the schema's tags forbid to keep more than counts. ``kind`` is the type in the
    schema's words, if it is always the same.
    """

    kind: str = ""
    records: int = 0
    values: int = 0
    nulls: int = 0
    branches: Mapping[str, int] = field(default_factory=dict)
    symbols: Mapping[str, int] | None = field(default_factory=dict)
    names: Mapping[str, int] | None = field(default_factory=dict)
    least: Number | None = None
    most: Number | None = None
    shortest: int | None = None
    longest: int | None = None
    is_hidden: bool = False

    def merge(self, other: Self) -> Self:
        """Return the sketch of the values of both."""
        return type(self)(
            kind=self.kind or other.kind,
            records=self.records + other.records,
            values=self.values + other.values,
            nulls=self.nulls + other.nulls,
            branches=_summed(self.branches, other.branches),
            symbols=_summed_symbols(self.symbols, other.symbols),
            names=_summed_symbols(self.names, other.names),
            least=_either(min, self.least, other.least),
            most=_either(max, self.most, other.most),
            shortest=_either(min, self.shortest, other.shortest),
            longest=_either(max, self.longest, other.longest),
            is_hidden=self.is_hidden or other.is_hidden,
        )


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """The schema that records were written with, complete: with the texts of its references."""

    schema_type: SchemaType
    text: str
    references: tuple[ResolvedReference, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaSketch:
    """The summary of the records that were written with one schema.

    ``uncertain`` counts records whose bytes hold more than the places can show, such as unknown fields: if there are
    any, no question concludes that a value is absent. ``depth`` is None, or the length of the longest places that were
    kept, because there were too many.
    """

    writer: WriterSchema
    records: int = 0
    places: Mapping[Place, PlaceSketch] = field(default_factory=dict)
    uncertain: int = 0
    depth: int | None = None

    def find(self, place: Place) -> PlaceSketch | None:
        """Return the counts of a place, which are zero for an unknown one; None if they were not kept."""
        known = self.places.get(place)
        if known is None and (self.depth is None or len(place) <= self.depth):
            return PlaceSketch()
        return known

    def merge(self, other: Self) -> Self:
        """Return the sketch of the records of both, which have the same writer."""
        return type(self)(
            self.writer,
            self.records + other.records,
            _merged(self.places, other.places),
            self.uncertain + other.uncertain,
            _either(min, self.depth, other.depth),
        ).bounded()

    def bounded(self) -> Self:
        """Return the sketch without its deepest places, if it has too many.

        How deep the kept places are depends on all records together, and not on the order in which they are merged.
        """
        depth = depth_that_fits(self.places, self.depth)
        if depth is None:
            return self
        kept = {place: sketch for place, sketch in self.places.items() if len(place) <= depth}
        return replace(self, places=kept, depth=depth)


@dataclass(frozen=True, slots=True)
class PartSketch:
    """The summary of the keys, or of the values, of a topic: a sketch for each schema they were written with.

    ``by_writer`` is by schema id, or guid where a header names that; ``nulls`` counts records without this part, such
    as tombstones; ``problems`` counts by kind those that could not be read and are in no sketch.
    """

    by_writer: Mapping[str, SchemaSketch] = field(default_factory=dict)
    nulls: int = 0
    problems: Mapping[str, int] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """The number of summarized records."""
        return sum(each.records for each in self.by_writer.values())

    @property
    def unread(self) -> int:
        """The number of records that could not be read."""
        return sum(self.problems.values())

    def merge(self, other: Self) -> Self:
        """Return the sketch of the records of both."""
        return type(self)(
            _merged(self.by_writer, other.by_writer), self.nulls + other.nulls, _summed(self.problems, other.problems)
        )


@dataclass(frozen=True, slots=True)
class TopicSketch:
    """The summary of a topic.

    ``offsets`` are the ranges that were read, by partition, the end of each exclusive. ``share`` is the share of their
    records that was looked at: 1 for all of them. ``subjects`` are those of key and value.
    """

    topic: str = ""
    key: PartSketch = field(default_factory=PartSketch)
    value: PartSketch = field(default_factory=PartSketch)
    offsets: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    share: float = 1.0
    key_subject: str = ""
    value_subject: str = ""

    @property
    def is_sample(self) -> bool:
        """Whether some records of the ranges were not looked at."""
        return self.share < 1

    def parts(self) -> tuple[tuple[str, PartSketch], ...]:
        """Return the subject and the sketch of the keys and of the values."""
        return (self.key_subject, self.key), (self.value_subject, self.value)


def depth_that_fits(places: Collection[Place], depth: int | None = None) -> int | None:
    """Return the largest length at most ``depth`` up to which there are no more than ``MAX_PLACES`` places.

    None if all of them fit and there is no limit yet.
    """
    if depth is None and len(places) <= MAX_PLACES:
        return None
    by_length = Counter(len(place) for place in places)
    left, fits = MAX_PLACES, -1
    for length in sorted(by_length):
        left -= by_length[length]
        if left < 0 or (depth is not None and length > depth):
            break
        fits = length
    return fits if left < 0 else depth


def print_place(place: Place) -> str:
    """Return a place as text.

    >>> print_place(("shop.Order", "lines", "items")), print_place((".lines", "[]", ".sku")), print_place(())
    ('shop.Order.lines.items', '.lines[].sku', '.')
    """
    if not place or place[0].startswith((".", "[]", "{}")):
        return "".join(place) or "."
    return ".".join(each for each in place if each)


def _merged(one: Mapping[_Key, _Sketch], other: Mapping[_Key, _Sketch]) -> dict[_Key, _Sketch]:
    merged = dict(one)
    for key, sketch in other.items():
        merged[key] = merged[key].merge(sketch) if key in merged else sketch
    return merged


def _summed(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}


def _summed_symbols(one: Mapping[str, int] | None, other: Mapping[str, int] | None) -> dict[str, int] | None:
    if one is None or other is None:
        return None
    summed = _summed(one, other)
    return summed if len(summed) <= MAX_SYMBOLS else None


def _either(choose: Callable[[_Bound, _Bound], _Bound], one: _Bound | None, other: _Bound | None) -> _Bound | None:
    if one is None or other is None:
        return other if one is None else one
    return choose(one, other)


# Weighing findings with the records of a topic: which findings they cannot trigger.
#
# A finding says that some record that a writer may write cannot be read. Whether a topic has such a record is another
# question, which a sketch answers: none, at most a number of them, or not known.


@dataclass(frozen=True, slots=True)
class Count:
    """How many records trigger a finding: at most ``most``, and with ``is_exact`` so many."""

    most: int
    is_exact: bool = False


class Questions(Protocol):
    """The questions that a language's rules put to a sketch."""

    def counts(
        self, reader: ParsedSchema, writer: ParsedSchema, differences: Sequence[Difference], sketch: SchemaSketch
    ) -> Sequence[Count | None]:
        """Return, for each difference, how many of the records in ``sketch`` trigger it; None if it is not known.

        If the result is zero for all differences of a policy that misses none, the reader reads every record.
        """


@dataclass(frozen=True, slots=True)
class Weight:
    """How many records of one schema trigger one finding; ``count`` is None if it is not known."""

    difference: Difference
    count: Count | None

    @property
    def is_harmless(self) -> bool:
        """Whether none of the records triggers the finding."""
        return self.count is not None and self.count.most == 0


def weigh(
    reader: ParsedSchema,
    writer: ParsedSchema,
    sketch: SchemaSketch,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
) -> tuple[Weight, ...]:
    """Return each finding about ``reader`` reading the records of ``writer``, with how many records trigger it.

    ``sketch`` is that of records of ``writer``. A finding of a schema of another language is of no rule, and there is
    none in the result. Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
    """
    if reader.schema_type is not writer.schema_type:
        return ()
    found = language_for(reader.schema_type).find_differences(reader, writer, policy=policy)
    if not found:
        return ()
    questions: Questions = module_for(reader.schema_type)
    counts = questions.counts(reader, writer, found, sketch)
    return tuple(Weight(difference, _limited(count, sketch)) for difference, count in zip(found, counts, strict=True))


def _limited(count: Count | None, sketch: SchemaSketch) -> Count | None:
    """Return a count of values as one of records; a record may have several values at one place."""
    if not sketch.records:
        return Count(0, is_exact=True)
    if count is None or (count.most == 0 and sketch.uncertain):
        return None
    return Count(min(count.most, sketch.records), count.is_exact)


def module_for(schema_type: SchemaType) -> Datum:
    """Return the module of this folder for a language; it is loaded when one of its schemas occurs."""
    return import_module(f"counterfoil.schema.sketch.{language_for(schema_type).folder}")


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
        """Extend the range of numbers; NaN has no place in it."""
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

Visit: TypeAlias = Callable[[Datum, int], None]
"""Counts a value of the record with a number."""


def visit_of_number(counts: PlaceCounts) -> Visit:
    """Return the function that counts a number."""

    def visit_number(value: Datum, record: int) -> None:
        counts.seen(record)
        counts.number(value)

    return visit_number


def visit_of_text(counts: PlaceCounts) -> Visit:
    """Return the function that counts a text."""

    def visit_text(value: Datum, record: int) -> None:
        counts.seen(record)
        counts.text(value)

    return visit_text


def visit_of_bytes(counts: PlaceCounts) -> Visit:
    """Return the function that counts bytes by their number."""

    def visit_bytes(value: Datum, record: int) -> None:
        counts.seen(record)
        counts.size(len(value))

    return visit_bytes


def visit_of_items(counts: PlaceCounts, inner: Visit) -> Visit:
    """Return the function that counts a list, and has ``inner`` count each item."""

    def visit_items(items: Datum, record: int) -> None:
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
