"""Questions about types in a derivation: which are equal, which are larger, and how a constant is written."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeVar

from counterfoil.schema.datum import Datum
from counterfoil.schema.plans.model import Scalar, ValueShape
from counterfoil.schema.plans.notation import (
    INT_RANGE,
    LONG_RANGE,
    NANOS_RANGE,
    UINT32_RANGE,
    UINT64_RANGE,
    nearest_float,
)
from counterfoil.schema.plans.tree import (
    ArrayType,
    Leaf,
    MapType,
    Node,
    NullType,
    Opaque,
    RecordType,
    TypeKind,
    UnionType,
    branch_pairs,
)

WIDER_BY_WORD: Final = {
    "int": ("long", "double", "number"),
    "long": ("number",),
    "uint32": ("uint64", "double", "number"),
    "uint64": ("number",),
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

NUMERIC: Final = ("int", "long", "float", "double", "number", "uint32", "uint64")
REAL: Final = frozenset({"float", "double", "number"})
WHOLE: Final = frozenset({"int", "long", "uint64"})
"""The bases of whole numbers."""
_TIMESTAMPS: Final = {"timestamp-millis", "timestamp-micros", "timestamp-nanos"}
_CASTS: Final[Mapping[str, set[str]]] = {
    "boolean": {"int", "long", "string"},
    "int": {
        "boolean", "int", "long", "float", "double", "string", "date", "time-millis", "decimal", "uint32", "uint64",
    },
    "long": {"boolean", "int", "float", "double", "string", "decimal", "uint32", "uint64"},
    "uint32": {"int", "float", "string", "decimal"},
    "uint64": {"int", "long", "uint32", "float", "double", "string", "decimal"},
    "float": {"int", "long", "string", "number", "decimal"},
    "double": {"int", "long", "float", "string", "number", "decimal"},
    "number": {"int", "long", "uint32", "uint64", "float", "double", "string", "decimal"},
    "string": {
        "boolean", "int", "long", "float", "double", "enum", "uuid", "decimal", "number", "uint32", "uint64",
        "date-time", "full-date", "base64",
    },
    "bytes": {"string", "fixed", "base64"},
    "fixed": {"base64"},
    "base64": {"bytes"},
    "enum": {"enum"},
    "decimal": {"string", "decimal", "double", "number", "int", "long", "uint32", "uint64"},
    "date": {"full-date"},
    "full-date": {"date"},
    "date-time": _TIMESTAMPS,
    **{word: {"date-time"} for word in _TIMESTAMPS},
}  # fmt: skip
_SAME_MEANING: Final = frozenset(
    {
        *((source, target) for source in _TIMESTAMPS for target in ("date-time",)),
        ("bytes", "base64"),
        ("fixed", "base64"),
        ("base64", "bytes"),
        ("date", "full-date"),
        ("full-date", "date"),
        ("float", "number"),
        ("double", "number"),
    }
)
"""The casts between two forms of a value, which only refuse values that the other form does not have."""
_DERIVED: Final = _SAME_MEANING | {("number", "double"), *(("date-time", target) for target in _TIMESTAMPS)}
"""The casts that need no rule. A JSON number may have more digits than a double; a date-time loses its offset."""
UNIT_BY_SUFFIX: Final = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}


class Typed(Protocol):
    """A type of a plan's tree, or of the type tree of a language in which unions and null have these kinds."""

    @property
    def kind(self) -> str:
        """The kind of the type."""


_Typed = TypeVar("_Typed", bound=Typed)


_NAMES_BY_WORD: Final[Mapping[str, frozenset[str]]] = {
    "boolean": frozenset({"bool"}),
    "int": frozenset({"int32", "sint32", "sfixed32", "integer"}),
    "long": frozenset({"int64", "sint64", "sfixed64", "integer"}),
    "uint32": frozenset({"fixed32", "integer"}),
    "uint64": frozenset({"fixed64", "integer"}),
    "double": frozenset({"number"}),
    "timestamp-nanos": frozenset({"Timestamp", "google.protobuf.Timestamp"}),
    "duration-nanos": frozenset({"Duration", "google.protobuf.Duration"}),
    "date": frozenset({"google.type.Date"}),
    "date-time": frozenset({"string"}),
    "full-date": frozenset({"string"}),
    "base64": frozenset({"string"}),
}
"""What Protobuf and JSON Schema call the types of a tree."""


