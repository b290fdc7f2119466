"""The functions of rules beside those of CEL, on plain Python values: texts, exact numbers, ``format``."""

from __future__ import annotations

import decimal
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from counterfoil.schema.datum import Datum

# Exact numbers in rules: ``decimal("1.50")``, and functions such as ``decimals.add``.
#
# Sums and products are exact; quotients and roots have 38 digits, rounded half up. Numbers of more than 100,000 digits
# are refused, so that a short text cannot become a large number.
#
# Source: confluent-kafka 2.16, whose results these functions return.

_MOST_DECIMAL_DIGITS: Final = 100_000
_EXACT: Final = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_DIVIDING: Final = decimal.Context(38, decimal.ROUND_HALF_UP, decimal.MIN_EMIN, decimal.MAX_EMAX)


def _number(value: object, scale: object = None) -> Decimal:
    """Return a decimal: of a text, a number, or two's complement bytes with a scale."""
    if isinstance(value, (bytes, bytearray)):
        if scale is None:
            raise TypeError("a decimal of bytes needs a scale")
        return _checked(Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-_scale(scale), context=_EXACT))
    if scale is not None:
        raise TypeError("only a decimal of bytes has a scale")
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise TypeError(f"expected a number; got {type(value).__name__}")
    try:
        return _checked(Decimal(repr(value) if isinstance(value, float) else value))
    except decimal.InvalidOperation:
        raise ValueError(f"{value!r} is no decimal") from None


def _checked(number: Decimal) -> Decimal:
    if not number.is_finite():
        raise ValueError(f"{number} is no decimal")
    if abs(number.adjusted()) + len(number.as_tuple().digits) > _MOST_DECIMAL_DIGITS:
        raise ValueError(f"the number has more than {_MOST_DECIMAL_DIGITS:,} digits")
    return abs(number) if not number and number.is_signed() else number


def _scale(scale: object) -> int:
    if isinstance(scale, bool) or not isinstance(scale, int) or abs(scale) > _MOST_DECIMAL_DIGITS:
        raise ValueError(f"the scale is {scale!r}; expected a whole number up to {_MOST_DECIMAL_DIGITS:,}")
    return scale


def _of_two(operate: Callable[[Decimal, Decimal], Datum]) -> Callable[[Datum, Datum], Datum]:
    return lambda left, right: _result(operate(_number(left), _number(right)))


def _of_one(operate: Callable[[Decimal], Datum]) -> Callable[[Datum], Datum]:
    return lambda value: _result(operate(_number(value)))


def _result(value: object) -> Datum:
    return _checked(value) if isinstance(value, Decimal) else value


