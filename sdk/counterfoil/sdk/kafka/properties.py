"""Properties files, as Kafka's own tools read them (``java.util.Properties``)."""

from __future__ import annotations

import re
from typing import Final

_COMMENT: Final = re.compile(r"[ \t\f]*[#!]")
_CONTINUED: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*\\$")
_PAIR: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(text: str) -> dict[str, str]:
    r"""Return the names and values of a properties file; the last one of a name counts.

    >>> read_properties("a.b = 1\n# a comment\nc:two \\\n   lines")
    {'a.b': '1', 'c': 'two lines'}
    """
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _PAIR.match(line)
        if match is not None and match[0]:
            found[_unescaped(match[1])] = _unescaped(match[2])
    return found


def _logical_lines(text: str) -> list[str]:
    """Return the lines that are neither blank nor comments, each with the lines that continue it."""
    lines: list[str] = []
    begun: str | None = None
    for line in re.split(r"\r\n|\r|\n", text):
        if begun is None and _COMMENT.match(line):
            continue
        whole = (begun or "") + line.lstrip(" \t\f")
        if _CONTINUED.search(whole):
            begun = whole[:-1]
        else:
            lines.append(whole)
            begun = None
    return [line for line in (*lines, begun or "") if line]


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _CONTROLS.get(match[2], match[2]), text)
