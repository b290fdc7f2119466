"""Bytes as people have them: hexadecimal digits, base64, or a record as ``kcat -J`` prints it.

kcat writes the key, the payload and the headers of a record as JSON strings: control characters are escapes, and all
other bytes are copied as they are. So bytes that are UTF-8 can be taken back. All others are lost as soon as the line
has been read as text, in which U+FFFD stands for them. With ``-s avro`` it prints a decoded value instead of the bytes.

Source: the manual of kcat (``-J``, ``-s``, ``-f``, ``-D``) and the JSON that its version 1.7 writes.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.texts import excerpt
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER

MAX_BYTES: Final = 1024 * 1024
"""The largest size of the bytes."""

HEX, BASE64, KCAT = "hex", "base64", "kcat"
_FORMS: Final = (HEX, BASE64, KCAT)
_MAX_CHARS: Final = 8 * MAX_BYTES
"""The largest size of the text: in a line of kcat a byte has up to six characters, besides headers and the key."""
_NO_DIGITS: Final = re.compile(r"(?:0[xX]|\\x|[\s:,])+")
_HEX_DIGITS: Final = re.compile(r"[0-9a-fA-F]*")
_BASE64_SIGNS: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_LOST: Final = "\ufffd"


@dataclass(frozen=True, slots=True)
class GivenBytes:
    """Bytes, and how they were given.

    ``header`` is the value of the record's header that names the schema, ``topic`` the record's topic; only a record of
    kcat has them. ``note`` says what of the record could not be used.
    """

    data: bytes
    form: str
    header: bytes | None = None
    topic: str = ""
    note: str = ""


def read_given(text: str, *, is_key: bool = False, form: str = "") -> GivenBytes:
    """Return the bytes of a text; without a ``form``, it is found by the text itself.

    ``is_key``: of a record, the bytes are those of the key. Raises ``BadRequest`` for a text that is none of the forms.

    >>> read_given("00 00 00 12 67").data.hex(), read_given("AAAAEmc=").data.hex()
    ('0000001267', '0000001267')
    """
    if form and form not in _FORMS:
        raise BadRequest(f"Unknown form of bytes {excerpt(form)!r}; expected one of {', '.join(_FORMS)}")
    if len(text) > _MAX_CHARS:
        raise BadRequest(f"The text has {len(text)} characters; at most {_MAX_CHARS} are decoded here")
    given = _read(text.strip(), is_key=is_key, form=form)
    if len(given.data) > MAX_BYTES:
        raise BadRequest(f"These are {len(given.data)} bytes; at most {MAX_BYTES} are decoded here")
    return given


def _read(text: str, *, is_key: bool, form: str) -> GivenBytes:
    if not text:
        raise BadRequest("There are no bytes; expected hexadecimal digits, base64, or a record of kcat -J")
    if form == KCAT or (not form and text.startswith("{")):
        return _of_kcat(text, is_key=is_key)
    digits = _NO_DIGITS.sub("", text)
    if form == HEX or (not form and _HEX_DIGITS.fullmatch(digits) and len(digits) % 2 == 0):
        return GivenBytes(_of_hex(digits), HEX)
    return GivenBytes(_of_base64("".join(text.split())), BASE64)


def _of_hex(digits: str) -> bytes:
    found = _HEX_DIGITS.match(digits)
    end = 0 if found is None else found.end()
    if end < len(digits):
        raise BadRequest(f"{digits[end]!r} is no hexadecimal digit; it is character {end + 1} without spaces and 0x")
    if len(digits) % 2:
        raise BadRequest(f"These are {len(digits)} hexadecimal digits; expected two for each byte")
    return bytes.fromhex(digits)


def _of_base64(text: str) -> bytes:
    found = _BASE64_SIGNS.match(text)
    end = 0 if found is None else found.end()
    if end < len(text):
        raise BadRequest(
            f"{text[end]!r} at character {end + 1} is neither a hexadecimal digit nor a sign of base64; expected "
            "hexadecimal digits, base64, or a record of kcat -J"
        )
    signs = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(signs + "=" * (-len(signs) % 4), validate=True)
    except Error:
        raise BadRequest(f"{len(signs)} signs are no base64; expected a multiple of 4, or 2 or 3 more") from None


# A record as kcat prints it.


def _of_kcat(text: str, *, is_key: bool) -> GivenBytes:
    record = _record(text)
    name = "key" if is_key else "payload"
    if name not in record:
        raise BadRequest(f"The record has no {name!r}; expected one line of kcat -J, with topic, key and payload")
    topic = record.get("topic")
    header, note = _header(record, KEY_HEADER if is_key else VALUE_HEADER)
    return GivenBytes(_bytes(record, name), KCAT, header, topic if isinstance(topic, str) else "", note)


def _record(text: str) -> JsonObject:
    try:
        record = json.loads(text)
    except ValueError as error:
        hint = "; give one record alone" if "Extra data" in str(error) else ""
        raise BadRequest(f"This is no record of kcat -J: {error}{hint}") from None
    except RecursionError:
        raise BadRequest("This is no record of kcat -J: it is nested too deep") from None
    if not isinstance(record, dict):
        raise BadRequest("This is no record of kcat -J; expected a JSON object with topic, key and payload")
    return record


def _bytes(record: JsonObject, name: str) -> bytes:
    held = record[name]
    if held is None:
        if f"{name}_error" in record:
            raise BadRequest(f"kcat tried to decode the {name} and left its bytes out; print the record without -s")
        raise BadRequest(f"The {name} is null, so that the record has no bytes there")
    if not isinstance(held, str):
        problem = f"kcat has decoded the {name} already (-s), so that its bytes are not there"
        raise BadRequest(f"{problem}; print the record without -s")
    found = _encoded(held)
    if found is None:
        remedy = f"kcat -C … -c 1 -D '' -f '{'%k' if name == 'key' else '%s'}' | base64"
        raise BadRequest(
            f"Bytes of the {name} are lost: kcat -J prints them as text, and they are no UTF-8, so that U+FFFD stands "
            f"for them. Give them as base64 instead: {remedy}"
        )
    return found


def _encoded(text: str) -> bytes | None:
    """Return the bytes of a text of kcat; None if some are lost."""
    try:
        return None if _LOST in text else text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None


def _header(record: JsonObject, wanted: str) -> tuple[bytes | None, str]:
    """Return the last header with a name, and what is wrong with it."""
    last = None
    for name, held in _headers(record.get("headers")):
        last = held if name == wanted else last
    if last is None:
        return None, ""
    found = _encoded(last) if isinstance(last, str) else None
    return found, "" if found is not None else f"Bytes of the header {wanted} are lost in the text; choose the schema"


def _headers(given: Json) -> Iterator[tuple[str, Json]]:
    """Yield the headers of a record: a list of names and values in turn, or an object with the values of each name."""
    match given:
        case list():
            yield from zip(given[::2], given[1::2], strict=False)
        case dict():
            for name, held in given.items():
                yield from ((name, each) for each in (held if isinstance(held, list) else [held]))
