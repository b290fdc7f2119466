"""What a reader misses of what a writer writes, found by decoding records of the writer.

The rules are those of the documents: a reader must get the value that was written, or the same one in a wider type.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from strategies.fleets.languages import LANGUAGES
from strategies.fleets.samples import samples
from strategies.fleets.shapes import LOGICAL, Path, Shape, apart, at, field_at, leaves, only, printed
from strategies.fleets.ways import (
    NOWHERE,
    aliased,
    gone_way,
    kind_of,
    named_as,
    number_way,
    numbers,
    renamed_way,
    stop_of,
    type_way,
    unnumbered_way,
    values_at,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strategies.fleets.story import FieldRead

Key = tuple[Path, str]
"""A place, and in which way what is written there cannot be read."""


@dataclass(slots=True)
class Misses:
    """What a reader misses, each with an example: what is certain, and what documents do not decide."""

    certain: dict[Key, str] = field(default_factory=dict)
    doubtful: dict[Key, str] = field(default_factory=dict)

    def add(self, key: Key, example: str, *, is_certain: bool = True) -> None:
        """Add a miss; the first example stays, and certainty wins."""
        if is_certain:
            self.certain.setdefault(key, example)
            self.doubtful.pop(key, None)
        elif key not in self.certain:
            self.doubtful.setdefault(key, example)

    def merge(self, other: Misses, prefix: Path = ()) -> None:
        """Add what another reading misses."""
        for found, is_certain in ((other.certain, True), (other.doubtful, False)):
            for (place, way), example in found.items():
                self.add(((*prefix, *place), way), example, is_certain=is_certain)

    @property
    def all(self) -> dict[Key, str]:
        """Everything that is or may be missed."""
        return {**self.doubtful, **self.certain}


@dataclass(frozen=True, slots=True)
class Reading:
    """How records of one schema are read: with ``reader``, None where nothing is known of it."""

    language: str
    reader: Shape | None
    reads: tuple[FieldRead, ...] | None
    is_declared: bool
    on_unknown_enum: str = ""

    @property
    def handled(self) -> str:
        """What it does with unknown values of enums; a schema of JSON that it declares refuses them in any case."""
        is_refusing = self.is_declared and self.language == "JSON" and self.on_unknown_enum != "fail"
        return "" if is_refusing else self.on_unknown_enum


@lru_cache(50_000)
def misses_of(reading: Reading, writer: Shape) -> Misses:
    """Return what a reader misses of records of ``writer``."""
    found = Misses()
    reader, writer = None if reading.reader is None else apart(reading.reader), apart(writer)
    reading = replace(reading, reader=reader)
    written = writer
    if reading.language == "AVRO" and reader is not None:
        writer = aliased(writer, reader)
    inside = named_as(writer, reader) if reading.language == "PROTOBUF" and reader is not None else writer
    for each in reading.reads or ():
        is_known = reader is not None and at(reader, each.path) is not None
        # a schema that a reader is only assumed to have, and that has no such field, does not rename fields either
        named = writer if reading.is_declared or is_known else written
        _add_read(found, reading, named, inside, each)
    if reader is None:
        if reading.reads is None:
            found.add(((), f"unknown:{hash(writer)}"), "nothing is known of the reader", is_certain=False)
        return found
    if reading.reads is None:
        for leaf in leaves(reader):
            found.merge(_misses_at(reading.language, inside, reader, leaf, reading.handled))
    elif reading.is_declared:
        _add_rest(found, reading, inside, reader)
    return found


def _add_read(found: Misses, reading: Reading, writer: Shape, inside: Shape, read: FieldRead) -> None:
    """Add what is missed of one read; ``inside`` is the writer as a reader of all that is there calls its fields."""
    path, reader = read.path, reading.reader
    there = at(writer, path)
    if there is None:
        way = unnumbered_way(writer, reader, path) if reading.language == "PROTOBUF" and reader is not None else ""
        found.add((path, way or gone_way(writer, path)), f"{printed(path)} is not in the schema of the writer")
        return
    known = None if reader is None else at(reader, path)
    if reader is None or known is None:
        is_other = reader is not None and not gone_way(reader, path).endswith(":nothing")
        way = f"{'other' if is_other else 'unknown'}:{hash(only(writer, path))}"
        found.add((path, way), "nothing is known of the reader", is_certain=False)
    else:
        for leaf in leaves(known):
            place = (*path, *leaf)
            found.merge(_misses_at(reading.language, inside, reader, place, reading.handled))
    if read.is_required:
        _add_required(found, reading.language, writer, path)


def _add_required(found: Misses, language: str, writer: Shape, path: Path) -> None:
    for written, data in _records(language, writer):
        for value in values_at(written, path):
            if value is None or value is NOWHERE:
                way = f"required, {_no_value(value)}"
                found.add((path, way), f"{printed(path)} is not there in {_shown(written, data)}")


def _add_rest(found: Misses, reading: Reading, writer: Shape, reader: Shape) -> None:
    """Add what a declared schema cannot decode beside the reads: with it the whole record is lost."""
    read = [each.path for each in reading.reads or ()]
    for leaf in leaves(reader):
        if any(leaf[: len(path)] == path for path in read):
            continue
        if _raises(reading.language, writer, reader, leaf):
            found.merge(_misses_at(reading.language, writer, reader, leaf, reading.handled, only_errors=True))


@lru_cache(50_000)
def _records(language: str, writer: Shape) -> tuple[tuple[Any, bytes], ...]:
    """Return records of a writer as its own schema reads them, with their bytes."""
    by = LANGUAGES[language]
    data = [by.written(writer, each) for each in samples(writer)]
    return tuple((by.read(each, writer, writer), each) for each in data)


@lru_cache(50_000)
def _read_at(language: str, writer: Shape, reader: Shape, place: Path) -> tuple[Any, ...]:
    """Return what a reader of one place gets of each record, or the error that its library raises."""
    by, projected = LANGUAGES[language], only(reader, place)
    found: list[Any] = []
    for _, data in _records(language, writer):
        try:
            found.append(by.read(data, writer, projected))
        except Exception as error:  # noqa: BLE001 - each library has its own
            found.append(error)
    return tuple(found)


def _raises(language: str, writer: Shape, reader: Shape | None, place: Path) -> bool:
    reads = () if reader is None else _read_at(language, writer, reader, place)
    return any(isinstance(each, Exception) and not _is_defect(each) for each in reads)


def _is_defect(read: Any) -> bool:
    """Return whether fastavro fails by itself: it takes a reference to a named type in a union for no type at all."""
    return isinstance(read, TypeError) and "unhashable type" in str(read)


@lru_cache(50_000)
def _misses_at(
    language: str, writer: Shape, reader: Shape, place: Path, on_unknown: str, *, only_errors: bool = False
) -> Misses:
    """Return what a reader misses at a plain value of its schema, or only by which values its library raises."""
    found = Misses()
    there, known = at(writer, place), at(reader, place)
    if there is None or known is None:
        for way in _gone_ways(language, writer, reader, place):  # a default is a value that a reader must expect
            found.add((place, way), f"{printed(place)} is not in the schema of the writer")
        if not found.certain:
            _add_unread(found, language, writer, reader, place)
        return found
    case = _Case(language, writer, reader, place, on_unknown)
    records = [
        _Compared(*each)
        for each in zip(_records(language, writer), _read_at(language, writer, reader, place), strict=True)
        if not _is_defect(each[1])
    ]
    records = [each for each in records if each.has_failed or not only_errors]
    several = [each for each in records if len(each.walked(place)) > 1]
    for each in records:
        if each not in several:
            _compare(found, case, each)
    for each in several if not found.all else ():
        _compare(found, case, each)
    if only_errors:
        return found
    _add_meanings(found, writer, reader, place)
    if language == "PROTOBUF":
        if not found.all and numbers(writer, place) != numbers(reader, place):
            way = number_way(writer, reader, place)
            found.add((place, way), "no record shows the other number", is_certain=False)
        _add_oneofs(found, writer, reader, place)
    return found


def _add_oneofs(found: Misses, writer: Shape, reader: Shape, place: Path) -> None:
    """Add that a oneof on the way has other fields: what is set at once, or which field is set, no record may show.

    Of several fields of a oneof the last one in the bytes counts, and no document says in which order they are written.
    """
    for length in range(len(place)):
        there, known = at(writer, place[:length]), at(reader, place[:length])
        field = field_at(reader, place[: length + 1])
        if there is None or known is None or field is None:
            continue
        sides = [{each.number: each.oneof for each in side.fields if each.oneof} for side in (there, known)]
        same = next((each for each in there.fields if each.number == field.number), None)
        if sides[0] != sides[1] and (field.oneof or (same is not None and same.oneof)):
            way = f"oneof:{'.'.join(map(str, sorted(sides[0])))}"
            found.add((place, way), f"{printed(place[: length + 1])} is in another oneof", is_certain=False)


def _add_unread(found: Misses, language: str, writer: Shape, reader: Shape, place: Path) -> None:
    """Add what may be missed at a place that only one of two schemas has, and of which no record is refused."""
    if language == "PROTOBUF":
        _add_other_kind(found, writer, reader, place)
        _add_oneofs(found, writer, reader, place)
    elif language == "JSON":  # an open object may have a property that its schema does not name
        found.add((place, gone_way(writer, place)), "the writer may write anything there", is_certain=False)


def _gone_ways(language: str, writer: Shape, reader: Shape, place: Path) -> Iterator[str]:
    """Yield in which ways records that a library refuses are without a place which their schema does not have.

    Of something else that stands on the way, the schema says whether it may be null or left out.
    """
    reads = _read_at(language, writer, reader, place)
    renamed = renamed_way(writer, reader, place) if language == "AVRO" else ""
    for (written, _), read in zip(_records(language, writer), reads, strict=True):
        if isinstance(read, Exception) and not _is_defect(read):
            stop = stop_of(written, place)
            is_there = at(writer, stop) is not None
            values = list(values_at(written, stop, whole=True)) if is_there else []
            is_absent = bool(values) and all(each is None or each is NOWHERE for each in values)
            yield renamed or (f"{_no_value(values[0])}@{printed(stop)}" if is_absent else gone_way(writer, place))


def _no_value(value: Any) -> str:
    return "null" if value is None else "absent"


def _add_other_kind(found: Misses, writer: Shape, reader: Shape, place: Path) -> None:
    """Add that a field of Protobuf on the way to a place has another number, or is of another kind of type."""
    length = max(each for each in range(len(place)) if at(writer, place[:each]) is not None)
    around = place[:length]
    if around and numbers(writer, around) != numbers(reader, around):
        found.add((place, number_way(writer, reader, around)), "the number is another one", is_certain=False)
        return
    there, known = at(writer, around), at(reader, around)
    if not around or there is None or known is None or (there.kind == known.kind and there.kind == "record"):
        return
    for (written, data), read in zip(
        _records("PROTOBUF", writer), _read_at("PROTOBUF", writer, reader, place), strict=True
    ):
        for value, one in zip(values_at(written, around), values_at(read, around), strict=False):
            if value and not one:
                found.add((place, gone_way(writer, place)), f"{_shown(written, data)} is read as {one!r}")
    found.add((place, gone_way(writer, place)), f"{printed(around)} is another kind of type", is_certain=False)


@dataclass(frozen=True, slots=True)
class _Case:
    language: str
    writer: Shape
    reader: Shape
    place: Path
    on_unknown: str


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """A record as it was written, with its bytes, and as it was read: an error where it could not be."""

    written: tuple[Any, bytes]
    read: Any

    @property
    def has_failed(self) -> bool:
        return isinstance(self.read, Exception)

    def walked(self, place: Path) -> list[Any]:
        return list(values_at(self.written[0], place, whole=True))

    def got(self, place: Path) -> list[Any]:
        return [] if self.has_failed else list(values_at(self.read, place, whole=True))

    def shown(self, value: Any) -> str:
        return _shown(*self.written) + (f": {self.read}" if self.has_failed else f" is read as {value!r}")


def _compare(found: Misses, case: _Case, record: _Compared) -> None:
    """Compare the values at a place of a record that was written with those of the one that was read."""
    place, there, known = case.place, at(case.writer, case.place), at(case.reader, case.place)
    assert there is not None
    assert known is not None
    walked, got = record.walked(place), record.got(place)
    if not record.has_failed and len(got) != len(walked):
        is_moved = case.language == "PROTOBUF" and numbers(case.writer, place) != numbers(case.reader, place)
        moved, other = number_way(case.writer, case.reader, place), type_way(case.writer, place, case.language)
        found.add((place, moved if is_moved else other), record.shown(record.read))
        return
    for index, value in enumerate(walked or [NOWHERE]):
        one = got[index] if got else NOWHERE
        outcome = _judged(case, there, known, value, one, has_raised=record.has_failed)
        if outcome is not None:
            way = _way_of(case, there, known, record.written[0], value)
            found.add((place, way), record.shown(one), is_certain=outcome)


def _judged(case: _Case, there: Shape, known: Shape, value: Any, one: Any, *, has_raised: bool) -> bool | None:
    """Return None for a value that was read as it must be, else whether it is certain that it was not."""
    is_enum = bool(there.symbols and known.symbols) and isinstance(value, str)
    if is_enum and value not in dict(known.symbols):
        return _judged_unknown(case, one, has_raised=has_raised)
    if has_raised:
        return True
    if is_enum and isinstance(one, int):  # the reader has the name under another number
        return case.on_unknown == "fail"
    return _judged_value(case, there, known, value, one)


def _judged_unknown(case: _Case, one: Any, *, has_raised: bool) -> bool | None:
    """Judge a value of an enum that the reader does not name."""
    if case.on_unknown == "fail":
        return True
    if case.language == "PROTOBUF":
        return None if isinstance(one, int) else True  # a number keeps, another name is another value
    if has_raised:
        return case.language == "AVRO" or not case.on_unknown
    return None


def _judged_value(case: _Case, there: Shape, known: Shape, value: Any, one: Any) -> bool | None:
    if value is NOWHERE or one is NOWHERE:
        return None if value is one else True
    if value is None or one is None:
        if value is one:
            return None
        if case.language == "PROTOBUF":
            default = one if value is None else value
            shape = known if value is None else there
            is_default = not default or (shape.symbols and default == shape.symbols[0][0])
            return None if is_default else True
        return True
    if isinstance(value, dict | list) or isinstance(one, dict | list):
        return True if type(value) is not type(one) else None
    if isinstance(value, bytes) != isinstance(one, bytes):
        as_bytes = [each.encode() if isinstance(each, str) else each for each in (value, one)]
        return as_bytes[0] != as_bytes[1]
    if isinstance(value, bool) != isinstance(one, bool) or bool(there.symbols) != bool(known.symbols):
        is_number = isinstance(value, int) and isinstance(one, int)
        is_text = isinstance(value, str) and isinstance(one, str)
        if (is_number or is_text) and value != one:
            return True
        return None if is_text else False
    return None if value == (_as_float(one) if known.kind == "float" else one) else True


def _as_float(value: Any) -> Any:
    """Return a number in the 32 bits of a float, to which Python's libraries do not round."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except (OverflowError, struct.error):
        return None


