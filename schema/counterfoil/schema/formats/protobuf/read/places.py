"""Pointers and positions of the elements of a file.

The pointer of an element without a name ends with a step that begins with ``#``, which no name can contain.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

from counterfoil.schema.paths.model import member

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterfoil.schema.formats.protobuf.read.ast import Enum, Extend, Field, Message, ProtoFile, Reserved
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.position import Position

PACKAGE_POINTER: Final[Pointer] = ("#package",)
"""The pointer of a file's ``package`` statement."""


def import_pointer(path: str) -> Pointer:
    """Return the pointer of the import of a file."""
    return (f"#import {path}",)


def option_pointer(pointer: Pointer, name: str) -> Pointer:
    """Return the pointer of an option of the element at ``pointer``."""
    return (*pointer, f"#{name}")


def reserved_pointer(pointer: Pointer, index: int) -> Pointer:
    """Return the pointer of one of the ``reserved`` statements of the message or enum at ``pointer``."""
    return (*pointer, f"#reserved {index}")


def path_at(pointer: Pointer) -> FieldPath:
    """Return the field path of the element at ``pointer``; of its parent, if it has no name.

    >>> [step.name for step in path_at(("Order", "Line", "price", "#default"))]
    ['Order', 'Line', 'price']
    """
    return tuple(map(member, takewhile(lambda name: not name.startswith("#"), map(str, pointer))))


def position_by_pointer(file: ProtoFile) -> Mapping[Pointer, Position]:
    """Return the position of every element that findings may refer to, by its pointer.

    Of a name that is declared twice, it is the first position.
    """
    found: dict[Pointer, Position] = {}
    for pointer, position in _in_file(file):
        found.setdefault(pointer, position)
    return found


def _in_file(file: ProtoFile) -> Iterator[tuple[Pointer, Position]]:
    if file.package_position is not None:
        yield PACKAGE_POINTER, file.package_position
    for option in file.options:
        yield option_pointer((), option.name), option.position
    for item in file.imports:
        yield import_pointer(item.path), item.position
    for message in file.messages:
        yield from _in_message(message)
    for enum in file.enums:
        yield from _in_enum(enum)
    for extend in file.extends:
        yield from _in_extend(extend)
    for service in file.services:
        yield service.pointer, service.position
        for rpc in service.rpcs:
            yield rpc.pointer, rpc.position
            for option in rpc.options:
                yield option_pointer(rpc.pointer, option.name), option.position


def _in_message(message: Message) -> Iterator[tuple[Pointer, Position]]:
    yield message.pointer, message.position
    yield from _reserved(message.pointer, message.reserved)
    for field in message.all_fields:
        yield from _in_field(field)
        if field.group is not None:
            yield from _in_message(field.group)
    for oneof in message.oneofs:
        yield oneof.pointer, oneof.position
    for nested in message.messages:
        yield from _in_message(nested)
    for enum in message.enums:
        yield from _in_enum(enum)
    for extend in message.extends:
        yield from _in_extend(extend)


def _in_enum(enum: Enum) -> Iterator[tuple[Pointer, Position]]:
    yield enum.pointer, enum.position
    yield from _reserved(enum.pointer, enum.reserved)
    for constant in enum.constants:
        yield constant.pointer, constant.position


def _in_extend(extend: Extend) -> Iterator[tuple[Pointer, Position]]:
    for field in extend.fields:
        yield from _in_field(field)


def _in_field(field: Field) -> Iterator[tuple[Pointer, Position]]:
    yield field.pointer, field.position
    for option in field.options:
        yield option_pointer(field.pointer, option.name), option.position


def _reserved(pointer: Pointer, statements: Sequence[Reserved]) -> Iterator[tuple[Pointer, Position]]:
    for index, statement in enumerate(statements):
        yield reserved_pointer(pointer, index), statement.position
