"""JSON values as schemas compare them: read exactly, printed, compared, and in words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from typing import Final, NoReturn, Protocol, Self, TypeAlias, TypeGuard

from counterfoil.schema.datum import Json
from counterfoil.schema.jsontext import MAX_DEPTH, MAX_NUMBER_LENGTH, JsonScanner, print_string
from counterfoil.schema.languages.jsonschema.document import Draft
from counterfoil.schema.texts import excerpt

# JSON values as schemas compare them.
#
# Source: the specifications of draft-04 to 2020-12: numbers are equal by value, booleans are not numbers.

Number: TypeAlias = int | Decimal
"""A number of a JSON text, exact."""

TYPES: Final = ("null", "boolean", "number", "string", "array", "object")
"""The types of values; an integer is a number."""

_MAX_DIGITS: Final = 2000
"""The largest difference of the exponents of two numbers that are tested as multiples."""

_MAX_WHOLE: Final = 400
"""The largest number of digits of a number that is converted to an int."""


def type_of(value: object) -> str:
    """Return the type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
    return "number"


def is_integer(value: object, *, with_fraction: bool = True) -> bool:
    """Return whether a number is an integer; ``1.0`` is one if ``with_fraction`` is set (since draft-06)."""
    if isinstance(value, Decimal):
        return with_fraction and (value.as_tuple().exponent == 0 or value == value.to_integral_value())
    return isinstance(value, int)


def are_equal(left: Json, right: Json) -> bool:
    """Return whether two values are equal for a schema."""
    kind = type_of(left)
    if kind != type_of(right):
        return False
    if kind == "array":
        return len(left) == len(right) and all(map(are_equal, left, right))
    if kind == "object":
        return left.keys() == right.keys() and all(are_equal(value, right[name]) for name, value in left.items())
    return bool(left == right)


def is_number(value: object) -> TypeGuard[Number]:
    """Return whether a JSON value is a number."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def is_multiple(number: Number, of: Number) -> bool:
    """Return whether ``number`` is an integer multiple of ``of``, in decimal arithmetic.

    False if the exponents differ too much.
    """
    if isinstance(number, int) and isinstance(of, int):
        return of != 0 and number % of == 0
    dividend, divisor = Decimal(number), Decimal(of)
    if not divisor or abs(dividend.adjusted() - divisor.adjusted()) > _MAX_DIGITS:
        return not dividend and bool(divisor)
    return not Context(prec=2 * _MAX_DIGITS).remainder(dividend, divisor)


def plain(value: object) -> Json:
    """Return a value with every whole number as an int, however it was written."""
    match value:
        case Decimal():
            is_whole = value.is_finite() and value.adjusted() < _MAX_WHOLE and value == value.to_integral_value()
            return int(value) if is_whole else value
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
    return value


def alike(value: object) -> Json:
    """Return a key that is the same for equal JSON values: 1 and 1.0 are equal, 1 and true are not."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", tuple(alike(item) for item in value))
        case dict():
            return ("object", frozenset((key, alike(item)) for key, item in value.items()))
    return value


# The texts of a JSON schema: compact, numbers as exact decimals, keys in the given order or sorted.
#
# Source: ``java.math.BigDecimal.toString``, whose spelling Python's ``Decimal`` shares, and Jackson's default output.


def print_exact(value: object, *, sort_keys: bool = False) -> str:
    """Return the text of a JSON value without white space.

    ``sort_keys`` puts the keys of every object in Java's order.
    """
    if not sort_keys:
        try:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        except TypeError:  # it contains a Decimal
            text = "\\u00"
        if "\\u00" not in text:
            return text
    parts: list[str] = []
    _print(value, parts.append, sort_keys=sort_keys)
    return "".join(parts)


def print_number(value: int | Decimal) -> str:
    """Return a number with all its digits, an exponent only if it is needed, and no negative zero.

    >>> [print_number(Decimal(text)) for text in ("1.0", "5e0", "-1.20e-3", "1e400", "-0.0")]
    ['1.0', '5', '-0.00120', '1E+400', '0.0']
    """
    if isinstance(value, Decimal) and value.is_zero():
        value = value.copy_abs()
    return str(value)


def _java_order(key: str) -> bytes:
    """Return the key by which Java sorts strings: their UTF-16 code units."""
    return key.encode("utf-16-be", "surrogatepass")


def _print(value: Json, write: Callable[[str], Json], *, sort_keys: bool) -> None:
    match value:
        case str():
            write(print_string(value))
        case bool():
            write("true" if value else "false")
        case None:
            write("null")
        case dict():
            write("{")
            for index, key in enumerate(sorted(value, key=_java_order) if sort_keys else value):
                write(f"{',' if index else ''}{print_string(key)}:")
                _print(value[key], write, sort_keys=sort_keys)
            write("}")
        case list():
            write("[")
            for index, item in enumerate(value):
                if index:
                    write(",")
                _print(item, write, sort_keys=sort_keys)
            write("]")
        case _:
            write(print_number(value))


