"""The sketch of Avro data: each value is counted at the place of its writer's type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Record, Union, branch_name
from counterfoil.schema.pointer import print_pointer
from counterfoil.schema.sketch.collect import SketchBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.schema.sketch.model import SchemaSketch

_TYPES_BY_KIND: Final[Mapping[Kind, tuple[type, ...]]] = {
    Kind.NULL: (type(None),),
    Kind.BOOLEAN: (bool,),
    Kind.INT: (int,),
    Kind.LONG: (int,),
    Kind.FLOAT: (float, int),
    Kind.DOUBLE: (float, int),
    Kind.BYTES: (bytes, bytearray),
    Kind.STRING: (str,),
    Kind.ARRAY: (list, tuple),
    Kind.MAP: (dict,),
}


def sketch_avro(schema: AvroSchema, data: Iterable[Any]) -> SchemaSketch:
    """Return the sketch of ``data``, which were written with ``schema``.

    Data are decoded without logical types: None, bool, int, float, str, bytes, list, dict; a union's value plain, or a
    pair of branch name and value. Values inside types from references have no place in the text and are not counted.
    Raises ``InvalidSchema`` for a datum that ``schema`` does not allow.
    """
    walk = _Walk(schema.root)
    for datum in data:
        walk.builder.begin_record()
        walk.visit(schema.root, datum)
    return walk.builder.finish()


class _Walk:
    def __init__(self, root: AvroType) -> None:
        self.builder = SketchBuilder()
        self._root = root
        self._list_places()

    def _list_places(self) -> None:
        """List every place of the schema, so that a place without values is distinguished from an unknown one."""
        seen: set[int] = set()
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if self._stands(node):
                self.builder.at(node.pointer)
            waiting += _parts(node)

    def visit(self, node: AvroType, datum: Any) -> None:
        """Count ``datum``, which was written as ``node``, and everything in it."""
        if isinstance(node, Union):
            index, value = _branch_of(node, datum)
            if self._stands(node):
                self.builder.at(node.pointer).branch(str(index)).value(value)
            self.visit(node.branches[index], value)
            return
        if not _fits(node, datum):
            raise InvalidSchema(
                f"The datum {datum!r} is no {node.kind}, which the schema has at {print_pointer(node.pointer) or '/'}"
            )
        if self._stands(node):
            self.builder.at(node.pointer).value(datum)
        self._inside(node, datum)

    def _inside(self, node: AvroType, datum: Any) -> None:
        match node:
            case Record():
                for field in node.fields:
                    self.visit(field.type, datum[field.name])
            case Array():
                for item in datum:
                    self.visit(node.items, item)
            case Map():
                for value in datum.values():
                    self.visit(node.values, value)

    def _stands(self, node: AvroType) -> bool:
        return bool(node.pointer) or node is self._root


def _parts(node: AvroType) -> Sequence[AvroType]:
    match node:
        case Union():
            return node.branches
        case Record():
            return [field.type for field in node.fields]
        case Array():
            return [node.items]
        case Map():
            return [node.values]
    return ()


def _branch_of(union: Union, datum: Any) -> tuple[int, Any]:
    """Return the index of the branch with which ``datum`` was written, and its plain value."""
    if isinstance(datum, tuple) and len(datum) == 2:  # noqa: PLR2004 - a pair of name and value
        for index, branch in enumerate(union.branches):
            if branch_name(branch) == datum[0]:
                return index, datum[1]
    for index, branch in enumerate(union.branches):
        if _fits(branch, datum):
            return index, datum
    raise InvalidSchema(f"The datum {datum!r} is of no branch of the union at {print_pointer(union.pointer) or '/'}")


def _fits(node: AvroType, datum: Any) -> bool:
    """Return whether a plain value may be one of ``node``; for a record, whether it has exactly its fields."""
    match node:
        case Record():
            return isinstance(datum, dict) and datum.keys() == {field.name for field in node.fields}
        case Enum():
            return datum in node.symbols
        case Fixed():
            return isinstance(datum, bytes) and len(datum) == node.size
    return type(datum) in _TYPES_BY_KIND[node.kind]
