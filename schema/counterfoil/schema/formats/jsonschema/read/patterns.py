"""Regular expressions of schemas: the fault of one, and whether a text contains a match, in bounded time.

Source: JSON Schema's ``pattern`` searches and does not match the whole text; the dialect is that of ECMA 262, and
Java's in the reference registry. Here the package ``regex`` reads both; it can stop a search that takes too long.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

SEARCH_TIMEOUT_S: Final = 0.05
"""The time limit of one search."""

MAX_PATTERN_LENGTH: Final = 20_000
"""The largest length of a pattern that is compiled, in characters: the time grows faster than the length."""

_QUOTED: Final = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)
_END_OF_INPUT: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\z")
_CONTROL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\c([A-Za-z])")
_ESCAPED_SLASH: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\/")
_QUANTIFIERS: Final = frozenset("*+?")
_PIECE: Final = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\(\??", re.DOTALL)
_FAULTS: Final = {"\\": "it ends in a backslash", "[": "a character class does not end"}


def fault_of_pattern(pattern: str) -> str | None:
    """Return why ``pattern`` is not valid in any dialect of regular expressions; None if no fault is certain.

    >>> fault_of_pattern("[a-z")
    'a character class does not end'
    """
    open_groups = 0
    may_repeat = False
    for piece in _pieces(pattern):
        if piece in _FAULTS:
            return _FAULTS[piece]
        if piece == ")" and not open_groups:
            return "a group ends that did not begin"
        if piece in _QUANTIFIERS and not may_repeat:
            return f"nothing stands before {piece}"
        open_groups += (piece[0] == "(") - (piece == ")")
        may_repeat = piece[0] not in "(|"
    return "a group does not end" if open_groups else None


def _pieces(pattern: str) -> Iterator[str]:
    """Yield the pieces of a pattern: an escape, a quoted text, a class, the start of a group, or one character."""
    at = 0
    while at < len(pattern):
        found = _PIECE.match(pattern, at)
        piece = found.group() if found else pattern[at]
        yield piece
        at += len(piece)


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> regex.Pattern[str] | None:
    """Return ``pattern`` compiled; None if the package cannot read it (it may be valid in another dialect)."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return None
    try:
        return regex.compile(_translated(pattern), regex.VERSION0)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError, KeyError, IndexError, TypeError):
        return None


def holds_match(pattern: str, text: str, *, timeout_s: float = SEARCH_TIMEOUT_S) -> bool | None:
    """Return whether ``text`` contains a match; None if the pattern cannot be read or takes too long.

    >>> holds_match("b+", "abbc"), holds_match("^b", "abbc"), holds_match("(", "")
    (True, False, None)
    """
    compiled = compile_pattern(pattern)
    if compiled is None:
        return None
    try:
        return compiled.search(text, timeout=timeout_s) is not None
    except (TimeoutError, MemoryError, RecursionError):
        return None


def _translated(pattern: str) -> str:
    r"""Return ``pattern`` in the package's syntax: without ``\Q…\E``, ``\z``, ``\cX`` and ``\/`` of Java and ECMA."""
    if "\\" not in pattern:
        return pattern
    pattern = _QUOTED.sub(lambda found: regex.escape(found[1]), pattern)
    pattern = _END_OF_INPUT.sub(r"\1\\Z", pattern)
    pattern = _CONTROL.sub(lambda found: f"{found[1]}\\x{ord(found[2].upper()) % 32:02x}", pattern)
    return _ESCAPED_SLASH.sub(r"\1/", pattern)
