"""Protobuf messages as rules see them.

Names, tags and inline rules are those of the registered schema; fields are matched by number, since the program's class
may have other names. Well-known types are values without fields of their own.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message

from counterfoil.schema.formats.protobuf.describe.dynamic import is_map
from counterfoil.sdk.errors import DecodeError
from counterfoil.sdk.serde.protobuf_codec.dict_reader import DictReader
from counterfoil.sdk.serde.protobuf_codec.encode import compile_encoder
from counterfoil.sdk.serde.protobuf_codec.message_types import class_of
from counterfoil.sdk.serde.rules.protocol import FieldType, SchemaField
from counterfoil.sdk.serde.rules.values import Checked, InlineRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyDescriptor, AnyField, AnyMessage, MessageClass
    from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, Transform
    from counterfoil.sdk.serde.rules.tags import FieldTags

_META: Final = """syntax = "proto3";
import "confluent/meta.proto";
message Options { confluent.Meta meta = 1088; }
"""
_VALUES: Final = ("google.protobuf.", "google.type.", "confluent.type.")
"""The packages of messages that stand for a value."""

_TYPE: Final[Mapping[int, FieldType]] = {
    FieldDescriptor.TYPE_STRING: FieldType.STRING,
    FieldDescriptor.TYPE_BYTES: FieldType.BYTES,
    FieldDescriptor.TYPE_ENUM: FieldType.ENUM,
    FieldDescriptor.TYPE_BOOL: FieldType.BOOLEAN,
    FieldDescriptor.TYPE_FLOAT: FieldType.FLOAT,
    FieldDescriptor.TYPE_DOUBLE: FieldType.DOUBLE,
    **dict.fromkeys(
        (
            FieldDescriptor.TYPE_INT32,
            FieldDescriptor.TYPE_SINT32,
            FieldDescriptor.TYPE_UINT32,
            FieldDescriptor.TYPE_FIXED32,
            FieldDescriptor.TYPE_SFIXED32,
        ),
        FieldType.INT,
    ),
    **dict.fromkeys(
        (
            FieldDescriptor.TYPE_INT64,
            FieldDescriptor.TYPE_SINT64,
            FieldDescriptor.TYPE_UINT64,
            FieldDescriptor.TYPE_FIXED64,
            FieldDescriptor.TYPE_SFIXED64,
        ),
        FieldType.LONG,
    ),
}


class ProtobufRuleValues:
    """The :class:`~counterfoil.sdk.serde.rules.values.RuleValues` of a message type of a schema.

    ``class_`` is the class of the program, or of the schema without one. With ``as_dict`` values of the program that
    are read are dicts.
    """

    def __init__(self, descriptor: AnyDescriptor, class_: MessageClass, tags: FieldTags, *, as_dict: bool) -> None:
        self._descriptor = descriptor
        self._class = class_
        self._tags = tags
        self._encode = compile_encoder(descriptor, class_)
        self._read = DictReader().read(class_.DESCRIPTOR) if as_dict else None

    def opened(self, value: Any, /) -> Any:
        """Return a message: the value itself, or the message of a dict."""
        return value if isinstance(value, Message) else self._class.FromString(self._encode(value, b""))

    def closed(self, message: Any, /) -> Any:
        """Return a value of the program."""
        opened = self.opened(message)
        return opened if self._read is None else self._read(opened)

    def encoded(self, message: Any, /) -> bytes:
        """Return the body of a message that rules changed."""
        return self._encode(message, b"")

    def fields(self, changes: FieldChanges, /) -> Transform:
        """Return a function that applies a field rule to a message."""
        walk = _Walk(changes, self._tags)

        def apply(value: Any) -> Any:
            message = self.opened(value)
            copy = type(message)()
            copy.CopyFrom(message)
            walk.change(copy, self._descriptor)
            return copy

        return apply

    def inline_rules(self) -> Callable[[Any], Iterator[Checked]] | None:
        """Return a function that finds the values to check; None without inline rules."""
        if not _has_rules(self._descriptor, set()):
            return None
        return lambda value: _checked(self.opened(value), self._descriptor, "")

    def to_json(self, message: Any, /) -> Any:
        """Return the JSON form of a message, with every field that has no presence."""
        return MessageToDict(self.opened(message), always_print_fields_with_no_presence=True)

    def from_json(self, value: Any, /) -> Any:
        """Return the message of a JSON form."""
        try:
            return ParseDict(value, self._class())
        except ParseError as error:
            problem = f"What the migration returned is no {self._descriptor.full_name}: {error}"
            raise DecodeError(problem) from error


class _Walk:
    """Changes messages in place, by the functions of a field rule that are made once for each field."""

    def __init__(self, changes: FieldChanges, tags: FieldTags) -> None:
        self._changes = changes
        self._tags = tags
        self._by_type: dict[tuple[Any, Any], list[tuple[AnyField, Callable[[AnyMessage], None]]]] = {}

    def change(self, message: AnyMessage, schema: AnyDescriptor) -> None:
        """Change the fields of a message that the schema's type declares."""
        key = (message.DESCRIPTOR, schema)
        steps = self._by_type.get(key)
        if steps is None:
            steps = self._by_type[key] = [*self._steps(message.DESCRIPTOR, schema)]
        for field, step in steps:
            if not field.has_presence or message.HasField(field.name):
                step(message)

    def _steps(
        self, own: AnyDescriptor, schema: AnyDescriptor
    ) -> Iterator[tuple[AnyField, Callable[[AnyMessage], None]]]:
        for field in own.fields:
            declared = schema.fields_by_number.get(field.number)
            step = None if declared is None else self._step(field, declared)
            if step is not None:
                yield field, step

    def _step(self, field: AnyField, declared: AnyField) -> Callable[[AnyMessage], None] | None:
        value_field, declared_value = _value_of(field), _value_of(declared)
        if value_field.message_type is not None:
            if declared_value.message_type is None or value_field.message_type.full_name.startswith(_VALUES):
                return None
            return partial(self._nested, field, declared_value.message_type)
        tags = self._tags.of(declared.full_name, _meta_of(declared).tags)
        field_type = _TYPE.get(value_field.type)
        if field_type is None:
            return None
        change = self._changes(SchemaField(declared.full_name, declared.name, field_type, tags))
        return None if change is None else partial(_scalars, field, change)

    def _nested(self, field: AnyField, schema: AnyDescriptor, message: AnyMessage) -> None:
        for inner in _items(field, getattr(message, field.name)):
            self.change(inner, schema)


