"""The routes under ``/schemas`` and ``/contexts``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api import schemas
from counterfoil.registry.api.models import ContextIdBody, ListedSchemaBody, SchemaByGuidBody, SubjectVersionBody
from counterfoil.registry.api.routes.parameters import PAGE
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.schema import errors

_ID: Final = "/schemas/ids/{id}"

_route = partial(ConfluentRoute, tag="schemas")
_NOT_FOUND: Final = (errors.SchemaNotFound,)

SCHEMA_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _route(
        "GET",
        "/schemas",
        schemas.list_schemas,
        query=(
            "subjectPrefix",
            "aliases",
            "deleted",
            "latestOnly",
            "ruleType",
            "resourceType",
            "associationType",
            "lifecycle",
            *PAGE,
        ),
        result=list[ListedSchemaBody],
        errors=(),
    ),
    _route("GET", "/schemas/types", schemas.list_types, result=list[str], reads_store=False, errors=()),
    _route(
        "GET",
        f"{_ID}/subjects",
        schemas.list_subjects_of_id,
        query=("subject", "deleted", *PAGE),
        result=list[str],
        errors=_NOT_FOUND,
    ),
    _route(
        "GET",
        f"{_ID}/versions",
        schemas.list_versions_of_id,
        query=("subject", "deleted", *PAGE),
        result=list[SubjectVersionBody],
        errors=_NOT_FOUND,
    ),
    _route(
        "GET",
        "/schemas/guids/{guid}",
        schemas.get_by_guid,
        query=("format",),
        result=SchemaByGuidBody,
        has_tag=True,
        errors=_NOT_FOUND,
    ),
    _route("GET", "/schemas/guids/{guid}/ids", schemas.list_ids_of_guid, result=list[ContextIdBody], errors=()),
    ConfluentRoute(
        "GET",
        "/contexts",
        schemas.list_contexts,
        tag="contexts",
        query=("contextPrefix", *PAGE),
        result=list[str],
        errors=(),
    ),
    ConfluentRoute(
        "DELETE",
        "/contexts/{context}",
        schemas.delete_context,
        tag="contexts",
        errors=(errors.ContextNotEmpty, errors.OperationNotPermitted),
    ),
)
