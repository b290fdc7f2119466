"""Which fields of a schema have a tag that forbids to keep their values in a sketch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.entity import EntityKind
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.tags.edit import find_tags
from counterfoil.schema.tags.paths import tags_by_entity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterfoil.schema.entity import Entity
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.sketch.model import WriterSchema

DEFAULT_TAGS: Final = frozenset({"PII"})
"""The tags of fields of which a sketch keeps counts alone."""

_TAGS: Final = "confluent:tags"
_ROOT: Final = "object"
_COMBINED: Final = frozenset({"array", "allof", "anyof", "oneof"})


@dataclass(frozen=True, slots=True)
class Hidden:
    """The hidden fields of a schema.

    ``paths`` are those of entities, such as ``shop.Customer.email`` and ``shop.Address``. For JSON, ``names`` are the
    names of hidden properties, wherever they are; with ``is_all``, everything is hidden.
    """

    paths: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    is_all: bool = False


def hidden_fields(
    schema: ParsedSchema, writer: WriterSchema, *, tags: frozenset[str], by_path: Mapping[str, Sequence[str]]
) -> Hidden:
    """Return the fields of ``schema`` and of its references that have one of ``tags``, in any case of letters.

    ``by_path`` are the tags of the schema's metadata. ``writer`` is the text that ``schema`` was parsed from.
    """
    wanted = frozenset(tag.casefold() for tag in tags)
    found = [entity for entity, has in tags_by_entity(schema, by_path).items() if _has(has, wanted)]
    if writer.schema_type is SchemaType.JSON:
        return _of_json(schema, found, wanted)
    for index, reference in enumerate(writer.references):
        inner = parse_schema(
            reference.text,
            writer.schema_type,
            references=writer.references[:index],
            validation=Validation.LENIENT,
        )
        found += [entity for entity, has in find_tags(inner) if _has(has, wanted)]
    return Hidden(frozenset(entity.path for entity in found))


def _has(tags: Sequence[Any], wanted: frozenset[str]) -> bool:
    return any(isinstance(tag, str) and tag.casefold() in wanted for tag in tags)


def _of_json(schema: Any, found: Sequence[Entity], wanted: frozenset[str]) -> Hidden:
    names = {entity.path.rpartition(".")[2] for entity in found if entity.kind is EntityKind.FIELD}
    is_all = False
    for entity in found:
        if entity.kind is EntityKind.RECORD:
            inside = [part for part in entity.path.split(".") if part not in _COMBINED and not part.isdecimal()]
            named = [part for part in inside if part != _ROOT]
            is_all = is_all or not named
            names.update(named[-1:])
    for document in (schema.document, *schema.references.values()):
        for name in _tagged(document, wanted, None):
            is_all = is_all or name is None
            names.update([name] if name is not None else [])
    return Hidden(names=frozenset(names), is_all=is_all)


def _tagged(node: Any, wanted: frozenset[str], around: str | None) -> Iterator[str | None]:
    """Yield the name of the property around each tag; None for a tag of a definition, or of the whole schema."""
    if isinstance(node, list):
        for each in node:
            yield from _tagged(each, wanted, around)
    if not isinstance(node, dict):
        return
    if isinstance(node.get(_TAGS), list) and _has(node[_TAGS], wanted):
        yield around
    for keyword, inner in node.items():
        if keyword == "properties" and isinstance(inner, dict):
            for name, each in inner.items():
                yield from _tagged(each, wanted, name)
        else:
            yield from _tagged(inner, wanted, None if keyword in ("$defs", "definitions") else around)
