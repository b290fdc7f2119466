"""Whether what a consumer expects of values is covered by what a contract promises of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.agreements.model import FieldPromise, Range, Read
    from counterfoil.schema.reads.facts import FieldFacts

_BROKEN, _UNBACKED, _UNIT = "expectation-broken", "expectation-unbacked", "unit-changed"


class Uncovered(NamedTuple):
    """One expectation that is not promised: the rule, the sentence, and the facts of what is expected and promised."""

    rule: str
    text: str
    expected: str
    promised: str


def uncovered(read: Read, promise: FieldPromise | None, facts: FieldFacts) -> Iterator[Uncovered]:
    """Yield each expectation that is not promised, or that a promise contradicts."""
    promised = promise.range if promise is not None else None
    if read.range.is_limited:
        yield from _range(read.range, promised)
    if read.pattern is not None and (promise is None or promise.pattern != read.pattern):
        pattern = promise.pattern if promise is not None else None
        promised_instead = "none is promised" if pattern is None else f"another one is promised: {pattern}"
        text = f"the pattern {read.pattern} is expected, and {promised_instead}"
        yield Uncovered(_UNBACKED, text, f"pattern {read.pattern}", _said("pattern", pattern))
    if read.unit is not None:
        unit = promise.unit if promise is not None else None
        if unit is None:
            text = f"the unit {read.unit} is expected, and none is promised"
            yield Uncovered(_UNBACKED, text, f"unit {read.unit}", _said("unit", None))
        elif unit != read.unit:
            text = f"the unit {read.unit} is expected, and {unit} is promised"
            yield Uncovered(_UNIT, text, f"unit {read.unit}", _said("unit", unit))
    if read.enum is not None and facts.symbols is None:
        yield from _enum(read, promise)


def _said(aspect: str, promised: object | None) -> str:
    """Return the fact of what is promised of one aspect of a field."""
    return f"no {aspect}" if promised is None else f"{aspect} {promised}"


def _range(expected: Range, promised: Range | None) -> Iterator[Uncovered]:
    if promised is None or not promised.is_limited:
        text = f"values {expected} are expected, and no limits are promised"
        yield Uncovered(_UNBACKED, text, str(expected), _said("limits", None))
        return
    for name, limit, given in (
        ("at least", expected.minimum, promised.minimum),
        ("at most", expected.maximum, promised.maximum),
    ):
        if limit is None:
            continue
        if given is None:
            text = f"values of {name} {limit} are expected, and no such limit is promised"
            yield Uncovered(_UNBACKED, text, f"{name} {limit}", _said(name, None))
        elif not _is_within(given, limit, is_lower=name == "at least"):
            text = f"values of {name} {limit} are expected, and {promised} is promised"
            yield Uncovered(_BROKEN, text, f"{name} {limit}", _said(name, given))


def _is_within(given: float | str, limit: float | str, *, is_lower: bool) -> bool:
    if isinstance(given, str) is not isinstance(limit, str):
        return False
    return given >= limit if is_lower else given <= limit  # type: ignore[operator] # both are texts, or both are numbers


def _enum(read: Read, promise: FieldPromise | None) -> Iterator[Uncovered]:
    listed = ", ".join(map(str, read.enum or ()))
    if promise is None or promise.enum is None:
        text = f"one of {listed} is expected, and no values are promised"
        yield Uncovered(_UNBACKED, text, listed, _said("values", None))
        return
    for each in promise.enum:
        if each.value not in (read.enum or ()):
            text = f"one of {listed} is expected, and it may be {each.value}"
            yield Uncovered(_BROKEN, text, listed, str(each.value))
