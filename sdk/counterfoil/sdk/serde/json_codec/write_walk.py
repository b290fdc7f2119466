"""The meaning of writing JSON: which values have a form in JSON, and what it is.

orjson does the same faster, but without the place of an error, without integers beyond 64 bits, and with null for NaN;
when it cannot write a value, or may write it wrong, the value is written here.

Source: RFC 8259; RFC 3339 for dates and times.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final, NoReturn
from uuid import UUID

from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde.json_codec.paths import path_text
from counterfoil.sdk.serde.places import shown

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH: Final = 254
"""The largest number of arrays and objects inside one another, as in orjson; it also ends values inside themselves."""

_SHOWN_STEPS: Final = 10
_EXPECTED: Final = (
    "a value of JSON: None, bool, int, float, str, list, dict; also Decimal, datetime, date, time, UUID, Enum"
)


def write_exactly(value: Any) -> bytes:
    """Return the JSON text of ``value``: compact, UTF-8, characters unescaped. Raises ``EncodeError`` with the path."""
    writing = _Writing()
    try:
        writing.write(value)
    except RecursionError:
        expected, got = "arrays and objects that are less deep inside one another", type(value).__name__
        raise EncodeError(f"The value: expected {expected}; got {got}", expected=expected, got=got) from None
    return "".join(writing.parts).encode()


class _Writing:
    """One value, written part by part; ``path`` is the current place."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.path: list[str | int] = []

    def write(self, value: Any) -> None:
        for kinds, write in _BY_TYPE:
            if isinstance(value, kinds):
                write(self, value)
                return
        if not is_dataclass(value) or isinstance(value, type):
            self._refuse(_EXPECTED, value)
        self.write_dict({one.name: getattr(value, one.name) for one in fields(value) if one.name[0] != "_"})

    def _refuse(self, expected: str, value: object) -> NoReturn:
        path, got = path_text(self.path), shown(value)
        raise EncodeError(
            f"{path or 'The value'}: expected {expected}; got {got}", path=path, expected=expected, got=got
        )

    def write_constant(self, value: bool | None) -> None:  # noqa: FBT001 - the value that is written
        self.parts.append("null" if value is None else "true" if value else "false")

    def write_text(self, value: str) -> None:
        try:
            value.encode()
        except UnicodeEncodeError:
            self._refuse("characters that UTF-8 has", value)
        self.parts.append(encode_basestring(value))

    def write_integer(self, value: int) -> None:
        try:
            self.parts.append(int.__repr__(value))
        except ValueError:  # Python limits the digits that it prints
            self._refuse("an integer of at most 4300 digits", value)

    def write_float(self, value: float) -> None:
        if not math.isfinite(value):
            self._refuse("a finite number, since JSON has no others", value)
        self.parts.append(_float_text(value))

    def write_decimal(self, value: Decimal) -> None:
        if not value.is_finite():
            self._refuse("a finite number, since JSON has no others", value)
        self.parts.append(str(value))

    def write_moment(self, value: datetime | date | time) -> None:
        if isinstance(value, time) and value.tzinfo is not None:
            self._refuse("a time without a time zone, or a datetime", value)
        self.write_text(value.isoformat())

    def write_array(self, value: list[Any] | tuple[Any, ...]) -> None:
        if isinstance(value, tuple) and type(value) is not tuple:
            self._refuse("a list, a tuple or a dict, since a named tuple may be either", value)
        self._check_depth(value)
        separator = "["
        for index, item in enumerate(value):
            self.parts.append(separator)
            separator = ","
            self.path.append(index)
            self.write(item)
            self.path.pop()
        self.parts.append("]" if value else "[]")

    def write_dict(self, value: dict[Any, Any]) -> None:
        self._check_depth(value)
        separator = "{"
        for name, item in value.items():
            if not isinstance(name, str):
                self._refuse("keys of objects that are str", name)
            self.parts.append(separator)
            separator = ","
            self.write_text(name)
            self.parts.append(":")
            self.path.append(name)
            self.write(item)
            self.path.pop()
        self.parts.append("}" if value else "{}")

    def _check_depth(self, value: object) -> None:
        if len(self.path) >= MAX_DEPTH:
            del self.path[_SHOWN_STEPS:]
            self._refuse(f"at most {MAX_DEPTH} arrays and objects inside one another", type(value))

    def write_enum(self, value: Enum) -> None:
        self.write(value.value)

    def write_uuid(self, value: UUID) -> None:
        self.write_text(str(value))


def _float_text(value: float) -> str:
    """Return the shortest text of a number, with an exponent where orjson writes one: from 1e-5 down, and from 1e16."""
    text = float.__repr__(value)
    digits, separator, exponent = text.partition("e-")
    if exponent == "05":
        sign = "-" if value < 0 else ""
        return f"{sign}0.0000{digits.removeprefix('-').replace('.', '')}"
    return f"{digits}e-{exponent.removeprefix('0')}" if separator else text


_BY_TYPE: Final[tuple[tuple[Any, Callable[[_Writing, Any], None]], ...]] = (
    ((bool, type(None)), _Writing.write_constant),
    (Enum, _Writing.write_enum),
    (str, _Writing.write_text),
    (int, _Writing.write_integer),
    (float, _Writing.write_float),
    (dict, _Writing.write_dict),
    ((list, tuple), _Writing.write_array),
    (Decimal, _Writing.write_decimal),
    ((datetime, date, time), _Writing.write_moment),
    (UUID, _Writing.write_uuid),
)