def names_of(scalar: Scalar) -> frozenset[str]:
    """Return the names of a type: that of the tree, and those of the languages."""
    return _NAMES_BY_WORD.get(scalar.word, frozenset()) | {scalar.word}


def scalar_of(node: Node) -> Scalar | None:
    """Return the type as it is named in operations; None for a type with parts."""
    return node.scalar if isinstance(node, Leaf) else None


def describe(node: Node) -> str:
    """Return a short description of the type for messages."""
    if isinstance(node, UnionType):
        return " or ".join(describe(branch) for branch in node.branches)
    if isinstance(node, ArrayType):
        return f"array of {describe(node.items)}"
    if isinstance(node, MapType):
        return f"map of {describe(node.values)}"
    if isinstance(node, Opaque):
        return node.words
    if isinstance(node, NullType):
        return "null"
    if isinstance(node, Leaf) and node.kind != "enum":
        return str(node.scalar)
    return f"{node.kind} {node.name}".rstrip()


def split_null(node: _Typed) -> tuple[bool, _Typed | None]:
    """Return whether null is a value of the type, and the type without null; None for a type of null alone."""
    if node.kind == TypeKind.NULL:
        return True, None
    if node.kind != TypeKind.UNION:
        return False, node
    branches: Sequence[_Typed] = getattr(node, "branches")  # noqa: B009 - the attribute of every type of this kind
    others = [branch for branch in branches if branch.kind != TypeKind.NULL]
    has_null = len(others) < len(branches)
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


def needs_decimals(source: Scalar, target: Scalar) -> bool:
    """Return whether a cast must say how many decimals the result has: a real number has no fixed number of them."""
    return source.word in REAL and target.word in {"string", "decimal"}


def rounds(source: Scalar, target: Scalar) -> bool:
    """Return whether ``decimals`` of a cast rounds an exact number; else it is about the digits of a text."""
    return target.word == "decimal" or (source.word == "decimal" and target.word == "string")


def takes_rounding(source: Scalar, target: Scalar) -> bool:
    """Return whether a rounding has an effect on a cast of numbers."""
    if target.word == "string":
        return source.word in REAL | {"decimal"}
    is_whole = (target.word == target.base and target.base in WHOLE) or target.word == "uint32"
    return source.word in REAL | {"decimal", "string"} and (is_whole or target.word == "decimal")


def is_derived(source: Scalar, target: Scalar) -> bool:
    """Return whether the cast needs no rule: the two are forms of the same value."""
    return (source.word, target.word) in _DERIVED


def keeps_meaning(source: Scalar, target: Scalar) -> bool:
    """Return whether a cast only refuses values, and a value that is not refused can be restored."""
    if (source.word, target.word) in _SAME_MEANING:
        return True
    if is_instant(source) and is_instant(target):
        return ticks_per_second(target) >= ticks_per_second(source)
    if source.word == target.word == "decimal":
        whole_digits = (target.precision or 0) - target.scale
        return target.scale >= source.scale and whole_digits >= (source.precision or 0) - source.scale
    return False


def range_of(scalar: Scalar) -> tuple[int, int]:
    """Return the smallest and the largest whole number of a type."""
    if scalar.is_wide:
        return NANOS_RANGE
    if scalar.word == "uint32":
        return UINT32_RANGE
    return {"int": INT_RANGE, "uint64": UINT64_RANGE}.get(scalar.base, LONG_RANGE)


def is_instant(scalar: Scalar) -> bool:
    """Return whether it is a point in time, with a zone or without."""
    return "timestamp-" in scalar.word


def ticks_per_second(scalar: Scalar) -> int:
    """Return how many units of a point in time are in a second."""
    return UNIT_BY_SUFFIX[scalar.word.rpartition("-")[2]]


