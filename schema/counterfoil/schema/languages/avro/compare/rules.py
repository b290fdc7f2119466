"""The rules of Avro schema resolution, as a table with the sentence, the reason and the fix of each.

A rule is data; the walk in :mod:`~counterfoil.schema.languages.avro.compare.differences` finds the places. The
documentation pages about rules are generated from them.

Source: Apache Avro 1.12 specification, "Schema Resolution"; error types as Confluent Schema Registry spells them.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import CompatibilityRule
from counterfoil.schema.model import SchemaType

rule: Final = partial(CompatibilityRule, schema_type=SchemaType.AVRO)

NAME_MISMATCH: Final = rule(
    id="name-mismatch",
    error_type="NAME_MISMATCH",
    sentence="The reader calls this {kind} {reader}, the writer calls it {writer}",
    why="A named type is matched by its name without namespace, or by an alias that the reader's type declares.",
    fix="Keep the name, or add the full name of the writer's type to the aliases of the reader's type.",
    forward_fix="Keep the name: deployed readers have no alias for the new one.",
    promises_witness=False,
)
FIXED_SIZE_MISMATCH: Final = rule(
    id="fixed-size-mismatch",
    error_type="FIXED_SIZE_MISMATCH",
    sentence="The reader expects {reader} bytes in fixed {name}, the writer writes {writer}",
    why="A fixed is exactly as long as its schema says; the data holds no length.",
    fix="Keep the size, and add a field of a new fixed type beside it.",
    forward_fix="Keep the size that deployed readers expect, and add a field of a new fixed type beside it.",
)
MISSING_ENUM_SYMBOLS: Final = rule(
    id="missing-enum-symbols",
    error_type="MISSING_ENUM_SYMBOLS",
    sentence="The reader's enum {name} lacks {symbols} and has no default among its own symbols",
    why="A record that holds a symbol unknown to the reader cannot be read, unless the reader's enum has a default.",
    fix="Keep the symbols, or give the reader's enum a default that is one of its own symbols.",
    forward_fix="Do not write the new symbols before the readers know them, or give the enum a default in one release "
    "and add the symbols in a later one.",
)
MISSING_DEFAULT: Final = rule(
    id="reader-field-missing-default",
    error_type="READER_FIELD_MISSING_DEFAULT_VALUE",
    sentence="The reader needs field {field}, which the writer's {record} does not have, and it has no default",
    why="A field that the writer did not write can only be filled from the reader's default.",
    fix="Give the field a default, or, if it was renamed, add the writer's name to its aliases.",
    forward_fix="Keep writing the field: deployed readers have no default for it. Give it a default in one release and "
    "remove it in a later one.",
)
TYPE_MISMATCH: Final = rule(
    id="type-mismatch",
    error_type="TYPE_MISMATCH",
    sentence="The reader expects {reader}, the writer writes {writer}",
    why="Avro promotes int to long, float and double, long to float and double, float to double, and reads string as "
    "bytes and bytes as string. Nothing else is converted.",
    fix="Widen along a promotion, make the reader's type a union that holds both, or add a field of the new type.",
    forward_fix="Keep the type that deployed readers expect, and add a field of the new type.",
)
MISSING_UNION_BRANCH: Final = rule(
    id="missing-union-branch",
    error_type="MISSING_UNION_BRANCH",
    sentence="The reader's union {reader} has no branch that reads {writer}",
    why="Each value is written as one branch of the union; the reader needs a branch that reads it.",
    fix="Keep the branch in the reader's union, or stop writing it and remove it once no record holds it.",
    forward_fix="Do not write the new branch before the readers know it; add a field for it instead.",
)
AMBIGUOUS_ALIAS: Final = rule(
    id="ambiguous-alias",
    error_type="",
    sentence="The reader's field {field} stands for more than one field of the writer's {record}: {matches}",
    why="A field that matches several fields of the writer, by its name and by aliases, has no defined value.",
    fix="Remove the aliases that name a field which the writer's schema still has.",
    forward_fix="Do not write both names: deployed readers read both as the same field.",
    promises_witness=False,
)

_SOUND: Final = frozenset({CompatibilityPolicy.SOUND})

BYTES_AS_STRING: Final = rule(
    id="bytes-read-as-string",
    error_type="",
    sentence="The reader takes the writer's bytes for a string, and not all bytes are UTF-8",
    why="Avro reads bytes as a string by decoding them as UTF-8. Bytes that are no UTF-8 make the decoder fail, or "
    "become replacement characters.",
    fix="Keep bytes, or add a string field beside it.",
    breaks=_SOUND,
)
LOGICAL_TYPE_CHANGED: Final = rule(
    id="logical-type-misread",
    error_type="",
    sentence="The reader takes the value for {reader}, the writer writes {writer}",
    why="Schema resolution looks at the underlying types alone. The same number is read in another unit or as another "
    "kind of thing, and nothing fails.",
    fix="Add a field of the new logical type beside it, or bridge to a new topic.",
    breaks=_SOUND,
)
DECIMAL_CHANGED: Final = rule(
    id="decimal-misread",
    error_type="",
    sentence="The reader takes the value for {reader}, the writer writes {writer}",
    why="A decimal is written as its digits alone; the point is where the reader's scale puts it, and digits beyond "
    "the reader's precision do not fit.",
    fix="Keep the scale, and only increase the precision.",
    breaks=_SOUND,
)
INTEGER_AS_FLOAT: Final = rule(
    id="integer-read-as-float",
    error_type="",
    sentence="The reader takes the writer's {writer} for a {reader}, which does not hold all of its digits",
    why="Avro promotes int and long to float and double. A float holds 24 binary digits and a double 53; a larger "
    "number is rounded, and nothing fails.",
    fix="Keep the integer, or widen int to long or double.",
    breaks=_SOUND,
)
UNUSABLE_DEFAULT: Final = rule(
    id="unusable-default",
    error_type="",
    sentence="The reader needs the default of field {field}, and {default} is no value of {type}",
    why="The writer does not write the field, so that the reader falls back on its default, which cannot be read.",
    fix="Give the field a default that is a value of its type.",
    breaks=_SOUND,
    promises_witness=False,
)

RULES: Final = (
    MISSING_DEFAULT,
    TYPE_MISMATCH,
    MISSING_UNION_BRANCH,
    MISSING_ENUM_SYMBOLS,
    FIXED_SIZE_MISMATCH,
    NAME_MISMATCH,
    AMBIGUOUS_ALIAS,
    BYTES_AS_STRING,
    LOGICAL_TYPE_CHANGED,
    DECIMAL_CHANGED,
    INTEGER_AS_FLOAT,
    UNUSABLE_DEFAULT,
)