def _value_of(field: AnyField) -> AnyField:
    """Return the field itself, or the values of a map."""
    return field.message_type.fields_by_name["value"] if is_map(field) else field


def _items(field: AnyField, value: Any) -> list[Any]:
    if not field.is_repeated:
        return [value]
    return [value[key] for key in value] if is_map(field) else list(value)


def _scalars(field: AnyField, change: Change, message: AnyMessage) -> None:
    value = getattr(message, field.name)
    if not field.is_repeated:
        setattr(message, field.name, change(value, message))
    elif is_map(field):
        for key in list(value):
            value[key] = change(value[key], message)
    else:
        value[:] = [change(item, message) for item in value]


@cache
def _options_class() -> MessageClass:
    from counterfoil.schema.formats.protobuf.describe.pools import pooled_file
    from counterfoil.schema.formats.protobuf.parse import parse_protobuf
    from counterfoil.schema.parsed import Validation

    file = pooled_file(parse_protobuf(_META, (), validation=Validation.LENIENT), _META)
    return class_of(file.message_types_by_name["Options"])


def _meta_of(descriptor: Any) -> Any:
    """Return the options ``confluent.field_meta`` or ``confluent.message_meta``, whatever pool declares them."""
    return _options_class().FromString(descriptor.GetOptions().SerializeToString()).meta


def _rules_of(descriptor: Any) -> list[InlineRule]:
    return [
        InlineRule(rule.name or "unnamed", rule.expr, rule.doc or rule.sql or None)
        for rule in _meta_of(descriptor).rules
        if rule.expr
    ]


def _has_rules(descriptor: AnyDescriptor, seen: set[str]) -> bool:
    if descriptor.full_name in seen:
        return False
    seen.add(descriptor.full_name)
    types = [_value_of(field).message_type for field in descriptor.fields]
    return (
        bool(_rules_of(descriptor))
        or any(_rules_of(field) for field in descriptor.fields)
        or any(_has_rules(each, seen) for each in types if each is not None)
    )


def _checked(message: AnyMessage, schema: AnyDescriptor, path: str) -> Iterator[Checked]:
    """Yield the values in a message that have inline rules."""
    yield from (Checked(rule, path, message) for rule in _rules_of(schema))
    for field in message.DESCRIPTOR.fields:
        declared = schema.fields_by_number.get(field.number)
        if declared is None or (field.has_presence and not message.HasField(field.name)):
            continue
        value = getattr(message, field.name)
        where = f"{path}.{declared.name}" if path else declared.name
        yield from (Checked(rule, where, _plain(field, value)) for rule in _rules_of(declared))
        inner = _value_of(declared).message_type
        if inner is not None and _value_of(field).message_type is not None:
            for step, item in _placed(field, value):
                yield from _checked(item, inner, f"{where}{step}")


def _plain(field: AnyField, value: Any) -> Any:
    if not field.is_repeated:
        return value
    return {key: value[key] for key in value} if is_map(field) else list(value)


def _placed(field: AnyField, value: Any) -> Iterator[tuple[str, Any]]:
    if not field.is_repeated:
        yield "", value
    elif is_map(field):
        yield from ((f"[{key!r}]", value[key]) for key in value)
    else:
        yield from ((f"[{index}]", item) for index, item in enumerate(value))
