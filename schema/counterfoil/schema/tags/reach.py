"""Tags that mark values which the field rules of Confluent's clients do not reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.formats.table import format_for
from counterfoil.schema.marks import ROOT, FieldTags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.pointer import Pointer

_MOST = 100


@dataclass(frozen=True, slots=True)
class UnreachedTags:
    """Tags at a place where no field rule finds them: ``place`` in words, and the ``pointer`` of its element."""

    place: str
    tags: tuple[str, ...]
    pointer: Pointer = ()

    @property
    def text(self) -> str:
        """The finding in one sentence."""
        tags = ", ".join(repr(tag) for tag in self.tags)
        return (
            f"{tags} marks {self.place}, where the field rules of Confluent's clients change nothing, so that a rule "
            "ENCRYPT with this tag is refused"
        )


def unreached_tags(schema: ParsedSchema, by_path: Mapping[str, Sequence[str]]) -> list[UnreachedTags]:
    """Return the places of a schema, at most 100, with tags that Confluent's clients do not find there.

    ``by_path`` are the tags of the schema's metadata.
    """
    found: dict[tuple[str, tuple[str, ...]], UnreachedTags] = {}
    for each in format_for(schema.schema_type).places(schema, FieldTags({}, by_path)):
        missed = (
            ()
            if each.type == "NULL"
            else tuple(sorted(tag for tag in each.mark.tags if not each.is_reached(frozenset({tag}))))
        )
        if missed:
            field = "the value itself" if each.full_name == ROOT else f"the field {each.full_name}"
            place = f"what is {each.where} {field}" if each.where else field
            found.setdefault((place, missed), UnreachedTags(place, missed, each.pointer))
        if len(found) == _MOST:
            break
    return list(found.values())


def has_tags(text: str, by_path: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a schema may have tags, by its text alone."""
    return bool(by_path) or "confluent:tags" in text or "_meta)" in text
