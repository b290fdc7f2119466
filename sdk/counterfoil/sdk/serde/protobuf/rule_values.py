"""Protobuf messages as rules see them.

Names, tags and inline rules are those of the registered schema; fields are matched by number, since the program's class
may have other names. Well-known types are values without fields of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, TypeAlias

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.marks import (
    TYPE_BY_NUMBER,
    ProtobufMarks,
    extensions_of,
    is_value,
    meta_of,
    places_in,
    places_of,
    value_field,
)
from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, AnyMessage, MessageClass, is_map
from counterfoil.schema.marks import FieldTags, Mark
from counterfoil.schema.tags import UnnamedPath, unnamed_paths
from counterfoil.sdk.errors import DecodeError
from counterfoil.sdk.serde.protobuf.decode import DictReader
from counterfoil.sdk.serde.protobuf.encode import compile_encoder
from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, FieldType, SchemaField, Transform
from counterfoil.sdk.serde.rules.values import Aim, CheckedValue, Hiding, InlineRule

_TYPE: Final = {number: FieldType[name] for number, name in TYPE_BY_NUMBER.items()}
_TEXTS: Final = (FieldType.STRING, FieldType.BYTES)


class ProtobufRuleValues:
    """The :class:`~counterfoil.sdk.serde.rules.values.RuleValues` of a message type of a schema.

    ``class_`` is the class of the program, or of the schema without one. With ``as_dict`` values of the program that
    are read are dicts. ``exact`` and ``far_as_numbers`` are those of the codec.
    """

    def __init__(
        self,
        descriptor: AnyDescriptor,
        class_: MessageClass,
        tags: FieldTags,
        *,
        as_dict: bool,
        exact: bool = True,
        far_as_numbers: bool = False,
    ) -> None:
        self._descriptor = descriptor
        self._class = class_
        self._tags = tags
        self._marks = ProtobufMarks(tags)
        self._encode = compile_encoder(descriptor, class_, exact=exact)
        reader = DictReader(far_as_numbers=far_as_numbers)
        self._read = reader.read(class_.DESCRIPTOR) if as_dict else None

    def opened(self, value: object, /) -> Datum:
        """Return a message: the value itself, or the message of a dict."""
        return value if isinstance(value, Message) else self._class.FromString(self._encode(value, b""))

    def closed(self, message: object, /) -> Datum:
        """Return a value of the program."""
        opened = self.opened(message)
        return opened if self._read is None else self._read(opened)

    def encoded(self, message: object, /) -> bytes:
        """Return the body of a message that rules changed."""
        return self._encode(message, b"")

    def fields(
        self, changes: FieldChanges, /, *, tags: frozenset[str] = frozenset(), aim: Aim = Aim.CHANGE
    ) -> Transform:
        """Return a function that applies a field rule to a message."""
        del tags, aim
        return self._changing(_Walk(changes, self._marks))

    def places(self) -> Iterable[SchemaField]:
        """Return the fields of the whole message type."""
        found = places_of(self._descriptor, self._tags)
        return (SchemaField.marked(each.mark, FieldType[each.type], each.where) for each in found)

    def unnamed_paths(self) -> list[UnnamedPath]:
        """Return the paths of the metadata that assign their tags to nothing, in any message type of the file."""
        return unnamed_paths(self._tags.by_path, lambda tags: places_in(self._descriptor, tags))

    def redacted(self, message: object, hiding: Hiding, /) -> Datum:
        """Return a copy of a message: hidden texts and bytes are replaced, other hidden parts are left out."""
        if hiding.tags is None:
            opened = self.opened(message)
            hiding.whole(opened)
            return type(opened)()
        return self._changing(_Walk(hiding.changes, self._marks, hiding=hiding))(message)

    def _changing(self, walk: _Walk) -> Transform:
        def apply(value: object) -> Datum:
            message = self.opened(value)
            copy = type(message)()
            copy.CopyFrom(message)
            walk.change(copy, self._descriptor, self._marks.at_root(self._descriptor))
            return copy

        return apply

    def inline_rules(self) -> Callable[[Datum], Iterator[CheckedValue]] | None:
        """Return a function that finds the values to check; None without inline rules."""
        if not _has_rules(self._descriptor, set()):
            return None
        return lambda value: _checked(self.opened(value), self._descriptor, "")

    def to_json(self, message: object, /) -> Datum:
        """Return the JSON form of a message, with every field that has no presence."""
        return MessageToDict(self.opened(message), always_print_fields_with_no_presence=True)

    def from_json(self, value: Datum, /) -> Datum:
        """Return the message of a JSON form."""
        try:
            return ParseDict(value, self._class())
        except ParseError as error:
            problem = f"What the migration returned is no {self._descriptor.full_name}: {error}"
            raise DecodeError(problem) from error


class _Walk:
    """Changes messages in place, by the functions of a field rule that are made once for each field.

    With ``hiding`` the rule is a redaction.
    """

    def __init__(self, changes: FieldChanges, marks: ProtobufMarks, *, hiding: Hiding | None = None) -> None:
        self._changes = changes
        self._marks = marks
        self._hiding = hiding
        self._steps_by_type: dict[tuple[Datum, Datum, Mark], list[tuple[AnyField, _Step]]] = {}

    def change(self, message: AnyMessage, schema: AnyDescriptor, mark: Mark) -> None:
        """Change the fields of a message that the schema's type declares; ``mark`` is that of the message."""
        inside = self._marks.inside(schema, mark)
        for field, step in self._steps(message.DESCRIPTOR, schema, inside):
            if not field.has_presence or message.HasField(field.name):
                step(message)
        self._change_extensions(message, schema, inside)

    def _steps(self, own: AnyDescriptor, schema: AnyDescriptor, inside: Mark) -> list[tuple[AnyField, _Step]]:
        key = (own, schema, inside)
        found = self._steps_by_type.get(key)
        if found is None:
            declared = schema.fields_by_number
            steps = [(field, self._step(field, declared.get(field.number), inside)) for field in own.fields]
            found = [(field, step) for field, step in steps if step is not None]
            self._steps_by_type[key] = found
        return found

    def _change_extensions(self, message: AnyMessage, schema: AnyDescriptor, inside: Mark) -> None:
        if not message.DESCRIPTOR.is_extendable:
            return
        declared = {field.number: field for field in extensions_of(schema)}
        for field, _ in message.ListFields():
            if field.is_extension:
                step = self._step(field, declared.get(field.number, field), inside)
                if step is not None:
                    step(message)

    def _step(self, field: AnyField, declared: AnyField | None, inside: Mark) -> _Step | None:
        if declared is None:  # a field of the program's class alone
            if not (inside.outer or meta_of(field).tags):
                return None
            declared = field
        own, schema = value_field(field), value_field(declared)
        mark = self._marks.of_field(declared, inside)
        hiding = self._hiding if self._hiding is not None and self._hiding.hides(mark.tags) else None
        if own.message_type is not None:
            if hiding is not None:
                return partial(_cleared, field, hiding)
            if schema.message_type is None:
                return None
            if is_value(own.message_type) and not mark.tags:
                return None
            return partial(self._nested, field, schema.message_type, self._marks.of_message(schema.message_type, mark))
        field_type = _TYPE.get(own.type)
        change = None if field_type is None else self._changes(SchemaField.marked(mark, field_type))
        if change is None:
            return None
        if hiding is not None and (field_type not in _TEXTS or is_map(field)):
            return partial(_cleared, field, hiding)
        return partial(_scalars, field, change)

    def _nested(self, field: AnyField, schema: AnyDescriptor, mark: Mark, message: AnyMessage) -> None:
        for inner in _items(field, _get(field, message)):
            self.change(inner, schema, mark)


