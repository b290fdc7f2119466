"""Avro as one of the schema languages."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.protocol import Format, schema_of
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.change import Change
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.entity import Entity, TagEdit
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.files import FileReferences
    from counterfoil.schema.formats.protocol import FindDifferences, Parse
    from counterfoil.schema.logical.model import Column
    from counterfoil.schema.model import ResolvedReference
    from counterfoil.schema.outline import Outline
    from counterfoil.schema.parsed import ParsedSchema, Validation
    from counterfoil.schema.witness import Confirmation, NoWitness, Witness


class AvroFormat(Format):
    """The :class:`~counterfoil.schema.formats.protocol.Format` of Avro."""

    schema_type: Final = SchemaType.AVRO
    file_suffixes: Final = (".avsc",)
    claimed_suffixes: Final = (".json",)
    forward_fix: Final = (
        "Keep what deployed readers expect: they read with the earlier schema. Add a field beside it for what is new."
    )

    def rules(self) -> Sequence[CompatibilityRule]:
        from counterfoil.schema.formats.avro.compare.rules import RULES

        return RULES

    def parse(self, text: str, references: Sequence[ResolvedReference], *, validation: Validation) -> AvroSchema:
        return self._parse(text, references, validation=validation)

    def outline(self, text: str) -> Outline | None:
        from counterfoil.schema.formats.avro.outline import outline_avro

        return outline_avro(text)

    def find_differences(
        self, reader: ParsedSchema, writer: ParsedSchema, *, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT
    ) -> Sequence[Difference]:
        return self._find_differences(self._own(reader), self._own(writer), policy=policy)

    def find_changes(self, earlier: ParsedSchema, later: ParsedSchema) -> list[Change]:
        from counterfoil.schema.formats.avro.diff.changes import find_changes

        return find_changes(self._own(earlier), self._own(later))

    def search_for_witness(
        self, reader: ParsedSchema, writer: ParsedSchema, difference: Difference
    ) -> Witness | NoWitness:
        from counterfoil.schema.formats.avro.witness.search import search_for_witness

        return search_for_witness(self._own(reader), self._own(writer), difference)

    def confirm_compatible(self, reader: ParsedSchema, writer: ParsedSchema, count: int) -> Confirmation:
        from counterfoil.schema.formats.avro.witness.confirm import confirm_compatible

        return confirm_compatible(self._own(reader), self._own(writer), count)

    def table_column(self, schema: ParsedSchema) -> Column:
        from counterfoil.schema.formats.avro.table_type import table_column

        return table_column(self._own(schema))

    def find_tags(self, schema: ParsedSchema) -> list[tuple[Entity, tuple[str, ...]]]:
        from counterfoil.schema.formats.avro.tags import find_tags

        return find_tags(self._own(schema))

    def edit_tags(self, schema: ParsedSchema, edit: TagEdit) -> str:
        from counterfoil.schema.formats.avro.tags import edit_tags

        return edit_tags(self._own(schema), edit)

    def _own(self, schema: ParsedSchema) -> AvroSchema:
        return schema_of(self._schema_class, schema)

    @cached_property
    def references(self) -> FileReferences:
        from counterfoil.schema.formats.avro.files import AvroReferences

        return AvroReferences()

    # The most used functions are imported once: an import statement in each call takes noticeable time.

    @cached_property
    def _schema_class(self) -> type[AvroSchema]:
        from counterfoil.schema.formats.avro.schema import AvroSchema

        return AvroSchema

    @cached_property
    def _parse(self) -> Parse[AvroSchema]:
        from counterfoil.schema.formats.avro.parse import parse_avro

        return parse_avro

    @cached_property
    def _find_differences(self) -> FindDifferences[AvroSchema]:
        from counterfoil.schema.formats.avro.policies import find_differences

        return find_differences
