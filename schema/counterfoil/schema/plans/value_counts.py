"""The counted values of fields, from sketches, and what the counts of two fields say about each other."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Final, TypeAlias

from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.plans.formulas import Path
from counterfoil.schema.plans.tree import Leaf, NullType, RecordField, RecordType, UnionType, tree_of, with_message
from counterfoil.schema.plans.types import split_null
from counterfoil.schema.sketch.model import PartSketch, Place, PlaceSketch, SchemaSketch, SketchBuilder, WriterSchema

# The counts of a sketch by field of a record, whatever the language: what suggestions of rules are based on.

FieldCounts: TypeAlias = "Mapping[Path, PlaceSketch]"
"""The counts of fields, and of those in records inside, by their names."""

_MAX_DEPTH = 8


def field_counts(part: PartSketch, message: str | None = None) -> dict[Path, PlaceSketch]:
    """Return the counts of the fields of all writers; ``message`` is the Protobuf message, None for the first."""
    found: dict[Path, PlaceSketch] = {}
    for sketch in part.by_writer.values():
        writer = sketch.writer
        schema = parse_schema(
            writer.text, writer.schema_type, references=writer.references, validation=Validation.LENIENT
        )
        root = tree_of(with_message(schema, message))
        if isinstance(root, RecordType):
            for path, counts in _fields(root, (), sketch):
                found[path] = found[path].merge(counts) if path in found else counts
    return found


def _fields(record: RecordType, path: Path, sketch: SchemaSketch) -> Iterator[tuple[Path, PlaceSketch]]:
    if len(path) >= _MAX_DEPTH:
        return
    for member in record.fields:
        below = (*path, member.name)
        _, inner = split_null(member.type)
        if isinstance(inner, RecordType):
            yield from _fields(inner, below, sketch)
        else:
            known = [sketch.places[place] for place in _places(record, member, below, sketch) if place in sketch.places]
            if known:
                yield below, reduce(_joined, known)


def _places(record: RecordType, member: RecordField, path: Path, sketch: SchemaSketch) -> Iterator[Place]:
    """Yield the places of a field that is no record: where it is used, and for an Avro enum where it is declared."""
    if sketch.writer.schema_type is SchemaType.JSON:
        yield tuple(f".{name}" for name in path)
        return
    if sketch.writer.schema_type is SchemaType.PROTOBUF:
        yield record.full_name, str(member.number)
        return
    place = (record.full_name, member.name)
    yield place
    has_null, inner = split_null(member.type)
    if has_null and isinstance(member.type, UnionType) and not isinstance(inner, UnionType):
        index = next(number for number, each in enumerate(member.type.branches) if not isinstance(each, NullType))
        yield (*place, str(index))
    if isinstance(inner, Leaf) and inner.full_name:
        yield (inner.full_name,)


def _joined(one: PlaceSketch, other: PlaceSketch) -> PlaceSketch:
    """Return the counts of two places of the same values."""
    merged = one.merge(other)
    counts = {name: max(getattr(one, name), getattr(other, name)) for name in ("records", "values", "nulls")}
    return PlaceSketch(**{name: getattr(merged, name) for name in PlaceSketch.__slots__} | counts)


def counts_of_values(values: Iterable[Mapping[str, object]]) -> dict[Path, PlaceSketch]:
    """Return the counts of the fields of JSON objects."""
    builder = SketchBuilder(WriterSchema(SchemaType.JSON, ""))
    for number, value in enumerate(values):
        builder.records += 1
        _count(builder, value, (), number)
    return dict(builder.finish().places)


def _count(builder: SketchBuilder, value: object, path: Path, record: int) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            _count(builder, each, (*path, name), record)
        return
    counts = builder.at(path)
    counts.seen(record)
    if value is None:
        counts.null()
    elif isinstance(value, bool):
        counts.word(str(value).lower())
    elif isinstance(value, str):
        counts.text(value)
    elif isinstance(value, int | float):
        counts.number(value)


# What the counted values of two fields say about each other: the same values, a unit, another code, pieces of a text.
#
# Every function takes the counts of a sketch. Few values say nothing, so that it returns None.

FEWEST: Final = 20
"""The fewest values from which anything is concluded."""
_FEWEST_FOR_CODES: Final = 100
_DEVIATIONS: Final = 2.5
_SEPARATORS: Final = (" ", ", ", "; ", ",", ";", "-", "/", "_", "|", ":")
_TOLERANCE: Final = 0.05
_ALIKE: Final = 0.5
_UNLIKE: Final = 0.2
_FACTORS: Final[Mapping[float, str]] = {
    1000.0: "thousandths",
    100.0: "hundredths",
    60.0: "sixtieths",
    3600.0: "seconds and hours",
    1.609344: "kilometres and miles",
    86_400.0: "seconds and days",
}
_TICKS_BY_DIGITS: Final[Mapping[int, int]] = {10: 1, 13: 1000, 16: 1_000_000, 19: 1_000_000_000}
"""The digits of moments from 2001 to 2286, with the ticks of a second."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """How much the values of two fields are alike, 0 to 1, as a clause; ``is_exact`` if values were compared."""

    score: float
    text: str
    is_exact: bool


def likeness(one: PlaceSketch, other: PlaceSketch) -> Likeness | None:
    """Return how alike two fields are by their texts and symbols, else by their ranges."""
    if min(present(one), present(other)) < FEWEST:
        return None
    if one.symbols and other.symbols:
        shares, others = shares_of(one), shares_of(other)
        common = sum(min(share, others.get(symbol, 0.0)) for symbol, share in shares.items())
        text = f"{common:.0%} of {present(one):,} and {present(other):,} values are the same"
        return Likeness(common, text, is_exact=True)
    first, second = _range(one), _range(other)
    if first is None or second is None or first[0] == first[1] or second[0] == second[1]:
        return None
    width = max(first[1], second[1]) - min(first[0], second[0])
    common = max(0.0, min(first[1], second[1]) - max(first[0], second[0])) / width
    return Likeness(common, f"their ranges overlap by {common:.0%}", is_exact=False)


def present(counts: PlaceSketch) -> int:
    """Return the number of values other than null."""
    return counts.values - counts.nulls


def shares_of(counts: PlaceSketch) -> dict[str, float]:
    """Return the share of each text or symbol, the most frequent one first."""
    symbols = counts.symbols or {}
    total = sum(symbols.values()) or 1
    return {symbol: count / total for symbol, count in sorted(symbols.items(), key=lambda each: (-each[1], each[0]))}


def _range(counts: PlaceSketch) -> tuple[float, float] | None:
    """Return the least and the most number; None without numbers, and if one is infinite or beyond a double."""
    least, most = counts.least, counts.most
    if least is None or most is None or max(abs(least), abs(most)) > sys.float_info.max:
        return None
    return float(least), float(most)


def factor_between(one: PlaceSketch, other: PlaceSketch) -> tuple[float, str] | None:
    """Return the factor of two units by which the ranges of two fields differ, with its name."""
    first, second = _range(one), _range(other)
    if first is None or second is None or min(present(one), present(other)) < FEWEST:
        return None
    if not 0 < first[0] < first[1] or not 0 < second[0] < second[1]:
        return None
    for size, name in _FACTORS.items():
        for factor in (size, 1 / size):
            if all(abs(right / (left * factor) - 1) <= _TOLERANCE for left, right in zip(first, second, strict=True)):
                return factor, name
    return None


def factor_fits(one: PlaceSketch, other: PlaceSketch, factor: float) -> bool | None:
    """Return whether the range of a field, multiplied, is that of the other one; None if too few values show it.

    Ranges of two samples are alike when they share half of the larger one, and differ when they share a fifth.
    """
    first, second = _range(one), _range(other)
    if first is None or second is None or min(present(one), present(other)) < FEWEST:
        return None
    low, high = first[0] * factor, first[1] * factor
    width = max(high, second[1]) - min(low, second[0])
    if low == high or second[0] == second[1] or not 0 < width < math.inf:
        return None
    shared = max(0.0, min(high, second[1]) - max(low, second[0])) / width
    return True if shared >= _ALIKE else False if shared <= _UNLIKE else None


def ticks_of(counts: PlaceSketch) -> int | None:
    """Return the ticks of a second, if all numbers look like moments since 1970 between 2001 and 2286."""
    bounds = _range(counts)
    if bounds is None or present(counts) < FEWEST or bounds[0] <= 0:
        return None
    digits = {len(str(int(bound))) for bound in bounds}
    return _TICKS_BY_DIGITS.get(digits.pop()) if len(digits) == 1 else None


def recoding(one: PlaceSketch, other: PlaceSketch) -> tuple[dict[str, str], str] | None:
    """Return the code of each value of a field in the other one, with the reason: equal words, else equal shares."""
    shares, others = shares_of(one), shares_of(other)
    if len(shares) < 2 or not others or min(present(one), present(other)) < FEWEST:  # noqa: PLR2004 - one value is no code
        return None
    by_word = {_word(symbol): symbol for symbol in others}
    if len(by_word) == len(others) and all(_word(symbol) in by_word for symbol in shares):
        table = {symbol: by_word[_word(symbol)] for symbol in shares}
        is_changed = any(symbol != code for symbol, code in table.items())
        return (table, f"all {len(table)} values differ in their spelling alone") if is_changed else None
    if set(shares) & set(others) or min(present(one), present(other)) < _FEWEST_FOR_CODES:
        return None
    return _by_shares(shares, others, 1 / present(one) + 1 / present(other))


def _word(symbol: str) -> str:
    return "".join(filter(str.isalnum, symbol.lower()))


def _by_shares(
    shares: Mapping[str, float], others: Mapping[str, float], variance: float
) -> tuple[dict[str, str], str] | None:
    """Return the pairs of values of equal rank, if shares tell each from all others.

    Two shares are equal within ``_DEVIATIONS`` standard deviations of a sample; ``variance`` is that of the sizes.
    """
    if len(shares) != len(others):
        return None
    pairs = list(zip(shares.items(), others.items(), strict=True))
    margins = [_DEVIATIONS * math.sqrt(share * (1 - share) * variance) for share in shares.values()]
    if any(abs(left - right) > margin for ((_, left), (_, right)), margin in zip(pairs, margins, strict=True)):
        return None
    for each in (shares.values(), others.values()):
        if any(left - right <= margin for (left, right), margin in zip(pairwise(each), margins, strict=False)):
            return None
    shown = ", ".join(f"{symbol} {left:.0%} and {code} {right:.0%}" for (symbol, left), (code, right) in pairs[:3])
    return {symbol: code for (symbol, _), (code, _) in pairs}, f"the shares of values are equal: {shown}"


def pieces_of(counts: PlaceSketch) -> Iterator[tuple[str, list[dict[str, float]]]]:
    """Yield each separator that all texts of a field have equally often, with the shares of the texts between."""
    shares = shares_of(counts)
    if len(shares) < 2 or present(counts) < FEWEST:  # noqa: PLR2004 - one text shows no structure
        return
    for separator in _SEPARATORS:
        split = {symbol: symbol.split(separator) for symbol in shares}
        sizes = {len(parts) for parts in split.values()}
        if len(sizes) != 1 or sizes == {1} or any("" in parts for parts in split.values()):
            continue
        pieces: list[dict[str, float]] = [{} for _ in range(sizes.pop())]
        for symbol, parts in split.items():
            for place, part in enumerate(parts):
                pieces[place][part] = pieces[place].get(part, 0.0) + shares[symbol]
        yield separator, pieces


def overlap(piece: Mapping[str, float], counts: PlaceSketch) -> float:
    """Return the share of texts that a piece and a field have in common."""
    shares = shares_of(counts)
    if len(shares) < 2 or len(piece) < 2 or present(counts) < FEWEST:  # noqa: PLR2004 - one text shows nothing
        return 0.0
    return sum(min(share, shares.get(text, 0.0)) for text, share in piece.items())
