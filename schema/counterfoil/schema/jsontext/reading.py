"""Reading of JSON texts: the values, their positions, the place of a fault, and the tags in schemas that are JSON."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import NoReturn

    from counterfoil.schema.entity import Entity, TagEdit
    from counterfoil.schema.texts import Pointer


# A JSON parser that reports the positions of values and of a fault.
#
# It accepts what Avro's parser accepts with Jackson: comments, ``/* */`` and ``//``, before the value and between its
# tokens, but only blanks behind it; of two equal keys the last one counts. It is slower than the standard library and
# has its own stack, so that no depth of nesting can exhaust Python's.
#
# Source: RFC 8259; the limits are explained at their names.

MAX_DEPTH = 200
"""The largest depth of arrays and objects: the functions that walk schemas are recursive and need Python's stack."""

MAX_NUMBER_LENGTH = 1000
"""The largest number of characters of one number: parsing takes quadratic time."""

_BLANK = re.compile(r"(?:[ \t\n\r]+|/\*[\s\S]*?\*/|//[^\n\r]*)*")
_TRIMMED = "".join(map(chr, range(ord(" ") + 1)))
"""The characters that may follow the value: those that Java's ``trim`` removes."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PLAIN_CHARACTERS = re.compile(r'[^"\\\x00-\x1f]*')
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_SHOWN_CHARACTERS = 20


class JsonScanner:
    """A parser of one text. ``offsets``, if given, is filled with the start of each value, by JSON pointer."""

    def __init__(self, text: str, *, offsets: dict[Pointer, int] | None = None) -> None:
        self._text = text
        self._at = 0
        self._offsets = offsets

    def read(self) -> Any:
        """Return the value of the text; raise ``SchemaParseError`` with line and column if it has none or several."""
        if not self._text.strip():
            raise self._fault("the text is empty", expected="a schema")
        value = self._read_value()
        rest = self._text[self._at :]
        if rest.strip(_TRIMMED):
            self._at += len(rest) - len(rest.lstrip(_TRIMMED))
            raise self._fault(f"text after the end of the schema: {self._shown()}", expected="the end of the text")
        return value

    def _read_value(self) -> Any:
        """Read and return a value of any depth, with a stack of open containers."""
        stack: list[_Open] = []
        pointer: Pointer = ()
        while True:
            self._skip_blank()
            if self._offsets is not None:
                self._offsets[pointer] = self._at
            opened = self._open(stack, pointer)
            value = None if opened else self._read_scalar()
            if opened and not self._closes(stack[-1]):
                pointer = self._begin_entry(stack[-1])
                continue
            if opened:
                value = stack.pop().container
            while stack:
                stack[-1].add(value)
                if self._continues(stack[-1]):
                    pointer = self._begin_entry(stack[-1])
                    break
                value = stack.pop().container
            else:
                return value

    def _open(self, stack: list[_Open], pointer: Pointer) -> bool:
        character = self._peek()
        if character not in ("{", "["):
            return False
        if len(stack) >= MAX_DEPTH:
            raise self._fault("the schema nests too deep", expected=f"at most {MAX_DEPTH} levels of arrays and objects")
        self._at += 1
        stack.append(_Open({} if character == "{" else [], pointer))
        return True

    def _closes(self, opened: _Open) -> bool:
        """Return whether the container that was just opened is empty; its closing bracket is consumed."""
        self._skip_blank()
        if self._peek() != opened.closing:
            return False
        self._at += 1
        return True

    def _continues(self, opened: _Open) -> bool:
        """Return whether another entry follows; the comma, or the closing bracket, is consumed."""
        self._skip_blank()
        character = self._peek()
        if character not in (",", opened.closing):
            raise self._fault(f"unexpected {self._shown()}", expected=f"',' or '{opened.closing}'")
        self._at += 1
        return character == ","

    def _begin_entry(self, opened: _Open) -> Pointer:
        """Return the pointer of the next entry; an object's key and colon are consumed."""
        if isinstance(opened.container, list):
            return (*opened.pointer, len(opened.container))
        self._skip_blank()
        if self._peek() != '"':
            raise self._fault(f"unexpected {self._shown()}", expected="a key in double quotes")
        opened.key = self._read_string()
        self._skip_blank()
        if self._peek() != ":":
            raise self._fault(f"unexpected {self._shown()}", expected="':'")
        self._at += 1
        return opened.pointer if self._offsets is None else (*opened.pointer, opened.key)

    def _read_scalar(self) -> Any:
        if self._peek() == '"':
            return self._read_string()
        match = _NUMBER.match(self._text, self._at)
        if match:
            return self._read_number(match)
        word = _WORD.match(self._text, self._at)
        if word and word.group() in _WORDS:
            self._at = word.end()
            return _WORDS[word.group()]
        raise self._fault(f"unexpected {self._shown()}", expected="a JSON value")

    def _read_number(self, match: re.Match[str]) -> int | float:
        if len(match.group()) > MAX_NUMBER_LENGTH:
            raise self._fault("the number is too long", expected=f"at most {MAX_NUMBER_LENGTH} characters")
        self._at = match.end()
        is_float = match.group(1) or match.group(2)
        return float(match.group()) if is_float else int(match.group())

    def _read_string(self) -> str:
        start = self._at
        self._at += 1
        parts = []
        while True:
            plain = _PLAIN_CHARACTERS.match(self._text, self._at)
            parts.append(plain.group() if plain else "")
            self._at += len(parts[-1])
            character = self._peek()
            if character == '"':
                self._at += 1
                return self._whole("".join(parts), start)
            if character != "\\":
                problem = "a control character in a string" if character else "the string does not end"
                raise self._fault(problem, expected="'\"', or an escape such as \\n" if character else "'\"'")
            parts.append(self._read_escape())

    def _read_escape(self) -> str:
        character = self._text[self._at + 1 : self._at + 2]
        if character in _ESCAPES and character:
            self._at += 2
            return _ESCAPES[character]
        digits = _HEX4.match(self._text, self._at + 2) if character == "u" else None
        if digits is None:
            raise self._fault(
                f"unknown escape {self._shown()}", expected='one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX'
            )
        self._at = digits.end()
        return chr(int(digits.group(), 16))

    def _whole(self, value: str, start: int) -> str:
        r"""Return the string with surrogate escapes joined in pairs; ``\ud83d\ude00`` is one character."""
        if value.isascii():
            return value
        try:
            return value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._at = start
            raise self._fault(
                "half of a surrogate pair in a string", expected="both halves, such as \\ud83d\\ude00"
            ) from None

    def _skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._at)
        if match:
            self._at = match.end()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _shown(self) -> str:
        rest = self._text[self._at : self._at + _SHOWN_CHARACTERS]
        return repr(rest) if rest else "end of the text"

    def _fault(self, problem: str, *, expected: str) -> SchemaParseError:
        return SchemaParseError(problem, position=position_at(self._text, self._at), expected=expected)


