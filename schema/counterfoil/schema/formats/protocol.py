"""The protocol that a schema language implements.

All other parts of the project use the languages only through this protocol and through
:class:`~counterfoil.schema.parsed.ParsedSchema`. A further language is one folder beside this module, and one row in
:mod:`counterfoil.schema.formats.table`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from counterfoil.schema.change import Change
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.entity import Entity, TagEdit
    from counterfoil.schema.formats.files import FileReferences
    from counterfoil.schema.logical.model import Column
    from counterfoil.schema.model import ResolvedReference, SchemaType
    from counterfoil.schema.outline import Outline
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.witness import Confirmation, NoWitness, Witness

_Parsed = TypeVar("_Parsed", bound="ParsedSchema")
_Parsed_co = TypeVar("_Parsed_co", bound="ParsedSchema", covariant=True)
_Parsed_contra = TypeVar("_Parsed_contra", bound="ParsedSchema", contravariant=True)


class Parse(Protocol[_Parsed_co]):
    """The function behind :meth:`Format.parse`."""

    def __call__(
        self, text: str, references: Sequence[ResolvedReference] = ..., *, validation: Validation = ...
    ) -> _Parsed_co:
        """Return the schema that ``text`` declares."""


class FindDifferences(Protocol[_Parsed_contra]):
    """The function behind :meth:`Format.find_differences`."""

    def __call__(
        self, reader: _Parsed_contra, writer: _Parsed_contra, *, policy: CompatibilityPolicy = ...
    ) -> Sequence[Difference]:
        """Return the differences for which ``reader`` cannot read everything that ``writer`` may write."""


class Format(Protocol):
    """One schema language with all its operations.

    Each method imports what it needs when it is first called, so that the table of all languages loads no parser. A
    method that takes parsed schemas raises ``TypeError`` for those of another language.
    """

    @property
    def schema_type(self) -> SchemaType:
        """The language."""

    @property
    def file_suffixes(self) -> Sequence[str]:
        """The suffixes of files that contain its schemas."""

    @property
    def policies_about_bytes(self) -> AbstractSet[CompatibilityPolicy]:
        """The policies whose verdict is about the structure of the bytes, and not about the values in them."""
        return frozenset()

    @property
    def plain_suffixes(self) -> Sequence[str]:
        """The suffixes of files with any content, which are its schemas only if they are named explicitly."""
        return ()

    @property
    def claimed_suffixes(self) -> Sequence[str]:
        """Those plain suffixes of another language with which a file is of this one, if it declares a name in it."""
        return ()

    @property
    def is_json(self) -> bool:
        """Whether its texts are JSON."""
        return True

    @property
    def pointers_are_names(self) -> bool:
        """Whether pointers consist of names, so that one leads to about the same place in another schema, too."""
        return False

    @property
    def validation_to_compare(self) -> Validation:
        """The strictness with which stored schemas are parsed to be compared."""
        return Validation.LENIENT

    @property
    def forward_fix(self) -> str:
        """The advice for a reader that is deployed already, where its rule has none of its own."""

    @property
    def references(self) -> FileReferences:
        """How its files refer to one another."""

    def rules(self) -> Sequence[CompatibilityRule]:
        """Return every compatibility rule of the language."""

    def parse(self, text: str, references: Sequence[ResolvedReference], *, validation: Validation) -> ParsedSchema:
        """Return the schema that ``text`` declares.

        ``references`` are resolved, transitive, in dependency order (a reference comes after those it needs).
        Raises ``SchemaParseError`` with line, column and path.
        """

    def outline(self, text: str) -> Outline | None:
        """Return the names that ``text`` declares and uses, without parsing it; None if it is unreadable."""

    def find_differences(
        self, reader: ParsedSchema, writer: ParsedSchema, *, policy: CompatibilityPolicy = CompatibilityPolicy.STRICT
    ) -> Sequence[Difference]:
        """Return why ``reader`` cannot read everything of ``writer`` under ``policy``; empty if it can.

        Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
        """

    def find_changes(self, earlier: ParsedSchema, later: ParsedSchema) -> list[Change]:
        """Return all changes, without a verdict, in the order of the later schema.

        Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
        """

    def search_for_witness(
        self, reader: ParsedSchema, writer: ParsedSchema, difference: Difference
    ) -> Witness | NoWitness:
        """Return a value that ``writer`` may write and ``reader`` cannot read, or why none was found."""

    def confirm_compatible(self, reader: ParsedSchema, writer: ParsedSchema, count: int) -> Confirmation:
        """Write ``count`` generated values with ``writer``, read them with ``reader``, and return the result.

        It ends at the first value that is not read, or is read as another value.
        """

    def table_column(self, schema: ParsedSchema) -> Column:
        """Return the type of a table's rows for ``schema``; raise ``NotATable`` if it has none."""

    def find_tags(self, schema: ParsedSchema) -> list[tuple[Entity, tuple[str, ...]]]:
        """Return everything that can have tags, in the order of the text, each with its tags."""

    def edit_tags(self, schema: ParsedSchema, edit: TagEdit) -> str:
        """Return the canonical text with the tags changed; every entity of ``edit`` must be in the schema."""


def schema_of(kind: type[_Parsed], schema: ParsedSchema) -> _Parsed:
    """Return ``schema``; raise ``TypeError`` if it is not of the class ``kind``."""
    if not isinstance(schema, kind):
        raise TypeError(f"the schema must be of the class {kind.__name__}, not {type(schema).__name__}")
    return schema
