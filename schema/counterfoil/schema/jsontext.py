"""JSON texts of schemas: reading with positions and faults, and printing as Jackson and Java do."""

from __future__ import annotations

import json
import math
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final, NoReturn

from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.json_offsets import JsonOffsets
from counterfoil.schema.texts import Pointer, Position

if TYPE_CHECKING:
    from counterfoil.schema.marks import Entity, TagEdit

# Printing of JSON in the format of Jackson: compact, keys in the given order, doubles in Java's format.
#
# The identity of a schema in a registry is a hash over this text, so every character counts: ``1e3`` is a double and is
# printed as ``1000.0``, control characters have upper-case hexadecimal escapes, of the characters from U+0020 up only
# the quote and the backslash are escaped.
#
# Source: ``java.lang.Double.toString`` and Jackson's default ``JsonGenerator``.

_LOWER_HEX_ESCAPE = re.compile(r"\\u00[01][a-f]|\\\\")
_NUMBER_WITH_SPELLING = re.compile(r"[:\[,]-?(?:[0-9]+[.e]|NaN|Infinity)")
"""A non-integer number inside a list or object as Python prints it; a match inside a string only costs time."""
_ENCODER_BY_SORTING = {
    sort_keys: json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"), sort_keys=sort_keys)
    for sort_keys in (False, True)
}
_PLAIN_MIN = 1e-3
_PLAIN_MAX = 1e7
_FLOAT_DIGITS = 9
"""The number of decimal digits that distinguish any two 32-bit floats."""


def print_json(value: object, *, sort_keys: bool = False) -> str:
    """Return the text of a JSON value; ``sort_keys`` sorts the keys of every object by code point.

    The standard library prints most values equally, at C speed; those with doubles or control characters are printed
    here.
    """
    if type(value) is float:
        return print_double(value)
    text = _ENCODER_BY_SORTING[sort_keys].encode(value)
    if "\\u00" not in text and not _NUMBER_WITH_SPELLING.search(text):
        return text
    parts: list[str] = []
    _print(value, parts.append, sort_keys=sort_keys)
    return "".join(parts)


def print_string(value: str) -> str:
    r"""Return a string with its quotes: ``"``, ``\`` and control characters escaped, nothing else."""
    printed = encode_basestring(value)
    if "\\u00" in printed:
        return _LOWER_HEX_ESCAPE.sub(_upper_hex, printed)
    return printed


def print_double(value: float) -> str:
    """Return the text of a 64-bit float: digits on both sides of the point, ``E`` notation below 1e-3 and from 1e7 on.

    A value that JSON cannot represent as a number becomes a string: ``"NaN"``, ``"Infinity"``, ``"-Infinity"``.
    """
    if not math.isfinite(value):
        return _print_not_finite(value)
    if value == 0.0 or _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        return repr(value)
    two_digits = f"{value:.1e}"  # two digits are more exact than one for the smallest values: 4.9E-324, not 5.0E-324
    return _scientific(two_digits if float(two_digits) == value else repr(value))


def print_float(value: float) -> str:
    """Return the text of a double rounded to 32 bits, with the fewest digits that identify this 32-bit float."""
    single = round_to_float(value)
    if not math.isfinite(single) or single == 0.0:
        return print_double(single)
    shortest = next(
        text
        for text in (f"{single:.{digits}e}" for digits in range(1, _FLOAT_DIGITS))
        if round_to_float(float(text)) == single
    )
    return print_double(float(shortest))


