"""The tokens and literals of a ``.proto`` file: strings, whole numbers, options and their values."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NoReturn

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    Aggregate,
    AggregateEntry,
    ListValue,
    OptionValue,
    ProtoOption,
    ScalarLiteral,
    ValueKind,
)
from counterfoil.schema.texts import Pointer, Position, excerpt

# The tokens of a ``.proto`` file, with positions, comments and errors.
#
# One pattern skips comments and blanks and finds the next token; all its quantifiers are possessive, so that it never
# backtracks.
#
# Source: the Protocol Buffers language specification, "Lexical Elements".

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


# Literals of a ``.proto`` file: strings, whole numbers, options and their values.
#
# Source: the Protocol Buffers language specification, "Constant", "String literals" and "Option"; the text format
# specification for values in braces.

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1

_INT: Final = re.compile(r"(-?)(?:0[xX]([0-9a-fA-F]{1,32})|([0-9]{1,32}))")
_NUMBER: Final = re.compile(r"[-0-9.]")
_WORD: Final = re.compile(r"[A-Za-z0-9_.\-]")
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL
)
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CLOSING: Final = {"{": "}", "<": ">"}
_BYTE: Final = 0xFF
_MAX_CODE_POINT: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


def is_word(token: str) -> bool:
    """Return whether the token is a name, keyword or number."""
    return bool(token) and _WORD.match(token) is not None


def read_word(cursor: Cursor, expected: str) -> str:
    """Read and return the name at the cursor, which may contain dots."""
    if not is_word(cursor.word):
        cursor.fail_unexpected(expected)
    return cursor.advance()


def read_int(cursor: Cursor, expected: str) -> int:
    """Read and return the whole number of 32 bits at the cursor: decimal, hexadecimal or octal."""
    value = parse_int(cursor.word)
    if value is None or not INT32_MIN <= value <= INT32_MAX:
        cursor.fail_unexpected(expected)
    cursor.advance()
    return value


def parse_int(text: str) -> int | None:
    """Return the value of a whole number's literal; None for anything else."""
    found = _INT.fullmatch(text)
    if found is None:
        return None
    sign, hexadecimal, digits = found.groups()
    if hexadecimal is not None:
        value = int(hexadecimal, 16)
    elif digits[0] == "0" and digits.strip("01234567") == "":
        value = int(digits, 8)
    else:
        value = int(digits)
    return -value if sign else value


def read_string(cursor: Cursor, expected: str = "a quoted string") -> str:
    """Read and return the content of the string at the cursor; adjacent strings are joined."""
    if len(cursor.word) < len('""') or cursor.word[0] not in "\"'":
        cursor.fail_unexpected(expected)
    content = ""
    while cursor.word[:1] in {'"', "'"} and len(cursor.word) > 1:
        quoted = cursor.word[1:-1]
        content += _unescape(cursor, quoted)
        cursor.advance()
    return content


def read_text(cursor: Cursor, expected: str) -> str:
    """Read and return the content of the string at the cursor, which must be UTF-8: a path or a name."""
    start = cursor.start
    content = read_string(cursor, expected)
    try:
        content.encode()
    except UnicodeEncodeError:
        cursor.fail("a string with bytes that are no UTF-8", expected=expected, offset=start)
    return content


def read_options(cursor: Cursor, pointer: Pointer) -> tuple[ProtoOption, ...]:
    """Read and return the options in brackets at the cursor; empty if there are no brackets."""
    if cursor.word != "[":
        return ()
    cursor.advance()
    options: list[ProtoOption] = []
    while True:
        options.append(read_option(cursor, pointer))
        if cursor.accept("]"):
            return tuple(options)
        if not cursor.accept(","):
            cursor.fail_unexpected("',' or ']'")


def read_option(cursor: Cursor, pointer: Pointer) -> ProtoOption:
    """Read and return one ``name = value``."""
    start = cursor.start
    name = _read_option_name(cursor)
    cursor.expect("=")
    return ProtoOption(name, read_value(cursor), cursor.position(start), pointer)


