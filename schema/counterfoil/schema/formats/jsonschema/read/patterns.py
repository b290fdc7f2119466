"""Regular expressions of schemas: the fault of one, and whether a text contains a match, in bounded time and memory.

A compiled expression contains a copy of a part for each time that the part must occur, so that an expression of 20
characters could take a gigabyte. Its size is computed before it is compiled.

Source: JSON Schema's ``pattern`` searches and does not match the whole text; the dialect is that of ECMA 262 with the
flag ``u``, and every pattern that is one of that dialect means here what it means there. The reference registry uses
Java's dialect; a pattern that is none of ECMA 262 is read as the package ``regex`` reads it. That package can stop a
search that takes too long.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Final

import regex

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.ecma.matching import contains_match, needs_own_search
from counterfoil.schema.ecma.reading import NotEcma, read_expression
from counterfoil.schema.ecma.spelling import Dialect, spell
from counterfoil.schema.recent_values import RecentValues

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.ecma.syntax import Expression
    from counterfoil.schema.steps import Steps

SEARCH_TIMEOUT_S: Final = 0.05
"""The time limit of one search."""

MAX_PATTERN_LENGTH: Final = 20_000
"""The largest length of a pattern that is compiled, in characters: the time grows faster than the length."""

MAX_EXPANDED_SIZE: Final = 20_000
"""The largest size of a pattern that is compiled; a compiled one takes up to 1,000 bytes for each unit of its size."""

_STEPS_A_PATTERN: Final = 100
_STEPS_A_PART_AGAIN: Final = 4
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
_PIECE: Final = re.compile(r"\\Q.*?(?:\\E|$)|\\u\{[0-9A-Fa-f]+\}|\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\(\??", re.DOTALL)
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


class CompiledPattern:
    """A pattern that texts can be searched for: by the package ``regex``, or by ECMA 262's rules where it differs."""

    def __init__(self, compiled: regex.Pattern[str] | None, expression: Expression | None) -> None:
        self._compiled = compiled
        self._expression = expression

    def holds_match(self, text: str, timeout_s: float) -> bool | None:
        """Return whether ``text`` contains a match; None if that takes too long."""
        if self._compiled is None:
            return None if self._expression is None else contains_match(self._expression, text)
        try:
            return self._compiled.search(text, timeout=timeout_s) is not None
        except (TimeoutError, MemoryError, RecursionError):
            return None


@cached_by_size(_CACHE_BYTES, size_of=_bytes_of)
def compile_pattern(pattern: str) -> CompiledPattern | None:
    """Return ``pattern`` compiled; None if it is too large, or cannot be read.

    What cannot be read may be valid in another dialect.
    """
    if is_too_large(pattern):
        return None
    expression = expression_of(pattern)
    if expression is not None and needs_own_search(expression):
        return CompiledPattern(None, expression)
    text = _translated(pattern) if expression is None else spell(expression, Dialect.REGEX)
    try:  # the package's cache knows no sizes
        return CompiledPattern(regex.compile(text, regex.VERSION0, cache_pattern=False), expression)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError, KeyError, IndexError, TypeError):
        return None


def mistake_in_pattern(pattern: str) -> str | None:
    """Return why a pattern cannot be tried; None for one that can.

    >>> mistake_in_pattern("a{3,2}")
    'the counts of a repetition are in the wrong order, at character 6'
    """
    if compile_pattern(pattern) is not None:
        return None
    if is_too_large(pattern):
        return "it is too large to be tried, since its repetitions nest or have large least counts"
    try:
        read_expression(pattern)
    except NotEcma as mistake:
        return str(mistake)
    return "it cannot be tried"


def expression_of(pattern: str) -> Expression | None:
    """Return a pattern of ECMA 262 as a value; None for one that is none of that dialect."""
    try:
        return read_expression(pattern)
    except NotEcma:
        return None


@cached_by_size(_CACHE_BYTES, size_of=lambda spelled, pattern, _: len(pattern) + len(spelled or ""))
def spelled_pattern(pattern: str, dialect: Dialect) -> str | None:
    r"""Return a text that another package reads as :func:`holds_match` reads ``pattern``; None if there is none.

    >>> spelled_pattern(r"^\d+$", Dialect.RUST), spelled_pattern(r"(?:(a)|b)\1", Dialect.RUST)
    ('^[0-9]+$', None)
    """
    expression = expression_of(pattern)
    if expression is None or needs_own_search(expression):
        return None
    return spell(expression, dialect)


def holds_match(pattern: str, text: str, *, timeout_s: float = SEARCH_TIMEOUT_S) -> bool | None:
    """Return whether ``text`` contains a match; None if the pattern cannot be read or takes too long.

    >>> holds_match("b+", "abbc"), holds_match("^b", "abbc"), holds_match("(", "")
    (True, False, None)
    """
    compiled = compile_pattern(pattern)
    return None if compiled is None else compiled.holds_match(text, timeout_s)


class CountedPatterns:
    """The patterns of one judgement: the steps of compiling each are counted, and searches that take too long.

    A judgement takes the same steps whatever was judged before: it counts which of its patterns are still compiled, up
    to the bytes of the cache, and compiling one again is counted again.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._counted: set[str] = set()
        self._tried: set[str] = set()
        self._compiled: RecentValues[str, tuple[CompiledPattern | None]] = RecentValues(_CACHE_BYTES)

    def count(self, pattern: str) -> None:
        """Count the steps of compiling ``pattern`` once; raise ``OutOfSteps`` if too few are left."""
        if pattern not in self._counted:
            self._counted.add(pattern)
            self._steps.spend(_STEPS_A_PATTERN + _parts_of(pattern))

    def holds_match(self, pattern: str, text: str) -> bool | None:
        """Return whether ``text`` contains a match; None if the pattern cannot be read or takes too long."""
        compiled = self._compiled_pattern(pattern)
        if compiled is None:
            return None
        found = compiled.holds_match(text, SEARCH_TIMEOUT_S)
        if found is None:
            self._steps.spend(_STEPS_A_TIMEOUT)
        return found

    def _compiled_pattern(self, pattern: str) -> CompiledPattern | None:
        found = self._compiled.get(pattern)
        if found is None:
            if pattern in self._tried:
                self._steps.spend(_STEPS_A_PATTERN + _STEPS_A_PART_AGAIN * _parts_of(pattern))
            self.count(pattern)
            self._tried.add(pattern)
            found = (compile_pattern(pattern),)
            self._compiled.put(pattern, found, weight=_bytes_of(found[0], pattern))
        return found[0]


def _parts_of(pattern: str) -> int:
    """Return the number of parts that are compiled; of a pattern that is too long for that, its characters."""
    return len(pattern) if len(pattern) > MAX_PATTERN_LENGTH else min(expanded_size(pattern), MAX_EXPANDED_SIZE)


def _translated(pattern: str) -> str:
    r"""Return a pattern of another dialect in the package's syntax: without ``\Q…\E``, ``\z``, ``\cX`` and ``\/``."""
    if "\\" not in pattern:
        return pattern
    pattern = _QUOTED.sub(lambda found: regex.escape(found[1]), pattern)
    pattern = _END_OF_INPUT.sub(r"\1\\Z", pattern)
    pattern = _CONTROL.sub(lambda found: f"{found[1]}\\x{ord(found[2].upper()) % 32:02x}", pattern)
    return _ESCAPED_SLASH.sub(r"\1/", pattern)
