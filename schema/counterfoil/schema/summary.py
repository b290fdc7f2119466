"""What is said about one schema as plain values, so that another process can parse it and say that alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.tags.reach import unnamed_paths_of, unreached_tags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.parsed import ParsedSchema


@dataclass(frozen=True, slots=True)
class SchemaSummary:
    """What is needed of each schema that is read: its canonical text, its name, the names of its top-level fields."""

    canonical: str
    name: str | None
    field_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedWarning:
    """A violation of the language's specification: its rule, a sentence, and where it is in the text, in words."""

    rule: str
    text: str
    place: str


def summary_of(schema: ParsedSchema) -> SchemaSummary:
    """Return the summary of a schema; raise ``InvalidSchema`` if it cannot be printed."""
    return SchemaSummary(schema.canonical(), schema.name, tuple(schema.field_names()))


def normalized_text(schema: ParsedSchema) -> str:
    """Return the canonical text with a fixed order of elements whose order has no meaning."""
    return schema.normalized()


def formatted_text(schema: ParsedSchema, form: str) -> str | None:
    """Return the text in another form of its language; None for an unknown form."""
    return schema.formatted(form)


def are_equivalent(first: ParsedSchema, second: ParsedSchema) -> bool:
    """Return whether two schemas are equal except for the order of attributes."""
    return first.is_equivalent(second)


def placed_warnings(schema: ParsedSchema) -> tuple[PlacedWarning, ...]:
    """Return the violations of the language's specification that the reference registry accepts."""
    return tuple(
        PlacedWarning(each.rule, each.text, str(schema.locate(each.pointer) or "in a reference"))
        for each in schema.warnings()
    )


def tags_without_effect(
    schema: ParsedSchema, by_path: Mapping[str, Sequence[str]], wanted: frozenset[str], most: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is wrong with tags, in sentences, at most so many: marks that no rule reaches, paths without a field.

    ``by_path`` are the tags of the schema's metadata, ``wanted`` those of its rules.
    """
    unreached = unreached_tags(schema, by_path) if wanted else []
    missed = [each.text for each in unreached if wanted.intersection(each.tags)]
    return tuple(missed[:most]), tuple(each.text for each in unnamed_paths_of(schema, by_path, most=most))
