"""Regular expressions of schemas: the fault of one, and whether a text contains a match, in bounded time and memory.

A compiled expression contains a copy of a part for each time that the part must occur, so that an expression of 20
characters could take a gigabyte. Its size is computed before it is compiled.

Source: JSON Schema's ``pattern`` searches and does not match the whole text; the dialect is that of ECMA 262, and
Java's in the reference registry. Here the package ``regex`` reads both; it can stop a search that takes too long.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Final

import regex

from counterfoil.schema.caches import cached_by_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.steps import Steps

SEARCH_TIMEOUT_S: Final = 0.05
"""The time limit of one search."""

MAX_PATTERN_LENGTH: Final = 20_000
"""The largest length of a pattern that is compiled, in characters: the time grows faster than the length."""

MAX_EXPANDED_SIZE: Final = 20_000
"""The largest size of a pattern that is compiled; a compiled one takes up to 1,000 bytes for each unit of its size."""

_STEPS_A_PATTERN: Final = 100
_STEPS_A_TIMEOUT: Final = 50_000
_CACHE_BYTES: Final = 16 * 1024 * 1024
_BYTES_A_PIECE: Final = 400
_BYTES_A_PATTERN: Final = 2_000
_CLASS_MEMBERS_A_PIECE: Final = 10

_QUOTED: Final = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)
_END_OF_INPUT: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\z")
_CONTROL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\c([A-Za-z])")
_ESCAPED_SLASH: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\/")
_QUANTIFIERS: Final = frozenset("*+?")
_PIECE: Final = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\(\??", re.DOTALL)
_REPETITION: Final = re.compile(r"\{0*(\d+)(?:,\d*)?\}", re.ASCII)
_WITH_COMMENTS: Final = re.compile(r"\(\?(?:#|[A-Za-wyz0-9]*x)", re.ASCII)
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


def expanded_size(pattern: str) -> int:
    """Return the number of parts of ``pattern`` after each is repeated as often as it must at least occur.

    A part is a character, an escape, or ten characters of a class.

    >>> expanded_size("ab{3}"), expanded_size("(?:b{1000}){1000}"), expanded_size("^.{0,65535}$")
    (4, 1004000, 3)
    """
    return _expanded_size(_translated(pattern))


def is_too_large(pattern: str) -> bool:
    """Return whether ``pattern`` is too large to be compiled: it is compared as a text, and no value is tried."""
    return len(pattern) > MAX_PATTERN_LENGTH or expanded_size(pattern) > MAX_EXPANDED_SIZE


def _expanded_size(pattern: str) -> int:
    """Return the size of a pattern in the syntax of the package."""
    if _WITH_COMMENTS.search(pattern):  # comments and blanks may be between a part and its repetition
        return len(pattern) * prod(max(1, int(count[:9])) for count in _REPETITION.findall(pattern)[:99])
    sizes, last, at = [0], 0, 0  # the sizes of the open groups, and that of the last part of the innermost
    while at < len(pattern):
        repeated = _REPETITION.match(pattern, at)
        if repeated:
            sizes[-1] += last * (max(1, int(repeated[1][:9])) - 1)
            last *= max(1, int(repeated[1][:9]))
            at = repeated.end()
            continue
        found = _PIECE.match(pattern, at)
        piece = found.group() if found else pattern[at]
        at += len(piece)
        if piece[0] == "(":
            sizes.append(len(piece))
            continue
        if piece == ")" and len(sizes) > 1:
            last = sizes.pop() + 1
        elif piece not in _QUANTIFIERS:
            last = 1 + (len(piece) // _CLASS_MEMBERS_A_PIECE if piece[0] == "[" else 0)
        else:
            continue
        sizes[-1] += last
    return sum(sizes)


def _bytes_of(compiled: object, pattern: str) -> int:
    size = len(pattern) if compiled is None else expanded_size(pattern)
    return _BYTES_A_PATTERN + len(pattern) + size * (1 if compiled is None else _BYTES_A_PIECE)


@cached_by_size(_CACHE_BYTES, size_of=_bytes_of)
def compile_pattern(pattern: str) -> regex.Pattern[str] | None:
    """Return ``pattern`` compiled; None if it is too large, or the package cannot read it.

    What cannot be read may be valid in another dialect.
    """
    if len(pattern) > MAX_PATTERN_LENGTH:
        return None
    translated = _translated(pattern)
    if _expanded_size(translated) > MAX_EXPANDED_SIZE:
        return None
    try:
        return regex.compile(translated, regex.VERSION0, cache_pattern=False)  # the package's cache knows no sizes
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


class CountedPatterns:
    """The patterns of one judgement: what it takes to compile each is counted once, and searches that take too long.

    Whether a pattern is compiled already does not matter, so that a judgement takes the same steps whatever was judged
    before.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._counted: set[str] = set()

    def count(self, pattern: str) -> None:
        """Count the steps of compiling ``pattern``; raise ``OutOfSteps`` if too few are left."""
        if pattern not in self._counted:
            self._counted.add(pattern)
            parts = (
                len(pattern) if len(pattern) > MAX_PATTERN_LENGTH else min(expanded_size(pattern), MAX_EXPANDED_SIZE)
            )
            self._steps.spend(_STEPS_A_PATTERN + parts)

    def holds_match(self, pattern: str, text: str) -> bool | None:
        """Return whether ``text`` contains a match; None if the pattern cannot be read or takes too long."""
        self.count(pattern)
        found = holds_match(pattern, text)
        if found is None and compile_pattern(pattern) is not None:
            self._steps.spend(_STEPS_A_TIMEOUT)
        return found


def _translated(pattern: str) -> str:
    r"""Return ``pattern`` in the package's syntax: without ``\Q…\E``, ``\z``, ``\cX`` and ``\/`` of Java and ECMA."""
    if "\\" not in pattern:
        return pattern
    pattern = _QUOTED.sub(lambda found: regex.escape(found[1]), pattern)
    pattern = _END_OF_INPUT.sub(r"\1\\Z", pattern)
    pattern = _CONTROL.sub(lambda found: f"{found[1]}\\x{ord(found[2].upper()) % 32:02x}", pattern)
    return _ESCAPED_SLASH.sub(r"\1/", pattern)
