"""The documents of this API: what callers send and get, around the values of the domain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.registry.api.tags import read_tag_edit
from counterfoil.registry.domain.content import make_content
from counterfoil.registry.domain.documents import (
    Document,
    config_document,
    metadata_document,
    read_metadata,
    read_reference,
    read_rule_set,
    reference_document,
    rule_set_document,
)
from counterfoil.registry.domain.json_fields import boolean_of, integer_of, list_of, object_of, optional, text_of
from counterfoil.registry.service.requests import SchemaRequest
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from counterfoil.registry.domain.config import Config
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.versions import VersionEntry
    from counterfoil.registry.service.catalog import ById
    from counterfoil.registry.service.lookup import Stored
    from counterfoil.registry.service.registration import Registered
    from counterfoil.registry.service.storage import Use


def read_schema_request(value: object) -> SchemaRequest:
    """The schema request in a body; an unknown field is ignored."""
    fields = object_of(value, "The request body")
    schema_id = optional(fields, "id", integer_of)
    version = optional(fields, "version", integer_of)
    schema_type = optional(fields, "schemaType", text_of)
    return SchemaRequest(
        text=optional(fields, "schema", text_of),
        schema_type=SchemaType.AVRO.value if schema_type is None else schema_type,
        references=optional(fields, "references", lambda items, at: list_of(items, at, read_reference)) or (),
        metadata=optional(fields, "metadata", read_metadata),
        rule_set=optional(fields, "ruleSet", read_rule_set),
        schema_id=None if schema_id is None or schema_id < 0 else schema_id,
        version=version or None,
    )


def read_registration(value: object) -> SchemaRequest:
    """The same with the fields about tags, which only a registration knows."""
    fields = object_of(value, "The request body")
    request = read_schema_request(fields)
    tag_edit = read_tag_edit(fields, add="schemaTagsToAdd", remove="schemaTagsToRemove")
    propagates = optional(fields, "propagateSchemaTags", boolean_of) or False
    return replace(request, tag_edit=tag_edit, propagates_tags=propagates) if tag_edit or propagates else request


def _content_fields(content: Content, *, text: str) -> Document:
    document: Document = {"guid": str(content.guid), "schemaType": content.schema_type.value}
    if content.references:
        document["references"] = [reference_document(reference) for reference in content.references]
    if content.metadata is not None:
        document["metadata"] = metadata_document(content.metadata)
    if content.rule_set is not None:
        document["ruleSet"] = rule_set_document(content.rule_set)
    document["schema"] = text
    return document


def _times(entry: VersionEntry | Use) -> Document:
    return {"ts": entry.ts, "deleted": entry.deleted}


def registered_document(registered: Registered, *, text: str) -> Document:
    """The answer to a registration."""
    document: Document = {"id": registered.schema_id, "version": registered.version}
    document.update(_content_fields(registered.content, text=text))
    if registered.entry is not None:
        document.update(_times(registered.entry))
    return document


def version_document(stored: Stored, *, text: str, qualified: bool = False) -> Document:
    """One stored version; ``qualified`` prints the subjects of references with their context."""
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
    """What an id stands for; ``with_id`` repeats the id."""
    document: Document = {"subject": str(found.use.subject), "version": found.use.version}
    if with_id:
        document["id"] = found.schema_id
    content = _qualified(found.content, found.context, text) if qualified else found.content
    document.update(_content_fields(content, text=text))
    document.update(_times(found.use))
    return document


def by_guid_document(found: ById, *, text: str) -> Document:
    """What a fingerprint stands for."""
    return {**_content_fields(found.content, text=text), **_times(found.use)}


def _qualified(content: Content, context: str, text: str) -> Content:
    """``content`` as it would be, had its references been written with their context.

    The guid is of that form too, with the ``text`` that is answered.
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
    """A config as GET and DELETE print it: the level is there always, under the name ``compatibilityLevel``."""
    document = config_document(config)
    document.pop("compatibility", None)
    document["compatibilityLevel"] = config.level.value
    return {key: value for key, value in document.items() if value != ""}
