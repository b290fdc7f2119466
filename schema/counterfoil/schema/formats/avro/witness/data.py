"""The smallest data that a schema allows, and data with a value at a given place.

A datum has fastavro's form; a union's value is a pair of its branch's name and the value, so that the branch is
explicit.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.formats.avro.compare.differences import describe
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union
from counterfoil.schema.formats.avro.witness.spelling import branch_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.formats.avro.compare.places import AvroDifference, TypePair
    from counterfoil.schema.formats.avro.types import AvroType

MAX_NODES: Final = 10_000
"""The largest number of values in one datum, including nested ones."""

MAX_FIXED_BYTES: Final = 1 << 16
"""The largest size of a fixed in a datum, in bytes."""

MAP_KEY: Final = "key"

_ZEROS: Final[Mapping[Kind, Any]] = {
    Kind.NULL: None,
    Kind.BOOLEAN: False,
    Kind.INT: 0,
    Kind.LONG: 0,
    Kind.FLOAT: 0.0,
    Kind.DOUBLE: 0.0,
    Kind.BYTES: b"",
    Kind.STRING: "",
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
            case Primitive():
                return _ZEROS[node.kind]
            case Array():
                return []
            case Map():
                return {}
            case Enum():
                return _first_symbol(node)
            case Fixed():
                return _zeros(node)
            case Union():
                return self._minimal_branch(node, inside)
            case Record():
                return self._minimal_record(node, inside)

    def spend(self) -> None:
        """Count one value; raise ``NoDatum`` if a datum has too many."""
        self._left -= 1
        if self._left < 0:
            raise NoDatum(f"a datum would hold more than {MAX_NODES} values")

    def _minimal_record(self, record: Record, inside: frozenset[int]) -> dict[str, Any]:
        if id(record) in inside:
            raise NoDatum(f"record {record.full_name} holds itself without end")
        within = inside | {id(record)}
        return {field.name: self.minimal(field.type, within) for field in record.fields}

    def _minimal_branch(self, union: Union, inside: frozenset[int]) -> tuple[str, Any]:
        plain_first = sorted(union.branches, key=lambda branch: branch.kind is not Kind.NULL)
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
            case Union():
                return branch_name(outer.branches[int(via)]), value
            case Array():
                return [value]
            case Map():
                return {MAP_KEY: value}
            case Record():
                return {field.name: value if field.name == via else self.minimal(field.type) for field in outer.fields}
        raise NoDatum(f"nothing can be inside {outer.kind}")


def _first_symbol(enum: Enum) -> str:
    if not enum.symbols:
        raise NoDatum(f"enum {enum.full_name} has no symbols")
    return enum.symbols[0]


def _zeros(fixed: Fixed) -> bytes:
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
        case Record():
            return f"field {step.via}"
        case Union():
            return f"branch {describe(step.writer)}"
        case Map():
            return "map value"
    return "item"
