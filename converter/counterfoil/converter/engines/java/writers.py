"""Generating what writes the target's record from the slots: fields in their order, spans copied where they can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from counterfoil.converter.engines.java.conditions import ConditionOperations
from counterfoil.converter.engines.java.operations import JavaValue
from counterfoil.converter.engines.java.source import (
    ENGINE,
    JavaClass,
    Slot,
    SlotRun,
    block,
    indented,
    is_same_wire,
    quoted,
    widens_on_wire,
)
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from counterfoil.schema.plans.model import (
    BuildRecord,
    Constant,
    Lookup,
    MapBranches,
    MapItems,
    MapValues,
    Op,
    Otherwise,
    Read,
    ReplaceNull,
    RequireValue,
    Widen,
)
from counterfoil.schema.plans.types import split_null
from counterfoil.sdk.serde.avro.encode_walk import EncodeWalk
from counterfoil.sdk.serde.avro.numbers import encode_long

_LINES_PER_METHOD: Final = 60
_NO_UNION: Final = "a union other than null and one type"


@dataclass(frozen=True)
class _Part:
    """How a value is written: statements that compute it, when it is null, and statements that write it if not.

    The written bytes are those of the type without null.
    """

    null_when: str | None
    written: tuple[str, ...]
    declared: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


class TargetWriter:
    """Writes the methods that write the target's record."""

    def __init__(self, java: JavaClass) -> None:
        self._java = java
        self._operations = ConditionOperations(java)

    def root(self, op: BuildRecord, target: AvroRecord, scope: Slot) -> list[str]:
        """Return the statements that write the whole record: calls of methods of a moderate size."""
        return self._in_methods(self._fields(op, target, scope, ""))

    def _in_methods(self, parts: list[list[str]]) -> list[str]:
        calls: list[str] = []
        body: list[str] = []
        for number, part in enumerate(parts):
            body += part
            if len(body) >= _LINES_PER_METHOD or number == len(parts) - 1:
                name = self._java.fresh("w")
                self._java.method(f"void {name}()", body)
                calls.append(f"{name}();")
                body = []
        return calls

    def _fields(self, op: BuildRecord, target: AvroRecord, scope: Slot, where: str) -> list[list[str]]:
        """Return the statements of each field, or of each run of fields that can be copied."""
        op_by_name = dict(op.fields)
        members = target.fields
        ops = [op_by_name[member.name] for member in members]
        made: list[list[str]] = []
        place = 0
        while place < len(members):
            length = _run_length(ops[place:], [member.type for member in members[place:]], scope)
            each = [
                self._field(members[number].name, ops[number], members[number].type, scope, where)
                for number in range(place, place + max(1, length))
            ]
            made.append(self._run(ops[place : place + length], scope, each) if length else each[0])
            place += max(1, length)
        return made

    def _run(self, ops: Sequence[Op], scope: Slot, each: list[list[str]]) -> list[str]:
        """Return the statements that copy a run as one span, or write its fields one by one."""
        paths = [_copied_path(op) or () for op in ops]
        record = scope.at(paths[0][:-1])
        run = SlotRun(self._java.fresh(""), tuple(path[-1] for path in paths))
        record.runs.append(run)
        record.use()
        null_when = record.null_condition(scope)
        present = f" && !({null_when})" if null_when else ""
        copy = block(f"if (s{run.name} >= 0 && !odd{present})", [f"out.put(data, s{run.name}, e{run.name});"])
        return [*copy[:-1], "} else {", *indented(self._in_methods(each)), "}"]

    def _field(self, name: str, op: Op, node: AvroType, scope: Slot, where: str) -> list[str]:
        return block("", self.value(op, node, scope, f"{where}.{name}" if where else name))

    def value(self, op: Op, node: AvroType, scope: Slot, where: str) -> list[str]:
        """Return the statements that write the value of an operation as a type."""
        has_null, inner = split_null(node)
        if isinstance(op, Constant):
            return [f"out.put({self._constant(node, op.value)});"]
        if isinstance(inner, AvroUnion) or (inner is None and not has_null):
            raise EngineCannot(ENGINE, field=where, why=_NO_UNION)
        if inner is None:
            return _branch_of(node, is_null=True)
        part = self._part(op.of if isinstance(op, (ReplaceNull, RequireValue)) else op, inner, scope, where)
        written = [*_branch_of(node, is_null=False), *part.written]
        if part.null_when is None or (not has_null and not isinstance(op, (ReplaceNull, RequireValue))):
            return [*part.declared, *part.lines, *written]
        if isinstance(op, ReplaceNull):
            instead = [f"out.put({self._constant(node, op.value)});"]
        elif isinstance(op, RequireValue):
            instead = [f"throw nullNotAllowed({quoted(where)});"]
        else:
            instead = _branch_of(node, is_null=True)
        choice = block(f"if ({part.null_when})", instead)
        return [*part.declared, *part.lines, *choice[:-1], "} else {", *indented(written), "}"]

    def _constant(self, node: AvroType, value: object) -> str:
        return self._java.data(_encoded(node, value))

    def _part(self, op: Op, inner: AvroType, scope: Slot, where: str) -> _Part:
        """Return how the value of an operation is written as a type that has no null."""
        if isinstance(op, (MapBranches, ReplaceNull, RequireValue)):
            raise EngineCannot(ENGINE, field=where, why=_NO_UNION)
        if isinstance(op, Constant):
            if op.value is None:
                return _Part("true", ())
            return _Part(None, (f"out.put({self._constant(inner, op.value)});",))
        if isinstance(op, Lookup):
            return self._lookup(op, inner, scope, where)
        if isinstance(op, Otherwise):
            return self._otherwise(op, inner, scope, where)
        if isinstance(op, BuildRecord) and isinstance(inner, AvroRecord):
            return self._record(op, inner, scope, where)
        if isinstance(op, MapItems) and isinstance(inner, AvroArray) and isinstance(op.of, Read):
            return self._array(scope.at(op.of.path), op.item, inner, scope, where)
        if isinstance(op, MapValues) and isinstance(inner, AvroMap) and isinstance(op.of, Read):
            return self._map(scope.at(op.of.path), op.value, inner, scope, where)
        if isinstance(op, Read) and isinstance(inner, (AvroRecord, AvroArray, AvroMap)):
            return self._copied(op, inner, scope, where)
        value = self._operations.scalar(op, scope, where)
        return _Part(value.null_when, tuple(self._scalar(value, inner, where)), value.declared, value.lines)

    def _scalar(self, value: JavaValue, inner: AvroType, where: str) -> list[str]:
        """Return the statements that write a scalar."""
        if isinstance(inner, AvroEnum):
            if value.kind != "enum":
                raise EngineCannot(ENGINE, field=where, why="a text as an enum without a cast")
            symbols = list(inner.symbols)
            numbers = [symbols.index(symbol) if symbol in symbols else -1 for symbol in value.symbols]
            if numbers == list(range(len(numbers))):
                return [f"out.putLong({value.value});"]
            return [f"out.putLong({self._java.integers(numbers)}[(int) {value.value}]);"]
        if value.kind == "enum":
            value = self._operations.text_of(replace(value, declared=(), lines=()))
            return [*value.declared, *value.lines, f"out.putBytes({value.span});"]
        if value.kind == "bytes":
            return [f"out.{'put' if inner.kind is AvroKind.FIXED else 'putBytes'}({value.span});"]
        if inner.kind is AvroKind.BOOLEAN:
            return [f"out.putByte({value.value} ? 1 : 0);"]
        if inner.kind in {AvroKind.FLOAT, AvroKind.DOUBLE}:
            return [f"out.put{'Float' if inner.kind is AvroKind.FLOAT else 'Double'}({value.value});"]
        return [f"out.putLong({value.value});"]

    def _otherwise(self, op: Otherwise, inner: AvroType, scope: Slot, where: str) -> _Part:
        """Return how a value is written that may fail, and what is written instead."""
        part, failed = self._part(op.of, inner, scope, where), self._java.fresh("t")
        lines = [*block("try", part.lines)[:-1], f"}} catch (Failure {failed}f) {{", f"  {failed} = true;", "}"]
        nulls = [f"(!{failed} && ({part.null_when}))"] if part.null_when else []
        written = part.written
        if op.value is None:
            nulls.append(failed)
        else:
            instead = block(f"if ({failed})", [f"out.put({self._constant(inner, op.value)});"])
            written = (*instead[:-1], "} else {", *indented(part.written), "}")
        return _Part(_any(nulls), tuple(written), (*part.declared, f"boolean {failed} = false;"), tuple(lines))

    # -- parts

    def _copied(self, op: Read, inner: AvroType, scope: Slot, where: str) -> _Part:
        """Return how a value with parts is copied part by part, to a type that may have them in another order."""
        slot = scope.at(op.path)
        if isinstance(inner, AvroRecord):
            fields = tuple((member.name, Read((*op.path, member.name))) for member in inner.fields)
            return self._record(BuildRecord(fields, op), inner, scope, where)
        if isinstance(inner, AvroArray):
            return self._array(slot, Read(()), inner, scope, where)
        if isinstance(inner, AvroMap):
            return self._map(slot, Read(()), inner, scope, where)
        raise EngineCannot(ENGINE, field=where, why=_NO_UNION)

    def _record(self, op: BuildRecord, inner: AvroRecord, scope: Slot, where: str) -> _Part:
        null_when = None
        if op.guard is not None:
            if not isinstance(op.guard, Read):
                raise EngineCannot(ENGINE, field=where, why="a record that depends on a computed value")
            null_when = scope.at(op.guard.path).null_condition(scope)
        return _Part(null_when, tuple(self._in_methods(self._fields(op, inner, scope, where))))

    def _element(self, op: Op, node: AvroType, slot: Slot, where: str) -> tuple[str, list[str]]:
        """Return the name of the method that reads an element again, and the statements that write it."""
        if slot.element is None:
            raise EngineCannot(ENGINE, field=where, why=_NO_UNION)
        slot.use()
        written = self.value(op, node, slot.element, where)
        return f"q{slot.name}", self._in_methods([written])

    def _array(self, slot: Slot, item: Op, inner: AvroArray, scope: Slot, where: str) -> _Part:
        read, written = self._element(item, inner.items, slot, f"{where}[]")
        place, left, index = (self._java.fresh(stem) for stem in ("p", "l", "i"))
        step = [f"{place} = {read}({slot.data}, {place});", *written]
        loop = [
            f"{place} = readBlock({slot.data}, {place}, 0);",
            f"long {left} = number;",
            f"if ({left} == 0) break;",
            *block(f"for (long {index} = 0; {index} < {left}; {index}++)", step),
        ]
        body = [f"out.putLong(n{slot.name});", f"int {place} = a{slot.name};", *block("while (true)", loop)]
        return _Part(slot.null_condition(scope), (*block(f"if (n{slot.name} > 0)", body), "out.putByte(0);"))

    def _map(self, slot: Slot, op: Op, inner: AvroMap, scope: Slot, where: str) -> _Part:
        read, written = self._element(op, inner.values, slot, f"{where}{{}}")
        keys, index = f"m{slot.name}", self._java.fresh("i")
        step = [
            f"out.putBytes({slot.data}, {keys}.from[{index}], {keys}.to[{index}]);",
            f"{read}({slot.data}, {keys}.values[{index}]);",
            *written,
        ]
        loop = block(f"for (int {index} = 0; {index} < {keys}.count; {index}++)", step)
        body = block(f"if ({keys}.count > 0)", [f"out.putLong({keys}.count);", *loop])
        return _Part(slot.null_condition(scope), (*body, "out.putByte(0);"))

    def _lookup(self, op: Lookup, inner: AvroType, scope: Slot, where: str) -> _Part:
        """Return how the entry of a table is written: ``place`` is its number, -1 for none, -2 for null."""
        key = self._operations.scalar(op.of, scope, where)
        place = self._java.fresh("t")
        find, shown = self._operations.place_of(key, op)
        lines = list(key.then([f"{place} = {find};"]).lines)
        declared = (*key.declared, f"int {place} = -2;")
        nulls = [f"{place} == {number}" for number, (_, result) in enumerate(op.table) if result is None]
        nulls += [f"{place} == -2"] if key.null_when else []
        entries = [b"" if result is None else _encoded(inner, result) for _, result in op.table]
        found = [f"out.put({self._java.several(entries)}[{place}]);"]
        if op.otherwise is None:
            lines += block(f"if ({place} == -1)", [f"throw Table.missing({shown}, {quoted(where)});"])
            return _Part(_any(nulls), tuple(found), declared, tuple(lines))
        other = self._part(op.otherwise, inner, scope, where)
        lines += block(f"if ({place} == -1)", other.lines) if other.lines else []
        if other.null_when is not None:
            nulls.append(f"{place} == -1" if other.null_when == "true" else f"({place} == -1 && ({other.null_when}))")
        choice = block(f"if ({place} >= 0)", found)
        written = (*choice[:-1], "} else {", *indented(other.written), "}")
        return _Part(_any(nulls), written, (*declared, *other.declared), tuple(lines))


