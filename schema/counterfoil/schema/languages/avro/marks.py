"""How tags mark the types of an Avro schema.

Confluent's clients know the tags of fields. They follow records, arrays, maps and unions, but neither a record inside
itself nor a type ``error``, and they ignore tags of types, of items and of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from counterfoil.schema.languages.avro.compare.meaning import logical_type_of
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroField,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from counterfoil.schema.marks import ROOT, FieldTags, Mark, TaggedPlace, WalkLimit, known_tags_in, tags_in


class AvroMarks:
    """Follows marks through the types of a schema whose fields have ``tags``.

    After very many records every further one has all tags of the schema, so that every walk ends.
    """

    def __init__(self, root: AvroType, tags: FieldTags) -> None:
        self._tags = tags
        records = [*_records(root)]
        self._recursive = _recursive(records)
        self._all = frozenset(tag for record in records for tag in self._tags_in(record))
        self._steps = WalkLimit()

    def at_root(self, root: AvroType) -> Mark:
        """Return the mark of the values of a whole schema."""
        return self.of_type(root, self.around_root())

    def around_root(self) -> Mark:
        """Return the mark of the place at which the root stands: the tags that the metadata assign to it by path."""
        return Mark(outer=self._tags.given(ROOT))

    def of_type(self, avro_type: AvroType, mark: Mark) -> Mark:
        """Return the mark of the values of a type; ``mark`` is that of the place at which the type stands."""
        own = tags_in(avro_type.properties)
        if isinstance(avro_type, AvroRecord):
            own = self._tags.of_type(avro_type.full_name, own)
        return mark.joined(own) if own else mark

    def inside(self, record: AvroRecord, mark: Mark) -> Mark:
        """Return what the marks of a record's fields have in common; ``mark`` is that of the record's values."""
        if not self._steps.take():
            return Mark(outer=self._all, is_beyond=True)
        name = record.full_name
        opened = mark.opened | {name} if name in self._recursive else mark.opened
        is_beyond = mark.is_beyond or record.is_error or name in mark.opened
        return Mark(outer=mark.tags, is_beyond=is_beyond, opened=opened)

    def of_field(self, record: AvroRecord, field: AvroField, inside: Mark) -> Mark:
        """Return the mark of a field, of a record whose fields have ``inside``."""
        full_name = f"{record.full_name}.{field.name}"
        own = self._tags.of(full_name, known_tags_in(field.properties))
        outer = inside.outer | tags_in(field.properties) - own
        return Mark(full_name, field.name, own, outer, inside.is_beyond, inside.opened)

    def _tags_in(self, record: AvroRecord) -> Iterator[str]:
        yield from self._tags.of_type(record.full_name, tags_in(record.properties))
        for field in record.fields:
            yield from self._tags.of(f"{record.full_name}.{field.name}", tags_in(field.properties))
            yield from (tag for each in _parts(field.type) for tag in tags_in(each.properties))


def places(schema: AvroSchema, tags: FieldTags) -> Iterator[TaggedPlace]:
    """Yield the places of the types that are no records, arrays, maps or unions, each once for each of its marks."""
    root = schema.root
    marks = AvroMarks(root, tags)
    seen: set[tuple[int, Mark]] = set()
    waiting: list[tuple[AvroType, Mark, str]] = [(root, marks.around_root(), "")]
    while waiting:
        avro_type, around, where = waiting.pop()
        mark = marks.of_type(avro_type, around)
        match avro_type:
            case AvroRecord():
                inside = marks.inside(avro_type, mark)
                if (id(avro_type), inside) not in seen:
                    seen.add((id(avro_type), inside))
                    entered = [(each.type, marks.of_field(avro_type, each, inside), "") for each in avro_type.fields]
                    waiting += reversed(entered)
            case AvroArray(items=items):
                waiting.append((items, mark, "in the items of"))
            case AvroMap(values=values):
                waiting.append((values, mark, "in the values of"))
            case AvroUnion(branches=branches):
                waiting += [(branch, mark, where) for branch in reversed(branches)]
            case _:
                yield TaggedPlace(mark, avro_type.kind.name, where, avro_type.pointer, value_type_of(avro_type))


def value_type_of(avro_type: AvroType) -> str:
    """Return the logical type of a string or of bytes whose values are no texts or bytes; empty without one."""
    logical = logical_type_of(avro_type) if avro_type.kind in (AvroKind.STRING, AvroKind.BYTES) else None
    return "" if logical is None else logical.name


def _parts(avro_type: AvroType) -> Iterator[AvroType]:
    """Yield a type and the types inside it, but not the fields of a record."""
    waiting = [avro_type]
    while waiting:
        each = waiting.pop()
        yield each
        match each:
            case AvroArray(items=inner) | AvroMap(values=inner):
                waiting.append(inner)
            case AvroUnion(branches=branches):
                waiting += branches


def _records(root: AvroType) -> Iterator[AvroRecord]:
    """Yield every record of a schema, each once."""
    seen: set[str] = set()
    waiting = [root]
    while waiting:
        for each in _parts(waiting.pop()):
            if isinstance(each, AvroRecord) and each.full_name not in seen:
                seen.add(each.full_name)
                waiting += [field.type for field in each.fields]
                yield each


def _recursive(records: Sequence[AvroRecord]) -> frozenset[str]:
    """Return the names of the records that may contain themselves."""
    uses = {
        each.full_name: {
            part.full_name for field in each.fields for part in _parts(field.type) if isinstance(part, AvroRecord)
        }
        for each in records
    }
    return frozenset(name for name in uses if name in _reached_from(name, uses))


def _reached_from(name: str, uses: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [*uses[name]]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += uses[each]
    return found
