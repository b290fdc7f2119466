"""Inclusion of numbers and strings."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema import sound_rules as rules
from counterfoil.schema.formats.jsonschema.scalars import is_multiple
from counterfoil.schema.formats.jsonschema.sound.examples import numbers_near, texts_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.formats.jsonschema.model import Number
    from counterfoil.schema.formats.jsonschema.sound.facts import Facts, Limit, Schema
    from counterfoil.schema.formats.jsonschema.sound.inclusion import Inclusion, Reason
    from counterfoil.schema.formats.jsonschema.sound.writers import Writer

_MAX_LENGTH: Final = 10_000
"""Characters of a string that is made in order to cross a limit."""


def number_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    """Why numbers that the writer writes may be refused."""
    facts = reader.facts
    only_integers = facts.types is not None and "number" not in facts.types
    if only_integers and not _are_integers(writer, facts):
        fractions = (Decimal("0.5"), Decimal("1.5"), Decimal("1.0"), *_near_limits(writer, facts))
        candidates = chain(fractions, inclusion.examples.of(writer))
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, candidates, steps=("type",))
    low, high = lower_limit(writer), upper_limit(writer)
    below = facts.minimum is not None and (low is None or low < _as_lower(facts.minimum))
    above = facts.maximum is not None and (high is None or high > _as_upper(facts.maximum))
    if below or above:
        candidates = chain(_near_limits(writer, facts), inclusion.examples.of(writer))
        step = "minimum" if below else "maximum"
        yield inclusion.reason(rules.NUMBER_LIMIT_NARROWED, writer, reader, candidates, steps=(step,))
    if facts.multiple_of is not None and not _are_multiples(writer, facts.multiple_of):
        candidates = chain(_multiples(writer), _near_limits(writer, facts), inclusion.examples.of(writer))
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, candidates, steps=("multipleOf",))


def _are_integers(writer: Writer, reader: Facts) -> bool:
    """Whether all numbers of the writer are integers to the reader: in draft-04, ``1.0`` is none."""
    if reader.counts_fractions:
        return writer.writes_integers()
    return any(
        facts.types is not None and "number" not in facts.types and not facts.counts_fractions
        for facts in writer.facts()
    )


def _are_multiples(writer: Writer, of: Number) -> bool:
    if any(facts.multiple_of is not None and is_multiple(facts.multiple_of, of) for facts in writer.facts()):
        return True
    return writer.writes_integers() and is_multiple(1, of)


def lower_limit(writer: Writer) -> tuple[Number, bool] | None:
    """The lower limit of what a writer writes, and whether it is left out; rounded where all are integers."""
    limits = [_as_lower(facts.minimum) for facts in writer.facts() if facts.minimum is not None]
    if not limits:
        return None
    limit, is_exclusive = max(limits)
    if not writer.writes_integers():
        return limit, is_exclusive
    whole = int(Decimal(limit).to_integral_value(ROUND_CEILING))
    return (whole + 1 if is_exclusive and whole == limit else whole), False


def upper_limit(writer: Writer) -> tuple[Number, bool] | None:
    """The upper limit, likewise; the second part is False where the limit itself is left out."""
    limits = [_as_upper(facts.maximum) for facts in writer.facts() if facts.maximum is not None]
    if not limits:
        return None
    limit, is_inclusive = min(limits)
    if not writer.writes_integers():
        return limit, is_inclusive
    whole = int(Decimal(limit).to_integral_value(ROUND_FLOOR))
    return (whole - 1 if not is_inclusive and whole == limit else whole), True


def _as_lower(limit: Limit) -> tuple[Number, bool]:
    return limit


def _as_upper(limit: Limit) -> tuple[Number, bool]:
    """A limit that is less than another when it lets less pass."""
    return limit[0], not limit[1]


def _near_limits(writer: Writer, reader: Facts) -> Iterator[Number]:
    limits = [limit[0] for each in (reader, *writer.facts()) for limit in (each.minimum, each.maximum) if limit]
    for limit in limits:
        yield from numbers_near(limit)
    for left in limits:
        for right in limits:
            yield (Decimal(left) + Decimal(right)) / 2


def _multiples(writer: Writer) -> Iterator[Number]:
    for facts in writer.facts():
        if facts.multiple_of is not None:
            yield from (facts.multiple_of * factor for factor in (1, 2, 3, 5, 7, -1))
    yield from (Decimal("0.1"), Decimal("0.5"), 1, 2, 3, 5, 7)


def text_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    """Why strings that the writer writes may be refused."""
    facts = reader.facts
    least, most = writer.least("min_length") or 0, writer.most("max_length")
    if facts.min_length is not None and facts.min_length > least:
        texts = _texts(writer, int(least))
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, texts, steps=("minLength",))
    if facts.max_length is not None and (most is None or most > facts.max_length):
        texts = _texts(writer, int(facts.max_length) + 1)
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, texts, steps=("maxLength",))
    if facts.pattern is not None and all(each.pattern != facts.pattern for each in writer.facts()):
        candidates: Iterable[Any] = chain(inclusion.examples.of(writer), _texts(writer, int(least) or 1))
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, candidates, steps=("pattern",))


def _texts(writer: Writer, size: int) -> Iterator[str]:
    """Strings of one length, and what the writer's patterns suggest."""
    if size > _MAX_LENGTH:
        return
    patterns = [facts.pattern for facts in writer.facts() if facts.pattern is not None]
    starts = [text for pattern in patterns for text in texts_for(pattern)] or ["", "b", "0", "Z"]
    for start in starts:
        yield start[:size].ljust(size, start[-1:] or "a")
        yield start[:size].ljust(size, "0")
        yield start.rjust(size, start[:1] or "a")[-size:] if size else ""
