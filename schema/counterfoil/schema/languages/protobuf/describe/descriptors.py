"""Descriptors of schemas with the files they import: made in the order that a runtime requires, and read."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message import Error as MessageError

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.protobuf.describe.from_descriptor import file_from_descriptor
from counterfoil.schema.languages.protobuf.describe.known_files import KNOWN_PATHS, known_file, runtime_descriptor
from counterfoil.schema.languages.protobuf.describe.to_descriptor import DescriptorBuilder
from counterfoil.schema.languages.protobuf.read.parser import parse_file
from counterfoil.schema.languages.protobuf.read.symbols import FileWithImports, SymbolTable
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    ProtoField,
    ProtoFile,
    ProtoMapType,
    ProtoOption,
    map_entry_name,
)

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

# The descriptor of a file with its names as they were written, as registries return it.
#
# It differs from the descriptor that ``protoc`` makes: type names are not resolved, and labels, JSON names and the
# syntax are missing if they were not written. The runtime accepts it, and the text printed from it is the original one.
#
# Source: responses with ``format=serialized`` recorded from Confluent Schema Registry 8.5.


class AsWrittenBuilder(DescriptorBuilder):
    """A builder of the descriptor of one file with its names as they were written."""

    def _build(self, dependencies: Container[str]) -> None:
        super()._build(dependencies)
        if self._file.syntax:
            self.proto.syntax = self._file.syntax

    def _add_field(
        self, proto: FieldDescriptorProto, field: ProtoField, scope: str, *, oneof_index: int | None = None
    ) -> None:
        super()._add_field(proto, field, scope, oneof_index=oneof_index)
        if field.label is None and field.map is None:
            proto.ClearField("label")
        if not any(option.name == "json_name" for option in field.options):
            proto.ClearField("json_name")
        if field.map is not None:
            proto.ClearField("type")
            proto.type_name = _entry_name(field.name)

    def _add_map_entry(self, proto: DescriptorProto, field: ProtoField, map_type: ProtoMapType, scope: str) -> None:
        super()._add_map_entry(proto, field, map_type, scope)
        proto.name = _entry_name(field.name)
        for inner in proto.field:
            inner.ClearField("label")
            inner.ClearField("json_name")

    def _set_type(self, proto: FieldDescriptorProto, name: str, scope: str) -> None:
        super()._set_type(proto, name, scope)
        if proto.type_name:
            proto.type_name = name

    def _type_name(self, name: str, scope: str) -> str:  # noqa: ARG002 - names are as written, whatever their scope
        return name


def _entry_name(name: str) -> str:
    """Return the name of a map's entries: in camel case only if the field's name has underscores."""
    return map_entry_name(name) if "_" in name else f"{name}Entry"


# Descriptors of schemas with the files they import, each after its own imports, as a runtime requires.
#
# Source: ``google/protobuf/descriptor.proto``.

DEFAULT_NAME: Final = "default"
"""The file name given to a schema, which has none."""

_DESCRIPTOR_PATH: Final = "google/protobuf/descriptor.proto"


def descriptor_set(schema: FileWithImports, *, name: str = DEFAULT_NAME) -> bytes:
    """Return a serialised ``FileDescriptorSet`` with the schema last and everything it imports before it.

    ``name`` is the schema's file name in it. An import that is not known is left out. Raises ``InvalidSchema`` for
    cyclic imports.
    """
    return descriptor_pb2.FileDescriptorSet(file=_ordered(schema, name)).SerializeToString()


def file_descriptor(schema: FileWithImports, *, name: str = DEFAULT_NAME) -> bytes:
    """Return a serialised ``FileDescriptorProto`` of the schema alone; ``name`` is its file name in it."""
    return _ordered(schema, name)[-1].SerializeToString()


def serialized(canonical: str, imports: Mapping[str, ProtoFile]) -> str:
    """Return the ``FileDescriptorProto`` of a schema in base64, as the registry returns it for ``format=serialized``.

    It describes the ``canonical`` text with its type names as they are written; parsed as a schema, it has this text.
    """
    builder = _SetBuilder(imports)
    file = parse_file(canonical)
    for item in file.imports:
        if item.path in imports:
            builder.add(imports[item.path], item.path)
    described = AsWrittenBuilder(file, SymbolTable(file, imports), name=DEFAULT_NAME, dependencies=imports.keys())
    proto = builder.finish(described)
    return b64encode(proto.SerializeToString()).decode("ascii")


@dataclass(frozen=True, slots=True)
class Refusals:
    """The parts of a schema that a runtime refuses: unknown options, and the error for the file, ``""`` for none."""

    unknown_options: Sequence[ProtoOption]
    runtime: str


def find_refusals(schema: FileWithImports) -> Refusals:
    """Return the unknown options of a schema, and the runtime's error for it."""
    builder = _SetBuilder(schema.imports)
    try:
        builder.add(schema.file, DEFAULT_NAME)
        pool = descriptor_pool.DescriptorPool()
        for proto in builder.protos:
            pool.AddSerializedFile(proto.SerializeToString())
            pool.FindFileByName(proto.name)
    except (TypeError, KeyError, InvalidSchema) as error:
        return Refusals(builder.unknown_options, str(error))
    return Refusals(builder.unknown_options, "")