def _encoded(node: AvroType, value: object) -> bytes:
    return EncodeWalk(strict=False, takes_indexes=True, exact=False).write(node, value)


def _any(conditions: list[str]) -> str | None:
    return " || ".join(conditions) or None


def _branch_of(node: AvroType, *, is_null: bool) -> list[str]:
    """Return the statement that writes the number of a branch, where there is one."""
    if not isinstance(node, AvroUnion):
        return []
    number = next(place for place, each in enumerate(node.branches) if (each.kind is AvroKind.NULL) is is_null)
    return [f"out.putByte({encode_long(number)[0]});"]


def _copied_path(op: Op) -> tuple[str, ...] | None:
    """Return the path of a field that an operation copies, as the same or as a larger type."""
    if isinstance(op, Widen):
        op = op.of
    return op.path if isinstance(op, Read) and op.path else None


def _run_length(ops: Sequence[Op], nodes: Sequence[AvroType], scope: Slot) -> int:
    """Return how many fields from the first on are copies of source fields one behind the other.

    0 where copying a span would not pay: for a single scalar.
    """
    first = _copied_path(ops[0])
    if first is None:
        return 0
    record = scope.at(first[:-1])
    if not isinstance(record.inner, AvroRecord):
        return 0
    names = [member.name for member in record.inner.fields]
    start = names.index(first[-1])
    length = 0
    for op, node in zip(ops, nodes, strict=True):
        place = start + length
        if place >= len(names) or _copied_path(op) != (*first[:-1], names[place]):
            break
        source = record.inner.fields[place].type
        if not (is_same_wire(source, node) or (isinstance(op, Widen) and widens_on_wire(source, node))):
            break
        length += 1
    _, inner = split_null(nodes[0])
    return length if length > 1 or (length and isinstance(inner, (AvroRecord, AvroArray, AvroMap))) else 0
