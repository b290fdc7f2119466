"""Collecting a sketch: values are counted in mutable objects, which are frozen at the end."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

from counterfoil.schema.sketch.model import MAX_SYMBOLS, PlaceSketch, SchemaSketch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.pointer import Pointer


class SketchBuilder:
    """Counts the values at the places of one schema, record by record."""

    def __init__(self) -> None:
        self._records = 0
        self._places: dict[Pointer, _PlaceCounts] = {}

    def begin_record(self) -> None:
        """Count a record."""
        self._records += 1

    def at(self, pointer: Pointer) -> _PlaceCounts:
        """Return the place with this pointer, for counting."""
        place = self._places.get(pointer)
        if place is None:
            place = self._places[pointer] = _PlaceCounts()
        return place

    def finish(self) -> SchemaSketch:
        """Return the sketch of the counted records."""
        return SchemaSketch(self._records, {pointer: place.frozen() for pointer, place in self._places.items()})


class _PlaceCounts:
    """The counts of one place during collection; see :class:`~counterfoil.schema.sketch.model.PlaceSketch`."""

    __slots__ = ("_absent", "_branches", "_least", "_longest", "_most", "_nulls", "_shortest", "_symbols", "_values")

    def __init__(self) -> None:
        self._values = self._nulls = self._absent = 0
        self._branches: dict[str, int] = {}
        self._symbols: dict[str, int] | None = {}
        self._least: Any = None
        self._most: Any = None
        self._shortest: int | None = None
        self._longest: int | None = None

    def absent(self) -> None:
        """Count an occurrence of the parent without this place."""
        self._absent += 1

    def branch(self, name: str) -> Self:
        """Count the branch or type of a value."""
        self._branches[name] = self._branches.get(name, 0) + 1
        return self

    def value(self, value: Any) -> None:
        """Count a value: null, bool, a number, text, bytes, or something with a length."""
        self._values += 1
        if value is None:
            self._nulls += 1
        elif isinstance(value, str):
            self._symbol(value)
            self._length(len(value))
        elif isinstance(value, (bytes, bytearray, list, tuple, dict)):
            self._length(len(value))
        elif isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
            self._number(value)

    def _symbol(self, text: str) -> None:
        if self._symbols is None:
            return
        self._symbols[text] = self._symbols.get(text, 0) + 1
        if len(self._symbols) > MAX_SYMBOLS:
            self._symbols = None

    def _length(self, length: int) -> None:
        self._shortest = length if self._shortest is None else min(self._shortest, length)
        self._longest = length if self._longest is None else max(self._longest, length)

    def _number(self, number: float | Decimal) -> None:
        if math.isnan(number):
            return
        self._least = number if self._least is None else min(self._least, number)
        self._most = number if self._most is None else max(self._most, number)

    def frozen(self) -> PlaceSketch:
        """Return the counts as a frozen value."""
        branches: Mapping[str, int] = dict(self._branches)
        return PlaceSketch(
            values=self._values,
            nulls=self._nulls,
            absent=self._absent,
            branches=branches,
            symbols=None if self._symbols is None else dict(self._symbols),
            least=self._least,
            most=self._most,
            shortest=self._shortest,
            longest=self._longest,
        )