@cache
def known_descriptor(path: str) -> bytes:
    """Return the serialised ``FileDescriptorProto`` of a file that needs no reference; ``KeyError`` for any other."""
    serialized = runtime_descriptor(path)
    if serialized is not None:
        return serialized
    file = known_file(path)
    if file is None:
        raise KeyError(path)
    imports = {each.path: each for each in (known_file(item.path) for item in file.imports) if each is not None}
    return DescriptorBuilder(
        file, SymbolTable(file, imports), name=path, dependencies=KNOWN_PATHS
    ).proto.SerializeToString()


def _ordered(schema: FileWithImports, name: str) -> list[FileDescriptorProto]:
    """Return the descriptors, each after those it imports."""
    builder = _SetBuilder(schema.imports)
    builder.add(schema.file, name)
    return builder.protos


class _SetBuilder:
    """A builder of the descriptors of a file and of all its imports.

    ``unknown_options`` are those of the file that was built last.
    """

    def __init__(self, imports: Mapping[str, ProtoFile]) -> None:
        self._imports = imports
        self._open: set[str] = set()
        self._done: set[str] = set()
        self.protos: list[FileDescriptorProto] = []
        self.unknown_options: list[ProtoOption] = []

    def add(self, file: ProtoFile, name: str) -> None:
        """Add a file after all its imports; without recursion, since chains of imports may be long."""
        waiting = [(file, name, self._dependencies(file))]
        self._open.add(name)
        while waiting:
            file, name, dependencies = waiting[-1]
            path = next((path for path in dependencies if path not in self._done), None)
            if path is None:
                waiting.pop()
                self._open.discard(name)
                self._done.add(name)
                self.protos.append(self._describe(file, name))
            elif path in self._open:
                raise InvalidSchema(f"Invalid schema: the imports of {path!r} lead back to it")
            else:
                self._open.add(path)
                imported = self._imports[path]
                waiting.append((imported, path, self._dependencies(imported)))

    def _dependencies(self, file: ProtoFile) -> list[str]:
        return [item.path for item in file.imports if item.path in self._imports]

    def _describe(self, file: ProtoFile, name: str) -> FileDescriptorProto:
        if known_file(name) is file:
            return descriptor_pb2.FileDescriptorProto.FromString(known_descriptor(name))
        symbols = SymbolTable(file, self._imports)
        return self.finish(DescriptorBuilder(file, symbols, name=name, dependencies=self._imports.keys()))

    def finish(self, builder: DescriptorBuilder) -> FileDescriptorProto:
        """Return the descriptor after the options that need an extension were added."""
        if builder.options.has_custom:
            builder.options.write_custom(self._class_finder(builder.proto))
        self.unknown_options = builder.options.unknown
        return builder.proto

    def _class_finder(self, proto: FileDescriptorProto) -> Callable[[str], type[Message]] | None:
        """Return a function from full name to message class; None if the runtime refuses a file."""
        pool = descriptor_pool.DescriptorPool()
        try:
            if all(each.name != _DESCRIPTOR_PATH for each in self.protos):
                pool.AddSerializedFile(known_descriptor(_DESCRIPTOR_PATH))
            for each in (*self.protos, proto):
                pool.AddSerializedFile(each.SerializeToString())
        except TypeError:
            return None
        return lambda full_name: message_factory.GetMessageClass(pool.FindMessageTypeByName(full_name))


