"""The keys of records as texts, with the order and the prefixes of their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_PART_END: Final = "\x1f"
_AFTER_PART_END: Final = "\x20"
_ABOVE_ALL: Final = "\U0010ffff"


def key_text(parts: Sequence[str]) -> str:
    """Return a key, or the beginning of one, as a text."""
    return "".join(f"{part}{_PART_END}" for part in parts)


def key_of(text: str) -> tuple[str, ...]:
    """Return the parts of a key."""
    return tuple(text.split(_PART_END)[:-1])


def key_range(prefix: Sequence[str]) -> tuple[str, str]:
    """Return the range of the texts of keys that begin with these parts."""
    low = key_text(prefix)
    return low, low[:-1] + _AFTER_PART_END if low else _ABOVE_ALL
