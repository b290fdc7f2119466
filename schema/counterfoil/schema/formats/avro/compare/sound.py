"""The additions of the policy SOUND: differences that the reference accepts although records are misread.

A separate walk over the pairs that a decoder would enter. What the checker itself reports is not repeated.

Source: Apache Avro 1.12 specification, "Schema Resolution" and "Logical Types" (decimals match only with equal scale;
bytes become a string by decoding UTF-8), and the results of fastavro for such records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.avro.compare import rules
from counterfoil.schema.formats.avro.compare.differences import Described, match_field, walk
from counterfoil.schema.formats.avro.compare.meaning import (
    describe_logical,
    have_other_logical_types,
    is_rounded,
    logical_type_of,
)
from counterfoil.schema.formats.avro.compare.places import AvroDifference, TypePair
from counterfoil.schema.formats.avro.compare.readable import Reading, may_read
from counterfoil.schema.formats.avro.read.attributes import show
from counterfoil.schema.formats.avro.read.defaults import is_usable_default
from counterfoil.schema.formats.avro.types import Array, Kind, Map, Record, Union

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.types import AvroType, Field
    from counterfoil.schema.steps import Steps


def find_misreadings(reader: AvroType, writer: AvroType, steps: Steps) -> list[AvroDifference]:
    """Return the places at which a value of ``writer`` is misread or fails although the checker reports nothing."""
    walk = _Misreadings(steps)
    try:
        walk.visit(TypePair(None, None, reader, writer))
    except RecursionError:
        raise InvalidSchema("Invalid schema: its types are nested too deep to be compared; flatten them") from None
    return walk.found


class _Misreadings:
    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._branches = ReadingBranches(steps)
        self.found: list[AvroDifference] = []
        self._seen: set[tuple[int, int]] = set()

    def visit(self, place: TypePair) -> None:
        """Compare a pair of nodes, and those below it."""
        reader, writer = place.reader, place.writer
        if (id(reader), id(writer)) in self._seen:
            return
        self._seen.add((id(reader), id(writer)))
        self._steps.spend()
        match reader, writer:
            case (_, Union()):
                for index, branch in enumerate(writer.branches):
                    self.visit(TypePair(place, str(index), reader, branch, index))
            case (Union(), _):
                chosen = self._branches.that_reads(reader, writer)
                if chosen is not None:
                    self.visit(TypePair(place, "", chosen, writer))
            case (Record(), Record()):
                self._fields(reader, writer, place)
            case (Array(), Array()):
                self.visit(TypePair(place, "items", reader.items, writer.items, "items"))
            case (Map(), Map()):
                self.visit(TypePair(place, "values", reader.values, writer.values, "values"))
            case _:
                self.found += scalar_misreadings(place, self._steps)

    def _fields(self, reader: Record, writer: Record, place: TypePair) -> None:
        writer_fields = {field.name: field for field in writer.fields}
        for index, field in enumerate(reader.fields):
            match = match_field(field, writer_fields)
            if match is not None:
                self.visit(TypePair(place, index, field.type, match.type, match.name, field, match))
            elif (unusable := unusable_default(field, place)) is not None:
                self.found.append(unusable)


def scalar_misreadings(place: TypePair, steps: Steps) -> Iterator[AvroDifference]:
    """Yield the misreadings of two types without parts, which the checker accepts."""
    reader, writer = place.reader, place.writer
    if reader.kind is Kind.STRING and writer.kind is Kind.BYTES:
        yield AvroDifference(rules.BYTES_AS_STRING, {}, "bytes as string", place)
    if is_rounded(reader, writer):
        kinds = {"reader": Described(reader), "writer": Described(writer)}
        yield AvroDifference(rules.INTEGER_AS_FLOAT, kinds, "{writer} as {reader}", place)
    was, now = logical_type_of(writer), logical_type_of(reader)
    if was is None or now is None or not have_other_logical_types(reader, writer) or walk(reader, writer, steps):
        return
    facts = {"reader": describe_logical(now), "writer": describe_logical(was)}
    if was.name != now.name:
        rule, attribute = rules.LOGICAL_TYPE_CHANGED, "logicalType"
    else:
        rule, attribute = rules.DECIMAL_CHANGED, "scale" if was.scale != now.scale else "precision"
    yield AvroDifference(rule, facts, "{writer} as {reader}", place, attribute)


def unusable_default(field: Field, place: TypePair) -> AvroDifference | None:
    """Return the misreading of a reader's field that the writer does not have, if its default cannot be used."""
    if not field.has_default or is_usable_default(field.type, field.default):
        return None
    facts = {"field": field.name, "default": show(field.default), "type": Described(field.type)}
    return AvroDifference(rules.UNUSABLE_DEFAULT, facts, "{field}", place, field=field)


class ReadingBranches:
    """The branches of unions that read types of a writer. Each pair is compared once. Raises ``OutOfSteps``."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._reading = Reading(steps)
        self._is_read: dict[tuple[int, int], bool] = {}

    def that_reads(self, reader: Union, writer: AvroType) -> AvroType | None:
        """Return the branch that reads ``writer``: one of its own kind before one to which it is promoted."""
        self._steps.spend(len(reader.branches))
        readable = [branch for branch in reader.branches if may_read(branch, writer) and self._reads(branch, writer)]
        same = [branch for branch in readable if branch.kind is writer.kind]
        alike = [branch for branch in same if branch.logical_type == writer.logical_type]
        return next(iter(alike or same or readable), None)

    def _reads(self, branch: AvroType, writer: AvroType) -> bool:
        pair = (id(branch), id(writer))
        if pair not in self._is_read:
            is_read = self._reading.verdict(branch, writer)
            self._is_read[pair] = not walk(branch, writer, self._steps) if is_read is None else is_read
        return self._is_read[pair]
