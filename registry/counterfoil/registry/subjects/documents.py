"""The bodies that clients send and receive about schemas, with their shapes and tags."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from counterfoil.registry.http.shapes import BodyProperty, BodyShape, properties_of, required
from counterfoil.registry.subjects.catalog import ById, Stored
from counterfoil.registry.subjects.levels import level_of
from counterfoil.registry.subjects.registration import Registered, TagRequest
from counterfoil.registry.subjects.versions import Content, SchemaRequest, VersionEntry, VersionUse, make_content
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.entity import Entity, TagEdit
from counterfoil.schema.rest.json_values import JsonValue, RequestJson, read_each, read_flag, read_texts
from counterfoil.schema.rest.object_forms import FLAG, INTEGER, TEXT, TEXTS, Document, ListOf, Member, ObjectForm
from counterfoil.schema.rest.schemas import BESIDE_TEXT, METADATA_OBJECT, RULE_SET_OBJECT, SCHEMA, schema_document
from counterfoil.schema.rest.subjects import (
    BOND,
    CONFIG,
    CONFIG_KEYS,
    HISTORY,
    LEVEL_IN_FORCE,
    RESOURCE,
    Config,
    config_document,
)

# Tags inside schemas, in the documents of this API.

NUMBER_OR_NONE: Final = replace(INTEGER, read=lambda value: value.integer() or None)
"""The type of a requested version: 0 counts as absent."""


def read_tag_edit(body: JsonValue, *, add: str, remove: str) -> TagEdit | None:
    """Return the tags that a body adds under the key ``add`` and removes under ``remove``; None if there are none."""
    added, removed = (_read_tags(body, key) for key in (add, remove))
    return TagEdit(added, removed) if added or removed else None


def _read_tags(body: JsonValue, key: str) -> dict[Entity, tuple[str, ...]]:
    found: dict[Entity, tuple[str, ...]] = {}
    for entity, tags in body.optional(key, read_each(_read_item)) or ():
        found[entity] = (*found.get(entity, ()), *tags)
    return found


def _read_item(value: JsonValue) -> tuple[Entity, tuple[str, ...]]:
    entity = value.member("schemaEntity")
    path, kind = (entity.member(key).text() for key in ("entityPath", "entityType"))
    return Entity.named(path, kind), read_texts(value.member("tags"))


TAG_REQUEST: Final = ObjectForm(
    TagRequest,
    (
        Member("newVersion", "new_version", NUMBER_OR_NONE, about="The number that the new version must get."),
        Member("metadata", "metadata", METADATA_OBJECT),
        Member("ruleSet", "rule_set", RULE_SET_OBJECT),
        Member("rulesToMerge", "rules_to_merge", RULE_SET_OBJECT),
        Member("rulesToRemove", "rules_to_remove", TEXTS),
    ),
)


def read_tag_request(value: object) -> TagRequest:
    """Return the change of a version's tags that a body requests."""
    body = RequestJson(value)
    edit = read_tag_edit(body, add="tagsToAdd", remove="tagsToRemove")
    request = TAG_REQUEST.read(body)
    return request if edit is None else replace(request, edit=edit)


# The documents of this API: the bodies that clients send and receive, around the values of the use cases.


def _given_id(value: JsonValue) -> int | None:
    number = value.integer()
    return None if number < 0 else number


SCHEMA_REQUEST: Final = ObjectForm(
    SchemaRequest,
    (
        Member("id", "schema_id", replace(INTEGER, read=_given_id), about="The id to use, in IMPORT mode."),
        Member("version", "version", NUMBER_OR_NONE, about="The number that the version must get; -1 is the next one."),
        Member("schemaType", "schema_type", TEXT, about="The language of the schema."),
        Member("schema", "text", TEXT, about="The text of the schema. Absent: the text of the latest version."),
        *BESIDE_TEXT,
    ),
)


def read_schema_request(value: object) -> SchemaRequest:
    """Return the schema request in a body; an unknown field is ignored."""
    return SCHEMA_REQUEST.read(RequestJson(value))


