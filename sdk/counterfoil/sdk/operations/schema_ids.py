"""Schemas by their ids and guids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.rest.json_values import read_text
from counterfoil.schema.rest.schemas import SCHEMA
from counterfoil.schema.rest.version_forms import read_context_ids, read_subject_versions
from counterfoil.sdk.operations.operation import Operation, ReplyForm
from counterfoil.sdk.operations.requests import deleted_query, read_sorted_texts, url_path, url_query

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.versions import ContextId, SubjectVersion, Visibility


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
