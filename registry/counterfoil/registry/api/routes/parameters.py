"""The OpenAPI description of the requests of Confluent's API.

FastAPI does not read them: :class:`~counterfoil.registry.api.call.Call` does, as Confluent's registry reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.api.openapi.shapes import schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.rest.object_forms import Described

AS_OF: Final = "as_of"
"""The query parameter that requests the past."""

PAGE: Final = ("offset", "limit")
"""The query parameters of a list that is returned in parts."""

_FLAGS: Final = {
    "aliases": "Also list subjects by their aliases.",
    "cascadeLifecycle": "Also hard-delete the subjects that belong to this resource only.",
    "defaultToGlobal": "Return what is in effect, not only what is stored at this level.",
    "deleted": "Include soft-deleted versions.",
    "deletedAsNegative": "Return all versions; the numbers of soft-deleted ones are negative.",
    "deletedOnly": "Return only soft-deleted ones.",
    "dryRun": "Check the request, and change nothing.",
    "fetchMaxId": "Also return the highest id of the context.",
    "force": "Skip the check that may refuse this request.",
    "includeSchemas": "Also return the latest schema of each subject.",
    "includeSubjects": "Also return the subjects that have the id, for Karapace's REST proxy.",
    "latestOnly": "Return only the highest version of each subject.",
    "normalize": "Normalize the schema first.",
    "permanent": "Remove what is already soft-deleted.",
    "rewrap": "Wrap the stored key again.",
    "recursive": "Also delete the modes of all subjects of the context.",
    "testSharing": "First test whether the registry can use a shared key.",
    "verbose": "Return the reasons of an incompatibility.",
}
_TEXTS: Final = {
    "associationType": "`key` or `value`; may be repeated.",
    "findTags": "Also return the parts of the schema that have one of these tags; `*` is any tag.",
    "key": "The names of metadata properties.",
    "lifecycle": "`STRONG` or `WEAK`; for schemas also `NONE`: without an association. May be repeated.",
    "value": "The values for the names in `key`, in the same order.",
    "as_of": "Return the state as of this moment: the number of a change, or a time such as `2026-11-01T12:00:00Z`.",
    "algorithm": "`AES128_GCM`, `AES256_GCM` (the default) or `AES256_SIV`.",
    "context": "The context of subjects whose names in the body have no context.",
    "contextPrefix": "The beginning of the context's name.",
    "format": "The format of the text, such as `resolved`: the text declares all referenced types.",
    "referenceFormat": "`qualified`: the subjects of references have their context.",
    "resourceType": "`topic`, which is the only type.",
    "ruleType": "Return only schemas with a rule of this type.",
    "subject": "Selects the context, and the version that is returned.",
    "subjectPrefix": "The beginning of the name; `:*:` is all contexts.",
}
_NUMBERS: Final = {"limit": "The largest number of entries.", "offset": "The number of entries to skip."}
_LISTS: Final = frozenset({"associationType", "findTags", "key", "lifecycle", "value"})


def described_request(path: str, query: Sequence[str], body: Described | None) -> dict[str, Any]:
    """Return a request's OpenAPI description: the parameters in the path, those in ``query``, the body's shape.

    >>> described_request("/mode/{subject}", (), None)
    {'parameters': [{'name': 'subject', 'in': 'path', 'required': True, 'schema': {'type': 'string'}}]}
    """
    names = [segment[1:-1] for segment in path.split("/") if segment.startswith("{")]
    described: dict[str, Any] = {"parameters": [*map(_path_parameter, names), *map(_query_parameter, query)]}
    if body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema_of(body)}},
        }
    return described


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if name == "id" else "string"}}


def _query_parameter(name: str) -> dict[str, Any]:
    kind = "boolean" if name in _FLAGS else "integer" if name in _NUMBERS else "string"
    shape = {"type": "array", "items": {"type": kind}} if name in _LISTS else {"type": kind}
    description = {**_FLAGS, **_TEXTS, **_NUMBERS}[name]
    return {"name": name, "in": "query", "description": description, "schema": shape}
