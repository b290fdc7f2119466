"""The meaning of JSON text: reading, writing, places in it, and the compiled packages that do the same."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final, NoReturn
from uuid import UUID

from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.serde import shown

if TYPE_CHECKING:
    from counterfoil.schema.datum import Json


# The meaning of reading JSON: which texts are JSON, and what their values are.
#
# msgspec does the same faster, but with few words about errors; when it refuses a text, the text is read again here.
#
# Source: RFC 8259. Of two equal names in an object the last one counts. Integers are exact, other numbers are floats.

_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_BYTE_ORDER_MARK: Final = "\ufeff"


def read_exactly(data: bytes, offset: int) -> Json:
    """Return the value of the JSON text from ``offset`` to the end of ``data``. Raises ``DecodeError`` with offset."""
    text = _text(data, offset)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        at = offset + len(text[: error.pos].encode())
        reason = "something follows the value" if error.msg == "Extra data" else error.msg
        raise _not_json(at, "the data ends too early" if error.pos >= len(text) else reason) from None
    except ValueError as error:
        raise _not_json(offset, str(error)) from None
    except RecursionError:
        raise _not_json(offset, "arrays and objects are nested too deep") from None
    if _SURROGATE_ESCAPE.search(text) and not _is_printable(value):
        raise _not_json(offset, "an escaped character is half of a surrogate pair")
    return value


def exact_numbers(value: object) -> Json:
    """Return a value with its floats as the decimals that their texts have, for comparisons with a schema's numbers."""
    match value:
        case float():
            return Decimal(repr(value))
        case list() | tuple():
            return [exact_numbers(item) for item in value]
        case dict():
            return {name: exact_numbers(item) for name, item in value.items()}
    return value


def _text(data: bytes, offset: int) -> str:
    try:
        text = data[offset:].decode()
    except UnicodeDecodeError as error:
        raise _not_json(offset + error.start, f"the text is not UTF-8 ({error.reason})") from None
    if text.startswith(_BYTE_ORDER_MARK):
        raise _not_json(offset, "the text begins with a byte order mark")
    return text


def _not_json(offset: int, reason: str) -> DecodeError:
    return DecodeError(
        f"The body is not JSON: {reason} (byte {offset}); expected one JSON value in UTF-8", offset=offset
    )


