"""The schema languages by schema type; the parts of each are loaded by its methods on first use."""

from __future__ import annotations

from typing import Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.format import Format
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation

FORMATS: Final = (
    Format(
        schema_type=SchemaType.AVRO,
        folder="avro",
        parser="parse_avro",
        rule_table="compare.rules",
        file_suffixes=(".avsc",),
        claimed_suffixes=(".json",),
        forward_fix="Keep what deployed readers expect: they read with the earlier schema. Add a field beside it for "
        "what is new.",
    ),
    Format(
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
    Format(
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

_FORMAT_BY_TYPE = {each.schema_type: each for each in FORMATS}


def format_for(schema_type: SchemaType) -> Format:
    """Return the row of a schema language."""
    return _FORMAT_BY_TYPE[schema_type]
