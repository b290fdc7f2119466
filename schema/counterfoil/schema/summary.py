"""Answers about one schema as plain values: another process parses the schema, and returns the answer alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.tags.reach import unencryptable_tags, unnamed_paths_of, unreached_tags

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


@dataclass(frozen=True, slots=True)
class TagsAsked:
    """Tags of a schema: ``by_path`` those of its metadata, ``of_rules`` those that its rules name.

    ``encrypted`` are the tags of its rules ENCRYPT. At most ``most`` findings of each kind are wanted.
    """

    by_path: Mapping[str, Sequence[str]]
    of_rules: frozenset[str]
    encrypted: frozenset[str]
    most: int


def tags_without_effect(schema: ParsedSchema, asked: TagsAsked) -> dict[str, tuple[str, ...]]:
    """Return what is wrong with tags: by a kind of finding in words, its cause at each place."""
    by_path, most = asked.by_path, asked.most
    unreached = unreached_tags(schema, by_path) if asked.of_rules else []
    unfit = unencryptable_tags(schema, by_path) if asked.encrypted else []
    missed = [each.text for each in unreached if asked.of_rules.intersection(each.tags)]
    plain = [each.text for each in unfit if asked.encrypted.intersection(each.tags)]
    return {
        "a tag marks what no rule changes": tuple(missed[:most]),
        "a tag marks what cannot be encrypted": tuple(plain[:most]),
        "a path of tags names nothing": tuple(each.text for each in unnamed_paths_of(schema, by_path, most=most)),
    }
