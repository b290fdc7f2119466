"""The questions of Avro's rules to a sketch: how many records can trigger a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.avro.compare import rules
from counterfoil.schema.formats.avro.compare.differences import MAX_DIFFERENCES
from counterfoil.schema.formats.avro.compare.places import AvroDifference
from counterfoil.schema.formats.avro.types import Enum, Fixed, Kind, Primitive, Record
from counterfoil.schema.sketch.weigh import Count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.avro.compare.places import TypePair
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.sketch.model import Place, PlaceSketch, SchemaSketch

_EXACT_TO: Final = {Kind.FLOAT: 2**24, Kind.DOUBLE: 2**53}
"""Up to which number a type of floating-point numbers has every integer."""


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
        if isinstance(inner.writer, Record | Enum | Fixed) and inner.writer_step:
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
    if isinstance(difference.place.writer, Enum) and inner is not None and inner.rule == rules.MISSING_ENUM_SYMBOLS.id:
        return _symbols(inner, place)
    return Count(place.records, is_exact=isinstance(difference.place.writer, Primitive))


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
