"""Parsing a schema of a registry: its references, and theirs before them, are fetched by one script."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from counterfoil.schema.model import ResolvedReference
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import RulesNotSupported, SerdeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.model import Reference, Rule, Schema
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
    references = yield from resolve_references(calls, schema.references)
    return codec.parse(schema, references, validation=validation)


def _check_type(codec: Codec[P], schema: Schema) -> None:
    if schema.schema_type is not codec.schema_type:
        raise SerdeError(f"The schema is {schema.schema_type.value}; expected {codec.schema_type.value}")


def resolve_references(calls: SchemaCalls, references: tuple[Reference, ...]) -> Script[list[ResolvedReference]]:
    """Return the schemas that references name, and theirs before them."""
    resolved: dict[tuple[str, int], ResolvedReference] = {}
    open_references: set[tuple[str, int]] = set()

    def visit(wanted: tuple[Reference, ...]) -> Script[None]:
        for reference in wanted:
            key = (reference.subject, reference.version)
            if key in resolved or key in open_references:
                continue
            open_references.add(key)
            held = yield from calls.version(
                reference.subject, "latest" if reference.version == -1 else reference.version
            )
            yield from visit(held.schema.references)
            resolved[key] = ResolvedReference(reference, held.schema.text)

    yield from visit(references)
    return list(resolved.values())


def refuse_rules(schema: Schema) -> None:
    """Raise ``RulesNotSupported`` if the schema has a rule that a client must run."""
    if schema.rule_set is None:
        return
    rules = (*schema.rule_set.domain_rules, *schema.rule_set.encoding_rules)
    active: list[Rule] = [rule for rule in rules if not rule.disabled]
    if active:
        named = ", ".join(f"{rule.name!r} ({rule.type})" for rule in active)
        raise RulesNotSupported(f"The schema carries rules that this client does not run: {named}")
