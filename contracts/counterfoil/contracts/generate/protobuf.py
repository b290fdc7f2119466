"""Examples of a Protobuf schema: fields with presence set and not set, every branch of oneofs, well-known types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from counterfoil.contracts.errors import NoExample
from counterfoil.contracts.generate import (
    DOUBLE_BITS,
    SINGLE_BITS,
    USUAL,
    ExampleChoices,
    ExampleLimits,
    ExampleShape,
    whole_limits,
)
from counterfoil.contracts.values import shown_bytes, shown_real
from counterfoil.contracts.values.protobuf import shown_duration, shown_key
from counterfoil.schema.agreements import Promise
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, is_map
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, member, print_path
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes
from counterfoil.sdk.serde.protobuf.well_known import ANY, CONVERSION_BY_NAME, NULLABLE, WRAPPERS

MAX_REPEATS: Final = 2
"""How often a message may be inside itself before fields with presence are left out."""
_MAX_NESTED: Final = 24
_SIGNED: Final = {32: (-(2**31), 2**31 - 1), 64: (-(2**63), 2**63 - 1)}
_UNSIGNED: Final = {32: (0, 2**32 - 1), 64: (0, 2**64 - 1)}
_MAX_DURATION_S: Final = 315_576_000_000
_UNKNOWN_TYPE: Final = "type.googleapis.com/example.Unknown"


class ProtobufExamples:
    """Makes values of one message type in their JSON form (:mod:`counterfoil.contracts.values.protobuf`).

    ``message`` is its full name; without it, it is the first of the file.
    """

    def __init__(self, types: MessageTypes, promise: Promise | None, message: str | None = None) -> None:
        found = types.find(message)
        if found is None:
            raise NoExample(f"the schema has no message {message or ''}".rstrip())
        self._descriptor = found
        self._limits = ExampleLimits(promise)

    def make(self, choices: ExampleChoices, shape: ExampleShape = USUAL) -> Datum:
        """Return a value; a shape that leaves out sets no field with presence, and makes lists and maps empty.

        Raises ``NoExample``.
        """
        return _Making(choices, self._limits, shape).message(self._descriptor, (), ())


class _Making:
    def __init__(self, choices: ExampleChoices, limits: ExampleLimits, shape: ExampleShape) -> None:
        self._choices = choices
        self._limits = limits
        self._shape = shape

    def message(self, descriptor: AnyDescriptor, path: FieldPath, around: tuple[str, ...]) -> Datum:
        """Return a value of a message type; ``around`` are the names of those that it is in."""
        name = descriptor.full_name
        if name in WRAPPERS:
            return self._single(descriptor.fields_by_name["value"], path, around)
        if name == ANY:
            return {"@type": _UNKNOWN_TYPE, "value": shown_bytes(self._choices.data())}
        if name in CONVERSION_BY_NAME:
            return _SPECIAL[name](self, path)
        if len(around) > _MAX_NESTED:
            raise NoExample(f"{print_path(path)} has no value: {name} always contains itself")
        inside = (*around, name)
        chosen = {each.full_name: self._chosen(each, path, inside) for each in descriptor.oneofs if not _is_alone(each)}
        made = {}
        for field in descriptor.fields:
            oneof = field.containing_oneof
            if oneof is not None and oneof.full_name in chosen:
                is_set = chosen[oneof.full_name] == field.name
            else:
                is_set = self._is_set(field, (*path, member(field.name)), inside)
            if is_set:
                made[field.name] = self._field(field, (*path, member(field.name)), inside)
        return made

    def _chosen(self, oneof: Any, path: FieldPath, around: tuple[str, ...]) -> str | None:
        """Return the name of the field of a oneof that is set; None for none."""
        names: list[str] = [field.name for field in oneof.fields if not self._ends(field, around)]
        needed = [name for name in names if self._limits.is_required((*path, member(name)))]
        if needed:
            return needed[0]
        if self._shape.leaves_out or not names:
            return None
        return self._choices.one_of([None, *names])

    def _is_set(self, field: AnyField, path: FieldPath, around: tuple[str, ...]) -> bool:
        if field.is_required or self._limits.is_required(path) or not (field.has_presence or field.is_repeated):
            return True
        if self._shape.leaves_out or self._ends(field, around):
            return False
        return field.is_repeated or self._choices.flag()

    def _ends(self, field: AnyField, around: tuple[str, ...]) -> bool:
        """Return whether a field is left out, since its message would be inside itself once more."""
        inner = field.message_type
        if inner is not None and is_map(field):
            inner = inner.fields_by_name["value"].message_type
        return inner is not None and around.count(inner.full_name) > MAX_REPEATS

    def _field(self, field: AnyField, path: FieldPath, around: tuple[str, ...]) -> Datum:
        if not field.is_repeated:
            return self._single(field, path, around)
        size = self._choices.integer(0, max(1, 4 - len(path)))
        if not is_map(field):
            return [self._single(field, (*path, ITEMS), around) for _ in range(size)]
        parts = field.message_type.fields_by_name
        keys = [self._single(parts["key"], (*path, VALUES, ITEMS), around) for _ in range(size)]
        return {shown_key(key): self._single(parts["value"], (*path, VALUES), around) for key in dict.fromkeys(keys)}

    def _single(self, field: AnyField, path: FieldPath, around: tuple[str, ...]) -> Datum:
        if field.message_type is not None:
            return self.message(field.message_type, path, around)
        if field.enum_type is not None:
            return self._symbol(field, path)
        if field.type == field.TYPE_BYTES:
            return shown_bytes(self._choices.data())
        match field.cpp_type:
            case field.CPPTYPE_STRING:
                return self._limits.text(path, self._choices)
            case field.CPPTYPE_BOOL:
                return self._choices.flag()
            case field.CPPTYPE_FLOAT | field.CPPTYPE_DOUBLE:
                bits = SINGLE_BITS if field.cpp_type == field.CPPTYPE_FLOAT else DOUBLE_BITS
                return shown_real(self._limits.real(path, self._choices, bits=bits))
        bits = 32 if field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32) else 64
        is_signed = field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64)
        return self._limits.integer(path, self._choices, *(_SIGNED if is_signed else _UNSIGNED)[bits])

    def _symbol(self, field: AnyField, path: FieldPath) -> str | int:
        if self._shape.has_unknown_symbols and not field.enum_type.is_closed:
            return int(max(field.enum_type.values_by_number)) + 1
        listed = self._limits.listed(path)
        symbols: list[str] = [each.name for each in field.enum_type.values if listed is None or each.name in listed]
        if not symbols:
            raise NoExample(f"{print_path(path)} has no value: no symbol of {field.enum_type.full_name} is promised")
        return self._choices.one_of(symbols)

    def timestamp(self, path: FieldPath) -> str:
        """Return a time."""
        moment: datetime = self._limits.moment(path, self._choices, per_second=1_000_000)
        return moment.astimezone(UTC).isoformat()

    def duration(self, path: FieldPath) -> str:
        """Return a duration."""
        del path
        limit = _MAX_DURATION_S * 1_000_000
        return shown_duration(timedelta(microseconds=self._choices.integer(-limit, limit)))

    def decimal(self, path: FieldPath) -> str:
        """Return a decimal number."""
        scale = self._choices.integer(0, 9)
        low, high = whole_limits(self._limits.range(path), -(10**18), 10**18, scale=scale)
        if low > high:
            raise NoExample(f"{print_path(path)} has no value of {scale} decimal places in {self._limits.range(path)}")
        unscaled = self._choices.integer(low, high)
        return str(Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale)))

    def mask(self, path: FieldPath) -> list[str]:
        """Return a field mask."""
        del path
        return [self._choices.one_of(["a", "b.c", "d_e"]) for _ in range(self._choices.integer(0, 2))]

    def json_value(self, path: FieldPath) -> Datum:
        """Return a value of JSON."""
        del path
        kinds: list[Datum] = [None, self._choices.flag(), self._choices.text(), float(self._choices.integer(-100, 100))]
        return self._choices.one_of([*kinds, [kinds[1]], {"a": kinds[2]}])

    def struct(self, path: FieldPath) -> dict[str, Datum]:
        """Return an object of JSON."""
        return {self._choices.text(): self.json_value(path) for _ in range(self._choices.integer(0, 2))}

    def listed(self, path: FieldPath) -> list[Datum]:
        """Return an array of JSON."""
        return [self.json_value(path) for _ in range(self._choices.integer(0, 2))]


_SPECIAL: Final[Mapping[str, Callable[[_Making, FieldPath], Datum]]] = {
    "google.protobuf.Timestamp": _Making.timestamp,
    "google.protobuf.Duration": _Making.duration,
    "google.protobuf.FieldMask": _Making.mask,
    "google.protobuf.Struct": _Making.struct,
    "google.protobuf.ListValue": _Making.listed,
    NULLABLE: _Making.json_value,
    "confluent.type.Decimal": _Making.decimal,
    "google.type.Decimal": _Making.decimal,
}
"""How the types with a Python value of their own are made."""


def _is_alone(oneof: Any) -> bool:
    """Return whether a oneof is only the sign that its one field has presence."""
    return len(oneof.fields) == 1 and bool(oneof.name == f"_{oneof.fields[0].name}")