def read_value(cursor: Cursor) -> OptionValue:
    """Read and return the value of an option at the cursor."""
    start = cursor.word
    if start in _CLOSING:
        return _read_aggregate(cursor, _CLOSING[start])
    if start == "[":
        return _read_list(cursor)
    if start[:1] in {'"', "'"}:
        return ScalarLiteral(ValueKind.STRING, read_string(cursor))
    if start in {"-", "+"}:
        cursor.advance()
        return _scalar(start.strip("+") + read_word(cursor, "a number"))
    return _scalar(read_word(cursor, "a value"))


def _scalar(word: str) -> ScalarLiteral:
    if word in {"true", "false"}:
        return ScalarLiteral(ValueKind.BOOLEAN, word)
    return ScalarLiteral(ValueKind.NUMBER if _NUMBER.match(word) else ValueKind.WORD, word)


def _read_option_name(cursor: Cursor) -> str:
    """Read and return a name such as ``(a.b).c.(d)``, without spaces."""
    parts: list[str] = []
    while True:
        if cursor.accept("("):
            parts.append("(" + read_word(cursor, "an extension's name") + ")")
            cursor.expect(")")
        else:
            parts.append(read_word(cursor, "an option's name"))
        if cursor.word == "=" or not (cursor.word == "(" or cursor.word.startswith(".")):
            return "".join(parts)


def _read_aggregate(cursor: Cursor, close: str) -> Aggregate:
    cursor.descend()
    cursor.advance()
    entries: list[AggregateEntry] = []
    while not cursor.accept(close):
        entries.append(_read_entry(cursor))
        if not cursor.accept(","):
            cursor.accept(";")
    cursor.depth -= 1
    return Aggregate(tuple(entries))


def _read_entry(cursor: Cursor) -> AggregateEntry:
    if cursor.accept("["):
        name = read_word(cursor, "an extension's name")
        while cursor.accept("/"):
            name += "/" + read_word(cursor, "a type's name")
        cursor.expect("]")
        name = f"[{name}]"
    else:
        name = read_word(cursor, "a field's name or '}'")
    if not cursor.accept(":") and cursor.word not in {"{", "<"}:
        cursor.fail_unexpected("':'")
    return AggregateEntry(name, read_value(cursor))


def _read_list(cursor: Cursor) -> ListValue:
    cursor.descend()
    cursor.advance()
    items: list[OptionValue] = []
    while not cursor.accept("]"):
        items.append(read_value(cursor))
        if not cursor.accept(",") and cursor.word != "]":
            cursor.fail_unexpected("',' or ']'")
    cursor.depth -= 1
    return ListValue(tuple(items))


def unescape_bytes(escaped: str) -> str:
    r"""Return the content of a string with escapes; a byte that is not UTF-8 becomes a surrogate from U+DC80 on.

    Raises ``ValueError`` for an escape that is not a character.

    >>> unescape_bytes(r"\303\251\xff")
    'é\udcff'
    """
    if "\\" not in escaped:
        return escaped
    content = bytearray()
    stop = 0
    for found in _ESCAPE.finditer(escaped):
        content += escaped[stop : found.start()].encode() + _escaped_bytes(found)
        stop = found.end()
    content += escaped[stop:].encode()
    return content.decode("utf-8", "surrogateescape")


def _escaped_bytes(found: re.Match[str]) -> bytes:
    octal, hexadecimal, short, long, other = found.groups()
    if other is not None:
        return _SIMPLE.get(other, other).encode()
    if octal or hexadecimal:
        return bytes(((int(octal, 8) if octal else int(hexadecimal, 16)) & _BYTE,))
    code = int(short or long, 16)
    if code > _MAX_CODE_POINT or code in _SURROGATES:
        raise ValueError(f"{found[0]} is no character")
    return chr(code).encode()


def _unescape(cursor: Cursor, quoted: str) -> str:
    try:
        return unescape_bytes(quoted)
    except ValueError as error:
        cursor.fail(str(error), expected="a code point up to 10FFFF that is no surrogate")
