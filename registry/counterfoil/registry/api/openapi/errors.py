"""Which errors each route can answer, for the description of the API."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.api.models import ErrorBody
from counterfoil.registry.api.routes import AS_OF
from counterfoil.schema import errors

if TYPE_CHECKING:
    from counterfoil.registry.api.routes import Route
    from counterfoil.schema.errors import RegistryError

_ANYWHERE: Final = (
    errors.BadRequest,
    errors.Forbidden,
    errors.NotFound,
    errors.NotAcceptable,
    errors.SlowRequest,
    errors.RequestTooLarge,
    errors.HeadTooLarge,
    errors.StoreUnavailable,
    errors.StoreTimeout,
    errors.TooManyConnections,
    errors.AnswerTimeout,
)
_WITH_BODY: Final = (errors.UnsupportedMediaType, errors.MissingBody)
_VERSION: Final = (errors.InvalidVersion, errors.SubjectNotFound, errors.VersionNotFound)
_WRITE: Final = (errors.OperationNotPermitted,)
_ASSOCIATE: Final = (
    errors.AssociationNotFound,
    errors.IncompatibleSchema,
    errors.AssociationExists,
    errors.SubjectAssociated,
    errors.SubjectOwned,
    errors.AssociatedSubjectEmpty,
    errors.AssociationFrozen,
    errors.InvalidSchema,
    errors.InvalidSubject,
    errors.InvalidRuleSet,
    errors.InvalidAssociation,
    errors.ReferenceExists,
    *_WRITE,
)
_KEY_WRITE: Final = (errors.KeyNotFound, errors.InvalidKey, errors.OperationNotPermitted)
_WRAP: Final = (errors.KeyAccessDenied, errors.KeyWrapFailed)
_WAIT_STATUS: Final = 503

_KEKS: Final = "/dek-registry/v1/keks"
_KEK: Final = f"{_KEKS}/{{name}}"
_DEK: Final = f"{_KEK}/deks/{{subject}}"

_BY_ROUTE: Final[dict[str, tuple[type[RegistryError], ...]]] = {
    "GET /schemas/ids/{id}": (errors.SchemaNotFound,),
    "GET /schemas/ids/{id}/schema": (errors.SchemaNotFound,),
    "GET /schemas/ids/{id}/subjects": (errors.SchemaNotFound,),
    "GET /schemas/ids/{id}/versions": (errors.SchemaNotFound,),
    "GET /schemas/guids/{guid}": (errors.SchemaNotFound,),
    "GET /schemas/guids/{guid}/ids": (),
    "GET /schemas/types": (),
    "GET /schemas": (),
    "GET /subjects": (),
    "POST /subjects/{subject}": (errors.InvalidSchema, errors.SubjectNotFound, errors.SchemaNotFound),
    "DELETE /subjects/{subject}": (
        errors.SubjectNotFound,
        errors.SubjectSoftDeleted,
        errors.SubjectNotSoftDeleted,
        errors.SubjectAssociated,
        errors.ReferenceExists,
        *_WRITE,
    ),
    "GET /subjects/{subject}/metadata": (errors.SubjectNotFound, errors.SchemaNotFound),
    "GET /subjects/{subject}/versions": (errors.SubjectNotFound,),
    "POST /subjects/{subject}/versions": (
        errors.IncompatibleSchema,
        errors.InvalidSchema,
        errors.InvalidSubject,
        errors.InvalidRuleSet,
        errors.SchemaTooLarge,
        *_WRITE,
    ),
    "GET /subjects/{subject}/versions/{version}": _VERSION,
    "GET /subjects/{subject}/versions/{version}/schema": _VERSION,
    "GET /subjects/{subject}/versions/{version}/referencedby": _VERSION,
    "DELETE /subjects/{subject}/versions/{version}": (
        *_VERSION,
        errors.VersionSoftDeleted,
        errors.VersionNotSoftDeleted,
        errors.AssociatedSubjectEmpty,
        errors.ReferenceExists,
        *_WRITE,
    ),
    "POST /subjects/{subject}/versions/{version}/tags": (
        *_VERSION,
        errors.IncompatibleSchema,
        errors.InvalidSchema,
        errors.InvalidSubject,
        errors.InvalidRuleSet,
        errors.SchemaTooLarge,
        *_WRITE,
    ),
    "POST /compatibility/subjects/{subject}/versions": (errors.InvalidSchema,),
    "POST /compatibility/subjects/{subject}/versions/{version}": (
        errors.InvalidVersion,
        errors.VersionNotFound,
        errors.InvalidSchema,
    ),
    "GET /config": (),
    "GET /config/{subject}": (errors.ConfigNotFound,),
    "GET /mode": (),
    "GET /mode/{subject}": (errors.ModeNotFound,),
    "PUT /config": (errors.InvalidCompatibilityLevel, errors.InvalidRuleSet, *_WRITE),
    "PUT /config/{subject}": (
        errors.InvalidCompatibilityLevel,
        errors.InvalidRuleSet,
        errors.InvalidSubject,
        *_WRITE,
    ),
    "DELETE /config": _WRITE,
    "DELETE /config/{subject}": (errors.SubjectNotFound, *_WRITE),
    "PUT /mode": (errors.InvalidMode, errors.ReferenceExists, *_WRITE),
    "PUT /mode/{subject}": (errors.InvalidMode, errors.InvalidSubject, errors.ReferenceExists, *_WRITE),
    "DELETE /mode": _WRITE,
    "DELETE /mode/{subject}": (errors.SubjectNotFound, *_WRITE),
    "GET /changes": (),
    "GET /subjects/{subject}/changes": (errors.SubjectNotFound,),
    "GET /contexts": (),
    "DELETE /contexts/{context}": (errors.ContextNotEmpty, *_WRITE),
    "GET /": (),
    "POST /": (),
    "GET /v1/metadata/id": (),
    "GET /v1/metadata/version": (),
    "GET /v1/metadata/deployment": (),
    "GET /associations/subjects/{subject}": (errors.InvalidAssociation,),
    "GET /associations/resources/{namespace}/{name}": (errors.InvalidAssociation,),
    "GET /associations/resources/{resourceId}": (errors.InvalidAssociation,),
    "POST /associations": _ASSOCIATE,
    "PUT /associations/resources/{resourceId}": _ASSOCIATE,
    "DELETE /associations/resources/{resourceId}": (
        errors.AssociationNotFound,
        errors.AssociationFrozen,
        errors.InvalidAssociation,
        errors.ReferenceExists,
        *_WRITE,
    ),
    "POST /associations:batchGet": (errors.InvalidAssociation,),
    "POST /associations:batchMutate": (errors.InvalidAssociation,),
    f"GET {_KEKS}": (),
    f"POST {_KEKS}": (*_KEY_WRITE, errors.KeyExists, errors.TooManyKeys, *_WRAP),
    f"GET {_KEK}": (errors.KeyNotFound, errors.InvalidKey),
    f"PUT {_KEK}": (*_KEY_WRITE, *_WRAP),
    f"DELETE {_KEK}": (*_KEY_WRITE, errors.KeyInUse, errors.KeyNotSoftDeleted),
    f"POST {_KEK}/undelete": _KEY_WRITE,
    f"POST {_KEK}/test": (*_KEY_WRITE, *_WRAP),
    f"GET {_KEK}/deks": (errors.KeyNotFound, errors.InvalidKey),
    f"POST {_KEK}/deks": (*_KEY_WRITE, errors.KeyExists, errors.TooManyKeys, *_WRAP),
    f"GET {_DEK}": (errors.KeyNotFound, errors.InvalidKey, *_WRAP),
    f"POST {_DEK}": (*_KEY_WRITE, errors.KeyExists, errors.TooManyKeys, *_WRAP),
    f"DELETE {_DEK}": (*_KEY_WRITE, errors.KeyNotSoftDeleted),
    f"POST {_DEK}/undelete": (*_KEY_WRITE, errors.KeyEncryptionKeyDeleted),
    f"GET {_DEK}/versions": (errors.KeyNotFound, errors.InvalidKey),
    f"GET {_DEK}/versions/{{version}}": (errors.InvalidVersion, errors.KeyNotFound, errors.InvalidKey, *_WRAP),
    f"DELETE {_DEK}/versions/{{version}}": (errors.InvalidVersion, *_KEY_WRITE, errors.KeyNotSoftDeleted),
    f"POST {_DEK}/versions/{{version}}/undelete": (
        errors.InvalidVersion,
        *_KEY_WRITE,
        errors.KeyEncryptionKeyDeleted,
    ),
}
"""What beside the errors that any request can bring about. A route that is not here is described by a default."""


def described_errors(route: Route) -> dict[int | str, dict[str, Any]]:
    """The answers of a route that are no success, by status, in the terms of OpenAPI."""
    own = _BY_ROUTE.get(f"{route.method} {route.path}")
    if own is None:
        return {"default": {"model": ErrorBody, "description": "Not a success."}}
    then = (errors.SchemaNotFound,) if AS_OF in route.query else ()  # what was there then, and is gone for good
    with_body = _WITH_BODY if route.method in {"POST", "PUT"} else ()
    kinds_by_status: dict[int, list[type[RegistryError]]] = defaultdict(list)
    for kind in sorted({*_ANYWHERE, *with_body, *then, *own}, key=lambda kind: kind.code):
        kinds_by_status[int(kind.status)].append(kind)
        if kind in {
            errors.StoreUnavailable,
            errors.StoreTimeout,
        }:  # where waiting helps, it is no error of the server's own
            kinds_by_status[_WAIT_STATUS].append(kind)
    return {
        status: {"model": ErrorBody, "description": "  \n".join(map(_line, kinds))}
        for status, kinds in sorted(kinds_by_status.items())
    }


def _line(kind: type[RegistryError]) -> str:
    return f"`{kind.code}`: {(kind.__doc__ or '').splitlines()[0]}"
