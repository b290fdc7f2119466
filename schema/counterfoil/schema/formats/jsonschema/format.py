"""JSON Schema as one of the schema languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.jsonschema.parse import parse_json_schema
from counterfoil.schema.formats.jsonschema.schema import JsonSchema
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.protocol import ParsedSchema, Validation
    from counterfoil.schema.model import ResolvedReference


class JsonSchemaFormat:
    """The :class:`~counterfoil.schema.formats.protocol.Format` of JSON Schema."""

    schema_type = SchemaType.JSON

    def parse(self, text: str, references: Sequence[ResolvedReference], *, validation: Validation) -> JsonSchema:
        """The schema that ``text`` declares; see :func:`parse_json_schema`."""
        return parse_json_schema(text, references, validation=validation)

    def find_differences(
        self, reader: ParsedSchema, writer: ParsedSchema, *, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT
    ) -> Sequence[Difference]:
        """Why ``reader`` cannot read everything that ``writer`` may write; ``TypeError`` for another language."""
        from counterfoil.schema.formats.jsonschema.compare.differences import find_differences

        if not isinstance(reader, JsonSchema) or not isinstance(writer, JsonSchema):
            raise TypeError("both schemas must be JSON Schema")
        return find_differences(reader, writer, policy=policy)
