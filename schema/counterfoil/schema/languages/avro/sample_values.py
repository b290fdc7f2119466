"""Values of an Avro type: the smallest ones, ones with a given part, the most revealing ones in a fixed order."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.rules import Sentence
from counterfoil.schema.languages.avro.compare.differences import describe
from counterfoil.schema.languages.avro.compare.meaning import logical_type_of, logical_value, spread_over_words
from counterfoil.schema.languages.avro.decoder import branch_name
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroUnion,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.schema.languages.avro.compare.places import AvroDifference, TypePair
    from counterfoil.schema.languages.avro.types import AvroType


# The smallest data that a schema allows, and data with a value at a given place.
#
# A datum has fastavro's form; a union's value is a pair of its branch's name and the value, so that the branch is
# explicit.

MAX_NODES: Final = 10_000
"""The largest number of values in one datum, including nested ones."""

MAX_FIXED_BYTES: Final = 1 << 16
"""The largest size of a fixed in a datum, in bytes."""

MAP_KEY: Final = "key"

_ZEROS: Final[Mapping[AvroKind, Any]] = {
    AvroKind.NULL: None,
    AvroKind.BOOLEAN: False,
    AvroKind.INT: 0,
    AvroKind.LONG: 0,
    AvroKind.FLOAT: 0.0,
    AvroKind.DOUBLE: 0.0,
    AvroKind.BYTES: b"",
    AvroKind.STRING: "",
}


_AS_IN_JSON: Final = frozenset({str, int, float, bool, type(None)})


class NoDatum(Exception):
    """The error for a type without a datum of limited size: every branch is recursive, or it is very large."""


class DataBuilder:
    """A builder of data of one writer, within a budget of values."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def minimal(self, node: AvroType, inside: frozenset[int] = frozenset()) -> Any:
        """Return the smallest datum of ``node``: zeros, empty collections, the first symbol, ``null`` if allowed.

        ``inside`` has the ids of the records around it. Raises ``NoDatum`` if there is none.
        """
        self.spend()
        match node:
            case AvroPrimitive():
                return _ZEROS[node.kind]
            case AvroArray():
                return []
            case AvroMap():
                return {}
            case AvroEnum():
                return _first_symbol(node)
            case AvroFixed():
                return _zeros(node)
            case AvroUnion():
                return self._minimal_branch(node, inside)
            case AvroRecord():
                return self._minimal_record(node, inside)

    def spend(self) -> None:
        """Count one value; raise ``NoDatum`` if a datum has too many."""
        self._left -= 1
        if self._left < 0:
            raise NoDatum(f"a datum would hold more than {MAX_NODES} values")

    def _minimal_record(self, record: AvroRecord, inside: frozenset[int]) -> dict[str, Any]:
        if id(record) in inside:
            raise NoDatum(f"record {record.full_name} holds itself without end")
        within = inside | {id(record)}
        return {field.name: self.minimal(field.type, within) for field in record.fields}

    def _minimal_branch(self, union: AvroUnion, inside: frozenset[int]) -> tuple[str, Any]:
        plain_first = sorted(union.branches, key=lambda branch: branch.kind is not AvroKind.NULL)
        for branch in plain_first:
            try:
                return branch_name(branch), self.minimal(branch, inside)
            except NoDatum:
                continue
        raise NoDatum("no branch of a union has a finite datum")

    def reaching(self, place: TypePair, value: Any) -> Any:
        """Return a datum of the whole writer with ``value`` at ``place`` and the smallest values elsewhere."""
        for step in reversed(place.from_root()[1:]):
            if step.via is not None and step.parent is not None:
                value = self._around(step.parent.writer, step.via, value)
        return value

    def _around(self, outer: AvroType, via: str | int, value: Any) -> Any:
        match outer:
            case AvroUnion():
                return branch_name(outer.branches[int(via)]), value
            case AvroArray():
                return [value]
            case AvroMap():
                return {MAP_KEY: value}
            case AvroRecord():
                return {field.name: value if field.name == via else self.minimal(field.type) for field in outer.fields}
        raise NoDatum(f"nothing can be inside {outer.kind}")


def _first_symbol(enum: AvroEnum) -> str:
    if not enum.symbols:
        raise NoDatum(f"enum {enum.full_name} has no symbols")
    return enum.symbols[0]


def _zeros(fixed: AvroFixed) -> bytes:
    if fixed.size > MAX_FIXED_BYTES:
        raise NoDatum(f"fixed {fixed.full_name} is longer than {MAX_FIXED_BYTES} bytes")
    return bytes(fixed.size)


def plain_json(datum: Any) -> str:
    """Return a datum as readable JSON: union values without branch names, each byte as one character."""
    return json.dumps(_plain(datum), ensure_ascii=False)


def _plain(datum: Any) -> Any:
    if type(datum) in _AS_IN_JSON:  # most values of most data; a shortcut for speed
        return datum
    match datum:
        case tuple():
            return _plain(datum[1])
        case bytes():
            return datum.decode("latin-1")
        case dict():
            return {name: _plain(value) for name, value in datum.items()}
        case list():
            return [_plain(item) for item in datum]
    return datum


