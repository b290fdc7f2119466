"""Sketches: a bounded summary of the records in a topic, and which findings its values cannot cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.sketch.document import InvalidSketch, read_sketch, write_sketch
from counterfoil.schema.sketch.model import (
    DEFAULT_TAGS,
    PartSketch,
    PlaceSketch,
    SchemaSketch,
    SketchBuilder,
    TopicSketch,
    Weight,
    WriterSchema,
    hidden_fields,
    module_for,
    weigh,
)
from counterfoil.schema.tags import Hidden

# What counts the records of one schema, whatever its language, and what keeps them by the schemas of a topic.


class _Counting(Protocol):
    def add(self, value: object, size: int) -> None:
        """Count a record."""


class Sketcher:
    """Counts the records of one schema."""

    def __init__(self, counting: _Counting, builder: SketchBuilder) -> None:
        self._builder = builder
        self.add = counting.add
        """``add(value, size)`` counts a record; ``size`` is the length of its body in bytes."""

    def finish(self) -> SchemaSketch:
        """Return the sketch of the counted records."""
        return self._builder.finish()


def make_sketcher(
    schema: ParsedSchema,
    writer: WriterSchema,
    *,
    texts: bool = True,
    hide: frozenset[str] = DEFAULT_TAGS,
    tags_by_path: Mapping[str, Sequence[str]] | None = None,
) -> Sketcher:
    """Return a counter of the values of ``schema``, which ``writer`` declares.

    Avro values are decoded without logical types, and with the names of the types of unions; Protobuf values are
    messages of Google's runtime; JSON values are valid. Without ``texts`` no text and no name of a property is kept
    that the schema does not declare. Fields with a tag in ``hide`` are counted, and their values are not kept;
    ``tags_by_path`` are the tags of the schema's metadata.
    """
    hidden = hidden_fields(schema, writer, tags=hide, by_path=tags_by_path or {}) if hide else Hidden()
    builder = SketchBuilder(writer, texts=texts)
    return Sketcher(module_for(schema.schema_type).counting(schema, builder, hidden), builder)


class Collection:
    """The sketchers of the keys, or of the values, of a topic, and the records that have none."""

    def __init__(self) -> None:
        self.by_writer: dict[str, Sketcher] = {}
        self._nulls = 0
        self._problems: dict[str, int] = {}

    def null(self) -> None:
        """Count a record without this part."""
        self._nulls += 1

    def problem(self, kind: str) -> None:
        """Count a record that cannot be read."""
        self._problems[kind] = self._problems.get(kind, 0) + 1

    def finish(self) -> PartSketch:
        """Return the sketch."""
        by_writer = {name: each.finish() for name, each in self.by_writer.items()}
        return PartSketch(by_writer, self._nulls, dict(self._problems))


__all__ = [
    "Collection",
    "InvalidSketch",
    "PartSketch",
    "PlaceSketch",
    "SchemaSketch",
    "Sketcher",
    "TopicSketch",
    "Weight",
    "WriterSchema",
    "make_sketcher",
    "read_sketch",
    "weigh",
    "write_sketch",
]
