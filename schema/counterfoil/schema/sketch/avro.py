"""The sketch of Avro data, counted at the place of its writer's type, and the questions of Avro's rules to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from counterfoil.schema.compatibility.findings import Difference
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.compare.differences import MAX_DIFFERENCES
from counterfoil.schema.languages.avro.compare.places import AvroDifference, TypePair
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroType,
    AvroUnion,
    branch_name,
)
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.sketch.model import (
    Count,
    Place,
    PlaceCounts,
    PlaceSketch,
    SchemaSketch,
    SketchBuilder,
    Visit,
    visit_of_bytes,
    visit_of_items,
    visit_of_number,
    visit_of_text,
)
from counterfoil.schema.tags import Hidden

# The sketch of Avro data: each value is counted at the place of its writer's type.


class AvroSketcher:
    """Counts data of one Avro schema.

    Data are decoded without logical types: None, bool, int, float, str, bytes, list, dict; a value of a union with
    several types besides null is a pair of the type's name and the value.
    """

    def __init__(self, schema: AvroSchema, builder: SketchBuilder, hidden: Hidden) -> None:
        self._builder = builder
        self._hidden = hidden
        self._hidden_types = self._types_in_hidden(schema.root)
        self._visit_by_name: dict[str, Visit] = {}
        self._visit = self._compiled(schema.root, ("",), is_hidden=hidden.is_all)

    def add(self, value: object, size: int) -> None:
        """Count a record."""
        del size
        self._builder.records += 1
        self._visit(value, self._builder.records)

    def _is_hidden(self, record: AvroRecord, field: str) -> bool:
        return f"{record.full_name}.{field}" in self._hidden.paths

    def _types_in_hidden(self, root: AvroType) -> set[str]:
        """Return the named types of which a value may be in a hidden field."""
        found: set[str] = set()
        seen: set[tuple[int, bool]] = set()
        waiting = [(root, self._hidden.is_all)]
        while waiting:
            node, is_hidden = waiting.pop()
            if isinstance(node, AvroRecord | AvroEnum | AvroFixed):
                is_hidden = is_hidden or node.full_name in self._hidden.paths
                found.update([node.full_name] if is_hidden else [])
            if (id(node), is_hidden) not in seen:
                seen.add((id(node), is_hidden))
                if isinstance(node, AvroRecord):
                    waiting += [(each.type, is_hidden or self._is_hidden(node, each.name)) for each in node.fields]
                else:
                    waiting += [(each, is_hidden) for each in _parts(node)]
        return found

    def _compiled(self, node: AvroType, place: Place, *, is_hidden: bool) -> Visit:
        """Return the function that counts a value of ``node``, and everything in it."""
        if not isinstance(node, AvroRecord | AvroEnum | AvroFixed):
            counts = self._builder.at(place, _kind(node), is_hidden=is_hidden)
            return self._plain(node, place, counts, is_hidden=is_hidden)
        name = node.full_name
        known = self._visit_by_name.get(name)
        if known is None:
            self._visit_by_name[name] = self._later(name)  # what a recursive type finds for itself
            counts = self._builder.at((name,), _kind(node), is_hidden=name in self._hidden_types)
            known = self._visit_by_name[name] = self._named(node, counts)
        if len(place) == 1:
            return known
        return _used(self._builder.at(place, _kind(node), is_hidden=is_hidden), known)

    def _later(self, name: str) -> Visit:
        def visit_later(value: object, record: int) -> None:
            self._visit_by_name[name](value, record)

        return visit_later

    def _named(self, node: AvroRecord | AvroEnum | AvroFixed, counts: PlaceCounts) -> Visit:
        if isinstance(node, AvroEnum):

            def visit_enum(value: Datum, record: int) -> None:
                counts.seen(record)
                counts.word(value)

            return visit_enum
        if isinstance(node, AvroFixed):
            return lambda _, record: counts.seen(record)
        is_inside = node.full_name in self._hidden_types
        fields = [
            (
                each.name,
                self._compiled(
                    each.type, (node.full_name, each.name), is_hidden=is_inside or self._is_hidden(node, each.name)
                ),
            )
            for each in node.fields
        ]

        def visit_record(value: Datum, record: int) -> None:
            counts.seen(record)
            for name, visit in fields:
                visit(value[name], record)

        return visit_record

    def _plain(self, node: AvroType, place: Place, counts: PlaceCounts, *, is_hidden: bool) -> Visit:
        match node:
            case AvroUnion():
                inner = [
                    self._compiled(each, (*place, str(index)), is_hidden=is_hidden)
                    for index, each in enumerate(node.branches)
                ]
                return _union(node, counts, inner)
            case AvroArray():
                return visit_of_items(counts, self._compiled(node.items, (*place, "items"), is_hidden=is_hidden))
            case AvroMap():
                return _map(counts, self._compiled(node.values, (*place, "values"), is_hidden=is_hidden))
        return _primitive(node.kind, counts)


def _used(counts: PlaceCounts, inner: Visit) -> Visit:
    """Return the function that also counts a value of a named type where the type is used."""

    def visit_used(value: object, record: int) -> None:
        counts.seen(record)
        inner(value, record)

    return visit_used


def _union(node: AvroUnion, counts: PlaceCounts, inner: list[Visit]) -> Visit:
    visit_by_name = {branch_name(each): visit for each, visit in zip(node.branches, inner, strict=True)}
    others = [name for name in visit_by_name if name != "null"]
    only = others[0] if len(others) == 1 else None

    def visit_union(value: Datum, record: int) -> None:
        counts.seen(record)
        if value is None:
            name = "null"
            counts.null()
        elif only is not None:
            name = only
        else:
            name, value = value
        counts.branch(name)
        visit_by_name[name](value, record)

    return visit_union


def _map(counts: PlaceCounts, inner: Visit) -> Visit:
    def visit_map(value: Datum, record: int) -> None:
        counts.seen(record)
        counts.size(len(value))
        for name, each in value.items():
            counts.name(name)
            inner(each, record)

    return visit_map


def _primitive(kind: AvroKind, counts: PlaceCounts) -> Visit:
    def visit_other(value: object, record: int) -> None:
        counts.seen(record)
        if value is None:
            counts.null()

    if kind in (AvroKind.INT, AvroKind.LONG, AvroKind.FLOAT, AvroKind.DOUBLE):
        return visit_of_number(counts)
    if kind is AvroKind.STRING:
        return visit_of_text(counts)
    return visit_of_bytes(counts) if kind is AvroKind.BYTES else visit_other


def _parts(node: AvroType) -> Iterable[AvroType]:
    match node:
        case AvroUnion():
            return node.branches
        case AvroArray():
            return [node.items]
        case AvroMap():
            return [node.values]
    return ()


def _kind(node: AvroType) -> str:
    logical = node.logical_type
    return f"{node.kind.value} {logical.name}" if logical is not None else node.kind.value


# The questions of Avro's rules to a sketch: how many records can trigger a finding.

_EXACT_TO: Final = {AvroKind.FLOAT: 2**24, AvroKind.DOUBLE: 2**53}
"""Up to which number a type of floating-point numbers has every integer."""


def counting(schema: AvroSchema, builder: SketchBuilder, hidden: Hidden) -> AvroSketcher:
    """Return a counter of the records of a schema."""
    return AvroSketcher(schema, builder, hidden)


def counts(
    reader: ParsedSchema, writer: ParsedSchema, differences: Sequence[Difference], sketch: SchemaSketch
) -> list[Count | None]:
    """Return how many records trigger each difference."""
    del reader, writer
    found = [_count(each, sketch) if isinstance(each, AvroDifference) else None for each in differences]
    if len(found) < MAX_DIFFERENCES:
        return found
    return [None if each is None or each.most == 0 else each for each in found]  # there may be more differences


def _count(difference: AvroDifference, sketch: SchemaSketch) -> Count | None:
    question = _QUESTIONS.get(difference.rule)
    pair = _around(difference.place)
    place = sketch.find(_place_of(pair))
    if question is None or place is None:
        return None
    count = question(difference, place)
    is_exact = count.is_exact and pair is difference.place and _is_only_use(pair, sketch)
    return Count(count.most, is_exact=is_exact or count.most == 0)


def _around(pair: TypePair) -> TypePair:
    """Return the pair whose values trigger a finding at ``pair``.

    For items or values it is that of the array or map, since some decoders refuse even an empty one when its items
    cannot match.
    """
    while pair.parent is not None and pair.writer_field is None and pair.via in ("items", "values"):
        pair = pair.parent
    return pair


def _place_of(pair: TypePair) -> Place:
    origin = pair.writer_origin()
    return (origin.holder, *map(str, origin.steps))


def _is_only_use(pair: TypePair, sketch: SchemaSketch) -> bool:
    """Return whether all values of the named types on the way to ``pair`` are on this way."""
    inner: TypePair | None = pair
    while inner is not None and inner.parent is not None:
        if isinstance(inner.writer, AvroRecord | AvroEnum | AvroFixed) and inner.writer_step:
            around = inner.parent.writer_origin(inner.writer_step)
            use, values = sketch.find((around.holder, *map(str, around.steps))), sketch.find(_place_of(inner))
            if use is None or values is None or use.values != values.values:
                return False
        inner = inner.parent
    return True


def _every_value(difference: AvroDifference, place: PlaceSketch) -> Count:
    """Count all values at the place: each triggers it."""
    del difference
    return Count(place.records, is_exact=True)


def _any_value(difference: AvroDifference, place: PlaceSketch) -> Count:
    """Count all values at the place: some trigger it, and the sketch does not show which ones."""
    del difference
    return Count(place.records)


def _symbols(difference: AvroDifference, place: PlaceSketch) -> Count:
    """Count the values that are one of the missing symbols."""
    symbols = difference.facts.get("symbols")
    if place.symbols is None or not isinstance(symbols, tuple):
        return Count(place.records)
    values = sum(place.symbols.get(symbol, 0) for symbol in symbols)
    return Count(min(values, place.records), is_exact=place.values == place.records)


def _branch(difference: AvroDifference, place: PlaceSketch) -> Count:
    """Count all values, or of an enum those whose symbol the reader's union does not have."""
    inner = difference.because
    if (
        isinstance(difference.place.writer, AvroEnum)
        and inner is not None
        and inner.rule == rules.MISSING_ENUM_SYMBOLS.id
    ):
        return _symbols(inner, place)
    return Count(place.records, is_exact=isinstance(difference.place.writer, AvroPrimitive))


