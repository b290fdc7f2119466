"""Schemas of shapes in Protobuf, and their records by google.protobuf; descriptors are made from shapes, not texts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from strategies.fleets.samples import ABSENT

if TYPE_CHECKING:
    from strategies.fleets.shapes import Field, Shape

NAME: Final = "PROTOBUF"
_WORDS: Final = {
    "string": ("string", 9), "bytes": ("bytes", 12), "boolean": ("bool", 8), "int": ("int32", 5), "long": ("int64", 3),
    "uint": ("uint32", 13), "sint": ("sint32", 17), "fixed": ("fixed32", 7), "float": ("float", 2),
    "double": ("double", 1),
}  # fmt: skip
KINDS: Final = tuple(_WORDS)
_ENUM, _MESSAGE = 14, 11
_OPTIONAL, _REPEATED = 1, 3


def text(shape: Shape) -> str:
    """Return the text of a schema: the record is the first message, and all types are at the top of the file."""
    made: dict[str, str] = {}
    _declare(shape, made, set())
    return "\n".join(['syntax = "proto3";', *reversed(made.values())])


def _declare(shape: Shape, made: dict[str, str], around: set[str]) -> None:
    if shape.item is not None:
        _declare(shape.item, made, around)
    if shape.symbols and shape.name not in made:
        values = " ".join(f"{name} = {number};" for name, number in shape.symbols)
        made[shape.name] = f"enum {shape.name} {{ {values} }}"
    if shape.kind == "record" and shape.name not in made and shape.name not in around:
        for each in shape.fields:
            _declare(each.shape, made, around | {shape.name})
        lines = [f"{_field_words(each)} {each.name} = {each.number};" for each in shape.fields if not each.oneof]
        for oneof in dict.fromkeys(each.oneof for each in shape.fields if each.oneof):
            members = [each for each in shape.fields if each.oneof == oneof]
            inside = " ".join(f"{_word(each.shape)} {each.name} = {each.number};" for each in members)
            lines.append(f"oneof {oneof} {{ {inside} }}")
        made[shape.name] = f"message {shape.name} {{ {' '.join(lines)} }}"


def _field_words(field: Field) -> str:
    shape = field.shape
    if shape.kind == "array" and shape.item is not None:
        return f"repeated {_word(shape.item)}"
    if shape.kind == "map" and shape.item is not None:
        return f"map<string, {_word(shape.item)}>"
    return f"optional {_word(shape)}" if shape.is_nullable and not shape.fields else _word(shape)


def _word(shape: Shape) -> str:
    return shape.name or _WORDS[shape.kind][0]


@lru_cache(4096)
def _class(shape: Shape) -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", syntax="proto3")
    _describe(file, shape, set())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(shape.name))


def _describe(file: Any, shape: Shape, known: set[str]) -> None:
    if shape.item is not None:
        _describe(file, shape.item, known)
    if not shape.name or shape.name in known:
        return
    known.add(shape.name)
    if shape.symbols:
        enum = file.enum_type.add(name=shape.name)
        for name, number in shape.symbols:
            enum.value.add(name=name, number=number)
        return
    message = file.message_type.add(name=shape.name)
    for each in shape.fields:
        _add_field(message, each)
        _describe(file, each.shape, known)
    described = {one.name: one for one in message.field}
    oneofs = [*dict.fromkeys(each.oneof for each in shape.fields if each.oneof)]
    for oneof in oneofs:
        message.oneof_decl.add(name=oneof)
    for each in shape.fields:
        if each.oneof:
            described[each.name].oneof_index = oneofs.index(each.oneof)
    own = [each for each in shape.fields if _has_own_presence(each.shape) and not each.oneof]
    for index, each in enumerate(own, len(oneofs)):
        message.oneof_decl.add(name=f"_{each.name}")
        described[each.name].proto3_optional, described[each.name].oneof_index = True, index


def _has_own_presence(shape: Shape) -> bool:
    return shape.is_nullable and not shape.fields and shape.item is None


def _add_field(message: Any, field: Field) -> None:
    shape = field.shape
    if shape.kind == "map" and shape.item is not None:
        name = "".join(part.capitalize() for part in field.name.split("_")) + "Entry"
        entry = message.nested_type.add(name=name)
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=_OPTIONAL, type=9)
        _typed(entry.field.add(name="value", number=2, label=_OPTIONAL), shape.item)
        made = message.field.add(name=field.name, number=field.number, label=_REPEATED, type=_MESSAGE)
        made.type_name = f".{message.name}.{name}"
    elif shape.kind == "array" and shape.item is not None:
        _typed(message.field.add(name=field.name, number=field.number, label=_REPEATED), shape.item)
    else:
        _typed(message.field.add(name=field.name, number=field.number, label=_OPTIONAL), shape)


def _typed(made: Any, shape: Shape) -> None:
    if shape.name:
        made.type, made.type_name = _ENUM if shape.symbols else _MESSAGE, f".{shape.name}"
    else:
        made.type = _WORDS[shape.kind][1]


def written(shape: Shape, value: Any) -> bytes:
    """Return the bytes of a record."""
    message = _class(shape)()
    _fill(message, shape, value)
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def _fill(message: Any, shape: Shape, value: Any) -> None:
    for each in shape.fields:
        given = value[each.name]
        if given is None or given is ABSENT:
            continue
        if each.shape.kind == "array" and each.shape.item is not None:
            for one in given:
                _append(getattr(message, each.name), each.shape.item, one)
        elif each.shape.kind == "map" and each.shape.item is not None:
            for key, one in given.items():
                if each.shape.item.fields:
                    _fill(getattr(message, each.name)[key], each.shape.item, one)
                else:
                    getattr(message, each.name)[key] = _plain(each.shape.item, one)
        elif each.shape.fields:
            getattr(message, each.name).SetInParent()
            _fill(getattr(message, each.name), each.shape, given)
        else:
            setattr(message, each.name, _plain(each.shape, given))


def _append(listed: Any, shape: Shape, value: Any) -> None:
    if shape.fields:
        _fill(listed.add(), shape, value)
    else:
        listed.append(_plain(shape, value))


def _plain(shape: Shape, value: Any) -> Any:
    return dict(shape.symbols)[value] if shape.symbols else value


def read(data: bytes, writer: Shape, reader: Shape) -> Any:
    """Return the record in ``data`` as a dict, read with the reader's message alone; None for what is not there."""
    del writer
    return _record(_class(reader).FromString(data), reader)


def _record(message: Any, shape: Shape) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in shape.fields:
        one = each.shape
        if (one.fields or _has_own_presence(one)) and not message.HasField(each.name):
            found[each.name] = None
            continue
        value = getattr(message, each.name)
        if one.item is None:
            found[each.name] = _value(value, one)
        elif one.kind == "array":
            found[each.name] = [_value(item, one.item) for item in value]
        else:
            found[each.name] = {key: _value(value[key], one.item) for key in value}
    return found


def _value(value: Any, shape: Shape) -> Any:
    if shape.fields:
        return _record(value, shape)
    if shape.symbols:
        return next((name for name, number in shape.symbols if number == value), value)
    return value
