"""Python source under construction: lines, fresh names, and the objects that the lines refer to.

No schema text reaches the source except as ``repr`` of a string; everything else is an object bound to a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_INDENT = " "

MAX_LEVEL: Final = 12
"""Indentation beyond which code goes into a function: Python allows twenty nested loops and a hundred levels."""


class Source:
    """Source text and the namespace it will run in. ``level`` is the current indentation."""

    def __init__(self, constants: Mapping[str, object]) -> None:
        self.namespace: dict[str, Any] = dict(constants)
        self.level = 0
        self._lines: list[str] = []
        self._names = 0

    def line(self, text: str) -> None:
        """Add a line at the current indentation."""
        self._lines.append(_INDENT * self.level + text)

    @property
    def size(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def hold(self) -> int:
        """A place at the current indentation for a line that is not known yet; see :meth:`fill`."""
        self.line("")
        return len(self._lines) - 1

    def fill(self, place: int, text: str) -> None:
        """Put the line where it was held."""
        self._lines[place] += text

    def name(self, stem: str) -> str:
        """A name that nothing else in this source has."""
        self._names += 1
        return f"{stem}_{self._names}"

    def bind(self, stem: str, value: object) -> str:
        """A fresh global name for ``value``."""
        name = self.name(stem)
        self.namespace[name] = value
        return name

    def text(self) -> str:
        """All lines."""
        return "\n".join(self._lines) + "\n"

    def run(self, title: str) -> dict[str, Any]:
        """The namespace after the lines have run in it; ``title`` is the file name that tracebacks show."""
        exec(compile(self.text(), f"<{title}>", "exec"), self.namespace)  # noqa: S102 - this is what code generation is
        return self.namespace
