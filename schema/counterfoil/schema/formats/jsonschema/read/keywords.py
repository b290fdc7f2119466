"""The keywords that contain schemas, and the form in which they contain them.

Source: the applicator keywords of draft-04 to 2020-12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE_SCHEMA: Final = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords whose value is a schema; ``items`` may be a list of schemas."""

SCHEMA_LIST: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""

SCHEMA_MAP: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords whose value is an object of schemas; ``dependencies`` may also contain lists of names."""


def subschemas(schema: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the schemas directly inside ``schema``, each with its steps; values of a wrong shape are left out.

    >>> [steps for steps, _ in subschemas({"items": [True], "properties": {"a": {}}, "not": {}})]
    [('items', 0), ('properties', 'a'), ('not',)]
    """
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if isinstance(value, list) and keyword in SCHEMA_LIST:
            for index, item in enumerate(value):
                if isinstance(item, dict | bool):
                    yield (keyword, index), item
        elif isinstance(value, dict | bool) and keyword in ONE_SCHEMA:
            yield (keyword,), value
        elif isinstance(value, dict) and keyword in SCHEMA_MAP:
            for name, item in value.items():
                if isinstance(item, dict | bool):
                    yield (keyword, name), item
