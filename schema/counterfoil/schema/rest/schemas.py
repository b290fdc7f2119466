"""Schemas and versions in the REST API: references, metadata, rules; ids, versions of subjects, compatibility."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol
from uuid import UUID

from counterfoil.schema.model import DEFAULT_TYPE, Metadata, Reference, Rule, RuleSet, Schema, SchemaType
from counterfoil.schema.rest.object_forms import (
    REQUIRED,
    TEXT,
    TEXT_SET,
    Document,
    JsonType,
    JsonValue,
    Member,
    ObjectForm,
    form_of,
    list_of,
    object_of,
    read_each,
    read_integer,
    read_text,
    word_of,
)
from counterfoil.schema.rest.versions import Compatibility, ContextId, RegisteredSchema, SubjectVersion
from counterfoil.schema.wire import MAX_SCHEMA_ID

# The JSON of a schema and its references, metadata and rules.

RULE_KINDS: Final = ("TRANSFORM", "CONDITION")
ENABLE_AT: Final = ("ALL", "CLIENT", "GATEWAY", "SERVER", "NONE")
MIGRATION_MODES: Final = ("UPGRADE", "DOWNGRADE", "UPDOWN")
"""The modes of a migration rule."""
OTHER_MODES: Final = ("WRITE", "READ", "WRITEREAD")
"""The modes of a domain rule or an encoding rule."""
_RULE_MODES: Final = (*MIGRATION_MODES, *OTHER_MODES)
_LATEST: Final = -1

REFERENCE: Final = form_of(
    Reference,
    otherwise={"name": "", "subject": "", "version": _LATEST},
    about={"version": "-1 is the latest version; its number is stored."},
    keeps_empty=True,
)


def _sorted_sets(tags: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {path: sorted(tags[path]) for path in sorted(tags)}


_TAGS: Final = JsonType(
    lambda value: value.by_key(TEXT_SET.read),
    _sorted_sets,
    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
)

METADATA: Final = form_of(Metadata, types={"tags": _TAGS, "sensitive": replace(TEXT_SET, write=sorted)})

RULE: Final = form_of(
    Rule,
    "name",
    "doc",
    "kind",
    "mode",
    "type",
    "tags",
    "params",
    "expr",
    "on_success",
    "on_failure",
    "disabled",
    types={
        "kind": replace(TEXT, read=lambda value: value.word(RULE_KINDS)),
        "mode": replace(TEXT, read=lambda value: value.word(_RULE_MODES)),
        "tags": TEXT_SET,
    },
    otherwise={"name": ""},
)

_RULES: Final = list_of(RULE)

RULE_SET: Final = form_of(RuleSet, types={"enable_at": replace(TEXT, read=lambda value: value.word(ENABLE_AT))})

METADATA_OBJECT: Final = object_of(METADATA)
RULE_SET_OBJECT: Final = object_of(RULE_SET)
_REFERENCES: Final = list_of(REFERENCE)


BESIDE_TEXT: Final = (
    Member("references", "references", replace(_REFERENCES, write=lambda each: reference_documents(each) or None)),
    Member("metadata", "metadata", METADATA_OBJECT),
    Member("ruleSet", "rule_set", RULE_SET_OBJECT),
)
"""The members of a schema's identity other than its text. Empty metadata differ from none, and so do empty rules."""

SCHEMA: Final = ObjectForm(
    Schema,
    (
        Member("schemaType", "schema_type", word_of(SchemaType)),  # registries before 8.0 leave it out if it is AVRO
        *BESIDE_TEXT,
        Member("schema", "text", TEXT, otherwise=REQUIRED),
    ),
    keeps_empty=True,
)


class SchemaFields(Protocol):
    """A schema, or another value that has a schema's fields."""

    @property
    def text(self) -> str:
        """The schema's text."""

    @property
    def schema_type(self) -> SchemaType:
        """The language of the text."""

    @property
    def references(self) -> tuple[Reference, ...]:
        """The names that the text uses."""

    @property
    def metadata(self) -> Metadata | None:
        """Tags and properties."""

    @property
    def rule_set(self) -> RuleSet | None:
        """The rules of the schema."""


def schema_document(schema: SchemaFields) -> Document:
    """Return the members that describe ``schema``."""
    return SCHEMA.write(schema)


def schema_request(schema: Schema) -> Document:
    """Return the body that registers, looks up or checks ``schema``; the default type is not written."""
    document = SCHEMA.write(schema)
    if schema.schema_type is DEFAULT_TYPE:
        del document["schemaType"]
    return document


def reference_documents(references: tuple[Reference, ...]) -> list[Document]:
    """Return the JSON of each reference."""
    return [REFERENCE.write(reference) for reference in references]


def metadata_document(metadata: Metadata | None) -> Document | None:
    """Return the JSON of metadata: ``{}`` for empty ones, None for none."""
    return None if metadata is None else METADATA.write(metadata)


def rule_set_document(rule_set: RuleSet | None) -> Document | None:
    """Return the JSON of a rule set: ``{}`` for an empty one, None for none."""
    return None if rule_set is None else RULE_SET.write(rule_set)


# The JSON of versions of subjects, ids and verdicts.

SUBJECT_VERSION: Final = form_of(SubjectVersion)
CONTEXT_ID: Final = form_of(ContextId)
COMPATIBILITY: Final = form_of(Compatibility, keys={"is_compatible": "is_compatible"}, keeps_empty=True)


def read_guid(value: JsonValue) -> UUID:
    """Return the guid in ``value``, in any form of a UUID."""
    return value.parsed(UUID, "a guid")


GUID: Final = replace(TEXT, read=read_guid, write=str)


def read_registered(value: JsonValue) -> RegisteredSchema:
    """Return the schema with its subject, version and id, all of which ``value`` must have."""
    return RegisteredSchema(
        value.member("subject").text(),
        value.member("version").integer(),
        value.member("id").integer(),
        value.optional("guid", read_guid),
        SCHEMA.read(value),
    )


def read_registration(subject: str, sent: Schema, value: JsonValue) -> RegisteredSchema:
    """Return the response to a registration; the schema is the one in ``value``, or else the one that was sent."""
    return RegisteredSchema(
        subject,
        value.optional("version", read_integer),
        _read_new_id(value.member("id")),
        value.optional("guid", read_guid),
        sent if value.optional("schema", read_text) is None else SCHEMA.read(value),
    )


def _read_new_id(value: JsonValue) -> int:
    """Return the id of a registration, with which messages can be written."""
    found = value.integer()
    if not 1 <= found <= MAX_SCHEMA_ID:
        raise value.misfit(f"a schema id from 1 to {MAX_SCHEMA_ID}")
    return found


def read_subject_versions(value: JsonValue) -> tuple[SubjectVersion, ...]:
    """Return the uses of an id, sorted: the API does not define their order."""
    return tuple(sorted(map(SUBJECT_VERSION.read, value.items())))


read_context_ids = read_each(CONTEXT_ID.read)
