"""Schema ids in Kafka headers: the body then has no frame.

Of several headers with one name the last counts, and writing replaces them all: a record that is consumed and produced
again must not be read with its earlier schema.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER
from counterfoil.sdk.errors import SerdeError

if TYPE_CHECKING:
    from counterfoil.sdk.serde.context import Headers


def header_name(field: str | None) -> str:
    """Return the header that holds the schema id of a record's key or value."""
    return KEY_HEADER if field == "key" else VALUE_HEADER


def read_header(headers: Headers, name: str) -> bytes | None:
    """Return the value of the last header ``name``; None when there is none whose value is bytes.

    Raises ``SerdeError`` for headers that are neither a dict nor a list of pairs.
    """
    found: Any = None
    if headers.__class__ is list:  # what Kafka clients have, and quicker than the question about mappings
        try:
            for own, value in reversed(headers):
                if own == name:
                    return value if value.__class__ is bytes else _as_bytes(value)
        except (TypeError, ValueError):
            raise _no_headers(headers) from None
        return None
    if isinstance(headers, MutableMapping):
        found = headers.get(name)
    else:
        try:
            found = dict(headers).get(name)
        except (TypeError, ValueError):
            raise _no_headers(headers) from None
    return _as_bytes(found)


def _as_bytes(found: object) -> bytes | None:
    return bytes(found) if isinstance(found, (bytes, bytearray, memoryview)) else None


def _no_headers(headers: object) -> SerdeError:
    return SerdeError(f"The record's headers are {headers!r:.60}; expected a dict or a list of pairs")


def write_header(headers: Headers, name: str, value: bytes) -> None:
    """Set the header, in place; raises ``SerdeError`` when there is no list or dict to set it in."""
    if isinstance(headers, MutableMapping):
        headers[name] = value
    elif isinstance(headers, list):
        headers[:] = [pair for pair in headers if pair[0] != name]
        headers.append((name, value))
    else:
        raise SerdeError(
            f"The schema id goes into a header, and the record's headers are {headers!r:.60}; expected a list or a dict"
        )
