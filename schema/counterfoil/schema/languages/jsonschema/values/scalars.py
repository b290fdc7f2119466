"""Numbers and strings that fit the constraints of a state: the proof that none exists, and candidates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from math import ceil, floor, gcd, lcm
from typing import Final

from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.json_values import are_equal, type_of
from counterfoil.schema.languages.jsonschema.values.literals import NoInteger, NoMatch, NoMultiple, asks_for_integers
from counterfoil.schema.languages.jsonschema.values.state import Answering, ValueState
from counterfoil.schema.languages.jsonschema.view.facts import KeywordFacts
from counterfoil.schema.patterns.matching import holds_match
from counterfoil.schema.patterns.samples import matching_strings, stretched

# Numbers that fit the constraints of a state: the proof that none exists, and candidates.

MAX_ENUMERATED: Final = 200
"""The largest number of multiples that are enumerated completely."""

_STEPS: Final = (0, 1, -1, 2, -2, 3, 5, 7, 11, 13, -7, 101)
_SHARES: Final = (
    Fraction(1, 2),
    Fraction(1, 10),
    Fraction(3, 4),
    Fraction(37, 100),
    Fraction(123, 1000),
    Fraction(1, 8),
)
_USUAL: Final = (
    *(0, 1, -1, Fraction(1, 2), 2, 3, 7, Fraction(3, 2), Fraction(1, 10), Fraction(-37, 100), 1000003),
    *(5, 10, Fraction(-3, 2), 100, 65_537, 2**31, 2**53 + 1, -(2**31) - 1),
)
_LITTLE: Final = Fraction(1, 1000)
_AROUND: Final = (0, 1, -1, _LITTLE, -_LITTLE, Fraction(1, 2), Fraction(-1, 2))


class NumberRange:
    """The numbers between two limits."""

    def __init__(self, facts: list[KeywordFacts]) -> None:
        lows = [(Fraction(limit[0]), limit[1]) for each in facts if (limit := each.minimum) is not None]
        highs = [(Fraction(limit[0]), not limit[1]) for each in facts if (limit := each.maximum) is not None]
        self.low = max(lows)[0] if lows else None
        self.is_low_out = bool(lows) and max(lows)[1]
        self.high = min(highs)[0] if highs else None
        self.is_high_in = not highs or min(highs)[1]

    def is_empty(self) -> bool:
        """Return whether there is no such number."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.is_low_out or not self.is_high_in))

    def holds(self, number: Fraction) -> bool:
        """Return whether a number is between the limits."""
        is_above = self.low is None or (number > self.low if self.is_low_out else number >= self.low)
        return is_above and (self.high is None or (number <= self.high if self.is_high_in else number < self.high))

    def multiples(self, step: Fraction) -> tuple[int | None, int | None]:
        """Return the smallest and the largest factor whose product with ``step`` is in the range; None for no limit."""
        least = most = None
        if self.low is not None:
            least = ceil(self.low / step)
            least += self.is_low_out and least * step == self.low
        if self.high is not None:
            most = floor(self.high / step)
            most -= not self.is_high_in and most * step == self.high
        return least, most


def number_values(
    _: Answering, state: ValueState, near: Sequence[KeywordFacts] = (), *, further: int = 0
) -> Iterator[Json] | None:
    """Return candidates for numbers that fit ``state``; None if it is proved that none exists.

    Numbers at the limits of ``near`` come first; ``further`` more follow in steps.
    """
    between = NumberRange(state.facts)
    if between.is_empty():
        return None
    step = step_of(state.facts)
    apart = [Fraction(each.of) for each in state.demands(NoMultiple)]
    apart += [Fraction(1) for each in state.demands(NoInteger) if each.counts_fractions]
    is_spelt_out = any(not each.counts_fractions for each in state.demands(NoInteger))
    if is_spelt_out and any(asks_for_integers(each) and not each.counts_fractions for each in state.facts):
        return None
    if step is not None and any((step / other).denominator == 1 for other in apart):
        return None
    is_all = False
    if between.low is not None and between.low == between.high:
        numbers: Iterable[Fraction] = [between.low]
        is_all = True
    elif step is not None:
        least, most = between.multiples(step)
        if least is not None and most is not None and least > most:
            return None
        is_all = least is not None and most is not None and most - least < MAX_ENUMERATED
        numbers = (factor * step for factor in _factors(least, most, is_all=is_all))
    else:
        numbers = _between(between)
    numbers = chain(_watched(near, between, step), numbers, _in_steps(between, step, further))
    fitting = (
        number
        for number in _distinct(numbers)
        if between.holds(number) and not any((number / other).denominator == 1 for other in apart)
    )
    spelt = (one for number in fitting for one in spelled(number, with_fraction=is_spelt_out))
    left = (one for one in spelt if not any(are_equal(one, each) for each in state.excluded))
    return _some_of(left) if is_all else left


