"""Parsing of a text to a :class:`~counterfoil.schema.formats.jsonschema.schema.JsonSchema`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.formats.jsonschema.read.reading import read_exact_json
from counterfoil.schema.formats.jsonschema.schema import JsonSchema
from counterfoil.schema.formats.jsonschema.validity import check_validity
from counterfoil.schema.jsontext.document import locate
from counterfoil.schema.parsed import Validation, invalid_reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.model import ResolvedReference


def parse_json_schema(
    text: str, references: Sequence[ResolvedReference] = (), *, validation: Validation = Validation.STRICT
) -> JsonSchema:
    """Return the schema that ``text`` declares.

    ``references`` supply documents by name. ``validation`` decides whether keywords and references are checked. Raises
    ``SchemaParseError`` with line, column, JSON Pointer and what was expected; for a fault inside a reference, with the
    reference's subject and version.
    """
    document = _read(text)
    supplied = {reference.reference.name: _read_reference(reference) for reference in references}
    schema = JsonSchema(text, document, supplied)
    if validation is not Validation.LENIENT:
        check_validity(schema)
    return schema


def _read(text: str) -> Any:
    document = read_exact_json(text)
    if not isinstance(document, dict | bool):
        raise SchemaParseError(
            "a schema cannot be of this type", position=locate(text, ()), expected="an object, true or false"
        )
    return document


def _read_reference(reference: ResolvedReference) -> Any:
    try:
        return _read(reference.text)
    except SchemaParseError as error:
        raise invalid_reference(reference, error) from error
