"""What a schema language must bring.

All other parts of the project know the languages only through this protocol and through
:class:`~counterfoil.schema.parsed.ParsedSchema`. A further language is one folder beside this module, and one row in
:mod:`counterfoil.schema.formats.table`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from counterfoil.schema.compatibility.policies import CompatibilityPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.change import Change
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.entity import Entity, TagEdit
    from counterfoil.schema.logical.model import Column
    from counterfoil.schema.model import ResolvedReference, SchemaType
    from counterfoil.schema.outline import Outline
    from counterfoil.schema.parsed import ParsedSchema, Validation
    from counterfoil.schema.witness import Confirmation, NoWitness, Witness

_Parsed = TypeVar("_Parsed", bound="ParsedSchema")


class Format(Protocol):
    """One schema language: everything that is done with its schemas.

    Each method imports what it needs when it is called, so that the table of all languages loads no parser. A method
    that takes parsed schemas raises ``TypeError`` for those of another language.
    """

    @property
    def schema_type(self) -> SchemaType:
        """The language."""

    @property
    def file_suffixes(self) -> Sequence[str]:
        """How the names of files that hold its schemas end."""

    def rules(self) -> Sequence[CompatibilityRule]:
        """Return every compatibility rule of the language."""

    def parse(self, text: str, references: Sequence[ResolvedReference], *, validation: Validation) -> ParsedSchema:
        """Return the schema that ``text`` declares.

        ``references`` are resolved, transitive, in dependency order (a reference comes after those it needs).
        Raises ``SchemaParseError`` with line, column and path.
        """

    def outline(self, text: str) -> Outline | None:
        """Return the names that ``text`` declares and uses, without parsing it; None for a text that is unreadable."""

    def find_differences(
        self, reader: ParsedSchema, writer: ParsedSchema, *, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT
    ) -> Sequence[Difference]:
        """Return why, under ``policy``, ``reader`` cannot read everything that ``writer`` may write; empty if it can.

        Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
        """

    def find_changes(self, earlier: ParsedSchema, later: ParsedSchema) -> list[Change]:
        """Return everything that differs, without judgement, in the order of the later schema.

        Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
        """

    def search_for_witness(
        self, reader: ParsedSchema, writer: ParsedSchema, difference: Difference
    ) -> Witness | NoWitness:
        """Return a value that ``writer`` may write and ``reader`` cannot read, or why none was found."""

    def confirm_compatible(self, reader: ParsedSchema, writer: ParsedSchema, count: int) -> Confirmation:
        """Write ``count`` generated values with ``writer``, read them with ``reader``, and return the result.

        It ends at the first value that is not read, or is read as something else.
        """

    def table_column(self, schema: ParsedSchema) -> Column:
        """Return the type of a table's rows that ``schema`` is; raise ``NotATable`` where there is none."""

    def find_tags(self, schema: ParsedSchema) -> list[tuple[Entity, tuple[str, ...]]]:
        """Return everything that can carry tags, in the order of the text, each with the tags that it carries."""

    def edit_tags(self, schema: ParsedSchema, edit: TagEdit) -> str:
        """Return the canonical text with the tags changed; every entity of ``edit`` must be in the schema."""


def schema_of(kind: type[_Parsed], schema: ParsedSchema) -> _Parsed:
    """Return ``schema``, which must be of the class ``kind``; raise ``TypeError`` for a schema of another language."""
    if not isinstance(schema, kind):
        raise TypeError(f"the schema must be of the class {kind.__name__}, not {type(schema).__name__}")
    return schema
