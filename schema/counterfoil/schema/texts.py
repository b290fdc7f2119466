"""Places in a text (position, pointer), and texts in messages: cut off, or a number with its noun."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

# A position in a schema text.


class Position(NamedTuple):
    """A place in a text: ``line`` and ``column``, both counted from 1, in characters."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


# Pointers: the places of elements in a schema's text, as steps.

Pointer: TypeAlias = tuple[str | int, ...]
"""The steps of a JSON pointer (RFC 6901) from the whole text inwards: keys, and the indexes of arrays as numbers.

In Protobuf the steps are the names of the declarations around an element and its own name.
"""


def print_pointer(pointer: Pointer) -> str:
    """Return the text of a pointer, in which ``~`` and ``/`` of a key are escaped.

    >>> print_pointer(("properties", "a/b", "enum", 0))
    '/properties/a~1b/enum/0'
    """
    text = "".join([f"/{step}" for step in pointer])
    if "~" not in text and text.count("/") == len(pointer):
        return text  # nothing is escaped, as in nearly all
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in pointer)


# The beginning of a text that may be too long for a message.


def excerpt(text: str, most: int = 60) -> str:
    """Return the text, or its first ``most`` characters and an ellipsis.

    >>> excerpt("abcdef", 3)
    'abc…'
    """
    return text if len(text) <= most else f"{text[:most]}…"


# A number with its noun, for messages.


def counted(count: float, noun: str, plural: str = "", *, spec: str = "d") -> str:
    """Return ``count`` with ``noun`` in singular or plural; ``plural`` is needed if it is not the noun with an s.

    ``spec`` is the format of the number, in Python's format specification: ``,`` groups thousands.

    >>> counted(1, "version"), counted(4000, "version", spec=","), counted(0, "breach", "breaches")
    ('1 version', '4,000 versions', '0 breaches')
    """
    return f"{count:{spec}} {noun if count == 1 else plural or f'{noun}s'}"
