"""What a reader has of a record, against what was written: the first value that means something else.

The record as it was written and the record as the decoder resolved it are walked together, along both schemas. What
both schemas give a logical type is compared by what it means; everything else as it is. A value of which only one side
says what it means is the same value. Left to the reader are fields that it does not have, the default that it gives a
field which was not written, and the symbol that its enum gives an unknown one: these the reader asks for itself.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.formats.avro.differences import describe, match_field
from counterfoil.schema.formats.avro.meaning import logical_type_of, meaning_of
from counterfoil.schema.formats.avro.sound import branch_that_reads
from counterfoil.schema.formats.avro.types import Array, Enum, Kind, Map, Record, Union
from counterfoil.schema.witness.avro.spelling import branch_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.types import AvroType

_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Misreading:
    """A value that is read as another: the ``way`` to it, in words, and ``text``, such as ``12.34 is read as 0.1234``.

    ``sentence`` is both: ``field fare: 12.34 is read as 0.1234``.
    """

    way: tuple[str, ...]
    text: str

    @property
    def sentence(self) -> Sentence:
        """Way and text together."""
        return Sentence.of("{way}: {text}" if self.way else "{text}", {"way": self.way, "text": self.text})


class Comparison:
    """Compares records of one writer with what one reader has of them."""

    def __init__(self) -> None:
        self._branch_by_pair: dict[tuple[int, int], AvroType | None] = {}

    def misreadings(
        self, reader: AvroType, writer: AvroType, wrote: Any, got: Any, way: tuple[str, ...] = ()
    ) -> Iterator[Misreading]:
        """Each value of ``wrote``, in the form of the encoder, that ``got``, in that of the decoder, has otherwise."""
        match reader, writer:
            case (_, Union()):
                branch = next(each for each in writer.branches if branch_name(each) == wrote[0])
                inner = (*way, f"branch {describe(branch)}") if len(writer.branches) > 1 else way
                yield from self.misreadings(reader, branch, wrote[1], got, inner)
            case (Union(), _):
                chosen = self._branch(reader, writer, got)
                if chosen is not None:
                    yield from self.misreadings(chosen, writer, wrote, got, way)
            case (Record(), Record()):
                yield from self._fields(reader, writer, wrote, got, way)
            case (Array(), Array()):
                for one, other in zip(wrote, got, strict=True):
                    yield from self.misreadings(reader.items, writer.items, one, other, (*way, "item"))
            case (Map(), Map()):
                for key, one in wrote.items():
                    yield from self.misreadings(reader.values, writer.values, one, got[key], (*way, "map value"))
            case _:
                text = _misread(reader, writer, wrote, got)
                if text:
                    yield Misreading(way, text)

    def _fields(
        self, reader: Record, writer: Record, wrote: Any, got: Any, way: tuple[str, ...]
    ) -> Iterator[Misreading]:
        writer_fields = {field.name: field for field in writer.fields}
        pairs = [(field, match) for field in reader.fields if (match := match_field(field, writer_fields)) is not None]
        taken = [match.name for _, match in pairs]
        for field, match in pairs:
            if taken.count(match.name) > 1:
                continue  # fastavro fills one of the fields that take the same field of the writer
            inner = (*way, f"field {match.name}")
            yield from self.misreadings(field.type, match.type, wrote[match.name], got[field.name], inner)

    def _branch(self, reader: Union, writer: AvroType, got: Any) -> AvroType | None:
        """The branch that the decoder read a value with: of several records the one that has the fields of ``got``."""
        pair = (id(reader), id(writer))
        if pair not in self._branch_by_pair:
            self._branch_by_pair[pair] = branch_that_reads(reader, writer)
        chosen = self._branch_by_pair[pair]
        if isinstance(chosen, Record) and isinstance(got, dict) and not _has_fields(chosen, got):
            return next((each for each in reader.branches if isinstance(each, Record) and _has_fields(each, got)), None)
        return chosen


def _has_fields(record: Record, got: dict[str, Any]) -> bool:
    return {field.name for field in record.fields} == got.keys()


def _misread(reader: AvroType, writer: AvroType, wrote: Any, got: Any) -> str:
    """What is wrong between two values without parts, in words; empty where they mean the same."""
    was, now = logical_type_of(writer), logical_type_of(reader)
    if was is not None and now is not None and was != now:
        theirs, mine = meaning_of(was, wrote), meaning_of(now, got)
        return "" if theirs == mine else f"{theirs.text} is read as {mine.text}"
    if isinstance(reader, Enum) and wrote not in reader.symbols:
        return ""  # the reader's own default stands for it
    if isinstance(wrote, str | bytes) and isinstance(got, str | bytes):
        is_same = _raw(wrote) == _raw(got)
    else:
        got = _as_single(got) if reader.kind is Kind.FLOAT else got
        is_same = wrote == got
    return "" if is_same else f"{_shown(wrote)} is read as {_shown(got)}"


def _as_single(value: float) -> float:
    """A number as a float of 32 bits holds it; fastavro keeps one that it promotes in 64."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _raw(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _shown(value: Any) -> str:
    text = json.dumps(value.decode("latin-1") if isinstance(value, bytes) else value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
