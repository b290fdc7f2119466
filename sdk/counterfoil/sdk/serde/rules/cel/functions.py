"""The functions of rules beside those of CEL, on plain Python values.

Source: the documentation of Confluent's data contracts, and confluent-kafka 2.16, whose results these functions return.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from counterfoil.sdk.serde.rules.cel.decimals import DECIMAL_FUNCTIONS
from counterfoil.sdk.serde.rules.cel.formatting import format_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def _is_ip(parse: Callable[[Any], object]) -> Callable[[Any], bool]:
    def is_ip(value: Any) -> bool:
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


def _timestamp(value: Any, digits: int = 0) -> datetime:
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


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
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
