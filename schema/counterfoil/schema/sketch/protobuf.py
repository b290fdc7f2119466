"""The sketch of Protobuf data: each field that a message has set is counted at the field's number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.protobuf.unknown_fields import UnknownFieldSet

from counterfoil.schema.formats.protobuf.describe.dynamic import is_map
from counterfoil.schema.sketch.visits import visit_of_bytes, visit_of_items, visit_of_number, visit_of_text

if TYPE_CHECKING:
    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyDescriptor, AnyField
    from counterfoil.schema.sketch.collect import PlaceCounts, SketchBuilder
    from counterfoil.schema.sketch.hidden import Hidden
    from counterfoil.schema.sketch.model import Place
    from counterfoil.schema.sketch.visits import Visit

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

    def add(self, value: Any, size: int) -> None:
        """Count a record; ``size`` is the length of its bytes."""
        self._builder.records += 1
        self._has_unknown = False
        if self._hidden_types is None:
            self._hidden_types = self._types_in_hidden(value.DESCRIPTOR.file.message_types_by_name.values())
        self._message(value.DESCRIPTOR)(value, self._builder.records)
        if self._has_unknown or size != value.ByteSize():
            self._builder.uncertain += 1

    def _types_in_hidden(self, roots: Any) -> set[str]:
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

        def visit_message(message: Any, record: int) -> None:
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
        def visit_inner(value: Any, record: int) -> None:
            counts.seen(record)
            self._message(field.message_type)(value, record)

        return visit_inner


def _enum(field: AnyField, counts: PlaceCounts, of_enum: PlaceCounts) -> Visit:
    names = {number: value.name for number, value in field.enum_type.values_by_number.items()}

    def visit_enum(value: Any, record: int) -> None:
        word = names.get(value) or str(value)
        for each in (counts, of_enum):
            each.seen(record)
            each.word(word)
            each.number(value)

    return visit_enum


def _map(counts: PlaceCounts, key: Visit, value: Visit) -> Visit:
    def visit_map(entries: Any, record: int) -> None:
        counts.seen(record)
        counts.size(len(entries))
        for name in entries:
            key(name, record)
            value(entries[name], record)

    return visit_map


def _scalar(type_number: int, counts: PlaceCounts) -> Visit:
    def visit_bool(value: Any, record: int) -> None:
        counts.seen(record)
        counts.word(str(value).lower())

    if type_number == _BOOL:
        return visit_bool
    made = {_STRING: visit_of_text, _BYTES: visit_of_bytes}.get(type_number, visit_of_number)
    return made(counts)
