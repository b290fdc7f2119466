"""The tags of fields: those in the texts of a schema and its references, and those that its metadata assigns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from counterfoil.schema.model import ResolvedReference, Schema


_NONE: Final[frozenset[str]] = frozenset()


class FieldTags:
    """Finds the tags of a field by its full name."""

    def __init__(self, inline: Mapping[str, frozenset[str]], by_path: Mapping[str, Sequence[str]]) -> None:
        self._inline = inline
        self._by_path = by_path

    def joined(self, other: FieldTags) -> FieldTags:
        """Return the tags that a field has here or in another schema."""
        names = {*self._inline, *other._inline}
        inline = {name: self._inline.get(name, _NONE) | other._inline.get(name, _NONE) for name in names}
        paths = {*self._by_path, *other._by_path}
        by_path = {path: (*self._by_path.get(path, ()), *other._by_path.get(path, ())) for path in paths}
        return FieldTags(inline, by_path)

    def of(self, full_name: str, inline: Iterable[str] = ()) -> frozenset[str]:
        """Return the tags of a field; ``inline`` are tags that were found beside it."""
        from counterfoil.schema.tags.paths import matches_path

        given = (tag for path, tags in self._by_path.items() if matches_path(path, full_name) for tag in tags)
        return self._inline.get(full_name, _NONE).union(inline, given)


def find_field_tags(schema: Schema, references: Sequence[ResolvedReference]) -> FieldTags:
    """Return the tags of a schema's fields; those in the text of another language than Avro are beside each field."""
    by_path = schema.metadata.tags if schema.metadata is not None else {}
    return FieldTags(_inline_tags(schema, references) if schema.schema_type is SchemaType.AVRO else {}, by_path)


def _inline_tags(schema: Schema, references: Sequence[ResolvedReference]) -> dict[str, frozenset[str]]:
    from counterfoil.schema.entity import EntityKind
    from counterfoil.schema.formats.table import format_for
    from counterfoil.schema.parsed import Validation
    from counterfoil.schema.tags.edit import find_tags

    found: dict[str, frozenset[str]] = {}
    form = format_for(schema.schema_type)
    texts = [(each.text, references[:index]) for index, each in enumerate(references)]
    for text, needed in (*texts, (schema.text, references)):
        parsed = form.parse(text, needed, validation=Validation.LENIENT)
        found |= {entity.path: frozenset(tags) for entity, tags in find_tags(parsed) if entity.kind is EntityKind.FIELD}
    return found
