"""Prefixes of names as ranges in the order of code points, which an index can search."""

from __future__ import annotations

from typing import Final

_LAST: Final = 0x10FFFF
_BEFORE_SURROGATES: Final = 0xD7FF
_AFTER_SURROGATES: Final = 0xE000


def above(prefix: str) -> str | None:
    """Return the lowest text above all that begin with ``prefix``; None for an empty prefix and others without one."""
    kept = prefix.rstrip(chr(_LAST))
    if not kept:
        return None
    last = ord(kept[-1])
    return kept[:-1] + chr(_AFTER_SURROGATES if last == _BEFORE_SURROGATES else last + 1)