# The reading of JSON for schemas of this language: exact numbers, no comments, faults with their place.

MAX_EXPONENT: Final = 2**31 - 1
"""The largest absolute exponent of a number, which is that of Java's decimals."""

_BLANK = re.compile(r"[ \t\n\r]*")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_RAW_SURROGATE = re.compile("[\ud800-\udfff]")


def read_exact_json(text: str) -> Json:
    """Return the value of the JSON document ``text``.

    A number with a point or an exponent is a ``Decimal``, any other an ``int``. Of two equal keys the last one counts.
    Raises ``SchemaParseError`` with line and column, also for text after the value, comments, ``NaN``, nesting beyond
    ``MAX_DEPTH``, numbers that are too long, and half surrogate pairs.
    """
    if _SURROGATE_ESCAPE.search(text) or (not text.isascii() and _RAW_SURROGATE.search(text)):
        return _ExactScanner(text).read()
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError, ArithmeticError):
        return _ExactScanner(text).read()
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_too_deep(value):
        return _ExactScanner(text).read()
    return value


class _ExactScanner(JsonScanner):
    """A scanner that reports the place of a fault, without comments and with exact numbers."""

    def _skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._at)
        if match:
            self._at = match.end()

    def _read_number(self, match: re.Match[str]) -> Json:
        start = self._at
        super()._read_number(match)
        if not match.group(1) and not match.group(2):
            return int(match.group())
        if abs(int((match.group(2) or "e0")[1:])) > MAX_EXPONENT:
            self._at = start
            raise self._fault("the number's exponent is too large", expected=f"at most {MAX_EXPONENT}")
        return Decimal(match.group())


def _read_float(text: str) -> Decimal:
    exponent = text.lower().partition("e")[2]
    if len(text) > MAX_NUMBER_LENGTH or (exponent and abs(int(exponent)) > MAX_EXPONENT):
        raise ValueError(text)
    return Decimal(text)


def _read_int(text: str) -> int:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError(text)
    return int(text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are part of Python's JSON, not of JSON


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


_DECODER = json.JSONDecoder(parse_float=_read_float, parse_int=_read_int, parse_constant=_refuse_constant)


# The texts of schemas and values in descriptions of changes, and in the names of branches in field paths.

_MAX_DEPTH: Final = 4
_DRAFT_WORDS: Final = {
    Draft.DRAFT_4: "draft-04",
    Draft.DRAFT_6: "draft-06",
    Draft.DRAFT_7: "draft-07",
    Draft.DRAFT_2019_09: "2019-09",
    Draft.DRAFT_2020_12: "2020-12",
}


class Readable(Protocol):
    """A schema at its place, as far as its text needs it."""

    @property
    def value(self) -> Json:
        """The schema: an object, true or false."""

    @property
    def keywords(self) -> Mapping[str, Json]:
        """The keywords that apply."""

    @property
    def referred(self) -> Sequence[Self]:
        """The schemas that its references lead to."""

    def one(self, keyword: str) -> Self | None:
        """Return the schema under a keyword; None if there is none."""

    def children(self, keyword: str) -> Sequence[Self]:
        """Return the schemas in the list under a keyword."""


def draft_words(draft: Draft) -> str:
    """Return the usual name of a draft."""
    return _DRAFT_WORDS[draft]


def value_words(value: object) -> str:
    """Return a value as JSON with sorted keys, cut if it is long."""
    return excerpt(print_exact(value, sort_keys=True), 80)


def said(keyword: str, value: object) -> str:
    """Return a keyword with its value: ``maxLength 10``."""
    return f"{keyword} {value_words(value)}"


def type_words(schema: Readable, depth: int = 0) -> str:
    """Return a schema in one line: ``string | null``, ``array<integer>``, ``enum ["A","B"]``, ``anything``."""
    if isinstance(schema.value, bool):
        return "anything" if schema.value else "nothing"
    keywords = schema.keywords
    if depth > _MAX_DEPTH:
        return "…"
    if "enum" in keywords or "const" in keywords:
        return said("enum", keywords["enum"]) if "enum" in keywords else said("const", keywords["const"])
    referred = schema.referred
    if referred:
        return type_words(referred[0], depth + 1)
    named = keywords.get("type")
    if named is not None:
        names = named if isinstance(named, list) else [named]
        return " | ".join(_name_words(name, schema, depth) for name in names)
    for keyword, sign in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if keyword in keywords:
            return sign.join(type_words(branch, depth + 1) for branch in schema.children(keyword)) or "anything"
    return "object" if "properties" in keywords else "anything"


def _name_words(name: object, schema: Readable, depth: int) -> str:
    items = schema.one("items") if name == "array" else None
    return f"array<{type_words(items, depth + 1)}>" if items else str(name)
