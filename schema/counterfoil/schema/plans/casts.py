"""Casts from one scalar to another, or why that is not possible; constants and lookup tables of rules."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.datum import Datum
from counterfoil.schema.plans import ConversionError, FailureCode, shown, spelt_as_yaml
from counterfoil.schema.plans.avro import decimal_bytes
from counterfoil.schema.plans.model import Cast, Rounding, Scalar
from counterfoil.schema.plans.notation import (
    LONG_RANGE,
    double_of_text,
    exact_decimal,
    float_of_text,
    float_of_whole,
    nearest_float,
    shortest_float_text,
    text_of_real,
    whole_of_text,
)
from counterfoil.schema.plans.rounding import EXACT_CONTEXT, rounded_decimal, rounded_ratio
from counterfoil.schema.plans.text_forms import NoForm, form_function
from counterfoil.schema.plans.tree import ArrayType, Leaf, MapType, Node, RecordType, UnionType
from counterfoil.schema.plans.types import (
    WHOLE,
    NoValue,
    is_instant,
    range_of,
    split_null,
    ticks_per_second,
    value_of_json,
)
from counterfoil.schema.texts import excerpt

if TYPE_CHECKING:
    from counterfoil.schema.plans.rules import LookupRule


# Casts: converting one scalar to another, or the reason why that is not possible.
#
# ======================  ==============================================================================================
# whole → whole           ``out-of-range`` beyond the target
# whole → real            the nearest
# real → float            the nearest, ``out-of-range`` when that is infinite; NaN and infinities are kept
# real → whole            ``cast-failed`` unless it is a whole number, ``out-of-range`` beyond the target
# boolean ↔ whole         0 and 1; ``cast-failed`` for others
# text → number           :mod:`.notation`; ``cast-failed``, or ``out-of-range``
# text → boolean          ``true`` and ``false``
# number → text           whole numbers plainly, real numbers with fixed decimals (``cast-failed`` for NaN and
#                         infinities)
# text → enum, enum →     the symbol of the same name, else ``cast-failed``
# bytes → text            UTF-8, else ``cast-failed``
# bytes → fixed           of the right size, else ``cast-failed``
# decimals                exact: ``cast-failed`` when digits would be lost, ``out-of-range`` beyond the precision; with
#                         ``decimals`` rounded half up before that, as real numbers always are, by their shortest digits
# with a rounding         text, real → whole, and digits beyond ``decimals``: as it says; :mod:`.rounding`
# instants                cut off to the larger unit, ``out-of-range`` in the smaller
# forms of one value      :mod:`.text_forms`: points in time, dates and bytes as text
# ======================  ==============================================================================================

Turn: TypeAlias = Callable[[Datum], Datum]

UUID_TEXT: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""The texts that are UUIDs, in letters of any case."""
_MAX_DECIMAL_DIGITS: Final = 1000
_BOOLEANS: Final = {"true": True, "false": False}


