"""The comparison of a record as a reader gets it with what was written: the first value with another meaning.

The written record and the record that the decoder resolved are walked together, along both schemas. Values with a
logical type in both schemas are compared by their meaning, an integer that is read as a float by its value. A value
with a logical type on one side only counts as the same. Fields that the reader does not have, its defaults for fields
that were not written, and its enum default for an unknown symbol are not compared: the reader's schema requests these.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.formats.avro.compare.differences import describe, match_field
from counterfoil.schema.formats.avro.compare.meaning import (
    have_other_logical_types,
    is_rounded,
    logical_type_of,
    meaning_of,
)
from counterfoil.schema.formats.avro.compare.sound import ReadingBranches
from counterfoil.schema.formats.avro.types import Array, Kind, Map, Record, Union
from counterfoil.schema.formats.avro.witness.spelling import branch_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.types import AvroType, Field
    from counterfoil.schema.steps import Steps

_Pair: TypeAlias = "tuple[AvroType, AvroType]"
_Key: TypeAlias = tuple[int, int]


_WITH_PARTS: Final = (Union, Record, Array, Map)


class _Part(NamedTuple):
    """A pair of types, a value as it was written and as it was read, and the path to it."""

    reader: AvroType
    writer: AvroType
    wrote: Any
    got: Any
    way: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Misreading:
    """A value that is read as another: ``way`` is the path to it, and ``text`` is like ``12.34 is read as 0.1234``.

    ``sentence`` is both: ``field fare: 12.34 is read as 0.1234``.
    """

    way: tuple[str, ...]
    text: str

    @property
    def sentence(self) -> Sentence:
        """The path and the text together."""
        return Sentence.of("{way}: {text}" if self.way else "{text}", {"way": self.way, "text": self.text})


class Comparison:
    """The comparison of records of one writer with the results of one reader.

    Types that are equal on both sides are read correctly, so that only pairs of types that lead to a difference are
    walked for each record.
    """

    def __init__(self, reader: AvroType, writer: AvroType, steps: Steps) -> None:
        self._steps = steps
        self._root = (reader, writer)
        self._branch_by_pair: dict[_Key, AvroType | None] = {}
        self._branches = ReadingBranches(steps)
        self._telling = self._find_telling()

    def misreadings(self, wrote: Any, got: Any) -> Iterator[Misreading]:
        """Yield each value of ``wrote`` (in the encoder's form) that ``got`` (in the decoder's form) has otherwise."""
        return self._misreadings(_Part(*self._root, wrote, got, ()))

    def _misreadings(self, part: _Part) -> Iterator[Misreading]:
        if (id(part.reader), id(part.writer)) not in self._telling:
            return
        if not isinstance(part.reader, _WITH_PARTS) and not isinstance(part.writer, _WITH_PARTS):
            text = _misread(part.reader, part.writer, part.wrote, part.got)
            if text:
                yield Misreading(part.way, text)
        for inner in self._parts(part):
            yield from self._misreadings(inner)

    def _parts(self, part: _Part) -> list[_Part]:
        """Return the parts of a value with the decoder's results for them."""
        reader, writer, wrote, got, way = part
        match reader, writer:
            case (_, Union()):
                branch = next(each for each in writer.branches if branch_name(each) == wrote[0])
                inner = (*way, f"branch {describe(branch)}") if len(writer.branches) > 1 else way
                return [_Part(reader, branch, wrote[1], got, inner)]
            case (Union(), _):
                return [_Part(chosen, writer, wrote, got, way) for chosen in self._read_with(reader, writer, got)]
            case (Record(), Record()):
                return [
                    _Part(mine.type, theirs.type, wrote[theirs.name], got[mine.name], (*way, f"field {theirs.name}"))
                    for mine, theirs in _fields(reader, writer)
                ]
            case (Array(), Array()):
                items = zip(wrote, got, strict=True)
                return [_Part(reader.items, writer.items, one, other, (*way, "item")) for one, other in items]
            case (Map(), Map()):
                inner = (*way, "map value")
                return [_Part(reader.values, writer.values, one, got[key], inner) for key, one in wrote.items()]
        return []

    def _read_with(self, reader: Union, writer: AvroType, got: Any) -> list[AvroType]:
        """Return the branch with which ``got`` was read, in a list; empty if unknown.

        Of several records fastavro takes one by rules of its own; the fields of the result show which.
        """
        chosen = self._branch(reader, writer)
        if isinstance(chosen, Record):
            alike = [
                each for each in (chosen, *_records(reader)) if {field.name for field in each.fields} == got.keys()
            ]
            return [*alike[:1]]
        return [] if chosen is None else [chosen]

    def _branch(self, reader: Union, writer: AvroType) -> AvroType | None:
        key = (id(reader), id(writer))
        if key not in self._branch_by_pair:
            self._branch_by_pair[key] = self._branches.that_reads(reader, writer)
        return self._branch_by_pair[key]

    def _find_telling(self) -> set[_Key]:
        """Return the pairs of types below which a value may be misread."""
        around: dict[_Key, list[_Key]] = {}
        telling: list[_Key] = []
        waiting = [self._root]
        met = {_key(self._root)}
        while waiting:
            pair = waiting.pop()
            if have_other_logical_types(*pair) or is_rounded(*pair):
                telling.append(_key(pair))
            for inner in self._inside(*pair):
                around.setdefault(_key(inner), []).append(_key(pair))
                if _key(inner) not in met:
                    met.add(_key(inner))
                    waiting.append(inner)
        found = set(telling)
        while telling:
            outer = [key for key in around.get(telling.pop(), ()) if key not in found]
            found.update(outer)
            telling += outer
        return found

    def _inside(self, reader: AvroType, writer: AvroType) -> list[_Pair]:
        """Return the pairs that a decoder may enter from a pair."""
        match reader, writer:
            case (_, Union()):
                return [(reader, branch) for branch in writer.branches]
            case (Union(), _):
                chosen = self._branch(reader, writer)
                branches = _records(reader) if isinstance(chosen, Record) else [chosen] if chosen is not None else []
                return [(branch, writer) for branch in branches]
            case (Record(), Record()):
                return [(mine.type, theirs.type) for mine, theirs in _fields(reader, writer)]
            case (Array(), Array()):
                return [(reader.items, writer.items)]
            case (Map(), Map()):
                return [(reader.values, writer.values)]
        return []


