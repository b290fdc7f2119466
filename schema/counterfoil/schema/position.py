"""A position in a schema text."""

from __future__ import annotations

from typing import NamedTuple


class Position(NamedTuple):
    """A place in a text: ``line`` and ``column``, both counted from 1, in characters."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"
