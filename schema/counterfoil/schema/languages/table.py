"""The schema languages by schema type, and the language of a schema in a file that a command names."""

from __future__ import annotations

import re
from typing import Any, Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.languages.language import SchemaLanguage
from counterfoil.schema.model import DEFAULT_TYPE, SchemaType
from counterfoil.schema.parsed import Validation

# The schema languages by schema type; the parts of each are loaded by its methods on first use.

SCHEMA_LANGUAGES: Final = (
    SchemaLanguage(
        schema_type=SchemaType.AVRO,
        folder="avro",
        parser="parse_avro",
        file_suffixes=(".avsc",),
        claimed_suffixes=(".json",),
        forward_fix="Keep what deployed readers expect: they read with the earlier schema. Add a field beside it for "
        "what is new.",
    ),
    SchemaLanguage(
        schema_type=SchemaType.PROTOBUF,
        folder="protobuf",
        parser="parse_protobuf",
        file_suffixes=(".proto",),
        is_json=False,
        pointers_are_names=True,
        policies_about_bytes=frozenset({CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON}),
        forward_fix="Keep what deployed readers expect: they read with the earlier schema. Add a field with a number "
        "of its own for what is new.",
    ),
    SchemaLanguage(
        schema_type=SchemaType.JSON,
        folder="jsonschema",
        parser="parse_json_schema",
        file_suffixes=(".schema.json", ".jsonschema"),
        plain_suffixes=(".json",),
        validation_to_compare=Validation.LOOKUP,  # a broken reference can be stored, and cannot be compared
        forward_fix="Do not write what deployed readers refuse: they read with the earlier schema. Widen it in one "
        "release, and make use of that in a later one.",
    ),
)
"""Every schema language."""

_FORMAT_BY_TYPE = {each.schema_type: each for each in SCHEMA_LANGUAGES}


def language_for(schema_type: SchemaType) -> SchemaLanguage:
    """Return the row of a schema language."""
    return _FORMAT_BY_TYPE[schema_type]


# The language of a schema in a file that a command names: by the end of the file's name, else by its content.

_PROTOBUF: Final = re.compile(r"^\s*(?:(?:syntax|edition)\s*=\s*[\"']|(?:message|enum|package|import)\b)", re.MULTILINE)
_AVRO_TYPES: Final = frozenset({"record", "error", "enum", "fixed", "map", "int", "long", "float", "double", "bytes"})
_AVRO_KEYS: Final = frozenset({"logicalType", "symbols", "fields", "namespace"})
_JSON_KEYS: Final = frozenset(
    {"$schema", "$id", "$ref", "$defs", "definitions", "properties", "required", "additionalProperties", "allOf"}
)

NAME_BY_TYPE: Final = {SchemaType.AVRO: "Avro", SchemaType.PROTOBUF: "Protobuf", SchemaType.JSON: "JSON Schema"}
"""The languages as sentences name them."""


def language_of_schema_file(name: str, text: str) -> SchemaType:
    r"""Return the language of the schema ``text`` in the file ``name``.

    The suffix of a schema decides. Files of any other name are of the language that their content is written in; JSON
    that could be of two is JSON Schema in a file ``.json``, and Avro elsewhere.

    >>> language_of_schema_file("card.json", '{"type": "object"}').value
    'JSON'
    >>> language_of_schema_file("card.json", '{"type": "record", "name": "Card", "fields": []}').value
    'AVRO'
    """
    by_suffix = next((each.schema_type for each in SCHEMA_LANGUAGES if name.endswith(each.file_suffixes)), None)
    return by_suffix or _by_content(name, text)


def _by_content(name: str, text: str) -> SchemaType:
    plain = next((each.schema_type for each in SCHEMA_LANGUAGES if name.endswith(each.plain_suffixes)), DEFAULT_TYPE)
    try:
        import json

        document = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return SchemaType.PROTOBUF if _PROTOBUF.search(text) else plain
    return _of_document(document) or plain


def _of_document(document: Any) -> SchemaType | None:
    """Return the language of a schema as JSON; None if both have such a schema."""
    if isinstance(document, bool):
        return SchemaType.JSON
    if not isinstance(document, dict):
        return SchemaType.AVRO  # a union, or the name of a type
    if "$schema" in document:
        return SchemaType.JSON
    kind = document.get("type")
    is_avro = isinstance(kind, dict) or (isinstance(kind, str) and kind in _AVRO_TYPES)
    if is_avro or isinstance(document.get("items"), str) or _AVRO_KEYS & document.keys():
        return SchemaType.AVRO
    if kind in ("object", "integer", "number") or isinstance(kind, list) or _JSON_KEYS & document.keys():
        return SchemaType.JSON
    return None
