"""Work that is done in parts: whoever runs it in an event loop can handle other requests between them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

_T = TypeVar("_T")

Parts: TypeAlias = Generator[None, None, _T]
"""Some work: each step of the iteration does a part of it, and the result is returned after the last one."""


def finished(parts: Parts[_T]) -> _T:
    """Return the result of all parts, done one after the other.

    >>> def count():
    ...     yield
    ...     return 2
    >>> finished(count())
    2
    """
    while True:
        try:
            next(parts)
        except StopIteration as end:
            found: _T = end.value
            return found
