"""The routes under ``/schemas`` and ``/contexts``."""

from __future__ import annotations

from typing import Final

from counterfoil.registry.api import models, schemas
from counterfoil.registry.api.routes.parameters import PAGE
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.schema import errors

_ID: Final = "/schemas/ids/{id}"

SCHEMA_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    ConfluentRoute(
        "GET",
        "/schemas",
        schemas.list_schemas,
        tag="schemas",
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
        result=list[models.ListedSchemaBody],
        errors=(),
    ),
    ConfluentRoute(
        "GET", "/schemas/types", schemas.list_types, tag="schemas", result=list[str], reads_store=False, errors=()
    ),
    ConfluentRoute(
        "GET",
        f"{_ID}/subjects",
        schemas.list_subjects_of_id,
        tag="schemas",
        query=("subject", "deleted", *PAGE),
        result=list[str],
        errors=(errors.SchemaNotFound,),
    ),
    ConfluentRoute(
        "GET",
        f"{_ID}/versions",
        schemas.list_versions_of_id,
        tag="schemas",
        query=("subject", "deleted", *PAGE),
        result=list[models.SubjectVersionBody],
        errors=(errors.SchemaNotFound,),
    ),
    ConfluentRoute(
        "GET",
        "/schemas/guids/{guid}",
        schemas.get_by_guid,
        tag="schemas",
        query=("format",),
        result=models.SchemaByGuidBody,
        has_tag=True,
        errors=(errors.SchemaNotFound,),
    ),
    ConfluentRoute(
        "GET",
        "/schemas/guids/{guid}/ids",
        schemas.list_ids_of_guid,
        tag="schemas",
        result=list[models.ContextIdBody],
        errors=(),
    ),
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
