"""Numbers and strings that are worth trying: at the limits of what writes, and just beyond those of what reads."""

from __future__ import annotations

from contextlib import suppress
from decimal import Context, Decimal, DecimalException, localcontext
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.compare.scalars import is_multiple
from counterfoil.schema.formats.jsonschema.read.matching import MAX_LENGTH, matching_strings, stretched
from counterfoil.schema.formats.jsonschema.read.patterns import holds_match
from counterfoil.schema.formats.jsonschema.read.sites import count_of, is_reachable, plain
from counterfoil.schema.formats.jsonschema.read.values import is_integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.formats.jsonschema.read.sites import Site
    from counterfoil.schema.formats.jsonschema.samples.facts import Facts

MAX_NUMBERS: Final = 80
MAX_STRINGS: Final = 60
MAX_FURTHER: Final = 250
"""How many numbers, or strings, follow the telling ones."""

_HALF: Final = Decimal("0.5")
_LITTLE: Final = Decimal("0.001")
_USUAL_NUMBERS: Final = (0, 1, -1, 2, 3, 5, 7, 10, _HALF, Decimal("-1.5"), 100, 65_537, 2**31, 2**53 + 1, -(2**31) - 1)
_USUAL_CHARACTERS: Final = ("a", "0", "A", "!", "-", " ", "é")
_USUAL_STRINGS: Final = (
    *("", "a", "0", "A", "aa", "abc", "x-1", "true", "null", "1.5", "-", " ", "é", "2024-01-01", "a@b.example"),
    "2024-01-01T00:00:00Z",
    "00000000-0000-4000-8000-000000000000",
)
_EXACT: Final = Context(prec=1_000)
"""Enough digits for the limits of most schemas; numbers of more digits are tried as they come out."""

_BOUNDS: Final = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")


def numbers(facts: Facts, other: Iterable[Site]) -> Iterator[Any]:
    """Numbers near the limits of ``facts`` and of the schemas ``other`` that look at them; few, the telling first."""
    factors = facts.limits("multipleOf")
    telling = dict.fromkeys(_fitted(value, facts, factors) for value in islice(_raw([*other], facts), MAX_NUMBERS))
    yield from (plain(value) for values in telling for value in values)
    for value in _further(facts, factors):
        yield from (plain(fitted) for fitted in _fitted(value, facts, factors))


def _raw(other: list[Site], facts: Facts) -> list[Any]:
    """The same before they are made whole, or multiples; computed exactly, as are those that follow."""
    with localcontext(_EXACT):
        raw = [*_near_limits(other), *_near_limits(facts.parts), *_USUAL_NUMBERS]
        for limit in (limit for keyword in _BOUNDS for limit in facts.limits(keyword)):
            raw += [limit + 1, limit - 1, limit + _HALF, limit - _HALF]
        for factor in (factor for site in other if is_reachable(factor := site.keywords.get("multipleOf"))):
            raw += [factor, factor + 1, _scaled(factor, _HALF), _scaled(factor, Decimal("1.5")), factor + _HALF]
        return raw


def _further(facts: Facts, factors: list[Any]) -> list[Any]:
    """Numbers from the lower limit up, or from the upper one down, a step of the largest factor at a time."""
    low = max((limit for keyword in _BOUNDS[:2] for limit in facts.limits(keyword)), default=None)
    high = min((limit for keyword in _BOUNDS[2:] for limit in facts.limits(keyword)), default=None)
    step = max(factors, default=1)
    start, away = (high, -step) if low is None and high is not None else (low or 0, step)
    with localcontext(_EXACT), suppress(DecimalException):
        return [start + away * index for index in range(MAX_FURTHER)]
    return []


def _fitted(value: Any, facts: Facts, factors: list[Any]) -> tuple[Any, ...]:
    """The numbers next to ``value`` that are whole, or multiples, where they must be."""
    with localcontext(_EXACT):
        fitted = tuple(_multiples_near(value, factors)) if factors else (value,)
    return tuple(one if not facts.is_whole or is_integer(one) else one.to_integral_value() for one in fitted)


