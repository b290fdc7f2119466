"""How rules of JSON Schema are made, and those made from a form: limits, the rest, and the policy SOUND."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import ALWAYS, NEVER, CompatibilityRule
from counterfoil.schema.model import SchemaType

# The construction of the rules of JSON Schema: Confluent's error type, with our sentence, reason and fix.

NOT_LENIENT: Final = ALWAYS - {CompatibilityPolicy.LENIENT}
"""The policies except LENIENT, which assumes that writers write only what their schema declares."""
SOUND_ONLY: Final = frozenset({CompatibilityPolicy.SOUND})
"""The policy SOUND alone: the reference accepts the difference, and a value refutes it."""


rule: Final = partial(CompatibilityRule, schema_type=SchemaType.JSON)


def breaking(
    error_type: str,
    sentence: str,
    *,
    why: str,
    fix: str,
    forward_fix: str = "",
    breaks: frozenset[CompatibilityPolicy] = ALWAYS,
    promises_witness: bool = False,
) -> CompatibilityRule:
    """Return a rule whose differences break readers; its id is the error type in lower case, with hyphens."""
    return rule(
        id=error_type.lower().replace("_", "-"),
        error_type=error_type,
        sentence=sentence,
        why=why,
        fix=fix,
        forward_fix=forward_fix,
        breaks=breaks,
        promises_witness=promises_witness,
    )


def harmless(error_type: str, sentence: str, *, why: str) -> CompatibilityRule:
    """Return a rule whose differences are reported and do not break any reader."""
    return breaking(error_type, sentence, why=why, fix="Nothing needs to be fixed.", breaks=NEVER)


def ours(
    rule_id: str,
    sentence: str,
    *,
    why: str,
    fix: str,
    breaks: frozenset[CompatibilityPolicy] = SOUND_ONLY,
    promises_witness: bool = True,
) -> CompatibilityRule:
    """Return a rule that the reference does not have; by default it breaks under SOUND and promises a witness."""
    return rule(
        id=rule_id,
        error_type="",
        sentence=sentence,
        why=why,
        fix=fix,
        breaks=breaks,
        promises_witness=promises_witness,
    )


# The rules of limits (length, size, number); each limit has four of the same form.


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

BOUND_RULES: Final = tuple(rule for rules in BOUNDS.values() for rule in rules.all())


# The rules of what objects and arrays allow beside what they declare: true, false, or a schema.


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

REST_RULES: Final = tuple(rule for rules in RESTS.values() for rule in rules.all())


# The rules of the policy SOUND alone: differences that the reference accepts although a value refutes them.

VALUE_REFUSED: Final = ours(
    "value-refused",
    "The reader refuses {value}, which the writer allows",
    why="The value fits the writer's schema and not the reader's, so a record that holds it cannot be read.",
    fix="Widen the reader's schema so that it accepts the value.",
)
UNDECLARED_PROPERTY_REQUIRED: Final = ours(
    "undeclared-property-required",
    "The reader requires property {name}, which the writer does not require",
    why="A name under required counts whether or not the property is declared; records without it are refused.",
    fix="Leave the property optional.",
)
DEFAULT_NOT_APPLIED: Final = ours(
    "required-property-default-not-applied",
    "The reader requires property {name}; its default does not stand in for it",
    why="Validators do not fill in defaults: a record without the property is refused.",
    fix="Leave the property optional, or fill it in before the record is validated.",
)
PATTERN_PROPERTIES_NARROWED: Final = ours(
    "pattern-properties-narrowed",
    "The reader refuses some values of properties whose names match {name}, which the writer allows",
    why="A schema under patternProperties holds for every property whose name it matches, declared or not.",
    fix="Leave the pattern out, or accept what the writer writes under such names.",
)
PROPERTY_NAMES_NARROWED: Final = ours(
    "property-names-narrowed",
    "The reader refuses property names that the writer allows, such as in {value}",
    why="Records with other names were valid and may exist.",
    fix="Leave propertyNames out, or widen it.",
)
CONTAINS_NARROWED: Final = ours(
    "contains-narrowed",
    "The reader wants items that the writer's arrays need not contain: {value}",
    why="Arrays without such an item were valid and may exist.",
    fix="Leave contains out, or widen it.",
)
CONDITION_NARROWED: Final = ours(
    "condition-narrowed",
    "The reader's if, then, else refuses {value}, which the writer allows",
    why="Values that meet the condition must also fit its consequence; the writer does not require that.",
    fix="Leave the condition out, or require it of the data before the schema requires it.",
)
ONE_OF_OVERLAP: Final = ours(
    "one-of-branches-overlap",
    "The reader refuses {value}, which fits more than one branch of its oneOf",
    why="Under oneOf a value must fit exactly one branch; a new branch that overlaps an old one refuses old values.",
    fix="Use anyOf, or make the branches exclude each other.",
)
NUMBER_LIMIT_NARROWED: Final = ours(
    "number-limit-narrowed",
    "The reader's limits of a number refuse {value}, which the writer's allow",
    why="Inclusive and exclusive limits, and the true and false of draft-04, together say which numbers are valid.",
    fix="Keep the limits, or widen them.",
)
FORMAT_MISREAD: Final = ours(
    "format-misread",
    "The reader takes the value for the format {reader}, the writer writes the format {writer}",
    why="Validators refuse nothing for a format; programs that use it read the same text, or number, as another thing.",
    fix="Add a property of the new format beside it.",
)
CONTENT_MISREAD: Final = ours(
    "content-misread",
    "The reader's {keyword} is {reader}, the writer's is {writer}",
    why="The string stays the same; a program that decodes it by the reader's schema gets other bytes, or another "
    "kind of "
    "document.",
    fix="Add a property of the new encoding beside it.",
)

INCLUSION_UNPROVED: Final = ours(
    "inclusion-unproved",
    "The reader is not proved to accept every value that the writer allows",
    why="The schemas branch or refer to each other too much for a proof, and no value was found that breaks them.",
    fix="Make the change in smaller steps, or write the part that changes with fewer branches.",
    promises_witness=False,
)

SOUND_RULES: Final = tuple(value for value in list(globals().values()) if isinstance(value, CompatibilityRule))
"""Every rule of this module, in the order above."""
