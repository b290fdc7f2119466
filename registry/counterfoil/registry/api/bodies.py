"""The shapes of bodies, for the OpenAPI description. :mod:`counterfoil.registry.api.documents` reads the requests."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api.documents import SCHEMA_REQUEST
from counterfoil.registry.api.openapi.shapes import Property, Shape, properties_of, required
from counterfoil.registry.api.tags import TAG_REQUEST
from counterfoil.schema.rest.associations import BOND, HISTORY, RESOURCE
from counterfoil.schema.rest.config import CONFIG, CONFIG_KEYS, LEVEL_IN_FORCE
from counterfoil.schema.rest.object_forms import FLAG, INTEGER, TEXT, TEXTS, ListOf
from counterfoil.schema.rest.schemas import SCHEMA

ERROR: Final = Shape(
    "ErrorBody",
    "Any response that is not a success.",
    (
        required("error_code", INTEGER, "The code; its first three digits are the HTTP status."),
        required("message", TEXT, "What was wrong, where, and what would be right."),
    ),
)

_TAGGED: Final = Shape(
    "TaggedEntityBody",
    "A part of a schema that can have tags: a record or a field.",
    (
        required("entityPath", TEXT, "Such as ns.Order, ns.Order.id, object.id."),
        required("entityType", TEXT, "sr_record or sr_field."),
    ),
)
_ENTITY_TAGS: Final = Shape(
    "EntityTagsBody",
    "Tags of one part of a schema.",
    (required("schemaEntity", _TAGGED), required("tags", TEXTS)),
)

# --- requests

REQUESTED_SCHEMA: Final = Shape("SchemaBody", "A schema to register, look up or test.", properties_of(SCHEMA_REQUEST))
REGISTRATION: Final = REQUESTED_SCHEMA.extended(
    "RegistrationBody",
    "A schema to register.",
    Property("schemaTagsToAdd", ListOf(_ENTITY_TAGS), "Tags to write into the text."),
    Property("schemaTagsToRemove", ListOf(_ENTITY_TAGS), "Tags to remove from the text."),
    Property("propagateSchemaTags", FLAG, "Whether the tags of the latest version are copied."),
)
TAGS: Final = Shape(
    "TagBody",
    "What to change in a version.",
    (
        *properties_of(TAG_REQUEST),
        Property("tagsToAdd", ListOf(_ENTITY_TAGS)),
        Property("tagsToRemove", ListOf(_ENTITY_TAGS)),
    ),
)
CONFIG_UPDATE: Final = Shape(
    "ConfigUpdateBody", "Changes to a config: an absent field is not changed, null clears.", properties_of(CONFIG)
)

# --- responses

_SCHEMA: Final = Shape("", "", properties_of(SCHEMA))
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
    Property(_TS.key, INTEGER, _TS.about),
    Property(_DELETED.key, FLAG, _DELETED.about),
)
STORED_VERSION: Final = REGISTERED.extended("VersionBody", "One version of a subject.", _SUBJECT)
ASSOCIATION: Final = Shape(
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
    Property("aliases", TEXTS),
    Property("associations", ListOf(ASSOCIATION), "Those that the query selects."),
)
SCHEMA_BY_ID: Final = _SCHEMA.extended(
    "SchemaByIdBody",
    "The schema of an id, and one version that has it.",
    _SUBJECT,
    _VERSION,
    Property("id", INTEGER, "The id itself, for Confluent's Python client, which reads it."),
    _GUID,
    Property("maxId", INTEGER, "The highest id of the context, if the query requests it."),
    Property("subjects", TEXTS, "The subjects that have the id, if the query requests them."),
    _TS,
    _DELETED,
)
SCHEMA_BY_GUID: Final = _SCHEMA.extended("SchemaByGuidBody", "The schema of a guid.", _GUID, _TS, _DELETED)
CONFIG_IN_FORCE: Final = Shape(
    "ConfigBody",
    f"A config as it is read; the level is called ``{LEVEL_IN_FORCE}`` here.",
    (
        *[each for each in CONFIG_UPDATE.properties if each.key != CONFIG_KEYS["compatibility_level"]],
        required(LEVEL_IN_FORCE, TEXT),
    ),
)
MODE: Final = Shape(
    "ModeBody",
    "A mode; null clears. Absent if many modes were cleared at once, and there was none at this level.",
    (Property("mode", TEXT),),
)