class CastRefused(Exception):
    """A value that a cast does not accept: the code and the sentence."""

    def __init__(self, code: FailureCode, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def widen_function(source: Scalar, target: Scalar) -> Turn:
    """Return the function that converts a value to a larger type."""
    if target.base == "double" and source.base in WHOLE:
        return float
    if target.base == "bytes" and source.base in {"string", "enum"}:
        return str.encode
    return _same


def cast_function(op: Cast, field: str) -> Turn:
    """Return the function that casts a value to another type; it raises ``ConversionError`` for ``field``."""
    turn = _turn(op)

    def cast(value: object) -> Datum:
        try:
            return turn(value)
        except (CastRefused, NoForm) as refused:
            raise ConversionError(refused.code, field, refused.text) from None

    return cast


def _turn(op: Cast) -> Turn:
    source, target = op.source, op.target
    form = form_function(source, target, rounding=op.rounding, zone=op.zone)
    if form is not None:
        return form
    if is_instant(source) and is_instant(target):
        return lambda value: _rescaled(value, source, target)
    if "decimal" in {source.word, target.word} or op.rounding is not None:
        return lambda value: _by_decimal(value, op)
    if target.word == "uuid":
        return lambda text: text if UUID_TEXT.fullmatch(text) else _refuse(text, "no UUID")
    if target.base == "string":
        return _to_text(op)
    if source.base in {"string", "enum"}:
        return _from_text(target)
    if target.base in WHOLE:
        return lambda value: _whole(value, target)
    if target.base == "fixed":
        return lambda value: value if len(value) == target.size else _refuse(value, f"not {target.size} bytes long")
    return _TO_REAL_OR_BOOLEAN[target.base]


def _same(value: object) -> Datum:
    return value


def _refuse(value: object, problem: str) -> Datum:
    raise CastRefused(FailureCode.CAST_FAILED, f"{shown(value)} is {problem}")


def _beyond(value: object, target: Scalar) -> Datum:
    raise CastRefused(FailureCode.OUT_OF_RANGE, f"{shown(value)} does not fit {target}")


def _ranged(number: int, value: object, target: Scalar) -> int:
    low, high = range_of(target)
    return number if low <= number <= high else _beyond(value, target)


def _whole(value: float, target: Scalar) -> int:
    """Return a whole number, boolean or real number as a whole number."""
    if isinstance(value, float) and (not math.isfinite(value) or value != math.floor(value)):
        _refuse(value, "no whole number")
    return _ranged(int(value), value, target)


def _boolean(value: int) -> bool:
    return bool(value) if value in {0, 1} else bool(_refuse(value, "neither 0 nor 1"))


def _float(value: float) -> float:
    if isinstance(value, int):
        return float_of_whole(value)
    near = nearest_float(value)
    if math.isinf(near) and math.isfinite(value):
        raise CastRefused(FailureCode.OUT_OF_RANGE, f"{shown(value)} does not fit float")
    return near


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise CastRefused(FailureCode.OUT_OF_RANGE, f"{shown(value)} does not fit double") from None


def _number(value: float) -> float:
    return value if math.isfinite(value) else float(_refuse(value, "no number in JSON"))


_TO_REAL_OR_BOOLEAN: Final[dict[str, Turn]] = {
    "boolean": _boolean,
    "float": lambda value: _float(_double(value)) if abs(value) > LONG_RANGE[1] else _float(value),
    "double": _double,
    "number": _number,
}


def _to_text(op: Cast) -> Turn:
    source, decimals = op.source, op.decimals
    if source.base in {"float", "double", "number"}:
        is_float = source.base == "float"

        def of_real(value: float) -> str:
            text = text_of_real(value, decimals or 0, is_float=is_float)
            return text if text is not None else str(_refuse(value, "no number that has decimals"))

        return of_real
    return {"boolean": lambda value: "true" if value else "false", "bytes": _utf8}.get(source.base, str)


def _utf8(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return str(_refuse(value, "not UTF-8"))


def _from_text(target: Scalar) -> Turn:
    if target.base == "enum":
        symbols = frozenset(target.symbols)
        return lambda text: text if text in symbols else _refuse(text, f"none of {', '.join(target.symbols)}")
    if target.base == "boolean":
        return lambda text: _BOOLEANS[text] if text in _BOOLEANS else _refuse(text, "neither true nor false")
    if target.base in WHOLE:
        return lambda text: _whole_of_text(text, target)
    return lambda text: _real_of_text(text, target)


def _whole_of_text(text: str, target: Scalar) -> int:
    number = whole_of_text(text)
    return _refuse(text, "no whole number") if number is None else _ranged(number, text, target)


def _real_of_text(text: str, target: Scalar) -> float:
    value = float_of_text(text) if target.base == "float" else double_of_text(text)
    if value is None:
        _refuse(text, "no number")
    elif math.isinf(value):
        _beyond(text, target)
    return math.nan if value is None else value


def _rescaled(value: int, source: Scalar, target: Scalar) -> int:
    """Return a point in time in another unit; parts smaller than the unit are rounded down."""
    return _ranged(value * ticks_per_second(target) // ticks_per_second(source), value, target)


def _by_decimal(value: object, op: Cast) -> Datum:
    source, target = op.source, op.target
    number = decimal_of(value, source)
    if target.base in {"double", "number"}:
        return float(number)
    text = _shown_decimal(number) if source.word == "decimal" else shown(value)
    if target.base == "string":
        return f"{_rounded(number, op, text):f}"
    if is_beyond(number):
        return _beyond_text(text, target)
    if target.base in WHOLE:
        return _whole_of_decimal(number, op, text)
    return _decimal_bytes(_rounded(number, op, text), text, target)


def is_beyond(number: Decimal) -> bool:
    """Return whether a number is so large or so small that its digits would be too many."""
    return bool(number) and abs(number.adjusted()) > _MAX_DECIMAL_DIGITS


def _whole_of_decimal(number: Decimal, op: Cast, text: str) -> int:
    numerator, denominator = number.as_integer_ratio()
    made = rounded_ratio(numerator, denominator, op.rounding or Rounding.EXACT)
    if made is None:
        raise CastRefused(FailureCode.CAST_FAILED, f"{text} is no whole number")
    low, high = range_of(op.target)
    if not low <= made <= high:
        raise CastRefused(FailureCode.OUT_OF_RANGE, f"{text} does not fit {op.target}")
    return made


def _rounded(number: Decimal, op: Cast, text: str) -> Decimal:
    """Return a number with the decimals of a cast: those of its rule, or else those of a decimal that is rounded."""
    decimals = op.rounded
    if decimals is None and op.rounding is not None:
        decimals = op.target.scale if op.target.word == "decimal" else op.decimals
    if decimals is None:
        return number
    made = rounded_decimal(number, decimals, op.rounding or Rounding.HALF_UP)
    if made is None:
        raise CastRefused(FailureCode.CAST_FAILED, f"{text} is more exact than {decimals} decimals")
    return made


def decimal_of(value: Datum, source: Scalar) -> Decimal:
    """Return exactly the number that a value means: of a real one, the shortest digits that name it."""
    if source.word == "decimal":
        return decimal_of_bytes(value, source)
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            _refuse(value, "no number that has decimals")
        return Decimal(shortest_float_text(value) if source.base == "float" else repr(value))
    number = exact_decimal(value)
    return Decimal(str(_refuse(value, "no number"))) if number is None else number


def decimal_of_bytes(value: bytes, scalar: Scalar) -> Decimal:
    """Return the number of a base value of a decimal."""
    unscaled = int.from_bytes(value, "big", signed=True)
    return Decimal(unscaled).scaleb(-scalar.scale, context=EXACT_CONTEXT)


def _shown_decimal(number: Decimal) -> str:
    """Return a decimal as it is printed in messages: its digits, not its bytes."""
    return excerpt(f"{number:f}")


def _beyond_text(text: str, target: Scalar) -> bytes:
    raise CastRefused(FailureCode.OUT_OF_RANGE, f"{text} does not fit {target}")


def _decimal_bytes(number: Decimal, text: str, target: Scalar) -> bytes:
    """Return the number as bytes in the target's scale, if that needs no rounding; ``text`` shows the value."""
    scaled = number.scaleb(target.scale, context=EXACT_CONTEXT)
    if scaled != scaled.to_integral_value():
        raise CastRefused(FailureCode.CAST_FAILED, f"{text} is more exact than {target.scale} decimals")
    return bytes_of_scaled(int(scaled), text, target)


def bytes_of_scaled(unscaled: int, text: str, target: Scalar) -> bytes:
    """Return a number of units of the last decimal as bytes; ``text`` shows the value. Raises ``CastRefused``."""
    if abs(unscaled) >= 10 ** (target.precision or 0):
        return _beyond_text(text, target)
    try:
        return decimal_bytes(unscaled, target.size)
    except OverflowError:
        return _beyond_text(text, target)


def decimal_of_number(given: float, target: Scalar) -> bytes | None:
    """Return a number that a rule writes as a base value of a decimal; None if it is none."""
    if not math.isfinite(given):
        return None
    number = Decimal(repr(given))
    if number and abs(number.adjusted()) > _MAX_DECIMAL_DIGITS:
        return None
    try:
        return _decimal_bytes(number, "", target)
    except CastRefused:
        return None


# Constants of rules and defaults of schemas: as base values, and as they are printed.


def value_of_rule(node: Node, given: object) -> Datum:
    """Return the base value of a value that a rule writes; raise ``NoValue`` if it has none.

    It is written as a default of the type is, and a decimal also as a number.
    """
    scalar = _decimal(node)
    if scalar is None or isinstance(given, bool) or not isinstance(given, (int, float)):
        return value_of_json(node, given)
    made = decimal_of_number(given, scalar)
    if made is None:
        raise NoValue(f"a number that is exactly {scalar}")
    return made


def text_of_default(node: Node, given: object) -> str:
    """Return the default of a field as it is printed: as YAML writes it, and a decimal as a number."""
    scalar = _decimal(node)
    if scalar is None or not isinstance(given, str):
        return spelt_as_yaml(given)
    try:
        return f"{decimal_of_bytes(value_of_json(node, given), scalar):f}"
    except NoValue:
        return spelt_as_yaml(given)


def readable(node: Node, value: Datum) -> Datum:
    """Return a base value for people: its decimals are numbers, and values of unions stand without their branch."""
    if isinstance(node, UnionType):
        has_branch = node.is_tagged and isinstance(value, tuple)
        inner = node.branches[value[0]] if has_branch else split_null(node)[1]
        given = value[1] if has_branch else value
        return given if inner is None or isinstance(inner, UnionType) else readable(inner, given)
    if isinstance(node, RecordType) and isinstance(value, dict):
        types = {member.name: member.type for member in node.fields}
        return {name: readable(types[name], part) if name in types else part for name, part in value.items()}
    if isinstance(node, ArrayType) and isinstance(value, list):
        return [readable(node.items, part) for part in value]
    if isinstance(node, MapType) and isinstance(value, dict):
        return {key: readable(node.values, part) for key, part in value.items()}
    scalar = _decimal(node)
    return value if scalar is None or not isinstance(value, bytes) else decimal_of_bytes(value, scalar)


def _decimal(node: Node) -> Scalar | None:
    """Return the decimal that a type is, null aside."""
    _, inner = split_null(node)
    return inner.scalar if isinstance(inner, Leaf) and inner.scalar.word == "decimal" else None


# Lookup tables: their keys and results as values of the source's and the target's type.


def table_of(lookup: LookupRule, source: Scalar, target: Node) -> tuple[tuple[tuple[Datum, Datum], ...], list[str]]:
    """Return the table with its keys as values of ``source`` and its results as values of ``target``.

    And the problems.
    """
    entries: dict[Datum, Datum] = {}
    problems: list[str] = []
    for written, result in lookup.table:
        try:
            key = _key(written, source)
            key = key.lower() if lookup.ignores_case else key
        except NoValue as no_value:
            problems.append(f"lookup {shown(written)}: {no_value}")
            continue
        try:
            value = value_of_rule(target, result)
        except NoValue as no_value:
            problems.append(f"lookup {shown(written)}: {shown(result)} is no value here; expected {no_value}")
            continue
        if key in entries:
            problems.append(f"lookup: {shown(key)} is in the table twice")
        entries[key] = value
    return tuple(entries.items()), problems


def _key(written: object, source: Scalar) -> Datum:
    """Return a key as a value of the source's type; documents write whole numbers and booleans as text too."""
    if source.base in WHOLE:
        low, high = range_of(source)
        number = whole_of_text(written) if isinstance(written, str) else written
        if isinstance(number, int) and not isinstance(number, bool) and low <= number <= high:
            return number
    elif source.base == "boolean":
        if isinstance(written, bool):
            return written
        if isinstance(written, str) and written in _BOOLEANS:
            return _BOOLEANS[written]
    elif source.base == "enum":
        if written in source.symbols:
            return written
        raise NoValue(f"the key is no symbol; expected one of {', '.join(source.symbols)}")
    elif source.base == "string":
        if isinstance(written, str):
            return written
        raise NoValue("the key is no text; put it into quotes")
    else:
        raise NoValue(f"{source} cannot be the key of a table")
    raise NoValue(f"the key is no {source}")
