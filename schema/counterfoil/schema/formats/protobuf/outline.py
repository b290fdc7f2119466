"""The outline of a ``.proto`` file: its package, its first message, and what it imports.

Only the ends of statements and blocks are parsed, so that a file with faults has an outline, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from counterfoil.schema.outline import Outline, Use
from counterfoil.schema.position import Position

_TOKEN: Final = re.compile(
    r"""
      //[^\n]*+ | /\*.*?(?:\*/|\Z)
    | (?P<string>"(?:\\.|[^"\\\n])*+"? | '(?:\\.|[^'\\\n])*+'?)
    | (?P<word>[A-Za-z_][\w.]*+)
    | (?P<mark>[{};])
    """,
    re.VERBOSE | re.DOTALL,
)
"""The tokens. An unclosed comment or string ends with the text, so that no text is scanned twice."""
_LONGEST_HEAD: Final = 3
"""The number of words of a statement that are needed: ``import public "…"``, ``export message Order``."""


def outline(text: str) -> Outline | None:
    """Return the outline: the full name of the first message, and the used import paths with positions."""
    found = _Scan()
    for token in _TOKEN.finditer(text):
        found.take(token, text)
    name = found.message and (f"{found.package}.{found.message}" if found.package else found.message)
    uses = tuple(Use((path,), position) for path, position in found.imports.items())
    return Outline(name=name, declared=frozenset(), used=uses)


@dataclass(slots=True)
class _Scan:
    """The state of a scan; ``words`` and ``string`` are those of the current statement."""

    package: str = ""
    message: str | None = None
    imports: dict[str, Position] = field(default_factory=dict)
    depth: int = 0
    words: list[str] = field(default_factory=list)
    string: re.Match[str] | None = None

    def take(self, token: re.Match[str], text: str) -> None:
        """Process the next token."""
        mark = token["mark"]
        if mark:
            self._end_statement(text, is_block=mark == "{")
            self.depth = max(0, self.depth + {"{": 1, "}": -1, ";": 0}[mark])
        elif self.depth == 0 and token["string"]:
            self.string = token
        elif self.depth == 0 and token["word"] and len(self.words) < _LONGEST_HEAD:
            self.words.append(token["word"])

    def _end_statement(self, text: str, *, is_block: bool) -> None:
        match self.words:
            case ["package", package, *_] if not is_block:
                self.package = package
            case ["import", *_] if self.string is not None and not is_block:
                path = self.string["string"].strip("\"'")
                self.imports.setdefault(path, _position(text, self.string.start()))
            case ["message", name, *_] | ["export" | "local", "message", name] if is_block and self.message is None:
                self.message = name
        self.words, self.string = [], None


def _position(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
