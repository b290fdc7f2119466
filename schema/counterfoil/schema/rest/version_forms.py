"""The JSON of versions of subjects, ids and verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from counterfoil.schema.rest.json_values import read_each, read_integer, read_text
from counterfoil.schema.rest.object_forms import FLAG, INTEGER, REQUIRED, TEXT, TEXTS, Member, ObjectForm
from counterfoil.schema.rest.schemas import SCHEMA
from counterfoil.schema.rest.versions import Compatibility, ContextId, RegisteredSchema, SubjectVersion
from counterfoil.schema.wire import MAX_SCHEMA_ID

if TYPE_CHECKING:
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.json_values import JsonValue

SUBJECT_VERSION: Final = ObjectForm(
    SubjectVersion,
    (
        Member("subject", "subject", TEXT, otherwise=REQUIRED),
        Member("version", "version", INTEGER, otherwise=REQUIRED),
    ),
)
CONTEXT_ID: Final = ObjectForm(
    ContextId,
    (Member("context", "context", TEXT, otherwise=REQUIRED), Member("id", "id", INTEGER, otherwise=REQUIRED)),
)
COMPATIBILITY: Final = ObjectForm(
    Compatibility,
    (
        Member("is_compatible", "is_compatible", FLAG, otherwise=REQUIRED),
        Member("messages", "messages", TEXTS),
    ),
    keeps_empty=True,
)


def read_guid(value: JsonValue) -> UUID:
    """Return the guid in ``value``, in any form of a UUID."""
    return value.parsed(UUID, "a guid")


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
