"""Why a record cannot be read or written, in words that quote no value unless values may be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.sdk.errors import (
    DecodeError,
    EncodeError,
    FrameError,
    IncompatibleReader,
    UnknownSchemaId,
    ValidationError,
)

if TYPE_CHECKING:
    from counterfoil.sdk.errors import SerdeError

_SAFE = (FrameError, IncompatibleReader, UnknownSchemaId)
"""Errors about schemas and frames, whose texts have no value of a record."""


def reason_of(error: SerdeError, *, shows_values: bool) -> str:
    """Return why a message cannot be read, or a value not be written."""
    if shows_values or isinstance(error, _SAFE):
        return error.problem
    if isinstance(error, ValidationError) and error.violations:
        first = error.violations[0]
        return f"{first.path or 'the value'} violates {first.keyword!r}"
    if isinstance(error, EncodeError) and error.expected is not None:
        return f"{error.path or 'the value'} is not {error.expected}"
    if isinstance(error, DecodeError):
        where = f" at {error.path}" if error.path else ""
        return f"the bytes are no value of the schema{where}{_byte(error)}"
    if isinstance(error, EncodeError):
        return f"{error.path or 'the value'} does not fit"
    return type(error).__name__


def _byte(error: DecodeError) -> str:
    return "" if error.offset is None else f" (byte {error.offset})"
