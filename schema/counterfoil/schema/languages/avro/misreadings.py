"""Records as a reader gets them, compared with the written ones: values with another meaning, their witnesses."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from counterfoil.schema.compatibility.rules import Sentence
from counterfoil.schema.languages.avro import decoder
from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.compare.differences import describe, match_field
from counterfoil.schema.languages.avro.compare.meaning import (
    have_other_logical_types,
    is_rounded,
    logical_type_of,
    meaning_of,
)
from counterfoil.schema.languages.avro.decoder import branch_name, spell_writer
from counterfoil.schema.languages.avro.misfits import ReadingBranches
from counterfoil.schema.languages.avro.sample_values import (
    DataBuilder,
    NoDatum,
    SampleValues,
    plain_json,
    step_in_words,
    words_to,
)
from counterfoil.schema.languages.avro.types import AvroArray, AvroFixed, AvroKind, AvroMap, AvroRecord, AvroUnion
from counterfoil.schema.witness import NoWitness, Witness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.compatibility.policies import Steps
    from counterfoil.schema.languages.avro.compare.places import AvroDifference
    from counterfoil.schema.languages.avro.schema import AvroSchema
    from counterfoil.schema.languages.avro.types import AvroField, AvroType


# The comparison of a record as a reader gets it with what was written: the first value with another meaning.
#
# The written record and the record that the decoder resolved are walked together, along both schemas. Values with a
# logical type in both schemas are compared by their meaning, an integer that is read as a float by its value. A value
# with a logical type on one side only counts as the same. Fields that the reader does not have, its defaults for fields
# that were not written, and its enum default for an unknown symbol are not compared: the reader's schema requests
# these.

_Pair: TypeAlias = "tuple[AvroType, AvroType]"
_Key: TypeAlias = tuple[int, int]


_STEPS_A_PAIR: Final = 15
_WITH_PARTS: Final = (AvroUnion, AvroRecord, AvroArray, AvroMap)


class _Part(NamedTuple):
    """A pair of types, a value as it was written and as it was read, and the path to it."""

    reader: AvroType
    writer: AvroType
    wrote: Any
    got: Any
    way: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AvroMisreading:
    """A value that is read as another: ``way`` is the path to it, and ``text`` is like ``12.34 is read as 0.1234``.

    ``sentence`` is both: ``field fare: 12.34 is read as 0.1234``.
    """

    way: tuple[str, ...]
    text: str

    @property
    def sentence(self) -> Sentence:
        """The path and the text together."""
        return Sentence.of("{way}: {text}" if self.way else "{text}", {"way": self.way, "text": self.text})


class RecordComparison:
    """The comparison of records of one writer with the results of one reader.

    Types that are equal on both sides are read correctly, so that only pairs of types that lead to a difference are
    walked for each record.
    """

    def __init__(self, reader: AvroType, writer: AvroType, steps: Steps) -> None:
        self._steps = steps
        self._root = (reader, writer)
        self._branch_by_pair: dict[_Key, AvroType | None] = {}
        self._records_by_union: dict[int, dict[frozenset[str], AvroRecord]] = {}
        self._branches = ReadingBranches(steps)
        self._telling = self._find_telling()

    def misreadings(self, wrote: Any, got: Any) -> Iterator[AvroMisreading]:
        """Yield each value of ``wrote`` (in the encoder's form) that ``got`` (in the decoder's form) has otherwise."""
        return self._misreadings(_Part(*self._root, wrote, got, ()))

    def _misreadings(self, part: _Part) -> Iterator[AvroMisreading]:
        if (id(part.reader), id(part.writer)) not in self._telling:
            return
        if not isinstance(part.reader, _WITH_PARTS) and not isinstance(part.writer, _WITH_PARTS):
            text = _misread_text(part.reader, part.writer, part.wrote, part.got)
            if text:
                yield AvroMisreading(part.way, text)
        for inner in self._parts(part):
            yield from self._misreadings(inner)

    def _parts(self, part: _Part) -> list[_Part]:
        """Return the parts of a value with the decoder's results for them."""
        reader, writer, wrote, got, way = part
        match reader, writer:
            case (_, AvroUnion()):
                branch = next(each for each in writer.branches if branch_name(each) == wrote[0])
                inner = (*way, f"branch {describe(branch)}") if len(writer.branches) > 1 else way
                return [_Part(reader, branch, wrote[1], got, inner)]
            case (AvroUnion(), _):
                return [_Part(chosen, writer, wrote, got, way) for chosen in self._read_with(reader, writer, got)]
            case (AvroRecord(), AvroRecord()):
                return [
                    _Part(mine.type, theirs.type, wrote[theirs.name], got[mine.name], (*way, f"field {theirs.name}"))
                    for mine, theirs in _fields(reader, writer)
                ]
            case (AvroArray(), AvroArray()):
                items = zip(wrote, got, strict=True)
                return [_Part(reader.items, writer.items, one, other, (*way, "item")) for one, other in items]
            case (AvroMap(), AvroMap()):
                inner = (*way, "map value")
                return [_Part(reader.values, writer.values, one, got[key], inner) for key, one in wrote.items()]
        return []

    def _read_with(self, reader: AvroUnion, writer: AvroType, got: Any) -> list[AvroType]:
        """Return the branch with which ``got`` was read, in a list; empty if unknown.

        Of several records fastavro takes one by rules of its own; the fields of the result show which.
        """
        chosen = self._branch(reader, writer)
        if not isinstance(chosen, AvroRecord):
            return [] if chosen is None else [chosen]
        if _field_names(chosen) == got.keys():
            return [chosen]
        alike = self._record_by_names(reader).get(frozenset(got))
        return [] if alike is None else [alike]

    def _record_by_names(self, union: AvroUnion) -> Mapping[frozenset[str], AvroRecord]:
        """Return the first record of a union for each set of names of fields."""
        found = self._records_by_union.get(id(union))
        if found is None:
            found = self._records_by_union[id(union)] = {}
            for record in union.branches:
                if isinstance(record, AvroRecord):
                    self._steps.spend(len(record.fields))
                    found.setdefault(_field_names(record), record)
        return found

    def _branch(self, reader: AvroUnion, writer: AvroType) -> AvroType | None:
        key = (id(reader), id(writer))
        if key not in self._branch_by_pair:
            self._branch_by_pair[key] = self._branches.that_reads(reader, writer)
        return self._branch_by_pair[key]

    def _find_telling(self) -> set[_Key]:
        """Return the pairs of types below which a value may be misread. Raises ``OutOfSteps``."""
        around: dict[_Key, list[_Key]] = {}
        telling: list[_Key] = []
        waiting = [self._root]
        met = {_key(self._root)}
        while waiting:
            pair = waiting.pop()
            if have_other_logical_types(*pair) or is_rounded(*pair):
                telling.append(_key(pair))
            insides = self._inside(*pair)
            self._steps.spend(_STEPS_A_PAIR + len(insides))
            for inner in insides:
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
            case (_, AvroUnion()):
                return [(reader, branch) for branch in writer.branches]
            case (AvroUnion(), _):
                return [(branch, writer) for branch in self._entered(reader, writer)]
            case (AvroRecord(), AvroRecord()):
                return [(mine.type, theirs.type) for mine, theirs in _fields(reader, writer)]
            case (AvroArray(), AvroArray()):
                return [(reader.items, writer.items)]
            case (AvroMap(), AvroMap()):
                return [(reader.values, writer.values)]
        return []

    def _entered(self, reader: AvroUnion, writer: AvroType) -> list[AvroType]:
        """Return the branches of ``reader`` with which :meth:`_read_with` may say that a value was read."""
        chosen = self._branch(reader, writer)
        if not isinstance(chosen, AvroRecord):
            return [] if chosen is None else [chosen]
        names = _field_names(chosen)
        return [chosen, *(record for other, record in self._record_by_names(reader).items() if other != names)]


