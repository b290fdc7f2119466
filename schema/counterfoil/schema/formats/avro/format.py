"""Avro as one of the schema languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.avro.parse import parse_avro
from counterfoil.schema.formats.avro.schema import AvroSchema
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.protocol import ParsedSchema, Validation
    from counterfoil.schema.model import ResolvedReference


class AvroFormat:
    """The :class:`~counterfoil.schema.formats.protocol.Format` of Avro."""

    schema_type = SchemaType.AVRO

    def parse(self, text: str, references: Sequence[ResolvedReference], *, validation: Validation) -> AvroSchema:
        """The schema that ``text`` declares; see :func:`~counterfoil.schema.formats.avro.parse.parse_avro`."""
        return parse_avro(text, references, validation=validation)

    def find_differences(
        self, reader: ParsedSchema, writer: ParsedSchema, *, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT
    ) -> Sequence[Difference]:
        """Why ``reader`` cannot read everything that ``writer`` may write; ``TypeError`` for another language."""
        from counterfoil.schema.formats.avro.compare.differences import find_differences

        if not isinstance(reader, AvroSchema) or not isinstance(writer, AvroSchema):
            raise TypeError("both schemas must be Avro")
        return find_differences(reader, writer, policy=policy)