_Step: TypeAlias = "Callable[[AnyMessage], None]"


def _get(field: AnyField, message: AnyMessage) -> Datum:
    return message.Extensions[field] if field.is_extension else getattr(message, field.name)


def _items(field: AnyField, value: Datum) -> list[Datum]:
    if not field.is_repeated:
        return [value]
    return [value[key] for key in value] if is_map(field) else list(value)


def _cleared(field: AnyField, hiding: Hiding, message: AnyMessage) -> None:
    value = _get(field, message)
    if is_map(field):
        hiding.whole({key: value[key] for key in value})
    else:
        hiding.whole(list(value) if field.is_repeated else value)
    if field.is_extension:
        message.ClearExtension(field)
    else:
        message.ClearField(field.name)


def _scalars(field: AnyField, change: Change, message: AnyMessage) -> None:
    value = _get(field, message)
    if not field.is_repeated:
        if field.is_extension:
            message.Extensions[field] = change(value, message)
        else:
            setattr(message, field.name, change(value, message))
    elif is_map(field):
        for key in list(value):
            value[key] = change(value[key], message)
    else:
        value[:] = [change(item, message) for item in value]


def _rules_of(descriptor: object) -> list[InlineRule]:
    return [
        InlineRule(rule.name or "unnamed", rule.expr, rule.doc or rule.sql or None)
        for rule in meta_of(descriptor).rules
        if rule.expr
    ]


def _has_rules(descriptor: AnyDescriptor, seen: set[str]) -> bool:
    if descriptor.full_name in seen:
        return False
    seen.add(descriptor.full_name)
    types = [value_field(field).message_type for field in descriptor.fields]
    return (
        bool(_rules_of(descriptor))
        or any(_rules_of(field) for field in descriptor.fields)
        or any(_has_rules(each, seen) for each in types if each is not None)
    )


def _checked(message: AnyMessage, schema: AnyDescriptor, path: str) -> Iterator[CheckedValue]:
    """Yield the values in a message that have inline rules."""
    yield from (CheckedValue(rule, path, message) for rule in _rules_of(schema))
    for field in message.DESCRIPTOR.fields:
        declared = schema.fields_by_number.get(field.number)
        if declared is None or (field.has_presence and not message.HasField(field.name)):
            continue
        value = getattr(message, field.name)
        where = f"{path}.{declared.name}" if path else declared.name
        yield from (CheckedValue(rule, where, _plain(field, value)) for rule in _rules_of(declared))
        inner = value_field(declared).message_type
        if inner is not None and value_field(field).message_type is not None:
            for step, item in _placed(field, value):
                yield from _checked(item, inner, f"{where}{step}")


def _plain(field: AnyField, value: Datum) -> Datum:
    if not field.is_repeated:
        return value
    return {key: value[key] for key in value} if is_map(field) else list(value)


def _placed(field: AnyField, value: Datum) -> Iterator[tuple[str, Datum]]:
    if not field.is_repeated:
        yield "", value
    elif is_map(field):
        yield from ((f"[{key!r}]", value[key]) for key in value)
    else:
        yield from ((f"[{index}]", item) for index, item in enumerate(value))
