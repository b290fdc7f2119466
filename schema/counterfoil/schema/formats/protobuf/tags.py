"""Tags of Protobuf: the options ``confluent.message_meta`` and ``confluent.field_meta``, in either spelling."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.entity import Entity, EntityKind
from counterfoil.schema.formats.protobuf.print.printing import print_file
from counterfoil.schema.formats.protobuf.read.ast import Aggregate, Entry, Import, ListValue, Option, Scalar, ValueKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.entity import TagEdit
    from counterfoil.schema.formats.protobuf.read.ast import Field, Message, OptionValue, ProtoFile
    from counterfoil.schema.formats.protobuf.schema import ProtobufSchema

_META_FILE: Final = "confluent/meta.proto"
_TAGS: Final = "tags"
_OPTION_BY_KIND: Final = {EntityKind.RECORD: "(confluent.message_meta)", EntityKind.FIELD: "(confluent.field_meta)"}


def find_tags(schema: ProtobufSchema) -> list[tuple[Entity, tuple[str, ...]]]:
    """Return every message and field with its tags, in the order of the text."""
    prefix = schema.file.package_prefix
    return [tagged for message in schema.file.messages for tagged in _of_message(message, prefix)]


def edit_tags(schema: ProtobufSchema, edit: TagEdit) -> str:
    """Return the canonical text with the tags changed."""
    return print_file(_with_tags(schema.file, edit))


def _of_message(message: Message, prefix: str) -> Iterator[tuple[Entity, tuple[str, ...]]]:
    path = f"{prefix}{message.name}"
    yield Entity(path, EntityKind.RECORD), _read(message.options, EntityKind.RECORD)
    for field in _fields(message):
        yield Entity(f"{path}.{field.name}", EntityKind.FIELD), _read(field.options, EntityKind.FIELD)
    for inner in message.messages:
        yield from _of_message(inner, f"{path}.")


def _fields(message: Message) -> Iterator[Field]:
    yield from message.fields
    for oneof in message.oneofs:
        yield from oneof.fields


def _with_tags(file: ProtoFile, edit: TagEdit) -> ProtoFile:
    """Return the file with the tags changed, and with the import of the file of the options if tags are added."""
    messages = tuple(_edited(message, file.package_prefix, edit) for message in file.messages)
    is_imported = any(each.path == _META_FILE for each in file.imports)
    imports = file.imports if is_imported or not edit.add else (*file.imports, Import(_META_FILE))
    return replace(file, messages=messages, imports=imports)


def _edited(message: Message, prefix: str, edit: TagEdit) -> Message:
    path = f"{prefix}{message.name}"

    def edited(field: Field) -> Field:
        return replace(field, options=_written(field.options, Entity(f"{path}.{field.name}", EntityKind.FIELD), edit))

    return replace(
        message,
        options=_written(message.options, Entity(path, EntityKind.RECORD), edit),
        fields=tuple(edited(field) for field in message.fields),
        oneofs=tuple(replace(oneof, fields=tuple(edited(field) for field in oneof.fields)) for oneof in message.oneofs),
        all_fields=tuple(edited(field) for field in message.all_fields),
        messages=tuple(_edited(inner, f"{path}.", edit) for inner in message.messages),
    )


def _read(options: tuple[Option, ...], kind: EntityKind) -> tuple[str, ...]:
    name = _OPTION_BY_KIND[kind]
    found: list[str] = []
    for option in options:
        if option.name == f"{name}.{_TAGS}":
            found += _texts(option.value)
        elif option.name == name and isinstance(option.value, Aggregate):
            for entry in option.value.entries:
                if entry.name == _TAGS:
                    found += _texts(entry.value)
    return tuple(dict.fromkeys(found))


def _texts(value: OptionValue) -> list[str]:
    if isinstance(value, ListValue):
        return [item.text for item in value.items if isinstance(item, Scalar)]
    return [value.text] if isinstance(value, Scalar) else []


def _written(options: tuple[Option, ...], entity: Entity, edit: TagEdit) -> tuple[Option, ...]:
    """Return the options with the changed tags of ``entity`` in one option; other options are unchanged."""
    if entity not in edit.entities:
        return options
    name = _OPTION_BY_KIND[entity.kind]
    tags = edit.applied(entity, _read(options, entity.kind))
    entries: tuple[Entry, ...] = ()
    kept: list[Option] = []
    for option in options:
        if option.name == name and isinstance(option.value, Aggregate):
            entries += tuple(entry for entry in option.value.entries if entry.name != _TAGS)
        elif option.name != f"{name}.{_TAGS}":
            kept.append(option)
    if tags:
        listed = ListValue(tuple(Scalar(ValueKind.STRING, tag) for tag in tags))
        entries += (Entry(_TAGS, listed),)
    return (*kept, Option(name, Aggregate(entries))) if entries else tuple(kept)
