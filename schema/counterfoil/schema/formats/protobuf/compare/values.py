"""Values of scalar fields: the numbers that a type holds, and the value of a field that is not set."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.protobuf.types.index import FieldType, Held

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


def written_range(held: Held) -> range | None:
    """Return the numbers that a writer writes: of an enum, those from its lowest to its highest; None for no number."""
    if held.enum is None:
        return RANGE_BY_SCALAR.get(held.scalar or "")
    numbers = held.enum.names_by_number
    return range(min(numbers), max(numbers) + 1) if numbers else range(1)


def read_range(held: Held) -> range | None:
    """Return the numbers that a reader can hold unchanged; a closed enum has the range of an open one here."""
    return ENUM_RANGE if held.enum is not None else RANGE_BY_SCALAR.get(held.scalar or "")


def is_inside(inner: range, outer: range) -> bool:
    """Return whether every number of ``inner`` is one of ``outer``; both count by one."""
    return outer.start <= inner.start and inner.stop <= outer.stop


def default_of(field: FieldType) -> str | int | float | None:
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
