"""The headers of records that are consumed, and of those that are made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.sdk.serde.context import SerializationContext
from counterfoil.sdk.serde.headers import header_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.sdk.serde.context import Headers
    from counterfoil.sdk.subjects import Field


def header_pairs(headers: Headers) -> Iterable[tuple[str, bytes | None]]:
    """Return headers of any form as pairs."""
    return headers.items() if hasattr(headers, "items") else headers or ()


def new_context(topic: str | None, field: Field, headers: list[tuple[str, bytes | None]]) -> SerializationContext:
    """Return the context of a key or a value that is serialized anew.

    A schema id in ``headers``, which may be those of a consumed record, is removed: it does not fit the new bytes.
    """
    headers[:] = [pair for pair in headers if pair[0] != header_name(field)]
    return SerializationContext(topic, field, headers)
