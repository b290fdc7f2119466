"""The shapes of bodies in the OpenAPI description, made from the forms of :mod:`counterfoil.schema.rest`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.rest.json_values import JsonValue, read_text
from counterfoil.schema.rest.object_forms import Described, JsonType, ListOf, ObjectForm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.rest.object_forms import Document, JsonSchema

_PLACE: Final = "#/components/schemas/"

SCHEMA_TEXT: Final = JsonType(read_text)
"""The text of a schema as the body."""
ANY_OBJECT: Final = JsonType(JsonValue.members, schema={"type": "object", "additionalProperties": True})


@dataclass(frozen=True, slots=True)
class Property:
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
class Shape(Described):
    """The shape of a body: its name in the description, a sentence about it, and its members."""

    name: str
    about: str
    properties: tuple[Property, ...]

    @property
    def member_types(self) -> dict[str, JsonSchema]:
        """The types of the members, by key."""
        return {each.key: each.type for each in self.properties}

    def has(self, key: str) -> bool:
        """Return whether the shape has a member ``key``."""
        return any(each.key == key for each in self.properties)

    def extended(self, name: str, about: str, *more: Property) -> Shape:
        """Return this shape with ``more`` members; one whose key is there already replaces the earlier one."""
        return Shape(name, about, tuple({each.key: each for each in (*self.properties, *more)}.values()))

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


def required(key: str, described: JsonSchema, about: str = "") -> Property:
    """Return a member that is always there."""
    return Property(key, described, about, is_required=True)


def properties_of(
    form: ObjectForm[Any], *, always: Iterable[str] = (), is_change: bool = False
) -> tuple[Property, ...]:
    """Return the members of ``form``: required are those that its responses must have, and those named in ``always``.

    With ``is_change``, an absent member is not changed, so that there are no defaults.
    """
    defaults = {} if is_change else form.defaults()
    return tuple(
        Property(
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


def shape_of(form: ObjectForm[Any]) -> Shape:
    """Return the shape of the objects of ``form``, with the name and the first paragraph of its dataclass."""
    about = " ".join((form.kind.__doc__ or "").split("\n\n")[0].split())
    return Shape(f"{form.kind.__name__}Body", about, properties_of(form))


def schema_of(described: JsonSchema) -> Document:
    """Return the JSON schema of ``described``, in which a shape is a reference.

    >>> schema_of(ListOf({"type": "string"}))
    {'type': 'array', 'items': {'type': 'string'}}
    """
    match described:
        case Shape(name=name):
            return {"$ref": f"{_PLACE}{name}"}
        case ObjectForm():
            return schema_of(shape_of(described))
        case JsonType(schema=schema):
            return schema_of(schema)
        case ListOf(items=items):
            return {"type": "array", "items": schema_of(items)}
        case dict():
            return described
    raise TypeError(described)


def components(described: Iterable[JsonSchema]) -> dict[str, Document]:
    """Return the JSON schemas of all shapes in ``described``, and of those in their members, by name."""
    found: dict[str, Document] = {}
    waiting = list(described)
    while waiting:
        for shape in _shapes_in(waiting.pop()):
            if shape.name not in found:
                found[shape.name] = shape.schema()
                waiting += [each.type for each in shape.properties]
    return dict(sorted(found.items()))


def _shapes_in(described: JsonSchema) -> Iterator[Shape]:
    match described:
        case Shape():
            yield described
        case ObjectForm():
            yield shape_of(described)
        case JsonType(schema=inner) | ListOf(items=inner):
            yield from _shapes_in(inner)
