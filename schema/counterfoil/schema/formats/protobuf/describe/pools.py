"""The message types of a schema in Google's runtime: a descriptor pool with the schema's file and its imports.

Source of the behaviour: the Python package ``protobuf``.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.formats.protobuf.describe.descriptor_input import read_descriptors
from counterfoil.schema.formats.protobuf.describe.descriptors import DEFAULT_NAME, descriptor_set
from counterfoil.schema.formats.protobuf.describe.reading import is_descriptor
from counterfoil.schema.formats.protobuf.read.files import missing_imports

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    from counterfoil.schema.formats.protobuf.read.files import SchemaFiles


class PoolRefuses(CounterfoilError):
    """The runtime refuses a schema."""


def pooled_file(schema: SchemaFiles, text: str = "") -> FileDescriptor:
    """Return the file of a schema in a descriptor pool of its own, which also has the files that it imports.

    If ``text``, the schema's text, is a descriptor in base64, nested messages are in its order: a tree keeps no order
    between a message's fields and its nested messages. Raises ``PoolRefuses`` with the runtime's reason.
    """
    try:
        *imports, own = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set(schema)).file
        pool = descriptor_pool.DescriptorPool()
        for file in (*imports, _written(text) or own):
            pool.AddSerializedFile(file.SerializeToString())
        return pool.FindFileByName(DEFAULT_NAME)
    except (TypeError, KeyError, DecodeError) as refused:
        missing = ", ".join(repr(item.path) for item, _ in missing_imports(schema.file, schema.imports))
        reason = " ".join(f"{type(refused).__name__}: {refused}".split())
        raise PoolRefuses(f"{reason}; no reference provides {missing}" if missing else reason) from refused


def _written(text: str) -> FileDescriptorProto | None:
    """Return the descriptor that a text is, with the file name of schemas; None for a ``.proto`` file."""
    if not is_descriptor(text):
        return None
    *_, proto = read_descriptors(b64decode(text))
    proto.name = DEFAULT_NAME
    return proto