def _add_meanings(found: Misses, writer: Shape, reader: Shape, place: Path) -> None:
    """Add that both sides say what a value is, and say other things: logical types, and units of contracts."""
    there, known = at(writer, place), at(reader, place)
    if (
        there is not None
        and known is not None
        and there.kind != known.kind
        and {there.kind, known.kind} <= set(LOGICAL)
    ):
        found.add((place, f"type:{there.kind}"), f"{printed(place)} is {there.kind}, and is read as {known.kind}")
    written, read = field_at(writer, place), field_at(reader, place)
    if written is not None and read is not None and read.unit and written.unit != read.unit:
        text = f"{printed(place)} is in {written.unit or 'no unit'}, and is read as {read.unit}"
        found.add((place, f"unit:{written.unit}"), text, is_certain=bool(written.unit))


def _way_of(case: _Case, there: Shape, known: Shape, written: Any, value: Any) -> str:
    if case.language == "AVRO" and (renamed := renamed_way(case.writer, case.reader, case.place)):
        return renamed
    if case.language == "AVRO" and there.symbols and known.symbols and there.name != known.name:
        return type_way(case.writer, case.place, case.language)
    if case.language == "PROTOBUF" and numbers(case.writer, case.place) != numbers(case.reader, case.place):
        return number_way(case.writer, case.reader, case.place)
    if value is None or value is NOWHERE:
        return f"{_no_value(value)}@{printed(stop_of(written, case.place))}"
    if there.kinds and not isinstance(value, dict | list):
        return f"type:{kind_of(value, there.kinds)}"
    if there.symbols and known.symbols and isinstance(value, str):
        number = f"={dict(there.symbols)[value]}" if case.language == "PROTOBUF" else ""
        return f"symbol:{value}{number}"
    return type_way(case.writer, case.place, case.language)


def _shown(written: Any, data: bytes) -> str:
    return f"{written!r} ({data.hex() if len(data) <= 40 else f'{len(data)} bytes'})"