def _key(pair: _Pair) -> _Key:
    return id(pair[0]), id(pair[1])


def _fields(reader: Record, writer: Record) -> list[tuple[Field, Field]]:
    """Return the fields that are read, each with the matching field of the writer."""
    writer_fields = {field.name: field for field in writer.fields}
    pairs = [(field, match) for field in reader.fields if (match := match_field(field, writer_fields)) is not None]
    times_taken = Counter(theirs.name for _, theirs in pairs)
    # fastavro fills only one of several fields that match the same field of the writer
    return [(mine, theirs) for mine, theirs in pairs if times_taken[theirs.name] == 1]


def _records(union: Union) -> list[Record]:
    return [branch for branch in union.branches if isinstance(branch, Record)]


def _misread(reader: AvroType, writer: AvroType, wrote: Any, got: Any) -> str:
    """Return the description of a misreading of a value without parts; empty if the meanings are equal."""
    was, now = logical_type_of(writer), logical_type_of(reader)
    if was is not None and now is not None:
        theirs, mine = meaning_of(was, wrote), meaning_of(now, got)
        return "" if theirs == mine else f"{theirs.text} is read as {mine.text}"
    read = _as_single(got) if reader.kind is Kind.FLOAT else got
    return "" if wrote == read else f"{wrote} is read as {read}"


def _as_single(value: float) -> float:
    """Return a number rounded to a float of 32 bits; fastavro keeps a promoted one in 64 bits."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])
