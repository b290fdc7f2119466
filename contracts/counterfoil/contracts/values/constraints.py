"""Promises about values: constraints of fields, and rules in CEL, which are compiled without being evaluated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from counterfoil.schema.agreements import ExpectedRead, FieldPromise, ValueRange
from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.datum import Datum
from counterfoil.schema.paths import FieldPath, Step, StepKind
from counterfoil.schema.patterns.matching import holds_match

if TYPE_CHECKING:
    from counterfoil.sdk.serde.rules.cel import CelExpression, Parts


# The compilation of quality rules in CEL, without evaluating them.

VARIABLES: Final = ("message", "key", "headers")
"""The variables of a quality rule: the record's value, its key, its headers."""


class RuleCompilation(NamedTuple):
    """The result: the mistake, or None, the paths of the fields that are read, and the variables.

    Without ``is_compiled`` no engine is installed.
    """

    problem: str | None = None
    is_compiled: bool = True
    reads: tuple[tuple[str, ...], ...] = ()
    variables: frozenset[str] = frozenset()


@cached_if_short(1024, longest=2_000)
def compile_rule(text: str) -> RuleCompilation:
    """Compile an expression, and return its mistake, and the fields of the message that it reads."""
    from counterfoil.sdk.errors import RuleError
    from counterfoil.sdk.serde.rules.cel.executors import compile_program

    expression = read_rule(text)
    try:
        compile_program(expression)
    except RuleError as mistake:
        from counterfoil.sdk.errors import RuleTypeMissing

        return RuleCompilation(str(mistake), is_compiled=not isinstance(mistake, RuleTypeMissing))
    present = [path[1:] for path in expression.presences.values() if path[0] == VARIABLES[0]]
    reads = tuple(dict.fromkeys((*_paths(expression.reads.get(VARIABLES[0], {})), *present)))
    return RuleCompilation(reads=reads, variables=variables_of(expression))


def read_rule(text: str) -> CelExpression:
    """Return the fields that an expression reads, without compiling it."""
    from counterfoil.sdk.serde.rules.cel import read_expression
    from counterfoil.sdk.serde.rules.cel.functions import FUNCTIONS

    return read_expression(text, VARIABLES, FUNCTIONS)


def variables_of(expression: CelExpression) -> frozenset[str]:
    """Return the variables that an expression reads, or of which it tests whether a field is present."""
    return frozenset((*expression.reads, *(path[0] for path in expression.presences.values())))


