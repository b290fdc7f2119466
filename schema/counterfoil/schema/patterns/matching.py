"""Whether a text contains a match of a schema's pattern, in bounded time and memory; the fault of a pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import prod
from typing import Final, TypeAlias

import regex

from counterfoil.schema.caches import RecentValues, cached_by_size
from counterfoil.schema.compatibility import Steps
from counterfoil.schema.patterns.reading import NotEcma, read_expression
from counterfoil.schema.patterns.syntax import (
    WORD,
    Alternatives,
    Atomic,
    BackReference,
    BoundaryAssertion,
    Characters,
    Expression,
    Look,
    NumberedGroup,
    PatternDialect,
    PatternSequence,
    Repeated,
    UnicodeProperty,
    parts_of,
    spans_of,
    spell,
)

# Search by the rules of ECMA 262 themselves, for expressions whose back-references no package treats as it says.
#
# There a group that did not take part, or has not ended yet, matches the empty text when it is referred to; each round
# of a repetition forgets what its groups matched in the round before; and what is before a place is matched backwards.
# A search spends steps, and ends without a result when it has none left.
#
# Source: ECMA 262, "Runtime Semantics: CompileSubpattern" and its parts.

MAX_STEPS: Final = 100_000
"""How many parts one search tries at most."""

_WORD: Final = frozenset(chr(code) for first, last in WORD for code in range(first, last + 1))

State: TypeAlias = "tuple[int, dict[int, tuple[int, int]]]"
"""A place in the text, and where the groups that took part begin and end."""

Continuation: TypeAlias = "Callable[[State], bool]"


class SearchOutOfSteps(Exception):
    """A search has no steps left."""


def needs_own_search(expression: Expression) -> bool:
    r"""Return whether a back-reference may refer to a group that did not take part, has not ended, or is repeated.

    >>> from counterfoil.schema.patterns.reading import read_expression
    >>> [needs_own_search(read_expression(each)) for each in (r"(a)\1", r"\1(a)", r"(?:(a)|b)\1", r"(?:(a)\1)*")]
    [False, True, True, True]
    """
    return _needs(expression, set(), is_sure=True, is_behind=False)


def _needs(part: Expression, ended: set[int], *, is_sure: bool, is_behind: bool) -> bool:
    """Return whether a part needs it; add to ``ended`` the groups that have certainly taken part when the part ends."""
    if isinstance(part, BackReference):
        return is_behind or len(part.numbers) > 1 or part.numbers[0] not in ended
    surely = is_sure and (
        isinstance(part, PatternSequence | NumberedGroup) or (isinstance(part, Repeated) and part.least > 0)
    )
    behind = is_behind or (isinstance(part, Look) and part.is_behind)
    if any(_needs(each, ended, is_sure=surely, is_behind=behind) for each in parts_of(part)):
        return True
    if isinstance(part, NumberedGroup) and is_sure:
        ended.add(part.number)
    return False


def contains_match(expression: Expression, text: str, *, steps: int = MAX_STEPS) -> bool | None:
    """Return whether ``text`` contains a match; None if that takes more steps, or more memory, than there are."""
    search = _Search(text, steps)
    try:
        return any(search.match(expression, (start, {}), lambda _: True, 1) for start in range(len(text) + 1))
    except (SearchOutOfSteps, RecursionError):
        return None


class _Search:
    """A search in one text. ``way`` is 1 for forwards and -1 for backwards."""

    def __init__(self, text: str, steps: int) -> None:
        self._text = text
        self._steps = steps

    def match(self, part: Expression, state: State, rest: Continuation, way: int) -> bool:
        """Return whether ``part`` matches at a place, and ``rest`` what is behind it."""
        self._steps -= 1
        if self._steps < 0:
            raise SearchOutOfSteps
        match part:
            case Characters():
                return self._character(part, state, rest, way)
            case PatternSequence(parts=parts):
                return self._sequence(parts[::way], state, rest, way)
            case Alternatives(options=options):
                return any(self.match(option, state, rest, way) for option in options)
            case Repeated():
                return self._repeated(part, 0, rest, way)(state)
            case BackReference(numbers=numbers):
                return self._reference(numbers, state, rest, way)
            case NumberedGroup():
                return self._group(part, state, rest, way)
            case BoundaryAssertion(kind=kind):
                return self._is_at(kind, state[0]) and rest(state)
            case Atomic() | Look():
                return self._condition(part, state, rest, way)

    def _character(self, part: Characters, state: State, rest: Continuation, way: int) -> bool:
        at, captures = state
        index = at if way > 0 else at - 1
        is_one = 0 <= index < len(self._text) and holds(part, self._text[index])
        return is_one and rest((at + way, captures))

    def _sequence(self, parts: tuple[Expression, ...], state: State, rest: Continuation, way: int) -> bool:
        if not parts:
            return rest(state)
        return self.match(parts[0], state, lambda after: self._sequence(parts[1:], after, rest, way), way)

    def _group(self, part: NumberedGroup, state: State, rest: Continuation, way: int) -> bool:
        begin = state[0]

        def at_end(after: State) -> bool:
            end, captures = after
            return rest((end, captures | {part.number: (min(begin, end), max(begin, end))}))

        return self.match(part.part, state, at_end, way)

    def _repeated(self, part: Repeated, done: int, rest: Continuation, way: int) -> Continuation:
        """Return what matches the rounds of a repetition that are left after ``done``."""

        def go_on(state: State) -> bool:
            at, captures = state
            if part.most is not None and done >= part.most:
                return rest(state)

            def after_round(after: State) -> bool:
                is_empty = after[0] == at and done >= part.least
                return not is_empty and self._repeated(part, done + 1, rest, way)(after)

            own = groups_of(part.part)
            fresh = (at, {number: held for number, held in captures.items() if number not in own})
            if done < part.least:
                return self.match(part.part, fresh, after_round, way)
            if part.is_lazy:
                return rest(state) or self.match(part.part, fresh, after_round, way)
            return self.match(part.part, fresh, after_round, way) or rest(state)

        return go_on

    def _reference(self, numbers: tuple[int, ...], state: State, rest: Continuation, way: int) -> bool:
        at, captures = state
        begin, end = next((captures[number] for number in numbers if number in captures), (0, 0))
        size = end - begin
        first = at if way > 0 else at - size
        if first < 0 or self._text[first : first + size] != self._text[begin:end]:
            return False
        return rest((at + way * size, captures))

    def _condition(self, part: Atomic | Look, state: State, rest: Continuation, way: int) -> bool:
        """Match the first match of a part, and no other."""
        if isinstance(part, Look):
            way = -1 if part.is_behind else 1
        found: list[State] = []

        def take(after: State) -> bool:
            found.append(after)
            return True

        matches = self.match(part.part, state, take, way)
        if isinstance(part, Atomic):
            return matches and rest(found[0])
        if part.is_negated:
            return not matches and rest(state)
        return matches and rest((state[0], found[0][1]))

    def _is_at(self, kind: str, at: int) -> bool:
        if kind in "^$":
            return at == (0 if kind == "^" else len(self._text))
        before = at > 0 and self._text[at - 1] in _WORD
        after = at < len(self._text) and self._text[at] in _WORD
        return (before != after) is (kind == "b")


def holds(characters: Characters, character: str) -> bool:
    """Return whether a character is of a set."""
    code = ord(character)
    return any(_is_in(item, code) for item in characters.items) is not characters.is_negated


def _is_in(item: tuple[int, int] | UnicodeProperty, code: int) -> bool:
    if isinstance(item, UnicodeProperty):
        return any(first <= code <= last for first, last in spans_of(item.name)) is not item.is_negated
    return item[0] <= code <= item[1]


def groups_of(part: Expression) -> frozenset[int]:
    """Return the numbers of the groups in a part."""
    own = {part.number} if isinstance(part, NumberedGroup) else ()
    return frozenset(own).union(*map(groups_of, parts_of(part)))


# Regular expressions of schemas: the fault of one, and whether a text contains a match, in bounded time and memory.
#
# A compiled expression contains a copy of a part for each time that the part must occur, so that an expression of 20
# characters could take a gigabyte. Its size is computed before it is compiled.
#
# Source: JSON Schema's ``pattern`` searches and does not match the whole text; the dialect is that of ECMA 262 with the
# flag ``u``, and every pattern that is one of that dialect means here what it means there. The reference registry uses
# Java's dialect; a pattern that is none of ECMA 262 is read as the package ``regex`` reads it. That package can stop a
# search that takes too long.

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
    text = _translated(pattern) if expression is None else spell(expression, PatternDialect.REGEX)
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
def spelled_pattern(pattern: str, dialect: PatternDialect) -> str | None:
    r"""Return a text that another package reads as :func:`holds_match` reads ``pattern``; None if there is none.

    >>> spelled_pattern(r"^\d+$", PatternDialect.RUST), spelled_pattern(r"(?:(a)|b)\1", PatternDialect.RUST)
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
        """Count the steps of compiling ``pattern`` once; raise ``SearchOutOfSteps`` if too few are left."""
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
