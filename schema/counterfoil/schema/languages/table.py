"""The schema languages: their operations, the table of all, and parsing and changes in any of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.compatibility import CompatibilityPolicy, OutOfSteps, Steps, steps_for
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.model import DEFAULT_TYPE, Reference, ResolvedReference, Schema, SchemaType
from counterfoil.schema.parsed import ParsedSchema, SchemaSource, Validation

if TYPE_CHECKING:
    from counterfoil.schema.change import Change
    from counterfoil.schema.compatibility.findings import (
        CompatibilityRule,
        Confirmation,
        Difference,
        NoWitness,
        Witness,
    )
    from counterfoil.schema.compatibility.misfits import Misfits
    from counterfoil.schema.languages.byte_walk import ByteWalk, ReadValue, ValueTree, WalkedBytes
    from counterfoil.schema.languages.laid_out_text import SchemaLayout
    from counterfoil.schema.languages.references import FileReferences, Outline
    from counterfoil.schema.languages.table_types import Column
    from counterfoil.schema.marks import Entity, FieldTags, TagEdit, TaggedPlace
    from counterfoil.schema.rest.inspection import ElementRow


# A schema language: what other parts of the project need to know of it, and its operations.
#
# All other parts of the project use the languages only through this class and through
# :class:`~counterfoil.schema.parsed.ParsedSchema`. A further language is one folder beside this module, and one row in
# :data:`SCHEMA_LANGUAGES`. The types of the functions in the folders are checked in
# ``tests/typed/schema_languages.py``.


@dataclass(frozen=True, eq=False, kw_only=True)
class SchemaLanguage:
    """One schema language with all its operations.

    ``folder`` is the folder of its modules, and ``parser`` the name of the function in its module ``schema``. Where
    other folders have a module for each language (plans, sketches, messages of the converter), it has the same name.
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

        ``steps`` are spent; by default those of :func:`~counterfoil.schema.compatibility.steps_for`. Raises
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

        ``steps`` are spent; by default those of :func:`~counterfoil.schema.compatibility.steps_for`.
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

    def decode(self, schema: ParsedSchema, walk: ByteWalk, indexes: Sequence[int]) -> ValueTree:
        """Return the value that begins at the walk's offset; ``indexes`` lead to the message type of Protobuf.

        Raises ``DecodingStopped`` where the bytes are no value of the schema.
        """
        self._check(schema)
        tree: ValueTree = self._load("decoding", "decode_body")(schema, walk, indexes)
        return tree

    def read_as(self, reader: ParsedSchema, writer: ParsedSchema, walked: WalkedBytes) -> ReadValue:
        """Return what a decoder of another project makes of bytes for ``reader``.

        The bytes were decoded as a value of ``writer`` without a fault.
        """
        self._check(reader, writer)
        found: ReadValue = self._load("decoding", "read_as")(reader, writer, walked)
        return found

    def table_column(self, schema: ParsedSchema, *, steps: Steps | None = None) -> Column:
        """Return the type of a table's rows as one column; raise ``NotATable`` for a schema that has none.

        ``steps`` are spent, if there are some; raises ``JudgementUndecided`` if they do not suffice.
        """
        from counterfoil.schema.languages.table_types import ColumnCount

        self._check(schema)
        try:
            column: Column = self._load("table_type", "table_column")(schema, ColumnCount(steps=steps))
        except OutOfSteps:
            raise _undecided() from None
        return column

    def find_tags(self, schema: ParsedSchema) -> list[tuple[Entity, tuple[str, ...]]]:
        """Return every entity that can have tags, in the order of the text, each with its tags."""
        self._check(schema)
        tags: list[tuple[Entity, tuple[str, ...]]] = self._load("outline", "find_tags")(schema)
        return tags

    def find_elements(self, schema: ParsedSchema, tags_by_path: Mapping[str, Sequence[str]]) -> tuple[ElementRow, ...]:
        """Return the fields, branches and items in the order of the text; their number is bounded by the text."""
        self._check(schema)
        rows: tuple[ElementRow, ...] = self._load("elements", "find_elements")(schema, tags_by_path)
        return rows

    def declared_types(self, schema: ParsedSchema, tags_by_path: Mapping[str, Sequence[str]]) -> tuple[ElementRow, ...]:
        """Return the named types that the schema declares, and those of its references that it uses."""
        self._check(schema)
        rows: tuple[ElementRow, ...] = self._load("elements", "declared_types")(schema, tags_by_path)
        return rows

    def lay_out(self, schema: ParsedSchema) -> SchemaLayout:
        """Return the text laid out for people."""
        self._check(schema)
        layout: SchemaLayout = self._load("layout", "lay_out")(schema)
        return layout

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