def _key(pair: _Pair) -> _Key:
    return id(pair[0]), id(pair[1])


def _fields(reader: AvroRecord, writer: AvroRecord) -> list[tuple[AvroField, AvroField]]:
    """Return the fields that are read, each with the matching field of the writer."""
    writer_fields = {field.name: field for field in writer.fields}
    pairs = [(field, match) for field in reader.fields if (match := match_field(field, writer_fields)) is not None]
    times_taken = Counter(theirs.name for _, theirs in pairs)
    # fastavro fills only one of several fields that match the same field of the writer
    return [(mine, theirs) for mine, theirs in pairs if times_taken[theirs.name] == 1]


def _field_names(record: AvroRecord) -> frozenset[str]:
    return frozenset(field.name for field in record.fields)


def _misread_text(reader: AvroType, writer: AvroType, wrote: Any, got: Any) -> str:
    """Return the description of a misreading of a value without parts; empty if the meanings are equal."""
    was, now = logical_type_of(writer), logical_type_of(reader)
    if was is not None and now is not None:
        theirs, mine = meaning_of(was, wrote), meaning_of(now, got)
        return "" if theirs == mine else f"{theirs.text} is read as {mine.text}"
    read = _as_single(got) if reader.kind is AvroKind.FLOAT else got
    return "" if wrote == read else f"{wrote} is read as {read}"


