"""The rules of Avro schema resolution, as a table: what each is called, what it says, why it holds, how to mend it.

A rule is data; the walk in :mod:`~counterfoil.schema.formats.avro.differences` finds the places, and the pages about
rules are printed from here.

Source: Apache Avro 1.12 specification, "Schema Resolution"; error types as Confluent Schema Registry spells them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class CompatibilityRule:
    """One reason why a reader cannot read what a writer wrote.

    ``id`` is our word, ``error_type`` Confluent's (empty where the reference has none), ``sentence`` a template for
    ``str.format`` in which the sides are "the reader" and "the writer", ``why`` what goes wrong with the records,
    ``mend`` what to do about it, ``promises_witness`` whether every finite place of this rule has a record that a
    decoder refuses (a checker is stricter than decoders about the names of records).
    """

    id: str
    error_type: str
    sentence: str
    why: str
    mend: str
    promises_witness: bool = True


NAME_MISMATCH: Final = CompatibilityRule(
    id="name-mismatch",
    error_type="NAME_MISMATCH",
    sentence="The reader calls this {kind} {reader}, the writer calls it {writer}",
    why="A named type is matched by its name without namespace, or by an alias that the reader's type declares.",
    mend="Keep the name, or add the full name of the writer's type to the aliases of the reader's type.",
    promises_witness=False,
)
FIXED_SIZE_MISMATCH: Final = CompatibilityRule(
    id="fixed-size-mismatch",
    error_type="FIXED_SIZE_MISMATCH",
    sentence="The reader expects {reader} bytes in fixed {name}, the writer writes {writer}",
    why="A fixed is exactly as long as its schema says; there is no length in the data to go by.",
    mend="Keep the size, and add a field of a new fixed type beside it.",
)
MISSING_ENUM_SYMBOLS: Final = CompatibilityRule(
    id="missing-enum-symbols",
    error_type="MISSING_ENUM_SYMBOLS",
    sentence="The reader's enum {name} lacks {symbols} and has no default among its own symbols",
    why="A record that holds a symbol unknown to the reader cannot be read, unless the reader's enum has a default.",
    mend="Keep the symbols, or give the reader's enum a default that is one of its own symbols.",
)
MISSING_DEFAULT: Final = CompatibilityRule(
    id="reader-field-missing-default",
    error_type="READER_FIELD_MISSING_DEFAULT_VALUE",
    sentence="The reader needs field {field}, which the writer's {record} does not have, and it has no default",
    why="A field that the writer did not write can only be filled from the reader's default.",
    mend="Give the field a default, or, if it was renamed, add the writer's name to its aliases.",
)
TYPE_MISMATCH: Final = CompatibilityRule(
    id="type-mismatch",
    error_type="TYPE_MISMATCH",
    sentence="The reader expects {reader}, the writer writes {writer}",
    why="Avro promotes int to long, float and double, long to float and double, float to double, and reads string as "
    "bytes and bytes as string. Nothing else is converted.",
    mend="Widen along a promotion, make the reader's type a union that holds both, or add a field of the new type.",
)
MISSING_UNION_BRANCH: Final = CompatibilityRule(
    id="missing-union-branch",
    error_type="MISSING_UNION_BRANCH",
    sentence="The reader's union {reader} has no branch that reads {writer}",
    why="Each value is written as one branch of the union; the reader needs a branch that reads it.",
    mend="Keep the branch in the reader's union, or stop writing it and remove it once no record holds it.",
)
AMBIGUOUS_ALIAS: Final = CompatibilityRule(
    id="ambiguous-alias",
    error_type="",
    sentence="The reader's field {field} stands for more than one field of the writer's {record}: {matches}",
    why="A field that matches several fields of the writer, by its name and by aliases, has no defined value.",
    mend="Remove the aliases that name a field which the writer's schema still has.",
    promises_witness=False,
)

RULE_BY_ID: Final[Mapping[str, CompatibilityRule]] = {
    rule.id: rule
    for rule in (
        MISSING_DEFAULT,
        TYPE_MISMATCH,
        MISSING_UNION_BRANCH,
        MISSING_ENUM_SYMBOLS,
        FIXED_SIZE_MISMATCH,
        NAME_MISMATCH,
        AMBIGUOUS_ALIAS,
    )
}
