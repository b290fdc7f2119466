"""Schemas of any language: parsing, outlines, the schemas that they refer to, changes between two."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import DEFAULT_TYPE, ResolvedReference
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from counterfoil.schema.change import Change
    from counterfoil.schema.model import Reference, Schema, SchemaType
    from counterfoil.schema.outline import Outline
    from counterfoil.schema.parsed import ParsedSchema


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

    >>> from counterfoil.schema.parsing import parse_schema
    >>> [change.text for change in find_changes(parse_schema('"int"'), parse_schema('"long"'))]
    ['type changed: int → long']
    """
    if earlier.schema_type is not later.schema_type:
        raise InvalidSchema(
            f"The earlier schema is {earlier.schema_type}, the later one {later.schema_type}; "
            "only schemas of one language can be compared"
        )
    return language_for(earlier.schema_type).find_changes(earlier, later)
