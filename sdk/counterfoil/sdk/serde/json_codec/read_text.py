"""The meaning of reading JSON: which texts are JSON, and what their values are.

msgspec does the same faster, but with few words about errors; when it refuses a text, the text is read again here.

Source: RFC 8259. Of two equal names in an object the last one counts. Integers are exact, other numbers are floats.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.errors import DecodeError

if TYPE_CHECKING:
    from typing import NoReturn

_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_BYTE_ORDER_MARK: Final = "\ufeff"


def read_exactly(data: bytes, offset: int) -> Any:
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


def exact_numbers(value: Any) -> Any:
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


def _is_printable(value: Any) -> bool:
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
