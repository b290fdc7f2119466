"""Comparison of methods by the rules of ``buf breaking``: request, response, streaming and idempotency level.

Source: the results of ``buf breaking`` 1.75.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.compare.findings import MessagePair, found_at
from counterfoil.schema.formats.protobuf.read.ast import Scalar
from counterfoil.schema.formats.protobuf.read.places import option_pointer
from counterfoil.schema.formats.protobuf.wire import rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.formats.protobuf.compare.findings import ProtobufDifference
    from counterfoil.schema.formats.protobuf.read.ast import Rpc
    from counterfoil.schema.formats.protobuf.types.index import FileTypes
    from counterfoil.schema.pointer import Pointer

_UNKNOWN: Final = "IDEMPOTENCY_UNKNOWN"


def rpc_differences(reader: Iterable[FileTypes], writer: Iterable[FileTypes]) -> Iterator[ProtobufDifference]:
    """Yield the differences of the methods that both sides have, matched by the service's full name and their own."""
    mine = {name: (rpc, types) for name, rpc, types in _methods(reader)}
    for name, rpc, types in _methods(writer):
        if name in mine:
            yield from _method(name, mine[name], (rpc, types))


def _methods(files: Iterable[FileTypes]) -> Iterator[tuple[str, Rpc, FileTypes]]:
    for types in files:
        for service in types.file.services:
            for rpc in service.rpcs:
                yield f"{types.file.package_prefix}{service.name}.{rpc.name}", rpc, types


def _method(name: str, reader: tuple[Rpc, FileTypes], writer: tuple[Rpc, FileTypes]) -> Iterator[ProtobufDifference]:
    place = MessagePair(tuple(name.split(".")))
    mine, theirs = reader[0], writer[0]
    compared = (
        (rules.RPC_SAME_REQUEST_TYPE, _type(mine.request, reader[1]), _type(theirs.request, writer[1])),
        (rules.RPC_SAME_RESPONSE_TYPE, _type(mine.response, reader[1]), _type(theirs.response, writer[1])),
        (rules.RPC_SAME_CLIENT_STREAMING, _flow(mine.request_streaming), _flow(theirs.request_streaming)),
        (rules.RPC_SAME_SERVER_STREAMING, _flow(mine.response_streaming), _flow(theirs.response_streaming)),
        (rules.RPC_SAME_IDEMPOTENCY_LEVEL, _level(mine), _level(theirs)),
    )
    for rule, is_now, was in compared:
        if is_now != was:
            facts = {"name": name, "reader": is_now, "writer": was}
            option = "idempotency_level" if rule is rules.RPC_SAME_IDEMPOTENCY_LEVEL else ""
            pointers = (_pointer(*reader, option), _pointer(*writer, option))
            yield found_at(place, rule, facts=facts, gist="{writer} to {reader}", pointers=pointers)


def _pointer(rpc: Rpc, types: FileTypes, option: str) -> Pointer:
    """Return the pointer of the method or of its option ``option``; that of the import, if it is in another file."""
    pointer = types.index.uses.pointer_to_file(types.file) or rpc.pointer
    return option_pointer(pointer, option) if option else pointer


def _type(name: str, types: FileTypes) -> str:
    symbol = types.symbols.resolve(name, types.file.package) or types.index.find(name, types.file.package)
    return symbol.full_name if symbol else name.removeprefix(".")


def _flow(is_streaming: bool) -> str:  # noqa: FBT001 - the flag of the syntax tree, converted to words
    return "a stream" if is_streaming else "one message"


def _level(rpc: Rpc) -> str:
    for option in rpc.options:
        if option.name == "idempotency_level" and isinstance(option.value, Scalar):
            return option.value.text
    return _UNKNOWN
