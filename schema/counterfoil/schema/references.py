"""The schemas that a registered schema needs: its references, and theirs. The caller fetches them, in whatever way."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.formats.table import format_for
from counterfoil.schema.model import ResolvedReference

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from counterfoil.schema.model import Reference, Schema

Resolving: TypeAlias = "Generator[Reference, Schema, tuple[ResolvedReference, ...]]"


def resolving(schema: Schema) -> Resolving:
    """Yield each reference whose schema is needed, and receive that schema; return all, each after its own references.

    A version is needed once. In languages in which a reference is the name of a whole text, it is needed once for each
    name that it has.
    """
    if not schema.references:
        return ()
    names_identify = format_for(schema.schema_type).references.names_identify_files
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
