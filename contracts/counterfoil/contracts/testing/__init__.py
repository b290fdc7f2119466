"""The checks of records, their rules as a table, and which values of records are never shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.lint import LintRule
from counterfoil.contracts.values.constraints import MISSING, Constraint, OneOfValues, Required
from counterfoil.schema.agreements import FieldPromise
from counterfoil.schema.compatibility.findings import Identity
from counterfoil.schema.datum import Datum
from counterfoil.schema.model import Schema
from counterfoil.schema.paths import FieldPath, StepKind
from counterfoil.schema.reports import Severity
from counterfoil.schema.tags import hidden_by_tags
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.contracts.project import ReadSchema


# The rules about records, as a table.

UNDECODABLE: Final = "record-undecodable"
UNREADABLE: Final = "record-unreadable"
UNWRITABLE: Final = "record-unwritable"
UNCHECKED: Final = "quality-unchecked"
REPEATED_KEY: Final = "record-key-repeated"

RECORD_RULES: Final = (
    LintRule(
        UNDECODABLE,
        Severity.ERROR,
        "The record cannot be decoded with the schema that it names, so that no consumer can read it.",
        "Find the producer of the record; consumers need a dead-letter topic until it is gone.",
    ),
    LintRule(
        UNREADABLE,
        Severity.ERROR,
        "The proposed schema cannot read a record that is in the topic.",
        "Keep the field, give it a default, or migrate the topic first.",
    ),
    LintRule(
        UNWRITABLE,
        Severity.ERROR,
        "A value that producers write today cannot be written with the proposed schema.",
        "Widen the type, keep the value of the enum, or change the producers first.",
    ),
    LintRule(
        REPEATED_KEY,
        Severity.WARNING,
        "A JSON object of a record has a key twice: this command reads the last value, other readers may read the "
        "first one, or refuse the record.",
        "Correct the producer: a key is written once.",
    ),
    LintRule(
        "value-missing",
        Severity.ERROR,
        "The contract promises the field in every record, and a record does not have it.",
        "Correct the producer, or remove `required`.",
    ),
    LintRule(
        "value-outside-range",
        Severity.ERROR,
        "A value is outside the range that is promised or expected.",
        "Correct the producer, or widen the range.",
    ),
    LintRule(
        "value-unlisted",
        Severity.ERROR,
        "A value is not one of those that are listed; it is a warning where the list is open.",
        "Correct the producer, or add the value to the list.",
    ),
    LintRule(
        "pattern-unmatched",
        Severity.ERROR,
        "A text, or a header, does not match the pattern that is promised or expected.",
        "Correct the producer, or change the pattern.",
    ),
    LintRule(
        "value-repeated",
        Severity.ERROR,
        "The contract promises unique values, and two records have the same one.",
        "Correct the producer, or remove `unique`.",
    ),
    LintRule(
        "header-missing",
        Severity.ERROR,
        "The contract promises the header in every record, and a record does not have it.",
        "Correct the producer, or remove `required`.",
    ),
    LintRule(
        "key-differs",
        Severity.ERROR,
        "The contract promises that the key is equal to a field, and it is not, so that order and compaction break.",
        "Correct the producer, or `messageKey`.",
    ),
    LintRule(
        "rule-failed",
        Severity.ERROR,
        "A rule of the contract in CEL does not hold for a record.",
        "Correct the producer, or the rule.",
    ),
    LintRule(
        "quality-failed",
        Severity.ERROR,
        "A quality rule with a metric does not hold for the records, or for a window of time.",
        "Find what changed in the window that is named.",
    ),
    LintRule(
        "sla-missed",
        Severity.ERROR,
        "The newest record is older than the contract promises.",
        "Find out whether the producer runs.",
    ),
    LintRule(
        UNCHECKED,
        Severity.NOTICE,
        "A quality rule could not be evaluated with the records that were read, or not by this command at all.",
        "Read more records, for example with --sample all; rules in SQL need another tool.",
    ),
)
RECORD_RULE_BY_ID: Final[Mapping[str, LintRule]] = {rule.id: rule for rule in RECORD_RULES}


# What is checked of a record: one constraint of one field, a header, the key, or a rule in CEL.
#
# All of these are values that can be sent to another process.


@dataclass(frozen=True, slots=True)
class Check:
    """The members of every check. ``text`` is the sentence for a bad record, ``file`` and ``position`` are its place.

    ``element`` is the path that it is about; with ``is_hidden``, no value is ever shown.
    """

    rule: str
    text: str
    file: str
    element: str = ""
    severity: Severity = Severity.ERROR
    position: Position | None = None
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class ValueCheck(Check):
    """A constraint of the field at ``path``."""

    path: FieldPath = ()
    constraint: Constraint = field(default_factory=Required)


@dataclass(frozen=True, slots=True)
class HeaderCheck(Check):
    """A constraint of the header ``name``."""

    name: str = ""
    constraint: Constraint = field(default_factory=Required)


@dataclass(frozen=True, slots=True)
class KeyCheck(Check):
    """The record's key must be equal to the field at ``path``."""

    path: FieldPath = ()


@dataclass(frozen=True, slots=True)
class CelCheck(Check):
    """A condition in CEL."""

    source: str = ""


_UNSAID: Final = frozenset({"text", "file", "position", "severity", "is_hidden"})
"""The members that do not identify a check: sentences, and where it is declared."""


def facts_of(check: Check) -> Identity:
    """Return the members that identify a check: its demand, and the place of the values; never its sentence."""
    return _facts(check)


