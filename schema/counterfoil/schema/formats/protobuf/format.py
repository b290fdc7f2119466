"""Protobuf as one of the schema languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.protobuf.parse import parse_protobuf
from counterfoil.schema.formats.protobuf.schema import ProtobufSchema
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.protocol import ParsedSchema, Validation
    from counterfoil.schema.model import ResolvedReference


class ProtobufFormat:
    """The :class:`~counterfoil.schema.formats.protocol.Format` of Protobuf."""

    schema_type = SchemaType.PROTOBUF

    def parse(self, text: str, references: Sequence[ResolvedReference], *, validation: Validation) -> ProtobufSchema:
        """The schema that ``text`` declares; see :func:`~counterfoil.schema.formats.protobuf.parse.parse_protobuf`."""
        return parse_protobuf(text, references, validation=validation)

    def find_differences(
        self, reader: ParsedSchema, writer: ParsedSchema, *, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT
    ) -> Sequence[Difference]:
        """Why ``reader`` cannot read everything that ``writer`` may write; ``TypeError`` for another language."""
        from counterfoil.schema.formats.protobuf.compare.differences import find_differences

        if not isinstance(reader, ProtobufSchema) or not isinstance(writer, ProtobufSchema):
            raise TypeError("both schemas must be Protobuf")
        return find_differences(reader, writer, policy=policy)
