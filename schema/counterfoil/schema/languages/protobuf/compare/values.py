"""The meaning of values: numbers that a type holds, defaults, strings checked to be UTF-8, well-known messages."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Final

from counterfoil.schema.languages.protobuf.types import ENTRY_KEY, ENTRY_VALUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.languages.protobuf.types import FieldValueType, NumberedField


# Values of scalar fields: the numbers that a type holds, and the value of a field that is not set.

RANGE_BY_SCALAR: Final[Mapping[str, range]] = {
    "bool": range(2),
    "int32": range(-(1 << 31), 1 << 31),
    "sint32": range(-(1 << 31), 1 << 31),
    "sfixed32": range(-(1 << 31), 1 << 31),
    "uint32": range(1 << 32),
    "fixed32": range(1 << 32),
    "int64": range(-(1 << 63), 1 << 63),
    "sint64": range(-(1 << 63), 1 << 63),
    "sfixed64": range(-(1 << 63), 1 << 63),
    "uint64": range(1 << 64),
    "fixed64": range(1 << 64),
}
"""The whole numbers that a scalar type holds; a bool counts as 0 and 1."""

ENUM_RANGE: Final = RANGE_BY_SCALAR["int32"]
"""The numbers that an open enum holds."""

TEXTS: Final = frozenset({"string", "bytes"})


def written_range(held: FieldValueType) -> range | None:
    """Return the numbers that a writer writes: of an enum, those from its lowest to its highest; None for no number."""
    if held.enum is None:
        return RANGE_BY_SCALAR.get(held.scalar or "")
    numbers = held.enum.names_by_number
    return range(min(numbers), max(numbers) + 1) if numbers else range(1)


def read_range(held: FieldValueType) -> range | None:
    """Return the numbers that a reader can hold unchanged; a closed enum has the range of an open one here."""
    return ENUM_RANGE if held.enum is not None else RANGE_BY_SCALAR.get(held.scalar or "")


def is_inside(inner: range, outer: range) -> bool:
    """Return whether every number of ``inner`` is one of ``outer``; both count by one."""
    return outer.start <= inner.start and inner.stop <= outer.stop


def default_of(field: NumberedField) -> str | int | float | None:
    """Return the value of a singular scalar field that is not set: a number (that of an enum's symbol), or a text.

    None if it is unknown: a default that is no value of its type, or an enum without symbols.
    """
    held = field.holds
    written = field.option("default")
    if held.enum is not None:
        name = held.enum.first_name if written is None else written
        return next((each.number for each in held.enum.node.constants if each.name == name), None)
    if held.scalar in TEXTS:
        return written or ""
    if held.scalar == "bool":
        return int(written == "true")
    if written is None:
        return 0
    return _number(written)


def _number(text: str) -> str | int | float | None:
    """Return the number; the text itself for ``nan``, which does not equal itself; None if it is no number."""
    for parse in (_whole, _octal, float):
        try:
            found = parse(text)
        except ValueError:
            continue
        return text if isnan(found) else found
    return None


def _whole(text: str) -> int:
    return int(text, 0)


def _octal(text: str) -> int:
    """Return a whole number with a leading zero, as protoc reads it."""
    return int(text, 8)


# The strings of a field that are checked to be UTF-8 by a reader and not by its writer.
#
# A string of proto2 is not checked, one of proto3 is; in an edition the feature ``utf8_validation`` decides. A writer
# that does not check can write bytes that are not UTF-8; the parser of a reader that checks refuses the whole message.
#
# Source: the Protocol Buffers guide, "Feature settings for editions", and the behaviour of its runtime.

_STRING: Final = "string"
_VALUE: Final = "the string"
_KEYS: Final = "the keys"
_VALUES: Final = "the values"


def newly_checked_strings(reader: NumberedField, writer: NumberedField) -> str:
    """Return the strings of a field that the reader checks to be UTF-8 and the writer does not, in words; else empty.

    The fields of messages are not compared, except if the other side is a map: then the message is compared with its
    entries.
    """
    as_entries = reader.holds.is_map or writer.holds.is_map
    checked, written = (_checks_by_part(field, as_entries=as_entries) for field in (reader, writer))
    return " and ".join(part for part, is_checked in checked.items() if is_checked and not written.get(part, True))


def _checks_by_part(field: NumberedField, *, as_entries: bool) -> Mapping[str, bool]:
    """Return, by part of a field, whether its strings are checked; parts that hold no strings are left out."""
    holds, features = field.holds, field.features
    if not as_entries:
        return {_VALUE: features.checks_utf8} if _is_string(holds) else {}
    if holds.message is not None:
        entry = holds.message.fields
        parts = {_KEYS: entry.get(ENTRY_KEY), _VALUES: entry.get(ENTRY_VALUE)}
        return {part: inner.features.checks_utf8 for part, inner in parts.items() if inner and _is_string(inner.holds)}
    parts_of_map = {_KEYS: holds.key, _VALUES: holds.value}
    return {part: features.checks_utf8 for part, inner in parts_of_map.items() if inner and _is_string(inner)}


def _is_string(held: FieldValueType) -> bool:
    return held.scalar == _STRING


# Messages whose meaning is defined by their name: the well-known types and Google's common types.
#
# ``Timestamp`` and ``Duration`` have the same fields, and so do ``Date`` and ``TimeOfDay``: bytes of the one are read
# as the other without an error. The meaning of any other message is defined by its fields alone, and so is that of the
# wrappers of scalars, such as ``Int32Value``.
#
# Source: Protocol Buffers, "Well-Known Types"; the Google API common types.

_PACKAGES: Final = ("google.protobuf.", "google.type.")
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{scalar}Value"
    for scalar in ("Bool", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "String", "Bytes")
)


def mean_different_things(one: str, other: str) -> bool:
    """Return whether two messages, given by their full names, have different meanings.

    >>> mean_different_things("google.protobuf.Timestamp", "google.protobuf.Duration")
    True
    >>> mean_different_things("google.protobuf.Timestamp", "shop.Moment")
    False
    >>> mean_different_things("google.protobuf.Int32Value", "google.protobuf.Int64Value")
    False
    """
    return (
        one != other
        and one.startswith(_PACKAGES)
        and other.startswith(_PACKAGES)
        and not (one in _WRAPPERS and other in _WRAPPERS)
    )
