"""A number with its noun, for messages."""

from __future__ import annotations


def counted(count: float, noun: str, plural: str = "", *, spec: str = "d") -> str:
    """``count`` with ``noun`` in the form that fits it; ``plural`` is needed where it is not the noun with an s.

    ``spec`` is how the number is printed, as Python's format specification has it: ``,`` groups thousands.

    >>> counted(1, "version"), counted(4000, "version", spec=","), counted(0, "breach", "breaches")
    ('1 version', '4,000 versions', '0 breaches')
    """
    return f"{count:{spec}} {noun if count == 1 else plural or f'{noun}s'}"
