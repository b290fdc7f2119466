"""Values of messages as the engines get them: plain Python values, and only the parts that an expression reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

if TYPE_CHECKING:
    from counterfoil.sdk.serde.rules.cel.expression import Parts

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_AS_THEY_ARE: Final = frozenset({str, int, float, bool, bytes, type(None), timedelta, Decimal})


class Unsupported(TypeError):
    """A value that has no type in CEL."""


def convert(value: Any, parts: Parts = None) -> Any:
    """Return a value, or the parts of it that are read, as dicts, lists and scalars.

    Raises ``Unsupported``.
    """
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, Mapping):
        if parts is None:
            return {key: convert(item) for key, item in value.items()}
        return {name: convert(value[name], inner) for name, inner in parts.items() if name in value}
    if hasattr(value, "DESCRIPTOR"):
        from counterfoil.sdk.serde.rules.cel.messages import convert_message

        return convert_message(value, parts)
    if isinstance(value, (str, bytes)):
        return str(value.value) if isinstance(value, Enum) else value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):  # noqa: PLR2004 - a branch of a union
        return convert(value[1], parts)
    if isinstance(value, Sequence):
        return [convert(item) for item in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    match value:
        case datetime():
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value
        case date():
            return value.toordinal() - _EPOCH_DAY
        case UUID():
            return str(value)
        case timedelta() | Decimal() | bool() | int() | float():
            return value
    with suppress(TypeError, ValueError):  # a class, or an array of several numbers, has these members as well
        if hasattr(value, "__index__"):
            return int(value)
        if hasattr(value, "__float__"):
            return float(value)
    raise Unsupported(f"a value of the type {type(value).__name__} has no type in CEL")


def is_present(value: Any, path: Sequence[str]) -> bool:
    """Return whether a path leads to something: ``has()``."""
    for name in path:
        if hasattr(value, "DESCRIPTOR"):
            from counterfoil.sdk.serde.rules.cel.messages import member

            is_set, value = member(value, name)
            if not is_set:
                return False
        elif isinstance(value, Mapping) and name in value:
            value = value[name]
        else:
            return False
    return True
