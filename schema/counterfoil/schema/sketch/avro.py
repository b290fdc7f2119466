"""The sketch of Avro data: each value is counted at the place of its writer's type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union, branch_name
from counterfoil.schema.sketch.visits import visit_of_bytes, visit_of_items, visit_of_number, visit_of_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.schema.sketch.collect import PlaceCounts, SketchBuilder
    from counterfoil.schema.sketch.hidden import Hidden
    from counterfoil.schema.sketch.model import Place
    from counterfoil.schema.sketch.visits import Visit


class AvroSketcher:
    """Counts data of one Avro schema.

    Data are decoded without logical types: None, bool, int, float, str, bytes, list, dict; a value of a union with
    several types besides null is a pair of the type's name and the value.
    """

    def __init__(self, schema: AvroSchema, builder: SketchBuilder, hidden: Hidden) -> None:
        self._builder = builder
        self._hidden = hidden
        self._hidden_types = self._types_in_hidden(schema.root)
        self._visit_by_name: dict[str, Visit] = {}
        self._visit = self._compiled(schema.root, ("",), is_hidden=hidden.is_all)

    def add(self, value: Any, size: int) -> None:
        """Count a record."""
        del size
        self._builder.records += 1
        self._visit(value, self._builder.records)

    def _is_hidden(self, record: Record, field: str) -> bool:
        return f"{record.full_name}.{field}" in self._hidden.paths

    def _types_in_hidden(self, root: AvroType) -> set[str]:
        """Return the named types of which a value may be in a hidden field."""
        found: set[str] = set()
        seen: set[tuple[int, bool]] = set()
        waiting = [(root, self._hidden.is_all)]
        while waiting:
            node, is_hidden = waiting.pop()
            if isinstance(node, Record | Enum | Fixed):
                is_hidden = is_hidden or node.full_name in self._hidden.paths
                found.update([node.full_name] if is_hidden else [])
            if (id(node), is_hidden) not in seen:
                seen.add((id(node), is_hidden))
                if isinstance(node, Record):
                    waiting += [(each.type, is_hidden or self._is_hidden(node, each.name)) for each in node.fields]
                else:
                    waiting += [(each, is_hidden) for each in _parts(node)]
        return found

    def _compiled(self, node: AvroType, place: Place, *, is_hidden: bool) -> Visit:
        """Return the function that counts a value of ``node``, and everything in it."""
        if not isinstance(node, Record | Enum | Fixed):
            counts = self._builder.at(place, _kind(node), is_hidden=is_hidden)
            return self._plain(node, place, counts, is_hidden=is_hidden)
        name = node.full_name
        known = self._visit_by_name.get(name)
        if known is None:
            self._visit_by_name[name] = self._later(name)  # what a recursive type finds for itself
            counts = self._builder.at((name,), _kind(node), is_hidden=name in self._hidden_types)
            known = self._visit_by_name[name] = self._named(node, counts)
        if len(place) == 1:
            return known
        return _used(self._builder.at(place, _kind(node), is_hidden=is_hidden), known)

    def _later(self, name: str) -> Visit:
        def visit_later(value: Any, record: int) -> None:
            self._visit_by_name[name](value, record)

        return visit_later

    def _named(self, node: Record | Enum | Fixed, counts: PlaceCounts) -> Visit:
        if isinstance(node, Enum):

            def visit_enum(value: Any, record: int) -> None:
                counts.seen(record)
                counts.word(value)

            return visit_enum
        if isinstance(node, Fixed):
            return lambda _, record: counts.seen(record)
        is_inside = node.full_name in self._hidden_types
        fields = [
            (
                each.name,
                self._compiled(
                    each.type, (node.full_name, each.name), is_hidden=is_inside or self._is_hidden(node, each.name)
                ),
            )
            for each in node.fields
        ]

        def visit_record(value: Any, record: int) -> None:
            counts.seen(record)
            for name, visit in fields:
                visit(value[name], record)

        return visit_record

    def _plain(self, node: AvroType, place: Place, counts: PlaceCounts, *, is_hidden: bool) -> Visit:
        match node:
            case Union():
                inner = [
                    self._compiled(each, (*place, str(index)), is_hidden=is_hidden)
                    for index, each in enumerate(node.branches)
                ]
                return _union(node, counts, inner)
            case Array():
                return visit_of_items(counts, self._compiled(node.items, (*place, "items"), is_hidden=is_hidden))
            case Map():
                return _map(counts, self._compiled(node.values, (*place, "values"), is_hidden=is_hidden))
        return _primitive(node.kind, counts)


def _used(counts: PlaceCounts, inner: Visit) -> Visit:
    """Return the function that also counts a value of a named type where the type is used."""

    def visit_used(value: Any, record: int) -> None:
        counts.seen(record)
        inner(value, record)

    return visit_used


def _union(node: Union, counts: PlaceCounts, inner: list[Visit]) -> Visit:
    visit_by_name = {branch_name(each): visit for each, visit in zip(node.branches, inner, strict=True)}
    others = [name for name in visit_by_name if name != "null"]
    only = others[0] if len(others) == 1 else None

    def visit_union(value: Any, record: int) -> None:
        counts.seen(record)
        if value is None:
            name = "null"
            counts.null()
        elif only is not None:
            name = only
        else:
            name, value = value
        counts.branch(name)
        visit_by_name[name](value, record)

    return visit_union


def _map(counts: PlaceCounts, inner: Visit) -> Visit:
    def visit_map(value: Any, record: int) -> None:
        counts.seen(record)
        counts.size(len(value))
        for name, each in value.items():
            counts.name(name)
            inner(each, record)

    return visit_map


def _primitive(kind: Kind, counts: PlaceCounts) -> Visit:
    def visit_other(value: Any, record: int) -> None:
        counts.seen(record)
        if value is None:
            counts.null()

    if kind in (Kind.INT, Kind.LONG, Kind.FLOAT, Kind.DOUBLE):
        return visit_of_number(counts)
    if kind is Kind.STRING:
        return visit_of_text(counts)
    return visit_of_bytes(counts) if kind is Kind.BYTES else visit_other


def _parts(node: AvroType) -> Iterable[AvroType]:
    match node:
        case Union():
            return node.branches
        case Array():
            return [node.items]
        case Map():
            return [node.values]
    return ()


def _kind(node: AvroType) -> str:
    logical = node.logical_type
    return f"{node.kind.value} {logical.name}" if logical is not None else node.kind.value
