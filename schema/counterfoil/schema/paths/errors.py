"""The errors of field paths."""

from __future__ import annotations

from counterfoil.schema.errors import CounterfoilError


class InvalidPath(CounterfoilError):
    """A text is not a field path; ``offset`` is the place of the fault in ``text``."""

    def __init__(self, text: str, offset: int, expected: str) -> None:
        super().__init__(f"Invalid field path {text!r} at character {offset + 1}: expected {expected}")
        self.text = text
        self.offset = offset


class PathNotFound(CounterfoilError):
    """A field path has no target in a schema; ``path`` is its text, ``reached`` the part that could be resolved."""

    def __init__(self, path: str, reached: str, problem: str) -> None:
        where = f"at {reached}" if reached else "at the top"
        super().__init__(f"The path {path!r} leads nowhere in the schema: {where}, {problem}")
        self.path = path
        self.reached = reached
