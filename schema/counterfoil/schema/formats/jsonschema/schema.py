"""A parsed JSON schema: the document, its references, and its texts."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from counterfoil.schema.formats.jsonschema.read.canonical import print_exact
from counterfoil.schema.formats.jsonschema.read.drafts import draft_of
from counterfoil.schema.formats.jsonschema.read.resolve import Resolver
from counterfoil.schema.jsontext.document import TextIndex
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.formats.jsonschema.read.resolve import Base
    from counterfoil.schema.parsed import SchemaWarning
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.paths.resolve import Target
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.position import Position


class JsonSchema(ParsedSchema):
    """A parsed JSON schema.

    ``document`` is its value: dict, list, str, bool, None, int, and Decimal for numbers with a point or an exponent,
    keys in the order of the text. ``draft`` is its draft. ``references`` has the documents of its references, by name.
    """

    schema_type = SchemaType.JSON

    def __init__(self, text: str, document: Any, references: Mapping[str, Any] | None = None) -> None:
        self.text = text
        self.document = document
        self.draft = draft_of(document)
        self.references: Mapping[str, Any] = MappingProxyType(dict(references or {}))

    @property
    def name(self) -> str | None:
        """The schema's title; None if it has none."""
        title = self.document.get("title") if isinstance(self.document, dict) else None
        return title if isinstance(title, str) else None

    @property
    def base(self) -> Base:
        """The position of the document's root, against which references are resolved."""
        return self.resolver.root

    @cached_property
    def resolver(self) -> Resolver:
        """The resolver, with every document, ``$id`` and anchor of the schema."""
        return Resolver(self.document, self.references, self.draft)

    @property
    def stands_alone(self) -> bool:
        """Whether the schema has no references."""
        return not self.references

    def canonical(self) -> str:
        """Return the text that a registry stores and returns: compact, keys in the given order."""
        return self._canonical

    def normalized(self) -> str:
        """Return the canonical text with the keys of every object sorted (``normalize=true``)."""
        return self._normalized

    def field_names(self) -> Sequence[str]:
        properties = self.document.get("properties") if isinstance(self.document, dict) else None
        return tuple(properties) if isinstance(properties, dict) else ()

    def is_equivalent(self, other: ParsedSchema) -> bool:
        """Return whether both have the same canonical text; the order of keys counts, as in the reference registry."""
        return isinstance(other, JsonSchema) and self._canonical == other.canonical()

    def warnings(self) -> Sequence[SchemaWarning]:
        from counterfoil.schema.formats.jsonschema.warnings import find_warnings

        return find_warnings(self.document, self.resolver)

    def locate(self, pointer: Pointer) -> Position | None:
        return self._index.locate(pointer)

    def path_at(self, pointer: Pointer) -> FieldPath:
        from counterfoil.schema.formats.jsonschema.paths import path_at

        return path_at(pointer)

    def target_of(self, path: FieldPath) -> Target:
        from counterfoil.schema.formats.jsonschema.paths import target_of

        return target_of(self.document, self.resolver, path)

    @cached_property
    def _index(self) -> TextIndex:
        return TextIndex(self.text)

    @cached_property
    def _canonical(self) -> str:
        return print_exact(self.document)

    @cached_property
    def _normalized(self) -> str:
        return print_exact(self.document, sort_keys=True)