def read_registration(value: object) -> SchemaRequest:
    """Return the schema request in a body, with the fields about tags, which only a registration has."""
    body = RequestJson(value)
    request = SCHEMA_REQUEST.read(body)
    tag_edit = read_tag_edit(body, add="schemaTagsToAdd", remove="schemaTagsToRemove")
    propagates = body.optional("propagateSchemaTags", read_flag) or False
    return replace(request, tag_edit=tag_edit, propagates_tags=propagates) if tag_edit or propagates else request


def _content_fields(content: Content, *, text: str) -> Document:
    return {"guid": str(content.guid), **schema_document(content), "schema": text}


def _times(entry: VersionEntry | VersionUse) -> Document:
    return {"ts": entry.ts, "deleted": entry.deleted}


def registered_document(registered: Registered, *, text: str) -> Document:
    """Return the response to a registration."""
    document: Document = {"id": registered.schema_id, "version": registered.version}
    document.update(_content_fields(registered.content, text=text))
    if registered.entry is not None:
        document.update(_times(registered.entry))
    return document


def version_document(stored: Stored, *, text: str, qualified: bool = False) -> Document:
    """Return the document of one stored version; with ``qualified``, the subjects of references have their context."""
    document: Document = {
        "subject": str(stored.subject),
        "version": stored.entry.version,
        "id": stored.entry.schema_id,
    }
    content = _qualified(stored.content, stored.subject.context, text) if qualified else stored.content
    document.update(_content_fields(content, text=text))
    if not stored.exact:
        document.update(_times(stored.entry))
    return document


def by_id_document(found: ById, *, text: str, qualified: bool = False, with_id: bool = False) -> Document:
    """Return the document of a schema id; with ``with_id`` it includes the id."""
    document: Document = {"subject": str(found.use.subject), "version": found.use.version}
    if with_id:
        document["id"] = found.schema_id
    content = _qualified(found.content, found.context, text) if qualified else found.content
    document.update(_content_fields(content, text=text))
    document.update(_times(found.use))
    return document


def by_guid_document(found: ById, *, text: str) -> Document:
    """Return the document of a fingerprint."""
    return {**_content_fields(found.content, text=text), **_times(found.use)}


def _qualified(content: Content, context: str, text: str) -> Content:
    """Return ``content`` as if its references had been written with their context.

    The guid is also computed for that form, with the ``text`` of the response.
    """
    references = tuple(
        replace(reference, subject=str(parse_subject(reference.subject, context=context)))
        for reference in content.references
    )
    if references == content.references:
        return content
    return make_content(
        text,
        content.schema_type,
        references=references,
        metadata=content.metadata,
        rule_set=content.rule_set,
    )


def stored_config_document(config: Config) -> Document:
    """Return a config as GET and DELETE print it: the level is always there, under the name ``compatibilityLevel``."""
    document = config_document(config)
    document.pop(CONFIG_KEYS["compatibility_level"], None)
    document[LEVEL_IN_FORCE] = level_of(config).value
    return {key: value for key, value in document.items() if value != ""}


# The shapes of bodies, for the OpenAPI description; the functions above read the requests.

ERROR: Final = BodyShape(
    "ErrorBody",
    "Any response that is not a success.",
    (
        required("error_code", INTEGER, "The code; its first three digits are the HTTP status."),
        required("message", TEXT, "What was wrong, where, and what would be right."),
    ),
)

_TAGGED: Final = BodyShape(
    "TaggedEntityBody",
    "A part of a schema that can have tags: a record or a field.",
    (
        required("entityPath", TEXT, "Such as ns.Order, ns.Order.id, object.id."),
        required("entityType", TEXT, "sr_record or sr_field."),
    ),
)
_ENTITY_TAGS: Final = BodyShape(
    "EntityTagsBody",
    "Tags of one part of a schema.",
    (required("schemaEntity", _TAGGED), required("tags", TEXTS)),
)

