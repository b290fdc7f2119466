"""Messages whose meaning is defined by their name: the well-known types and Google's common types.

``Timestamp`` and ``Duration`` have the same fields, and so do ``Date`` and ``TimeOfDay``: bytes of the one are read as
the other without an error. The meaning of any other message is defined by its fields alone, and so is that of the
wrappers of scalars, such as ``Int32Value``.

Source: Protocol Buffers, "Well-Known Types"; the Google API common types.
"""

from __future__ import annotations

from typing import Final

_PACKAGES: Final = ("google.protobuf.", "google.type.")
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{scalar}Value"
    for scalar in ("Bool", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "String", "Bytes")
)


def mean_different_things(one: str, other: str) -> bool:
    """Return whether two messages, given by their full names, have different meanings.

    >>> mean_different_things("google.protobuf.Timestamp", "google.protobuf.Duration")
    True
    >>> mean_different_things("google.protobuf.Timestamp", "shop.Moment")
    False
    >>> mean_different_things("google.protobuf.Int32Value", "google.protobuf.Int64Value")
    False
    """
    return (
        one != other
        and one.startswith(_PACKAGES)
        and other.startswith(_PACKAGES)
        and not (one in _WRAPPERS and other in _WRAPPERS)
    )