def _near_limits(sites: Iterable[Site]) -> Iterator[Any]:
    """Values on both sides of every limit, and beside every listed number."""
    for site in sites:
        for keyword in _BOUNDS:
            limit: Any = site.keywords.get(keyword)
            if is_reachable(limit):
                away = -1 if "inimum" in keyword else 1
                yield from (limit, limit + away, limit + away * _LITTLE, limit - away, limit - away * _LITTLE)
        for value in _listed(site):
            if is_reachable(value):
                yield from (value, value + 1)


def _multiples_near(value: Any, factors: list[Any]) -> Iterator[Any]:
    """Whole multiples of all ``factors`` at or next to a value."""
    try:
        step = Decimal(factors[0])
        for factor in factors[1:]:
            if not is_multiple(step, factor):
                step = Decimal(factor) if is_multiple(factor, step) else step * Decimal(factor)
        base = (Decimal(value) / step).to_integral_value() * step
        yield from (base, base + step, base - step)
    except DecimalException:
        return


def _scaled(value: Any, by: Decimal) -> Any:
    try:
        return Decimal(value) * by
    except DecimalException:
        return value


def strings(facts: Facts, other: Iterable[Site]) -> Iterator[str]:
    """Strings of telling lengths and forms; few, the telling first."""
    other = [*other]
    lengths = _telling_lengths(facts, other)
    wanted = facts.patterns()
    refused = [pattern for site in other if isinstance(pattern := site.keywords.get("pattern"), str)]
    yield from islice(dict.fromkeys(_strings(lengths, wanted, refused, other)), MAX_STRINGS)
    for index in range(MAX_FURTHER):
        yield str(index).rjust(lengths[0] if lengths else 0, "s")


def _strings(lengths: list[int], wanted: list[str], refused: list[str], other: list[Site]) -> Iterator[str]:
    """Those that the other side's pattern does not match come first."""
    listed = [value for site in other for value in _listed(site) if isinstance(value, str)]
    formed = [text for pattern in wanted for text in matching_strings(pattern)]
    formed += [text for pattern in wanted for length in lengths if (text := stretched(pattern, length)) is not None]
    if not wanted:
        formed = [character * length for length in lengths for character in _USUAL_CHARACTERS[:2]]
        formed += [character * max(length, 1) for character in _USUAL_CHARACTERS for length in lengths[:2]]
        formed += _USUAL_STRINGS
    yield from (text for text in formed if any(holds_match(pattern, text) is False for pattern in refused))
    yield from formed
    yield from (text for pattern in refused for text in matching_strings(pattern))
    for pattern in refused:
        yield from (text for length in lengths if (text := stretched(pattern, length)) is not None)
    yield from listed
    yield from (text + "a" for text in listed)


def _telling_lengths(facts: Facts, other: list[Site]) -> list[int]:
    beyond = [limit - 1 for site in other if is_reachable(limit := site.keywords.get("minLength"))]
    beyond += [limit + 1 for site in other if is_reachable(limit := site.keywords.get("maxLength"))]
    own = [*facts.limits("minLength"), *facts.limits("maxLength")]
    around = [length + step for length in (*beyond, *own) for step in (-1, 1)]
    least = max((count_of(limit) for limit in facts.limits("minLength")), default=0)
    most = min((count_of(limit) for limit in facts.limits("maxLength")), default=MAX_LENGTH)
    lengths = dict.fromkeys(count_of(length) for length in (*beyond, least, *own, 1, 0, 2, *around))
    return [length for length in lengths if least <= length <= min(most, max(MAX_LENGTH, least))]


def _listed(site: Site) -> Iterator[Any]:
    choices = site.keywords.get("enum")
    yield from choices if isinstance(choices, list) else ()
    if "const" in site.keywords:
        yield site.keywords["const"]
