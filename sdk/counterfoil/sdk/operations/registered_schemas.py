"""Schemas, their subjects, versions and ids; the registry itself: schema types, contexts and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from counterfoil.schema.datum import JsonObject
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.object_forms import JsonValue, read_each, read_integer, read_text, read_texts
from counterfoil.schema.rest.schemas import (
    COMPATIBILITY,
    SCHEMA,
    read_context_ids,
    read_registered,
    read_registration,
    read_subject_versions,
    schema_request,
)
from counterfoil.schema.rest.versions import (
    Compatibility,
    ContextId,
    Deletion,
    RegisteredSchema,
    SubjectVersion,
    VersionNumber,
    Visibility,
)
from counterfoil.sdk.operations.operation import (
    Operation,
    ReplyForm,
    deleted_query,
    json_body,
    read_nothing,
    read_object,
    read_objects,
    read_sorted_texts,
    unicode_text,
    url_path,
    url_query,
)

# Subjects and their versions: listing, registration, lookup, compatibility, deletion.


def subjects(*, prefix: str | None, visibility: Visibility) -> Operation[tuple[str, ...]]:
    """``GET /subjects``."""
    query = url_query(subjectPrefix=prefix) + deleted_query(visibility)
    return Operation("subjects", "GET", "/subjects", read_texts, query)


def schemas(
    *, prefix: str | None, visibility: Visibility, latest_only: bool, aliases: bool
) -> Operation[tuple[JsonObject, ...]]:
    """``GET /schemas``: versions with their schemas.

    ``prefix`` is the beginning of subjects; None means the default context, ``:*:`` every context. ``aliases``: also
    the subjects that an alias names, with their ``aliases``.
    """
    query = url_query(subjectPrefix=prefix, latestOnly=latest_only, aliases=aliases) + deleted_query(visibility)
    return Operation("schemas", "GET", "/schemas", read_objects, query)


def lookup(subject: str, schema: Schema, *, normalize: bool, visibility: Visibility) -> Operation[RegisteredSchema]:
    """``POST /subjects/{subject}``: the version that holds this content."""
    query = url_query(normalize=normalize) + deleted_query(visibility)
    return Operation(
        "lookup", "POST", url_path("subjects", subject), read_registered, query, json_body(schema_request(schema))
    )


def register(
    subject: str, schema: Schema, *, normalize: bool, schema_id: int | None = None, number: int | None = None
) -> Operation[RegisteredSchema]:
    """``POST /subjects/{subject}/versions``: repeatable, since existing content is found again.

    ``schema_id`` and ``number``, the version, are assigned to the schema in IMPORT mode.
    """
    reader = partial(read_registration, subject, schema)
    path = url_path("subjects", subject, "versions")
    assigned = {name: value for name, value in (("id", schema_id), ("version", number)) if value is not None}
    body = json_body({**schema_request(schema), **assigned})
    return Operation("register", "POST", path, reader, url_query(normalize=normalize), body)


def versions(subject: str, *, visibility: Visibility) -> Operation[tuple[int, ...]]:
    """``GET /subjects/{subject}/versions``."""
    path = url_path("subjects", subject, "versions")
    return Operation("versions", "GET", path, read_each(read_integer), deleted_query(visibility))


def version(subject: str, number: VersionNumber, *, visibility: Visibility) -> Operation[RegisteredSchema]:
    """``GET /subjects/{subject}/versions/{version}``."""
    path = url_path("subjects", subject, "versions", number)
    return Operation("version", "GET", path, read_registered, deleted_query(visibility))


def schema_text(subject: str, number: VersionNumber, *, visibility: Visibility) -> Operation[str]:
    """``GET /subjects/{subject}/versions/{version}/schema``: the bare text."""
    path = url_path("subjects", subject, "versions", number, "schema")
    return Operation("schema_text", "GET", path, read_text, deleted_query(visibility), form=ReplyForm.TEXT)


def version_with_metadata(subject: str, properties: Mapping[str, str]) -> Operation[RegisteredSchema]:
    """``GET /subjects/{subject}/metadata``: the highest version whose metadata has all these properties."""
    pairs = sorted(properties.items())
    query = tuple(("key", unicode_text(key)) for key, _ in pairs)
    query += tuple(("value", unicode_text(value)) for _, value in pairs)
    return Operation("version_with_metadata", "GET", url_path("subjects", subject, "metadata"), read_registered, query)


def referenced_by(subject: str, number: VersionNumber, *, visibility: Visibility) -> Operation[tuple[int, ...]]:
    """``GET /subjects/{subject}/versions/{version}/referencedby``: ids of schemas that refer to this one."""
    path = url_path("subjects", subject, "versions", number, "referencedby")
    return Operation("referenced_by", "GET", path, read_each(read_integer), deleted_query(visibility))


def delete_subject(subject: str, *, deletion: Deletion) -> Operation[tuple[int, ...]]:
    """``DELETE /subjects/{subject}``: the deleted versions. Not repeatable: the second time it is not found."""
    query = url_query(permanent=deletion is Deletion.PERMANENT)
    path = url_path("subjects", subject)
    return Operation("delete_subject", "DELETE", path, read_each(read_integer), query, is_repeatable=False)


def delete_version(subject: str, number: VersionNumber, *, deletion: Deletion) -> Operation[int]:
    """``DELETE /subjects/{subject}/versions/{version}``: the deleted version."""
    query = url_query(permanent=deletion is Deletion.PERMANENT)
    path = url_path("subjects", subject, "versions", number)
    return Operation("delete_version", "DELETE", path, read_integer, query, is_repeatable=False)


def check_compatibility(
    subject: str, schema: Schema, *, number: VersionNumber | None, verbose: bool, normalize: bool
) -> Operation[Compatibility]:
    """``POST /compatibility/subjects/{subject}/versions[/{version}]``: without a version, as a registration checks."""
    segments: Sequence[str | int] = () if number is None else (number,)
    path = url_path("compatibility", "subjects", subject, "versions", *segments)
    query = url_query(verbose=verbose, normalize=normalize)
    return Operation("check_compatibility", "POST", path, COMPATIBILITY.read, query, json_body(schema_request(schema)))


# Schemas by their ids and guids.


def schema_by_id(schema_id: int, *, subject: str | None, with_max_id: bool = False) -> Operation[Schema]:
    """``GET /schemas/ids/{id}``; ``subject`` selects the context that is searched first.

    ``with_max_id``: the JSON also has ``maxId``, the highest id that the context has assigned.
    """
    path = url_path("schemas", "ids", schema_id)
    query = url_query(subject=subject, fetchMaxId=with_max_id)
    return Operation("schema_by_id", "GET", path, SCHEMA.read, query)


def schema_text_by_id(schema_id: int, *, subject: str | None) -> Operation[str]:
    """``GET /schemas/ids/{id}/schema``: the bare text."""
    path = url_path("schemas", "ids", schema_id, "schema")
    return Operation("schema_text_by_id", "GET", path, read_text, url_query(subject=subject), form=ReplyForm.TEXT)


def subjects_of_id(schema_id: int, *, subject: str | None, visibility: Visibility) -> Operation[tuple[str, ...]]:
    """``GET /schemas/ids/{id}/subjects``."""
    path = url_path("schemas", "ids", schema_id, "subjects")
    query = url_query(subject=subject) + deleted_query(visibility)
    return Operation("subjects_of_id", "GET", path, read_sorted_texts, query)


def versions_of_id(
    schema_id: int, *, subject: str | None, visibility: Visibility
) -> Operation[tuple[SubjectVersion, ...]]:
    """``GET /schemas/ids/{id}/versions``."""
    path = url_path("schemas", "ids", schema_id, "versions")
    query = url_query(subject=subject) + deleted_query(visibility)
    return Operation("versions_of_id", "GET", path, read_subject_versions, query)


def schema_by_guid(guid: UUID | str) -> Operation[Schema]:
    """``GET /schemas/guids/{guid}``."""
    return Operation("schema_by_guid", "GET", url_path("schemas", "guids", str(guid)), SCHEMA.read)


def ids_of_guid(guid: UUID | str) -> Operation[tuple[ContextId, ...]]:
    """``GET /schemas/guids/{guid}/ids``."""
    return Operation("ids_of_guid", "GET", url_path("schemas", "guids", str(guid), "ids"), read_context_ids)


# The registry itself: its schema types, contexts and changes.


def ping() -> Operation[None]:
    """``GET /schemas/types``: whether a registry is there; the root has no response under the URL of a context."""
    return Operation("ping", "GET", "/schemas/types", _any_texts)


def _any_texts(reply: JsonValue) -> None:
    """Check that the response is a list of texts, and ignore them."""
    read_texts(reply)


def schema_types() -> Operation[tuple[str, ...]]:
    """``GET /schemas/types``: the names of the schema types that it accepts."""
    return Operation("schema_types", "GET", "/schemas/types", read_sorted_texts)


def contexts() -> Operation[tuple[str, ...]]:
    """``GET /contexts``: the default one, ``.``, first."""
    return Operation("contexts", "GET", "/contexts", read_texts)


def delete_context(context: str) -> Operation[None]:
    """``DELETE /contexts/{context}``: delete an empty context."""
    path = url_path("contexts", context)
    return Operation("delete_context", "DELETE", path, read_nothing, form=ReplyForm.NOTHING)


def changes(*, after: str | None, limit: int | None) -> Operation[JsonObject]:
    """``GET /changes``, of this project's registry: the changes after a position, such as ``"latest"``."""
    return Operation("changes", "GET", "/changes", read_object, url_query(after=after, limit=limit))
