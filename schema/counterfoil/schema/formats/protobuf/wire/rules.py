"""The rules of buf's categories WIRE and WIRE_JSON: whether bytes, or bytes and JSON, stay readable by its conventions.

An id is buf's name of the rule in lower case, so that results can be compared with those of ``buf breaking``.

Source: the documentation of ``buf breaking`` ("Rules and categories"), and its results, version 1.75.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.rules import CompatibilityRule
from counterfoil.schema.model import SchemaType

WIRE_ONLY: Final = frozenset({CompatibilityPolicy.WIRE})
JSON_ONLY: Final = frozenset({CompatibilityPolicy.WIRE_JSON})
WIRE_AND_JSON: Final = WIRE_ONLY | JSON_ONLY

rule: Final = partial(CompatibilityRule, schema_type=SchemaType.PROTOBUF, error_type="")

FILE_SAME_PACKAGE: Final = rule(
    id="file-same-package",
    sentence="The reader's package is {reader}, the writer's is {writer}",
    why="WIRE and WIRE_JSON: the full names of all messages change with the package, and Any values and gRPC "
    "look messages up by name.",
    fix="Keep the package, or start a new file for the new one.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED: Final = rule(
    id="field-no-delete-unless-number-reserved",
    sentence="The reader lacks field {name} = {tag} of the writer and does not reserve the number",
    why="WIRE and WIRE_JSON: a number that is free can be used again with another type, which the records "
    "that are there would then be read as.",
    fix="Add `reserved N;` to the message.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
    is_of_change=True,
)
FIELD_NO_DELETE_UNLESS_NAME_RESERVED: Final = rule(
    id="field-no-delete-unless-name-reserved",
    sentence="The reader lacks field {name} = {tag} of the writer and does not reserve the name",
    why="WIRE_JSON: JSON holds names: a removed name can be used again with another type.",
    fix='Add `reserved "name";` to the message.',
    breaks=JSON_ONLY,
    promises_witness=False,
    is_of_change=True,
)
FIELD_WIRE_COMPATIBLE_TYPE: Final = rule(
    id="field-wire-compatible-type",
    sentence="The reader has {reader} in field {name} = {tag}, the writer {writer}",
    why="WIRE: types that are written differently are skipped or misread. Of one kind are int32, int64, "
    "uint32, uint64 and bool; sint32 and sint64; fixed32 and sfixed32; fixed64 and sfixed64; and a string"
    " may become bytes. Messages and enums keep their names.",
    fix="Keep the type, or add a field with a number of its own.",
    breaks=WIRE_ONLY,
    promises_witness=False,
)
FIELD_WIRE_JSON_COMPATIBLE_TYPE: Final = rule(
    id="field-wire-json-compatible-type",
    sentence="The reader has {reader} in field {name} = {tag}, the writer {writer}",
    why="WIRE_JSON: the type must fit the bytes and the JSON form, which writes 64-bit numbers as strings. Of"
    " one kind are int32 and uint32; int64 and uint64; fixed32 and sfixed32; fixed64 and sfixed64.",
    fix="Keep the type, or add a field with a number of its own.",
    breaks=JSON_ONLY,
    promises_witness=False,
)
FIELD_WIRE_COMPATIBLE_CARDINALITY: Final = rule(
    id="field-wire-compatible-cardinality",
    sentence="The reader has field {name} = {tag} {reader}, the writer {writer}",
    why="WIRE: a field keeps being singular, required or repeated.",
    fix="Keep it, or add a field with a number of its own.",
    breaks=WIRE_ONLY,
    promises_witness=False,
)
FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY: Final = rule(
    id="field-wire-json-compatible-cardinality",
    sentence="The reader has field {name} = {tag} {reader}, the writer {writer}",
    why="WIRE_JSON: a field keeps being singular, required, repeated or a map: JSON writes an array or an object.",
    fix="Keep it, or add a field with a number of its own.",
    breaks=JSON_ONLY,
    promises_witness=False,
)
FIELD_SAME_ONEOF: Final = rule(
    id="field-same-oneof",
    sentence="The reader has field {name} = {tag} in {reader}, the writer in {writer}",
    why="WIRE and WIRE_JSON: which fields exclude each other is part of what a record means.",
    fix="Leave the field where it is, and make a oneof of new fields.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
FIELD_SAME_DEFAULT: Final = rule(
    id="field-same-default",
    sentence="The reader takes field {name} = {tag} for {reader} where it is not set, the writer for {writer}",
    why="WIRE and WIRE_JSON: a default is never written; each reader fills in its own.",
    fix="Keep the default.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
FIELD_SAME_NAME: Final = rule(
    id="field-same-name",
    sentence="The reader calls field {tag} {reader}, the writer calls it {writer}",
    why="WIRE_JSON: JSON may hold the name.",
    fix="Keep the name, or add a field with a number of its own.",
    breaks=JSON_ONLY,
    promises_witness=False,
)
FIELD_SAME_JSON_NAME: Final = rule(
    id="field-same-json-name",
    sentence="The reader calls field {name} = {tag} {reader} in JSON, the writer calls it {writer}",
    why="WIRE_JSON: JSON holds this name.",
    fix="Keep the name, or set json_name to it.",
    breaks=JSON_ONLY,
    promises_witness=False,
)
MESSAGE_SAME_REQUIRED_FIELDS: Final = rule(
    id="message-same-required-fields",
    sentence="The reader and the writer do not both require field {name} = {tag}: {side} alone does",
    why="WIRE and WIRE_JSON: one of the two refuses what the other writes.",
    fix="Leave required fields as they are.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
MESSAGE_SAME_JSON_FORMAT: Final = rule(
    id="message-same-json-format",
    sentence="The reader's message {name} does not promise a JSON form, the writer's does",
    why="WIRE_JSON: the JSON form of proto2 is best effort.",
    fix="Keep the syntax, or the feature json_format.",
    breaks=JSON_ONLY,
    promises_witness=False,
    is_of_change=True,
)
RESERVED_MESSAGE_NO_DELETE: Final = rule(
    id="reserved-message-no-delete",
    sentence="The reader's message {name} does not reserve {what}, which the writer's does",
    why="WIRE and WIRE_JSON: what is reserved was used earlier, and records that hold it may still exist.",
    fix="Keep it reserved.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
    is_of_change=True,
)
ENUM_VALUE_NO_DELETE_UNLESS_NUMBER_RESERVED: Final = rule(
    id="enum-value-no-delete-unless-number-reserved",
    sentence="The reader's enum {enum} lacks number {number} ({name}) and does not reserve it",
    why="WIRE and WIRE_JSON: a number that is free can be used again for something else.",
    fix="Add `reserved N;` to the enum.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
    is_of_change=True,
)
ENUM_VALUE_NO_DELETE_UNLESS_NAME_RESERVED: Final = rule(
    id="enum-value-no-delete-unless-name-reserved",
    sentence="The reader's enum {enum} lacks number {number} and does not reserve the name {name}",
    why="WIRE_JSON: JSON holds the names of symbols: a removed one can be used again with another meaning.",
    fix='Add `reserved "NAME";` to the enum.',
    breaks=JSON_ONLY,
    promises_witness=False,
    is_of_change=True,
)
ENUM_VALUE_SAME_NAME: Final = rule(
    id="enum-value-same-name",
    sentence="The reader calls number {number} of enum {enum} {reader}, the writer calls it {writer}",
    why="WIRE_JSON: JSON holds the names of symbols.",
    fix="Keep the name, or keep it as an alias.",
    breaks=JSON_ONLY,
    promises_witness=False,
)
ENUM_SAME_JSON_FORMAT: Final = rule(
    id="enum-same-json-format",
    sentence="The reader's enum {name} does not promise a JSON form, the writer's does",
    why="WIRE_JSON: the JSON form of proto2 is best effort.",
    fix="Keep the syntax, or the feature json_format.",
    breaks=JSON_ONLY,
    promises_witness=False,
    is_of_change=True,
)
RESERVED_ENUM_NO_DELETE: Final = rule(
    id="reserved-enum-no-delete",
    sentence="The reader's enum {name} does not reserve {what}, which the writer's does",
    why="WIRE and WIRE_JSON: what is reserved was used earlier, and records that hold it may still exist.",
    fix="Keep it reserved.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
    is_of_change=True,
)
RPC_SAME_REQUEST_TYPE: Final = rule(
    id="rpc-same-request-type",
    sentence="The reader has method {name} take {reader}, the writer {writer}",
    why="WIRE and WIRE_JSON: a caller sends the one where the other is expected.",
    fix="Add a method for the new request.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
RPC_SAME_RESPONSE_TYPE: Final = rule(
    id="rpc-same-response-type",
    sentence="The reader has method {name} return {reader}, the writer {writer}",
    why="WIRE and WIRE_JSON: a caller is sent the one where the other is expected.",
    fix="Add a method for the new response.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
RPC_SAME_CLIENT_STREAMING: Final = rule(
    id="rpc-same-client-streaming",
    sentence="The reader has method {name} take {reader}, the writer {writer}",
    why="WIRE and WIRE_JSON: one request and a stream of them are different calls.",
    fix="Add a method for the other form.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
RPC_SAME_SERVER_STREAMING: Final = rule(
    id="rpc-same-server-streaming",
    sentence="The reader has method {name} return {reader}, the writer {writer}",
    why="WIRE and WIRE_JSON: one response and a stream of them are different calls.",
    fix="Add a method for the other form.",
    breaks=WIRE_AND_JSON,
    promises_witness=False,
)
RPC_SAME_IDEMPOTENCY_LEVEL: Final = rule(
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
