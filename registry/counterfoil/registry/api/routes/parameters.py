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
    "aliases": "Also the subjects that aliases stand for.",
    "cascadeLifecycle": "Also delete, for good, the subjects that belong to the resource alone.",
    "defaultToGlobal": "What is in force, not only what is stored here.",
    "deleted": "Soft-deleted versions too.",
    "deletedAsNegative": "All versions, the soft-deleted ones negated.",
    "deletedOnly": "Soft-deleted ones only.",
    "dryRun": "Check everything and change nothing.",
    "fetchMaxId": "Also the highest id of the context.",
    "force": "Leave out the check that may refuse this.",
    "includeSchemas": "With the latest schema of each subject.",
    "includeSubjects": "Also the subjects that hold the id, as Karapace's REST proxy asks.",
    "latestOnly": "The highest version of each subject only.",
    "normalize": "Put everything without meaning into one order first.",
    "permanent": "Remove for good what is soft-deleted already.",
    "rewrap": "Wrap the key that is there anew.",
    "recursive": "Also for every subject of the context.",
    "testSharing": "Try first whether the registry can use a shared key.",
    "verbose": "Say why not.",
}
_TEXTS: Final = {
    "associationType": "`key` or `value`; may be repeated.",
    "findTags": "List what carries one of these tags; `*` is any.",
    "key": "The names of metadata properties.",
    "lifecycle": "`STRONG` or `WEAK`; for schemas also `NONE`: without an association. May be repeated.",
    "value": "The values that belong to `key`, in order.",
    "as_of": "As it was then: the number of a change, or a time like `2026-11-01T12:00:00Z`.",
    "algorithm": "`AES128_GCM`, `AES256_GCM` or `AES256_SIV`; `AES256_GCM` when absent.",
    "context": "The context of the subjects that the body names without one.",
    "contextPrefix": "The beginning of the context's name.",
    "format": "`resolved`: with all referenced types declared.",
    "referenceFormat": "`qualified`: subjects of references with their context.",
    "resourceType": "`topic`, the only one there is.",
    "ruleType": "Only schemas with a rule of this type.",
    "subject": "Picks the context, and the version that is named.",
    "subjectPrefix": "The beginning of the name; `:*:` is all contexts.",
}
_NUMBERS: Final = {"limit": "How many at most.", "offset": "How many to leave out first."}
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
