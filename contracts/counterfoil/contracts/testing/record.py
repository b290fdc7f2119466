"""The check of one record against the promise of its topic: fields, rules in CEL, key and headers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from counterfoil.contracts.testing.promises import severity_of
from counterfoil.contracts.values.constraints import (
    MISSING,
    VARIABLES,
    Constraint,
    Matching,
    OneOfValues,
    Within,
    compile_rule,
    constraints_of,
    is_key_of,
    placed_values,
    values_at,
)
from counterfoil.schema.agreements import EnumPolicy, FieldPromise, Promise, QualityRule
from counterfoil.schema.datum import Datum
from counterfoil.schema.paths import parse_path, print_path
from counterfoil.schema.reports import Severity
from counterfoil.sdk.errors import RuleError, RuleTypeMissing

# What a contract promises of single fields, checked in the value of a record: where it is not kept, and by what.

_MAX_SHOWN: Final = 80


class PromiseViolation(NamedTuple):
    """A promise that is not kept: the place in the record, the rule, the value, and a sentence about it.

    ``is_warning``: the contract gives the rule the severity of a warning, or the list of values is open.
    """

    place: str
    rule: str
    value: Datum
    problem: str
    is_warning: bool = False

    def __str__(self) -> str:
        return f"{self.place or 'the record'}: {self.rule}: {self.problem}"


class FieldCheck:
    """The promises about one field."""

    def __init__(self, promise: FieldPromise) -> None:
        self._promise = promise
        self._constraints = tuple(constraints_of(promise))

    def violations(self, value: object) -> Iterator[PromiseViolation]:
        """Yield where the value of a record does not keep the promise, with the places of the values."""
        for place, found in placed_values(value, self._promise.path):
            for constraint in self._constraints:
                if not constraint.fits(found):
                    is_open = isinstance(constraint, OneOfValues) and self._promise.enum_policy is EnumPolicy.OPEN
                    shown = None if found is MISSING else found
                    yield PromiseViolation(place, constraint.rule, shown, self._problem(found, constraint), is_open)

    def _problem(self, found: object, constraint: Constraint) -> str:
        unit = f" {self._promise.unit}" if self._promise.unit else ""
        promised = f"{constraint.words}{unit if isinstance(constraint, Within) else ''} is promised"
        if found is MISSING:
            return f"it is not there, and {promised}"
        return f"{shown_value(found)}{unit if isinstance(found, int | float) else ''} is the value, and {promised}"


def shown_value(found: object) -> str:
    """Return a value as it is shown, without the end of a long one."""
    text = "null" if found is None else repr(found)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


# One record, checked as a whole: fields, rules in CEL, key and headers.

_CEL: Final = "cel"


@dataclass(frozen=True, slots=True)
class RecordParts:
    """The parts of a record as deserializers return them.

    Without ``has_key`` the key is not known, and ``headers`` is None if they are not known; then what is promised of
    them, and rules that read them, are not checked.
    """

    value: Datum
    key: Datum = None
    headers: Mapping[str, str] | None = field(default_factory=dict)
    has_key: bool = True


class RecordCheck:
    """The promises of a topic about each of its records; rules in CEL are compiled once.

    Rules about many records, such as their number in a time, are none of it.
    """

    def __init__(self, promise: Promise) -> None:
        self._promise = promise
        self._fields = [FieldCheck(each) for each in promise.fields]
        self._rules = [_CelRule(each) for each in promise.quality if each.engine == _CEL and each.implementation]

    def violations(self, record: RecordParts) -> list[PromiseViolation]:
        """Return every promise that the record does not keep.

        Raises ``RuleTypeMissing`` if a rule is in CEL and no engine is installed.
        """
        found = [one for each in self._fields for one in each.violations(record.value)]
        found += [one for rule in self._rules for one in rule.violations(record)]
        if record.has_key:
            found += self._of_key(record)
        if record.headers is not None:
            found += self._of_headers(record.headers)
        return found

    def _of_key(self, record: RecordParts) -> Iterator[PromiseViolation]:
        promised = self._promise.key
        if promised is None or promised.field is None:
            return
        path = parse_path(promised.field)
        value = next(values_at(record.value, path), MISSING)
        if not is_key_of(record.key, path, value):
            shown = "null" if value is MISSING else shown_value(value)
            problem = f"{shown_value(record.key)} is the key, and the value of {promised.field} is promised, {shown}"
            yield PromiseViolation("$key", "key-differs", record.key, problem)

    def _of_headers(self, headers: Mapping[str, str]) -> Iterator[PromiseViolation]:
        for each in self._promise.headers:
            place, value = f"$header.{each.name}", headers.get(each.name)
            if value is None:
                if each.is_required:
                    yield PromiseViolation(place, "header-missing", None, "the record has no such header")
            elif each.pattern is not None and not (matching := Matching(each.pattern)).fits(value):
                yield PromiseViolation(place, matching.rule, value, f"{value!r} does not match {each.pattern}")


class _CelRule:
    def __init__(self, rule: QualityRule) -> None:
        self._rule = rule
        self._evaluate: Callable[[Mapping[str, Datum]], Datum] | None = None

    def violations(self, record: RecordParts) -> Iterator[PromiseViolation]:
        from counterfoil.sdk.serde.rules.cel.executors import compile_check_of

        rule = self._rule
        variables = compile_rule(rule.implementation or "").variables
        if ("key" in variables and not record.has_key) or ("headers" in variables and record.headers is None):
            return
        place, name = print_path(rule.path), rule.id or "rule-failed"
        source = rule.implementation or ""
        is_warning = severity_of(rule) is not Severity.ERROR
        try:
            if self._evaluate is None:
                self._evaluate = compile_check_of(source, VARIABLES)
            values = (record.value, record.key, dict(record.headers or {}))
            result = self._evaluate(dict(zip(VARIABLES, values, strict=True)))
        except RuleTypeMissing:
            raise
        except RuleError as error:
            yield PromiseViolation(place, name, None, error.problem, is_warning)
            return
        if result is not True:
            at = f"; {read}" if (read := self._shown_reads(record)) else ""
            yield PromiseViolation(place, name, result, f"{source} is {str(result).lower()}{at}", is_warning)

    def _shown_reads(self, record: RecordParts) -> str:
        """Return the fields of the message that the rule reads, with their values."""
        reads = compile_rule(self._rule.implementation or "").reads
        paths = [parse_path(".".join(path)) for path in reads]
        return ", ".join(
            f"{place} is {value!r}" for path in paths for place, value in placed_values(record.value, path)
        )