# --- requests

REQUESTED_SCHEMA: Final = BodyShape(
    "SchemaBody", "A schema to register, look up or test.", properties_of(SCHEMA_REQUEST)
)
REGISTRATION: Final = REQUESTED_SCHEMA.extended(
    "RegistrationBody",
    "A schema to register.",
    BodyProperty("schemaTagsToAdd", ListOf(_ENTITY_TAGS), "Tags to write into the text."),
    BodyProperty("schemaTagsToRemove", ListOf(_ENTITY_TAGS), "Tags to remove from the text."),
    BodyProperty("propagateSchemaTags", FLAG, "Whether the tags of the latest version are copied."),
)
TAGS: Final = BodyShape(
    "TagBody",
    "What to change in a version.",
    (
        *properties_of(TAG_REQUEST),
        BodyProperty("tagsToAdd", ListOf(_ENTITY_TAGS)),
        BodyProperty("tagsToRemove", ListOf(_ENTITY_TAGS)),
    ),
)
CONFIG_UPDATE: Final = BodyShape(
    "ConfigUpdateBody", "Changes to a config: an absent field is not changed, null clears.", properties_of(CONFIG)
)

# --- responses

_SCHEMA: Final = BodyShape("", "", properties_of(SCHEMA))
_GUID: Final = required("guid", TEXT, "The fingerprint of the schema, equal in every registry.")
_TS: Final = required("ts", INTEGER, "The time at which the version was stored, in epoch milliseconds.")
_DELETED: Final = required("deleted", FLAG, "Whether the version is soft-deleted.")
_SUBJECT: Final = required("subject", TEXT)
_VERSION: Final = required("version", INTEGER)

REGISTERED: Final = _SCHEMA.extended(
    "RegisteredBody",
    "The response to a registration.",
    required("id", INTEGER),
    _VERSION,
    _GUID,
    BodyProperty(_TS.key, INTEGER, _TS.about),
    BodyProperty(_DELETED.key, FLAG, _DELETED.about),
)
STORED_VERSION: Final = REGISTERED.extended("VersionBody", "One version of a subject.", _SUBJECT)
ASSOCIATION: Final = BodyShape(
    "AssociationBody",
    "One association.",
    (
        *properties_of(BOND),
        *properties_of(RESOURCE),
        *properties_of(HISTORY, always=[member.key for member in HISTORY.members]),
    ),
)
LISTED_VERSION: Final = STORED_VERSION.extended(
    "ListedSchemaBody",
    "One entry of the listing of all schemas.",
    BodyProperty("aliases", TEXTS),
    BodyProperty("associations", ListOf(ASSOCIATION), "Those that the query selects."),
)
SCHEMA_BY_ID: Final = _SCHEMA.extended(
    "SchemaByIdBody",
    "The schema of an id, and one version that has it.",
    _SUBJECT,
    _VERSION,
    BodyProperty("id", INTEGER, "The id itself, for Confluent's Python client, which reads it."),
    _GUID,
    BodyProperty("maxId", INTEGER, "The highest id of the context, if the query requests it."),
    BodyProperty("subjects", TEXTS, "The subjects that have the id, if the query requests them."),
    _TS,
    _DELETED,
)
SCHEMA_BY_GUID: Final = _SCHEMA.extended("SchemaByGuidBody", "The schema of a guid.", _GUID, _TS, _DELETED)
CONFIG_IN_FORCE: Final = BodyShape(
    "ConfigBody",
    f"A config as it is read; the level is called ``{LEVEL_IN_FORCE}`` here.",
    (
        *[each for each in CONFIG_UPDATE.properties if each.key != CONFIG_KEYS["compatibility_level"]],
        required(LEVEL_IN_FORCE, TEXT),
    ),
)
MODE: Final = BodyShape(
    "ModeBody",
    "A mode; null clears. Absent if many modes were cleared at once, and there was none at this level.",
    (BodyProperty("mode", TEXT),),
)