# Reading of descriptors: one file, or a set of files.
#
# Source: ``google/protobuf/descriptor.proto``.


def files_of_descriptor(data: bytes) -> Sequence[ProtoFile]:
    """Return the files of a serialised ``FileDescriptorSet`` or ``FileDescriptorProto``; empty if it is neither.

    Options have the names of the extensions that the files and the built-in files declare. Raises ``ValueError`` for a
    string that is not UTF-8.
    """
    protos = read_descriptors(data)
    for proto in protos:
        _check_text(proto)
    return [file_from_descriptor(proto, path=proto.name) for proto in _with_known_options(protos)]


def read_descriptors(data: bytes) -> Sequence[FileDescriptorProto]:
    """Return the files of a serialised ``FileDescriptorSet`` or ``FileDescriptorProto``; empty if it is neither."""
    return _read_set(data) or _read_file(data)


def _read_set(data: bytes) -> Sequence[FileDescriptorProto]:
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(data).file
    except DecodeError:
        return ()
    return list(files) if files and all(map(_says_something, files)) else ()


def _read_file(data: bytes) -> Sequence[FileDescriptorProto]:
    try:
        proto = descriptor_pb2.FileDescriptorProto.FromString(data)
    except DecodeError:
        return ()
    return (proto,) if _says_something(proto) else ()


def _says_something(proto: FileDescriptorProto) -> bool:
    """Return whether the message has content of a file's descriptor; arbitrary bytes may parse as an empty one."""
    has_content = proto.message_type or proto.enum_type or proto.extension or proto.service or proto.dependency
    return bool(has_content or proto.syntax in {"proto2", "proto3", "editions"})


def _check_text(message: Message) -> None:
    """Raise ``ValueError`` if a string is not UTF-8: the runtime returns it as bytes, or fails when it is read."""
    for field, value in message.ListFields():
        values = (value,) if isinstance(value, (str, bytes, int, float, Message)) else value
        for each in values:
            if isinstance(each, Message):
                _check_text(each)
            elif isinstance(each, bytes) and field.type == FieldDescriptor.TYPE_STRING:
                raise ValueError(f"the {field.name} is not UTF-8")


def _with_known_options(protos: Sequence[FileDescriptorProto]) -> Iterable[FileDescriptorProto]:
    """Return the files parsed again with the extensions that they declare; unchanged if the runtime refuses them."""
    pool = descriptor_pool.DescriptorPool()
    try:
        for path in _needed(protos):
            pool.AddSerializedFile(known_descriptor(path))
        for proto in protos:
            if proto.name not in KNOWN_PATHS:
                pool.AddSerializedFile(proto.SerializeToString())
        kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FileDescriptorProto"))
        return [kind.FromString(proto.SerializeToString()) for proto in protos]  # type: ignore[misc]  # same message
    except (KeyError, TypeError, MessageError):
        return protos


def _needed(protos: Sequence[FileDescriptorProto]) -> Sequence[str]:
    """Return the paths of ``descriptor.proto`` and of the known files that ``protos`` import, in dependency order."""
    ordered: list[str] = []
    own = {proto.name for proto in protos}

    def visit(path: str) -> None:
        if path in ordered or path not in KNOWN_PATHS:
            return
        proto = descriptor_pb2.FileDescriptorProto.FromString(known_descriptor(path))
        for dependency in proto.dependency:
            visit(dependency)
        ordered.append(path)

    visit("google/protobuf/descriptor.proto")
    for proto in protos:
        for dependency in proto.dependency:
            if dependency not in own or dependency in KNOWN_PATHS:
                visit(dependency)
    return ordered
