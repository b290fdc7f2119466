"""A parsed Avro schema: the type tree and its texts."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from counterfoil.schema.formats.avro.print.canonical import equivalence_key, print_canonical
from counterfoil.schema.formats.avro.print.normalized import print_normalized
from counterfoil.schema.formats.avro.read.attributes import SchemaFault
from counterfoil.schema.formats.avro.types import Enum, Fixed, Record
from counterfoil.schema.formats.avro.warnings import find_warnings
from counterfoil.schema.jsontext.document import TextIndex
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.formats.avro.types import AvroType, NamedType
    from counterfoil.schema.parsed import SchemaWarning
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.paths.resolve import Target
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.position import Position


class AvroSchema(ParsedSchema):
    """A parsed Avro schema.

    ``root`` is the type that the text declares; ``named`` maps full names to the types that the text and its references
    declare; ``supplied`` has the full names of those that references declare.
    """

    schema_type = SchemaType.AVRO

    def __init__(
        self, text: str, root: AvroType, named: Mapping[str, NamedType], *, supplied: frozenset[str] = frozenset()
    ) -> None:
        self.text = text
        self.root = root
        self.named: Mapping[str, NamedType] = MappingProxyType(dict(named))
        self.supplied = supplied

    @property
    def name(self) -> str | None:
        """The full name of the top-level type; None for a type without a name."""
        return self.root.full_name if isinstance(self.root, (Record, Enum, Fixed)) else None

    @property
    def stands_alone(self) -> bool:
        """Whether the schema has no references."""
        return not self.supplied

    def canonical(self) -> str:
        """Return the text that a registry stores and returns; types of references are not declared in it."""
        return self._canonical

    def normalized(self) -> str:
        """Return the text with everything without meaning in a fixed order (``normalize=true``).

        Raises ``SchemaParseError`` for the few schemas that have no normal form, such as one with a property that has a
        number beyond 64 bits.
        """
        return self._normalized

    def resolved(self) -> str:
        """Return the canonical text with the declarations of all types of references in it (``format=resolved``)."""
        return print_canonical(self.root)

    def formatted(self, form: str) -> str | None:
        return self.resolved() if form == "resolved" else None

    def field_names(self) -> Sequence[str]:
        return tuple(field.name for field in self.root.fields) if isinstance(self.root, Record) else ()

    def is_equivalent(self, other: ParsedSchema) -> bool:
        """Return whether both are the same apart from attribute order; docs, aliases and enum defaults count."""
        if not isinstance(other, AvroSchema):
            return False
        if not self.supplied and not other.supplied and len(self.canonical()) != len(other.canonical()):
            return False  # another order has the same length: checked before the costly keys are computed
        return self.equivalence_key == other.equivalence_key

    @cached_property
    def equivalence_key(self) -> str:
        """A text that is the same for equivalent schemas, as a key."""
        return equivalence_key(self.root)

    def locate(self, pointer: Pointer) -> Position | None:
        return self._index.locate(pointer)

    def path_at(self, pointer: Pointer) -> FieldPath:
        from counterfoil.schema.formats.avro.paths import path_at

        return path_at(self.root, pointer)

    def target_of(self, path: FieldPath) -> Target:
        from counterfoil.schema.formats.avro.paths import target_of

        return target_of(self.root, path)

    def warnings(self) -> Sequence[SchemaWarning]:
        return find_warnings(self.root)

    @cached_property
    def _index(self) -> TextIndex:
        return TextIndex(self.text)

    @cached_property
    def _canonical(self) -> str:
        return print_canonical(self.root, supplied=self.supplied)

    @cached_property
    def _normalized(self) -> str:
        supplied = {name: self.named[name] for name in self.supplied}
        try:
            return print_normalized(self.root, supplied=supplied)
        except SchemaFault as fault:
            raise fault.located(self.text) from None
