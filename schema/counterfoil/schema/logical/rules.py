"""The rules of the policy LOGICAL, for every language: differences that break a table into which records are written.

Source of the words: Confluent Schema Registry's rules of its ``LOGICAL`` policy; of the promotions: Apache Iceberg's
specification, "Schema Evolution".
"""

from __future__ import annotations

from typing import Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.rules import CompatibilityRule

_LOGICAL: Final = frozenset({CompatibilityPolicy.LOGICAL})

REQUIRED_FIELD_ADDED: Final = CompatibilityRule(
    id="logical-required-field-added",
    schema_type=None,
    error_type="REQUIRED_FIELD_ADDED",
    sentence="The reader's column {column} may not be null and has no default, and the writer does not have it",
    why="The rows that are already in the table have no value for the column.",
    fix="Make the column nullable, or give it a default.",
    breaks=_LOGICAL,
    promises_witness=False,
)
FIELD_DELETED: Final = CompatibilityRule(
    id="logical-field-deleted",
    schema_type=None,
    error_type="FIELD_DELETED",
    sentence="The reader does not have column {column}, which the writer has",
    why="The table keeps its column, and new rows have nothing to put there.",
    fix="Keep the field, and let it be null.",
    breaks=_LOGICAL,
    promises_witness=False,
)
FIELD_REORDERED: Final = CompatibilityRule(
    id="logical-field-reordered",
    schema_type=None,
    error_type="FIELD_REORDERED",
    sentence="The reader has the columns in the order {reader}, the writer in the order {writer}",
    why="Readers that go by position put values under the wrong column.",
    fix="Add new fields at the end, and leave the others where they are.",
    breaks=_LOGICAL,
    promises_witness=False,
)
NULLABLE_TO_NON_NULLABLE: Final = CompatibilityRule(
    id="logical-nullable-to-non-nullable",
    schema_type=None,
    error_type="NULLABLE_TO_NON_NULLABLE",
    sentence="The reader's column {column} may not be null, the writer's may",
    why="Rows in which the column is null do not fit any more.",
    fix="Leave the column nullable.",
    breaks=_LOGICAL,
    promises_witness=False,
)
DEFAULT_REMOVED: Final = CompatibilityRule(
    id="logical-non-nullable-default-removed",
    schema_type=None,
    error_type="NON_NULLABLE_DEFAULT_REMOVED",
    sentence="The reader's column {column} may not be null and has lost the default that the writer's has",
    why="Rows from before the column was there were filled with the default.",
    fix="Keep the default.",
    breaks=_LOGICAL,
    promises_witness=False,
)
MAP_KEY_TYPE_MISMATCH: Final = CompatibilityRule(
    id="logical-map-key-type-mismatch",
    schema_type=None,
    error_type="MAP_KEY_TYPE_MISMATCH",
    sentence="The reader's map {column} has keys of type {reader}, the writer's of type {writer}",
    why="The type of a map's key cannot change in a table.",
    fix="Add a column with the new map.",
    breaks=_LOGICAL,
    promises_witness=False,
)
TYPE_MISMATCH: Final = CompatibilityRule(
    id="logical-type-mismatch",
    schema_type=None,
    error_type="TYPE_MISMATCH",
    sentence="The reader's column {column} is of type {reader}, the writer's of type {writer}",
    why="A table widens int to long, float to double, and the precision of a decimal. No other type can change.",
    fix="Add a column of the new type.",
    breaks=_LOGICAL,
    promises_witness=False,
)
NOT_A_TABLE: Final = CompatibilityRule(
    id="logical-not-a-table",
    schema_type=None,
    error_type="",
    sentence="The reader and the writer cannot share a table, since one of them has no type for its rows: {reason}",
    why="Under this policy a schema must have a type as tables have it.",
    fix="Change what is named, or use another policy.",
    breaks=_LOGICAL,
    promises_witness=False,
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
