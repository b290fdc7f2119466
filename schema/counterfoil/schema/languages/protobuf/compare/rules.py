"""Every rule of Protobuf: those of Confluent, and, as tables, those of SOUND, and of WIRE and WIRE_JSON."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import CompatibilityRule
from counterfoil.schema.languages.protobuf.compare.confluent_rules import CONFLUENT_RULES
from counterfoil.schema.model import SchemaType

# The rules that break only under SOUND: differences that Confluent permits although a message can be misread.
#
# Each names such a message. Confluent has no error types for them, so theirs is empty.
#
# Source: the Protocol Buffers encoding guide ("Updating a message type"), and the behaviour of its runtime.

SOUND_ONLY: Final = frozenset({CompatibilityPolicy.SOUND})

sound_rule: Final = partial(CompatibilityRule, schema_type=SchemaType.PROTOBUF, error_type="", breaks=SOUND_ONLY)

FIELD_MADE_REQUIRED: Final = sound_rule(
    id="field-made-required",
    sentence="The reader requires field {name} = {tag}, which the writer may leave out",
    why="SOUND: a message without a required field is not initialised; readers refuse it.",
    fix="Leave the field optional.",
    forward_fix="Keep the field required: deployed readers refuse records without it.",
)
PACKED_REPEATED_TO_SINGULAR: Final = sound_rule(
    id="packed-repeated-to-singular",
    sentence="The reader expects one value in field {name} = {tag}, the writer writes many, packed",
    why="SOUND: packed values are one block of bytes; a singular field does not read it and stays at its default.",
    fix="Keep the field repeated, or add a singular field with a number of its own.",
)
REPEATED_TO_SINGULAR: Final = sound_rule(
    id="repeated-to-singular",
    sentence="The reader expects one value in field {name} = {tag}, the writer may write many",
    why="SOUND: of several values the last is kept, and messages are merged into one.",
    fix="Keep the field repeated, or add a singular field with a number of its own.",
)
BYTES_TO_STRING: Final = sound_rule(
    id="bytes-to-string",
    sentence="The reader expects a string in field {name} = {tag}, the writer writes bytes",
    why="SOUND: bytes that are not UTF-8 are no string; the whole message fails to parse, or the value to be read.",
    fix="Keep the field as bytes. From string to bytes is safe.",
)
UTF8_VALIDATION_ADDED: Final = sound_rule(
    id="utf8-validation-added",
    sentence="The reader requires {what} of field {name} = {tag} to be UTF-8, which the writer does not check",
    why="SOUND: strings of proto2, and those with the feature utf8_validation = NONE, may hold any bytes; where the "
    "reader checks them, the whole message fails to parse.",
    fix="Keep the syntax, or set the feature utf8_validation = NONE on the field of an edition.",
)
INTEGER_NARROWED: Final = sound_rule(
    id="integer-narrowed",
    sentence="The reader expects {reader} in field {name} = {tag}, the writer writes {writer}",
    why="SOUND: the types share an encoding and not a range. A value outside the reader's range is cut or changes its "
    "sign without an error.",
    fix="Keep the type, or choose one that holds every value of the writer's: int32 may become int64, uint32 int64 or "
    "uint64, sint32 sint64, bool any integer.",
)
ENUM_VALUE_RENUMBERED: Final = sound_rule(
    id="enum-value-renumbered",
    sentence="The reader has {name} of enum {enum} as number {reader}, the writer as number {writer}",
    why="SOUND: the number is what is written; the reader reads it as another symbol, or as none.",
    fix="Keep the numbers of symbols; add new symbols with new numbers.",
)
ENUM_VALUE_RENAMED: Final = sound_rule(
    id="enum-value-renamed",
    sentence="The reader calls number {number} of enum {enum} {reader}, the writer calls it {writer}",
    why="SOUND: the number is what is written, and its name says what it means; the reader reads another symbol.",
    fix="Keep the name, or declare both names with option allow_alias; give a new symbol a new number.",
)
CLOSED_ENUM_LOSES_VALUE: Final = sound_rule(
    id="closed-enum-loses-value",
    sentence="The reader's closed enum in field {name} = {tag} lacks {values}, which the writer may write",
    why="SOUND: a closed enum (proto2, or the feature) holds its own numbers alone; another one becomes an "
    "unknown field, and the field itself is unset.",
    fix="Keep the numbers, or make the reader's enum open.",
)
DEFAULT_VALUE_CHANGED: Final = sound_rule(
    id="default-value-changed",
    sentence="The reader takes field {name} = {tag} for {reader} where it is not set, the writer for {writer}",
    why="SOUND: a default is never written; each reader fills in its own.",
    fix="Keep the default, or set the field whenever it matters.",
)
MESSAGE_ENCODING_CHANGED: Final = sound_rule(
    id="message-encoding-changed",
    sentence="The reader expects field {name} = {tag} {reader}, the writer writes it {writer}",
    why="SOUND: a group is enclosed by marks, any other message begins with its length; the reader of the one skips "
    "the other as an unknown field.",
    fix="Keep the group (or the feature message_encoding), or add a field with a number of its own.",
)
MESSAGE_SET_READ_AS_FIELDS: Final = sound_rule(
    id="message-set-changed",
    sentence="The reader expects the extensions of {name} as fields, the writer writes them as a message set",
    why="SOUND: with message_set_wire_format each extension is one item of a group with number 1; a reader without the "
    "option skips that group as an unknown field, and all extensions with it.",
    fix="Keep the option message_set_wire_format of the message.",
    breaks=frozenset({CompatibilityPolicy.SOUND, CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON}),
    promises_witness=False,
)
INVALID_FILE: Final = sound_rule(
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


# The rules of buf's categories WIRE and WIRE_JSON: whether bytes, or bytes and JSON, stay readable by its conventions.
#
# An id is buf's name of the rule in lower case, so that results can be compared with those of ``buf breaking``.
#
# Source: the documentation of ``buf breaking`` ("Rules and categories"), and its results, version 1.75.

WIRE_ONLY: Final = frozenset({CompatibilityPolicy.WIRE})
JSON_ONLY: Final = frozenset({CompatibilityPolicy.WIRE_JSON})
WIRE_AND_JSON: Final = WIRE_ONLY | JSON_ONLY

wire_rule: Final = partial(CompatibilityRule, schema_type=SchemaType.PROTOBUF, error_type="")

FILE_SAME_PACKAGE: Final = wire_rule(
    id="file-same-package",
    sentence="The reader's package is {reader}, the writer's is {writer}",
    why="WIRE and WIRE_JSON: the full names of all messages change with the package, and Any values and gRPC "
    "look messages up by name.",
    fix="Keep the package, or start a new file for the new one.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED: Final = wire_rule(
    id="field-no-delete-unless-number-reserved",
    sentence="The reader lacks field {name} = {tag} of the writer and does not reserve the number",
    why="WIRE and WIRE_JSON: a number that is free can be used again with another type, which the records "
    "that are there would then be read as.",
    fix="Add `reserved N;` to the message.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
    is_of_change=True,
)
FIELD_NO_DELETE_UNLESS_NAME_RESERVED: Final = wire_rule(
    id="field-no-delete-unless-name-reserved",
    sentence="The reader lacks field {name} = {tag} of the writer and does not reserve the name",
    why="WIRE_JSON: JSON holds names: a removed name can be used again with another type.",
    fix='Add `reserved "name";` to the message.',
    breaks=JSON_ONLY,
    promises_witness=False,
    is_of_change=True,
)
FIELD_WIRE_COMPATIBLE_TYPE: Final = wire_rule(
    id="field-wire-compatible-type",
    sentence="The reader has {reader} in field {name} = {tag}, the writer {writer}",
    why="WIRE: types that are written differently are skipped or misread. Of one kind are int32, int64, "
    "uint32, uint64 and bool; sint32 and sint64; fixed32 and sfixed32; fixed64 and sfixed64; and a string"
    " may become bytes. Messages and enums keep their names.",
    fix="Keep the type, or add a field with a number of its own.",
    breaks=WIRE_ONLY,
    promises_witness=False,
)
FIELD_WIRE_JSON_COMPATIBLE_TYPE: Final = wire_rule(
    id="field-wire-json-compatible-type",
    sentence="The reader has {reader} in field {name} = {tag}, the writer {writer}",
    why="WIRE_JSON: the type must fit the bytes and the JSON form, which writes 64-bit numbers as strings. Of"
    " one kind are int32 and uint32; int64 and uint64; fixed32 and sfixed32; fixed64 and sfixed64.",
    fix="Keep the type, or add a field with a number of its own.",
    breaks=JSON_ONLY,
    promises_witness=False,
)
FIELD_WIRE_COMPATIBLE_CARDINALITY: Final = wire_rule(
    id="field-wire-compatible-cardinality",
    sentence="The reader has field {name} = {tag} {reader}, the writer {writer}",
    why="WIRE: a field keeps being singular, required or repeated.",
    fix="Keep it, or add a field with a number of its own.",
    breaks=WIRE_ONLY,
    promises_witness=False,
)
FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY: Final = wire_rule(
    id="field-wire-json-compatible-cardinality",
    sentence="The reader has field {name} = {tag} {reader}, the writer {writer}",
    why="WIRE_JSON: a field keeps being singular, required, repeated or a map: JSON writes an array or an object.",
    fix="Keep it, or add a field with a number of its own.",
    breaks=JSON_ONLY,
    promises_witness=False,
)
FIELD_SAME_ONEOF: Final = wire_rule(
    id="field-same-oneof",
    sentence="The reader has field {name} = {tag} in {reader}, the writer in {writer}",
    why="WIRE and WIRE_JSON: which fields exclude each other is part of what a record means.",
    fix="Leave the field where it is, and make a oneof of new fields.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
FIELD_SAME_DEFAULT: Final = wire_rule(
    id="field-same-default",
    sentence="The reader takes field {name} = {tag} for {reader} where it is not set, the writer for {writer}",
    why="WIRE and WIRE_JSON: a default is never written; each reader fills in its own.",
    fix="Keep the default.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
FIELD_SAME_NAME: Final = wire_rule(
    id="field-same-name",
    sentence="The reader calls field {tag} {reader}, the writer calls it {writer}",
    why="WIRE_JSON: JSON may hold the name.",
    fix="Keep the name, or add a field with a number of its own.",
    breaks=JSON_ONLY,
    promises_witness=False,
)
FIELD_SAME_JSON_NAME: Final = wire_rule(
    id="field-same-json-name",
    sentence="The reader calls field {name} = {tag} {reader} in JSON, the writer calls it {writer}",
    why="WIRE_JSON: JSON holds this name.",
    fix="Keep the name, or set json_name to it.",
    breaks=JSON_ONLY,
    promises_witness=False,
)
MESSAGE_SAME_REQUIRED_FIELDS: Final = wire_rule(
    id="message-same-required-fields",
    sentence="The reader and the writer do not both require field {name} = {tag}: {side} alone does",
    why="WIRE and WIRE_JSON: one of the two refuses what the other writes.",
    fix="Leave required fields as they are.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
MESSAGE_SAME_JSON_FORMAT: Final = wire_rule(
    id="message-same-json-format",
    sentence="The reader's message {name} does not promise a JSON form, the writer's does",
    why="WIRE_JSON: the JSON form of proto2 is best effort.",
    fix="Keep the syntax, or the feature json_format.",
    breaks=JSON_ONLY,
    promises_witness=False,
    is_of_change=True,
)
RESERVED_MESSAGE_NO_DELETE: Final = wire_rule(
    id="reserved-message-no-delete",
    sentence="The reader's message {name} does not reserve {what}, which the writer's does",
    why="WIRE and WIRE_JSON: what is reserved was used earlier, and records that hold it may still exist.",
    fix="Keep it reserved.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
    is_of_change=True,
)
ENUM_VALUE_NO_DELETE_UNLESS_NUMBER_RESERVED: Final = wire_rule(
    id="enum-value-no-delete-unless-number-reserved",
    sentence="The reader's enum {enum} lacks number {number} ({name}) and does not reserve it",
    why="WIRE and WIRE_JSON: a number that is free can be used again for something else.",
    fix="Add `reserved N;` to the enum.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
    is_of_change=True,
)
ENUM_VALUE_NO_DELETE_UNLESS_NAME_RESERVED: Final = wire_rule(
    id="enum-value-no-delete-unless-name-reserved",
    sentence="The reader's enum {enum} lacks number {number} and does not reserve the name {name}",
    why="WIRE_JSON: JSON holds the names of symbols: a removed one can be used again with another meaning.",
    fix='Add `reserved "NAME";` to the enum.',
    breaks=JSON_ONLY,
    promises_witness=False,
    is_of_change=True,
)
ENUM_VALUE_SAME_NAME: Final = wire_rule(
    id="enum-value-same-name",
    sentence="The reader calls number {number} of enum {enum} {reader}, the writer calls it {writer}",
    why="WIRE_JSON: JSON holds the names of symbols.",
    fix="Keep the name, or keep it as an alias.",
    breaks=JSON_ONLY,
    promises_witness=False,
)
ENUM_SAME_JSON_FORMAT: Final = wire_rule(
    id="enum-same-json-format",
    sentence="The reader's enum {name} does not promise a JSON form, the writer's does",
    why="WIRE_JSON: the JSON form of proto2 is best effort.",
    fix="Keep the syntax, or the feature json_format.",
    breaks=JSON_ONLY,
    promises_witness=False,
    is_of_change=True,
)
RESERVED_ENUM_NO_DELETE: Final = wire_rule(
    id="reserved-enum-no-delete",
    sentence="The reader's enum {name} does not reserve {what}, which the writer's does",
    why="WIRE and WIRE_JSON: what is reserved was used earlier, and records that hold it may still exist.",
    fix="Keep it reserved.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
    is_of_change=True,
)
RPC_SAME_REQUEST_TYPE: Final = wire_rule(
    id="rpc-same-request-type",
    sentence="The reader has method {name} take {reader}, the writer {writer}",
    why="WIRE and WIRE_JSON: a caller sends the one where the other is expected.",
    fix="Add a method for the new request.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
RPC_SAME_RESPONSE_TYPE: Final = wire_rule(
    id="rpc-same-response-type",
    sentence="The reader has method {name} return {reader}, the writer {writer}",
    why="WIRE and WIRE_JSON: a caller is sent the one where the other is expected.",
    fix="Add a method for the new response.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
RPC_SAME_CLIENT_STREAMING: Final = wire_rule(
    id="rpc-same-client-streaming",
    sentence="The reader has method {name} take {reader}, the writer {writer}",
    why="WIRE and WIRE_JSON: one request and a stream of them are different calls.",
    fix="Add a method for the other form.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
RPC_SAME_SERVER_STREAMING: Final = wire_rule(
    id="rpc-same-server-streaming",
    sentence="The reader has method {name} return {reader}, the writer {writer}",
    why="WIRE and WIRE_JSON: one response and a stream of them are different calls.",
    fix="Add a method for the other form.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
RPC_SAME_IDEMPOTENCY_LEVEL: Final = wire_rule(
    id="rpc-same-idempotency-level",
    sentence="The reader has method {name} as {reader}, the writer as {writer}",
    why="WIRE and WIRE_JSON: callers repeat a call, or do not, by what the method promises.",
    fix="Keep the level.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)

WIRE_RULES: Final = (
    FILE_SAME_PACKAGE,
    FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED,
    FIELD_NO_DELETE_UNLESS_NAME_RESERVED,
    FIELD_WIRE_COMPATIBLE_TYPE,
    FIELD_WIRE_JSON_COMPATIBLE_TYPE,
    FIELD_WIRE_COMPATIBLE_CARDINALITY,
    FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY,
    FIELD_SAME_ONEOF,
    FIELD_SAME_DEFAULT,
    FIELD_SAME_NAME,
    FIELD_SAME_JSON_NAME,
    MESSAGE_SAME_REQUIRED_FIELDS,
    MESSAGE_SAME_JSON_FORMAT,
    RESERVED_MESSAGE_NO_DELETE,
    ENUM_VALUE_NO_DELETE_UNLESS_NUMBER_RESERVED,
    ENUM_VALUE_NO_DELETE_UNLESS_NAME_RESERVED,
    ENUM_VALUE_SAME_NAME,
    ENUM_SAME_JSON_FORMAT,
    RESERVED_ENUM_NO_DELETE,
    RPC_SAME_REQUEST_TYPE,
    RPC_SAME_RESPONSE_TYPE,
    RPC_SAME_CLIENT_STREAMING,
    RPC_SAME_SERVER_STREAMING,
    RPC_SAME_IDEMPOTENCY_LEVEL,
)


# Every rule of Protobuf: those of Confluent, of SOUND, and of WIRE and WIRE_JSON.

RULES: Final = (*CONFLUENT_RULES, *SOUND_RULES, *WIRE_RULES)
