"""Values that are no values of their field, and their places: the errors of writing."""

from __future__ import annotations

from typing import Final

from counterfoil.sdk.errors import EncodeError

_SHOWN_CHARACTERS: Final = 60


def misfit(expected: str, value: object) -> EncodeError:
    """Return the error for a value; :func:`placed` adds the place where it was found."""
    got = shown(value)
    return EncodeError(f"expected {expected}; got {got}", expected=expected, got=got)


def placed(error: EncodeError, part: str) -> EncodeError:
    """Return the error with ``part`` before its path: a field's name, ``[3]`` for an item, ``['a']`` for a key."""
    separator = "." if error.path and not error.path.startswith("[") else ""
    error.path = f"{part}{separator}{error.path}"
    return error


def shown(value: object) -> str:
    """Return the start of a value's text, and its type."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 - a foreign object's repr may do anything, and an error is being written
        text = "a value without repr"
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]}…"
    return f"{text} ({type(value).__name__})"