def _paths(parts: Parts, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths that are read; a part that is read as a whole ends its path."""
    if not parts:
        return [before] if before else []
    return [path for name, inner in parts.items() for path in _paths(inner, (*before, name))]


# What is promised or expected of single values, as constraints, and the values at a path of a record.
#
# This is the one meaning of ``required``, ranges, lists of values and patterns, for records of topics
# (``counterfoil test``), for records of tests (``assert_produces``) and for those that a converter makes.

_SEARCH_TIMEOUT_S: Final = 1.0

MISSING: Final = object()
"""Stands for a field that a record does not have."""


@dataclass(frozen=True, slots=True)
class Required:
    """The value must be there, or with ``may_be_missing`` not be null where the field is there."""

    may_be_missing: bool = False

    rule = "value-missing"
    words = "a value"

    def fits(self, value: object) -> bool:
        """Return whether the value is there."""
        return value is not None and (self.may_be_missing or value is not MISSING)


@dataclass(frozen=True, slots=True)
class Within:
    """A number, or a date or time, must be in a range."""

    range: ValueRange

    rule = "value-outside-range"

    @property
    def words(self) -> str:
        """The range in words."""
        return str(self.range)

    def fits(self, value: object) -> bool:
        """Return whether the value is in the range; a value that is not there is."""
        if value is None or value is MISSING:
            return True
        limits = self.range
        return _is_ordered(limits.minimum, value, is_open=limits.is_open_below) and _is_ordered(
            value, limits.maximum, is_open=limits.is_open_above
        )


@dataclass(frozen=True, slots=True)
class OneOfValues:
    """The value must be one of these."""

    values: frozenset[Datum]

    rule = "value-unlisted"

    @property
    def words(self) -> str:
        """The values in words."""
        return f"one of {', '.join(sorted(map(str, self.values)))}"

    def fits(self, value: object) -> bool:
        """Return whether the value is one of these; a value that is not there is."""
        if value is None or value is MISSING:
            return True
        try:
            return value in self.values
        except TypeError:  # a list or a dict
            return False


@dataclass(frozen=True, slots=True)
class Matching:
    """A text must match a regular expression of ECMA 262, anywhere in it unless the expression has anchors.

    No text matches an expression that takes too long to be tried.
    """

    pattern: str

    rule = "pattern-unmatched"

    @property
    def words(self) -> str:
        """The pattern in words."""
        return f"a text that matches {self.pattern}"

    def fits(self, value: object) -> bool:
        """Return whether the text matches; a value that is not there does.

        A text for which the search takes longer than a second does not match.
        """
        if value is None or value is MISSING:
            return True
        return isinstance(value, str) and holds_match(self.pattern, value, timeout_s=_SEARCH_TIMEOUT_S) is True


Constraint: TypeAlias = Required | Within | OneOfValues | Matching


def constraints_of(expected: FieldPromise | ExpectedRead) -> Iterator[Constraint]:
    """Yield the promises of a contract about a field, or the expectations of a consumer."""
    if expected.is_required:
        yield Required(may_be_missing=getattr(expected, "when_present", False))
    if expected.range.is_limited:
        yield Within(expected.range)
    if expected.enum is not None:
        yield OneOfValues(frozenset(getattr(each, "value", each) for each in expected.enum))
    if expected.pattern is not None:
        yield Matching(expected.pattern)


def is_key_of(key: object, path: FieldPath, value: object) -> bool:
    """Return whether a key is that of a record whose field at ``path`` has this value; a text may stand for the value.

    Of a key with fields, the one of the same name counts.
    """
    if isinstance(key, dict) and path:
        key = key.get(path[-1].name, key)
    if value is MISSING:
        value = None
    return bool(key == value) or (key is not None and value is not None and str(key) == str(value))


def values_at(record: object, path: FieldPath) -> Iterator[Datum]:
    """Yield the values at a path of a record's plain value: one for each item, ``MISSING`` for a field without value.

    Nothing is yielded where what is around the field is not there.
    """
    return _follow(record, path, 0)


def _follow(value: object, path: FieldPath, at: int) -> Iterator[Datum]:
    chosen = ""
    if isinstance(value, tuple) and _is_branch(value):
        chosen, value = value
    if at == len(path):
        yield value
        return
    step = path[at]
    if step.kind is StepKind.BRANCH and not _is_chosen(chosen, step):
        yield from [MISSING] if at + 1 == len(path) else []
    else:
        yield from _inside(value, path, at)


def _inside(value: object, path: FieldPath, at: int) -> Iterator[Datum]:
    step = path[at]
    if step.kind is StepKind.BRANCH:
        yield from _follow(value, path, at + 1)
    elif step.kind is StepKind.MEMBER and isinstance(value, dict):
        found = value.get(step.name, MISSING)
        if at + 1 == len(path) or (found is not None and found is not MISSING):
            yield from _follow(found, path, at + 1)
    elif step.kind is StepKind.ITEM and isinstance(value, list):
        items = value if not step.name else value[int(step.name) : int(step.name) + 1]
        for each in items:
            yield from _follow(each, path, at + 1)
    elif step.kind is StepKind.VALUE and isinstance(value, dict):
        for each in value.values():
            yield from _follow(each, path, at + 1)


def placed_values(value: Datum, path: FieldPath, place: str = "") -> Iterator[tuple[str, Datum]]:
    """Yield every value at a path, with its place; ``MISSING`` where a record has no such field.

    The values are those of :func:`values_at`, which is faster and knows no places.
    """
    chosen = ""
    if _is_branch(value):
        chosen, value = value
    if not path:
        yield place, value
        return
    if path[0].kind is StepKind.BRANCH and not _is_chosen(chosen, path[0]):
        yield from [(place, MISSING)] if len(path) == 1 else []
        return
    for inside, part in _parts(value, path[0], place, is_last=len(path) == 1):
        yield from placed_values(part, path[1:], inside)


def _parts(value: object, step: Step, place: str, *, is_last: bool) -> Iterator[tuple[str, Datum]]:
    """Yield the parts of a value that one step leads to, with their places."""
    match step.kind, value:
        case StepKind.MEMBER, dict():
            if is_last or step.name in value:
                yield f"{place}.{step.name}" if place else step.name, value.get(step.name, MISSING)
        case StepKind.ITEM, list():
            numbers = [int(step.name)] if step.name else range(len(value))
            yield from ((f"{place}[{number}]", value[number]) for number in numbers if number < len(value))
        case StepKind.VALUE, dict():
            yield from ((f"{place}[{key!r}]", item) for key, item in value.items())
        case StepKind.BRANCH, _:
            yield place, value


def _is_chosen(name: str, step: Step) -> bool:
    """Return whether a value of the branch ``name`` is one of the branch of a step; empty if it does not say."""
    return not name or step.name in (name, name.rpartition(".")[2])


def _is_branch(value: object) -> bool:
    """Return whether a value is a pair of the name of a union's branch and the value."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)  # noqa: PLR2004 - a pair


def _is_ordered(low: Datum, high: Datum, *, is_open: bool) -> bool:
    """Return whether ``low`` is at most ``high``; None is no limit, and values of different types have no order."""
    if low is None or high is None:
        return True
    low, high = _comparable(low, high), _comparable(high, low)
    try:
        return bool(low < high if is_open else low <= high)
    except (TypeError, ArithmeticError):
        return False


def _comparable(value: object, other: object) -> Datum:
    """Return a value in the type in which it is compared with another: texts that stand for times as times."""
    if isinstance(value, float) and isinstance(other, Decimal):
        return Decimal(repr(value)) if math.isfinite(value) else value
    if isinstance(value, str):
        return _moment(value) or value
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
