"""The rules of JSON Schema compatibility, as a table with the sentence, the reason and the fix of each; every rule."""

from __future__ import annotations

from typing import Final

from counterfoil.schema.compatibility.findings import ALWAYS, CompatibilityRule
from counterfoil.schema.languages.jsonschema.compare import content_rules
from counterfoil.schema.languages.jsonschema.compare.rule_table import (
    BOUND_RULES,
    REST_RULES,
    SOUND_RULES,
    breaking,
    harmless,
    ours,
)

# The rules of JSON Schema compatibility, as a table with the sentence, the reason and the fix of each.
#
# A rule is data; the walk in :mod:`~counterfoil.schema.languages.jsonschema.compare.differences` finds the places. The
# documentation pages about rules are generated from them. The rules of content models are
# in :mod:`.content_rules`, those of limits, of the rest, and of the policy SOUND in :mod:`.rule_table`.
#
# Source: the validation vocabularies of draft-04 to 2020-12; error types as Confluent Schema Registry spells them.

ID_CHANGED: Final = harmless(
    "ID_CHANGED", "The reader's identifier is not the writer's", why="An identifier says nothing about the data."
)
TITLE_CHANGED: Final = harmless(
    "TITLE_CHANGED", "The reader's title is not the writer's", why="A title says nothing about the data."
)
DESCRIPTION_CHANGED: Final = harmless(
    "DESCRIPTION_CHANGED", "The reader's description is not the writer's", why="A description is for people."
)
DEFAULT_CHANGED: Final = harmless(
    "DEFAULT_CHANGED", "The reader's default is not the writer's", why="A default does not decide what is valid."
)
SCHEMA_ADDED: Final = breaking(
    "SCHEMA_ADDED",
    "The reader has a schema for every item, the writer has none",
    why="The writer allows any item; the reader refuses those that do not fit its schema.",
    fix="Leave the schema of the items out, or accept anything in it.",
)
SCHEMA_REMOVED: Final = harmless(
    "SCHEMA_REMOVED",
    "The reader has no schema for the items, the writer has one",
    why="A reader without a schema for the items accepts them all.",
)
TYPE_EXTENDED: Final = harmless(
    "TYPE_EXTENDED", "The reader expects any number, the writer writes integers", why="Every integer is a number."
)
TYPE_NARROWED: Final = breaking(
    "TYPE_NARROWED",
    "The reader expects integers, the writer writes any number",
    why="Records may hold numbers with a fraction; the reader refuses them.",
    fix="Keep number, or restrict the writer by multipleOf: 1 first.",
    promises_witness=True,
)
TYPE_CHANGED: Final = breaking(
    "TYPE_CHANGED",
    "The reader expects {reader}, the writer writes {writer}",
    why="Values of one kind are not valid where another kind is expected.",
    fix="Keep the kind, accept both by a list of types, or add a property of the new kind.",
)
PATTERN_ADDED: Final = breaking(
    "PATTERN_ADDED",
    "The reader refuses strings that do not match {reader}, the writer takes any",
    why="Records with other strings were valid and may exist.",
    fix="Leave the pattern out.",
    promises_witness=True,
)
PATTERN_REMOVED: Final = harmless(
    "PATTERN_REMOVED",
    "The reader has no pattern, the writer has {writer}",
    why="Without a pattern the reader accepts every string.",
)
PATTERN_CHANGED: Final = breaking(
    "PATTERN_CHANGED",
    "The reader refuses strings that do not match {reader}, the writer's pattern is {writer}",
    why="Whether one pattern matches all that another matches is not decided here; different patterns count as "
    "different.",
    fix="Keep the pattern, or drop it.",
)
MULTIPLE_OF_ADDED: Final = breaking(
    "MULTIPLE_OF_ADDED",
    "The reader refuses numbers that are no multiples of {reader}, the writer takes any",
    why="Records with other numbers were valid and may exist.",
    fix="Leave multipleOf out.",
)
MULTIPLE_OF_REMOVED: Final = harmless(
    "MULTIPLE_OF_REMOVED",
    "The reader has no multipleOf, the writer has {writer}",
    why="Without it the reader accepts every number.",
)
MULTIPLE_OF_EXPANDED: Final = breaking(
    "MULTIPLE_OF_EXPANDED",
    "The reader wants multiples of {reader}, the writer writes multiples of {writer}",
    why="Not every multiple of the smaller number is one of the larger.",
    fix="Keep multipleOf, or divide it.",
)
MULTIPLE_OF_REDUCED: Final = harmless(
    "MULTIPLE_OF_REDUCED",
    "The reader wants multiples of {reader}, the writer writes multiples of {writer}",
    why="Every multiple of a number is one of its divisors, too.",
)
MULTIPLE_OF_CHANGED: Final = breaking(
    "MULTIPLE_OF_CHANGED",
    "The reader wants multiples of {reader}, the writer writes multiples of {writer}",
    why="Neither number divides the other.",
    fix="Keep multipleOf, or replace it by one that divides it.",
)
ENUM_ARRAY_EXTENDED: Final = harmless(
    "ENUM_ARRAY_EXTENDED",
    "The reader takes {values} beside all that the writer writes",
    why="The reader knows every value that the writer may write.",
)
ENUM_ARRAY_NARROWED: Final = breaking(
    "ENUM_ARRAY_NARROWED",
    "The reader refuses {values}, which the writer may write",
    why="Records with the missing values were valid and may exist.",
    fix="Keep the values; stop writing them, and drop them once no record holds them.",
    promises_witness=True,
)
ENUM_ARRAY_CHANGED: Final = breaking(
    "ENUM_ARRAY_CHANGED",
    "The reader takes {reader}, the writer writes {writer}",
    why="Records with values that the reader does not list were valid and may exist.",
    fix="Keep the values beside the new ones.",
    promises_witness=True,
)
NOT_TYPE_EXTENDED: Final = breaking(
    "NOT_TYPE_EXTENDED",
    "The reader's not refuses values that the writer's not lets pass",
    why="A wider schema under not leaves fewer values.",
    fix="Keep the schema under not, or narrow it.",
)
NOT_TYPE_NARROWED: Final = harmless(
    "NOT_TYPE_NARROWED",
    "The reader's not refuses no more than the writer's",
    why="A narrower schema under not leaves more values.",
)
COMBINED_TYPE_EXTENDED: Final = harmless(
    "COMBINED_TYPE_EXTENDED",
    "The reader combines its branches by {reader}, the writer by {writer}",
    why="The reader's keyword requires no more than the writer's.",
)
COMBINED_TYPE_CHANGED: Final = breaking(
    "COMBINED_TYPE_CHANGED",
    "The reader combines its branches by {reader}, the writer by {writer}",
    why="What fits one way of combining need not fit the other; the branches are not compared further.",
    fix="Keep the keyword, or widen it to anyOf.",
)
COMBINED_TYPE_SUBSCHEMAS_CHANGED: Final = breaking(
    "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
    "The reader's {reader} pairs {count} of {size} branches with the writer's; the others find no partner",
    why="Branches are paired so that each of the reader's reads one of the writer's; some are left over.",
    fix="Keep the branches, change them only in ways that are compatible, and add new ones beside them.",
)
PRODUCT_TYPE_EXTENDED: Final = breaking(
    "PRODUCT_TYPE_EXTENDED",
    "The reader's allOf asks for more branches than the writer's",
    why="Records need not fit the branches that were added.",
    fix="Leave the new branches out.",
)
PRODUCT_TYPE_NARROWED: Final = harmless(
    "PRODUCT_TYPE_NARROWED",
    "The reader asks for fewer of the branches that the writer's allOf combines",
    why="A record that fits all branches fits each of them.",
)
SUM_TYPE_EXTENDED: Final = harmless(
    "SUM_TYPE_EXTENDED",
    "The reader takes more alternatives than the writer writes",
    why="What the writer writes is among the reader's alternatives.",
)
SUM_TYPE_NARROWED: Final = breaking(
    "SUM_TYPE_NARROWED",
    "The reader takes fewer alternatives than the writer writes",
    why="Records of the alternatives that were dropped were valid and may exist.",
    fix="Keep the alternatives; stop writing them, and drop them once no record holds them.",
)
UNRESOLVED_REFERENCE: Final = ours(
    "unresolved-reference",
    "The reader and the writer cannot be compared: {reason}",
    why="A schema whose parts are unknown cannot be compared, and nothing is fetched from the network.",
    fix="Register the missing document, and name it in the references.",
    breaks=ALWAYS,
    promises_witness=False,
)

CONFLUENT_RULES: Final = (
    *(value for value in list(globals().values()) if isinstance(value, CompatibilityRule)),
    *BOUND_RULES,
    *content_rules.CONTENT_RULES,
    *REST_RULES,
)
"""Every rule of this folder."""


# Every rule of JSON Schema: those of Confluent and those of SOUND.

RULES: Final = (*CONFLUENT_RULES, *SOUND_RULES)
