"""Questions about types in a derivation: which are equal, which are larger, and how a constant is written."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.evolution.model import Scalar, Shape
from counterfoil.schema.evolution.numbers import INT_RANGE, LONG_RANGE, nearest_float
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.types import AvroType

WIDER_BY_WORD: Final = {
    "int": ("long", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "enum": ("string", "bytes"),
    "uuid": ("string",),
    "fixed": ("bytes",),
    "date": ("int", "long"),
    "time-millis": ("int", "long"),
    "timestamp-millis": ("long",),
    "local-timestamp-millis": ("long",),
}
"""The larger types of each type; the base of a logical type is larger, too."""

NUMERIC: Final = ("int", "long", "float", "double")
_CASTS: Final = {
    "boolean": {"int", "long", "string"},
    "int": {"boolean", "int", "long", "float", "double", "string", "date", "time-millis", "decimal"},
    "long": {"boolean", "int", "float", "double", "string", "decimal"},
    "float": {"int", "long", "string"},
    "double": {"int", "long", "float", "string"},
    "string": {"boolean", "int", "long", "float", "double", "enum", "uuid", "decimal"},
    "bytes": {"string", "fixed"},
    "enum": {"enum"},
    "decimal": {"string", "decimal", "double"},
}
UNIT_BY_SUFFIX: Final = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}


def scalar_of(node: AvroType) -> Scalar | None:
    """Return the type as it is named in operations; None for a type with parts."""
    if isinstance(node, (Record, Array, Map, Union)) or node.kind is Kind.NULL:
        return None
    base = node.kind.value
    size = node.size if isinstance(node, Fixed) else None
    symbols = tuple(node.symbols) if isinstance(node, Enum) else ()
    logical = node.logical_type
    if logical is None or (base, logical.name) == ("fixed", "uuid"):
        return Scalar(base, base, symbols, size=size)
    return Scalar(logical.name, base, symbols, precision=logical.precision, scale=logical.scale, size=size)


def describe(node: AvroType) -> str:
    """Return a short description of the type for messages."""
    if isinstance(node, Union):
        return " or ".join(describe(branch) for branch in node.branches)
    if isinstance(node, Array):
        return f"array of {describe(node.items)}"
    if isinstance(node, Map):
        return f"map of {describe(node.values)}"
    if isinstance(node, (Record, Enum)):
        return f"{node.kind.value} {node.name}"
    scalar = scalar_of(node)
    return str(scalar) if scalar else node.kind.value


def split_null(node: AvroType) -> tuple[bool, AvroType | None]:
    """Return whether null is a value of the type, and the type without null; None for a type of null alone."""
    if isinstance(node, Primitive) and node.kind is Kind.NULL:
        return True, None
    if not isinstance(node, Union):
        return False, node
    others = [branch for branch in node.branches if branch.kind is not Kind.NULL]
    has_null = len(others) < len(node.branches)
    if len(others) <= 1:
        return has_null, others[0] if others else None
    return has_null, node


def holds(source: Scalar, target: Scalar) -> bool:
    """Return whether the two types are equal: every base value of ``source`` is the same value of ``target``."""
    if source.word != target.word or source.base != target.base or source.size != target.size:
        return False
    if source.word == "decimal":
        return (source.precision, source.scale) == (target.precision, target.scale)
    return set(source.symbols) <= set(target.symbols)


def widens(source: Scalar, target: Scalar) -> bool:
    """Return whether ``target`` is a larger type, which has an equal value for every value of ``source``."""
    if source.word in {source.base, "uuid"}:
        return target.word in WIDER_BY_WORD.get(source.word, ())
    return target.word in (source.base, *WIDER_BY_WORD.get(source.word, ())) and source.size == target.size


def casts(source: Scalar, target: Scalar) -> bool:
    """Return whether there is a cast from ``source`` to ``target``: it may refuse values, or round them."""
    if source.word == source.base == target.base and source.base in {"int", "long"} and target.word != target.base:
        return True  # a number that gets a meaning
    if is_instant(source) and is_instant(target):
        return source.word.rpartition("-")[0] == target.word.rpartition("-")[0]
    return target.word in _CASTS.get(source.word, ())


def is_instant(scalar: Scalar) -> bool:
    """Return whether it is a point in time, with a zone or without."""
    return "timestamp-" in scalar.word


def ticks_per_second(scalar: Scalar) -> int:
    """Return how many units of a point in time are in a second."""
    return UNIT_BY_SUFFIX[scalar.word.rpartition("-")[2]]


def same_values(source: AvroType, target: AvroType) -> bool:
    """Return whether every value of ``source`` is, without a conversion, a value of ``target``.

    Names of records do not matter, names of fields do, their order does not; a union must have the same branches in
    the same order. Two recursive types are equal unless a difference is found.
    """
    return _same(source, target, set())


def _same(source: AvroType, target: AvroType, met: set[tuple[int, int]]) -> bool:
    pair = (id(source), id(target))
    if source.kind is not target.kind:
        return False
    if pair in met:
        return True
    met.add(pair)
    if isinstance(source, Record) and isinstance(target, Record):
        types = {member.name: member.type for member in target.fields}
        return {member.name for member in source.fields} == set(types) and all(
            _same(member.type, types[member.name], met) for member in source.fields
        )
    if isinstance(source, Array) and isinstance(target, Array):
        return _same(source.items, target.items, met)
    if isinstance(source, Map) and isinstance(target, Map):
        return _same(source.values, target.values, met)
    if isinstance(source, Union) and isinstance(target, Union):
        return _same_branches(source, target, met)
    left, right = scalar_of(source), scalar_of(target)
    return left is right is None or (left is not None and right is not None and holds(left, right))


def _same_branches(source: Union, target: Union, met: set[tuple[int, int]]) -> bool:
    """Compare nullable types in any order of branches, and other unions branch by branch."""
    source_null, source_rest = split_null(source)
    target_null, target_rest = split_null(target)
    if source_null is not target_null or source_rest is None or target_rest is None:
        return source_null is target_null and source_rest is target_rest
    if not isinstance(source_rest, Union) or not isinstance(target_rest, Union):
        return _same(source_rest, target_rest, met)
    return len(source.branches) == len(target.branches) and all(
        _same(left, right, met) for left, right in zip(source.branches, target.branches, strict=True)
    )


_SHAPE_BY_KIND: Final = {
    Kind.BOOLEAN: Shape.BOOLEAN,
    Kind.INT: Shape.INTEGER,
    Kind.LONG: Shape.INTEGER,
    Kind.FLOAT: Shape.REAL,
    Kind.DOUBLE: Shape.REAL,
    Kind.STRING: Shape.TEXT,
    Kind.ENUM: Shape.TEXT,
    Kind.BYTES: Shape.BYTES,
    Kind.FIXED: Shape.BYTES,
    Kind.ARRAY: Shape.LIST,
    Kind.MAP: Shape.OBJECT,
    Kind.RECORD: Shape.OBJECT,
}


def shape_of(node: AvroType) -> Shape:
    """Return the class of the type's base values."""
    return _SHAPE_BY_KIND[node.kind]


