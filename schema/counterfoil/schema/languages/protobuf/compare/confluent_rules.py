"""The rules of Protobuf compatibility in Confluent's definition: the name, the sentence and the reason of each.

A rule is data; the walk in :mod:`~counterfoil.schema.languages.protobuf.compare.differences` finds the places. The
rules of SOUND, WIRE and WIRE_JSON are in :mod:`~counterfoil.schema.languages.protobuf.compare.rules`.

A rule that breaks under SOUND breaks there only if it is not proved that the bytes stay readable: a message that has
another name and the same fields is no break.

Source: the Protocol Buffers encoding and language guides, and recorded answers of Confluent Schema Registry 8.5, which
uses the same error types.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import NEVER, CompatibilityRule
from counterfoil.schema.model import SchemaType

LIKE_CONFLUENT: Final = frozenset(
    {CompatibilityPolicy.STRICT, CompatibilityPolicy.LENIENT, CompatibilityPolicy.LOGICAL}
)
"""The policies with Confluent's result; for Protobuf all three have the same result."""
PROVABLE: Final = LIKE_CONFLUENT | {CompatibilityPolicy.SOUND}
"""The policies of :data:`LIKE_CONFLUENT`, and SOUND if it is not proved that the bytes stay readable."""

NOTHING: Final = "Nothing needs to be fixed."
"""The advice about a difference that breaks no reader."""

rule: Final = partial(CompatibilityRule, schema_type=SchemaType.PROTOBUF)

