"""The counts of a sketch by field of a record, whatever the language: what suggestions of rules are based on."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from counterfoil.schema.evolution.languages.table import tree_of, with_message
from counterfoil.schema.evolution.tree import Leaf, Null, Record, Union
from counterfoil.schema.evolution.types import split_null
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.sketch.collect import SketchBuilder
from counterfoil.schema.sketch.model import PlaceSketch, WriterSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from counterfoil.schema.evolution.field_paths import Path
    from counterfoil.schema.evolution.tree import Field
    from counterfoil.schema.sketch.model import PartSketch, Place, SchemaSketch

FieldCounts: TypeAlias = "Mapping[Path, PlaceSketch]"
"""The counts of fields, and of those in records inside, by their names."""

_MAX_DEPTH = 8


def field_counts(part: PartSketch, message: str | None = None) -> dict[Path, PlaceSketch]:
    """Return the counts of the fields of all writers; ``message`` is the Protobuf message, None for the first."""
    found: dict[Path, PlaceSketch] = {}
    for sketch in part.by_writer.values():
        writer = sketch.writer
        schema = parse_schema(
            writer.text, writer.schema_type, references=writer.references, validation=Validation.LENIENT
        )
        root = tree_of(with_message(schema, message))
        if isinstance(root, Record):
            for path, counts in _fields(root, (), sketch):
                found[path] = found[path].merge(counts) if path in found else counts
    return found


def _fields(record: Record, path: Path, sketch: SchemaSketch) -> Iterator[tuple[Path, PlaceSketch]]:
    if len(path) >= _MAX_DEPTH:
        return
    for member in record.fields:
        below = (*path, member.name)
        _, inner = split_null(member.type)
        if isinstance(inner, Record):
            yield from _fields(inner, below, sketch)
        else:
            known = [sketch.places[place] for place in _places(record, member, below, sketch) if place in sketch.places]
            if known:
                yield below, reduce(_joined, known)


def _places(record: Record, member: Field, path: Path, sketch: SchemaSketch) -> Iterator[Place]:
    """Yield the places of a field that is no record: where it is used, and for an Avro enum where it is declared."""
    if sketch.writer.schema_type is SchemaType.JSON:
        yield tuple(f".{name}" for name in path)
        return
    if sketch.writer.schema_type is SchemaType.PROTOBUF:
        yield record.full_name, str(member.number)
        return
    place = (record.full_name, member.name)
    yield place
    has_null, inner = split_null(member.type)
    if has_null and isinstance(member.type, Union) and not isinstance(inner, Union):
        index = next(number for number, each in enumerate(member.type.branches) if not isinstance(each, Null))
        yield (*place, str(index))
    if isinstance(inner, Leaf) and inner.full_name:
        yield (inner.full_name,)


def _joined(one: PlaceSketch, other: PlaceSketch) -> PlaceSketch:
    """Return the counts of two places of the same values."""
    merged = one.merge(other)
    counts = {name: max(getattr(one, name), getattr(other, name)) for name in ("records", "values", "nulls")}
    return PlaceSketch(**{name: getattr(merged, name) for name in PlaceSketch.__slots__} | counts)


def counts_of_values(values: Iterable[Mapping[str, Any]]) -> dict[Path, PlaceSketch]:
    """Return the counts of the fields of JSON objects."""
    builder = SketchBuilder(WriterSchema(SchemaType.JSON, ""))
    for number, value in enumerate(values):
        builder.records += 1
        _count(builder, value, (), number)
    return dict(builder.finish().places)


def _count(builder: SketchBuilder, value: Any, path: Path, record: int) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            _count(builder, each, (*path, name), record)
        return
    counts = builder.at(path)
    counts.seen(record)
    if value is None:
        counts.null()
    elif isinstance(value, bool):
        counts.word(str(value).lower())
    elif isinstance(value, str):
        counts.text(value)
    elif isinstance(value, int | float):
        counts.number(value)
