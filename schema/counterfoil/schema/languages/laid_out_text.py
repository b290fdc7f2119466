"""A schema's text laid out for people: its lines with tokens by class, and the lines of its elements.

Lines are made when they are asked for, since a text may have 10 MB and a page shows some hundred lines of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.inspection import SourceLine, SourceToken, SourceWindow
from counterfoil.schema.texts import Pointer

FREE_POINTER_CHARACTERS: Final = 100_000
POINTERS_A_CHARACTER: Final = 8
"""The characters of the pointers of lines for each character of the text, beside :data:`FREE_POINTER_CHARACTERS`."""

_LINE_END: Final = re.compile("\n")


class ElementOffsets(Protocol):
    """Where the elements of a text begin."""

    def offset_of(self, pointer: Pointer) -> int | None:
        """Return the offset of the element at a pointer, or of its nearest ancestor that has one."""

    def first_between(self, start: int, end: int) -> str:
        """Return the pointer of the first element that begins there, as a text; empty if there is none."""


class TokenPattern(NamedTuple):
    """How a line is divided: the groups of ``pattern`` are the classes of tokens.

    A text before a colon is a name if ``has_keys``.
    """

    pattern: re.Pattern[str]
    has_keys: bool = False


class LongToken(NamedTuple):
    """A comment or a text of several lines: its offsets and its class."""

    start: int
    end: int
    kind: str


class SchemaLayout:
    """A schema's text laid out for people: ``text``, and its lines, counted from 1.

    ``types`` has the declared name to which a token refers, by the token's offset.
    """

    def __init__(
        self,
        schema_type: SchemaType,
        text: str,
        tokens: TokenPattern,
        *,
        offsets: ElementOffsets,
        types: Mapping[int, str],
        long_tokens: Sequence[LongToken] = (),
    ) -> None:
        self.schema_type = schema_type
        self.text = text
        self._tokens = tokens
        self._offsets = offsets
        self._types = types
        self._long_tokens = long_tokens
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    @property
    def total(self) -> int:
        """The number of lines."""
        return len(self._starts)

    @cached_property
    def lines(self) -> tuple[SourceLine, ...]:
        """All lines."""
        return self.window(1, self.total).lines

    def line_of(self, pointer: Pointer) -> int | None:
        """Return the line in which the element at a pointer begins, or its nearest ancestor; None without either."""
        offset = self._offsets.offset_of(pointer)
        return None if offset is None else bisect_right(self._starts, offset)

    def window(self, first: int, count: int) -> SourceWindow:
        """Return ``count`` lines from the line ``first``, as far as the text has them."""
        left = FREE_POINTER_CHARACTERS + POINTERS_A_CHARACTER * len(self.text)
        lines: list[SourceLine] = []
        for number in range(max(1, first), min(first + count, self.total + 1)):
            start, end = self._span(number)
            pointer = self._offsets.first_between(start, end + 1) if left > 0 else ""
            left -= len(pointer)
            lines.append(SourceLine(number, tuple(self._tokens_between(start, end)), pointer if left >= 0 else ""))
        return SourceWindow(self.schema_type.value, tuple(lines), self.total)

    def _span(self, number: int) -> tuple[int, int]:
        """Return the offsets of the start and the end of a line, without its line feed."""
        start = self._starts[number - 1]
        return start, (len(self.text) if number == self.total else self._starts[number] - 1)

    def _tokens_between(self, start: int, end: int) -> Iterator[SourceToken]:
        text = self.text
        at = start
        begun = self._long_token_around(start)
        if begun is not None:
            at = min(end, begun.end)
            if at > start:
                yield SourceToken(text[start:at], begun.kind)
        for found in self._tokens.pattern.finditer(text, at, end):
            if found.start() > at:
                yield SourceToken(text[at : found.start()])
            at = found.end()
            kind = found.lastgroup or ""
            if self._tokens.has_keys and kind == "text" and text[at:end].lstrip(" \t")[:1] == ":":
                kind = "name"
            yield SourceToken(found[0], kind, self._types.get(found.start(), ""))
        if at < end:
            yield SourceToken(text[at:end])

    def _long_token_around(self, offset: int) -> LongToken | None:
        """Return the token that began before an offset and ends behind it."""
        index = bisect_left(self._long_tokens, (offset,)) - 1
        found = self._long_tokens[index] if index >= 0 else None
        return found if found is not None and found.end > offset else None
