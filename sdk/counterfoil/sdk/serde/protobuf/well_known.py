"""Well-known types as Python values, with nanoseconds where Python's own types have none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Any, Final

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.runtime import AnyMessage
from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde import misfit, placed

# Points in time and durations of Python with nanoseconds, which ``datetime`` and ``timedelta`` do not have.
#
# Each is a value of the class of Python, with microseconds, and an attribute for the 0 to 999 nanoseconds above them.
# It equals a value of Python alone only without nanoseconds, and is written with them. Arithmetic gives values of
# Python alone. The attributes have the names that pandas gives them.

_MICROSECOND_DIGITS: Final = 6


class DatetimeWithNanoseconds(datetime):
    """A ``datetime`` with the attribute ``nanosecond``."""

    nanosecond: int = 0

    @classmethod
    def of(cls, value: datetime, nanosecond: int) -> DatetimeWithNanoseconds:
        """Return a point in time and so many nanoseconds above it.

        >>> DatetimeWithNanoseconds.of(datetime(2026, 1, 31), 7)
        DatetimeWithNanoseconds.of(datetime.datetime(2026, 1, 31, 0, 0), 7)
        """
        made = cls.combine(value.date(), value.timetz())
        made.nanosecond = nanosecond
        return made

    @property
    def _plain(self) -> datetime:
        return datetime.combine(self.date(), self.timetz())

    def __repr__(self) -> str:
        return f"{type(self).__name__}.of({self._plain!r}, {self.nanosecond})"

    def __reduce_ex__(self, protocol: object) -> tuple[Datum, ...]:
        return type(self).of, (self._plain, self.nanosecond)

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.nanosecond == getattr(other, "nanosecond", 0)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = datetime.__hash__

    def __lt__(self, other: Datum) -> bool:
        if super().__eq__(other):
            return bool(self.nanosecond < getattr(other, "nanosecond", 0))
        return super().__lt__(other)

    def __gt__(self, other: Datum) -> bool:
        if super().__eq__(other):
            return bool(self.nanosecond > getattr(other, "nanosecond", 0))
        return super().__gt__(other)

    def __le__(self, other: object) -> bool:
        return not self > other

    def __ge__(self, other: object) -> bool:
        return not self < other

    def isoformat(self, sep: str = "T", timespec: str = "auto") -> str:
        """Return the text in ISO 8601, with nine digits of the second unless ``timespec`` asks for fewer."""
        if timespec != "auto":
            return self._plain.isoformat(sep, timespec)
        text = self._plain.isoformat(sep, "microseconds")
        end = text.index(".") + _MICROSECOND_DIGITS + 1
        return f"{text[:end]}{self.nanosecond:03}{text[end:]}"

    def astimezone(self, tz: tzinfo | None = None) -> DatetimeWithNanoseconds:
        """Return the same point in time in another zone."""
        return type(self).of(self._plain.astimezone(tz), self.nanosecond)

    def replace(self, *parts: Any, **named: Any) -> Datum:
        """Return the value with other parts, and the same nanoseconds."""
        return type(self).of(self._plain.replace(*parts, **named), self.nanosecond)


class TimedeltaWithNanoseconds(timedelta):
    """A ``timedelta`` with the attribute ``nanoseconds``."""

    nanoseconds: int = 0

    @classmethod
    def of(cls, value: timedelta, nanoseconds: int) -> TimedeltaWithNanoseconds:
        """Return a duration and so many nanoseconds above it.

        >>> TimedeltaWithNanoseconds.of(timedelta(seconds=-1), 7)
        TimedeltaWithNanoseconds.of(datetime.timedelta(days=-1, seconds=86399), 7)
        """
        made = cls(value.days, value.seconds, value.microseconds)
        made.nanoseconds = nanoseconds
        return made

    @property
    def _plain(self) -> timedelta:
        return timedelta(self.days, self.seconds, self.microseconds)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.of({self._plain!r}, {self.nanoseconds})"

    def __reduce__(self) -> tuple[Datum, ...]:
        return type(self).of, (self._plain, self.nanoseconds)

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.nanoseconds == getattr(other, "nanoseconds", 0)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = timedelta.__hash__

    def __lt__(self, other: Datum) -> bool:
        if super().__eq__(other):
            return bool(self.nanoseconds < getattr(other, "nanoseconds", 0))
        return super().__lt__(other)

    def __gt__(self, other: Datum) -> bool:
        if super().__eq__(other):
            return bool(self.nanoseconds > getattr(other, "nanoseconds", 0))
        return super().__gt__(other)

    def __le__(self, other: object) -> bool:
        return not self > other

    def __ge__(self, other: object) -> bool:
        return not self < other


# Well-known types as Python values.
#
# ==============================  ====================================  ==============================================
# type                            read as                               written from
# ==============================  ====================================  ==============================================
# ``Timestamp``                   ``datetime`` in UTC                   ``datetime`` with a time zone, or RFC 3339 text
# ``Duration``                    ``timedelta``                         ``timedelta``, or text such as ``1.5s``
# ``DoubleValue`` and the like    the value                             the value
# ``Struct``                      ``dict``                              a mapping of JSON values
# ``ListValue``                   ``list``                              a sequence of JSON values
# ``Value``                       a JSON value                          a JSON value
# ``FieldMask``                   ``list`` of paths                     a sequence of paths
# ``Any``                         ``dict`` with the key ``@type``       the same, or a message
# ``Decimal`` of Confluent        ``Decimal``, exact                    ``Decimal``
# ``Decimal`` of Google           ``Decimal``, exact                    ``Decimal``
# ==============================  ====================================  ==============================================
#
# A message of the type itself may be written, too, and a mapping of its fields. Nanoseconds that a ``datetime`` or
# ``timedelta`` cannot hold are an attribute of a class below it (:class:`DatetimeWithNanoseconds`).
#
# Source: the documentation of ``google.protobuf``, and ``confluent/type/decimal.proto``.

_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_MAX_SCALE: Final = 2**31 - 1
_MAX_DIGITS: Final = 4300
"""Confluent's clients write no more digits: converting between decimal and binary numbers takes quadratic time."""

