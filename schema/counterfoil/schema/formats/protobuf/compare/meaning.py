"""Messages whose name says what they mean: the well-known types and Google's common types.

``Timestamp`` and ``Duration`` have the same fields, and so do ``Date`` and ``TimeOfDay``: bytes of the one are taken
for the other without an error. Any other message means what its fields hold, whatever its name; and so do the wrappers
of scalars, such as ``Int32Value``.

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
    """Whether two messages, by their full names, stand for things of different sorts.

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
