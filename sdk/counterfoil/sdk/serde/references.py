"""Parsing a schema of a registry: its references, and theirs before them, are fetched by one script."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from counterfoil.schema.parsed import Validation
from counterfoil.schema.references import resolving
from counterfoil.sdk.errors import SerdeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.model import ResolvedReference, Schema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.codec import Codec
    from counterfoil.sdk.serde.sources import SchemaCalls

P = TypeVar("P")


def parse_own(codec: Codec[P], schema: Schema, references: Sequence[ResolvedReference] = ()) -> P:
    """Return the parsed form of a program's own schema, without a request.

    Raises ``SchemaParseError``, and ``SerdeError`` for a schema of another language.
    """
    _check_type(codec, schema)
    return codec.parse(schema, references, validation=Validation.STRICT)


def load_schema(
    calls: SchemaCalls, codec: Codec[P], schema: Schema, *, validation: Validation = Validation.LENIENT
) -> Script[P]:
    """Return the parsed form of a schema, with its references fetched from the registry.

    Raises the registry's errors, ``SchemaParseError``, and ``SerdeError`` for a schema of another language.
    """
    _check_type(codec, schema)
    references = yield from resolve_references(calls, schema)
    return codec.parse(schema, references, validation=validation)


def _check_type(codec: Codec[P], schema: Schema) -> None:
    if schema.schema_type is not codec.schema_type:
        raise SerdeError(f"The schema is {schema.schema_type.value}; expected {codec.schema_type.value}")


def resolve_references(calls: SchemaCalls, schema: Schema) -> Script[tuple[ResolvedReference, ...]]:
    """Return the schemas of the references and of theirs, each after those that it needs."""
    walk = resolving(schema)
    try:
        wanted = next(walk)
        while True:
            number = "latest" if wanted.version == -1 else wanted.version
            held = yield from calls.version(wanted.subject, number)
            wanted = walk.send(held.schema)
    except StopIteration as end:
        found: tuple[ResolvedReference, ...] = end.value
        return found