def _large_numbers(difference: AvroDifference, place: PlaceSketch) -> Count:
    """Count nothing if the reader's type has every integer of the range."""
    limit = _EXACT_TO.get(difference.place.reader.kind)
    is_small = place.least is not None and place.most is not None and not place.is_hidden
    if limit is not None and is_small and -limit <= (place.least or 0) and (place.most or 0) <= limit:
        return Count(0, is_exact=True)
    return Count(place.records)


_QUESTIONS: Final[Mapping[str, Callable[[AvroDifference, PlaceSketch], Count]]] = {
    rules.MISSING_DEFAULT.id: _every_value,
    rules.UNUSABLE_DEFAULT.id: _every_value,
    rules.AMBIGUOUS_ALIAS.id: _every_value,
    rules.NAME_MISMATCH.id: _every_value,
    rules.FIXED_SIZE_MISMATCH.id: _every_value,
    rules.TYPE_MISMATCH.id: _every_value,
    rules.LOGICAL_TYPE_CHANGED.id: _every_value,
    rules.DECIMAL_CHANGED.id: _every_value,
    rules.MISSING_UNION_BRANCH.id: _branch,
    rules.MISSING_ENUM_SYMBOLS.id: _symbols,
    rules.BYTES_AS_STRING.id: _any_value,
    rules.INTEGER_AS_FLOAT.id: _large_numbers,
}
