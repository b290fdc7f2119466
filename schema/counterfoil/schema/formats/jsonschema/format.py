"""JSON Schema as one of the schema languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.protocol import schema_of
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.change import Change
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.entity import Entity, TagEdit
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.logical.model import Column
    from counterfoil.schema.model import ResolvedReference
    from counterfoil.schema.outline import Outline
    from counterfoil.schema.parsed import ParsedSchema, Validation
    from counterfoil.schema.witness import Confirmation, NoWitness, Witness


class JsonSchemaFormat:
    """The :class:`~counterfoil.schema.formats.protocol.Format` of JSON Schema."""

    schema_type: Final = SchemaType.JSON
    file_suffixes: Final = (".schema.json", ".jsonschema")

    def rules(self) -> Sequence[CompatibilityRule]:
        """Return every compatibility rule of the language."""
        from counterfoil.schema.formats.jsonschema.rules import RULES

        return RULES

    def parse(self, text: str, references: Sequence[ResolvedReference], *, validation: Validation) -> JsonSchema:
        """Return the schema that ``text`` declares."""
        from counterfoil.schema.formats.jsonschema.parse import parse_json_schema

        return parse_json_schema(text, references, validation=validation)

    def outline(self, text: str) -> Outline | None:
        """Return the names that ``text`` declares and uses."""
        from counterfoil.schema.formats.jsonschema.outline import outline_json_schema

        return outline_json_schema(text)

    def find_differences(
        self, reader: ParsedSchema, writer: ParsedSchema, *, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT
    ) -> Sequence[Difference]:
        """Return why ``reader`` cannot read everything that ``writer`` may write."""
        from counterfoil.schema.formats.jsonschema.policies import find_differences

        return find_differences(_json_schema(reader), _json_schema(writer), policy=policy)

    def find_changes(self, earlier: ParsedSchema, later: ParsedSchema) -> list[Change]:
        """Return everything that differs."""
        from counterfoil.schema.formats.jsonschema.diff.changes import find_changes

        return find_changes(_json_schema(earlier), _json_schema(later))

    def search_for_witness(
        self, reader: ParsedSchema, writer: ParsedSchema, difference: Difference
    ) -> Witness | NoWitness:
        """Return a value that ``writer`` may write and ``reader`` cannot read."""
        from counterfoil.schema.formats.jsonschema.witness.search import search_for_witness

        return search_for_witness(_json_schema(reader), _json_schema(writer), difference)

    def confirm_compatible(self, reader: ParsedSchema, writer: ParsedSchema, count: int) -> Confirmation:
        """Write and read ``count`` generated values."""
        from counterfoil.schema.formats.jsonschema.witness.confirm import confirm_compatible

        return confirm_compatible(_json_schema(reader), _json_schema(writer), count)

    def table_column(self, schema: ParsedSchema) -> Column:
        """Return the type of a table's rows that ``schema`` is."""
        from counterfoil.schema.formats.jsonschema.table_type import table_column

        return table_column(_json_schema(schema))

    def find_tags(self, schema: ParsedSchema) -> list[tuple[Entity, tuple[str, ...]]]:
        """Return everything that can carry tags, with those that it carries."""
        from counterfoil.schema.formats.jsonschema.tags import find_tags

        return find_tags(_json_schema(schema))

    def edit_tags(self, schema: ParsedSchema, edit: TagEdit) -> str:
        """Return the canonical text with the tags changed."""
        from counterfoil.schema.formats.jsonschema.tags import edit_tags

        return edit_tags(_json_schema(schema), edit)


def _json_schema(schema: ParsedSchema) -> JsonSchema:
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

    return schema_of(JsonSchema, schema)
