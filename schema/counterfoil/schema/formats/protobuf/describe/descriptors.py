"""Descriptors of schemas with the files they import, each after its own imports, as a runtime requires.

Source: ``google/protobuf/descriptor.proto``.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.protobuf.describe.as_written import AsWrittenBuilder
from counterfoil.schema.formats.protobuf.describe.known_files import KNOWN_PATHS, known_file, runtime_descriptor
from counterfoil.schema.formats.protobuf.describe.to_descriptor import DescriptorBuilder
from counterfoil.schema.formats.protobuf.read.parser import parse_file
from counterfoil.schema.formats.protobuf.read.symbols import SymbolTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import Message

    from counterfoil.schema.formats.protobuf.read.ast import Option, ProtoFile
    from counterfoil.schema.formats.protobuf.read.files import SchemaFiles

DEFAULT_NAME: Final = "default"
"""The file name given to a schema, which has none."""

_DESCRIPTOR_PATH: Final = "google/protobuf/descriptor.proto"


def descriptor_set(schema: SchemaFiles, *, name: str = DEFAULT_NAME) -> bytes:
    """Return a serialised ``FileDescriptorSet`` with the schema last and everything it imports before it.

    ``name`` is the schema's file name in it. An import that is not known is left out. Raises ``InvalidSchema`` for
    cyclic imports.
    """
    return descriptor_pb2.FileDescriptorSet(file=_ordered(schema, name)).SerializeToString()


def file_descriptor(schema: SchemaFiles, *, name: str = DEFAULT_NAME) -> bytes:
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

    unknown_options: Sequence[Option]
    runtime: str


def find_refusals(schema: SchemaFiles) -> Refusals:
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


def _ordered(schema: SchemaFiles, name: str) -> list[FileDescriptorProto]:
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
        self.unknown_options: list[Option] = []

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
