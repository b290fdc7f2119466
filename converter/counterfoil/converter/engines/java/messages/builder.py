"""Generating methods that make the target's values, Java objects, of the source's, or copy them to an equal type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterfoil.converter.engines.java.conditions import OBJECT
from counterfoil.converter.engines.java.messages.operations import JavaPlace, MessageOperations, constant
from counterfoil.converter.engines.java.operations import JavaValue
from counterfoil.converter.engines.java.source import ENGINE, JavaClass, block, quoted
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.schema.plans.assign import shapes_of
from counterfoil.schema.plans.model import (
    BuildRecord,
    Cast,
    Constant,
    FirstSet,
    Lookup,
    MapBranches,
    MapItems,
    MapTagged,
    MapValues,
    Op,
    Otherwise,
    Read,
    Recount,
    ReplaceNull,
    RequireValue,
    Tag,
    ValueShape,
    Widen,
)
from counterfoil.schema.plans.tree import ArrayType, MapType, Node, Opaque, RecordType, UnionType
from counterfoil.schema.plans.types import same_values, split_null

# Generating methods that copy values with parts to an equal type, whose fields may be in another order.

_CLASS_BY_KIND: Final = {"record": "Object[]", "array": "Items", "map": "Entries"}


class Copies:
    """Makes the method for each pair of types once: types may contain themselves."""

    def __init__(self, java: JavaClass) -> None:
        self._java = java
        self._name_by_pair: dict[tuple[int, int], str] = {}

    def call(self, source: Node, target: Node, where: str) -> str | None:
        """Return the method that copies a value that is not null; None where the object itself is the copy."""
        source, target = _paired(source, target)
        if _is_aligned(source, target, where, set()):
            return None
        known = self._name_by_pair.get((id(source), id(target)))
        if known is not None:
            return known
        name = self._name_by_pair[id(source), id(target)] = self._java.fresh("m")
        self._java.method(f"Object {name}(Object given)", self._body(source, target, where))
        return name

    def _body(self, source: Node, target: Node, where: str) -> list[str]:
        if isinstance(source, RecordType) and isinstance(target, RecordType):
            names = [member.name for member in source.fields]
            lines = ["Object[] from = (Object[]) given;", f"Object[] made = new Object[{len(names)}];"]
            for number, member in enumerate(target.fields):
                place = names.index(member.name)
                one = self._one(f"from[{place}]", source.fields[place].type, member.type, where)
                lines.append(f"made[{number}] = {one};")
            return [*lines, "return made;"]
        if isinstance(source, ArrayType) and isinstance(target, ArrayType):
            one, cast, end = self._one("from.values[i]", source.items, target.items, where), "Items", "new Items(made)"
        elif isinstance(source, MapType) and isinstance(target, MapType):
            one, cast = self._one("from.values[i]", source.values, target.values, where), "Entries"
            end = "new Entries((Texts[]) java.util.Arrays.copyOf(from.keys, from.count), made)"
        elif isinstance(source, UnionType) and isinstance(target, UnionType):
            return self._branches(source, target, where)
        else:
            raise EngineCannot(ENGINE, field=where, why=f"a copy of {source.kind} as {target.kind}")
        start = [f"{cast} from = ({cast}) given;", "Object[] made = new Object[from.count];"]
        return [*start, *block("for (int i = 0; i < made.length; i++)", [f"made[i] = {one};"]), f"return {end};"]

    def _branches(self, source: UnionType, target: UnionType, where: str) -> list[str]:
        """Return the statements that copy a value of a union: the branches are equal, one by one."""
        lines = []
        for index, (left, right) in enumerate(zip(source.branches, target.branches, strict=True)):
            name = self.call(left, right, where)
            if name is None:
                continue
            if source.is_tagged:
                lines += [f"if (given instanceof Tagged && ((Tagged) given).index == {index})"]
                lines += [f"  return new Tagged({index}, {name}(((Tagged) given).value));"]
            else:
                lines += [f"if (given instanceof {_CLASS_BY_KIND[left.kind]}) return {name}(given);"]
        return [*lines, "return given;"]

    def _one(self, value: str, source: Node, target: Node, where: str) -> str:
        name = self.call(split_null(source)[1] or source, target, where)
        return value if name is None else f"{value} == null ? null : {name}({value})"


def _paired(source: Node, target: Node) -> tuple[Node, Node]:
    """Return two types without null; of a union, the branch that is equal to the other type."""
    left, right = split_null(source)[1] or source, split_null(target)[1] or target
    if isinstance(right, UnionType) and not isinstance(left, UnionType):
        right = next((branch for branch in right.branches if same_values(left, branch)), right)
    return left, right


def _is_aligned(source: Node, target: Node, where: str, seen: set[tuple[int, int]]) -> bool:
    """Return whether the objects of both types are the same: fields are in one order."""
    source, target = _paired(source, target)
    if (id(source), id(target)) in seen:
        return True
    seen.add((id(source), id(target)))
    if isinstance(source, RecordType) and isinstance(target, RecordType):
        names = [[member.name for member in each.fields] for each in (source, target)]
        return names[0] == names[1] and all(
            _is_aligned(left.type, right.type, where, seen)
            for left, right in zip(source.fields, target.fields, strict=True)
        )
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _is_aligned(source.items, target.items, where, seen)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return _is_aligned(source.values, target.values, where, seen)
    if isinstance(source, UnionType) and isinstance(target, UnionType):
        return all(
            _is_aligned(left, right, where, seen) for left, right in zip(source.branches, target.branches, strict=True)
        )
    if isinstance(source, Opaque):
        raise EngineCannot(ENGINE, field=where, why=f"a copy of {source.words}")
    return True


# Generating methods that make the target's values, Java objects, of the source's.

_FIELDS_PER_METHOD: Final = 24
"""Java does not compile a method of more than 8,000 bytes."""
_CLASS_BY_SHAPE: Final = {
    ValueShape.BOOLEAN: "{0} instanceof Boolean",
    ValueShape.INTEGER: "{0} instanceof Long || {0} instanceof java.math.BigInteger",
    ValueShape.REAL: "{0} instanceof Double",
    ValueShape.TEXT: "{0} instanceof Texts",
    ValueShape.BYTES: "{0} instanceof byte[]",
    ValueShape.LIST: "{0} instanceof Items",
    ValueShape.OBJECT: "{0} instanceof Object[] || {0} instanceof Entries",
}

Made = tuple[list[str], str]
"""Statements, and the name of the variable that they fill: an object, or null."""


class Builder:
    """Writes the methods of a plan; each takes a Java object and returns one."""

    def __init__(self, java: JavaClass) -> None:
        self._java = java
        self._operations = MessageOperations(java)
        self._copies = Copies(java)

    def method(self, op: Op, target: Node, source: Node) -> str:
        """Add the method that makes the target's value of the source's, and return its name."""
        place = JavaPlace("s", source)
        if isinstance(op, BuildRecord) and isinstance(target, RecordType):
            return self.record(op, target, place, "")
        name = self._java.fresh("m")
        lines, made = self._made(op, target, place, "")
        self._java.method(f"Object {name}(Object s)", [*lines, f"return {made};"])
        return name

    def record(self, op: BuildRecord, target: RecordType, source: JavaPlace, where: str) -> str:
        """Add the method that makes a record of the value of a place, and return its name."""
        name = self._java.fresh("m")
        inside = JavaPlace("s", source.node, source.may_be_null)
        op_by_name = dict(op.fields)
        calls = []
        for start in range(0, len(target.fields), _FIELDS_PER_METHOD):
            body = []
            for number, member in enumerate(target.fields[start : start + _FIELDS_PER_METHOD], start):
                field = f"{where}.{member.name}" if where else member.name
                lines, made = self._made(op_by_name[member.name], member.type, inside, field)
                body += block("", [*lines, f"made[{number}] = {made};"])
            self._java.method(f"void {name}_{start}(Object s, Object[] made)", body)
            calls.append(f"{name}_{start}(s, made);")
        start_lines = [f"Object[] made = new Object[{len(target.fields)}];"]
        self._java.method(f"Object[] {name}(Object s)", [*start_lines, *calls, "return made;"])
        return name

    def _made(self, op: Op, target: Node, place: JavaPlace, where: str) -> Made:
        """Return the statements that make the value of an operation."""
        make = self._structures.get(type(op))
        if make is not None:
            made: Made = make(self, op, target, place, where)
            return made
        if isinstance(op, Widen) and _is_same_object(op):
            return self._made(op.of, target, place, where)
        value = self._operations.scalar(op, place, where)  # type: ignore[arg-type]  # a place is the scope here
        return self._boxed(value, _base_of(op))

    def _boxed(self, value: JavaValue, base: str) -> Made:
        value = self._operations.text_of(value)
        name = self._java.fresh("t")
        box = _BOXES[value.kind]
        if value.kind == "bytes":
            box = "Values.copy({1})" if base in {"string", "enum"} else "java.util.Arrays.copyOfRange({1})"
        spelt = box.format(value.value, value.span)
        made = f"{value.null_when} ? null : (Object) {spelt}" if value.null_when else spelt
        return [*value.declared, *value.lines, f"Object {name} = {made};"], name

    def _new(self, lines: list[str], value: str) -> Made:
        name = self._java.fresh("t")
        return [*lines, f"Object {name} = {value};"], name

    # -- values as they are

    def _read(self, op: Read, target: Node, place: JavaPlace, where: str) -> Made:
        lines, found = place.find(op.path, self._java)
        copy = self._copies.call(found.node, target, where)
        value = found.name if copy is None else f"{copy}({found.name})"
        return (lines, value) if value == found.name else self._new(lines, f"{found.name} == null ? null : {value}")

    def _constant(self, op: Constant, target: Node, _place: JavaPlace, where: str) -> Made:
        return self._new([], constant(self._java, target, op.value, where))

    def _replace_null(self, op: ReplaceNull, target: Node, place: JavaPlace, where: str) -> Made:
        lines, name = self._made(op.of, target, place, where)
        return self._new(lines, f"{name} == null ? {constant(self._java, target, op.value, where)} : {name}")

    def _require_value(self, op: RequireValue, target: Node, place: JavaPlace, where: str) -> Made:
        lines, name = self._made(op.of, target, place, where)
        return [*lines, f"if ({name} == null) throw nullNotAllowed({quoted(where)});"], name

    def _otherwise(self, op: Otherwise, target: Node, place: JavaPlace, where: str) -> Made:
        lines, made = self._made(op.of, target, place, where)
        name = self._java.fresh("t")
        instead = constant(self._java, target, op.value, where)
        caught = [f"}} catch (Failure {name}f) {{", f"  {name} = {instead};", "}"]
        return [f"Object {name} = null;", *block("try", [*lines, f"{name} = {made};"])[:-1], *caught], name

    def _lookup(self, op: Lookup, target: Node, place: JavaPlace, where: str) -> Made:
        key = self._operations.scalar(op.of, place, where)  # type: ignore[arg-type]  # a place is the scope here
        if key.kind in {OBJECT, "real"}:
            raise EngineCannot(ENGINE, field=where, why="a table whose keys are numbers of any size")
        find, shown = self._operations.place_of(key, op)
        results = ", ".join(constant(self._java, target, result, where) for _, result in op.table)
        table = self._java.constant("Object[]", f"{{{results}}}")
        number, name = self._java.fresh("t"), self._java.fresh("t")
        found = [f"int {number} = {find};", f"if ({number} >= 0) {name} = {table}[{number}];"]
        if op.otherwise is None:
            found.append(f"else throw Table.missing({shown}, {quoted(where)});")
        else:
            lines, other = self._made(op.otherwise, target, place, where)
            found += block("else", [*lines, f"{name} = {other};"])
        return [*key.declared, f"Object {name} = null;", *key.then(found).lines], name

    # -- values with parts

    def _record(self, op: BuildRecord, target: Node, place: JavaPlace, where: str) -> Made:
        _, inner = split_null(target)
        if isinstance(inner, UnionType):  # without tags it has at most one record
            inner = next((branch for branch in inner.branches if isinstance(branch, RecordType)), None)
        if not isinstance(inner, RecordType):
            raise EngineCannot(ENGINE, field=where, why="a record as a type that is no record")
        call = f"{self.record(op, inner, place, where)}({place.name})"
        if op.guard is None:
            return self._new([], call)
        lines, guard = self._source(op.guard, place, where)
        return self._new(lines, f"{guard.name} == null ? null : {call}")

    def _source(self, op: Op, place: JavaPlace, where: str) -> tuple[list[str], JavaPlace]:
        """Return the statements that find a value with parts as it was read, and its place."""
        if isinstance(op, Read):
            return place.find(op.path, self._java)
        raise EngineCannot(ENGINE, field=where, why=f"the parts of {type(op).__name__}")

    def _items(self, op: MapItems, target: Node, place: JavaPlace, where: str) -> Made:
        source, (_, inner) = self._source(op.of, place, where)[1].node, split_null(target)
        if not isinstance(source, ArrayType) or not isinstance(inner, ArrayType):
            raise EngineCannot(ENGINE, field=where, why="the items of a value that is no array")
        body, made = self._made(op.item, inner.items, JavaPlace.of("s", source.items), f"{where}[]")
        start = ["Items from = (Items) given;", "Object[] made = new Object[from.count];"]
        return self._by_method(op.of, place, where, [*start, *_loop(body, made), "return new Items(made);"])

    def _values(self, op: MapValues, target: Node, place: JavaPlace, where: str) -> Made:
        source, (_, inner) = self._source(op.of, place, where)[1].node, split_null(target)
        if not isinstance(source, MapType) or not isinstance(inner, MapType):
            raise EngineCannot(ENGINE, field=where, why="the values of a value that is no map")
        body, made = self._made(op.value, inner.values, JavaPlace.of("s", source.values), f"{where}{{}}")
        start = ["Entries from = (Entries) given;", "Object[] made = new Object[from.count];"]
        end = "return new Entries((Texts[]) java.util.Arrays.copyOf(from.keys, from.count), made);"
        return self._by_method(op.of, place, where, [*start, *_loop(body, made), end])

    def _by_method(self, of: Op, place: JavaPlace, where: str, body: list[str]) -> Made:
        """Return the result of a method for a value that is not null."""
        lines, given = self._source(of, place, where)
        name = self._java.fresh("m")
        self._java.method(f"Object {name}(Object given)", body)
        return self._new(lines, f"{given.name} == null ? null : {name}({given.name})")

    # -- unions

    def _branches(self, op: MapBranches, target: Node, place: JavaPlace, where: str) -> Made:
        node = self._source(op.of, place, where)[1].node
        body = []
        for shape, branch in op.branches:
            lines, made = self._made(branch, target, JavaPlace("given", _branch_of(node, shape)), where)
            body += block(f"if ({_CLASS_BY_SHAPE[shape].format('given')})", [*lines, f"return {made};"])
        text = "no branch takes the value"
        body.append(f"throw new Failure(Codes.UNION_BRANCH_MISSING, {quoted(where)}, {quoted(text)});")
        return self._by_method(op.of, place, where, body)

    def _tagged(self, op: MapTagged, target: Node, place: JavaPlace, where: str) -> Made:
        node = self._source(op.of, place, where)[1].node
        if not isinstance(node, UnionType):
            raise EngineCannot(ENGINE, field=where, why="the branches of a value that is no union")
        cases = []
        for index, branch in op.branches:
            lines, made = self._made(branch, target, JavaPlace("s", node.branches[index]), where)
            inside = ["Object s = ((Tagged) given).value;", *lines, f"return {made};"]
            cases += [f"case {index}: {{", *(f"  {line}" for line in inside), "}"]
        body = [*block("switch (((Tagged) given).index)", cases), "return null;"]
        return self._by_method(op.of, place, where, body)

    def _tag(self, op: Tag, target: Node, place: JavaPlace, where: str) -> Made:
        branch = target.branches[op.index] if isinstance(target, UnionType) else target
        lines, name = self._made(op.of, branch, place, where)
        return self._new(lines, f"{name} == null ? null : new Tagged({op.index}, {name})")

    def _first_set(self, op: FirstSet, target: Node, place: JavaPlace, where: str) -> Made:
        name = self._java.fresh("t")
        lines = [f"Object {name} = null;"]
        for part in op.parts:
            inside, made = self._made(part, target, place, where)
            lines += block(f"if ({name} == null)", [*inside, f"{name} = {made};"])
        return lines, name

    _structures: Final[dict[type, Callable[..., Made]]] = {
        Read: _read,
        Constant: _constant,
        ReplaceNull: _replace_null,
        RequireValue: _require_value,
        Otherwise: _otherwise,
        Lookup: _lookup,
        BuildRecord: _record,
        MapItems: _items,
        MapValues: _values,
        MapBranches: _branches,
        MapTagged: _tagged,
        Tag: _tag,
        FirstSet: _first_set,
    }


_BOXES: Final = {
    "boolean": "Boolean.valueOf({0})",
    "whole": "Long.valueOf({0})",
    "real": "Double.valueOf({0})",
    "bytes": "",
    OBJECT: "{0}",
}


def _loop(body: list[str], made: str) -> list[str]:
    """Return the loop that makes each of the values ``from``, called ``s`` in the body."""
    return block("for (int i = 0; i < made.length; i++)", ["Object s = from.values[i];", *body, f"made[i] = {made};"])


def _base_of(op: Op) -> str:
    """Return the base type of a scalar operation's result."""
    return op.target.base if isinstance(op, (Cast, Widen, Recount)) else "string"


def _is_same_object(op: Widen) -> bool:
    """Return whether the larger type has the same objects as values."""
    if op.target.base == "bytes":
        return op.source.base in {"bytes", "fixed"}
    if op.target.base == "double":
        return op.source.base in {"float", "double"}
    return op.source.word not in {"timestamp-nanos", "duration-nanos"}


def _branch_of(node: Node, shape: ValueShape) -> Node:
    """Return the branch of a union that has values of a shape."""
    if not isinstance(node, UnionType):
        return node
    return next(branch for branch in node.branches if shape in shapes_of(branch))
