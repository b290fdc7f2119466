"""The routes as a table: method, path, operation, and what the description says. The most used come first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.api import levels, models, schemas, server, subjects
from counterfoil.registry.api.changes import pages as changes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import BaseModel

    from counterfoil.registry.api.call import Call

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
    "after": "The number of the last change that is known already, or `latest`.",
    "as_of": "As it was then: the number of a change, or a time like `2026-11-01T12:00:00Z`.",
    "algorithm": "`AES128_GCM`, `AES256_GCM` or `AES256_SIV`; `AES256_GCM` when absent.",
    "associationType": "`key` or `value`; may be repeated.",
    "context": "The context of the subjects that the body names without one.",
    "contextPrefix": "The beginning of the context's name.",
    "findTags": "List what carries one of these tags; `*` is any.",
    "format": "`resolved`: with all referenced types declared.",
    "kind": "Only changes of these kinds, with commas between.",
    "key": "The names of metadata properties.",
    "lifecycle": "`STRONG` or `WEAK`; for schemas also `NONE`: without an association. May be repeated.",
    "referenceFormat": "`qualified`: subjects of references with their context.",
    "resourceType": "`topic`, the only one there is.",
    "ruleType": "Only schemas with a rule of this type.",
    "subject": "Picks the context, and the version that is named.",
    "subjectPrefix": "The beginning of the name; `:*:` is all contexts.",
    "value": "The values that belong to `key`, in order.",
}
_NUMBERS: Final = {"limit": "How many at most.", "offset": "How many to leave out first."}
_LISTS: Final = frozenset({"associationType", "findTags", "key", "lifecycle", "value"})
_PAGE: Final = ("offset", "limit")
AS_OF: Final = "as_of"
"""The query parameter that asks about the past."""


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the table. ``query`` names the parameters, ``body`` and ``result`` the shapes.

    ``status`` is that of a success with a result.
    ``has_tag``: the answer hardly ever changes, so that it carries an entity tag, and is not sent again to who has it.
    ``reads_store``: whoever answers has to know first what other servers have written.
    ``looks_up``: it is a POST, and asks for something that is stored, as every GET does.
    """

    method: str
    path: str
    operation: Callable[[Call], Awaitable[Any]]
    tag: str
    query: tuple[str, ...] = ()
    body: type[BaseModel] | None = None
    result: Any = None
    status: int = 200
    has_tag: bool = False
    reads_store: bool = True
    looks_up: bool = False

    @property
    def may_be_stale(self) -> bool:
        """Whether it is answered from memory while the store is away.

        Tests of compatibility are not: somebody acts on the verdict.
        """
        return self.reads_store and (self.method == "GET" or self.looks_up)

    def openapi(self) -> dict[str, Any]:
        """What the description says of the parameters and the body."""
        found: dict[str, Any] = {"parameters": [_path_parameter(name) for name in _path_names(self.path)]}
        found["parameters"] += [_query_parameter(name) for name in self.query]
        if self.body is not None:
            found["requestBody"] = {"required": True, "content": {"application/json": {"schema": _shape(self.body)}}}
        return found


@cache
def _shape(body: type[BaseModel]) -> dict[str, Any]:
    """The body's JSON schema without those that it refers to; worked out once, since it takes milliseconds."""
    shape = body.model_json_schema(ref_template="#/components/schemas/{model}")
    shape.pop("$defs", None)
    return shape


def _path_names(path: str) -> list[str]:
    return [segment[1:-1] for segment in path.split("/") if segment.startswith("{")]


def _path_parameter(name: str) -> dict[str, Any]:
    kind = "integer" if name == "id" else "string"
    return {"name": name, "in": "path", "required": True, "schema": {"type": kind}}


def _query_parameter(name: str) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "boolean" if name in _FLAGS else "integer" if name in _NUMBERS else "string"}
    if name in _LISTS:
        shape = {"type": "array", "items": shape}
    description = {**_FLAGS, **_TEXTS, **_NUMBERS}[name]
    return {"name": name, "in": "query", "description": description, "schema": shape}


