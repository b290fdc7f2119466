"""Which fields of a schema have a tag that forbids to show or to keep their values.

It fails closed: a tag at a place without a field of its own hides the nearest field around it, or everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.entity import EntityKind
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.marks import ROOT, FieldTags, tags_in
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.tags.edit import find_tags
from counterfoil.schema.tags.paths import tags_by_entity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from counterfoil.schema.entity import Entity
    from counterfoil.schema.model import ResolvedReference
    from counterfoil.schema.parsed import ParsedSchema

_ROOT_OBJECT: Final = "object"
_COMBINED: Final = frozenset({"array", "allof", "anyof", "oneof"})
_ANY_NAME: Final = "*"


@dataclass(frozen=True, slots=True)
class Hidden:
    """The hidden fields of a schema.

    ``paths`` are those of entities, such as ``shop.Customer.email`` and ``shop.Address``. For JSON, ``names`` are the
    names of hidden properties, wherever they are; with ``is_all``, everything is hidden. ``has_types``: a tag is that
    of a whole record, object or message.
    """

    paths: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    is_all: bool = False
    has_types: bool = False


def hidden_by_tags(
    schema: ParsedSchema,
    references: Sequence[ResolvedReference],
    is_wanted: Callable[[str], bool],
    *,
    by_path: Mapping[str, Sequence[str]],
) -> Hidden:
    """Return the fields of ``schema`` and of its references that have a tag for which ``is_wanted`` holds.

    ``by_path`` are the tags of the schema's metadata.
    """

    def has(tags: Iterable[Any]) -> bool:
        return any(isinstance(tag, str) and is_wanted(tag) for tag in tags)

    found = [entity for entity, tags in tags_by_entity(schema, by_path).items() if has(tags)]
    marked = [
        (each.mark.full_name, each.mark.name)
        for each in format_for(schema.schema_type).places(schema, FieldTags({}, by_path))
        if has(each.mark.tags)
    ]
    if schema.schema_type is SchemaType.JSON:
        return _of_json(schema, found, marked, has)
    for index, reference in enumerate(references):
        inner = format_for(schema.schema_type).parse(reference.text, references[:index], validation=Validation.LENIENT)
        found += [entity for entity, tags in find_tags(inner) if has(tags)]
    paths = {*(entity.path for entity in found), *(full_name for full_name, _ in marked)}
    has_types = any(entity.kind is EntityKind.RECORD for entity in found)
    return Hidden(frozenset(paths - {ROOT}), is_all=ROOT in paths, has_types=has_types)


def _of_json(
    schema: Any, found: Sequence[Entity], marked: Iterable[tuple[str, str]], has: Callable[[Iterable[Any]], bool]
) -> Hidden:
    documents = (schema.document, *schema.references.values())
    names: set[str | None] = {entity.path.rpartition(".")[2] for entity in found if entity.kind is EntityKind.FIELD}
    for entity in found:
        if entity.kind is EntityKind.RECORD:
            inside = [part for part in entity.path.split(".") if part not in _COMBINED and not part.isdecimal()]
            named = [part for part in inside if part != _ROOT_OBJECT]
            names.add(named[-1] if named else None)
    for document in documents:
        names.update(_tagged(document, has, None))
    declared = {name for document in documents for name in _declared(document)}
    names.update(_nearest(full_name, name, declared) for full_name, name in marked)
    has_types = any(entity.kind is EntityKind.RECORD for entity in found)
    return Hidden(
        names=frozenset(name for name in names if name is not None), is_all=None in names, has_types=has_types
    )


def _nearest(full_name: str, name: str, declared: set[str]) -> str | None:
    """Return the name of a field, or of the nearest field around it that a schema lists; None without one."""
    if name in declared:
        return name
    parts = full_name.removeprefix(f"{ROOT}.").split(".")
    while parts and parts[-1] == _ANY_NAME:
        parts.pop()
    return parts[-1] if parts and parts[-1] in declared else None


def _declared(node: Any) -> Iterator[str]:
    """Yield the names of all properties that a document lists."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            listed = each.get("properties")
            yield from listed if isinstance(listed, dict) else ()
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _tagged(node: Any, has: Callable[[Iterable[Any]], bool], around: str | None) -> Iterator[str | None]:
    """Yield the name of the property around each tag; None for a tag of a definition, or of the whole schema."""
    if isinstance(node, list):
        for each in node:
            yield from _tagged(each, has, around)
    if not isinstance(node, dict):
        return
    if has(tags_in(node)):
        yield around
    for keyword, inner in node.items():
        if keyword == "properties" and isinstance(inner, dict):
            for name, each in inner.items():
                yield from _tagged(each, has, name)
        else:
            yield from _tagged(inner, has, None if keyword in ("$defs", "definitions") else around)
