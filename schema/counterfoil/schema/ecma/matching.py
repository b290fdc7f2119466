"""Search by the rules of ECMA 262 themselves, for expressions whose back-references no package treats as it says.

There a group that did not take part, or has not ended yet, matches the empty text when it is referred to; each round
of a repetition forgets what its groups matched in the round before; and what is before a place is matched backwards.
A search spends steps, and ends without a result when it has none left.

Source: ECMA 262, "Runtime Semantics: CompileSubpattern" and its parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.ecma.names import spans_of
from counterfoil.schema.ecma.syntax import (
    WORD,
    Atomic,
    BackReference,
    Characters,
    Choice,
    Group,
    Look,
    Place,
    Property,
    Repeated,
    Sequence,
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.ecma.syntax import Expression

MAX_STEPS: Final = 100_000
"""How many parts one search tries at most."""

_WORD: Final = frozenset(chr(code) for first, last in WORD for code in range(first, last + 1))

State: TypeAlias = "tuple[int, dict[int, tuple[int, int]]]"
"""A place in the text, and where the groups that took part begin and end."""

Continuation: TypeAlias = "Callable[[State], bool]"


class OutOfSteps(Exception):
    """A search has no steps left."""


def needs_own_search(expression: Expression) -> bool:
    r"""Return whether a back-reference may refer to a group that did not take part, has not ended, or is repeated.

    >>> from counterfoil.schema.ecma.reading import read_expression
    >>> [needs_own_search(read_expression(each)) for each in (r"(a)\1", r"\1(a)", r"(?:(a)|b)\1", r"(?:(a)\1)*")]
    [False, True, True, True]
    """
    return _needs(expression, set(), is_sure=True, is_behind=False)


def _needs(part: Expression, ended: set[int], *, is_sure: bool, is_behind: bool) -> bool:
    """Return what is asked for a part; add to ``ended`` the groups that are sure to have taken part behind it."""
    if isinstance(part, BackReference):
        return is_behind or len(part.numbers) > 1 or part.numbers[0] not in ended
    surely = is_sure and (isinstance(part, Sequence | Group) or (isinstance(part, Repeated) and part.least > 0))
    behind = is_behind or (isinstance(part, Look) and part.is_behind)
    if any(_needs(each, ended, is_sure=surely, is_behind=behind) for each in parts_of(part)):
        return True
    if isinstance(part, Group) and is_sure:
        ended.add(part.number)
    return False


def contains_match(expression: Expression, text: str, *, steps: int = MAX_STEPS) -> bool | None:
    """Return whether ``text`` contains a match; None if that takes more steps, or more memory, than there are."""
    search = _Search(text, steps)
    try:
        return any(search.match(expression, (start, {}), lambda _: True, 1) for start in range(len(text) + 1))
    except (OutOfSteps, RecursionError):
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
            raise OutOfSteps
        match part:
            case Characters():
                return self._character(part, state, rest, way)
            case Sequence(parts=parts):
                return self._sequence(parts[::way], state, rest, way)
            case Choice(options=options):
                return any(self.match(option, state, rest, way) for option in options)
            case Repeated():
                return self._repeated(part, 0, rest, way)(state)
            case BackReference(numbers=numbers):
                return self._reference(numbers, state, rest, way)
            case Group():
                return self._group(part, state, rest, way)
            case Place(kind=kind):
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

    def _group(self, part: Group, state: State, rest: Continuation, way: int) -> bool:
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


def _is_in(item: tuple[int, int] | Property, code: int) -> bool:
    if isinstance(item, Property):
        return any(first <= code <= last for first, last in spans_of(item.name)) is not item.is_negated
    return item[0] <= code <= item[1]


def groups_of(part: Expression) -> frozenset[int]:
    """Return the numbers of the groups in a part."""
    own = {part.number} if isinstance(part, Group) else ()
    return frozenset(own).union(*map(groups_of, parts_of(part)))
