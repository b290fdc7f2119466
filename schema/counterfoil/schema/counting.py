"""A number with its noun, for messages."""

from __future__ import annotations


def counted(count: float, noun: str, plural: str = "", *, spec: str = "d") -> str:
    """Return ``count`` with ``noun`` in singular or plural; ``plural`` is needed if it is not the noun with an s.

    ``spec`` is the format of the number, in Python's format specification: ``,`` groups thousands.

    >>> counted(1, "version"), counted(4000, "version", spec=","), counted(0, "breach", "breaches")
    ('1 version', '4,000 versions', '0 breaches')
    """
    return f"{count:{spec}} {noun if count == 1 else plural or f'{noun}s'}"
