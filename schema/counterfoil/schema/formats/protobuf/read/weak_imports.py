"""Weak imports, which are in the stored text only if the file uses a type of one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.schema.formats.protobuf.read.ast import ImportKind
from counterfoil.schema.formats.protobuf.read.symbols import visible_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from counterfoil.schema.formats.protobuf.read.ast import Extend, Message, ProtoFile
    from counterfoil.schema.formats.protobuf.read.symbols import SymbolTable


def without_unused_weak_imports(file: ProtoFile, imports: Mapping[str, ProtoFile], symbols: SymbolTable) -> ProtoFile:
    """Return the file as it is stored: without its weak imports, unless it names a type of one of them."""
    others = (item for item in file.imports if item.kind is not ImportKind.WEAK)
    stripped = replace(file, imports=tuple(others))
    seen = {id(file), *(id(each) for each in visible_files(stripped, imports))}
    for name, scope in _type_names(file):
        found = symbols.resolve(name, scope)
        if found is not None and id(found.file) not in seen:
            return file
    return stripped


def has_weak_imports(file: ProtoFile) -> bool:
    """Return whether the file has a weak import."""
    return any(item.kind is ImportKind.WEAK for item in file.imports)


def _type_names(file: ProtoFile) -> Iterator[tuple[str, str]]:
    """Yield every name of a type, and the scope in which it is resolved."""
    for message in file.messages:
        yield from _in_message(message, file.package_prefix + message.name)
    yield from _in_extends(file.extends, file.package)
    for service in file.services:
        for rpc in service.rpcs:
            yield from ((rpc.request, file.package), (rpc.response, file.package))


def _in_message(message: Message, scope: str) -> Iterator[tuple[str, str]]:
    for field in message.all_fields:
        yield (field.type if field.map is None else field.map.value), scope
        if field.group is not None:
            yield from _in_message(field.group, f"{scope}.{field.name}")
    for nested in message.messages:
        yield from _in_message(nested, f"{scope}.{nested.name}")
    yield from _in_extends(message.extends, scope)


def _in_extends(extends: Iterable[Extend], scope: str) -> Iterator[tuple[str, str]]:
    for extend in extends:
        yield extend.extendee, scope
        yield from ((field.type, scope) for field in extend.fields)
