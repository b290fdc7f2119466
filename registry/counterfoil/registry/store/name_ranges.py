"""Where in the order of code points the names end that begin in one way: prefixes as ranges, which an index answers."""

from __future__ import annotations

from typing import Final

_LAST: Final = 0x10FFFF
_BEFORE_SURROGATES: Final = 0xD7FF
_AFTER_SURROGATES: Final = 0xE000


def above(prefix: str) -> str | None:
    """Return the lowest text above all that begin with ``prefix``; None when there is none, as for an empty one."""
    kept = prefix.rstrip(chr(_LAST))
    if not kept:
        return None
    last = ord(kept[-1])
    return kept[:-1] + chr(_AFTER_SURROGATES if last == _BEFORE_SURROGATES else last + 1)
