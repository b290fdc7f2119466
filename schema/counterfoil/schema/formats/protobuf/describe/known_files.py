"""The built-in files, which every schema may import without a reference.

``google/protobuf/*.proto`` come from the descriptors of the protobuf runtime, which is imported at the first use.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.print.printing import print_file
from counterfoil.schema.formats.protobuf.read import confluent_types, google_types
from counterfoil.schema.formats.protobuf.read.parser import parse_file

if TYPE_CHECKING:
    from counterfoil.schema.formats.protobuf.read.ast import ProtoFile

_TEXT_BY_PATH: Final = {**google_types.TEXT_BY_PATH, **confluent_types.TEXT_BY_PATH}
_RUNTIME_MODULE_BY_PATH: Final = {
    f"google/protobuf/{name}.proto": f"google.protobuf.{name}_pb2"
    for name in (
        *("any", "api", "descriptor", "duration", "empty", "field_mask"),
        *("source_context", "struct", "timestamp", "type", "wrappers"),
    )
}

KNOWN_PATHS: Final = frozenset((*_TEXT_BY_PATH, *_RUNTIME_MODULE_BY_PATH))
"""The import paths of all built-in files."""


@cache
def known_file(path: str) -> ProtoFile | None:
    """Return the built-in file of an import path; None for a path that needs a reference."""
    text = _TEXT_BY_PATH.get(path)
    if text is None:
        serialized = runtime_descriptor(path)
        if serialized is None:
            return None
        from google.protobuf.descriptor_pb2 import FileDescriptorProto

        from counterfoil.schema.formats.protobuf.describe.from_descriptor import file_from_descriptor

        text = print_file(file_from_descriptor(FileDescriptorProto.FromString(serialized)))
    return parse_file(text, path=path)


def runtime_descriptor(path: str) -> bytes | None:
    """Return the serialized ``FileDescriptorProto`` that the runtime has for a path; None if it has none."""
    module = _RUNTIME_MODULE_BY_PATH.get(path)
    if module is None:
        return None
    serialized: bytes = import_module(module).DESCRIPTOR.serialized_pb
    return serialized
