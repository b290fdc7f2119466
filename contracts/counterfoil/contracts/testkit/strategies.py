"""Hypothesis strategies for the values of contracts and schemas, which shrink to short ones.

The values are those that a deserializer returns: each drawn one is written as a message and read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from counterfoil.contracts.errors import NoExample
from counterfoil.contracts.generate import MAX_LENGTH, SINGLE_BITS, SeededChoices
from counterfoil.contracts.generate.examples import Examples
from counterfoil.contracts.testing.record import RecordParts
from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.datum import Datum
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.patterns.matching import holds_match, is_too_large
from counterfoil.schema.patterns.samples import matching_strings
from counterfoil.schema.texts import excerpt

if TYPE_CHECKING:
    from counterfoil.contracts.generate.library import FoundContract


T = TypeVar("T")

_CHARACTERS: Final = st.characters(exclude_categories=["Cs"])
_LONGEST_CACHED: Final = 1_000
"""The length of the longest pattern whose strategy is cached."""
_PREPARED: Final = 3
"""How many values are made before Hypothesis draws one."""
_MAX_TRIES: Final = 10
"""How often values are drawn until one keeps the rules of its contract."""


class DrawnChoices:
    """Choices that Hypothesis makes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def flag(self) -> bool:
        """Return a truth value."""
        return self._draw(st.booleans())

    def integer(self, low: int, high: int) -> int:
        """Return a whole number between two limits."""
        return self._draw(st.integers(low, high))

    def real(self, low: float | None, high: float | None, *, bits: int) -> float:
        """Return a number between two limits."""
        return self._draw(st.floats(low, high, width=32 if bits == SINGLE_BITS else 64))

    def text(self, *, least: int = 0, most: int | None = None) -> str:
        """Return a text of any characters but surrogates."""
        longest = max(least, MAX_LENGTH if most is None else min(most, least + MAX_LENGTH))
        return self._draw(st.text(_CHARACTERS, min_size=least, max_size=longest))

    def data(self, *, least: int = 0, most: int | None = None) -> bytes:
        """Return bytes."""
        longest = max(least, MAX_LENGTH if most is None else min(most, least + MAX_LENGTH))
        return self._draw(st.binary(min_size=least, max_size=longest))

    def matching(self, pattern: str) -> str:
        """Return a text in which a regular expression is found."""
        return self._draw(_matching(pattern))

    def one_of(self, options: Sequence[T]) -> T:
        """Return one of several options."""
        return options[self._draw(st.integers(0, len(options) - 1))] if len(options) > 1 else options[0]


@cached_if_short(256, longest=_LONGEST_CACHED)
def _matching(pattern: str) -> st.SearchStrategy[str]:
    known = matching_strings(pattern)
    if is_too_large(pattern):
        raise NoExample(f"the pattern {excerpt(pattern)} is too large to be tried")
    try:
        any_text = st.from_regex(re.compile(pattern, re.ASCII), alphabet=_CHARACTERS)
        any_text.validate()
    except (re.error, ValueError, HypothesisException):
        if not known:
            raise NoExample(f"no text is known that matches {pattern}") from None
        return st.sampled_from(known)
    # Dialects differ about a line end before the end of a text.
    drawn = any_text.filter(lambda text: not text.endswith("\n") and bool(holds_match(pattern, text)))
    return st.one_of(st.sampled_from(known), drawn) if known else drawn


def schema_values(text: str, language: SchemaType, message: str | None) -> st.SearchStrategy[Datum]:
    """Return a strategy for the values of a schema; raise ``InvalidSchema``."""
    return values_of(Examples(Schema(text, language), message=message))


def values_of(
    examples: Examples, is_kept: Callable[[Datum], bool] | None = None, seen: Callable[[Datum], Datum] | None = None
) -> st.SearchStrategy[Datum]:
    """Return a strategy for the values of examples that keep rules; ``seen`` gets each of them, and may replace it.

    Everything that the first value needs is compiled here, since Hypothesis limits the time in which values are drawn.
    """
    _prepare(examples, is_kept)

    @st.composite
    def values(draw: st.DrawFn) -> Datum:
        choices = DrawnChoices(draw)
        for _ in range(_MAX_TRIES):
            value = examples.decode(examples.encode(examples.value(examples.make(choices))))
            if is_kept is None or is_kept(value):
                return value if seen is None else seen(value)
        return reject()

    return values()


def _prepare(examples: Examples, is_kept: Callable[[Datum], bool] | None) -> None:
    """Make some values of examples, write and read them, and evaluate their rules, so that all of it is compiled."""
    st.text(_CHARACTERS).validate()
    for seed in range(_PREPARED):
        try:
            value = examples.decode(examples.encode(examples.value(examples.make(SeededChoices(seed)))))
        except NoExample:
            return  # drawing says so
        if is_kept is not None:
            is_kept(value)


def values_of_contract(found: FoundContract, seen: Callable[[Datum], Datum] | None = None) -> st.SearchStrategy[Datum]:
    """Return a strategy for the values of a contract, which keep all that it promises of one record's value.

    Raises ``NoExample`` if no value is found that keeps its rules.
    """

    def is_kept(value: object) -> bool:
        parts = RecordParts(value, headers=None, has_key=False)
        return not any(not each.is_warning for each in found.check.violations(parts))

    _load(found)
    return values_of(found.examples, is_kept, seen)


def _load(found: FoundContract) -> None:
    """Load what values of a contract need besides, as :func:`values_of` does."""
    found.records().make(SeededChoices(0))
    for each in found.promise.fields:
        if each.pattern is not None:
            _matching(each.pattern).validate()
