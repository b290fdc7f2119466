"""Where each named thing of a file stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.formats.protobuf.ast import Enum, Extend, Message, ProtoFile
    from counterfoil.schema.position import Position


def position_by_pointer(file: ProtoFile) -> Mapping[str, Position]:
    """The position of every message, field, oneof, enum, constant, service and method, by its pointer.

    Where a name is declared twice, the first one counts.
    """
    found: dict[str, Position] = {}
    for pointer, position in _in_file(file):
        found.setdefault(pointer, position)
    return found


def _in_file(file: ProtoFile) -> Iterator[tuple[str, Position]]:
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


def _in_message(message: Message) -> Iterator[tuple[str, Position]]:
    yield message.pointer, message.position
    for field in message.all_fields:
        yield field.pointer, field.position
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


def _in_enum(enum: Enum) -> Iterator[tuple[str, Position]]:
    yield enum.pointer, enum.position
    for constant in enum.constants:
        yield constant.pointer, constant.position


def _in_extend(extend: Extend) -> Iterator[tuple[str, Position]]:
    for field in extend.fields:
        yield field.pointer, field.position
