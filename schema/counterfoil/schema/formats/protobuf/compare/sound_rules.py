"""The rules that break only under SOUND: differences that Confluent permits although a message can be misread.

Each names such a message. Confluent has no error types for them, so theirs is empty.

Source: the Protocol Buffers encoding guide ("Updating a message type"), and the behaviour of its runtime.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.rules import CompatibilityRule
from counterfoil.schema.model import SchemaType

SOUND_ONLY: Final = frozenset({CompatibilityPolicy.SOUND})

rule: Final = partial(CompatibilityRule, schema_type=SchemaType.PROTOBUF, error_type="", breaks=SOUND_ONLY)

FIELD_MADE_REQUIRED: Final = rule(
    id="field-made-required",
    sentence="The reader requires field {name} = {tag}, which the writer may leave out",
    why="SOUND: a message without a required field is not initialised; readers refuse it.",
    fix="Leave the field optional.",
    forward_fix="Keep the field required: deployed readers refuse records without it.",
)
PACKED_REPEATED_TO_SINGULAR: Final = rule(
    id="packed-repeated-to-singular",
    sentence="The reader expects one value in field {name} = {tag}, the writer writes many, packed",
    why="SOUND: packed values are one block of bytes; a singular field does not read it and stays at its default.",
    fix="Keep the field repeated, or add a singular field with a number of its own.",
)
REPEATED_TO_SINGULAR: Final = rule(
    id="repeated-to-singular",
    sentence="The reader expects one value in field {name} = {tag}, the writer may write many",
    why="SOUND: of several values the last is kept, and messages are merged into one.",
    fix="Keep the field repeated, or add a singular field with a number of its own.",
)
BYTES_TO_STRING: Final = rule(
    id="bytes-to-string",
    sentence="The reader expects a string in field {name} = {tag}, the writer writes bytes",
    why="SOUND: bytes that are not UTF-8 are no string; the whole message fails to parse, or the value to be read.",
    fix="Keep the field as bytes. From string to bytes is safe.",
)
UTF8_VALIDATION_ADDED: Final = rule(
    id="utf8-validation-added",
    sentence="The reader requires {what} of field {name} = {tag} to be UTF-8, which the writer does not check",
    why="SOUND: strings of proto2, and those with the feature utf8_validation = NONE, may hold any bytes; where the "
    "reader checks them, the whole message fails to parse.",
    fix="Keep the syntax, or set the feature utf8_validation = NONE on the field of an edition.",
)
INTEGER_NARROWED: Final = rule(
    id="integer-narrowed",
    sentence="The reader expects {reader} in field {name} = {tag}, the writer writes {writer}",
    why="SOUND: the types share an encoding and not a range. A value outside the reader's range is cut or changes its "
    "sign without an error.",
    fix="Keep the type, or choose one that holds every value of the writer's: int32 may become int64, uint32 int64 or "
    "uint64, sint32 sint64, bool any integer.",
)
ENUM_VALUE_RENUMBERED: Final = rule(
    id="enum-value-renumbered",
    sentence="The reader has {name} of enum {enum} as number {reader}, the writer as number {writer}",
    why="SOUND: the number is what is written; the reader reads it as another symbol, or as none.",
    fix="Keep the numbers of symbols; add new symbols with new numbers.",
)
ENUM_VALUE_RENAMED: Final = rule(
    id="enum-value-renamed",
    sentence="The reader calls number {number} of enum {enum} {reader}, the writer calls it {writer}",
    why="SOUND: the number is what is written, and its name says what it means; the reader reads another symbol.",
    fix="Keep the name, or declare both names with option allow_alias; give a new symbol a new number.",
)
CLOSED_ENUM_LOSES_VALUE: Final = rule(
    id="closed-enum-loses-value",
    sentence="The reader's closed enum in field {name} = {tag} lacks {values}, which the writer may write",
    why="SOUND: a closed enum (proto2, or the feature) holds its own numbers alone; another one becomes an "
    "unknown field, and the field itself is unset.",
    fix="Keep the numbers, or make the reader's enum open.",
)
DEFAULT_VALUE_CHANGED: Final = rule(
    id="default-value-changed",
    sentence="The reader takes field {name} = {tag} for {reader} where it is not set, the writer for {writer}",
    why="SOUND: a default is never written; each reader fills in its own.",
    fix="Keep the default, or set the field whenever it matters.",
)
MESSAGE_ENCODING_CHANGED: Final = rule(
    id="message-encoding-changed",
    sentence="The reader expects field {name} = {tag} {reader}, the writer writes it {writer}",
    why="SOUND: a group is enclosed by marks, any other message begins with its length; the reader of the one skips "
    "the other as an unknown field.",
    fix="Keep the group (or the feature message_encoding), or add a field with a number of its own.",
)
MESSAGE_SET_READ_AS_FIELDS: Final = rule(
    id="message-set-changed",
    sentence="The reader expects the extensions of {name} as fields, the writer writes them as a message set",
    why="SOUND: with message_set_wire_format each extension is one item of a group with number 1; a reader without the "
    "option skips that group as an unknown field, and all extensions with it.",
    fix="Keep the option message_set_wire_format of the message.",
    breaks=frozenset({CompatibilityPolicy.SOUND, CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON}),
    promises_witness=False,
)
INVALID_FILE: Final = rule(
    id="invalid-protobuf-file",
    sentence="The reader cannot rely on {side} file, which is not valid Protobuf: {problem}",
    why="SOUND: the registry stores it, but Protobuf forbids it and its compilers refuse it. Of an earlier version "
    "only those faults count that leave open what the bytes of its records mean, such as one number for two fields.",
    fix="Correct the file; protoc names the same fault.",
    promises_witness=False,
)

SOUND_RULES: Final = (
    FIELD_MADE_REQUIRED,
    PACKED_REPEATED_TO_SINGULAR,
    REPEATED_TO_SINGULAR,
    BYTES_TO_STRING,
    UTF8_VALIDATION_ADDED,
    INTEGER_NARROWED,
    ENUM_VALUE_RENUMBERED,
    ENUM_VALUE_RENAMED,
    CLOSED_ENUM_LOSES_VALUE,
    DEFAULT_VALUE_CHANGED,
    MESSAGE_ENCODING_CHANGED,
    MESSAGE_SET_READ_AS_FIELDS,
    INVALID_FILE,
)
