"""The rules of what objects and arrays allow beside what they declare: true, false, or a schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.rules import ALWAYS
from counterfoil.schema.formats.jsonschema.compare.rule_table import NOT_LENIENT, breaking, harmless

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.policies import CompatibilityPolicy
    from counterfoil.schema.compatibility.rules import CompatibilityRule


@dataclass(frozen=True, slots=True)
class RestRules:
    """The rules of one keyword for the rest."""

    added: CompatibilityRule
    removed: CompatibilityRule
    extended: CompatibilityRule
    narrowed: CompatibilityRule

    def all(self) -> tuple[CompatibilityRule, ...]:
        """Return the four rules."""
        return (self.added, self.removed, self.extended, self.narrowed)


def _rest(word: str, what: str, breaks: frozenset[CompatibilityPolicy]) -> RestRules:
    return RestRules(
        added=harmless(
            f"{word}_ADDED",
            f"The reader takes {what}, the writer writes none",
            why="What the writer never writes cannot fail in the reader.",
        ),
        removed=breaking(
            f"{word}_REMOVED",
            f"The reader refuses {what}, the writer allows them",
            why=f"Records with {what} were valid and may exist; the reader refuses them.",
            fix=f"Continue to accept {what}.",
            breaks=breaks,
            promises_witness=True,
        ),
        extended=harmless(
            f"{word}_EXTENDED",
            f"The reader takes any {what}, the writer has a schema for them",
            why="A reader that accepts anything accepts what fits the writer's schema.",
        ),
        narrowed=breaking(
            f"{word}_NARROWED",
            f"The reader has a schema for {what}, the writer takes any",
            why=f"Records with {what} of any kind were valid and may exist.",
            fix=f"Continue to accept any {what}.",
            breaks=breaks,
        ),
    )


RESTS: Final[Mapping[str, RestRules]] = {
    "additionalProperties": _rest("ADDITIONAL_PROPERTIES", "undeclared properties", NOT_LENIENT),
    "unevaluatedProperties": _rest("UNEVALUATED_PROPERTIES", "unevaluated properties", NOT_LENIENT),
    "additionalItems": _rest("ADDITIONAL_ITEMS", "further items", ALWAYS),
    "unevaluatedItems": _rest("UNEVALUATED_ITEMS", "unevaluated items", ALWAYS),
}
"""The four rules of each keyword, by its name."""

RULES: Final = tuple(rule for rules in RESTS.values() for rule in rules.all())
