"""The message types of one schema in Google's runtime, and their places in the schema's file.

A message's place is its path of message indexes: its number among the messages of the file, then among those nested in
that message, and so on. A map field has a nested message of its own, the type of its entries. Writers that work with
descriptors count these messages; others count the messages that the text declares. So a path may have two meanings.

Source: the wire format of Confluent's serializers; ``google/protobuf/descriptor.proto``.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from google.protobuf.message_factory import GetMessageClass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from google.protobuf.descriptor import FileDescriptor

    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyDescriptor, MessageClass

Path: TypeAlias = tuple[int, ...]
"""Message indexes."""


class MessageTypes:
    """The message types that the file of a schema declares, in the pool of this file."""

    def __init__(self, file: FileDescriptor) -> None:
        self.file = file

    @cached_property
    def declared(self) -> dict[str, AnyDescriptor]:
        """The message types by full name, outer ones before those that they contain; without those of map entries."""
        return {each.full_name: each for each in _with_nested(self.file.message_types_by_name.values())}

    def find(self, full_name: str | None) -> AnyDescriptor | None:
        """Return the message type of this name, or for None the first of the file; None if there is none."""
        if full_name is None:
            return next(iter(self.declared.values()), None)
        return self.declared.get(full_name)

    def at(self, path: Sequence[int]) -> list[AnyDescriptor]:
        """Return the message types that a path may mean, the one that counts map entries first; never a map entry."""
        found = (self._step(path, is_counted) for is_counted in (_is_any, _is_declared))
        return list(dict.fromkeys(each for each in found if each is not None and _is_declared(each)))

    def _step(self, path: Sequence[int], is_counted: Callable[[AnyDescriptor], bool]) -> AnyDescriptor | None:
        nested = list(self.file.message_types_by_name.values())
        found = None
        for index in path:
            if index >= len(nested):
                return None
            found = nested[index]
            nested = [each for each in found.nested_types if is_counted(each)]
        return found


def path_of(descriptor: AnyDescriptor) -> Path:
    """Return the path of a message type; entries of maps are counted, as by Confluent's serializers."""
    path: list[int] = []
    inner = descriptor
    while inner.containing_type is not None:
        path.append([each.full_name for each in inner.containing_type.nested_types].index(inner.full_name))
        inner = inner.containing_type
    path.append(list(descriptor.file.message_types_by_name).index(inner.name))
    return tuple(reversed(path))


def class_of(descriptor: AnyDescriptor) -> MessageClass:
    """Return the class of a message type in the pool of the descriptor."""
    return GetMessageClass(descriptor)


def _with_nested(descriptors: Iterable[AnyDescriptor]) -> Iterator[AnyDescriptor]:
    for each in descriptors:
        if _is_declared(each):
            yield each
            yield from _with_nested(each.nested_types)


def _is_any(descriptor: AnyDescriptor) -> bool:
    _ = descriptor
    return True


def _is_declared(descriptor: AnyDescriptor) -> bool:
    return not descriptor.GetOptions().map_entry
