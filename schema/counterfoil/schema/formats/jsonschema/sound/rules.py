"""The rules of the policy SOUND alone: differences that the reference accepts although a value refutes them."""

from __future__ import annotations

from typing import Final

from counterfoil.schema.compatibility.rules import CompatibilityRule
from counterfoil.schema.formats.jsonschema.compare.rule_table import ours

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

RULES: Final = tuple(value for value in list(globals().values()) if isinstance(value, CompatibilityRule))
"""Every rule of this module, in the order above."""
