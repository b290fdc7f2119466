"""A schema that was read: what all languages' schemas have in common."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.model import SchemaType
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.paths.resolve import Target
    from counterfoil.schema.position import Position


class Validation(Enum):
    """How strictly a text is read.

    ``STRICT`` is for new schemas: names, defaults and references must be valid. ``LOOKUP`` is for schemas that are only
    looked for: as strict, but for defaults. ``LENIENT`` is for stored schemas and imports: what an earlier writer was
    allowed to store must load.
    """

    STRICT = "strict"
    LOOKUP = "lookup"
    LENIENT = "lenient"

    __hash__ = object.__hash__  # members are singletons; an enum's own hash is a slow one


@dataclass(frozen=True, slots=True)
class SchemaWarning:
    """Something that the language's own specification forbids and the reference registry accepts.

    It is accepted here, too, and refused under the policy SOUND. ``rule`` is its id, ``text`` one sentence for people,
    ``pointer`` the place in the schema's text.
    """

    rule: str
    text: str
    pointer: str


class ParsedSchema(Protocol):
    """A schema that was read: immutable, safe to share between threads, comparable by its texts."""

    @property
    def schema_type(self) -> SchemaType:
        """The language."""

    @property
    def text(self) -> str:
        """The text as it was given."""

    @property
    def name(self) -> str | None:
        """The full name of the top-level type, such as ``ns.Order``; None where the language gives it none."""

    def canonical(self) -> str:
        """Return the text that a registry stores and returns: one fixed spelling of the same content."""

    def normalized(self) -> str:
        """Return the canonical text with everything that has no meaning put in one order (``normalize=true``)."""

    def formatted(self, form: str) -> str | None:
        """Return the text in another form, by the name that the REST API has for it; None for a form that is not known here.

        ``resolved`` (Avro) declares what references supply, ``serialized`` (Protobuf) is a descriptor in base64.
        """

    def field_names(self) -> Sequence[str]:
        """Return the names of the top-level fields: of a record, a file's first message, an object; in their order."""

    def is_equivalent(self, other: ParsedSchema) -> bool:
        """Return whether the two say the same, attribute order aside; docs, aliases and enum defaults count."""

    def warnings(self) -> Sequence[SchemaWarning]:
        """Return what the language's specification forbids here although the reference registry accepts it; mostly empty."""

    def locate(self, pointer: str) -> Position | None:
        """Return the place in ``text`` of a JSON pointer, or of its nearest ancestor that stands in the text."""

    def path_at(self, pointer: str) -> FieldPath:
        """Return the field path of what a JSON pointer leads to, or of the nearest thing around it that has one."""

    def target_of(self, path: FieldPath) -> Target:
        """Return what a field path leads to; raises ``Fault`` for a step that leads nowhere."""