def _is_printable(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


_DECODER: Final = json.JSONDecoder(parse_float=_read_float, parse_constant=_refuse_constant)


# The places of values in a JSON value, as text.


def path_text(steps: Iterable[str | int]) -> str:
    """Return the text of a path: names of properties and indexes of items.

    >>> path_text(["stops", 3, "lat"]), path_text([]), path_text(["a b"])
    ('stops[3].lat', '', "['a b']")
    """
    parts = [f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]" for step in steps]
    return "".join(parts).removeprefix(".")


class TextOrder:
    """The order of the places of a value in its text: a value comes before its parts.

    >>> sorted([["b"], ["a", 2], ["a"]], key=TextOrder({"a": [0, 1, 2], "b": 0}).key)
    [['a'], ['a', 2], ['b']]
    """

    def __init__(self, value: Json) -> None:
        self._value = value
        self._places: dict[int, dict[str, int]] = {}

    def key(self, steps: Iterable[str | int], wrong: Callable[[], Json] | None = None) -> tuple[int, ...]:
        """Return how many parts are before each part on the way to a place.

        ``wrong`` returns the value there, if the path may lack steps of empty names, as those of jsonschema-rs do.
        """
        found: list[int] = []
        value = self._value
        for step in steps:
            name = self._name(value, step)
            while name is None and isinstance(value, dict) and "" in value:  # a step that jsonschema-rs leaves out
                found.append(self._place(value, ""))
                value = value[""]
                name = self._name(value, step)
            if name is not None:
                found.append(self._place(value, name))
                value = value[name]
            elif isinstance(value, list) and isinstance(step, int):
                found.append(step)
                value = value[step]
            else:
                break
        while wrong is not None and isinstance(value, dict) and "" in value and value != wrong():
            found.append(self._place(value, ""))
            value = value[""]
        return tuple(found)

    def _place(self, value: Mapping[str, object], name: str) -> int:
        places = self._places.get(id(value))
        if places is None:
            places = self._places[id(value)] = {each: place for place, each in enumerate(value)}
        return places[name]

    def _name(self, value: object, step: str | int) -> str | None:
        """Return the name of a step; jsonschema-rs has a whole number for a name that is the text of one."""
        if not isinstance(value, dict):
            return None
        if isinstance(step, str):
            return step if step in value else None
        return next((name for name in value if _is_number(name, step)), None)


def _is_number(name: str, number: int) -> bool:
    digits = name.removeprefix("+")
    return digits.isascii() and digits.isdecimal() and digits.lstrip("0") == str(number).lstrip("0")


# The meaning of writing JSON: which values have a form in JSON, and what it is.
#
# orjson does the same faster, but without the place of an error, without integers beyond 64 bits, and with null for
# NaN; when it cannot write a value, or may write it wrong, the value is written here.
#
# Source: RFC 8259; RFC 3339 for dates and times.

MAX_DEPTH: Final = 254
"""The largest number of arrays and objects inside one another, as in orjson; it also ends values inside themselves."""

_SHOWN_STEPS: Final = 10
_EXPECTED: Final = (
    "a value of JSON: None, bool, int, float, str, list, dict; also Decimal, datetime, date, time, UUID, Enum"
)


def write_exactly(value: object) -> bytes:
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

    def write(self, value: object) -> None:
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

    def write_array(self, value: list[Json] | tuple[Json, ...]) -> None:
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

    def write_dict(self, value: dict[Json, Json]) -> None:
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


_BY_TYPE: Final[tuple[tuple[Json, Callable[[_Writing, Json], None]], ...]] = (
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


# The packages of the extra ``json``, which do in compiled code what this folder also does in Python.
#
# orjson writes. msgspec reads, since orjson reads integers beyond 64 bits as floats without a warning; the accelerator
# finds texts with such numbers, so that with it orjson reads all others. Without both, the functions above do the
# same work; with them, these functions decide what is an error, and its message.

_LOG = logging.getLogger(__name__)

try:
    import msgspec
    import orjson
except ImportError as missing:
    is_compiled = False
    _LOG.debug("JSON is read and written in Python, since %s is not installed; the extra json has it", missing.name)
else:
    is_compiled = True

_MSGPACK_NOT_FINITE = (b"\xcb\x7f", b"\xcb\xff")
"""How a float that is not finite begins in MessagePack; a very large float may begin so, too, but no text holds it."""


def compiled_reader() -> Callable[[bytes], Json]:
    """Return the compiled reader of JSON texts, which raises ``ValueError`` or ``RecursionError``."""
    return msgspec.json.Decoder().decode


def fast_reader() -> Callable[[bytes], Json]:
    """Return ``orjson.loads``, which reads integers beyond 64 bits as floats; it raises ``ValueError``."""
    return orjson.loads


def compiled_writer() -> Callable[..., bytes]:
    """Return ``orjson.dumps``, which writes null for NaN and infinite numbers, and takes :func:`form_of` second.

    It raises ``TypeError`` for values that it cannot write, integers beyond 64 bits among them.
    """
    return orjson.dumps


def form_of(value: object) -> Json:
    """Return how orjson writes a value of a type that it does not know."""
    if isinstance(value, Decimal) and value.is_finite():
        return orjson.Fragment(str(value))
    raise TypeError(type(value).__name__)


def refuse_not_finite(value: object, nulls: int) -> None:
    """Raise ``ValueError`` if a number in ``value`` may be NaN or infinite, for which both packages write null.

    ``nulls`` is how often the text of the value has ``null`` in it. Often these are the properties that are None; else
    numbers are found in another encoding of the value, which takes less time than looking at each of them in Python.
    """
    if type(value) is dict and nulls == len([None for one in value.values() if one is None]):
        return
    packed = msgspec.msgpack.encode(value)
    if any(start in packed for start in _MSGPACK_NOT_FINITE):
        raise ValueError("NaN and infinite numbers have no form in JSON")