def same_values(source: Node, target: Node) -> bool:
    """Return whether every value of ``source`` is, without a conversion, a value of ``target``.

    Names of records do not matter, except where they tell the branches of a union, names of fields do, their order does
    not; a union must have the same branches in the same order. Two recursive types are equal unless a difference is
    found.
    """
    return _same(source, target, set())


def _same(source: Node, target: Node, met: set[tuple[int, int]]) -> bool:
    pair = (id(source), id(target))
    if source.kind != target.kind:
        return False
    if pair in met:
        return True
    met.add(pair)
    if isinstance(source, RecordType) and isinstance(target, RecordType):
        types = {member.name: member.type for member in target.fields}
        return {member.name for member in source.fields} == set(types) and all(
            _same(member.type, types[member.name], met) for member in source.fields
        )
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _same(source.items, target.items, met)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return source.key == target.key and _same(source.values, target.values, met)
    if isinstance(source, Opaque) and isinstance(target, Opaque):
        return source.text == target.text and source.is_known and target.is_known
    if isinstance(source, UnionType) and isinstance(target, UnionType):
        return _same_branches(source, target, met)
    left, right = scalar_of(source), scalar_of(target)
    return left is right is None or (left is not None and right is not None and holds(left, right))


def _same_branches(source: UnionType, target: UnionType, met: set[tuple[int, int]]) -> bool:
    """Compare nullable types in any order of branches, and other unions branch by branch."""
    source_null, source_rest = split_null(source)
    target_null, target_rest = split_null(target)
    if source_null is not target_null or source_rest is None or target_rest is None:
        return source_null is target_null and source_rest is target_rest
    if not isinstance(source_rest, UnionType) or not isinstance(target_rest, UnionType):
        return _same(source_rest, target_rest, met)
    if source.is_tagged is not target.is_tagged or len(source.branches) != len(target.branches):
        return False
    if source.is_tagged and not _are_in_place(source, target):
        return False
    return all(_same(left, right, met) for left, right in zip(source.branches, target.branches, strict=True))


def _are_in_place(source: UnionType, target: UnionType) -> bool:
    """Return whether no branch belongs to one at another place; nor to none, where the data of both tells branches."""
    pairs = branch_pairs(source, target)
    needs_pairs = source.tells_branch and target.tells_branch
    return all(
        pairs.get(index, -1 if needs_pairs else index) == index
        for index, branch in enumerate(source.branches)
        if not isinstance(branch, NullType)
    )


_SHAPE_BY_KIND: Final[Mapping[str, ValueShape]] = {
    "boolean": ValueShape.BOOLEAN,
    "int": ValueShape.INTEGER,
    "long": ValueShape.INTEGER,
    "uint64": ValueShape.INTEGER,
    "float": ValueShape.REAL,
    "double": ValueShape.REAL,
    "number": ValueShape.REAL,
    "string": ValueShape.TEXT,
    "enum": ValueShape.TEXT,
    "bytes": ValueShape.BYTES,
    "fixed": ValueShape.BYTES,
    TypeKind.ARRAY: ValueShape.LIST,
    TypeKind.MAP: ValueShape.OBJECT,
    TypeKind.RECORD: ValueShape.OBJECT,
}


def shape_of(node: Node) -> ValueShape | None:
    """Return the class of the type's base values; None if they may be of several."""
    return _SHAPE_BY_KIND.get(node.kind)


def are_distinct(branches: Sequence[Typed]) -> bool:
    """Return whether the class of a base value tells its branch, besides null."""
    shapes = [_SHAPE_BY_KIND.get(branch.kind) for branch in branches if branch.kind != TypeKind.NULL]
    return len(set(shapes)) == len(shapes)


def has_enum(node: Typed) -> bool:
    """Return whether there is an enum in a type (which does not contain itself)."""
    inside: list[Typed] = []
    for name in ("items", "values"):
        inside += [getattr(node, name)] if hasattr(node, name) else []
    inside += getattr(node, "branches", ())
    inside += [member.type for member in getattr(node, "fields", ())]
    return node.kind == "enum" or any(map(has_enum, inside))


