"""Strings within limits: proofs that there are none, and some that there may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.matching import matching_strings, stretched
from counterfoil.schema.formats.jsonschema.read.patterns import holds_match
from counterfoil.schema.formats.jsonschema.sound.literals import NoMatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.jsonschema.sound.solver import Solver
    from counterfoil.schema.formats.jsonschema.sound.state import State

MAX_LENGTH: Final = 10_000
"""Characters of a string that is made in order to cross a limit."""

_MATCHING_EVERYTHING: Final = frozenset({"", "^", "$", ".*", "^.*", ".*$"})
_WORDS: Final = ("", "a", "b", "zz", "A", "0", "1", "x", "ab", "abc", "x-", "S_", "a@b.c", "2020-01-01", "~", "é", " ")


def text_values(solver: Solver, state: State) -> Iterator[Any] | None:
    """Strings that are as ``state`` asks, or nearly; None where there is none."""
    patterns = [*dict.fromkeys(each.pattern for each in state.facts if each.pattern is not None)]
    least = max((each.min_length for each in state.facts if each.min_length is not None), default=0)
    most = min((each.max_length for each in state.facts if each.max_length is not None), default=None)
    if most is not None and (least > most or most < 0):
        return None
    if any(pattern in patterns or pattern in _MATCHING_EVERYTHING for pattern in _refused_patterns(state)):
        return None
    if most is not None and most < 1 and _is_refused("", patterns, state):
        return None
    return _texts(solver, patterns, state, int(least) + (least > int(least)), None if most is None else int(most))


def _refused_patterns(state: State) -> list[str]:
    return [each.pattern for each in state.demands(NoMatch)]


def _is_refused(text: str, patterns: list[str], state: State) -> bool:
    return (
        text in state.excluded
        or any(holds_match(pattern, text) is False for pattern in patterns)
        or any(holds_match(pattern, text) for pattern in _refused_patterns(state))
    )


def _texts(solver: Solver, patterns: list[str], state: State, least: int, most: int | None) -> Iterator[str]:
    if least > MAX_LENGTH:
        return
    for text in dict.fromkeys(_candidates(patterns, _refused_patterns(state), least, most)):
        solver.evaluator.spend()
        if len(text) >= least and (most is None or len(text) <= most) and not _is_refused(text, patterns, state):
            yield text


def _candidates(patterns: list[str], refused: list[str], least: int, most: int | None) -> Iterator[str]:
    lengths = [least, *([] if most is None else [most]), least + 1]
    starts = [text for pattern in patterns for text in matching_strings(pattern)]
    yield from starts
    yield from (
        text
        for pattern in patterns
        for length in lengths
        if length <= MAX_LENGTH and (text := stretched(pattern, length)) is not None
    )
    for word in (*_WORDS, *starts[:8], *(text for pattern in refused for text in matching_strings(pattern)[:4])):
        yield word
        yield word[: lengths[1] if most is not None else None].ljust(least, word[-1:] or "a")
        yield word.rjust(least, word[:1] or "b")
    for left in starts[:6]:
        yield from (left + right for right in starts[:6])
        yield from (left + word for word in _WORDS)
        yield from (word + left for word in _WORDS)
    yield from (str(index).rjust(least, "s") for index in range(30))
