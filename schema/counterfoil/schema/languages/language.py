"""A schema language: the operations that its folder must have, and how its files refer to one another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterfoil.schema.compatibility.policies import CompatibilityPolicy, OutOfSteps, steps_for
from counterfoil.schema.errors import JudgementUndecided
from counterfoil.schema.parsed import SchemaSource, Validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterfoil.schema.change import Change
    from counterfoil.schema.compatibility.misfits import Misfits
    from counterfoil.schema.compatibility.policies import Steps
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.entity import Entity, TagEdit
    from counterfoil.schema.languages.references import FileReferences
    from counterfoil.schema.languages.table_types import Column
    from counterfoil.schema.marks import FieldTags, TaggedPlace
    from counterfoil.schema.model import ResolvedReference, SchemaType
    from counterfoil.schema.outline import Outline
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.witness import Confirmation, NoWitness, Witness


# A schema language: what other parts of the project need to know of it, and its operations.
#
# All other parts of the project use the languages only through this class and through
# :class:`~counterfoil.schema.parsed.ParsedSchema`. A further language is one folder beside this module, and one row in
# :mod:`counterfoil.schema.languages.table`. The types of the functions in the folders are checked in
# ``tests/typed/schema_languages.py``.


@dataclass(frozen=True, eq=False, kw_only=True)
class SchemaLanguage:
    """One schema language with all its operations.

    ``folder`` is the folder of its modules, and ``parser`` the name of the function in its module ``schema``.
    Each method imports what it needs when it is first called, so that the
    table of all languages loads no parser. A method that takes parsed schemas raises ``TypeError`` for those of another
    language.
    """

    schema_type: SchemaType
    folder: str
    parser: str
    file_suffixes: tuple[str, ...]
    """The suffixes of files that contain its schemas."""
    plain_suffixes: tuple[str, ...] = ()
    """The suffixes of files with any content, which are its schemas only if they are named explicitly."""
    claimed_suffixes: tuple[str, ...] = ()
    """Those plain suffixes of another language with which a file is of this one, if it declares a name in it."""
    is_json: bool = True
    """Whether its texts are JSON."""
    pointers_are_names: bool = False
    """Whether pointers consist of names, so that one leads to about the same place in another schema, too."""
    policies_about_bytes: frozenset[CompatibilityPolicy] = frozenset()
    """The policies whose verdict is about the structure of the bytes, and not about the values in them."""
    validation_to_compare: Validation = Validation.LENIENT
    """The strictness with which stored schemas are parsed to be compared."""
    forward_fix: str
    """The advice for a reader that is deployed already, where its rule has none of its own."""

    @cached_property
    def references(self) -> FileReferences:
        """How its files refer to one another."""
        rules: FileReferences = self._load("outline", "REFERENCES")
        return rules

    def rules(self) -> Sequence[CompatibilityRule]:
        """Return every compatibility rule of the language."""
        rules: Sequence[CompatibilityRule] = self._load("compare.rules", "RULES")
        return rules

    def parse(self, text: str, references: Sequence[ResolvedReference], *, validation: Validation) -> ParsedSchema:
        """Return the schema that ``text`` declares.

        ``references`` are resolved, transitive, in dependency order (a reference comes after those it needs).
        Raises ``SchemaParseError`` with line, column and path.
        """
        parsed = self._parse(text, references, validation=validation)
        if references:
            parsed.referenced_chars = sum(len(each.text) for each in references)
        parsed.source = SchemaSource(text, parsed.schema_type, tuple(references), validation)
        return parsed

    def outline(self, text: str) -> Outline | None:
        """Return the names that ``text`` declares and uses, without parsing it; None if it is unreadable."""
        outline: Outline | None = self._load("outline", "outline")(text)
        return outline

    def find_differences(
        self,
        reader: ParsedSchema,
        writer: ParsedSchema,
        *,
        policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
        steps: Steps | None = None,
    ) -> Sequence[Difference]:
        """Return why ``reader`` cannot read everything of ``writer`` under ``policy``; empty if it can.

        ``steps`` are spent; by default those of :func:`~counterfoil.schema.compatibility.policies.steps_for`. Raises
        ``InvalidSchema`` for schemas that are nested too deep to be compared, and ``JudgementUndecided`` where the
        steps do not suffice.
        """
        self._check(reader, writer)
        try:
            return self._find_differences(reader, writer, policy=policy, steps=steps or steps_for(reader, writer))
        except OutOfSteps:
            raise _undecided() from None

    def find_misfits(self, reader: ParsedSchema, writer: ParsedSchema) -> Misfits:
        """Return the places of a record at which ``reader`` does not get what it expects of records of ``writer``.

        Their meaning is that of the policy SOUND. Raises what :meth:`find_differences` raises.
        """
        self._check(reader, writer)
        try:
            misfits: Misfits = self._load("misfits", "find_misfits")(reader, writer)
        except OutOfSteps:
            raise _undecided() from None
        return misfits

    def find_changes(self, earlier: ParsedSchema, later: ParsedSchema) -> list[Change]:
        """Return all changes, without a verdict, in the order of the later schema.

        Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
        """
        self._check(earlier, later)
        changes: list[Change] = self._load("diff", "find_changes")(earlier, later)
        return changes

    def search_for_witness(
        self, reader: ParsedSchema, writer: ParsedSchema, difference: Difference, *, steps: Steps | None = None
    ) -> Witness | NoWitness:
        """Return a value that ``writer`` may write and ``reader`` cannot read, or why none was found.

        ``steps`` are spent; by default those of :func:`~counterfoil.schema.compatibility.policies.steps_for`.
        """
        self._check(reader, writer)
        search: Callable[..., Witness | NoWitness] = self._load("witness", "search_for_witness")
        return search(reader, writer, difference, steps=steps or steps_for(reader, writer))

    def confirm_compatible(self, reader: ParsedSchema, writer: ParsedSchema, count: int) -> Confirmation:
        """Write ``count`` generated values with ``writer``, read them with ``reader``, and return the result.

        It ends at the first value that is not read, or is read as another value.
        """
        self._check(reader, writer)
        confirmation: Confirmation = self._load("witness", "confirm_compatible")(reader, writer, count)
        return confirmation

    def table_column(self, schema: ParsedSchema) -> Column:
        """Return the type of a table's rows as one column; raise ``NotATable`` for a schema that has none."""
        self._check(schema)
        column: Column = self._load("table_type", "table_column")(schema)
        return column

    def find_tags(self, schema: ParsedSchema) -> list[tuple[Entity, tuple[str, ...]]]:
        """Return every entity that can have tags, in the order of the text, each with its tags."""
        self._check(schema)
        tags: list[tuple[Entity, tuple[str, ...]]] = self._load("outline", "find_tags")(schema)
        return tags

    def places(self, schema: ParsedSchema, tags: FieldTags) -> Iterator[TaggedPlace]:
        """Yield the places of the schema whose values have a type, each with the tags that mark it.

        ``tags`` are those that the metadata of the schema assign; those in its text and its references are found here.
        """
        self._check(schema)
        found: Iterator[TaggedPlace] = self._load("marks", "places")(schema, tags)
        return found

    def edit_tags(self, schema: ParsedSchema, edit: TagEdit) -> str:
        """Return the canonical text with the tags changed; every entity of ``edit`` must be in the schema."""
        self._check(schema)
        text: str = self._load("outline", "edit_tags")(schema, edit)
        return text

    def _check(self, *schemas: ParsedSchema) -> None:
        for schema in schemas:
            if schema.schema_type is not self.schema_type:
                raise TypeError(f"the schema must be of the language {self.schema_type}, not {schema.schema_type}")

    def _load(self, module: str, name: str) -> Any:
        return getattr(import_module(f"counterfoil.schema.languages.{self.folder}.{module}"), name)

    # The most used functions are looked up once, since an import at each call would take measurable time.

    @cached_property
    def _parse(self) -> Callable[..., ParsedSchema]:
        parse: Callable[..., ParsedSchema] = self._load("schema", self.parser)
        return parse

    @cached_property
    def _find_differences(self) -> Callable[..., Sequence[Difference]]:
        find: Callable[..., Sequence[Difference]] = self._load("policies", "find_differences")
        return find


def _undecided() -> JudgementUndecided:
    return JudgementUndecided(
        "Whether the schemas are compatible cannot be decided within the limits of a comparison: "
        "too many of their parts must be compared with each other; take alternatives or references out of them"
    )
