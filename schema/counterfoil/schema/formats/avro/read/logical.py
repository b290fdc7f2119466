"""Logical types: which annotations are valid, and what they mean.

Source: Apache Avro 1.12 specification, "Logical Types": an implementation ignores an annotation that it does not know
or that does not fit its type, and reads the underlying type.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.avro.types import Kind, LogicalType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.avro.types import Json

_UUID_SIZE_BYTES = 16
_DURATION_SIZE_BYTES = 12

_KIND_BY_NAME: Final = {
    "date": Kind.INT,
    "time-millis": Kind.INT,
    "time-micros": Kind.LONG,
    "timestamp-millis": Kind.LONG,
    "timestamp-micros": Kind.LONG,
    "timestamp-nanos": Kind.LONG,
    "local-timestamp-millis": Kind.LONG,
    "local-timestamp-micros": Kind.LONG,
    "local-timestamp-nanos": Kind.LONG,
    "uuid": Kind.STRING,
}


LOGICAL_TYPE_NAMES: Final = frozenset({*_KIND_BY_NAME, "decimal", "duration"})
"""The logical types of the specification."""


def read_logical_type(properties: Mapping[str, Json], kind: Kind, *, size_bytes: int = 0) -> LogicalType | None:
    """Return the logical type of a type with ``properties``; None if there is none or it is not valid.

    ``size_bytes`` is the size of a fixed.
    """
    name = properties.get("logicalType")
    if not isinstance(name, str):
        return None
    if name == "decimal":
        return _read_decimal(properties, kind, size_bytes)
    if kind is Kind.FIXED:
        fits = {"uuid": _UUID_SIZE_BYTES, "duration": _DURATION_SIZE_BYTES}.get(name) == size_bytes
    else:
        fits = _KIND_BY_NAME.get(name) is kind
    return LogicalType(name) if fits else None


def max_precision(size_bytes: int) -> int:
    """Return the number of decimal digits that every two's-complement number of this size can represent."""
    return math.floor(math.log10(2) * (8 * size_bytes - 1)) if size_bytes > 0 else 0


def _read_decimal(properties: Mapping[str, Json], kind: Kind, size_bytes: int) -> LogicalType | None:
    precision = properties.get("precision")
    scale = properties.get("scale", 0)
    if kind not in (Kind.BYTES, Kind.FIXED) or type(precision) is not int or type(scale) is not int:
        return None
    if precision < 1 or not 0 <= scale <= precision:
        return None
    if kind is Kind.FIXED and precision > max_precision(size_bytes):
        return None
    return LogicalType("decimal", precision=precision, scale=scale)