class _Open:
    """An array or object whose end has not been read yet."""

    __slots__ = ("add", "closing", "container", "key", "pointer")

    def __init__(self, container: dict[str, Any] | list[Any], pointer: Pointer) -> None:
        self.container = container
        self.pointer = pointer
        self.key = ""
        self.closing = "}" if isinstance(container, dict) else "]"
        self.add: Callable[[Any], None] = container.append if isinstance(container, list) else self._put

    def _put(self, value: Any) -> None:
        self.container[self.key] = value  # type: ignore[call-overload]  # only used if the container is a dict


def position_at(text: str, offset: int) -> Position:
    """Return line and column of an offset; an offset at the end of the text is the place after its last character."""
    before = text.count("\n", 0, offset)
    return Position(before + 1, offset - text.rfind("\n", 0, offset))


# Parsing of JSON texts, and positions of their values, which are computed at the first use.
#
# Ordinary JSON is parsed by the standard library, at C speed. Only a text that it refuses (comments, faults, extreme
# depth) is parsed again by :class:`JsonScanner`, which accepts comments and reports the position of a fault.

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_LINE_END = re.compile("\n")
_RAW_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(text: str) -> Any:
    """Return the value that ``text`` holds: None, bool, int, float, str, list or dict.

    Comments are skipped, and of two equal keys the last one counts. Raises ``SchemaParseError`` with line and column,
    also for nesting beyond ``MAX_DEPTH`` and for half surrogate pairs, which UTF-8 cannot encode.
    """
    if _needs_scanner(text):
        return JsonScanner(text).read()
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return JsonScanner(text).read()
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_too_deep(value):
        return JsonScanner(text).read()
    return value


def locate(text: str, pointer: Pointer) -> Position | None:
    """Return the start of the value at a JSON pointer, or of its nearest ancestor; None for invalid JSON."""
    return TextIndex(text).locate(pointer)


class TextIndex:
    """The positions of all values in a JSON text; the text is scanned once, at the first use."""

    def __init__(self, text: str) -> None:
        self._text = text

    def locate(self, pointer: Pointer) -> Position | None:
        """Return the start of the value at a JSON pointer, or of its nearest ancestor; None for invalid JSON."""
        offsets = self._offsets
        while pointer and pointer not in offsets:
            pointer = pointer[:-1]
        return self._position(offsets[pointer]) if offsets else None

    def _position(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1)

    @cached_property
    def _offsets(self) -> Mapping[Pointer, int]:
        offsets: dict[Pointer, int] = {}
        try:
            JsonScanner(self._text, offsets=offsets).read()
        except SchemaParseError:
            return {}
        return offsets

    @cached_property
    def _line_starts(self) -> Sequence[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self._text))]


def _needs_scanner(text: str) -> bool:
    """Return whether the text may contain half a surrogate pair, which the standard library accepts."""
    if _SURROGATE_ESCAPE.search(text):
        return True
    return not text.isascii() and _RAW_SURROGATE.search(text) is not None


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are Python's, not JSON's


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


# Tags of schemas that are JSON: ``confluent:tags`` of the JSON objects that declare types and fields.

_TAGS: Final = "confluent:tags"


def read_tags(declarations: Iterable[tuple[Entity, dict[str, Any]]]) -> list[tuple[Entity, tuple[str, ...]]]:
    """Return the entities with the tags of their declarations; a value that is not a list counts as no tags."""
    return [(entity, _tags_of(node)) for entity, node in declarations]


def write_tags(declarations: Iterable[tuple[Entity, dict[str, Any]]], edit: TagEdit) -> None:
    """Change the tags in the declarations of the entities that ``edit`` names."""
    for entity, node in declarations:
        if entity in edit.entities:
            tags = edit.applied(entity, _tags_of(node))
            if tags:
                node[_TAGS] = list(tags)
            else:
                node.pop(_TAGS, None)


def _tags_of(node: dict[str, Any]) -> tuple[str, ...]:
    tags = node.get(_TAGS)
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
