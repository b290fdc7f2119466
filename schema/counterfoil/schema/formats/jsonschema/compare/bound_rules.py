"""The rules of limits (length, size, number); each limit has four of the same form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.compare.rule_table import breaking, harmless

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.rules import CompatibilityRule


@dataclass(frozen=True, slots=True)
class BoundRules:
    """The rules for the changes of one limit."""

    added: CompatibilityRule
    removed: CompatibilityRule
    increased: CompatibilityRule
    decreased: CompatibilityRule

    def all(self) -> tuple[CompatibilityRule, ...]:
        """Return the four rules."""
        return (self.added, self.removed, self.increased, self.decreased)


def _upper(word: str, keyword: str, what: str) -> BoundRules:
    """Return the rules of an upper limit.

    ``what`` describes the values that exceed it; "{limit}" in it is replaced by the limit.
    """
    return BoundRules(
        added=breaking(
            f"{word}_ADDED",
            f"The reader refuses {what.format(limit='{reader}')}, the writer has no {keyword}",
            why=f"Records with {what.format(limit='the limit')} were allowed and may exist; the reader refuses them.",
            fix=f"Leave {keyword} out, or set it in a new version of the data first.",
            promises_witness=True,
        ),
        removed=harmless(
            f"{word}_REMOVED",
            f"The reader has no {keyword}, the writer has {{writer}}",
            why="Without the limit the reader accepts all that it accepted before.",
        ),
        increased=harmless(
            f"{word}_INCREASED",
            f"The reader's {keyword} is {{reader}}, the writer's is {{writer}}",
            why="A higher upper limit accepts everything that the lower one accepted.",
        ),
        decreased=breaking(
            f"{word}_DECREASED",
            f"The reader refuses {what.format(limit='{reader}')}, the writer's {keyword} is {{writer}}",
            why="Records between the two limits were allowed and may exist; the reader refuses them.",
            fix=f"Keep {keyword}, or raise it.",
            promises_witness=True,
        ),
    )


def _lower(word: str, keyword: str, what: str) -> BoundRules:
    """Return the rules of a lower limit."""
    return BoundRules(
        added=breaking(
            f"{word}_ADDED",
            f"The reader refuses {what.format(limit='{reader}')}, the writer has no {keyword}",
            why=f"Records with {what.format(limit='the limit')} were allowed and may exist; the reader refuses them.",
            fix=f"Leave {keyword} out, or set it in a new version of the data first.",
        ),
        removed=harmless(
            f"{word}_REMOVED",
            f"The reader has no {keyword}, the writer has {{writer}}",
            why="Without the limit the reader accepts all that it accepted before.",
        ),
        increased=breaking(
            f"{word}_INCREASED",
            f"The reader refuses {what.format(limit='{reader}')}, the writer's {keyword} is {{writer}}",
            why="Records between the two limits were allowed and may exist; the reader refuses them.",
            fix=f"Keep {keyword}, or lower it.",
            promises_witness=True,
        ),
        decreased=harmless(
            f"{word}_DECREASED",
            f"The reader's {keyword} is {{reader}}, the writer's is {{writer}}",
            why="A lower lower limit accepts everything that the higher one accepted.",
        ),
    )


BOUNDS: Final[Mapping[str, BoundRules]] = {
    "maxLength": _upper("MAX_LENGTH", "maxLength", "strings longer than {limit}"),
    "minLength": _lower("MIN_LENGTH", "minLength", "strings shorter than {limit}"),
    "maximum": _upper("MAXIMUM", "maximum", "numbers above {limit}"),
    "minimum": _lower("MINIMUM", "minimum", "numbers below {limit}"),
    "exclusiveMaximum": _upper("EXCLUSIVE_MAXIMUM", "exclusiveMaximum", "numbers from {limit} up"),
    "exclusiveMinimum": _lower("EXCLUSIVE_MINIMUM", "exclusiveMinimum", "numbers from {limit} down"),
    "maxProperties": _upper("MAX_PROPERTIES", "maxProperties", "objects with more properties than {limit}"),
    "minProperties": _lower("MIN_PROPERTIES", "minProperties", "objects with fewer properties than {limit}"),
    "maxItems": _upper("MAX_ITEMS", "maxItems", "arrays with more items than {limit}"),
    "minItems": _lower("MIN_ITEMS", "minItems", "arrays with fewer items than {limit}"),
    "maxContains": _upper("MAX_CONTAINS", "maxContains", "arrays with more matching items than {limit}"),
    "minContains": _lower("MIN_CONTAINS", "minContains", "arrays with fewer matching items than {limit}"),
}
"""The four rules of each limit, by its keyword."""

RULES: Final = tuple(rule for rules in BOUNDS.values() for rule in rules.all())