def has_enum(node: AvroType) -> bool:
    """Return whether there is an enum in a type (which does not contain itself)."""
    if isinstance(node, Record):
        return any(has_enum(member.type) for member in node.fields)
    if isinstance(node, Union):
        return any(has_enum(branch) for branch in node.branches)
    if isinstance(node, Array):
        return has_enum(node.items)
    return has_enum(node.values) if isinstance(node, Map) else isinstance(node, Enum)


class NoValue(Exception):
    """A JSON value that is no value of the type; the text describes the expected one."""


def value_of_json(node: AvroType, given: Any) -> Any:
    """Return the base value of a JSON value, as in a field's default; raise ``NoValue`` if it has none.

    For a union, the first branch that has such a value.
    """
    if isinstance(node, Union):
        for branch in node.branches:
            try:
                return value_of_json(branch, given)
            except NoValue:
                continue
        raise NoValue(describe(node))
    if isinstance(node, Record):
        return _record_value(node, given)
    if isinstance(node, Array):
        return [value_of_json(node.items, item) for item in _checked(given, list, node)]
    if isinstance(node, Map):
        return {str(key): value_of_json(node.values, item) for key, item in _checked(given, dict, node).items()}
    return _scalar_value(node, given)


def _record_value(node: Record, given: Any) -> dict[str, Any]:
    values = _checked(given, dict, node)
    made: dict[str, Any] = {}
    for member in node.fields:
        if member.name not in values and not member.has_default:
            raise NoValue(f"{describe(node)} with {member.name}")
        made[member.name] = value_of_json(member.type, values.get(member.name, member.default))
    if set(values) - set(made):
        raise NoValue(f"{describe(node)} without {', '.join(sorted(set(values) - set(made)))}")
    return made


def _checked(given: Any, wanted: type, node: AvroType) -> Any:
    if not isinstance(given, wanted):
        raise NoValue(describe(node))
    return given


def _scalar_value(node: AvroType, given: Any) -> Any:
    kind = node.kind
    if kind is Kind.NULL and given is None:
        return None
    if kind is Kind.BOOLEAN and isinstance(given, bool):
        return given
    if kind in {Kind.INT, Kind.LONG} and isinstance(given, int) and not isinstance(given, bool):
        low, high = INT_RANGE if kind is Kind.INT else LONG_RANGE
        if low <= given <= high:
            return given
    if kind in {Kind.FLOAT, Kind.DOUBLE}:
        return _real_value(node, given)
    if kind is Kind.STRING and isinstance(given, str) and is_text(given):
        return given
    if isinstance(node, Enum) and isinstance(given, str) and given in node.symbols:
        return given
    if kind in {Kind.BYTES, Kind.FIXED} and isinstance(given, str):
        return _bytes_value(node, given)
    raise NoValue(_expected(node))


def is_text(value: str) -> bool:
    """Return whether the text can be written as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _expected(node: AvroType) -> str:
    return f"one of {', '.join(node.symbols)}" if isinstance(node, Enum) else describe(node)


def _real_value(node: AvroType, given: Any) -> float:
    words = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    if isinstance(given, str) and given in words:
        return words[given]
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise NoValue(describe(node))
    try:
        value = nearest_float(float(given)) if node.kind is Kind.FLOAT else float(given)
    except (OverflowError, struct.error):
        raise NoValue(describe(node)) from None
    if math.isinf(value) and math.isfinite(given):
        raise NoValue(f"a number within {describe(node)}")
    return value


def _bytes_value(node: AvroType, given: str) -> bytes:
    try:
        value = given.encode("latin-1")
    except UnicodeEncodeError:
        raise NoValue("characters up to U+00FF, one for each byte") from None
    if isinstance(node, Fixed) and len(value) != node.size:
        raise NoValue(f"{node.size} bytes")
    return value