_VERSIONS: Final = "/subjects/{subject}/versions"
_VERSION: Final = "/subjects/{subject}/versions/{version}"
_ID: Final = "/schemas/ids/{id}"
_COMPATIBILITY: Final = "/compatibility/subjects/{subject}/versions"
_SCHEMA: Final = models.SchemaBody

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        _ID,
        schemas.get_by_id,
        "schemas",
        ("subject", "format", "referenceFormat", "findTags", "fetchMaxId", "includeSubjects"),
        None,
        models.SchemaByIdBody,
        has_tag=True,
    ),
    Route(
        "POST",
        _VERSIONS,
        subjects.register,
        "subjects",
        ("normalize", "format", "force"),
        models.RegistrationBody,
        models.RegisteredBody,
    ),
    Route(
        "POST",
        "/subjects/{subject}",
        subjects.look_up,
        "subjects",
        ("normalize", "format", "deleted"),
        _SCHEMA,
        models.VersionBody,
        looks_up=True,
    ),
    Route(
        "GET",
        _VERSION,
        subjects.get_version,
        "subjects",
        ("format", "referenceFormat", "deleted", "findTags", AS_OF),
        None,
        models.VersionBody,
    ),
    Route("GET", f"{_ID}/schema", schemas.get_text_by_id, "schemas", ("subject", "format"), None, str, has_tag=True),
    Route(
        "GET",
        "/subjects",
        subjects.list_subjects,
        "subjects",
        ("subjectPrefix", "deleted", "deletedOnly", *_PAGE, AS_OF),
        None,
        list[str],
    ),
    Route(
        "GET",
        _VERSIONS,
        subjects.list_versions,
        "subjects",
        ("deleted", "deletedOnly", "deletedAsNegative", *_PAGE, AS_OF),
        None,
        list[int],
    ),
    Route("DELETE", "/subjects/{subject}", subjects.delete_subject, "subjects", ("permanent",), None, list[int]),
    Route(
        "GET",
        "/subjects/{subject}/metadata",
        subjects.find_by_metadata,
        "subjects",
        ("key", "value", "format", "deleted"),
        None,
        models.VersionBody,
    ),
    Route("POST", f"{_VERSION}/tags", subjects.tag_version, "subjects", (), models.TagBody, models.RegisteredBody),
    Route("GET", f"{_VERSION}/schema", subjects.get_version_text, "subjects", ("format", "deleted", AS_OF), None, str),
    Route(
        "GET",
        "/subjects/{subject}/changes",
        changes.list_changes_of_subject,
        "changes",
        ("after", "limit", "kind"),
        None,
        models.ChangesBody,
    ),
    Route("GET", f"{_VERSION}/referencedby", subjects.list_referrers, "subjects", ("deleted", *_PAGE), None, list[int]),
    Route("DELETE", _VERSION, subjects.delete_version, "subjects", ("permanent",), None, int),
    Route(
        "POST",
        f"{_COMPATIBILITY}/{{version}}",
        levels.test_against_version,
        "compatibility",
        ("normalize", "verbose", AS_OF),
        _SCHEMA,
        models.CompatibilityBody,
    ),
    Route(
        "POST",
        _COMPATIBILITY,
        levels.test_against_all,
        "compatibility",
        ("normalize", "verbose", AS_OF),
        _SCHEMA,
        models.CompatibilityBody,
    ),
    Route(
        "GET",
        "/schemas",
        schemas.list_schemas,
        "schemas",
        (
            "subjectPrefix",
            "aliases",
            "deleted",
            "latestOnly",
            "ruleType",
            "resourceType",
            "associationType",
            "lifecycle",
            *_PAGE,
        ),
        None,
        list[models.ListedSchemaBody],
    ),
    Route("GET", "/schemas/types", schemas.list_types, "schemas", (), None, list[str], reads_store=False),
    Route(
        "GET",
        f"{_ID}/subjects",
        schemas.list_subjects_of_id,
        "schemas",
        ("subject", "deleted", *_PAGE),
        None,
        list[str],
    ),
    Route(
        "GET",
        f"{_ID}/versions",
        schemas.list_versions_of_id,
        "schemas",
        ("subject", "deleted", *_PAGE),
        None,
        list[models.SubjectVersionBody],
    ),
    Route(
        "GET",
        "/schemas/guids/{guid}",
        schemas.get_by_guid,
        "schemas",
        ("format",),
        None,
        models.SchemaByGuidBody,
        has_tag=True,
    ),
    Route(
        "GET", "/schemas/guids/{guid}/ids", schemas.list_ids_of_guid, "schemas", (), None, list[models.ContextIdBody]
    ),
    Route("GET", "/config", levels.get_config, "config", ("defaultToGlobal", AS_OF), None, models.ConfigBody),
    Route("PUT", "/config", levels.put_config, "config", (), models.ConfigUpdateBody, models.ConfigUpdateBody),
    Route("DELETE", "/config", levels.delete_config, "config", (), None, models.ConfigBody),
    Route("GET", "/config/{subject}", levels.get_config, "config", ("defaultToGlobal", AS_OF), None, models.ConfigBody),
    Route(
        "PUT", "/config/{subject}", levels.put_config, "config", (), models.ConfigUpdateBody, models.ConfigUpdateBody
    ),
    Route("DELETE", "/config/{subject}", levels.delete_config, "config", (), None, models.ConfigBody),
    Route("GET", "/mode", levels.get_mode, "mode", ("defaultToGlobal", AS_OF), None, models.ModeBody),
    Route("PUT", "/mode", levels.put_mode, "mode", ("force",), models.ModeBody, models.ModeBody),
    Route("DELETE", "/mode", levels.delete_mode, "mode", ("recursive",), None, models.ModeBody),
    Route("GET", "/mode/{subject}", levels.get_mode, "mode", ("defaultToGlobal", AS_OF), None, models.ModeBody),
    Route("PUT", "/mode/{subject}", levels.put_mode, "mode", ("force",), models.ModeBody, models.ModeBody),
    Route("DELETE", "/mode/{subject}", levels.delete_mode, "mode", ("recursive",), None, models.ModeBody),
    Route(
        "GET",
        "/changes",
        changes.list_changes,
        "changes",
        ("after", "limit", "kind", "subjectPrefix"),
        None,
        models.ChangesBody,
    ),
    Route("GET", "/contexts", schemas.list_contexts, "contexts", ("contextPrefix", *_PAGE), None, list[str]),
    Route("DELETE", "/contexts/{context}", schemas.delete_context, "contexts"),
    Route("GET", "/", server.get_root, "server", (), None, dict[str, str], reads_store=False),
    Route("POST", "/", server.post_root, "server", (), None, dict[str, str], reads_store=False),
    Route("GET", "/v1/metadata/id", server.get_cluster_id, "server", (), None, dict[str, Any], reads_store=False),
    Route(
        "GET", "/v1/metadata/version", server.get_server_version, "server", (), None, dict[str, str], reads_store=False
    ),
    Route(
        "GET", "/v1/metadata/deployment", server.get_deployment, "server", (), None, dict[str, Any], reads_store=False
    ),
)