# The schema languages by schema type; the parts of each are loaded by its methods on first use.

SCHEMA_LANGUAGES: Final = (
    SchemaLanguage(
        schema_type=SchemaType.AVRO,
        folder="avro",
        parser="parse_avro",
        file_suffixes=(".avsc",),
        claimed_suffixes=(".json",),
        forward_fix="Keep what deployed readers expect: they read with the earlier schema. Add a field beside it for "
        "what is new.",
    ),
    SchemaLanguage(
        schema_type=SchemaType.PROTOBUF,
        folder="protobuf",
        parser="parse_protobuf",
        file_suffixes=(".proto",),
        is_json=False,
        pointers_are_names=True,
        policies_about_bytes=frozenset({CompatibilityPolicy.WIRE, CompatibilityPolicy.WIRE_JSON}),
        forward_fix="Keep what deployed readers expect: they read with the earlier schema. Add a field with a number "
        "of its own for what is new.",
    ),
    SchemaLanguage(
        schema_type=SchemaType.JSON,
        folder="jsonschema",
        parser="parse_json_schema",
        file_suffixes=(".schema.json", ".jsonschema"),
        plain_suffixes=(".json",),
        validation_to_compare=Validation.LOOKUP,  # a broken reference can be stored, and cannot be compared
        forward_fix="Do not write what deployed readers refuse: they read with the earlier schema. Widen it in one "
        "release, and make use of that in a later one.",
    ),
)
"""Every schema language."""

_FORMAT_BY_TYPE = {each.schema_type: each for each in SCHEMA_LANGUAGES}


def language_for(schema_type: SchemaType) -> SchemaLanguage:
    """Return the row of a schema language."""
    return _FORMAT_BY_TYPE[schema_type]


# The language of a schema in a file that a command names: by the end of the file's name, else by its content.

_PROTOBUF: Final = re.compile(r"^\s*(?:(?:syntax|edition)\s*=\s*[\"']|(?:message|enum|package|import)\b)", re.MULTILINE)
_AVRO_TYPES: Final = frozenset({"record", "error", "enum", "fixed", "map", "int", "long", "float", "double", "bytes"})
_AVRO_KEYS: Final = frozenset({"logicalType", "symbols", "fields", "namespace"})
_JSON_KEYS: Final = frozenset(
    {"$schema", "$id", "$ref", "$defs", "definitions", "properties", "required", "additionalProperties", "allOf"}
)

NAME_BY_TYPE: Final = {SchemaType.AVRO: "Avro", SchemaType.PROTOBUF: "Protobuf", SchemaType.JSON: "JSON Schema"}
"""The languages as sentences name them."""


def language_of_schema_file(name: str, text: str) -> SchemaType:
    r"""Return the language of the schema ``text`` in the file ``name``.

    The suffix of a schema decides. Files of any other name are of the language that their content is written in; JSON
    that could be of two is JSON Schema in a file ``.json``, and Avro elsewhere.

    >>> language_of_schema_file("card.json", '{"type": "object"}').value
    'JSON'
    >>> language_of_schema_file("card.json", '{"type": "record", "name": "Card", "fields": []}').value
    'AVRO'
    """
    by_suffix = next((each.schema_type for each in SCHEMA_LANGUAGES if name.endswith(each.file_suffixes)), None)
    return by_suffix or _by_content(name, text)


def _by_content(name: str, text: str) -> SchemaType:
    plain = next((each.schema_type for each in SCHEMA_LANGUAGES if name.endswith(each.plain_suffixes)), DEFAULT_TYPE)
    try:
        import json

        document = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return SchemaType.PROTOBUF if _PROTOBUF.search(text) else plain
    return _of_document(document) or plain


