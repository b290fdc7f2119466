"""The outline of a ``.proto`` file: its package, its first message, the files that it imports, and its tags."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from counterfoil.schema.languages.protobuf.printing import print_file
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    Aggregate,
    AggregateEntry,
    ListValue,
    OptionValue,
    ProtoField,
    ProtoFile,
    ProtoImport,
    ProtoMessage,
    ProtoOption,
    ScalarLiteral,
    ValueKind,
)
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.references import FileReferences, Files, FileTarget, Outline, Use, distance, nearest
from counterfoil.schema.marks import Entity, EntityKind, TagEdit
from counterfoil.schema.texts import Position

# The outline of a ``.proto`` file: its package, its first message, and what it imports.
#
# Only the ends of statements and blocks are parsed, so that a file with faults has an outline, too.

_TOKEN: Final = re.compile(
    r"""
      //[^\n]*+ | /\*.*?(?:\*/|\Z)
    | (?P<string>"(?:\\.|[^"\\\n])*+"? | '(?:\\.|[^'\\\n])*+'?)
    | (?P<word>[A-Za-z_][\w.]*+)
    | (?P<mark>[{};])
    """,
    re.VERBOSE | re.DOTALL,
)
"""The tokens. An unclosed comment or string ends with the text, so that no text is scanned twice."""
_LONGEST_HEAD: Final = 3
"""The number of words of a statement that are needed: ``import public "…"``, ``export message Order``."""


def outline(text: str) -> Outline | None:
    """Return the outline: the full name of the first message, and the used import paths with positions."""
    found = _Scan()
    for token in _TOKEN.finditer(text):
        found.take(token, text)
    name = found.message and (f"{found.package}.{found.message}" if found.package else found.message)
    uses = tuple(Use((path,), position) for path, position in found.imports.items())
    return Outline(name=name, declared=frozenset(), used=uses)


@dataclass(slots=True)
class _Scan:
    """The state of a scan; ``words`` and ``string`` are those of the current statement."""

    package: str = ""
    message: str | None = None
    imports: dict[str, Position] = field(default_factory=dict)
    depth: int = 0
    words: list[str] = field(default_factory=list)
    string: re.Match[str] | None = None

    def take(self, token: re.Match[str], text: str) -> None:
        """Process the next token."""
        mark = token["mark"]
        if mark:
            self._end_statement(text, is_block=mark == "{")
            self.depth = max(0, self.depth + {"{": 1, "}": -1, ";": 0}[mark])
        elif self.depth == 0 and token["string"]:
            self.string = token
        elif self.depth == 0 and token["word"] and len(self.words) < _LONGEST_HEAD:
            self.words.append(token["word"])

    def _end_statement(self, text: str, *, is_block: bool) -> None:
        match self.words:
            case ["package", package, *_] if not is_block:
                self.package = package
            case ["import", *_] if self.string is not None and not is_block:
                path = self.string["string"].strip("\"'")
                self.imports.setdefault(path, _position(text, self.string.start()))
            case ["message", name, *_] | ["export" | "local", "message", name] if is_block and self.message is None:
                self.message = name
        self.words, self.string = [], None


def _position(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


# The files that ``.proto`` files import, by their paths.


class _ProtobufReferences(FileReferences):
    """An import is the file whose path ends with it, below the nearest folder around the importing file."""

    reach_below: Final = True

    def target(self, use: Use, files: Files, *, asker: str, root: str) -> FileTarget | None:
        from counterfoil.schema.languages.protobuf.describe.known_files import KNOWN_PATHS

        del asker
        (name,) = use.names
        if name in KNOWN_PATHS:
            return None
        wanted = posixpath.normpath(name)
        named = files.called(posixpath.basename(wanted))
        ends = (path for path in named if path == wanted or path.endswith(f"/{wanted}"))
        folder = posixpath.dirname(root)
        by_path = {path: distance(folder, path.removesuffix(wanted).rstrip("/")) for path in ends}
        return nearest(files, name, by_path)

    def missing(self, name: str) -> str:
        return f"no file here has a path that ends with {name!r}"


REFERENCES: Final = _ProtobufReferences()


# Tags of Protobuf: the options ``confluent.message_meta`` and ``confluent.field_meta``, in either spelling.

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


def _of_message(message: ProtoMessage, prefix: str) -> Iterator[tuple[Entity, tuple[str, ...]]]:
    path = f"{prefix}{message.name}"
    yield Entity(path, EntityKind.RECORD), tags_written(message.options, EntityKind.RECORD)
    for each in _fields(message):
        yield Entity(f"{path}.{each.name}", EntityKind.FIELD), tags_written(each.options, EntityKind.FIELD)
    for inner in message.messages:
        yield from _of_message(inner, f"{path}.")


def _fields(message: ProtoMessage) -> Iterator[ProtoField]:
    yield from message.fields
    for oneof in message.oneofs:
        yield from oneof.fields


def _with_tags(file: ProtoFile, edit: TagEdit) -> ProtoFile:
    """Return the file with the tags changed, and with the import of the file of the options if tags are added."""
    messages = tuple(_edited(message, file.package_prefix, edit) for message in file.messages)
    is_imported = any(each.path == _META_FILE for each in file.imports)
    imports = file.imports if is_imported or not edit.add else (*file.imports, ProtoImport(_META_FILE))
    return replace(file, messages=messages, imports=imports)


def _edited(message: ProtoMessage, prefix: str, edit: TagEdit) -> ProtoMessage:
    path = f"{prefix}{message.name}"

    def edited(field: ProtoField) -> ProtoField:
        return replace(field, options=_written(field.options, Entity(f"{path}.{field.name}", EntityKind.FIELD), edit))

    return replace(
        message,
        options=_written(message.options, Entity(path, EntityKind.RECORD), edit),
        fields=tuple(edited(field) for field in message.fields),
        oneofs=tuple(replace(oneof, fields=tuple(edited(field) for field in oneof.fields)) for oneof in message.oneofs),
        all_fields=tuple(edited(field) for field in message.all_fields),
        messages=tuple(_edited(inner, f"{path}.", edit) for inner in message.messages),
    )


def tags_written(options: tuple[ProtoOption, ...], kind: EntityKind) -> tuple[str, ...]:
    """Return the tags in the options of a message or field, in the order written."""
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
        return [item.text for item in value.items if isinstance(item, ScalarLiteral)]
    return [value.text] if isinstance(value, ScalarLiteral) else []


def _written(options: tuple[ProtoOption, ...], entity: Entity, edit: TagEdit) -> tuple[ProtoOption, ...]:
    """Return the options with the changed tags of ``entity`` in one option; other options are unchanged."""
    if entity not in edit.entities:
        return options
    name = _OPTION_BY_KIND[entity.kind]
    tags = edit.applied(entity, tags_written(options, entity.kind))
    entries: tuple[AggregateEntry, ...] = ()
    kept: list[ProtoOption] = []
    for option in options:
        if option.name == name and isinstance(option.value, Aggregate):
            entries += tuple(entry for entry in option.value.entries if entry.name != _TAGS)
        elif option.name != f"{name}.{_TAGS}":
            kept.append(option)
    if tags:
        listed = ListValue(tuple(ScalarLiteral(ValueKind.STRING, tag) for tag in tags))
        entries += (AggregateEntry(_TAGS, listed),)
    return (*kept, ProtoOption(name, Aggregate(entries))) if entries else tuple(kept)
