"""Schemas with large texts: a judge parses them, and this process has its answers about them alone."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.parsing import parse_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.parsed import SchemaSource, SchemaWarning
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.paths.resolve import Target
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.position import Position
    from counterfoil.schema.summary import SchemaSummary


class UnparsedSchema(ParsedSchema):
    """A schema that is known to be valid, and that this process has not parsed; it crosses to a judge as its source.

    Its summary answers what each request needs. Everything else parses the text here, once: that is right for work
    outside of the event loop, and for an answer that is needed rarely.
    """

    def __init__(self, source: SchemaSource, summary: SchemaSummary) -> None:
        self.source = source
        self.schema_type = source.schema_type
        self.text = source.text
        self.referenced_chars = sum(len(each.text) for each in source.references)
        self._summary = summary

    @cached_property
    def whole(self) -> ParsedSchema:
        """The schema, parsed in this process."""
        source = self.source
        assert source is not None  # noqa: S101 - it was made of one
        return parse_schema(source.text, source.schema_type, references=source.references, validation=source.validation)

    @property
    def name(self) -> str | None:
        """The full name of the top-level type."""
        return self._summary.name

    def canonical(self) -> str:
        """Return the canonical text."""
        return self._summary.canonical

    def field_names(self) -> Sequence[str]:
        """Return the names of the top-level fields."""
        return self._summary.field_names

    @property
    def stands_alone(self) -> bool:
        """Whether the text alone says what the schema is."""
        return self.whole.stands_alone

    def normalized(self) -> str:
        """Return the normalised text."""
        return self.whole.normalized()

    def formatted(self, form: str) -> str | None:
        """Return the text in another form."""
        return self.whole.formatted(form)

    def is_equivalent(self, other: ParsedSchema) -> bool:
        """Return whether the two schemas are equal except for the order of attributes."""
        return self.whole.is_equivalent(other.whole if isinstance(other, UnparsedSchema) else other)

    def warnings(self) -> Sequence[SchemaWarning]:
        """Return the violations of the language's specification."""
        return self.whole.warnings()

    def locate(self, pointer: Pointer) -> Position | None:
        """Return the position in the text of a JSON pointer."""
        return self.whole.locate(pointer)

    def path_at(self, pointer: Pointer) -> FieldPath:
        """Return the field path of the element at a JSON pointer."""
        return self.whole.path_at(pointer)

    def target_of(self, path: FieldPath) -> Target:
        """Return the target of a field path."""
        return self.whole.target_of(path)

    def __getattr__(self, name: str) -> Any:
        """Return what only the schemas of one language have."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.whole, name)
