"""The layout of a JSON schema's text, and the references in it."""

from __future__ import annotations

from collections.abc import Iterator

from counterfoil.schema.languages.json_layout import lay_out_json
from counterfoil.schema.languages.jsonschema.descriptions import name_of
from counterfoil.schema.languages.jsonschema.document import subschemas
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.view.written import REFERENCES, root_of
from counterfoil.schema.languages.laid_out_text import SchemaLayout
from counterfoil.schema.texts import Pointer


def lay_out(schema: JsonSchema) -> SchemaLayout:
    """Return the text laid out for people."""
    return lay_out_json(schema, lambda: [*type_uses(schema)])


def type_uses(schema: JsonSchema) -> Iterator[tuple[Pointer, str]]:
    """Yield the pointers of the references in a text, with the names of the schemas to which they lead."""
    if not any(f'"{keyword}"' in schema.text for keyword in REFERENCES):
        return  # most texts of much data; a shortcut for speed
    waiting = [root_of(schema)]
    while waiting:
        each = waiting.pop()
        written = [keyword for keyword in REFERENCES if keyword in each.keywords]
        for keyword, target in zip(written, each.referred, strict=False):
            yield (*each.base.pointer, keyword), name_of(target)
        waiting += [each.below(*steps) for steps, _ in subschemas(each.value)]
