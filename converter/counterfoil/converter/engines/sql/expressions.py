"""Plan operations as Spark SQL.

The result of an operation is null in two cases: its meaning is null, or the expression cannot compute it with
certainty. The first case is known in advance, as a condition on the source, so that every other null is a doubt. An
expression may be doubtful more often than necessary; it may never return another value than the reference evaluator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.sql.arithmetic import arithmetic_sql
from counterfoil.converter.engines.sql.casts import cast_sql, widen_sql
from counterfoil.converter.engines.sql.instants import format_sql, parse_sql
from counterfoil.converter.engines.sql.text import all_of, constant, quoted, text, type_of
from counterfoil.converter.engines.sql.wire import WireReader, path_of
from counterfoil.schema.evolution.model import (
    Arithmetic,
    BuildRecord,
    Cast,
    Constant,
    Format,
    Join,
    Lookup,
    MapItems,
    MapValues,
    Parse,
    Read,
    ReplaceNull,
    RequireValue,
    Split,
    Widen,
)
from counterfoil.schema.evolution.types import has_enum, split_null
from counterfoil.schema.formats.avro.types import Array, Enum, Map, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.evolution.model import Op
    from counterfoil.schema.formats.avro.types import AvroType

_ENGINE: Final = "sql"


@dataclass(frozen=True)
class Code:
    """An expression: its ``value``, the condition under which its meaning is null, and other conditions."""

    value: str
    null_when: str | None = None
    conditions: tuple[str, ...] = ()

    @property
    def is_sure(self) -> str:
        """A condition: the value is certainly the meaning of the operation."""
        present = f"{self.value} IS NOT NULL"
        whole = present if self.null_when is None else f"{present} OR {self.null_when}"
        return all_of([whole, *self.conditions])


@dataclass(frozen=True)
class SqlScope:
    """The start of paths: a type, and the expression of its value."""

    node: AvroType
    source: str

    def type_at(self, path: tuple[str, ...]) -> AvroType:
        """Return the type of the field at ``path``."""
        node = self.node
        for name in path:
            _, inner = split_null(node)
            if not isinstance(inner, Record):  # paths of plans lead into records only
                raise TypeError(path)
            node = next(member.type for member in inner.fields if member.name == name)
        return node

    def null_when(self, path: tuple[str, ...]) -> str | None:
        """Return the condition under which the value at ``path``, or a record on the way, is null; None for never."""
        ends = range(len(path) + 1)
        nullable = [path[:end] for end in ends if split_null(self.type_at(path[:end]))[0]]
        return f"{path_of(self.source, path)} IS NULL" if nullable else None


class Compiler:
    """Turns the operations of one plan into SQL.

    ``is_wire``: the source was read with a wire schema. ``enum_as_number``: the result is for ``to_avro`` with a schema
    in which enums are ints.
    """

    def __init__(self, *, is_wire: bool, enum_as_number: bool) -> None:
        self._is_wire = is_wire
        self._enum_as_number = enum_as_number
        self._reader = WireReader()

    def compile(self, op: Op, target: AvroType, scope: SqlScope, where: str) -> Code:
        """Return the code of an operation whose result is a value of ``target``."""
        compile_parts = self._parts.get(type(op))
        if compile_parts is not None:
            return compile_parts(self, op, target, scope, where)
        if isinstance(op, Read) and self._is_by_parts(target):
            return self._copied(op, target, scope)
        if isinstance(op, Read) and self._is_wire and self._enum_as_number and has_enum(target):
            return self._renumbered(op, target, scope)
        code = self._scalar(op, target, scope, where)
        return replace(code, value=self._out(code.value, target))

    def _renumbered(self, op: Read, target: AvroType, scope: SqlScope) -> Code:
        """Return a copied enum: a table from number to number."""
        _, source_type = split_null(scope.type_at(op.path))
        _, target_type = split_null(target)
        numbers = {symbol: number for number, symbol in enumerate(getattr(target_type, "symbols", ()))}
        targets = ", ".join(str(numbers[symbol]) for symbol in getattr(source_type, "symbols", ()))
        return Code(f"get(array({targets}), {path_of(scope.source, op.path)})", scope.null_when(op.path))

    def _is_by_parts(self, target: AvroType) -> bool:
        _, inner = split_null(target)
        return isinstance(inner, (Record, Array, Map))

    def _copied(self, op: Read, target: AvroType, scope: SqlScope) -> Code:
        """Return a copied value with parts. A map of several entries is doubtful, since Spark loses their order."""
        source = path_of(scope.source, op.path)
        node = scope.type_at(op.path)
        natural = self._reader.natural(node, source) if self._is_wire else source
        conditions = self._map_conditions(node, source)
        return Code(self._out(natural, target), scope.null_when(op.path), tuple(conditions))

    def _map_conditions(self, node: AvroType, source: str) -> list[str]:
        has_null, inner = split_null(node)
        found: list[str] = []
        if isinstance(inner, Record):
            for member in inner.fields:
                found += self._map_conditions(member.type, f"{source}.{quoted(member.name)}")
        elif isinstance(inner, Array):
            item = self._reader.variable()
            inside = self._map_conditions(inner.items, item)
            found = [f"forall({source}, {item} -> {all_of(inside)})"] if inside else []
        elif isinstance(inner, Map):
            item = self._reader.variable()
            inside = self._map_conditions(inner.values, item)
            found = [f"size({source}) <= 1"]
            found += [f"forall(map_values({source}), {item} -> {all_of(inside)})"] if inside else []
        return [f"{source} IS NULL OR ({all_of(found)})"] if has_null and found else found

    def _out(self, value: str, node: AvroType) -> str:
        """Return a natural value in the form that ``to_avro`` accepts."""
        if not self._enum_as_number or not has_enum(node):
            return value
        _, inner = split_null(node)
        if isinstance(inner, Enum):
            numbers = ", ".join(f"{text(symbol)}, {number}" for number, symbol in enumerate(inner.symbols))
            return f"try_element_at(map({numbers}), {value})"
        if isinstance(inner, Record):
            members = ", ".join(
                f"{text(member.name)}, {self._out(f'{value}.{quoted(member.name)}', member.type)}"
                for member in inner.fields
            )
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({members}) END"
        if isinstance(inner, Array):
            item = self._reader.variable()
            return f"transform({value}, {item} -> {self._out(item, inner.items)})"
        if isinstance(inner, Map):
            key, item = self._reader.variable(), self._reader.variable()
            return f"transform_values({value}, ({key}, {item}) -> {self._out(item, inner.values)})"
        return value

    # -- parts

    def _build_record(self, op: BuildRecord, target: AvroType, scope: SqlScope, where: str) -> Code:
        _, inner = split_null(target)
        if not isinstance(inner, Record):
            raise TypeError(where)
        types = {member.name: member.type for member in inner.fields}
        members, conditions = [], []
        for name, member in op.fields:
            code = self.compile(member, types[name], scope, f"{where}.{name}" if where else name)
            members.append(f"{text(name)}, {code.value}")
            conditions.append(code.is_sure)
        made = f"named_struct({', '.join(members)})"
        if op.guard is None:
            return Code(made, None, tuple(conditions))
        guard = self.compile_guard(op.guard, scope)
        guarded = f"CASE WHEN NOT ({guard}) THEN {made} END"
        return Code(guarded, guard, (f"({guard}) OR ({all_of(conditions)})",))

    def compile_guard(self, guard: Op, scope: SqlScope) -> str:
        """Return the condition under which the source record of a guard is null."""
        if not isinstance(guard, Read):
            raise TypeError(guard)
        return scope.null_when(guard.path) or "false"

    def _map_items(self, op: MapItems, target: AvroType, scope: SqlScope, where: str) -> Code:
        _, inner = split_null(target)
        if not isinstance(op.of, Read) or not isinstance(inner, Array):
            raise TypeError(where)
        source, null_when = path_of(scope.source, op.of.path), scope.null_when(op.of.path)
        _, array = split_null(scope.type_at(op.of.path))
        if not isinstance(array, Array):
            raise TypeError(where)
        item = self._reader.variable()
        code = self.compile(op.item, inner.items, SqlScope(array.items, item), f"{where}[]")
        condition = f"coalesce(forall({source}, {item} -> {code.is_sure}), {null_when or 'false'})"
        return Code(f"transform({source}, {item} -> {code.value})", null_when, (condition,))

    def _map_values(self, op: MapValues, target: AvroType, scope: SqlScope, where: str) -> Code:
        _, inner = split_null(target)
        if not isinstance(op.of, Read) or not isinstance(inner, Map):
            raise TypeError(where)
        source, null_when = path_of(scope.source, op.of.path), scope.null_when(op.of.path)
        _, mapping = split_null(scope.type_at(op.of.path))
        if not isinstance(mapping, Map):
            raise TypeError(where)
        key, item = self._reader.variable(), self._reader.variable()
        code = self.compile(op.value, inner.values, SqlScope(mapping.values, item), f"{where}{{}}")
        sure = f"size({source}) <= 1 AND forall(map_values({source}), {item} -> {code.is_sure})"
        condition = f"coalesce({sure}, {null_when or 'false'})"
        return Code(f"transform_values({source}, ({key}, {item}) -> {code.value})", null_when, (condition,))

    def _replace_null(self, op: ReplaceNull, target: AvroType, scope: SqlScope, where: str) -> Code:
        code = self.compile(op.of, target, scope, where)
        if code.null_when is None:
            return code
        replacement = self._out(constant(target, op.value), target)
        conditions = tuple(f"{code.null_when} OR ({condition})" for condition in code.conditions)
        value = f"CASE WHEN {code.null_when} THEN {replacement} ELSE {code.value} END"
        return Code(value, code.null_when if op.value is None else None, conditions)

    def _require_value(self, op: RequireValue, target: AvroType, scope: SqlScope, where: str) -> Code:
        return replace(self.compile(op.of, target, scope, where), null_when=None)

    def _constant(self, op: Constant, target: AvroType, _scope: SqlScope, _where: str) -> Code:
        return Code(self._out(constant(target, op.value), target), "true" if op.value is None else None)

    _parts: Final[dict[type, Callable[..., Code]]] = {
        BuildRecord: _build_record,
        MapItems: _map_items,
        MapValues: _map_values,
        ReplaceNull: _replace_null,
        RequireValue: _require_value,
        Constant: _constant,
    }

    # -- scalars

    def _scalar(self, op: Any, target: AvroType, scope: SqlScope, where: str) -> Code:
        """Return the natural value of a scalar operation."""
        compile_scalar = self._scalars.get(type(op))
        if compile_scalar is None:
            raise EngineCannot(_ENGINE, field=where, why="a union other than null and one type")
        return compile_scalar(self, op, target, scope, where)

    def _read(self, op: Read, _target: AvroType, scope: SqlScope, _where: str) -> Code:
        source = path_of(scope.source, op.path)
        node = scope.type_at(op.path)
        natural = self._reader.natural(node, source) if self._is_wire else source
        return Code(natural, scope.null_when(op.path))

    def _of(self, op: Any, target: AvroType, scope: SqlScope, where: str) -> Code:
        return self._scalar(op.of, target, scope, where)

    def _widen(self, op: Widen, target: AvroType, scope: SqlScope, where: str) -> Code:
        code = self._of(op, target, scope, where)
        return replace(code, value=widen_sql(op, code.value))

    def _cast(self, op: Cast, target: AvroType, scope: SqlScope, where: str) -> Code:
        code = self._of(op, target, scope, where)
        return replace(code, value=cast_sql(op, code.value, where))

    def _format(self, op: Format, target: AvroType, scope: SqlScope, where: str) -> Code:
        code = self._of(op, target, scope, where)
        return replace(code, value=format_sql(op, code.value))

    def _parse(self, op: Parse, target: AvroType, scope: SqlScope, where: str) -> Code:
        code = self._of(op, target, scope, where)
        return replace(code, value=parse_sql(op, code.value))

    def _split(self, op: Split, target: AvroType, scope: SqlScope, where: str) -> Code:
        code = self._of(op, target, scope, where)
        place = op.take + 1 if op.take >= 0 else op.take
        pieces = f"split({code.value}, {text(java_literal(op.separator))}, -1)"
        return replace(code, value=f"try_element_at({pieces}, {place})")

    def _join(self, op: Join, target: AvroType, scope: SqlScope, where: str) -> Code:
        codes = [self._scalar(part, target, scope, where) for part in op.parts]
        between = f", {text(op.separator)}, " if op.separator else ", "
        nulls = [code.null_when for code in codes if code.null_when is not None]
        return Code(f"concat({between.join(code.value for code in codes)})", " OR ".join(nulls) or None)

    def _lookup(self, op: Lookup, target: AvroType, scope: SqlScope, where: str) -> Code:
        code = self._of(op, target, scope, where)
        literals = {key: _key_literal(key) for key, _ in op.table}
        nulls = [code.null_when] if code.null_when else []
        nulls += [f"{_as_key(code.value, op.table)} = {literals[key]}" for key, result in op.table if result is None]
        found = f"cast(NULL AS {type_of(target)})"
        if op.table:
            entries = ", ".join(f"{literals[key]}, {constant(target, result)}" for key, result in op.table)
            found = f"try_element_at(map({entries}), {_as_key(code.value, op.table)})"
        if op.otherwise is not None:
            keys = ", ".join(literals.values())
            otherwise = self._otherwise(op, target, scope, where, nulls)
            inside = f"WHEN {_as_key(code.value, op.table)} IN ({keys}) THEN {found} " if keys else ""
            found = f"CASE {inside}WHEN {code.value} IS NOT NULL THEN {otherwise} END"
        return Code(found, " OR ".join(f"({null})" for null in nulls) or None)

    def _otherwise(self, op: Lookup, target: AvroType, scope: SqlScope, where: str, nulls: list[str]) -> str:
        if isinstance(op.otherwise, Constant):
            if op.otherwise.value is None:
                nulls.append("true")
            return constant(target, op.otherwise.value)
        return self._scalar(op.otherwise, target, scope, where).value

    def _arithmetic(self, op: Arithmetic, _target: AvroType, scope: SqlScope, where: str) -> Code:
        nulls: list[str] = []

        def read(path: tuple[str, ...]) -> str:
            code = self._read(Read(path), scope.type_at(path), scope, where)
            if code.null_when is not None and code.null_when not in nulls:
                nulls.append(code.null_when)
            return code.value

        value = arithmetic_sql(op, read)
        return Code(value, " OR ".join(nulls) or None)

    _scalars: Final[dict[type, Callable[..., Code]]] = {
        Read: _read,
        Widen: _widen,
        Cast: _cast,
        Format: _format,
        Parse: _parse,
        Split: _split,
        Join: _join,
        Lookup: _lookup,
        Arithmetic: _arithmetic,
        Constant: _constant,
    }


def _key_literal(key: Any) -> str:
    """Return a key of a table; booleans are looked up by their text, whole numbers as longs."""
    if isinstance(key, bool):
        return text("true" if key else "false")
    return text(key) if isinstance(key, str) else f"cast('{key}' AS bigint)"


def _as_key(value: str, table: tuple[tuple[Any, Any], ...]) -> str:
    """Return a value in the type of the table's keys."""
    first = table[0][0]
    if isinstance(first, bool):
        return f"cast({value} AS string)"
    return value if isinstance(first, str) else f"cast({value} AS bigint)"


def java_literal(value: str) -> str:
    """Return a Java regular expression that matches exactly this text."""
    return re.sub(r"([^\w\s])", r"\\\1", value, flags=re.ASCII)
