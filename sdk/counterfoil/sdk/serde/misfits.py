"""Values that are no values of their field, and their places: the errors of writing."""

from __future__ import annotations

from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde.places import shown


def misfit(expected: str, value: object) -> EncodeError:
    """Return the error for a value; :func:`placed` adds the place where it was found."""
    got = shown(value)
    return EncodeError(f"expected {expected}; got {got}", expected=expected, got=got)


def placed(error: EncodeError, part: str) -> EncodeError:
    """Return the error with ``part`` before its path: a field's name, ``[3]`` for an item, ``['a']`` for a key."""
    separator = "." if error.path and not error.path.startswith("[") else ""
    error.path = f"{part}{separator}{error.path}"
    return error
