"""Reading of descriptors: one file, or a set of files.

Source: ``google/protobuf/descriptor.proto``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message import Error as MessageError

from counterfoil.schema.formats.protobuf.describe.descriptors import known_descriptor
from counterfoil.schema.formats.protobuf.describe.from_descriptor import file_from_descriptor
from counterfoil.schema.formats.protobuf.describe.known_files import KNOWN_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    from counterfoil.schema.formats.protobuf.read.ast import ProtoFile


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