PACKAGE_CHANGED: Final = rule(
    id="package-changed",
    error_type="PACKAGE_CHANGED",
    sentence="The reader's package is {reader}, the writer's is {writer}",
    why="The full names of all messages change with the package. The bytes of a message hold no names, so they stay "
    "readable; what breaks is code and Any values that look messages up by name.",
    fix="Keep the package, or start a new subject for the new one.",
    breaks=LIKE_CONFLUENT,
    promises_witness=False,
)
MESSAGE_ADDED: Final = rule(
    id="message-added",
    error_type="MESSAGE_ADDED",
    sentence="The reader has message {name}, which the writer does not have",
    why="Nothing was written as this message yet.",
    fix=NOTHING,
    breaks=NEVER,
)
MESSAGE_REMOVED: Final = rule(
    id="message-removed",
    error_type="MESSAGE_REMOVED",
    sentence="The reader lacks message {name}, which the writer has",
    why="Records written as this message have no message to be read as. A message that is only the type of fields may "
    "be removed or moved: its fields are matched by number, not by its name. SOUND requires only the first message of "
    "the file.",
    fix="Keep the message, or rename it only together with a new subject.",
    forward_fix="Do not write the new message under this subject before the readers know it.",
    breaks=PROVABLE,
    promises_witness=False,
)
MESSAGE_MOVED: Final = rule(
    id="message-moved",
    error_type="MESSAGE_MOVED",
    sentence="The reader has message {name} as number {reader} of its level, the writer as number {writer}",
    why="The message indexes in front of a record count the messages of the schema that it was written with.",
    fix=NOTHING,
    breaks=NEVER,
)
ENUM_ADDED: Final = rule(
    id="enum-added",
    error_type="ENUM_ADDED",
    sentence="The reader has enum {name}, which the writer does not have",
    why="Nothing was written with this enum yet.",
    fix=NOTHING,
    breaks=NEVER,
)
ENUM_REMOVED: Final = rule(
    id="enum-removed",
    error_type="ENUM_REMOVED",
    sentence="The reader lacks enum {name}, which the writer has",
    why="On the wire an enum is a number; the fields that used it are compared separately.",
    fix=NOTHING,
    breaks=NEVER,
)
ENUM_CONST_ADDED: Final = rule(
    id="enum-const-added",
    error_type="ENUM_CONST_ADDED",
    sentence="The reader's enum {enum} has {name} = {number}, a number that the writer does not have",
    why="Nothing was written with this number yet.",
    fix=NOTHING,
    breaks=NEVER,
)
ENUM_CONST_CHANGED: Final = rule(
    id="enum-const-changed",
    error_type="ENUM_CONST_CHANGED",
    sentence="The reader calls number {number} of enum {enum} {reader}, the writer calls it {writer}",
    why="The number is what is written. SOUND counts another name as another meaning: see enum-value-renamed, and "
    "enum-value-renumbered where the writer's name has another number in the reader.",
    fix=NOTHING,
    breaks=NEVER,
)
ENUM_CONST_REMOVED: Final = rule(
    id="enum-const-removed",
    error_type="ENUM_CONST_REMOVED",
    sentence="The reader's enum {enum} lacks number {number}, which is {name} in the writer",
    why="A reader with an open enum (proto3) keeps the bare number. A closed one (proto2) loses it: see "
    "closed-enum-loses-value.",
    fix=NOTHING,
    breaks=NEVER,
)
FIELD_ADDED: Final = rule(
    id="field-added",
    error_type="FIELD_ADDED",
    sentence="The reader has field {name} = {tag}, which the writer does not have",
    why="A field that was not written is read as its default.",
    fix=NOTHING,
    breaks=NEVER,
)
FIELD_REMOVED: Final = rule(
    id="field-removed",
    error_type="FIELD_REMOVED",
    sentence="The reader lacks field {name} = {tag}, which the writer has",
    why="A field that the reader does not know is skipped. Reserve its number, so that it is never used again.",
    fix=NOTHING,
    breaks=NEVER,
)
REQUIRED_FIELD_ADDED: Final = rule(
    id="required-field-added",
    error_type="REQUIRED_FIELD_ADDED",
    sentence="The reader requires field {name} = {tag}, which the writer does not have",
    why="A message without a required field is not initialised; readers refuse it.",
    fix="Make the field optional.",
    forward_fix="Keep writing the field: deployed readers require it.",
    breaks=PROVABLE,
)
REQUIRED_FIELD_REMOVED: Final = rule(
    id="required-field-removed",
    error_type="REQUIRED_FIELD_REMOVED",
    sentence="The reader lacks field {name} = {tag}, which the writer requires",
    why="The reader skips the field like any other that it does not know. The other direction breaks: a reader "
    "with the writer's schema misses a required field.",
    fix="Make the field optional first, and remove it once no one requires it.",
    breaks=LIKE_CONFLUENT,
    promises_witness=False,
)
FIELD_NAME_CHANGED: Final = rule(
    id="field-name-changed",
    error_type="FIELD_NAME_CHANGED",
    sentence="The reader calls field {tag} {reader}, the writer calls it {writer}",
    why="Bytes hold the number and not the name. The JSON form and code that uses the field do break.",
    fix=NOTHING,
    breaks=NEVER,
)
FIELD_KIND_CHANGED: Final = rule(
    id="field-kind-changed",
    error_type="FIELD_KIND_CHANGED",
    sentence="The reader has {reader} in field {name} = {tag}, the writer {writer}",
    why="A scalar, a message and a map are written differently; what does not fit is skipped as an unknown field, or "
    "cannot be parsed at all.",
    fix="Keep the field's type, and add a field of the new type with a number of its own.",
    breaks=PROVABLE,
)
FIELD_SCALAR_KIND_CHANGED: Final = rule(
    id="field-scalar-kind-changed",
    error_type="FIELD_SCALAR_KIND_CHANGED",
    sentence="The reader has {reader} in field {name} = {tag}, the writer {writer}",
    why="Types of one group share an encoding: int32, int64, uint32, uint64, bool and enums; sint32 and sint64; "
    "fixed32 and sfixed32; fixed64 and sfixed64; string and bytes. Between groups a value is skipped or misread.",
    fix="BranchChoice a type of the same group, or add a field of the new type with a number of its own.",
    breaks=PROVABLE,
)
FIELD_NAMED_TYPE_CHANGED: Final = rule(
    id="field-named-type-changed",
    error_type="FIELD_NAMED_TYPE_CHANGED",
    sentence="The reader has message {reader} in field {name} = {tag}, the writer message {writer}",
    why="Another message has other fields under the same numbers. Where all numbers that both have fit, and there are "
    "some, nothing but the name differs, and SOUND permits it.",
    fix="Keep the message type, or add a field of the new type with a number of its own.",
    breaks=PROVABLE,
    promises_witness=False,
)
FIELD_NUMERIC_LABEL_CHANGED: Final = rule(
    id="field-numeric-label-changed",
    error_type="FIELD_NUMERIC_LABEL_CHANGED",
    sentence="The reader has field {name} = {tag} as {reader}, the writer as {writer}",
    why="Repeated numbers may be written packed, and a singular field cannot read that. Only the way from one value to "
    "many is safe, and from required to optional; SOUND permits those.",
    fix="Keep the label, or add a field with a number of its own.",
    breaks=PROVABLE,
    promises_witness=False,
)
FIELD_STRING_OR_BYTES_LABEL_CHANGED: Final = rule(
    id="field-string-or-bytes-label-changed",
    error_type="FIELD_STRING_OR_BYTES_LABEL_CHANGED",
    sentence="The reader has field {name} = {tag} as {reader}, the writer as {writer}",
    why="Strings are never packed. From one value to many nothing is lost; from many to one the last is kept: see "
    "repeated-to-singular. A field made required is field-made-required.",
    fix=NOTHING,
    breaks=NEVER,
)
ONEOF_ADDED: Final = rule(
    id="oneof-added",
    error_type="ONEOF_ADDED",
    sentence="The reader has oneof {name}, which the writer does not have",
    why="A oneof is not written; its fields are compared separately.",
    fix=NOTHING,
    breaks=NEVER,
)
ONEOF_REMOVED: Final = rule(
    id="oneof-removed",
    error_type="ONEOF_REMOVED",
    sentence="The reader lacks oneof {name}, which the writer has",
    why="A oneof is not written; its fields are compared separately.",
    fix=NOTHING,
    breaks=NEVER,
)
ONEOF_FIELD_ADDED: Final = rule(
    id="oneof-field-added",
    error_type="ONEOF_FIELD_ADDED",
    sentence="The reader's oneof {oneof} has field {name} = {tag}, which the writer does not have",
    why="Nothing was written under this number yet.",
    fix=NOTHING,
    breaks=NEVER,
)
ONEOF_FIELD_REMOVED: Final = rule(
    id="oneof-field-removed",
    error_type="ONEOF_FIELD_REMOVED",
    sentence="The reader lacks field {name} = {tag} of oneof {oneof}, which the writer has",
    why="Where the writer chose this field the reader sees none of the oneof's fields set, as if nothing was chosen.",
    fix="Keep the field, marked deprecated, for as long as the oneof is there.",
    forward_fix="Do not set the new field of the oneof before the readers know it; add a field outside of it instead.",
    breaks=PROVABLE,
)
ONEOF_FIELD_MOVED_TO_TOP_LEVEL: Final = rule(
    id="oneof-field-moved-to-top-level",
    error_type="ONEOF_FIELD_MOVED_TO_TOP_LEVEL",
    sentence="The reader has field {name} = {tag} by itself, the writer has it in oneof {oneof}",
    why="The field is written the same way in a oneof and outside it.",
    fix=NOTHING,
    breaks=NEVER,
)
MULTIPLE_FIELDS_MOVED_TO_ONEOF: Final = rule(
    id="multiple-fields-moved-to-oneof",
    error_type="MULTIPLE_FIELDS_MOVED_TO_ONEOF",
    sentence="The reader's oneof {name} unites {fields}, which the writer can set together",
    why="A record that has several of them set keeps the last one alone.",
    fix="Leave the fields where they are, and make a oneof of new fields.",
    breaks=PROVABLE,
)
FIELD_MOVED_TO_EXISTING_ONEOF: Final = rule(
    id="field-moved-to-existing-oneof",
    error_type="FIELD_MOVED_TO_EXISTING_ONEOF",
    sentence="The reader's oneof {name} unites {fields}, which the writer can set together",
    why="A record that has the moved field set beside one of the others keeps the last one alone.",
    fix="Leave the field where it is, or make a oneof of it alone.",
    breaks=PROVABLE,
)

CONFLUENT_RULES: Final = (
    PACKAGE_CHANGED,
    MESSAGE_ADDED,
    MESSAGE_REMOVED,
    MESSAGE_MOVED,
    ENUM_ADDED,
    ENUM_REMOVED,
    ENUM_CONST_ADDED,
    ENUM_CONST_CHANGED,
    ENUM_CONST_REMOVED,
    FIELD_ADDED,
    FIELD_REMOVED,
    REQUIRED_FIELD_ADDED,
    REQUIRED_FIELD_REMOVED,
    FIELD_NAME_CHANGED,
    FIELD_KIND_CHANGED,
    FIELD_SCALAR_KIND_CHANGED,
    FIELD_NAMED_TYPE_CHANGED,
    FIELD_NUMERIC_LABEL_CHANGED,
    FIELD_STRING_OR_BYTES_LABEL_CHANGED,
    ONEOF_ADDED,
    ONEOF_REMOVED,
    ONEOF_FIELD_ADDED,
    ONEOF_FIELD_REMOVED,
    ONEOF_FIELD_MOVED_TO_TOP_LEVEL,
    MULTIPLE_FIELDS_MOVED_TO_ONEOF,
    FIELD_MOVED_TO_EXISTING_ONEOF,
)
