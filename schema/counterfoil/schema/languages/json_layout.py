"""Layout of JSON texts of schemas: a printer that keeps every spelling, and the lines of values.

A text that its author has laid out stays as it is. Any other is printed token by token, so that numbers, escapes and
the order of keys are those of the text: an object of scalars, or an array of them, that fits into a line is one line;
a long array of scalars fills its lines. Everything takes time and memory in proportion to the text.

Source: RFC 8259.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from typing import Final

from counterfoil.schema.json_offsets import LEXEME, JsonOffsets
from counterfoil.schema.languages.laid_out_text import LongToken, SchemaLayout, TokenPattern
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.texts import Pointer

WIDTH: Final = 100
"""The width of lines that are printed; a longer text is a line of its own."""
LONGEST_KEPT_LINE: Final = 200
"""The largest number of characters of a line in a text that stays as it is."""
_INDENT: Final = "  "
_DEEPEST_INDENT: Final = 16
"""From this depth on lines are not indented further, so that their blanks do not outgrow the text."""

JSON_TOKENS: Final = TokenPattern(
    re.compile(
        r"""
          (?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+"?)
        | (?P<number>-?[0-9][0-9.eE+\-]*+)
        | (?P<word>true|false|null)
        | (?P<comment>//.*+|/\*.*?(?:\*/|\Z))
        """,
        re.VERBOSE,
    ),
    has_keys=True,
)

_SCALAR, _LIST, _FLAT, _NESTED = range(4)
"""How deep a value is: a scalar, an array of scalars and of such arrays, an object of these two, anything else."""


def lay_out_json(schema: ParsedSchema, type_uses: Callable[[], Sequence[tuple[Pointer, str]]]) -> SchemaLayout:
    """Return the layout of a schema that is JSON.

    ``type_uses`` returns the pointers of the texts that refer to declared types, with the names of these types.
    """
    text = laid_out(schema.text)
    offsets = JsonOffsets(text)
    types: dict[int, str] = {}
    for pointer, name in type_uses():
        offset = offsets.find(pointer)
        if offset is not None and text[offset] == '"':
            types[offset] = name
    return SchemaLayout(
        schema.schema_type,
        text,
        JSON_TOKENS,
        offsets=offsets,
        types=types,
        long_tokens=[LongToken(start, end, "comment") for start, end in offsets.long_comments],
    )


def laid_out(text: str) -> str:
    """Return a JSON text laid out, without blanks around it.

    >>> print(laid_out('{"type":"record","name":"A","fields":[{"name":"b","type":"int","default":1e3}]}'))
    {
      "type": "record",
      "name": "A",
      "fields": [
        {"name": "b", "type": "int", "default": 1e3}
      ]
    }
    """
    stripped = text.strip(" \t\r\n").replace("\r\n", "\n")
    if "\n" in stripped and "\r" not in stripped and max(map(len, stripped.split("\n"))) <= LONGEST_KEPT_LINE:
        return stripped
    return _Printer(LEXEME.findall(stripped)).printed()


class _Printer:
    """The printer of one text, which is a list of lexemes."""

    def __init__(self, lexemes: Sequence[str]) -> None:
        self._lexemes = lexemes
        self._end = array("l", bytes(len(lexemes) * array("l").itemsize))
        self._width = array("l", bytes(len(lexemes) * array("l").itemsize))
        self._rank = bytearray(len(lexemes))
        self._parts: list[str] = []
        self._column = 0
        self._measure()

    def _measure(self) -> None:
        """Find, for each bracket that opens, the one that closes it, how wide it is in one line, and how deep."""
        opened: list[int] = []
        width = 0
        for index, lexeme in enumerate(self._lexemes):
            width += len(lexeme) + (lexeme in ",:")
            first = lexeme[0]
            if first in "{[":
                self._width[index] = width
                opened.append(index)
            elif first in "}]":
                start = opened.pop()
                self._end[start] = index
                self._width[start] = width - self._width[start] + 1
                rank = self._rank_of(start, index)
                self._rank[start] = rank
                if opened:
                    self._rank[opened[-1]] = max(self._rank[opened[-1]], rank)
            elif first == "/" and opened:
                self._rank[opened[-1]] = _NESTED

    def _rank_of(self, start: int, end: int) -> int:
        """Return how deep a container is; its own entry has that of the deepest value in it."""
        if end == start + 1:
            return _SCALAR
        inner = self._rank[start]
        if self._lexemes[start] == "[":
            return _LIST if inner <= _LIST else _NESTED
        return _FLAT if inner <= _LIST else _NESTED

    def printed(self) -> str:
        """Return the text."""
        lexemes, depth, index = self._lexemes, 0, 0
        filled: list[bool] = []
        while index < len(lexemes):
            lexeme = lexemes[index]
            first = lexeme[0]
            if first in "{[" and self._fits(index):
                self._write_flat(index)
                index = self._end[index]
            elif first in "{[":
                depth += 1
                filled.append(self._rank[index] == _LIST)
                self._write(lexeme)
                self._begin_line(depth)
            elif first in "}]":
                depth -= 1
                filled.pop()
                self._begin_line(depth)
                self._write(lexeme)
            elif first == ",":
                self._write(",")
                ahead = self._width[index + 1] or len(lexemes[index + 1])
                if filled and filled[-1] and self._column + ahead + 2 <= WIDTH:
                    self._write(" ")
                else:
                    self._begin_line(depth)
            elif first == "/":
                self._write(lexeme)
                self._begin_line(depth)
            else:
                self._write(": " if lexeme == ":" else lexeme)
            index += 1
        return "".join(self._parts).rstrip()

    def _fits(self, index: int) -> bool:
        if self._end[index] == index + 1:
            return True
        return self._rank[index] <= _FLAT and self._column + self._width[index] + 1 <= WIDTH

    def _write(self, text: str) -> None:
        self._parts.append(text)
        self._column += len(text)

    def _write_flat(self, index: int) -> None:
        inside = self._lexemes[index : self._end[index] + 1]
        self._write("".join(f"{each} " if each in ",:" else each for each in inside))

    def _begin_line(self, depth: int) -> None:
        indent = _INDENT * min(depth, _DEEPEST_INDENT)
        self._parts.append(f"\n{indent}")
        self._column = len(indent)