def words_to(places: Sequence[TypePair]) -> str:
    """Return the path to the last of ``places`` as text: ``field lines, item, field price``; empty for the root."""
    return ", ".join(
        _one_step(step.parent.writer, step) for step in places if step.parent is not None and step.via is not None
    )


def step_in_words(found: AvroDifference) -> Sentence:
    """Return the place at which the reader stops, and why: the path to a finding, and the finding."""
    way = words_to(found.place.from_root())
    sentence = found.sentence
    return Sentence.of("{way}: {what}", {"way": way, "what": sentence}) if way else sentence


def _one_step(outer: AvroType, step: TypePair) -> str:
    match outer:
        case AvroRecord():
            return f"field {step.via}"
        case AvroUnion():
            return f"branch {describe(step.writer)}"
        case AvroMap():
            return "map value"
    return "item"


# Values of an Avro type in a fixed order: the most revealing first, every branch of a union, every symbol of an enum.
#
# A type with a logical type has values that are valid by it: the first is a usual one, such as 12.34 or half past
# twelve on a day in 2024, which has another meaning with another unit, scale or kind.
#
# Values have fastavro's form, as the smallest data above. There is no randomness: the same type gives the same values
# on every run.

MAX_DEPTH: Final = 8
"""The depth up to which values are varied; below it they are the smallest."""

_LONGEST: Final = 3  # items of an array
_KEYS: Final = ("key", "", "ключ")

_BOUNDARIES: Final[Mapping[AvroKind, Sequence[Any]]] = {
    AvroKind.NULL: (None,),
    AvroKind.BOOLEAN: (False, True),
    AvroKind.INT: (0, 1, -1, 2**24 + 1, 2**31 - 1, -(2**31)),
    AvroKind.LONG: (0, 1, -1, 2**24 + 1, 2**53 + 1, 2**63 - 1, -(2**63)),
    AvroKind.FLOAT: (0.0, 1.5, -1.5, 3.4028234663852886e38, 1.401298464324817e-45),
    AvroKind.DOUBLE: (0.0, 1.5, -1.5, 1.7976931348623157e308, 5e-324, 0.1),
    AvroKind.BYTES: (b"", b"\x00", b"A", b"\xff", b"\x7f" * 65),
    AvroKind.STRING: ("", "A", "\x00", "é", "\U0001f600", "A" * 65),
}


class SampleValues:
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
            case AvroArray():
                return self._several(node.items, number % (_LONGEST + 1), depth)
            case AvroMap():
                return dict(zip(_KEYS, self._several(node.values, number % (len(_KEYS) + 1), depth), strict=False))
            case AvroUnion():
                return self._next_branch(node, number, depth, inside)
            case AvroRecord():
                return self._next_record(node, depth, inside)
        raise AssertionError("a type without parts is a leaf")

    def _several(self, node: AvroType, count: int, depth: int) -> list[Any]:
        try:
            return [self._next(node, depth - 1, frozenset()) for _ in range(count)]
        except NoDatum:
            return []  # every value of this type is infinite, but an empty collection of it is not

    def _next_record(self, record: AvroRecord, depth: int, inside: frozenset[int]) -> dict[str, Any]:
        within = inside | {id(record)}
        return {field.name: self._next(field.type, depth - 1, within) for field in record.fields}

    def _next_branch(self, union: AvroUnion, number: int, depth: int, inside: frozenset[int]) -> tuple[str, Any]:
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
        case AvroPrimitive():
            return _primitive(node.kind)
        case AvroEnum():
            return partial(_symbol, node)
        case AvroFixed():
            return partial(_fixed, node)
    return None


def _primitive(kind: AvroKind) -> Callable[[int], Any]:
    boundaries, vary = _BOUNDARIES[kind], _VARIED.get(kind)

    def value(number: int) -> Any:
        if number < len(boundaries):
            return boundaries[number]
        return vary(number) if vary is not None else boundaries[number % len(boundaries)]

    return value


def _varied_float(number: int) -> float:
    return float((spread_over_words(number) >> 44) - 2**19) / 2**9  # exact in 32 bits


_VARIED: Final[Mapping[AvroKind, Callable[[int], Any]]] = {
    AvroKind.INT: lambda number: (spread_over_words(number) >> 32) - 2**31,
    AvroKind.LONG: lambda number: spread_over_words(number) - 2**63,
    AvroKind.FLOAT: _varied_float,
    AvroKind.DOUBLE: _varied_float,
    AvroKind.STRING: lambda number: f"text {number}",
    AvroKind.BYTES: lambda number: spread_over_words(number).to_bytes(8, "big"),
}
"""The values after the boundaries; a kind without an entry repeats its boundaries."""


def _symbol(enum: AvroEnum, number: int) -> str:
    if not enum.symbols:
        raise NoDatum(f"enum {enum.full_name} has no symbols")
    return enum.symbols[number % len(enum.symbols)]


def _fixed(fixed: AvroFixed, number: int) -> bytes:
    if fixed.size > MAX_FIXED_BYTES:
        raise NoDatum(f"fixed {fixed.full_name} is longer than {MAX_FIXED_BYTES} bytes")
    return bytes((number * 127 + index * number) % 256 for index in range(fixed.size))
