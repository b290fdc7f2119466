"""Pointers: the places of elements in a schema's text, as steps."""

from __future__ import annotations

from typing import TypeAlias

Pointer: TypeAlias = tuple[str | int, ...]
"""The steps of a JSON pointer (RFC 6901) from the whole text inwards: keys, and the indexes of arrays as numbers.

In Protobuf the steps are the names of the declarations around an element and its own name.
"""


def print_pointer(pointer: Pointer) -> str:
    """Return the text of a pointer, in which ``~`` and ``/`` of a key are escaped.

    >>> print_pointer(("properties", "a/b", "enum", 0))
    '/properties/a~1b/enum/0'
    """
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in pointer)