def _watched(near: Sequence[KeywordFacts], between: NumberRange, step: Fraction | None) -> Iterator[Fraction]:
    """Yield the numbers at the limits of ``near`` and of the range, or the multiples of ``step`` next to them."""
    for number in _limits(near, between) if near else ():
        if step is None:
            yield number
        else:
            factor = round(number / step)
            yield from (factor * step, (factor + 1) * step, (factor - 1) * step)


def _limits(near: Sequence[KeywordFacts], between: NumberRange) -> Iterator[Fraction]:
    for each in near:
        for limit in (each.minimum, each.maximum):
            away = -1 if limit is each.minimum else 1
            for number in () if limit is None else (Fraction(limit[0]),):
                yield from (number, number + away, number + away * _LITTLE, number - away, number - away * _LITTLE)
        for value in each.values or ():  # in their order: that of a set of them differs from process to process
            yield from (Fraction(value), Fraction(value) + 1) if type_of(value) == "number" else ()
    yield from (limit + more for limit in (between.low, between.high) if limit is not None for more in _AROUND)
    yield from (Fraction(number) for number in _USUAL)
    for factor in (Fraction(each.multiple_of) for each in near if each.multiple_of is not None):
        yield from (factor, factor + 1, factor / 2, factor * 3 / 2, factor + Fraction(1, 2))


def _in_steps(between: NumberRange, step: Fraction | None, count: int) -> Iterator[Fraction]:
    """Yield ``count`` numbers in steps, upwards from the lower limit, or downwards from the upper one."""
    away = step or Fraction(1)
    start = between.low if between.low is not None else between.high if between.high is not None else Fraction(0)
    start = start if step is None else ceil(start / step) * step
    if between.low is None and between.high is not None:
        away = -away
    yield from (start + away * index for index in range(count))


def _distinct(numbers: Iterable[Fraction]) -> Iterator[Fraction]:
    seen: set[Fraction] = set()
    for number in numbers:
        if number not in seen:
            seen.add(number)
            yield number


def _some_of(values: Iterable[object]) -> Iterator[Json] | None:
    found = [*values]
    return iter(found) if found else None


def step_of(facts: list[KeywordFacts]) -> Fraction | None:
    """Return the number of which every valid number is a multiple, or None."""
    steps = [abs(Fraction(each.multiple_of)) for each in facts if each.multiple_of]
    steps += [Fraction(1) for each in facts if asks_for_integers(each)]
    if not steps:
        return None
    step = steps[0]
    for other in steps[1:]:
        step = Fraction(lcm(step.numerator, other.numerator), gcd(step.denominator, other.denominator))
    return step


