"""JSON schemas as table types.

Objects with properties are rows, objects without are maps, arrays of one kind of item arrays. A property that is not
required, or may be null, is nullable. Unions of several types, tuples and schemas that hold themselves have no table
type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.report import Origin
from counterfoil.schema.json_scanner import escape_pointer
from counterfoil.schema.logical.model import Column, ListOf, MapOf, NotATable, Row, Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.jsonschema.resolve import Base
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.logical.model import TableType

_STRING: Final = Scalar("string")
_SCALAR_BY_TYPE: Final[Mapping[str, Scalar]] = {
    "string": _STRING,
    "integer": Scalar("long"),
    "number": Scalar("double"),
    "boolean": Scalar("boolean"),
}
_SCALAR_BY_FORMAT: Final[Mapping[str, Scalar]] = {
    "date": Scalar("date"),
    "time": Scalar("time"),
    "date-time": Scalar("timestamp"),
}


def table_column(schema: JsonSchema) -> Column:
    """The schema as one column; ``NotATable`` says what has no table type."""
    return _Reader(schema).column("", schema.document, schema.base, "", ())


class _Reader:
    def __init__(self, schema: JsonSchema) -> None:
        self._schema = schema

    def column(self, name: str, value: Any, base: Base, pointer: str, around: tuple[int, ...]) -> Column:
        """The schema ``value``, which stands at ``pointer``, as a column."""
        place = pointer
        while isinstance(value, dict) and isinstance(value.get("$ref"), str):
            if id(value) in around:
                raise NotATable("a schema that holds itself has no table type", place)
            around = (*around, id(value))
            value, base = self._schema.resolve(value["$ref"], base)
        if not isinstance(value, dict):
            raise NotATable("a schema that takes or refuses everything has no table type", place)
        around = (*around, id(value))
        value, nullable = self._without_null(value, place)
        if nullable and value.get("$ref"):
            return self._nullable(self.column(name, value, base, place, around), value)
        table_type = self._type(value, self._schema.enter(value, base), place, around)
        return Column(name, table_type, nullable, "default" in value, place, _origin(base))

    def _nullable(self, column: Column, value: Mapping[str, Any]) -> Column:
        return replace(column, nullable=True, has_default="default" in value)

    def _without_null(self, value: Mapping[str, Any], pointer: str) -> tuple[Mapping[str, Any], bool]:
        """The schema without its alternative null, and whether it had one."""
        for key in ("oneOf", "anyOf"):
            branches = value.get(key)
            if isinstance(branches, list):
                kept = [branch for branch in branches if branch != {"type": "null"}]
                if len(kept) != 1 or not isinstance(kept[0], dict):
                    raise NotATable("a choice of several types has no table type", pointer)
                return kept[0], len(kept) < len(branches)
        types = value.get("type")
        if isinstance(types, list):
            kept = [each for each in types if each != "null"]
            if len(kept) != 1:
                raise NotATable("a choice of several types has no table type", pointer)
            return {**value, "type": kept[0]}, len(kept) < len(types)
        return value, False

    def _type(self, value: Mapping[str, Any], base: Base, pointer: str, around: tuple[int, ...]) -> TableType:
        kind = value.get("type")
        if kind == "object" or (kind is None and "properties" in value):
            return self._object(value, base, pointer, around)
        if kind == "array":
            items = value.get("items")
            if not isinstance(items, dict) or "prefixItems" in value:
                raise NotATable("an array without one kind of item has no table type", pointer)
            return ListOf(self.column("element", items, base.below("items"), f"{pointer}/items", around))
        if kind == "string" and value.get("format") in _SCALAR_BY_FORMAT:
            return _SCALAR_BY_FORMAT[value["format"]]
        if (
            kind is None
            and isinstance(value.get("enum"), list)
            and all(isinstance(each, str) for each in value["enum"])
        ):
            return _STRING
        found = _SCALAR_BY_TYPE.get(kind) if isinstance(kind, str) else None
        if found is None:
            raise NotATable("a schema without a type has no table type", pointer)
        return found

    def _object(self, value: Mapping[str, Any], base: Base, pointer: str, around: tuple[int, ...]) -> TableType:
        properties = value.get("properties") or {}
        extra = value.get("additionalProperties")
        if not properties and isinstance(extra, dict):
            inside = base.below("additionalProperties")
            return MapOf(_STRING, self.column("value", extra, inside, f"{pointer}/additionalProperties", around))
        required = value.get("required")
        always = set(required) if isinstance(required, list) else set()
        columns = []
        for name, inner in properties.items():
            place = f"{pointer}/properties/{escape_pointer(name)}"
            column = self.column(name, inner, base.below("properties", name), place, around)
            columns.append(
                column if name in always else self._nullable(column, inner if isinstance(inner, dict) else {})
            )
        return Row(tuple(columns), _origin(base))


def _origin(base: Base) -> Origin:
    return Origin(base.document, (base.pointer,), is_own=not base.document)
