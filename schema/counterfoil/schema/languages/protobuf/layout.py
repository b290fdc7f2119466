"""The layout of a Protobuf schema's text, its tokens, and the names in it that refer to declared types.

A text that its author has laid out stays as it is, with its comments. One that has most of its statements in one line,
or is a descriptor, is printed as a registry stores it, without comments.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from counterfoil.schema.languages.laid_out_text import LongToken, SchemaLayout, TokenPattern
from counterfoil.schema.languages.protobuf.read.parser import parse_file
from counterfoil.schema.languages.protobuf.read.symbols import SymbolTable, position_by_pointer
from counterfoil.schema.languages.protobuf.read.syntax_tree import Extend, ProtoFile, ProtoMessage
from counterfoil.schema.languages.protobuf.read.tokens import Cursor
from counterfoil.schema.languages.protobuf.reading import is_descriptor
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.texts import Pointer, Position, print_pointer

_STATEMENTS_A_LINE: Final = 2
"""The largest number of statements and blocks for each line of a text that stays as it is."""

PROTOBUF_TOKENS: Final = TokenPattern(
    re.compile(
        r"""
          (?P<comment>//.*+|/\*.*?(?:\*/|\Z))
        | (?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+"? | '[^'\\]*+(?:\\.[^'\\]*+)*+'?)
        | (?P<number>-?\.?[0-9][0-9A-Za-z_.]*+(?:(?<=[eE])[+\-][0-9]++)?)
        | (?P<word>\b(?:syntax|edition|package|import|public|weak|option|message|enum|service|rpc|returns|stream
            |extend|extensions|reserved|to|max|oneof|map|group|repeated|optional|required|export|local|true|false
            |double|float|int32|int64|uint32|uint64|sint32|sint64|fixed32|fixed64|sfixed32|sfixed64|bool|string|bytes)
            \b(?![.]))
        | (?P<name>\.?[A-Za-z_][\w.\-]*+)
        """,
        re.VERBOSE,
    )
)
_MAY_BE_LONG: Final = re.compile(
    r"//[^\n]*+|(?P<comment>/\*.*?(?:\*/|\Z))"
    r"|(?P<text>\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:\"|\Z)|'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\Z))",
    re.DOTALL,
)


def lay_out(schema: ProtobufSchema) -> SchemaLayout:
    """Return the text laid out for people."""
    text, file = _laid_out(schema)
    long_tokens = [
        LongToken(found.start(), found.end(), found.lastgroup or "")
        for found in _MAY_BE_LONG.finditer(text)
        if "\n" in found[0]
    ]
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    return SchemaLayout(
        schema.schema_type,
        text,
        PROTOBUF_TOKENS,
        offsets=_NamedOffsets(position_by_pointer(file), starts),
        types=dict(_TypeUses(schema, file, text, starts).found()),
        long_tokens=long_tokens,
    )


def _laid_out(schema: ProtobufSchema) -> tuple[str, ProtoFile]:
    """Return the text to show, and its tree."""
    text = schema.text.replace("\r\n", "\n")
    statements = text.count(";") + text.count("{")
    if not is_descriptor(schema.text) and statements <= _STATEMENTS_A_LINE * (text.count("\n") + 1):
        return text.rstrip(), schema.file
    printed = schema.canonical().rstrip()
    return printed, parse_file(printed)


class _NamedOffsets:
    """The offsets of the declarations of a file, by pointer."""

    def __init__(self, positions: Mapping[Pointer, Position], starts: list[int]) -> None:
        self._offset_by_pointer = {
            pointer: starts[position.line - 1] + position.column - 1 for pointer, position in positions.items()
        }

    def offset_of(self, pointer: Pointer) -> int | None:
        """Return the offset of the declaration at a pointer, or of the nearest one around it."""
        while pointer and pointer not in self._offset_by_pointer:
            pointer = pointer[:-1]
        return self._offset_by_pointer.get(pointer, 0)

    def first_between(self, start: int, end: int) -> str:
        """Return the pointer of the first declaration that begins there, as a text."""
        index = bisect_left(self._in_order, (start, ()))
        is_there = index < len(self._in_order) and self._in_order[index][0] < end
        return print_pointer(self._in_order[index][1]) if is_there else ""

    @cached_property
    def _in_order(self) -> list[tuple[int, Pointer]]:
        return sorted((offset, pointer) for pointer, offset in self._offset_by_pointer.items())


class _TypeUses:
    """The names of messages and enums in a text, with their offsets."""

    def __init__(self, schema: ProtobufSchema, file: ProtoFile, text: str, starts: list[int]) -> None:
        self._file = file
        self._symbols = SymbolTable(file, schema.imports)
        self._cursor = Cursor(text)
        self._starts = starts

    def found(self) -> Iterator[tuple[int, str]]:
        """Yield the offset of each name of a declared type, and its full name."""
        file = self._file
        for message in file.messages:
            yield from self._in_message(message, file.package_prefix + message.name)
        for extend in file.extends:
            yield from self._in_extend(extend, file.package)
        for service in file.services:
            for rpc in service.rpcs:
                yield from self._named(rpc.position, (rpc.request, rpc.response), file.package)

    def _in_message(self, message: ProtoMessage, scope: str) -> Iterator[tuple[int, str]]:
        for field in message.all_fields:
            named = (field.type,) if field.map is None else (field.map.value,)
            yield from self._named(field.position, named, scope)
            if field.group is not None:
                yield from self._in_message(field.group, f"{scope}.{field.name}")
        for nested in message.messages:
            yield from self._in_message(nested, f"{scope}.{nested.name}")
        for extend in message.extends:
            yield from self._in_extend(extend, scope)

    def _in_extend(self, extend: Extend, scope: str) -> Iterator[tuple[int, str]]:
        yield from self._named(extend.position, (extend.extendee,), scope)
        for field in extend.fields:
            yield from self._named(field.position, (field.type if field.map is None else field.map.value,), scope)

    def _named(self, position: Position, names: tuple[str, ...], scope: str) -> Iterator[tuple[int, str]]:
        """Yield the names that follow a position and are those of declared types.

        A declaration begins with few other words: a label, ``map``, ``<``, the type of its keys, ``rpc`` and its name.
        """
        resolved = [(name, self._symbols.resolve(name, scope)) for name in names]
        if all(symbol is None for _, symbol in resolved):
            return
        cursor = self._cursor
        cursor.jump(self._starts[position.line - 1] + position.column - 1)
        for name, symbol in resolved:
            while cursor.word not in (name, "", ";", "}"):
                cursor.advance()
            if cursor.word == name and symbol is not None:
                yield cursor.start, symbol.full_name
            cursor.advance()
