"""The defaults of a reader's schema, for properties that a message does not have.

A default applies to an object that the property's schema certainly describes: through ``properties``, ``items``,
``additionalProperties``, ``patternProperties``, references, ``allOf``, the branches of ``anyOf`` and ``oneOf`` that the
value fits, and ``if``, ``then``, ``else``. The value is tested before anything is added to it. A default is
added as it is written: defaults inside it are not added to it. In drafts up to 7, a default beside ``$ref`` does not
count, since nothing beside ``$ref`` counts there.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator
from counterfoil.schema.formats.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.sdk.serde.json_codec.applicable import MAX_STEPS, applicable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.view.facts import Schema

_NONE: Final = object()


def compile_defaults(schema: JsonSchema) -> Callable[[Any], None] | None:
    """Return a function that adds the defaults of ``schema`` to a value, in place; None if there are no defaults."""
    defaults = _Defaults()
    root = root_of(schema)
    if not defaults.are_below(root):
        return None

    def fill(value: Any) -> None:
        defaults.fill(root, value, Evaluator(MAX_STEPS))

    return fill


class _Defaults:
    """The defaults of one schema text, found once for each schema in it."""

    def __init__(self) -> None:
        self._has_some: dict[Schema, bool] = {}
        self._own: dict[Schema, dict[str, Any]] = {}

    def are_below(self, schema: Schema) -> bool:
        """Return whether any schema that ``schema`` leads to has a property with a default."""
        known = self._has_some.get(schema)
        if known is None:
            reached: dict[Schema, None] = {schema: None}
            waiting = [schema]
            while waiting:
                for each in _leads_to(waiting.pop()):
                    if each not in reached:
                        reached[each] = None
                        waiting.append(each)
            known = self._has_some[schema] = any(self._of(each) for each in reached)
        return known

    def _of(self, schema: Schema) -> dict[str, Any]:
        """Return the defaults of the schema's own properties."""
        own = self._own.get(schema)
        if own is None:
            found = ((name, _default_of(each)) for name, each in schema.facts.properties.items())
            own = self._own[schema] = {name: default for name, default in found if default is not _NONE}
        return own

    def fill(self, schema: Schema, value: Any, evaluator: Evaluator) -> None:
        """Add the defaults to ``value`` and to what is in it."""
        if not isinstance(value, dict | list) or not self.are_below(schema):
            return
        schemas = [*applicable(schema, value, evaluator)]
        for each in schemas:
            for inner, part in _parts(each, value):
                self.fill(inner, part, evaluator)
        if isinstance(value, dict):
            for each in schemas:
                for name, default in self._of(each).items():
                    if name not in value:
                        value[name] = deepcopy(default)


def _parts(schema: Schema, value: dict[str, Any] | list[Any]) -> Iterator[tuple[Schema, Any]]:
    """Yield the properties or items of a value with the schemas for them in ``schema``."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from ((inner, part) for inner in schema.facts.property(name))
    else:
        for index, part in enumerate(value):
            inner = schema.facts.item(index)
            if inner is not None:
                yield inner, part


def _leads_to(schema: Schema) -> Iterator[Schema]:
    facts = schema.facts
    yield from facts.beside()
    yield from facts.properties.values()
    yield from facts.patterns.values()
    yield from facts.prefix
    yield from (
        each
        for each in (facts.additional, facts.items, facts.unevaluated_properties, facts.unevaluated_items)
        if each is not None
    )


def _default_of(schema: Schema) -> Any:
    """Return the default of a property's schema, or of the schemas that it refers to; ``_NONE`` without one."""
    waiting, seen = [schema], set[int]()
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, WrittenSchema) or id(each) in seen:
            continue
        seen.add(id(each))
        if "default" in each.keywords:
            return _as_read(each.keywords["default"])
        waiting += each.referred
    return _NONE


def _as_read(value: Any) -> Any:
    """Return a value of a schema's text as a message's value would be read: other numbers than integers are floats."""
    match value:
        case list():
            return [_as_read(item) for item in value]
        case dict():
            return {name: _as_read(item) for name, item in value.items()}
        case None | bool() | str() | int():
            return value
    return float(value)
