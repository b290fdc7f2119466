"""The sketch of Protobuf data, counted at the numbers of fields, and the questions of Protobuf's rules to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from google.protobuf.unknown_fields import UnknownFieldSet

from counterfoil.schema.compatibility.findings import Difference
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.compare import confluent_rules as rules
from counterfoil.schema.languages.protobuf.compare import rules as sound_rules
from counterfoil.schema.languages.protobuf.compare.findings import ProtobufDifference, oneof_origins
from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, is_map
from counterfoil.schema.languages.protobuf.types import NumberedField, read_range
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.sketch.model import (
    Count,
    Place,
    PlaceCounts,
    PlaceSketch,
    SchemaSketch,
    SketchBuilder,
    Visit,
    visit_of_bytes,
    visit_of_items,
    visit_of_number,
    visit_of_text,
)
from counterfoil.schema.tags import Hidden

# The sketch of Protobuf data: each field that a message has set is counted at the field's number.

_BOOL: Final = 8
_STRING: Final = 9
_BYTES: Final = 12


class ProtobufSketcher:
    """Counts messages of Google's runtime.

    A field is counted if it was written: one without presence is not when it has its default. A record is uncertain if
    its bytes have unknown fields, or another length than the message would have: a field that was written although it
    has its default, or twice.
    """

    def __init__(self, builder: SketchBuilder, hidden: Hidden) -> None:
        self._builder = builder
        self._hidden = hidden
        self._hidden_types: set[str] | None = None
        self._visit_by_type: dict[str, Visit] = {}
        self._has_unknown = False

    def add(self, value: Datum, size: int) -> None:
        """Count a record; ``size`` is the length of its bytes."""
        self._builder.records += 1
        self._has_unknown = False
        if self._hidden_types is None:
            self._hidden_types = self._types_in_hidden(value.DESCRIPTOR.file.message_types_by_name.values())
        self._message(value.DESCRIPTOR)(value, self._builder.records)
        if self._has_unknown or size != value.ByteSize():
            self._builder.uncertain += 1

    def _types_in_hidden(self, roots: Datum) -> set[str]:
        """Return the messages and enums of which a value may be in a hidden field."""
        found: set[str] = set()
        seen: set[tuple[str, bool]] = set()
        waiting = [(each, False) for each in roots]
        while waiting:
            message, is_hidden = waiting.pop()
            is_hidden = is_hidden or message.full_name in self._hidden.paths
            if (message.full_name, is_hidden) in seen:
                continue
            seen.add((message.full_name, is_hidden))
            found.update([message.full_name] if is_hidden else [])
            waiting += [(each, False) for each in message.nested_types]
            for field in message.fields:
                is_inside = is_hidden or field.full_name in self._hidden.paths
                if field.message_type is not None:
                    waiting.append((field.message_type, is_inside))
                elif field.enum_type is not None and is_inside:
                    found.add(field.enum_type.full_name)
        return found

    def _at(self, place: Place, kind: str, *, is_hidden: bool = False) -> PlaceCounts:
        is_hidden = is_hidden or self._hidden.is_all or place[0] in (self._hidden_types or ())
        return self._builder.at(place, kind, is_hidden=is_hidden)

    def _message(self, descriptor: AnyDescriptor) -> Visit:
        known = self._visit_by_type.get(descriptor.full_name)
        if known is None:
            known = self._visit_by_type[descriptor.full_name] = self._compiled(descriptor)
        return known

    def _compiled(self, descriptor: AnyDescriptor) -> Visit:
        counts = self._at((descriptor.full_name,), "message")
        visit_by_number: dict[int, Visit] = {}
        for each in descriptor.fields:
            self._counts_of(each)

        def visit_message(message: Datum, record: int) -> None:
            counts.seen(record)
            for field, value in message.ListFields():
                visit = visit_by_number.get(field.number)
                if visit is None:
                    visit = visit_by_number[field.number] = self._field(field)
                visit(value, record)
            if len(UnknownFieldSet(message)):
                self._has_unknown = True

        return visit_message

    def _counts_of(self, field: AnyField, *inside: str) -> PlaceCounts:
        is_hidden = field.full_name in self._hidden.paths
        place = (field.containing_type.full_name, str(field.number), *inside)
        return self._at(place, "" if inside else field.name, is_hidden=is_hidden)

    def _field(self, field: AnyField) -> Visit:
        counts = self._counts_of(field)
        if is_map(field):
            key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
            return _map(
                counts,
                self._single(key, self._counts_of(field, "keys")),
                self._single(value, self._counts_of(field, "values")),
            )
        if field.is_repeated:
            return visit_of_items(counts, self._single(field, self._counts_of(field, "items")))
        return self._single(field, counts)

    def _single(self, field: AnyField, counts: PlaceCounts) -> Visit:
        if field.message_type is not None:
            return self._inner(field, counts)
        if field.enum_type is not None:
            return _enum(field, counts, self._at((field.enum_type.full_name,), "enum"))
        return _scalar(field.type, counts)

    def _inner(self, field: AnyField, counts: PlaceCounts) -> Visit:
        def visit_inner(value: object, record: int) -> None:
            counts.seen(record)
            self._message(field.message_type)(value, record)

        return visit_inner


def _enum(field: AnyField, counts: PlaceCounts, of_enum: PlaceCounts) -> Visit:
    names = {number: value.name for number, value in field.enum_type.values_by_number.items()}

    def visit_enum(value: Datum, record: int) -> None:
        word = names.get(value) or str(value)
        for each in (counts, of_enum):
            each.seen(record)
            each.word(word)
            each.number(value)

    return visit_enum


def _map(counts: PlaceCounts, key: Visit, value: Visit) -> Visit:
    def visit_map(entries: Datum, record: int) -> None:
        counts.seen(record)
        counts.size(len(entries))
        for name in entries:
            key(name, record)
            value(entries[name], record)

    return visit_map


def _scalar(type_number: int, counts: PlaceCounts) -> Visit:
    def visit_bool(value: object, record: int) -> None:
        counts.seen(record)
        counts.word(str(value).lower())

    if type_number == _BOOL:
        return visit_bool
    made = {_STRING: visit_of_text, _BYTES: visit_of_bytes}.get(type_number, visit_of_number)
    return made(counts)


# The questions of Protobuf's rules to a sketch: how many records can trigger a finding.


def counting(schema: ParsedSchema, builder: SketchBuilder, hidden: Hidden) -> ProtobufSketcher:
    """Return a counter of the records of a schema."""
    del schema
    return ProtobufSketcher(builder, hidden)


def counts(
    reader: ParsedSchema, writer: ParsedSchema, differences: Sequence[Difference], sketch: SchemaSketch
) -> list[Count | None]:
    """Return how many records trigger each difference."""
    del reader, writer
    return [_count(each, sketch) if isinstance(each, ProtobufDifference) else None for each in differences]


def _count(difference: ProtobufDifference, sketch: SchemaSketch) -> Count | None:
    question = _QUESTIONS.get(difference.rule)
    writer = difference.place.writer
    if question is None or sketch.depth is not None or (writer is not None and writer.is_map_entry):
        return None  # the entries of maps are counted at the field of the map
    return question(difference, sketch)


def _message(difference: ProtobufDifference, sketch: SchemaSketch) -> PlaceSketch:
    """Return the counts of the writer's message; without one, of the records."""
    writer = difference.place.writer
    if writer is None:
        return PlaceSketch(records=sketch.records, values=sketch.records)
    return sketch.places.get((writer.full_name,), PlaceSketch())


