"""The sketch of a topic: counts, symbols, ranges and lengths by place in the writer's schema.

Sketches merge: ``a.merge(b)`` is the sketch of the records of both, in any order and grouping of the parts, so that a
cluster can build one from many partitions. Their size depends on the schemas, not on the records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from decimal import Decimal

    from counterfoil.schema.pointer import Pointer

    Number = int | float | Decimal

MAX_SYMBOLS: Final = 256
"""The largest number of different texts that are counted at one place; if there are more, none is counted."""


@dataclass(frozen=True, slots=True)
class PlaceSketch:
    """The counts of the values at one place of a schema.

    ``values`` counts the values there, ``nulls`` those among them that were null, ``absent`` how often the parent
    occurred without this place. ``branches`` counts values by the union branch or JSON type that they had. ``symbols``
    counts texts, and is None once more than ``MAX_SYMBOLS`` different ones were seen. ``least`` and ``most`` are the
    range of numbers; ``shortest`` and ``longest`` that of lengths: characters of a text, bytes, items. The four are
    None when nothing could be measured.
    """

    values: int = 0
    nulls: int = 0
    absent: int = 0
    branches: Mapping[str, int] = field(default_factory=dict)
    symbols: Mapping[str, int] | None = field(default_factory=dict)
    least: Number | None = None
    most: Number | None = None
    shortest: int | None = None
    longest: int | None = None

    def merge(self, other: Self) -> Self:
        """Return the sketch of the values of both."""
        return type(self)(
            values=self.values + other.values,
            nulls=self.nulls + other.nulls,
            absent=self.absent + other.absent,
            branches=_summed(self.branches, other.branches),
            symbols=_summed_symbols(self.symbols, other.symbols),
            least=_either(min, self.least, other.least),
            most=_either(max, self.most, other.most),
            shortest=_either(min, self.shortest, other.shortest),
            longest=_either(max, self.longest, other.longest),
        )


@dataclass(frozen=True, slots=True)
class SchemaSketch:
    """The summary of the records that were written with one schema.

    ``places`` are by the pointer of the place in that schema's own text, as in a difference; a
    type that is declared once and used in many places is one place.
    """

    records: int = 0
    places: Mapping[Pointer, PlaceSketch] = field(default_factory=dict)

    def merge(self, other: Self) -> Self:
        """Return the sketch of the records of both."""
        return type(self)(self.records + other.records, _merged(self.places, other.places))


@dataclass(frozen=True, slots=True)
class TopicSketch:
    """The summary of a topic: a sketch for each schema id of its records."""

    by_schema_id: Mapping[int, SchemaSketch] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """The number of summarized records."""
        return sum(each.records for each in self.by_schema_id.values())

    def merge(self, other: Self) -> Self:
        """Return the sketch of the records of both."""
        return type(self)(_merged(self.by_schema_id, other.by_schema_id))


def _merged(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[Any, Any]:
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


def _either(choose: Callable[..., Any], one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return choose(one, other)
