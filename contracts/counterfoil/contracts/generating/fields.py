"""The fields of a schema of any language as properties of a contract, and as paths that a consumer can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.evolution.languages.table import tree_of
from counterfoil.schema.evolution.tree import Array, Leaf, Map, Node, NotPlannable, Record, Union
from counterfoil.schema.evolution.types import split_null
from counterfoil.schema.paths import ITEMS, VALUES, member, print_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths import FieldPath

_LOGICAL_TYPE_BY_WORD: Final = {
    **dict.fromkeys(("int", "long", "uint32", "uint64"), "integer"),
    **dict.fromkeys(("float", "double", "number", "decimal", "big-decimal"), "number"),
    **dict.fromkeys(("date", "full-date"), "date"),
    "date-time": "timestamp",
    "boolean": "boolean",
}
_WHOLE: Final = "*"


def properties_of(schema: ParsedSchema) -> list[dict[str, Any]]:
    """Return the properties of a contract, as ODCS has them; empty for a schema without fields."""
    root = _record(schema)
    return [] if root is None else _Writer().fields(root)


def paths_of(schema: ParsedSchema) -> list[str]:
    """Return the paths of all fields without parts, or ``*`` where the schema has no fields."""
    root = _record(schema)
    return [_WHOLE] if root is None else [print_path(path) for path in _paths(root, (), ())] or [_WHOLE]


def _record(schema: ParsedSchema) -> Record | None:
    try:
        root = tree_of(schema)
    except NotPlannable:
        return None
    return root if isinstance(root, Record) else None


class _Writer:
    """Writes types as properties; a record inside itself is written without its fields."""

    def __init__(self) -> None:
        self._open: set[int] = set()

    def fields(self, record: Record) -> list[dict[str, Any]]:
        self._open.add(id(record))
        try:
            return [self._field(each.name, each.type, is_optional=each.may_be_absent) for each in record.fields]
        finally:
            self._open.discard(id(record))

    def _field(self, name: str, node: Node, *, is_optional: bool) -> dict[str, Any]:
        has_null, inner = _without_null(node)
        required = {} if has_null or is_optional else {"required": True}
        return {"name": name, **self._type(inner), **required}

    def _type(self, node: Node | None) -> dict[str, Any]:
        match node:
            case Leaf():
                enum = {"enum": [{"value": symbol} for symbol in node.symbols]} if node.symbols else {}
                return {**_logical_type(node), "physicalType": str(node.scalar), **enum}
            case Record():
                inside = [] if id(node) in self._open else self.fields(node)
                return {"logicalType": "object", **({"properties": inside} if inside else {})}
            case Array():
                return {"logicalType": "array", "items": self._type(_without_null(node.items)[1])}
            case Map():
                values = self._type(_without_null(node.values)[1])
                key = {"name": "key", "logicalType": "string"}
                return {"logicalType": "map", "map": {"key": key, "value": {"name": "value", **values}}}
        return {}


def _logical_type(node: Leaf) -> dict[str, str]:
    """Return the logical type as a member of a property; nothing for bytes, which have none in ODCS."""
    word = node.scalar.word
    if word in {"bytes", "fixed"}:
        return {}
    if word.startswith("time-"):
        return {"logicalType": "time"}
    return {"logicalType": "timestamp" if "timestamp" in word else _LOGICAL_TYPE_BY_WORD.get(word, "string")}


def _without_null(node: Node) -> tuple[bool, Node | None]:
    """Return whether null is permitted, and the only other type; None if there are several."""
    has_null, inner = split_null(node)
    return has_null, None if isinstance(inner, Union) else inner


def _paths(record: Record, around: FieldPath, opened: tuple[int, ...]) -> Iterator[FieldPath]:
    for each in record.fields:
        yield from _inside(each.type, (*around, member(each.name)), (*opened, id(record)))


def _inside(node: Node, path: FieldPath, opened: tuple[int, ...]) -> Iterator[FieldPath]:
    match _without_null(node)[1]:
        case Record() as record if id(record) not in opened:
            yield from _paths(record, path, opened)
        case Array() as array:
            yield from _inside(array.items, (*path, ITEMS), opened)
        case Map() as mapping:
            yield from _inside(mapping.values, (*path, VALUES), opened)
        case _:
            yield path
