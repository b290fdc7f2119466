"""Strings that fit the constraints of a state: the proof that none exists, and candidates."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.matching import matching_strings, stretched
from counterfoil.schema.formats.jsonschema.read.patterns import holds_match
from counterfoil.schema.formats.jsonschema.values.literals import NoMatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.schema.formats.jsonschema.values.answers import Answering
    from counterfoil.schema.formats.jsonschema.values.state import State
    from counterfoil.schema.formats.jsonschema.view.facts import Facts

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
    solver: Answering, state: State, near: Sequence[Facts] = (), *, further: int = MAX_FURTHER
) -> Iterator[Any] | None:
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


def _refused_patterns(state: State) -> list[str]:
    return [each.pattern for each in state.demands(NoMatch)]


def _is_refused(text: str, patterns: list[str], state: State) -> bool:
    return (
        text in state.excluded
        or any(holds_match(pattern, text) is False for pattern in patterns)
        or any(holds_match(pattern, text) for pattern in _refused_patterns(state))
    )


def _texts(solver: Answering, state: State, limits: tuple[int, int | None], candidates: Iterable[str]) -> Iterator[str]:
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
    patterns: list[str], refused: list[str], limits: tuple[int, int | None], near: Sequence[Facts], further: int
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


def _lengths(least: int, most: int | None, near: Sequence[Facts]) -> list[int]:
    """Return the lengths just outside the limits of ``near``, and those at the limits."""
    beyond = [int(each.min_length) - 1 for each in near if each.min_length is not None]
    beyond += [int(each.max_length) + 1 for each in near if each.max_length is not None]
    own = [least, *([] if most is None else [most]), least + 1]
    around = [length + step for length in (*beyond, *own) for step in (-1, 1)] if near else []
    wished = dict.fromkeys((*beyond, *own, *([1, 0, 2, *around] if near else [])))
    end = MAX_LENGTH if most is None else min(most, MAX_LENGTH)
    return [length for length in wished if least <= length <= end]
