"""Python source under construction: lines, fresh names, and the objects that the lines refer to.

No schema text reaches the source except as ``repr`` of a string; everything else is an object bound to a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_INDENT = " "

MAX_LEVEL: Final = 12
"""The indentation from which code is put into a function: Python allows twenty nested loops and a hundred levels."""


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
        """The number of lines."""
        return len(self._lines)

    def hold(self) -> int:
        """Reserve a line at the current indentation and return its position; see :meth:`fill`."""
        self.line("")
        return len(self._lines) - 1

    def fill(self, place: int, text: str) -> None:
        """Write the line at a reserved position."""
        self._lines[place] += text

    def name(self, stem: str) -> str:
        """Return a name that is unique in this source."""
        self._names += 1
        return f"{stem}_{self._names}"

    def bind(self, stem: str, value: object) -> str:
        """Bind ``value`` to a new global name and return the name."""
        name = self.name(stem)
        self.namespace[name] = value
        return name

    def text(self) -> str:
        """Return all lines."""
        return "\n".join(self._lines) + "\n"

    def run(self, title: str) -> dict[str, Any]:
        """Run the lines and return their namespace; ``title`` is the file name that tracebacks show."""
        exec(compile(self.text(), f"<{title}>", "exec"), self.namespace)  # noqa: S102 - this is what code generation is
        return self.namespace
