"""The routes under ``/schemas`` and ``/contexts``."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api import schemas
from counterfoil.registry.api.bodies import LISTED_VERSION, SCHEMA_BY_GUID
from counterfoil.registry.api.routes.access import FOUND, MEMBER, on, the_context
from counterfoil.registry.api.routes.parameters import PAGE
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema import errors
from counterfoil.schema.rest.object_forms import TEXTS, ListOf
from counterfoil.schema.rest.version_forms import CONTEXT_ID, SUBJECT_VERSION

_ID: Final = "/schemas/ids/{id}"

_route = partial(ConfluentRoute, tag="schemas")
_NOT_FOUND: Final = (errors.SchemaNotFound,)

SCHEMA_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _route(
        "GET",
        "/schemas",
        schemas.list_schemas,
        access=FOUND,
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
        result=ListOf(LISTED_VERSION),
        errors=(),
    ),
    _route("GET", "/schemas/types", schemas.list_types, access=MEMBER, result=TEXTS, reads_store=False, errors=()),
    _route(
        "GET",
        f"{_ID}/subjects",
        schemas.list_subjects_of_id,
        access=FOUND,
        query=("subject", "deleted", *PAGE),
        result=TEXTS,
        errors=_NOT_FOUND,
    ),
    _route(
        "GET",
        f"{_ID}/versions",
        schemas.list_versions_of_id,
        access=FOUND,
        query=("subject", "deleted", *PAGE),
        result=ListOf(SUBJECT_VERSION),
        errors=_NOT_FOUND,
    ),
    _route(
        "GET",
        "/schemas/guids/{guid}",
        schemas.get_by_guid,
        access=FOUND,
        query=("format",),
        result=SCHEMA_BY_GUID,
        has_tag=True,
        errors=_NOT_FOUND,
    ),
    _route(
        "GET", "/schemas/guids/{guid}/ids", schemas.list_ids_of_guid, access=FOUND, result=ListOf(CONTEXT_ID), errors=()
    ),
    ConfluentRoute(
        "GET",
        "/contexts",
        schemas.list_contexts,
        access=FOUND,
        tag="contexts",
        query=("contextPrefix", *PAGE),
        result=TEXTS,
        errors=(),
    ),
    ConfluentRoute(
        "DELETE",
        "/contexts/{context}",
        schemas.delete_context,
        access=on(Operation.ALTER_CONFIGS, the_context),
        tag="contexts",
        errors=(errors.ContextNotEmpty, errors.OperationNotPermitted),
    ),
)