class NoValue(Exception):
    """A JSON value that is no value of the type; the text describes the expected one."""


def value_of_json(node: Node, given: object) -> Datum:
    """Return the base value of a JSON value, as in a field's default; raise ``NoValue`` if it has none.

    For a union, the first branch that has such a value.
    """
    if isinstance(node, UnionType):
        return _union_value(node, given)
    if isinstance(node, RecordType):
        return _record_value(node, given)
    if isinstance(node, ArrayType):
        return [value_of_json(node.items, item) for item in _checked(given, list, node)]
    if isinstance(node, MapType):
        return {str(key): value_of_json(node.values, item) for key, item in _checked(given, dict, node).items()}
    return _scalar_value(node, given)


def _union_value(node: UnionType, given: object) -> Datum:
    for index, branch in enumerate(node.branches):
        try:
            value = value_of_json(branch, given)
        except NoValue:
            continue
        return (index, value) if node.is_tagged and value is not None else value
    raise NoValue(describe(node))


def _record_value(node: RecordType, given: object) -> dict[str, Datum]:
    values = _checked(given, dict, node)
    made: dict[str, Datum] = {}
    for member in node.fields:
        if member.name in values:
            made[member.name] = value_of_json(member.type, values[member.name])
        elif member.has_default:
            made[member.name] = value_of_json(member.type, member.default)
        elif member.may_be_absent:
            made[member.name] = None
        else:
            raise NoValue(f"{describe(node)} with {member.name}")
    if set(values) - set(made):
        raise NoValue(f"{describe(node)} without {', '.join(sorted(set(values) - set(made)))}")
    return made


def _checked(given: object, wanted: type, node: Node) -> Datum:
    if not isinstance(given, wanted):
        raise NoValue(describe(node))
    return given


def _scalar_value(node: Node, given: object) -> Datum:
    if isinstance(node, NullType) and given is None:
        return None
    if not isinstance(node, Leaf):
        raise NoValue(describe(node))
    base = node.scalar.base
    if base in {"float", "double", "number"}:
        return _real_value(node.scalar, given)
    if base in {"bytes", "fixed"} and isinstance(given, str):
        return _bytes_value(node.scalar, given)
    if not _is_plain_value(node, given):
        raise NoValue(_expected(node))
    return given


def _is_plain_value(node: Leaf, given: object) -> bool:
    """Return whether a JSON value is the base value of a boolean, a whole number, a text or an enum."""
    base = node.scalar.base
    if base == "boolean" or isinstance(given, bool):
        return base == "boolean" and isinstance(given, bool)
    if base in WHOLE:
        low, high = range_of(node.scalar)
        return isinstance(given, int) and low <= given <= high
    if base == "enum":
        return isinstance(given, str) and given in node.symbols
    return base == "string" and isinstance(given, str) and is_text(given)


def is_text(value: str) -> bool:
    """Return whether the text can be written as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _expected(node: Leaf) -> str:
    return f"one of {', '.join(node.symbols)}" if node.symbols else describe(node)


def _real_value(scalar: Scalar, given: object) -> float:
    if scalar.word == "number" and isinstance(given, int) and not isinstance(given, bool):
        return given
    words = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    if isinstance(given, str) and given in words and scalar.word != "number":
        return words[given]
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise NoValue(str(scalar))
    try:
        value = nearest_float(float(given)) if scalar.base == "float" else float(given)
    except (OverflowError, struct.error):
        raise NoValue(str(scalar)) from None
    if math.isinf(value) and math.isfinite(given):
        raise NoValue(f"a number within {scalar}")
    return value


def _bytes_value(scalar: Scalar, given: str) -> bytes:
    try:
        value = given.encode("latin-1")
    except UnicodeEncodeError:
        raise NoValue("characters up to U+00FF, one for each byte") from None
    if scalar.size is not None and len(value) != scalar.size:
        raise NoValue(f"{scalar.size} bytes")
    return value