def round_to_float(value: float) -> float:
    """Return the nearest 32-bit float; infinity for a value that is too large."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _print(value: Json, write: Json, *, sort_keys: bool) -> None:
    kind = type(value)
    if kind is str:
        write(print_string(value))
    elif kind is dict:
        _print_object(value, write, sort_keys=sort_keys)
    elif kind is list:
        write("[")
        for index, item in enumerate(value):
            if index:
                write(",")
            _print(item, write, sort_keys=sort_keys)
        write("]")
    else:
        write(_print_scalar(value))


def _print_object(value: JsonObject, write: Json, *, sort_keys: bool) -> None:
    write("{")
    for index, key in enumerate(sorted(value) if sort_keys else value):
        write(f"{',' if index else ''}{print_string(key)}:")
        _print(value[key], write, sort_keys=sort_keys)
    write("}")


def _print_scalar(value: object) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    return print_double(value) if isinstance(value, float) else str(value)


def _print_not_finite(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    return '"Infinity"' if value > 0 else '"-Infinity"'


def _scientific(text: str) -> str:
    """Return Java's ``d.dddEn`` for the digits of a Python ``repr``."""
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + (len(whole) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0")) + 1))
    digits = digits.rstrip("0")
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def _upper_hex(match: re.Match[str]) -> str:
    escape = match.group()
    return escape if escape == "\\\\" else "\\u" + escape[2:].upper()


# Numbers written as text in a schema, parsed by Java's rules.
#
# Source: ``java.lang.Double.valueOf(String)``.

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+", re.ASCII)
_NOT_FINITE = re.compile(r"([+-]?)(NaN|Infinity)")
_TRIMMED = "".join(map(chr, range(0x21)))


def read_java_double(text: str) -> float | None:
    """Return the double that ``text`` represents; None if it is not a number.

    Accepted are decimal or hexadecimal digits, ``NaN``, ``Infinity``, white space around them, ``f`` or ``d`` behind
    them.
    """
    text = text.strip(_TRIMMED)
    if match := _NOT_FINITE.fullmatch(text):
        value = math.nan if match.group(2) == "NaN" else math.inf
        return -value if match.group(1) == "-" else value
    digits = text[:-1] if text[-1:] in ("f", "F", "d", "D") and "x" not in text.lower() else text
    if _DECIMAL.fullmatch(digits):
        return float(digits)
    return _read_hexadecimal(text)


def _read_hexadecimal(text: str) -> float | None:
    digits = text[:-1] if text[-1:] in ("f", "F", "d", "D") else text
    if not _HEXADECIMAL.fullmatch(digits):
        return None
    try:
        return float.fromhex(digits)
    except OverflowError:
        return math.copysign(math.inf, -1.0 if digits.startswith("-") else 1.0)


# The iteration order of strings in Java's hash sets.
#
# The reference registry compares the properties of two objects, and the types of two files, in this order. Its messages
# are in this order, so that equal messages require the same order here.
#
# Source: the documented ``String.hashCode``, and the observed order of ``java.util.HashSet``.

_FEWEST_BUCKETS: Final = 16
_LOAD: Final = 0.75


def java_hash_order(texts: Iterable[str]) -> list[str]:
    """Return ``texts``, each once, in the order of a hash set to which they were added in the given order.

    >>> java_hash_order(["sku", "id", "name"])
    ['name', 'id', 'sku']
    """
    distinct = list(dict.fromkeys(texts))
    if len(distinct) <= 1:
        return distinct
    buckets = _FEWEST_BUCKETS
    while len(distinct) > buckets * _LOAD:
        buckets *= 2
    return sorted(distinct, key=lambda text: _spread(java_hash(text)) & (buckets - 1))


@cached_if_short(65536, longest=100)
def java_hash(text: str) -> int:
    """Return ``String.hashCode`` as an unsigned number: a 32-bit polynomial over the UTF-16 code units.

    >>> java_hash("id")
    3355
    """
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def _spread(code: int) -> int:
    """Return a hash with its high bits mixed into the low ones, as in ``java.util.HashMap``."""
    return code ^ code >> 16


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
"""The characters that may follow the value: those that Java's ``trim`` removes."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PLAIN_CHARACTERS = re.compile(r'[^"\\\x00-\x1f]*')
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_SHOWN_CHARACTERS = 20


class JsonScanner:
    """A parser of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> Json:
        """Return the value of the text; raise ``SchemaParseError`` with line and column if it has none or several."""
        if not self._text.strip():
            raise self._fault("the text is empty", expected="a schema")
        value = self._read_value()
        rest = self._text[self._at :]
        if rest.strip(_TRIMMED):
            self._at += len(rest) - len(rest.lstrip(_TRIMMED))
            raise self._fault(f"text after the end of the schema: {self._shown()}", expected="the end of the text")
        return value

    def _read_value(self) -> Json:
        """Read and return a value of any depth, with a stack of open containers."""
        stack: list[_Open] = []
        while True:
            self._skip_blank()
            opened = self._open(stack)
            value = None if opened else self._read_scalar()
            if opened and not self._closes(stack[-1]):
                self._begin_entry(stack[-1])
                continue
            if opened:
                value = stack.pop().container
            while stack:
                stack[-1].add(value)
                if self._continues(stack[-1]):
                    self._begin_entry(stack[-1])
                    break
                value = stack.pop().container
            else:
                return value

    def _open(self, stack: list[_Open]) -> bool:
        character = self._peek()
        if character not in ("{", "["):
            return False
        if len(stack) >= MAX_DEPTH:
            raise self._fault("the schema nests too deep", expected=f"at most {MAX_DEPTH} levels of arrays and objects")
        self._at += 1
        stack.append(_Open({} if character == "{" else []))
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

    def _begin_entry(self, opened: _Open) -> None:
        """Move to the value of the next entry; an object's key and colon are consumed."""
        if isinstance(opened.container, list):
            return
        self._skip_blank()
        if self._peek() != '"':
            raise self._fault(f"unexpected {self._shown()}", expected="a key in double quotes")
        opened.key = self._read_string()
        self._skip_blank()
        if self._peek() != ":":
            raise self._fault(f"unexpected {self._shown()}", expected="':'")
        self._at += 1

    def _read_scalar(self) -> Json:
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

    __slots__ = ("add", "closing", "container", "key")

    def __init__(self, container: JsonObject | list[Json]) -> None:
        self.container = container
        self.key = ""
        self.closing = "}" if isinstance(container, dict) else "]"
        self.add: Callable[[Json], None] = container.append if isinstance(container, list) else self._put

    def _put(self, value: object) -> None:
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


def read_json(text: str) -> Json:
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
        offset = None if self._offsets is None else self._offsets.offset_of(pointer)
        return None if offset is None else self._position(offset)

    def _position(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1)

    @cached_property
    def _offsets(self) -> JsonOffsets | None:
        try:
            read_json(self._text)
        except SchemaParseError:
            return None
        return JsonOffsets(self._text)

    @cached_property
    def _line_starts(self) -> Sequence[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self._text))]


def _needs_scanner(text: str) -> bool:
    """Return whether the text may contain half a surrogate pair, which the standard library accepts."""
    if _SURROGATE_ESCAPE.search(text):
        return True
    return not text.isascii() and _RAW_SURROGATE.search(text) is not None


def _is_too_deep(value: object) -> bool:
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


def read_tags(declarations: Iterable[tuple[Entity, JsonObject]]) -> list[tuple[Entity, tuple[str, ...]]]:
    """Return the entities with the tags of their declarations; a value that is not a list counts as no tags."""
    return [(entity, tags_listed(node)) for entity, node in declarations]


def write_tags(declarations: Iterable[tuple[Entity, JsonObject]], edit: TagEdit) -> None:
    """Change the tags in the declarations of the entities that ``edit`` names."""
    for entity, node in declarations:
        if entity in edit.entities:
            tags = edit.applied(entity, tags_listed(node))
            if tags:
                node[_TAGS] = list(tags)
            else:
                node.pop(_TAGS, None)


def tags_listed(node: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the tags in the properties of an element that are a list of texts, in the order written."""
    tags = node.get(_TAGS)
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
