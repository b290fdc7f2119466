"""Layout of JSON texts of schemas: a printer that keeps every spelling, and the offsets of values by pointer.

A text that its author has laid out stays as it is. Any other is printed token by token, so that numbers, escapes and
the order of keys are those of the text: an object of scalars, or an array of them, that fits into a line is one line;
a long array of scalars fills its lines. Everything takes time and memory in proportion to the text.

Source: RFC 8259; RFC 6901 for pointers.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from counterfoil.schema.languages.laid_out_text import LongToken, SchemaLayout, TokenPattern
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.texts import Pointer, print_pointer

WIDTH: Final = 100
"""The width of lines that are printed; a longer text is a line of its own."""
LONGEST_KEPT_LINE: Final = 200
"""The largest number of characters of a line in a text that stays as it is."""
_INDENT: Final = "  "
_DEEPEST_INDENT: Final = 16
"""From this depth on lines are not indented further, so that their blanks do not outgrow the text."""

_LEXEME: Final = re.compile(
    r'("[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:]|/\*[\s\S]*?\*/|//[^\n\r]*+|[^\s"\[\]{},:/]++)', re.DOTALL
)
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
        schema.schema_type, text, JSON_TOKENS, offsets=offsets, types=types, long_tokens=offsets.long_comments
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
    return _Printer(_LEXEME.findall(stripped)).printed()


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


class JsonOffsets:
    """The offsets of all values in a JSON text, by pointer; of two equal keys the last one counts."""

    def __init__(self, text: str) -> None:
        self.long_comments: list[LongToken] = []
        self._starts = array("l")
        self._parents = array("l")
        self._steps: list[str | int] = []
        self._scan(text)

    def find(self, pointer: Pointer) -> int | None:
        """Return the offset of the value at a pointer; None if there is none."""
        node: int | None = 0
        for step in pointer:
            node = self._inner.get((node, str(step)))
            if node is None:
                return None
        return self._starts[node] if node is not None else None

    def offset_of(self, pointer: Pointer) -> int | None:
        """Return the offset of the value at a pointer, or of its nearest ancestor."""
        node = 0
        for step in pointer:
            inner = self._inner.get((node, str(step)))
            if inner is None:
                break
            node = inner
        return self._starts[node] if self._starts else None

    def first_between(self, start: int, end: int) -> str:
        """Return the pointer of the first value that begins there, as a text."""
        node = bisect_left(self._starts, start)
        if node >= len(self._starts) or self._starts[node] >= end:
            return ""
        steps: list[str | int] = []
        while node:
            steps.append(self._steps[node])
            node = self._parents[node]
        return print_pointer(tuple(reversed(steps)))

    @cached_property
    def _inner(self) -> dict[tuple[int | None, str], int]:
        """The values by those around them and their steps."""
        return {
            (parent, str(step)): node
            for node, (parent, step) in enumerate(zip(self._parents, self._steps, strict=True))
            if node
        }

    def _scan(self, text: str) -> None:
        """Find every value; the numbers of those around one are on a stack."""
        stack: list[int] = []
        counts: list[int] = []
        step: str | int = ""
        awaits_key = False
        starts, parents, steps = self._starts, self._parents, self._steps
        for found in _LEXEME.finditer(text):
            lexeme = found[0]
            first = lexeme[0]
            if first == ",":
                awaits_key = counts[-1] < 0
                continue
            if first == ":":
                awaits_key = False
                continue
            if first in "}]":
                stack.pop()
                counts.pop()
                awaits_key = False
                continue
            if first == "/":
                if "\n" in lexeme:
                    self.long_comments.append(LongToken(found.start(), found.end(), "comment"))
                continue
            if awaits_key:
                step = json.loads(lexeme, strict=False) if "\\" in lexeme else lexeme[1:-1]
                continue
            if stack and counts[-1] >= 0:
                step = counts[-1]
                counts[-1] += 1
            if first in "{[":
                awaits_key = first == "{"
                node = len(starts)
                starts.append(found.start())
                parents.append(stack[-1] if stack else 0)
                steps.append(step)
                stack.append(node)
                counts.append(-1 if awaits_key else 0)
                continue
            starts.append(found.start())
            parents.append(stack[-1] if stack else 0)
            steps.append(step)