def _as_single(value: float) -> float:
    """Return a number rounded to a float of 32 bits; fastavro keeps a promoted one in 64 bits."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


# Witnesses for values that are read without an error, but wrongly: the findings that only the policy SOUND has.
#
# fastavro writes a value and reads it with the reader's schema; its meanings by the logical types of both sides are
# compared by the functions above.

MISREADINGS: Final = frozenset(
    rule.id
    for rule in (
        rules.BYTES_AS_STRING,
        rules.LOGICAL_TYPE_CHANGED,
        rules.DECIMAL_CHANGED,
        rules.INTEGER_AS_FLOAT,
        rules.UNUSABLE_DEFAULT,
    )
)

_NO_UTF8: Final = b"\xff"
_MOST_TRIED: Final = 12


def search_for_misreading(writer: AvroSchema, found: AvroDifference, steps: Steps) -> Witness | NoWitness:
    """Return a datum of ``writer`` that a reader misreads as in ``found``, or why none was found."""
    tried = 0
    for value in _values(found):
        tried += 1
        try:
            datum = DataBuilder().reaching(found.place, value)
            body = decoder.write(datum, spell_writer(writer.root))
            said = _misread(found, value, steps)
        except (NoDatum, decoder.DecoderRefuses) as refused:
            return NoWitness(tried, str(refused))
        if said is not None:
            return Witness(
                datum_json=plain_json(datum),
                body=body,
                stop=step_in_words(found) if found.kind is rules.BYTES_AS_STRING else _stop(found, said),
                confirmed_by=f"{decoder.decoder_name()}: {said}",
            )
    return NoWitness(tried, "decoders fill in whatever a default holds" if not tried else "both read them alike")


def _stop(found: AvroDifference, said: str) -> Sentence:
    way = words_to(found.place.from_root())
    return Sentence.of("{way}: {said}" if way else "{said}", {"way": way, "said": said})


def _values(found: AvroDifference) -> Iterator[Any]:
    """Yield values at the place of the finding that may show it, the most revealing first."""
    if found.kind is rules.BYTES_AS_STRING:
        yield _NO_UTF8
    elif found.kind is not rules.UNUSABLE_DEFAULT:
        samples = SampleValues()
        yield from (samples.next_of(found.place.writer) for _ in range(_MOST_TRIED))


def _misread(found: AvroDifference, value: Any, steps: Steps) -> str | None:
    """Return the description of the reader's misreading of ``value``; None if it is read correctly."""
    reader, writer = found.place.reader, found.place.writer
    body = decoder.write(value, _bare(writer))
    if found.kind is rules.BYTES_AS_STRING:
        return decoder.failure_to_decode(body, "string")
    got, failure = decoder.resolve(body, _bare(writer), _bare(reader))
    if failure is not None:
        return failure
    return next((one.text for one in RecordComparison(reader, writer, steps).misreadings(value, got)), None)


def _bare(node: AvroType) -> dict[str, Any]:
    named = {"name": "_.value", "size": node.size} if isinstance(node, AvroFixed) else {}
    return {"type": node.kind.value, **named}