_MAX_BYTES: Final = 65_536
"""The largest decimal that is read, for the same reason."""
_NANOS: Final = 1_000_000_000
_TIME: Final = "a datetime, or a time such as '2026-01-31T12:00:00Z'"
_DURATION: Final = "a timedelta, or a duration such as '1.5s'"
_DECIMAL: Final = f"a finite Decimal of at most {_MAX_DIGITS} digits"
_JSON: Final = "a JSON value: None, bool, number, str, list or dict"
_WRAPPED: Final = ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
WRAPPERS: Final = frozenset(f"google.protobuf.{name}Value" for name in _WRAPPED)
"""Messages with one field, ``value``."""
ANY: Final = "google.protobuf.Any"
TIMES: Final = frozenset(("google.protobuf.Timestamp", "google.protobuf.Duration"))
"""Messages with seconds and nanoseconds."""
NULLABLE: Final = "google.protobuf.Value"
"""The type of JSON values, for which None is a value."""


def _write_timestamp(message: AnyMessage, value: object) -> bool:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise misfit("a datetime with a time zone", value)
        message.FromDatetime(value)
        message.nanos += getattr(value, "nanosecond", 0)  # which the subclass of pandas has
        return True
    return _write_json_text(message, value, _TIME)


def _write_duration(message: AnyMessage, value: object) -> bool:
    if isinstance(value, timedelta):
        if not getattr(value, "nanoseconds", 0):
            message.FromTimedelta(value)
            return True
        nanos = _nanoseconds_of(value)
        seconds = abs(nanos) // _NANOS  # both numbers have the sign of the duration
        message.seconds = seconds if nanos > 0 else -seconds
        message.nanos = abs(nanos) % _NANOS if nanos > 0 else -(abs(nanos) % _NANOS)
        return True
    return _write_json_text(message, value, _DURATION)


def _nanoseconds_of(value: timedelta) -> int:
    """Return a duration in nanoseconds, with those that a subclass has."""
    micros = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
    return micros * 1000 + int(getattr(value, "nanoseconds", 0))


def _write_json_text(message: AnyMessage, value: object, expected: str) -> bool:
    if not isinstance(value, str):
        return False
    try:
        message.FromJsonString(value)
    except ValueError as error:
        raise misfit(expected, value) from error
    return True


def _write_field_mask(message: AnyMessage, value: object) -> bool:
    if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence):
        return False
    for index, path in enumerate(value):
        if not isinstance(path, str):
            raise placed(misfit("the path of a field", path), f"[{index}]")
    message.paths.extend(value)
    return True