def _divided(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ZeroDivisionError("division by zero")
    return _DIVIDING.divide(left, right)


def _remainder(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ZeroDivisionError("division by zero")
    return _EXACT.remainder(left, right)


def _root(number: Decimal) -> Decimal:
    if number < 0:
        raise ValueError("a negative number has no square root")
    return _DIVIDING.sqrt(number)


def _rounded(rounding: str, value: object, scale: object = 0) -> Decimal:
    number = _number(value)
    return _checked(number.quantize(Decimal(1).scaleb(-_scale(scale), context=_EXACT), rounding, context=_EXACT))


def _truncated(value: object, scale: object = 0) -> Decimal:
    number = _number(value)
    exponent = number.as_tuple().exponent
    is_short = isinstance(exponent, int) and _scale(scale) >= -exponent
    return number if is_short else _rounded(decimal.ROUND_DOWN, number, scale)


def _sign(number: Decimal) -> int:
    return (number > 0) - (number < 0)


DECIMAL_FUNCTIONS: Final[Mapping[str, Callable[..., Datum]]] = {
    "decimal": _number,
    "decimals.eq": _of_two(lambda left, right: left == right),
    "decimals.lt": _of_two(lambda left, right: left < right),
    "decimals.le": _of_two(lambda left, right: left <= right),
    "decimals.gt": _of_two(lambda left, right: left > right),
    "decimals.ge": _of_two(lambda left, right: left >= right),
    "decimals.add": _of_two(_EXACT.add),
    "decimals.sub": _of_two(_EXACT.subtract),
    "decimals.mul": _of_two(_EXACT.multiply),
    "decimals.div": _of_two(_divided),
    "decimals.mod": _of_two(_remainder),
    "decimals.greatest": _of_two(max),
    "decimals.least": _of_two(min),
    "decimals.sqrt": _of_one(_root),
    "decimals.neg": _of_one(_EXACT.minus),
    "decimals.abs": _of_one(_EXACT.abs),
    "decimals.sign": _of_one(_sign),
    "decimals.round": partial(_rounded, decimal.ROUND_HALF_UP),
    "decimals.trunc": _truncated,
    "decimals.floor": _of_one(partial(_rounded, decimal.ROUND_FLOOR)),
    "decimals.ceil": _of_one(partial(_rounded, decimal.ROUND_CEILING)),
}
"""The functions of decimals by name."""


# The method ``format`` of texts in CEL: ``"%s has %d".format([name, count])``.
#
# Source: the extension "strings" of cel-go, ``format``, as confluent-kafka 2.16 implements it.

_SPECIFIER: Final = re.compile(r"%(?:(?P<percent>%)|(?:\.(?P<precision>\d+))?(?P<kind>.)?)", re.DOTALL)
_QUOTED: Final = str.maketrans(
    {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\""}
)
_DEFAULT_PRECISION: Final = 6


def format_text(template: object, arguments: object) -> str:
    """Return the template with its specifiers replaced by the arguments, in order."""
    if not isinstance(template, str) or not isinstance(arguments, list):
        raise TypeError("format needs a text and a list")
    left = list(reversed(arguments))

    def replaced(match: re.Match[str]) -> str:
        if match["percent"]:
            return "%"
        if not left:
            raise ValueError("format has more specifiers than arguments")
        return _formatted(match["kind"], left.pop(), int(match["precision"] or _DEFAULT_PRECISION))

    text = _SPECIFIER.sub(replaced, template)
    if left:
        raise ValueError("format has more arguments than specifiers")
    return text


def _formatted(kind: str | None, value: object, precision: int) -> str:
    match kind:
        case "s":
            return _shown(value)
        case "d":
            return str(_whole(value))
        case "f" | "e":
            return f"{value:.{precision}{kind}}" if isinstance(value, float) else str(_whole(value))
        case "x" | "X":
            return _hexadecimal(value) if kind == "x" else _hexadecimal(value).upper()
        case "o":
            return f"{_whole(value):o}"
        case "b":
            return f"{int(value) if isinstance(value, bool) else _whole(value):b}"
    raise ValueError(f"format has no specifier %{kind or ''}")


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"format needs a whole number; got {type(value).__name__}")
    return value


def _hexadecimal(value: object) -> str:
    if isinstance(value, (str, bytes)):
        return (value.encode() if isinstance(value, str) else value).hex()
    return f"{_whole(value):x}"


def _shown(value: object, *, is_inside: bool = False) -> str:
    match value:
        case str():
            return f'"{value.translate(_QUOTED)}"' if is_inside else value
        case bytes():
            return value.hex()
        case list():
            return f"[{', '.join(_shown(item, is_inside=True) for item in value)}]"
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
    return str(value)


# The functions of rules beside those of CEL, on plain Python values.
#
# Source: the documentation of Confluent's data contracts, and confluent-kafka 2.16, whose results these functions
# return.

_LONGEST_HOSTNAME: Final = 253
_LONGEST_EMAIL: Final = 254
_LONGEST_LOCAL_PART: Final = 64
_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_LOCAL_PART: Final = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO: Final = 6
_MOST_DIGITS: Final = 9


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text; got {type(value).__name__}")
    return value


def _is_hostname(value: object) -> bool:
    text = _text(value)
    labels = text.removesuffix(".").split(".")
    fits = 0 < len(text) <= _LONGEST_HOSTNAME and all(_LABEL.fullmatch(label) for label in labels)
    return fits and not labels[-1].isdigit()


def _is_email(value: object) -> bool:
    local, at, host = _text(value).partition("@")
    is_short = len(local) <= _LONGEST_LOCAL_PART and len(_text(value)) <= _LONGEST_EMAIL
    return bool(at and is_short and _LOCAL_PART.fullmatch(local) and _is_hostname(host))


def _is_ip(parse: Callable[[Datum], object]) -> Callable[[Datum], bool]:
    def is_ip(value: object) -> bool:
        if not isinstance(value, (str, bytes)):
            raise TypeError(f"expected a text or bytes; got {type(value).__name__}")
        try:
            parse(value if isinstance(value, str) else bytes(value))
        except ValueError:
            return False
        return True

    return is_ip


def _is_uri(value: object) -> bool:
    try:
        parts = urlsplit(_text(value))
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc and parts.path)


def _is_uri_reference(value: object) -> bool:
    try:
        parts = urlsplit(_text(value))
    except ValueError:
        return False
    return bool((parts.scheme and parts.path) or not parts.fragment)


def _is_uuid(value: object) -> bool:
    try:
        UUID(_text(value))
    except ValueError:
        return False
    return True


def _timestamp(value: object, digits: int = 0) -> datetime:
    """Return a moment: RFC 3339 text, or a number since 1970 with so many decimal digits of a second."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError(f"the timestamp {value!r} has no time zone")
        return moment.astimezone(UTC)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a text or a whole number; got {type(value).__name__}")
    if not 0 <= digits <= _MOST_DIGITS:
        raise ValueError(f"the precision is {digits}; expected 0 to {_MOST_DIGITS}")
    return _EPOCH + timedelta(microseconds=value * 10**_MICRO // 10**digits)


FUNCTIONS: Final[Mapping[str, Callable[..., Datum]]] = {
    "format": format_text,
    "isEmail": _is_email,
    "isHostname": _is_hostname,
    "isIpv4": _is_ip(ipaddress.IPv4Address),
    "isIpv6": _is_ip(ipaddress.IPv6Address),
    "isUri": _is_uri,
    "isUriRef": _is_uri_reference,
    "isUuid": _is_uuid,
    "timestamp": _timestamp,
    **DECIMAL_FUNCTIONS,
}
"""The functions by the names that rules call them with; methods get what they are called on as the first argument."""
