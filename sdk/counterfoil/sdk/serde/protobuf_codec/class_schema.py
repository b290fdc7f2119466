"""The schema of a generated class, with the files that it imports: what a serializer registers.

Source: the behaviour of Confluent's serializers; ``google/protobuf/descriptor.proto``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from google.protobuf.message import Message

from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.writing import Import

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor

    from counterfoil.schema.formats.protobuf.describe.dynamic import MessageClass

ReferenceSubject: TypeAlias = Callable[[str], str]
"""Names the subject of an imported file from its import path."""

_KNOWN_FOLDERS: Final = ("google/protobuf/", "google/type/", "confluent/")


def IMPORT_PATH(path: str) -> str:  # noqa: N802 - a constant to its users, as the strategies of subjects
    """Return the import path itself.

    >>> IMPORT_PATH("taxi/place.proto")
    'taxi/place.proto'
    """
    return path


def QUALIFIED(path: str) -> str:  # noqa: N802 - as above
    """Return the import path as a name with dots.

    >>> QUALIFIED("taxi/place.proto")
    'taxi.place'
    """
    return path.removesuffix(".proto").replace("/", ".")


def schema_of_class(class_: MessageClass) -> Schema:
    """Return the schema of the file that declares a generated class, a descriptor in base64 without references."""
    return _schema(class_.DESCRIPTOR.file)


def imports_of_class(
    class_: MessageClass, *, reference_subject: ReferenceSubject, skip_known_types: bool
) -> tuple[Import, ...]:
    """Return the imports of the file that declares a generated class.

    With ``skip_known_types`` they are without the files of Google and Confluent, which registries have built in.
    """
    return _imports(class_.DESCRIPTOR.file, reference_subject, skip_known_types=skip_known_types)


def checked_class(class_: object, setting: str) -> MessageClass:
    """Return the class if it is one of messages; raise ``InvalidSettings``."""
    if isinstance(class_, type) and issubclass(class_, Message) and hasattr(class_, "DESCRIPTOR"):
        return class_
    raise InvalidSettings(f"{setting} is {class_!r:.80}; expected a generated class of messages", setting=setting)


def _imports(file: FileDescriptor, subject: ReferenceSubject, *, skip_known_types: bool) -> tuple[Import, ...]:
    return tuple(
        Import(each.name, subject(each.name), _schema(each), _imports(each, subject, skip_known_types=skip_known_types))
        for each in file.dependencies
        if not (skip_known_types and each.name.startswith(_KNOWN_FOLDERS))
    )


def _schema(file: FileDescriptor) -> Schema:
    return Schema(b64encode(file.serialized_pb).decode("ascii"), SchemaType.PROTOBUF)