def _facts(value: object) -> Identity:
    if is_dataclass(value):
        found = ((each.name, _facts(getattr(value, each.name))) for each in fields(value) if each.name not in _UNSAID)
        # In fingerprints that approvals have, the class OneOfValues is called OneOf.
        word = "OneOf" if isinstance(value, OneOfValues) else type(value).__name__
        return [word, *found]
    if isinstance(value, tuple | list):
        return [_facts(each) for each in value]
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    return str(value)


# Rules about many records at once: how many there are, how many are duplicates, how old the newest is.
#
# Source: Open Data Contract Standard 3.1.0, the metrics of ``quality`` of the type ``library``; ours is the argument
# ``window``, a duration in ISO 8601, for each of whose windows of time the rule holds.


class Metric(StrEnum):
    """The metrics that the standard defines."""

    NULL = "nullValues"
    MISSING = "missingValues"
    INVALID = "invalidValues"
    DUPLICATE = "duplicateValues"
    ROWS = "rowCount"


@dataclass(frozen=True, slots=True)
class QualityCheck(Check):
    """A rule with a metric. ``paths`` are the fields that it counts, or that must differ together.

    ``window_ms`` is 0 for a rule about all records. ``constraint`` is what a value that is not counted fits.
    """

    metric: Metric = Metric.ROWS
    paths: tuple[FieldPath, ...] = ()
    window_ms: int = 0
    limits: tuple[tuple[str, Datum], ...] = ()
    is_percent: bool = False
    constraint: Constraint | NotListed | None = None

    def measure(self, count: int, records: int) -> float:
        """Return a count in the unit of the limits."""
        if not self.is_percent:
            return count
        return 100 * count / records if records else 0.0

    def is_kept(self, measured: float) -> bool:
        """Return whether the measured number is within the limits."""
        return all(_HOLDS[name](measured, limit) for name, limit in self.limits)

    @property
    def words(self) -> str:
        """The limits in words."""
        return " and ".join(f"{_WORDS[name]} {_shown(limit)}" for name, limit in self.limits)


@dataclass(frozen=True, slots=True)
class FreshnessCheck(Check):
    """The newest record must not be older than this; its time is at ``path``, without one that of the broker."""

    path: FieldPath = ()
    age_ms: int = 0


@dataclass(frozen=True, slots=True)
class NotListed:
    """What ``missingValues`` does not count: values that are not among those that stand for a missing one."""

    values: tuple[Datum, ...]

    def fits(self, value: object) -> bool:
        """Return whether the value stands for itself."""
        return (None if value is MISSING else value) not in self.values


def _between(measured: float, limit: Datum) -> bool:
    low, high = limit
    return bool(low <= measured <= high)


_HOLDS: Final[Mapping[str, Datum]] = {
    "mustBe": lambda measured, limit: measured == limit,
    "mustNotBe": lambda measured, limit: measured != limit,
    "mustBeGreaterThan": lambda measured, limit: measured > limit,
    "mustBeGreaterOrEqualTo": lambda measured, limit: measured >= limit,
    "mustBeLessThan": lambda measured, limit: measured < limit,
    "mustBeLessOrEqualTo": lambda measured, limit: measured <= limit,
    "mustBeBetween": _between,
    "mustNotBeBetween": lambda measured, limit: not _between(measured, limit),
}
_WORDS: Final = {
    "mustBe": "exactly",
    "mustNotBe": "not",
    "mustBeGreaterThan": "more than",
    "mustBeGreaterOrEqualTo": "at least",
    "mustBeLessThan": "less than",
    "mustBeLessOrEqualTo": "at most",
    "mustBeBetween": "between",
    "mustNotBeBetween": "not between",
}
LIMITS: Final = frozenset(_HOLDS)
"""The keys of limits that are understood."""


def _shown(limit: object) -> str:
    return " and ".join(map(str, limit)) if isinstance(limit, list | tuple) else str(limit)


# Which values are never shown: those of fields that a contract or a schema declares to be personal or classified.

_PERSONAL: Final = "pii"
_PUBLIC: Final = "public"
EVERYTHING: Final = "*"
"""Stands, in a set of hidden names, for every field."""


def hidden_paths(fields: Iterable[FieldPromise]) -> tuple[FieldPath, ...]:
    """Return the paths of fields that are personal, or classified as anything but public."""
    return tuple(
        each.path for each in fields if each.is_personal or (each.classification or _PUBLIC).casefold() != _PUBLIC
    )


def is_hidden(path: FieldPath, hidden: Iterable[FieldPath]) -> bool:
    """Return whether a path is hidden, or leads to, or through, one that is."""
    return any(path[: len(each)] == each or each[: len(path)] == path for each in hidden)


def hidden_names(schema: Schema, read: ReadSchema) -> frozenset[str]:
    """Return the names of fields that a schema, one of its references or its metadata tags as personal.

    A tag on a whole record, or at a place without a field around it, hides everything.
    """
    if read.schema is None:
        return frozenset()
    by_path = schema.metadata.tags if schema.metadata is not None else {}
    hidden = hidden_by_tags(read.schema, read.references, _is_personal, by_path=by_path)
    names = hidden.names | {path.rpartition(".")[2] for path in hidden.paths}
    return names | {EVERYTHING} if hidden.is_all or hidden.has_types else names


def names_in(path: FieldPath) -> frozenset[str]:
    """Return the names of the fields that a path leads through."""
    return frozenset(step.name for step in path if step.kind is StepKind.MEMBER)


def _is_personal(tag: object) -> bool:
    folded = str(tag).casefold()
    return folded == _PERSONAL or folded.startswith(f"{_PERSONAL}.")