def _of_document(document: object) -> SchemaType | None:
    """Return the language of a schema as JSON; None if both have such a schema."""
    if isinstance(document, bool):
        return SchemaType.JSON
    if not isinstance(document, dict):
        return SchemaType.AVRO  # a union, or the name of a type
    if "$schema" in document:
        return SchemaType.JSON
    kind = document.get("type")
    is_avro = isinstance(kind, dict) or (isinstance(kind, str) and kind in _AVRO_TYPES)
    if is_avro or isinstance(document.get("items"), str) or _AVRO_KEYS & document.keys():
        return SchemaType.AVRO
    if kind in ("object", "integer", "number") or isinstance(kind, list) or _JSON_KEYS & document.keys():
        return SchemaType.JSON
    return None


# Parsing of schema texts of any language, and outlines of their names.


def parse_schema(
    text: str,
    schema_type: SchemaType = DEFAULT_TYPE,
    *,
    references: Sequence[ResolvedReference] = (),
    validation: Validation = Validation.STRICT,
) -> ParsedSchema:
    """Return the schema that ``text`` declares.

    ``references`` are resolved, in dependency order. Raises ``SchemaParseError`` (an ``InvalidSchema``) with line,
    column and JSON pointer.

    >>> parse_schema('{"type": "int"}').canonical()
    '"int"'
    """
    return language_for(schema_type).parse(text, references, validation=validation)


@cached_by_size(16 * 1024 * 1024, size_of=lambda _, text, *__: 2_000 + 2 * len(text))
def outline(text: str, schema_type: SchemaType = DEFAULT_TYPE) -> Outline | None:
    """Return the names that ``text`` declares and uses, without parsing it; None if it is unreadable or too deep."""
    return language_for(schema_type).outline(text)


# The schemas that a registered schema needs: its references, and theirs. The caller fetches them, in whatever way.

Resolving: TypeAlias = "Generator[Reference, Schema, tuple[ResolvedReference, ...]]"


def resolving(schema: Schema) -> Resolving:
    """Yield each reference whose schema is needed, and receive that schema; return all, each after its own references.

    A version is needed once. In languages in which a reference is the name of a whole text, it is needed once for each
    name that it has.
    """
    if not schema.references:
        return ()
    names_identify = language_for(schema.schema_type).references.names_identify_files
    seen: set[tuple[str, str, int]] = set()
    found: list[ResolvedReference] = []

    def visit(outer: Schema) -> Generator[Reference, Schema, None]:
        for reference in outer.references:
            key = (reference.name if names_identify else "", reference.subject, reference.version)
            if key not in seen:
                seen.add(key)
                held = yield reference
                yield from visit(held)
                found.append(ResolvedReference(reference, held.text))

    yield from visit(schema)
    return tuple(found)


def resolved_references(schema: Schema, fetch: Callable[[Reference], Schema]) -> tuple[ResolvedReference, ...]:
    """Return what :func:`resolving` returns; ``fetch`` returns the schema of a reference. Raises its errors."""
    walk = resolving(schema)
    try:
        wanted = next(walk)
        while True:
            wanted = walk.send(fetch(wanted))
    except StopIteration as end:
        found: tuple[ResolvedReference, ...] = end.value
        return found


# The changes between two schemas of any language, independent of compatibility.


def find_changes(earlier: ParsedSchema, later: ParsedSchema) -> list[Change]:
    """Return the changes between two schemas, in the order of the later one; empty if they are equal.

    Raises ``InvalidSchema`` for schemas of different languages, and for those that are nested too deep.

    >>> from counterfoil.schema.languages.table import parse_schema
    >>> [change.text for change in find_changes(parse_schema('"int"'), parse_schema('"long"'))]
    ['type changed: int → long']
    """
    if earlier.schema_type is not later.schema_type:
        raise InvalidSchema(
            f"The earlier schema is {earlier.schema_type}, the later one {later.schema_type}; "
            "only schemas of one language can be compared"
        )
    return language_for(earlier.schema_type).find_changes(earlier, later)
