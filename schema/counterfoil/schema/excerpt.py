"""The beginning of a text that may be too long for a message."""

from __future__ import annotations


def excerpt(text: str, most: int = 60) -> str:
    """Return the text, or its first ``most`` characters and an ellipsis.

    >>> excerpt("abcdef", 3)
    'abc…'
    """
    return text if len(text) <= most else f"{text[:most]}…"
