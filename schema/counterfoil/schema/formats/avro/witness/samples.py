"""Values of an Avro type in a fixed order: the most revealing first, every branch of a union, every symbol of an enum.

A type with a logical type has values that are valid by it: the first is a usual one, such as 12.34 or half past twelve
on a day in 2024, which has another meaning with another unit, scale or kind.

Values have fastavro's form, as in :mod:`~counterfoil.schema.formats.avro.witness.data`. There is no randomness: the
same type gives the same values on every run.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.avro.compare.meaning import logical_type_of
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union
from counterfoil.schema.formats.avro.witness.data import MAX_FIXED_BYTES, DataBuilder, NoDatum
from counterfoil.schema.formats.avro.witness.logical_values import logical_value, spread_over_words
from counterfoil.schema.formats.avro.witness.spelling import branch_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.schema.formats.avro.types import AvroType

MAX_DEPTH: Final = 8
"""The depth up to which values are varied; below it they are the smallest."""

_LONGEST: Final = 3  # items of an array
_KEYS: Final = ("key", "", "ключ")

_BOUNDARIES: Final[Mapping[Kind, Sequence[Any]]] = {
    Kind.NULL: (None,),
    Kind.BOOLEAN: (False, True),
    Kind.INT: (0, 1, -1, 2**24 + 1, 2**31 - 1, -(2**31)),
    Kind.LONG: (0, 1, -1, 2**24 + 1, 2**53 + 1, 2**63 - 1, -(2**63)),
    Kind.FLOAT: (0.0, 1.5, -1.5, 3.4028234663852886e38, 1.401298464324817e-45),
    Kind.DOUBLE: (0.0, 1.5, -1.5, 1.7976931348623157e308, 5e-324, 0.1),
    Kind.BYTES: (b"", b"\x00", b"A", b"\xff", b"\x7f" * 65),
    Kind.STRING: ("", "A", "\x00", "é", "\U0001f600", "A" * 65),
}


class Samples:
    """A sequence of values. Each type counts its uses, and each use gets the next value."""

    def __init__(self) -> None:
        self._visits: dict[int, int] = {}
        self._leaves: dict[int, Callable[[int], Any] | None] = {}
        self._smallest = DataBuilder()

    def next_of(self, node: AvroType) -> Any:
        """Return the next value of ``node``; raise ``NoDatum`` if it has none of limited size."""
        self._smallest = DataBuilder()
        return self._next(node, MAX_DEPTH, frozenset())

    def _next(self, node: AvroType, depth: int, inside: frozenset[int]) -> Any:
        if depth == 0:
            return self._smallest.minimal(node, inside)
        self._smallest.spend()
        key = id(node)
        number = self._visits.get(key, 0)
        self._visits[key] = number + 1
        if number == 0:
            self._leaves[key] = _leaf(node)
        leaf = self._leaves[key]
        if leaf is not None:
            return leaf(number)
        match node:
            case Array():
                return self._several(node.items, number % (_LONGEST + 1), depth)
            case Map():
                return dict(zip(_KEYS, self._several(node.values, number % (len(_KEYS) + 1), depth), strict=False))
            case Union():
                return self._next_branch(node, number, depth, inside)
            case Record():
                return self._next_record(node, depth, inside)
        raise AssertionError("a type without parts is a leaf")

    def _several(self, node: AvroType, count: int, depth: int) -> list[Any]:
        try:
            return [self._next(node, depth - 1, frozenset()) for _ in range(count)]
        except NoDatum:
            return []  # every value of this type is infinite, but an empty collection of it is not

    def _next_record(self, record: Record, depth: int, inside: frozenset[int]) -> dict[str, Any]:
        within = inside | {id(record)}
        return {field.name: self._next(field.type, depth - 1, within) for field in record.fields}

    def _next_branch(self, union: Union, number: int, depth: int, inside: frozenset[int]) -> tuple[str, Any]:
        for index in range(len(union.branches)):
            branch = union.branches[(number + index) % len(union.branches)]
            try:
                return branch_name(branch), self._next(branch, depth - 1, inside)
            except NoDatum:
                continue
        raise NoDatum("no branch of a union has a finite datum")


def _leaf(node: AvroType) -> Callable[[int], Any] | None:
    """Return the function from a number to a value of a type without parts; None for a type with parts."""
    logical = logical_type_of(node)
    if logical is not None:
        return partial(logical_value, logical, node)
    match node:
        case Primitive():
            return _primitive(node.kind)
        case Enum():
            return partial(_symbol, node)
        case Fixed():
            return partial(_fixed, node)
    return None


def _primitive(kind: Kind) -> Callable[[int], Any]:
    boundaries, vary = _BOUNDARIES[kind], _VARIED.get(kind)

    def value(number: int) -> Any:
        if number < len(boundaries):
            return boundaries[number]
        return vary(number) if vary is not None else boundaries[number % len(boundaries)]

    return value


def _varied_float(number: int) -> float:
    return float((spread_over_words(number) >> 44) - 2**19) / 2**9  # exact in 32 bits


_VARIED: Final[Mapping[Kind, Callable[[int], Any]]] = {
    Kind.INT: lambda number: (spread_over_words(number) >> 32) - 2**31,
    Kind.LONG: lambda number: spread_over_words(number) - 2**63,
    Kind.FLOAT: _varied_float,
    Kind.DOUBLE: _varied_float,
    Kind.STRING: lambda number: f"text {number}",
    Kind.BYTES: lambda number: spread_over_words(number).to_bytes(8, "big"),
}
"""The values after the boundaries; a kind without an entry repeats its boundaries."""


def _symbol(enum: Enum, number: int) -> str:
    if not enum.symbols:
        raise NoDatum(f"enum {enum.full_name} has no symbols")
    return enum.symbols[number % len(enum.symbols)]


def _fixed(fixed: Fixed, number: int) -> bytes:
    if fixed.size > MAX_FIXED_BYTES:
        raise NoDatum(f"fixed {fixed.full_name} is longer than {MAX_FIXED_BYTES} bytes")
    return bytes((number * 127 + index * number) % 256 for index in range(fixed.size))
