"""A parsed schema: the interface that the schemas of all languages have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.model import ResolvedReference, SchemaType
from counterfoil.schema.texts import Pointer, Position

if TYPE_CHECKING:
    from counterfoil.schema.paths import FieldPath, PathTarget


class Validation(Enum):
    """The strictness of parsing.

    ``STRICT`` is for new schemas: names, defaults and references must be valid. ``FILE`` is for files that are not
    registered: it is strict except for what the language permits and registries alone refuse. ``LOOKUP`` is for
    schemas of look-ups: it is strict except for defaults. ``LENIENT`` is for stored schemas and imports: every schema
    that could be stored earlier must load.
    """

    STRICT = "strict"
    FILE = "file"
    LOOKUP = "lookup"
    LENIENT = "lenient"

    __hash__ = object.__hash__  # members are singletons; the hash of enums is slower


@dataclass(frozen=True, slots=True)
class SchemaWarning:
    """A violation of the language's specification that the reference registry accepts.

    It is accepted here, too, and breaks under the policy SOUND. ``rule`` is its id, ``text`` one sentence, ``pointer``
    the place in the schema's text. ``leaves_open`` is whether the records of such a schema cannot be read for certain,
    so that no later schema is proved to read them.
    """

    rule: str
    text: str
    pointer: Pointer
    leaves_open: bool = True


def invalid_reference(reference: ResolvedReference, error: SchemaParseError) -> SchemaParseError:
    """Return the error of a schema with an invalid reference: the reference, and what is wrong with its text."""
    name, subject, version = reference.reference.name, reference.reference.subject, reference.reference.version
    problem = f"the reference {name!r} ({subject} version {version}) is not valid: {error.problem}"
    return SchemaParseError(problem, expected=error.expected)


@dataclass(frozen=True, slots=True)
class SchemaSource:
    """What a schema was parsed from: with it, another process parses the same schema."""

    text: str
    schema_type: SchemaType
    references: tuple[ResolvedReference, ...]
    validation: Validation

    @property
    def chars(self) -> int:
        """The number of characters of all texts."""
        return len(self.text) + sum(len(each.text) for each in self.references)


class ParsedSchema(Protocol):
    """A parsed schema: immutable, safe to share between threads, comparable by its texts.

    ``schema_type`` is its language, ``text`` the text as it was given, ``referenced_chars`` the number of characters of
    the texts of its references, ``source`` what it was parsed from; None for a schema that was not parsed.
    """

    schema_type: SchemaType
    text: str
    referenced_chars: int = 0
    source: SchemaSource | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.canonical()!r})"

    @property
    def name(self) -> str | None:
        """The full name of the top-level type, such as ``ns.Order``; None if it has none."""

    def canonical(self) -> str:
        """Return the text that a registry stores and returns: the content in one fixed layout."""

    def normalized(self) -> str:
        """Return the canonical text with a fixed order of elements whose order has no meaning (``normalize=true``)."""

    def formatted(self, form: str) -> str | None:
        """Return the text in another form, given by its name in the REST API; None for an unknown form.

        ``resolved`` (Avro) includes the declarations of references, ``serialized`` (Protobuf) is a descriptor in
        base64.
        """
        del form
        return None

    @property
    def stands_alone(self) -> bool:
        """Whether the text alone says what the schema is, since it has no references."""
        return False

    def field_names(self) -> Sequence[str]:
        """Return the names of the top-level fields: of a record, a file's first message, an object; in their order."""

    @cached_property
    def has_field_of_its_name(self) -> bool:
        """Whether a top-level field has the name of the top-level type, without its namespace."""
        return (self.name or "").rpartition(".")[2] in self.field_names()

    def is_equivalent(self, other: ParsedSchema) -> bool:
        """Return whether the two schemas are equal except for the order of attributes.

        Docs, aliases and the defaults of enums are compared, too.
        """

    def warnings(self) -> Sequence[SchemaWarning]:
        """Return the violations of the language's specification that the reference registry accepts; mostly empty."""

    def locate(self, pointer: Pointer) -> Position | None:
        """Return the position in ``text`` of a JSON pointer, or of its nearest ancestor in the text."""

    def path_at(self, pointer: Pointer) -> FieldPath:
        """Return the field path of the element at a JSON pointer, or of its nearest ancestor with one."""

    def target_of(self, path: FieldPath) -> PathTarget:
        """Return the target of a field path; raise ``PathFault`` for a step without a target."""