def _factors(least: int | None, most: int | None, *, is_all: bool) -> Iterable[int]:
    if is_all and least is not None and most is not None:
        return sorted(range(least, most + 1), key=abs)
    starts = [0, *(one for one in (least, most) if one is not None)]
    if least is not None and most is not None:
        starts.append((least + most) // 2)
    return [start + more for start in starts for more in _STEPS]


def _between(between: NumberRange) -> Iterator[Fraction]:
    low, high = between.low, between.high
    yield from (Fraction(number) for number in _USUAL)
    yield from (limit for limit in (low, high) if limit is not None)
    if low is not None and high is not None:
        yield from (low + (high - low) * share for share in _SHARES)
    elif low is not None:
        yield from (low + more for more in (*_SHARES, 1, 2))
    elif high is not None:
        yield from (high - less for less in (*_SHARES, 1, 2))


def spelled(number: Fraction, *, with_fraction: bool) -> Iterator[Json]:
    """Yield a number as a JSON value, unless it has no finite decimal form.

    With ``with_fraction``, a whole number has the fraction ``.0``.
    """
    if number.denominator == 1:
        yield Decimal(f"{number.numerator}.0") if with_fraction else number.numerator
        return
    digits = number.denominator
    places = 0
    while digits % 10 == 0 or digits % 2 == 0 or digits % 5 == 0:
        digits = digits // 10 if digits % 10 == 0 else digits // 2 if digits % 2 == 0 else digits // 5
        places += 1
    if digits == 1:
        scaled = number * 10**places
        text = f"{'-' if scaled < 0 else ''}{abs(int(scaled)):0{places + 1}d}"
        yield Decimal(f"{text[:-places]}.{text[-places:]}")


# Strings that fit the constraints of a state: the proof that none exists, and candidates.

MAX_LENGTH: Final = 10_000
"""The largest length of a generated string, in characters."""

MAX_FURTHER: Final = 30
"""The default number of numbered strings after the other candidates."""

_MATCHING_EVERYTHING: Final = frozenset({"", "^", "$", ".*", "^.*", ".*$"})
_WORDS: Final = (
    *("", "a", "b", "zz", "A", "0", "1", "x", "ab", "abc", "x-", "x-1", "S_", "-", "!", "~", "é", " "),
    *("true", "null", "1.5", "a@b.example", "2024-01-01", "2024-01-01T00:00:00Z"),
    "00000000-0000-4000-8000-000000000000",
)


def text_values(
    solver: Answering, state: ValueState, near: Sequence[KeywordFacts] = (), *, further: int = MAX_FURTHER
) -> Iterator[Json] | None:
    """Return candidates for strings that fit ``state``; None if it is proved that none exists.

    Strings near the limits of ``near`` come first; ``further`` numbered ones are last.
    """
    patterns = [*dict.fromkeys(each.pattern for each in state.facts if each.pattern is not None)]
    solver.evaluator.count_patterns([*patterns, *_refused_patterns(state)])
    solver.evaluator.count_patterns(each.pattern for each in near if each.pattern is not None)
    least = max((each.min_length for each in state.facts if each.min_length is not None), default=0)
    most = min((each.max_length for each in state.facts if each.max_length is not None), default=None)
    if most is not None and (least > most or most < 0):
        return None
    if any(pattern in patterns or pattern in _MATCHING_EVERYTHING for pattern in _refused_patterns(state)):
        return None
    if most is not None and most < 1 and _is_refused("", patterns, state):
        return None
    limits = ceil(least), None if most is None else int(most)
    return _texts(solver, state, limits, _candidates(patterns, _refused_patterns(state), limits, near, further))


def _refused_patterns(state: ValueState) -> list[str]:
    return [each.pattern for each in state.demands(NoMatch)]


def _is_refused(text: str, patterns: list[str], state: ValueState) -> bool:
    return (
        text in state.excluded
        or any(holds_match(pattern, text) is False for pattern in patterns)
        or any(holds_match(pattern, text) for pattern in _refused_patterns(state))
    )


def _texts(
    solver: Answering, state: ValueState, limits: tuple[int, int | None], candidates: Iterable[str]
) -> Iterator[str]:
    least, most = limits
    if least > MAX_LENGTH:
        return
    patterns = [*dict.fromkeys(each.pattern for each in state.facts if each.pattern is not None)]
    seen: set[str] = set()
    for text in candidates:
        if text not in seen:
            seen.add(text)
            solver.evaluator.spend()
            if len(text) >= least and (most is None or len(text) <= most) and not _is_refused(text, patterns, state):
                yield text


def _candidates(
    patterns: list[str], refused: list[str], limits: tuple[int, int | None], near: Sequence[KeywordFacts], further: int
) -> Iterator[str]:
    least, most = limits
    lengths = _lengths(least, most, near)
    watched = [*dict.fromkeys(each.pattern for each in near if each.pattern is not None)]
    formed = [*_matching(patterns, lengths)]
    if not patterns:
        formed += [character * length for length in lengths for character in ("a", "0") if near]
    yield from (text for text in formed if any(holds_match(pattern, text) is False for pattern in watched))
    yield from formed
    if near:
        yield from (word for word in _WORDS if not patterns)
        yield from _matching(watched, lengths)
        for value in (value for each in near for value in each.values or () if isinstance(value, str)):
            yield from (value, value + "a")
    starts = [text for pattern in patterns for text in matching_strings(pattern)]
    for word in (*_WORDS, *starts[:8], *(text for pattern in refused for text in matching_strings(pattern)[:4])):
        yield word
        yield word[:most].ljust(least, word[-1:] or "a")
        yield word.rjust(least, word[:1] or "b")
    for left in starts[:6]:
        yield from (left + right for right in starts[:6])
        yield from (left + word for word in _WORDS)
        yield from (word + left for word in _WORDS)
    yield from (str(index).rjust(least, "s") for index in range(further))


def _matching(patterns: list[str], lengths: list[int]) -> Iterator[str]:
    """Yield strings that match each of ``patterns``, then strings of given lengths that match."""
    yield from (text for pattern in patterns for text in matching_strings(pattern))
    for pattern in patterns:
        yield from (text for length in lengths if (text := stretched(pattern, length)) is not None)


def _lengths(least: int, most: int | None, near: Sequence[KeywordFacts]) -> list[int]:
    """Return the lengths just outside the limits of ``near``, and those at the limits."""
    beyond = [int(each.min_length) - 1 for each in near if each.min_length is not None]
    beyond += [int(each.max_length) + 1 for each in near if each.max_length is not None]
    own = [least, *([] if most is None else [most]), least + 1]
    around = [length + step for length in (*beyond, *own) for step in (-1, 1)] if near else []
    wished = dict.fromkeys((*beyond, *own, *([1, 0, 2, *around] if near else [])))
    end = MAX_LENGTH if most is None else min(most, MAX_LENGTH)
    return [length for length in wished if least <= length <= end]
