"""The part of a schema that constrains values: the schema without annotations and definitions."""

from __future__ import annotations

from typing import Any, Final

from counterfoil.schema.formats.jsonschema.read.keywords import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP, subschemas

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_NOTES: Final = DEFINITIONS | {
    *("$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format"),
    *("contentEncoding", "contentMediaType", "contentSchema", "$schema", "$vocabulary"),
}


def without_notes(value: Any) -> Any:
    """Return a schema without annotations and definitions.

    Definitions count only where a reference leads to them.
    """
    if not isinstance(value, dict):
        return value
    kept = {keyword: held for keyword, held in value.items() if keyword not in _NOTES}
    for keyword, held in kept.items():
        if isinstance(held, dict) and keyword in SCHEMA_MAP:
            kept[keyword] = {name: without_notes(item) for name, item in held.items()}
        elif isinstance(held, list) and keyword in SCHEMA_LIST:
            kept[keyword] = [without_notes(item) for item in held]
        elif keyword in ONE_SCHEMA:
            kept[keyword] = without_notes(held)
    return kept


def refers(value: Any) -> bool:
    """Return whether a schema, or one inside it, contains a reference."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict) and any(keyword in each for keyword in REFERENCES):
            return True
        waiting += [child for steps, child in subschemas(each) if steps[0] not in DEFINITIONS]
    return False
