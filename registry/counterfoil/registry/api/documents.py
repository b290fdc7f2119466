"""The documents of this API: the bodies that clients send and receive, around the values of the domain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.api.tags import NUMBER_OR_NONE, read_tag_edit
from counterfoil.registry.domain.config import level_of
from counterfoil.registry.domain.content import make_content
from counterfoil.registry.service.requests import SchemaRequest
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.config import CONFIG_KEYS, LEVEL_IN_FORCE, config_document
from counterfoil.schema.rest.json_values import RequestJson, read_flag
from counterfoil.schema.rest.object_forms import INTEGER, TEXT, Member, ObjectForm
from counterfoil.schema.rest.schemas import BESIDE_TEXT, schema_document

if TYPE_CHECKING:
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.versions import Use, VersionEntry
    from counterfoil.registry.service.catalog import ById
    from counterfoil.registry.service.lookup import Stored
    from counterfoil.registry.service.registration import Registered
    from counterfoil.schema.rest.config import Config
    from counterfoil.schema.rest.json_values import JsonValue
    from counterfoil.schema.rest.object_forms import Document


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


def _times(entry: VersionEntry | Use) -> Document:
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
