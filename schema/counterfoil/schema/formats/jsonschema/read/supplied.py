"""The documents that the references of a schema lead to, for validators of other projects, which find them by URI.

Such a validator resolves a reference against a base URI and requests the result. :mod:`.resolve` knows more ways to
name a document, such as the name of a registry's reference below any base. So each URI that a validator will request is
computed here, with the document that :mod:`.resolve` finds for it. Nothing is ever fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.keywords import subschemas
from counterfoil.schema.formats.jsonschema.read.resolve import Base, UnresolvedReference, join_uris

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.formats.jsonschema.read.resolve import Resolver

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_DEFINITIONS: Final = ("$defs", "definitions")


def documents_by_uri(
    document: Any, references: Mapping[str, Any], resolver: Resolver, *, root_uri: str = ""
) -> dict[str, Any]:
    """Return the referenced documents by every URI under which a validator requests them.

    ``root_uri`` is the URI that the validator gives to a document without an identifier. References that lead nowhere
    are left out.
    """
    found: dict[str, Any] = {}
    start = resolver.enter(document, Base("", "", root_uri, resolver.root.draft))
    waiting = [(document, resolver.root, start)]
    while waiting:
        value, base, requested = waiting.pop()
        for reference in _references_of(value):
            name = reference.partition("#")[0]
            uri = join_uris(requested.uri, name).partition("#")[0]
            if not name or uri in found:
                continue
            try:
                resource, place = resolver.resolve(name, base)
            except UnresolvedReference:
                continue
            if place.document in references:
                found[uri] = resource
                waiting.append((resource, place, resolver.enter(resource, Base("", "", uri, place.draft))))
        for steps, child in subschemas(value):
            waiting.append(
                (child, resolver.enter(child, base.below(*steps)), resolver.enter(child, requested.below(*steps)))
            )
    return found


def check_references(document: Any, resolver: Resolver) -> None:
    """Raise ``UnresolvedReference`` for the first reference without a target that a validator may follow."""
    waiting = [(document, resolver.root)]
    seen: set[int] = set()
    while waiting:
        value, base = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        waiting.extend(resolver.resolve(reference, base) for reference in _references_of(value))
        if not base.draft.is_modern and isinstance(value, dict) and isinstance(value.get("$ref"), str):
            continue  # in these drafts, keywords beside a reference are ignored
        waiting.extend(
            (child, resolver.enter(child, base.below(*steps)))
            for steps, child in subschemas(value)
            if steps[0] not in _DEFINITIONS
        )


def _references_of(value: Any) -> Iterator[str]:
    for keyword in _REFERENCES:
        reference = value.get(keyword) if isinstance(value, dict) else None
        if isinstance(reference, str):
            yield reference