def _write_struct(message: AnyMessage, value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    message.SetInParent()
    for key, item in value.items():
        if not isinstance(key, str):
            raise misfit("a str as key", key)
        try:
            _write_value(message.fields[key], item)
        except EncodeError as error:
            raise placed(error, f"[{key!r}]") from None
    return True


def _write_list(message: AnyMessage, value: object) -> bool:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        return False
    message.SetInParent()
    for index, item in enumerate(value):
        try:
            _write_value(message.values.add(), item)
        except EncodeError as error:
            raise placed(error, f"[{index}]") from None
    return True


def _write_value(message: AnyMessage, value: object) -> bool:
    match value:
        case None:
            message.null_value = 0
        case bool():
            message.bool_value = value
        case int() | float():
            message.number_value = _exact_number(value)
        case str():
            message.string_value = value
        case _ if not _write_struct_or_list(message, value):
            raise misfit(_JSON, value)
    return True


def _write_struct_or_list(message: AnyMessage, value: object) -> bool:
    if isinstance(value, Mapping):
        return _write_struct(message.struct_value, value)
    return _write_list(message.list_value, value)


def _exact_number(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise misfit("a number that a double holds", value) from None
    if number != value and value == value:  # noqa: PLR0124 - not a number is not equal to itself
        raise misfit("a number that a double holds", value)
    return number


def _write_confluent_decimal(message: AnyMessage, value: object) -> bool:
    if not isinstance(value, Decimal):
        return False
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or len(digits) > _MAX_DIGITS or not -_MAX_SCALE <= exponent <= _MAX_SCALE:
        raise misfit(_DECIMAL, value)
    unscaled = int("".join(map(str, digits)))
    unscaled = -unscaled if sign else unscaled
    message.value = unscaled.to_bytes(((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8) + 1, signed=True)
    message.precision = 1 if not unscaled else len(digits)
    message.scale = -exponent
    return True


def _write_google_decimal(message: AnyMessage, value: object) -> bool:
    if not isinstance(value, Decimal):
        return False
    if not value.is_finite():
        raise misfit(_DECIMAL, value)
    message.value = str(value)
    return True


def _read_confluent_decimal(message: AnyMessage) -> Decimal:
    if len(message.value) > _MAX_BYTES:
        raise ValueError(f"it has {len(message.value):,} bytes; expected at most {_MAX_BYTES:,}")
    number = int.from_bytes(message.value, signed=True)
    return _EXACT.create_decimal(number).scaleb(-message.scale, _EXACT)


def _read_google_decimal(message: AnyMessage) -> Decimal:
    try:
        return _EXACT.create_decimal(message.value or "0")
    except InvalidOperation:
        raise ValueError(f"{message.value!r:.80} is no decimal number") from None


def _read_timestamp(message: AnyMessage) -> datetime:
    found: datetime = message.ToDatetime(tzinfo=UTC)
    nanosecond = message.nanos % 1000
    return DatetimeWithNanoseconds.of(found, nanosecond) if nanosecond else found


def _read_duration(message: AnyMessage) -> timedelta:
    found: timedelta = message.ToTimedelta()
    if not message.nanos % 1000:
        return found
    micros, nanoseconds = divmod(message.seconds * _NANOS + message.nanos, 1000)
    return TimedeltaWithNanoseconds.of(timedelta(microseconds=micros), nanoseconds)


def or_nanoseconds(read: Callable[[AnyMessage], Datum]) -> Callable[[AnyMessage], Datum]:
    """Return a function that reads a ``Timestamp`` or ``Duration``, as nanoseconds where Python has no value for it."""

    def read_any(message: AnyMessage) -> Datum:
        try:
            return read(message)
        except (ValueError, ArithmeticError):
            return message.seconds * 1_000_000_000 + message.nanos

    return read_any


def _read_struct(message: AnyMessage) -> dict[str, Datum]:
    return {key: _read_value(value) for key, value in message.fields.items()}


def _read_list(message: AnyMessage) -> list[Datum]:
    return [_read_value(value) for value in message.values]


def _read_value(message: AnyMessage) -> Datum:
    kind = message.WhichOneof("kind")
    if kind is None or kind == "null_value":
        return None
    if kind == "struct_value":
        return _read_struct(message.struct_value)
    return _read_list(message.list_value) if kind == "list_value" else getattr(message, kind)


def _read_field_mask(message: AnyMessage) -> list[str]:
    return list(message.paths)


@dataclass(frozen=True, slots=True)
class WellKnownConversion:
    """How a message of one type is read as a Python value and filled from one.

    ``write`` returns whether the value is of the right kind; ``expected`` describes these values.
    """

    read: Callable[[AnyMessage], Datum]
    write: Callable[[AnyMessage, Datum], bool]
    expected: str


CONVERSION_BY_NAME: Final[Mapping[str, WellKnownConversion]] = {
    "google.protobuf.Timestamp": WellKnownConversion(_read_timestamp, _write_timestamp, _TIME),
    "google.protobuf.Duration": WellKnownConversion(_read_duration, _write_duration, _DURATION),
    "google.protobuf.FieldMask": WellKnownConversion(_read_field_mask, _write_field_mask, "a list of paths"),
    "google.protobuf.Struct": WellKnownConversion(_read_struct, _write_struct, "a dict of JSON values"),
    "google.protobuf.ListValue": WellKnownConversion(_read_list, _write_list, "a list of JSON values"),
    NULLABLE: WellKnownConversion(_read_value, _write_value, _JSON),
    "confluent.type.Decimal": WellKnownConversion(_read_confluent_decimal, _write_confluent_decimal, _DECIMAL),
    "google.type.Decimal": WellKnownConversion(_read_google_decimal, _write_google_decimal, _DECIMAL),
}
"""The types with a Python value of their own, besides wrappers and ``Any``."""
