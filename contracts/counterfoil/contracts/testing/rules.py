"""The rules about records, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.contracts.linting.rules import LintRule
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

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
