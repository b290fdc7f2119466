"""The tokens of a ``.proto`` file, with positions, comments and errors.

One pattern skips comments and blanks and finds the next token; all its quantifiers are possessive, so that it never
backtracks.

Source: the Protocol Buffers language specification, "Lexical Elements".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NoReturn

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.position import Position

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH: Final = 100
"""The largest depth of nested messages and values of options."""

_SKIP: Final = r"(?:[ \t\r\n\f\v]++|//[^\n]*+|(?>/\*.*?\*/))*+"
_TOKEN: Final = re.compile(
    _SKIP + r"(\.?[0-9][0-9.]*+[eE]\+[0-9]++[fF]?|[A-Za-z0-9_.\-]++"
    r"|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"|'[^'\\]*+(?:\\.[^'\\]*+)*+'|.)?",
    re.DOTALL,
)
_COMMENT: Final = re.compile(r"//([^\n]*+)|(?>/\*(.*?)\*/)", re.DOTALL)
_TRAILING: Final = re.compile(r"[ \t]*+(?=//|/\*)")
_STAR: Final = re.compile(r"(?m)^[ \t]*+\*?[ \t]?")


class Cursor:
    """A place in a text, and the token at it.

    ``word`` is that token, ``""`` at the end of the text; ``start`` and ``end`` are its offsets, and ``before`` is the
    end of the previous token.
    """

    __slots__ = ("_lines", "before", "depth", "end", "start", "text", "word")

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines: list[int] | None = None
        self.depth = 0
        self.end = 0
        self.before = 0
        self.start = 0
        self.word = ""
        self.advance()

    def advance(self) -> str:
        """Return the current token and move to the next one."""
        word = self.word
        self.jump(self.end)
        return word

    def jump(self, offset: int) -> None:
        """Move to the first token after ``offset``."""
        self.before = offset
        found = _TOKEN.match(self.text, offset)
        if found is None or found[1] is None:
            self.start = self.end = len(self.text)
            self.word = ""
        else:
            self.word = found[1]
            self.start, self.end = found.span(1)

    def accept(self, token: str) -> bool:
        """Return whether the current token is ``token``, and if so, move to the next one."""
        if self.word != token:
            return False
        self.jump(self.end)
        return True

    def block(self) -> Iterator[None]:
        """Move past braces and what is between them; yield at the start of each statement that is not empty."""
        self.expect("{")
        while not self.accept("}"):
            if not self.accept(";"):
                yield

    def expect(self, token: str) -> None:
        """Move past ``token``; raise ``SchemaParseError`` if the current token is another one."""
        if self.word != token:
            self.fail_unexpected(repr(token))
        self.jump(self.end)

    def position(self, offset: int | None = None) -> Position:
        """Return the line and column of an offset, or of the current token."""
        if self._lines is None:
            self._lines = [0, *(found.end() for found in re.finditer("\n", self.text))]
        at = self.start if offset is None else offset
        line = bisect_right(self._lines, at)
        return Position(line, at - self._lines[line - 1] + 1)

    def fail(self, problem: str, *, expected: str | None = None, offset: int | None = None, path: str = "") -> NoReturn:
        """Raise ``SchemaParseError`` at the current token, or at ``offset``."""
        raise SchemaParseError(problem, position=self.position(offset), path=path, expected=expected)

    def fail_unexpected(self, expected: str) -> NoReturn:
        """Raise ``SchemaParseError`` for an unexpected token."""
        found = self.word
        if not found:
            self.fail("the text ends too early", expected=expected)
        if self.text.startswith("/*", self.start):
            self.fail("this comment has no end", expected="'*/'")
        if found in {'"', "'"}:
            self.fail("this string has no end", expected=f"a closing {found}")
        self.fail(f"unexpected {excerpt(found, 40)!r}", expected=expected)

    def descend(self) -> None:
        """Increase the depth of nesting; the caller decreases it with ``depth -= 1``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"nested more than {MAX_DEPTH} levels deep", expected="fewer levels")

    def doc(self) -> str:
        """Return the comment of the declaration that starts at the current token."""
        if "/" not in self.text[self.before : self.start]:
            return ""
        return _leading_comment(self.text, self.before, self.start)

    def trailing_doc(self) -> str:
        """Return the comment behind the previous token, on the same line."""
        found = _TRAILING.match(self.text, self.before)
        if found is None:
            return ""
        comment = _COMMENT.match(self.text, found.end())
        return "" if comment is None else _content(comment)


def _leading_comment(text: str, start: int, end: int) -> str:
    """Return the last block of comments in a gap, without blank lines in it or between it and the declaration.

    A comment on the line of the previous token belongs to that token, unless the gap is at the start of the text.
    """
    block: list[str] = []
    stop = start
    for comment in _comments(text, start, end):
        gap = text[stop : comment.start()]
        if start and stop == start and "\n" not in gap and "\n" in text[comment.end() - 1 : end]:
            stop = comment.end()
            continue
        if gap.count("\n") > 1:
            block.clear()
        block.append(_content(comment))
        stop = comment.end()
    return "" if text[stop:end].count("\n") > 1 else "\n".join(block)


def _comments(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    return _COMMENT.finditer(text, start, end)


def _content(comment: re.Match[str]) -> str:
    line = comment[1]
    if line is not None:
        return line.strip()
    return _STAR.sub("", comment[2]).strip()
