"""The rules of the policy LOGICAL, for every language: differences that break a table into which records are written.

Source of the words: Confluent Schema Registry's rules of its ``LOGICAL`` policy; of the promotions: Apache Iceberg's
specification, "Schema Evolution".
"""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import CompatibilityRule

rule: Final = partial(
    CompatibilityRule,
    schema_type=None,
    breaks=frozenset({CompatibilityPolicy.LOGICAL}),
    promises_witness=False,
)

REQUIRED_FIELD_ADDED: Final = rule(
    id="logical-required-field-added",
    error_type="REQUIRED_FIELD_ADDED",
    sentence="The reader's column {column} may not be null and has no default, and the writer does not have it",
    why="The rows that are already in the table have no value for the column.",
    fix="Make the column nullable, or give it a default.",
)
FIELD_DELETED: Final = rule(
    id="logical-field-deleted",
    error_type="FIELD_DELETED",
    sentence="The reader does not have column {column}, which the writer has",
    why="The table keeps its column, and new rows have nothing to put there.",
    fix="Keep the field, and let it be null.",
)
FIELD_REORDERED: Final = rule(
    id="logical-field-reordered",
    error_type="FIELD_REORDERED",
    sentence="The reader has the columns in the order {reader}, the writer in the order {writer}",
    why="Readers that go by position put values under the wrong column.",
    fix="Add new fields at the end, and leave the others where they are.",
)
NULLABLE_TO_NON_NULLABLE: Final = rule(
    id="logical-nullable-to-non-nullable",
    error_type="NULLABLE_TO_NON_NULLABLE",
    sentence="The reader's column {column} may not be null, the writer's may",
    why="Rows in which the column is null do not fit any more.",
    fix="Leave the column nullable.",
)
DEFAULT_REMOVED: Final = rule(
    id="logical-non-nullable-default-removed",
    error_type="NON_NULLABLE_DEFAULT_REMOVED",
    sentence="The reader's column {column} may not be null and has lost the default that the writer's has",
    why="Rows from before the column was there were filled with the default.",
    fix="Keep the default.",
)
MAP_KEY_TYPE_MISMATCH: Final = rule(
    id="logical-map-key-type-mismatch",
    error_type="MAP_KEY_TYPE_MISMATCH",
    sentence="The reader's map {column} has keys of type {reader}, the writer's of type {writer}",
    why="The type of a map's key cannot change in a table.",
    fix="Add a column with the new map.",
)
TYPE_MISMATCH: Final = rule(
    id="logical-type-mismatch",
    error_type="TYPE_MISMATCH",
    sentence="The reader's column {column} is of type {reader}, the writer's of type {writer}",
    why="A table widens int to long, float to double, and the precision of a decimal. No other type can change.",
    fix="Add a column of the new type.",
)
NOT_A_TABLE: Final = rule(
    id="logical-not-a-table",
    error_type="",
    sentence="The reader and the writer cannot share a table, since one of them has no type for its rows: {reason}",
    why="Under this policy a schema must have a type as tables have it.",
    fix="Change what is named, or use another policy.",
)

RULES: Final = (
    REQUIRED_FIELD_ADDED,
    FIELD_DELETED,
    FIELD_REORDERED,
    NULLABLE_TO_NON_NULLABLE,
    DEFAULT_REMOVED,
    MAP_KEY_TYPE_MISMATCH,
    TYPE_MISMATCH,
    NOT_A_TABLE,
)