def _field(difference: ProtobufDifference, sketch: SchemaSketch, *inside: str) -> PlaceSketch | None:
    """Return the counts of the writer's field; None if the finding is about none."""
    place = difference.place
    if place.writer is None or place.writer_field is None:
        return None
    return sketch.places.get((place.writer.full_name, str(place.writer_field.number), *inside), PlaceSketch())


def _every_record(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count all records: it is about the file."""
    del difference
    return Count(sketch.records, is_exact=True)


def _every_message(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count all messages of the type."""
    return Count(_message(difference, sketch).records)


def _gone_message(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count the messages of a type that the reader does not have, and of the types inside it."""
    writer = difference.place.writer
    if writer is None:
        return Count(sketch.records)
    inside = f"{writer.full_name}."
    found = (each for place, each in sketch.places.items() if f"{place[0]}.".startswith(inside) and len(place) == 1)
    return Count(min(sum(each.records for each in found), sketch.records))


def _set_field(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count the records in which the field is set, and those that lack it if only the reader requires it."""
    field = _field(difference, sketch)
    if field is None:
        return Count(_message(difference, sketch).records)
    message = _message(difference, sketch)
    absent = message.values - field.values if _is_newly_required(difference) else 0
    is_exact = message.values == message.records == sketch.records and not absent
    return Count(min(field.records + absent, sketch.records), is_exact=is_exact)


def _unset_field(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count the messages in which the field is not set."""
    field, message = _field(difference, sketch), _message(difference, sketch)
    absent = message.values - (field.values if field is not None else 0)
    return Count(min(absent, sketch.records), is_exact=message.values == message.records)


def _label(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count the messages in which the field is set, or if it is made required, those in which it is not."""
    place = difference.place
    is_repeated = place.writer_field is not None and place.writer_field.is_repeated
    if _is_newly_required(difference) and not is_repeated:
        return _unset_field(difference, sketch)
    return _set_field(difference, sketch)


def _several(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count nothing if no field has more than one value."""
    field = _field(difference, sketch)
    is_single = field is not None and (field.longest or 0) <= 1 and not field.is_hidden
    if is_single and not _is_newly_required(difference):
        return Count(0, is_exact=True)
    return _set_field(difference, sketch)


def _large_numbers(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count nothing if all numbers are in the reader's range."""
    reader, writer = difference.place.reader_field, difference.place.writer_field
    limits = read_range(reader.holds) if reader is not None and not reader.holds.is_map else None
    if limits is None or writer is None or writer.holds.is_map or _is_other_label(difference):
        return _set_field(difference, sketch)
    field = _field(difference, sketch, *(["items"] if writer.is_repeated else []))
    least, most = (field.least, field.most) if field is not None else (None, None)
    if least is not None and most is not None and limits.start <= least and most < limits.stop:
        return Count(0, is_exact=True)
    return _set_field(difference, sketch)


def _enum_value(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count the values of the enum with the number."""
    enums = difference.place.enums
    if enums is None:
        return Count(sketch.records)
    of_enum = sketch.places.get((enums[1].full_name,), PlaceSketch())
    number = difference.facts.get("number", difference.facts.get("writer"))
    names = enums[1].names_by_number.get(number, ()) if isinstance(number, int) else ()
    if number == 0:
        return Count(sketch.records)  # also fields that are not set are read as this number
    if of_enum.symbols is None or not isinstance(number, int) or not names:
        return Count(of_enum.records)
    used = sum(of_enum.symbols.get(name, 0) for name in (*names, str(number)))
    return Count(min(used, of_enum.records))


def _closed_enum(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count the values whose number the reader's enum lacks."""
    reader, writer = difference.place.reader_field, difference.place.writer_field
    is_plain = reader is not None and writer is not None and not writer.holds.is_map
    if reader is None or writer is None or not is_plain or reader.holds.enum is None or writer.holds.enum is None:
        return _set_field(difference, sketch)
    field = _field(difference, sketch, *(["items"] if writer.is_repeated else []))
    if field is None or field.symbols is None or _is_other_label(difference):
        return _set_field(difference, sketch)
    known = reader.holds.enum.names_by_number
    kept = {name for number, names in writer.holds.enum.names_by_number.items() if number in known for name in names}
    lost = sum(count for symbol, count in field.symbols.items() if symbol not in kept)
    return Count(min(lost, field.records))


def _united(difference: ProtobufDifference, sketch: SchemaSketch) -> Count:
    """Count the messages that may have several of the fields set."""
    place, name = difference.place, difference.facts.get("name")
    if place.reader is None or place.writer is None or name not in place.reader.oneofs:
        return _every_message(difference, sketch)
    message = place.writer.full_name

    def times(field: NumberedField) -> int:
        return sketch.places.get((message, str(field.number)), PlaceSketch()).values

    groups = sorted(sum(map(times, group)) for group in oneof_origins(place.reader, place.writer, str(name)))
    return Count(min(sum(groups[:-1]), sketch.records))  # a message with several has one besides the most used


def _is_other_label(difference: ProtobufDifference) -> bool:
    """Return whether the field is also read with another label, which the finding about its type does not mention."""
    reader, writer = difference.place.reader_field, difference.place.writer_field
    if reader is None or writer is None or _is_newly_required(difference):
        return True
    return (writer.is_repeated and not reader.is_repeated) or reader.is_delimited != writer.is_delimited


def _is_newly_required(difference: ProtobufDifference) -> bool:
    reader, writer = difference.place.reader_field, difference.place.writer_field
    return reader is not None and reader.is_required and (writer is None or not writer.is_required)


_QUESTIONS: Final[Mapping[str, Callable[[ProtobufDifference, SchemaSketch], Count]]] = {
    rules.PACKAGE_CHANGED.id: _every_record,
    sound_rules.INVALID_FILE.id: _every_record,
    rules.MESSAGE_REMOVED.id: _gone_message,
    rules.REQUIRED_FIELD_ADDED.id: _every_message,
    rules.REQUIRED_FIELD_REMOVED.id: _set_field,
    rules.FIELD_KIND_CHANGED.id: _set_field,
    rules.FIELD_SCALAR_KIND_CHANGED.id: _set_field,
    rules.FIELD_NAMED_TYPE_CHANGED.id: _set_field,
    rules.FIELD_NUMERIC_LABEL_CHANGED.id: _label,
    rules.ONEOF_FIELD_REMOVED.id: _set_field,
    rules.MULTIPLE_FIELDS_MOVED_TO_ONEOF.id: _united,
    rules.FIELD_MOVED_TO_EXISTING_ONEOF.id: _united,
    sound_rules.FIELD_MADE_REQUIRED.id: _unset_field,
    sound_rules.PACKED_REPEATED_TO_SINGULAR.id: _set_field,
    sound_rules.REPEATED_TO_SINGULAR.id: _several,
    sound_rules.BYTES_TO_STRING.id: _set_field,
    sound_rules.UTF8_VALIDATION_ADDED.id: _set_field,
    sound_rules.INTEGER_NARROWED.id: _large_numbers,
    sound_rules.ENUM_VALUE_RENUMBERED.id: _enum_value,
    sound_rules.ENUM_VALUE_RENAMED.id: _enum_value,
    sound_rules.CLOSED_ENUM_LOSES_VALUE.id: _closed_enum,
    sound_rules.DEFAULT_VALUE_CHANGED.id: _unset_field,
    sound_rules.MESSAGE_ENCODING_CHANGED.id: _set_field,
}
