"""The shapes of bodies and of requests in the OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from counterfoil.schema.rest.object_forms import (
    Document,
    HasJsonSchema,
    JsonSchema,
    JsonType,
    JsonValue,
    ListOf,
    ObjectForm,
    read_text,
)

# The shapes of bodies in the OpenAPI description, made from the forms of :mod:`counterfoil.schema.rest`.

_PLACE: Final = "#/components/schemas/"

SCHEMA_TEXT: Final = JsonType(read_text)
"""The text of a schema as the body."""
ANY_OBJECT: Final = JsonType(JsonValue.members, schema={"type": "object", "additionalProperties": True})


@dataclass(frozen=True, slots=True)
class BodyProperty:
    """A member of a body: its key, its type, and a sentence about it; ``default`` is the value of an absent one."""

    key: str
    type: JsonSchema
    about: str = ""
    is_required: bool = False
    default: object = None

    def schema(self) -> Document:
        """Return the property's JSON schema; one that may be absent and has no default may be null."""
        schema = schema_of(self.type)
        if self.default is not None:
            schema = {**schema, "default": self.default}
        elif not self.is_required:
            schema = {"anyOf": [schema, {"type": "null"}]}
        return {**schema, "description": self.about} if self.about else schema


@dataclass(frozen=True, slots=True, eq=False)
class BodyShape(HasJsonSchema):
    """The shape of a body: its name in the description, a sentence about it, and its members."""

    name: str
    about: str
    properties: tuple[BodyProperty, ...]
    member_types: dict[str, JsonSchema] = field(init=False)
    """The types of the members, by key."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "member_types", {each.key: each.type for each in self.properties})

    def has(self, key: str) -> bool:
        """Return whether the shape has a member ``key``."""
        return any(each.key == key for each in self.properties)

    def extended(self, name: str, about: str, *more: BodyProperty) -> BodyShape:
        """Return this shape with ``more`` members; one whose key is there already replaces the earlier one."""
        return BodyShape(name, about, tuple({each.key: each for each in (*self.properties, *more)}.values()))

    def schema(self) -> Document:
        """Return the shape's JSON schema."""
        required = [each.key for each in self.properties if each.is_required]
        schema: Document = {
            "title": self.name,
            "description": self.about,
            "type": "object",
            "properties": {each.key: each.schema() for each in self.properties},
        }
        return {**schema, "required": required} if required else schema


def required(key: str, described: JsonSchema, about: str = "") -> BodyProperty:
    """Return a member that is always there."""
    return BodyProperty(key, described, about, is_required=True)


def properties_of(
    form: ObjectForm[Any], *, always: Iterable[str] = (), is_change: bool = False
) -> tuple[BodyProperty, ...]:
    """Return the members of ``form``: its responses must have the required ones, and the ones in ``always``.

    With ``is_change``, an absent member is not changed, so that there are no defaults.
    """
    defaults = {} if is_change else form.defaults()
    return tuple(
        BodyProperty(
            member.key,
            member.type.schema,
            member.about,
            is_required=member.key in always or not member.is_optional,
            default=_scalar(defaults.get(member.name)) if member.is_optional and member.key not in always else None,
        )
        for member in form.members
    )


def _scalar(default: object) -> object:
    return default if isinstance(default, (str, bool)) and default != "" else None


def shape_of(form: ObjectForm[Any]) -> BodyShape:
    """Return the shape of the objects of ``form``, with the name and the first paragraph of its dataclass."""
    about = " ".join((form.kind.__doc__ or "").split("\n\n")[0].split())
    return BodyShape(f"{form.kind.__name__}Body", about, properties_of(form))


@dataclass(frozen=True, slots=True, eq=False)
class OneOfShapes(HasJsonSchema):
    """As a JSON schema: values of one of several shapes, by the request."""

    shapes: tuple[JsonSchema, ...]


def schema_of(described: JsonSchema) -> Document:
    """Return the JSON schema of ``described``, in which a shape is a reference.

    >>> schema_of(ListOf({"type": "string"}))
    {'type': 'array', 'items': {'type': 'string'}}
    """
    match described:
        case BodyShape(name=name):
            return {"$ref": f"{_PLACE}{name}"}
        case ObjectForm():
            return schema_of(shape_of(described))
        case JsonType(schema=schema):
            return schema_of(schema)
        case ListOf(items=items):
            return {"type": "array", "items": schema_of(items)}
        case OneOfShapes(shapes=shapes):
            return {"anyOf": [schema_of(each) for each in shapes]}
        case dict():
            return described
    raise TypeError(described)


def components(described: Iterable[JsonSchema]) -> dict[str, Document]:
    """Return the JSON schemas of all shapes in ``described``, and of the shapes in their members, by name."""
    found: dict[str, Document] = {}
    waiting = list(described)
    while waiting:
        for shape in _shapes_in(waiting.pop()):
            if shape.name not in found:
                found[shape.name] = shape.schema()
                waiting += [each.type for each in shape.properties]
    return dict(sorted(found.items()))


def _shapes_in(described: JsonSchema) -> Iterator[BodyShape]:
    match described:
        case BodyShape():
            yield described
        case ObjectForm():
            yield shape_of(described)
        case JsonType(schema=inner) | ListOf(items=inner):
            yield from _shapes_in(inner)
        case OneOfShapes(shapes=shapes):
            for each in shapes:
                yield from _shapes_in(each)


# The OpenAPI description of the requests of Confluent's API.
#
# FastAPI does not read them: :class:`~counterfoil.registry.http.request.ApiRequest` does, by the rules of that API.

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


def described_request(path: str, query: Sequence[str], body: HasJsonSchema | None) -> Document:
    """Return a request's OpenAPI description: the parameters in the path and in ``query``, the body's shape.

    >>> described_request("/mode/{subject}", (), None)
    {'parameters': [{'name': 'subject', 'in': 'path', 'required': True, 'schema': {'type': 'string'}}]}
    """
    names = [segment[1:-1] for segment in path.split("/") if segment.startswith("{")]
    described: Document = {"parameters": [*map(_path_parameter, names), *map(_query_parameter, query)]}
    if body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema_of(body)}},
        }
    return described


def _path_parameter(name: str) -> Document:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if name == "id" else "string"}}


def _query_parameter(name: str) -> Document:
    kind = "boolean" if name in _FLAGS else "integer" if name in _NUMBERS else "string"
    shape = {"type": "array", "items": {"type": kind}} if name in _LISTS else {"type": kind}
    description = {**_FLAGS, **_TEXTS, **_NUMBERS}[name]
    return {"name": name, "in": "query", "description": description, "schema": shape}
