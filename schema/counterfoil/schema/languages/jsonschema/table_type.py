"""JSON schemas as table types.

Objects with properties are rows, objects without are maps, arrays of one kind of item arrays. A property that is not
required, or may be null, is nullable. Unions of several types, tuples and recursive schemas have no table type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from counterfoil.schema.compatibility.findings import DifferenceOrigin
from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.compare.findings import pointer_in
from counterfoil.schema.languages.jsonschema.document import Base
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.table_types import (
    Column,
    ColumnCount,
    NotATable,
    TableList,
    TableMap,
    TableRow,
    TableScalar,
    TableType,
)
from counterfoil.schema.texts import Pointer

_STRING: Final = TableScalar("string")
_SCALAR_BY_TYPE: Final[Mapping[str, TableScalar]] = {
    "string": _STRING,
    "integer": TableScalar("long"),
    "number": TableScalar("double"),
    "boolean": TableScalar("boolean"),
}
_SCALAR_BY_FORMAT: Final[Mapping[str, TableScalar]] = {
    "date": TableScalar("date"),
    "time": TableScalar("time"),
    "date-time": TableScalar("timestamp"),
}


def table_column(schema: JsonSchema, count: ColumnCount) -> Column:
    """Return the schema as one column; raise ``NotATable`` if it has no table type."""
    return _Reader(schema, count).column("", schema.document, schema.base, _Where(()), ())


class _Where(NamedTuple):
    """A place in the schema's own text; without ``is_own``, that of the reference that leads into another document."""

    pointer: Pointer
    is_own: bool = True

    def at(self, value: object, *steps: str) -> _Where:
        """Return the place of ``steps`` in the schema ``value``, which is at this place."""
        return _Where(pointer_in(self.pointer, value, steps)) if self.is_own else self


class _Reader:
    def __init__(self, schema: JsonSchema, count: ColumnCount) -> None:
        self._schema = schema
        self._count = count

    def column(self, name: str, value: object, base: Base, where: _Where, around: tuple[int, ...]) -> Column:
        """Return the schema ``value`` at the place ``where`` as a column."""
        self._count.take(where.pointer)
        outer = where
        while isinstance(value, dict) and isinstance(value.get("$ref"), str):
            if id(value) in around:
                raise NotATable("a schema that holds itself has no table type", outer.pointer)
            around = (*around, id(value))
            referring = where.at(value, "$ref")
            value, base = self._schema.resolver.resolve(value["$ref"], base)
            where = _Where(referring.pointer, is_own=False) if base.document else _Where(base.pointer)
        if not isinstance(value, dict):
            raise NotATable("a schema that takes or refuses everything has no table type", where.pointer)
        around = (*around, id(value))
        inner, inside, nullable = self._without_null(value, where)
        if nullable and inner.get("$ref"):
            column = self.column(name, inner, base, inside, around)
            return replace(column, nullable=True, has_default="default" in inner, pointer=outer.pointer)
        table_type = self._type(inner, self._schema.resolver.enter(inner, base), inside, around)
        type_pointer = inside.at(inner, "type").pointer
        has_default = "default" in inner
        return Column(name, table_type, nullable, has_default, outer.pointer, type_pointer, origin=_origin(base))

    def _without_null(self, value: Mapping[str, object], where: _Where) -> tuple[Mapping[str, Json], _Where, bool]:
        """Return the schema without its alternative null, its place, and whether it had that alternative."""
        for key in ("oneOf", "anyOf"):
            branches = value.get(key)
            if isinstance(branches, list):
                kept = [(index, branch) for index, branch in enumerate(branches) if branch != {"type": "null"}]
                if len(kept) != 1 or not isinstance(kept[0][1], dict):
                    raise NotATable("a choice of several types has no table type", where.at(value, key).pointer)
                index, branch = kept[0]
                inside = _Where((*where.pointer, key, index)) if where.is_own else where
                return branch, inside, len(kept) < len(branches)
        types = value.get("type")
        if isinstance(types, list):
            named = [each for each in types if each != "null"]
            if len(named) != 1:
                raise NotATable("a choice of several types has no table type", where.at(value, "type").pointer)
            return {**value, "type": named[0]}, where, len(named) < len(types)
        return value, where, False

    def _type(self, value: Mapping[str, Json], base: Base, where: _Where, around: tuple[int, ...]) -> TableType:
        kind = value.get("type")
        if kind == "object" or (kind is None and "properties" in value):
            return self._object(value, base, where, around)
        if kind == "array":
            items = value.get("items")
            if not isinstance(items, dict) or "prefixItems" in value:
                keyword = next((each for each in ("prefixItems", "items") if isinstance(value.get(each), list)), "")
                place = where.at(value, keyword) if keyword else where
                raise NotATable("an array without one kind of item has no table type", place.pointer)
            return TableList(self.column("element", items, base.below("items"), where.at(value, "items"), around))
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
            raise NotATable("a schema without a type has no table type", where.pointer)
        return found

    def _object(self, value: Mapping[str, Json], base: Base, where: _Where, around: tuple[int, ...]) -> TableType:
        properties = value.get("properties") or {}
        extra = value.get("additionalProperties")
        if not properties and isinstance(extra, dict):
            place, inside = where.at(value, "additionalProperties"), base.below("additionalProperties")
            return TableMap(_STRING, self.column("value", extra, inside, place, around))
        required = value.get("required")
        always = set(required) if isinstance(required, list) else set()
        columns = []
        for name, inner in properties.items():
            column = self.column(
                name, inner, base.below("properties", name), where.at(value, "properties", name), around
            )
            if name in always:
                columns.append(replace(column, required_pointer=where.at(value, "required", name).pointer))
            else:
                has_default = isinstance(inner, dict) and "default" in inner
                columns.append(replace(column, nullable=True, has_default=has_default, is_optional=not column.nullable))
        return TableRow(tuple(columns), where.at(value, "properties").pointer, _origin(base))


def _origin(base: Base) -> DifferenceOrigin:
    return DifferenceOrigin(base.document, base.pointer, is_own=not base.document, is_document=True)
