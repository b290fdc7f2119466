"""The members of a JSON body that its form does not have, such as a misspelt one: they would have no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.rest.object_forms import JsonType, ListOf, ObjectForm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.rest.object_forms import JsonSchema


def unknown_members(value: Any, form: JsonSchema, place: str = "") -> Iterator[str]:
    """Yield the members of ``value`` that ``form`` does not have, at any depth, each by its path (``metadata.tag``).

    A form is what has the JSON schema of the value: a form of objects or of lists, or a shape with ``member_types``. Of
    a value without one, such as a text or texts by any key, nothing is unknown.
    """
    if isinstance(form, JsonType):
        form = form.schema
    if isinstance(form, ListOf):
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from unknown_members(item, form.items, f"{place}[{index}]")
        return
    types = _types_of(form)
    if types is None or not isinstance(value, dict):
        return
    for key, inner in value.items():
        path = f"{place}.{key}" if place else key
        if key not in types:
            yield path
        elif isinstance(inner, dict | list):
            yield from unknown_members(inner, types[key], path)


def _types_of(form: JsonSchema) -> dict[str, JsonSchema] | None:
    """Return the types of the members of a form's objects, by key; None for what is no form of objects."""
    if isinstance(form, ObjectForm):
        return {member.key: member.type.schema for member in form.members}
    types: dict[str, JsonSchema] | None = getattr(form, "member_types", None)
    return types
