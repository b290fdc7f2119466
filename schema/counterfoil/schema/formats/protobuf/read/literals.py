"""Literals of a ``.proto`` file: strings, whole numbers, options and their values.

Source: the Protocol Buffers language specification, "Constant", "String literals" and "Option"; the text format
specification for values in braces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.read.ast import Aggregate, Entry, ListValue, Option, Scalar, ValueKind

if TYPE_CHECKING:
    from counterfoil.schema.formats.protobuf.read.ast import OptionValue
    from counterfoil.schema.formats.protobuf.read.lexer import Cursor
    from counterfoil.schema.pointer import Pointer

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


def read_options(cursor: Cursor, pointer: Pointer) -> tuple[Option, ...]:
    """Read and return the options in brackets at the cursor; empty if there are no brackets."""
    if cursor.word != "[":
        return ()
    cursor.advance()
    options: list[Option] = []
    while True:
        options.append(read_option(cursor, pointer))
        if cursor.accept("]"):
            return tuple(options)
        if not cursor.accept(","):
            cursor.fail_unexpected("',' or ']'")


def read_option(cursor: Cursor, pointer: Pointer) -> Option:
    """Read and return one ``name = value``."""
    start = cursor.start
    name = _read_option_name(cursor)
    cursor.expect("=")
    return Option(name, read_value(cursor), cursor.position(start), pointer)


def read_value(cursor: Cursor) -> OptionValue:
    """Read and return the value of an option at the cursor."""
    start = cursor.word
    if start in _CLOSING:
        return _read_aggregate(cursor, _CLOSING[start])
    if start == "[":
        return _read_list(cursor)
    if start[:1] in {'"', "'"}:
        return Scalar(ValueKind.STRING, read_string(cursor))
    if start in {"-", "+"}:
        cursor.advance()
        return _scalar(start.strip("+") + read_word(cursor, "a number"))
    return _scalar(read_word(cursor, "a value"))


def _scalar(word: str) -> Scalar:
    if word in {"true", "false"}:
        return Scalar(ValueKind.BOOLEAN, word)
    return Scalar(ValueKind.NUMBER if _NUMBER.match(word) else ValueKind.WORD, word)


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
    entries: list[Entry] = []
    while not cursor.accept(close):
        entries.append(_read_entry(cursor))
        if not cursor.accept(","):
            cursor.accept(";")
    cursor.depth -= 1
    return Aggregate(tuple(entries))


def _read_entry(cursor: Cursor) -> Entry:
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
    return Entry(name, read_value(cursor))


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
