"""Whether what a consumer expects of values is covered by what a contract promises of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.agreements.model import FieldPromise, Range, Read
    from counterfoil.schema.reads.facts import FieldFacts

_BROKEN, _UNBACKED, _UNIT = "expectation-broken", "expectation-unbacked", "unit-changed"


def uncovered(read: Read, promise: FieldPromise | None, facts: FieldFacts) -> Iterator[tuple[str, str]]:
    """Yield a rule and a sentence for each expectation that is not promised, or that a promise contradicts."""
    promised = promise.range if promise is not None else None
    if read.range.is_limited:
        yield from _range(read.range, promised)
    if read.pattern is not None and (promise is None or promise.pattern != read.pattern):
        pattern = promise.pattern if promise is not None else None
        promised_instead = "none is promised" if pattern is None else f"another one is promised: {pattern}"
        yield _UNBACKED, f"the pattern {read.pattern} is expected, and {promised_instead}"
    if read.unit is not None:
        unit = promise.unit if promise is not None else None
        if unit is None:
            yield _UNBACKED, f"the unit {read.unit} is expected, and none is promised"
        elif unit != read.unit:
            yield _UNIT, f"the unit {read.unit} is expected, and {unit} is promised"
    if read.enum is not None and facts.symbols is None:
        yield from _enum(read, promise)


def _range(expected: Range, promised: Range | None) -> Iterator[tuple[str, str]]:
    if promised is None or not promised.is_limited:
        yield _UNBACKED, f"values {expected} are expected, and no limits are promised"
        return
    for name, limit, given in (
        ("at least", expected.minimum, promised.minimum),
        ("at most", expected.maximum, promised.maximum),
    ):
        if limit is None:
            continue
        if given is None:
            yield _UNBACKED, f"values of {name} {limit} are expected, and no such limit is promised"
        elif not _is_within(given, limit, is_lower=name == "at least"):
            yield _BROKEN, f"values of {name} {limit} are expected, and {promised} is promised"


def _is_within(given: float | str, limit: float | str, *, is_lower: bool) -> bool:
    if isinstance(given, str) is not isinstance(limit, str):
        return False
    return given >= limit if is_lower else given <= limit  # type: ignore[operator] # both are texts, or both are numbers


def _enum(read: Read, promise: FieldPromise | None) -> Iterator[tuple[str, str]]:
    listed = read.enum or ()
    if promise is None or promise.enum is None:
        yield _UNBACKED, f"one of {', '.join(map(str, listed))} is expected, and no values are promised"
        return
    others = [str(each.value) for each in promise.enum if each.value not in listed]
    if others:
        yield _BROKEN, f"one of {', '.join(map(str, listed))} is expected, and it may be {', '.join(others)}"
