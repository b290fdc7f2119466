"""Scalar operations on Java objects, where a method finds the source's values, and base values as constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Final, cast

from counterfoil.converter.engines.java.operations import JavaValue, Operations, formula
from counterfoil.converter.engines.java.source import ENGINE, JavaClass, Slot, quoted, real
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.schema.datum import Datum
from counterfoil.schema.plans.formulas import Binary, BranchSegment, Call, Expression, FieldValue, Negate
from counterfoil.schema.plans.model import Arithmetic, Cast, Format, Parse, Read, Scalar, ValueShape, Widen
from counterfoil.schema.plans.notation import LONG_RANGE
from counterfoil.schema.plans.text_forms import form_function
from counterfoil.schema.plans.tree import ArrayType, Leaf, MapType, Node, RecordType, UnionType
from counterfoil.schema.plans.types import is_instant, is_text, range_of, split_null, ticks_per_second

# Where a generated method finds the source's values: below a Java object of a type of the plan's tree.


CLASS_BY_SHAPE: Final = {
    ValueShape.BOOLEAN: "{0} instanceof Boolean",
    ValueShape.INTEGER: "{0} instanceof Long || {0} instanceof java.math.BigInteger",
    ValueShape.REAL: "{0} instanceof Double",
    ValueShape.TEXT: "{0} instanceof Texts",
    ValueShape.BYTES: "{0} instanceof byte[]",
    ValueShape.LIST: "{0} instanceof Items",
    ValueShape.OBJECT: "{0} instanceof Object[] || {0} instanceof Entries",
}


@lru_cache(maxsize=32)
def _index_by_name(record: RecordType) -> dict[str, int]:
    return {member.name: index for index, member in enumerate(record.fields)}


@dataclass(frozen=True)
class JavaPlace:
    """A Java variable with a value of a type; with ``may_be_null`` it may be null."""

    name: str
    node: Node
    may_be_null: bool = False

    @classmethod
    def of(cls, name: str, node: Node) -> JavaPlace:
        """Return the place of any value of a type."""
        has_null, inner = split_null(node)
        return cls(name, inner if inner is not None else node, has_null)

    def find(self, path: tuple[str, ...], java: JavaClass) -> tuple[list[str], JavaPlace]:
        """Return the statements that find the value at ``path``, and its place."""
        lines: list[str] = []
        here = self
        for step in path:
            if isinstance(step, BranchSegment):
                line, here = here._branch(step, java)
                lines.append(line)
                continue
            if not isinstance(here.node, RecordType):
                raise EngineCannot(ENGINE, field=".".join(path), why="a path into a value that is no record")
            index = _index_by_name(here.node)[step]
            below = JavaPlace.of(java.fresh("t"), here.node.fields[index].type)
            read = f"((Object[]) {here.name})[{index}]"
            value = f"{here.name} == null ? null : {read}" if here.may_be_null else read
            lines.append(f"Object {below.name} = {value};")
            here = JavaPlace(below.name, below.node, below.may_be_null or here.may_be_null)
        return lines, here

    def _branch(self, segment: BranchSegment, java: JavaClass) -> tuple[str, JavaPlace]:
        """Return the statement that finds the value if it is of a branch, else null, and its place."""
        if not isinstance(self.node, UnionType):
            raise EngineCannot(ENGINE, field=segment, why="a branch of a value that is no union")
        name = java.fresh("t")
        if segment.shapes:
            test = " || ".join(CLASS_BY_SHAPE[ValueShape(shape)].format(self.name) for shape in segment.shapes)
            value = self.name
        else:
            tagged = f"((Tagged) {self.name})"
            test, value = f"{self.name} != null && {tagged}.index == {segment.place}", f"{tagged}.value"
        found = f"Object {name} = {test} ? {value} : null;"
        return found, JavaPlace(name, self.node.branches[segment.place], may_be_null=True)


# Base values as constants of a generated class.


def constant(java: JavaClass, node: Node, value: object, where: str) -> str:
    """Return the name of a constant with a base value of a type, or ``null``."""
    if value is None:
        return "null"
    return java.constant("Object", _spelt(java, split_null(node)[1] or node, value, where))


def _spelt(java: JavaClass, node: Node, value: object, where: str) -> str:
    if isinstance(value, str):
        if not is_text(value):
            raise EngineCannot(ENGINE, field=where, why="a text that UTF-8 cannot hold")
        return f"Values.text({java.data(value.encode())})"
    if isinstance(value, bytes):
        return java.data(value)
    if isinstance(value, bool):
        return f"Boolean.{'TRUE' if value else 'FALSE'}"
    if isinstance(value, int):
        low, high = LONG_RANGE
        return f"Long.valueOf({value}L)" if low <= value <= high else f"new java.math.BigInteger({quoted(str(value))})"
    if isinstance(value, float):
        return f"Double.valueOf({real(value)})"
    return _with_parts(java, node, value, where)


def _with_parts(java: JavaClass, node: Node, value: Datum, where: str) -> str:
    if isinstance(node, UnionType):
        if isinstance(value, tuple):
            return f"new Tagged({value[0]}, {constant(java, node.branches[value[0]], value[1], where)})"
        wanted = ArrayType if isinstance(value, list) else (RecordType, MapType)
        node = next(branch for branch in node.branches if isinstance(branch, wanted))
    if isinstance(node, ArrayType):
        items = ", ".join(constant(java, node.items, item, where) for item in value)
        return f"new Items(new Object[] {{{items}}})"
    if isinstance(node, MapType):
        keys = ", ".join(_spelt(java, node, key, where) for key in value)
        values = ", ".join(constant(java, node.values, item, where) for item in value.values())
        return f"new Entries(new Texts[] {{{keys}}}, new Object[] {{{values}}})"
    if isinstance(node, RecordType):
        parts = ", ".join(constant(java, member.type, value[member.name], where) for member in node.fields)
        return f"new Object[] {{{parts}}}"
    raise EngineCannot(ENGINE, field=where, why=f"a constant of {node.kind}")


# Scalar operations on values that are Java objects: those of the engine, and those that only some languages need.
#
# Numbers that may have more than 64 bits, and nanoseconds, stay objects: a value of the kind ``object``.

OBJECT: Final = "object"
_NANOS: Final = frozenset({"timestamp-nanos", "duration-nanos"})
_MICROS: Final = Scalar("timestamp-micros", "long")
_DOUBLE: Final = Scalar("double", "double")
_UNBOXED: Final = {
    **dict.fromkeys(("int", "long"), ("whole", "((Long) {0}).longValue()")),
    **dict.fromkeys(("float", "double"), ("real", "((Double) {0}).doubleValue()")),
    "boolean": ("boolean", "((Boolean) {0}).booleanValue()"),
}


def is_object(scalar: Scalar) -> bool:
    """Return whether values of a type may have more than 64 bits."""
    return scalar.base in {"uint64", "number"} or scalar.word in _NANOS


class MessageOperations(Operations):
    """Turns scalar operations on objects into Java; the scopes are of the class ``JavaPlace``."""

    def unboxed(self, place: JavaPlace) -> JavaValue:
        """Return the value of a variable."""
        name, null_when = place.name, f"{place.name} == null" if place.may_be_null else None
        if not isinstance(place.node, Leaf):
            raise EngineCannot(ENGINE, field="", why=f"{place.node.kind} inside another operation")
        scalar = place.node.scalar
        if is_object(scalar):
            return JavaValue(OBJECT, name, null_when=null_when)
        if scalar.base in {"bytes", "fixed"}:
            data = f"((byte[]) {name})"
            return JavaValue("bytes", data=data, start="0", end=f"{data}.length", null_when=null_when)
        if scalar.base in {"string", "enum"}:
            text = f"((Texts) {name})"
            return JavaValue("bytes", data=f"{text}.data", start=f"{text}.from", end=f"{text}.to", null_when=null_when)
        kind, spelt = _UNBOXED[scalar.base]
        return JavaValue(kind, spelt.format(name), null_when=null_when)

    def _found(self, op: Read, scope: Slot, _where: str) -> JavaValue:
        lines, place = cast("JavaPlace", scope).find(op.path, self.java)
        return replace(self.unboxed(place), declared=tuple(lines))

    def _widened(self, op: Widen, scope: Slot, where: str) -> JavaValue:
        value = self.scalar(op.of, scope, where)
        if is_object(op.source) and not is_object(op.target):
            if op.target.base != "double":
                raise EngineCannot(ENGINE, field=where, why=f"{op.source} as {op.target}, which may be too small")
            return self._computed(value, "double", "real", f"Wholes.toDouble({value.value}, {quoted(where)})")
        if op.target.base == "double" and value.kind == "whole":
            return replace(value, kind="real", value=f"(double) {value.value}")
        return value

    # -- casts

    def _casted(self, op: Cast, scope: Slot, where: str) -> JavaValue:
        if form_function(op.source, op.target) is not None:
            return self._form(op, scope, where)
        if op.target.is_wide and is_instant(op.source):
            return self._wide(self.scalar(op.of, scope, where), op.source, op.target, where)
        if is_object(op.source):
            return self._of_object(op, self.scalar(op.of, scope, where), where)
        if op.target.word in {"uint32", "uint64"}:
            return self._unsigned(op, self.scalar(op.of, scope, where), where)
        if op.target.base != "number":
            return self._cast(op, scope, where)
        made = self._cast(replace(op, target=_DOUBLE), scope, where)
        if op.source.base not in {"float", "double"}:
            return made
        return self._computed(made, "double", "real", f"Wholes.finite({made.value}, {quoted(where)})")

    def _of_object(self, op: Cast, value: JavaValue, where: str) -> JavaValue:
        """Return a number of any size, or nanoseconds, as another type."""
        target, field = op.target, quoted(where)
        if is_instant(op.source) and is_instant(target):
            up, down = ticks_per_second(target), ticks_per_second(op.source)
            call = f"Wholes.rescaled({value.value}, {up}L, {down}L, {quoted(str(target))}, {field})"
            return self._computed(value, "long", "whole", call)
        if target.base in {"int", "long", "uint64"}:
            return self._whole_of_object(value, target, where)
        if target.base in {"float", "double"}:
            call = "toFloat" if target.base == "float" else "toDouble"
            return self._computed(value, "double", "real", f"Wholes.{call}({value.value}, {field})")
        if target.base == "string":
            decimals = op.decimals or 0 if op.source.base == "number" else 0
            return self._made_text(value, lambda name: f"Wholes.text({name}, {value.value}, {decimals}, {field})")
        if target.word == "decimal":
            return self._decimal(value, op, where)
        raise EngineCannot(ENGINE, field=where, why=f"{op.source} as {target}")

    def _exact(self, value: JavaValue, source: Scalar, where: str) -> str:
        if value.kind == OBJECT:
            return f"Wholes.decimal({value.value}, {quoted(where)})"
        return super()._exact(value, source, where)

    def _wide(self, value: JavaValue, source: Scalar, target: Scalar, where: str) -> JavaValue:
        """Return a point in time as nanoseconds of more than 64 bits."""
        up = ticks_per_second(target) // ticks_per_second(source)
        return self._object(value, f"Wholes.wide({value.value}, {up}L, {quoted(str(target))}, {quoted(where)})")

    def _whole_of_object(self, value: JavaValue, target: Scalar, where: str) -> JavaValue:
        low, high = range_of(target)
        is_signed = low < 0
        bits = high.bit_length() + int(is_signed)
        rest = f"{bits}, {'true' if is_signed else 'false'}, {quoted(str(target))}, {quoted(where)}"
        call = f"Wholes.toWhole({value.value}, {rest})"
        return self._object(value, call) if target.base == "uint64" else self._long(value, call)

    def _unsigned(self, op: Cast, value: JavaValue, where: str) -> JavaValue:
        """Return a number or a text as a number without a sign."""
        target = op.target
        if value.kind == "bytes":
            bits = range_of(target)[1].bit_length()
            call = f"Wholes.wholeOfText({value.span}, {bits}, {quoted(str(target))}, {quoted(where)})"
            return self._object(value, call) if target.base == "uint64" else self._long(value, call)
        box = {"whole": "Long", "real": "Double"}.get(value.kind)
        if box is None:
            raise EngineCannot(ENGINE, field=where, why=f"{op.source} as {target}")
        return self._whole_of_object(replace(value, value=f"{box}.valueOf({value.value})"), target, where)

    def _long(self, value: JavaValue, call: str) -> JavaValue:
        return self._computed(value, "long", "whole", f"((Long) {call}).longValue()")

    def _object(self, value: JavaValue, call: str) -> JavaValue:
        name = self.java.fresh("t")
        return value.then([f"{name} = {call};"], (f"Object {name} = null;",), kind=OBJECT, value=name)

    # -- forms

    def _form(self, op: Cast, scope: Slot, where: str) -> JavaValue:
        source, target, field = op.source, op.target, quoted(where)
        value = self.scalar(op.of, scope, where)
        if source.word == "date-time":
            call = f"Forms.instant({value.span}, {ticks_per_second(target)}L, {field})"
            return self._object(value, call) if is_object(target) else self._long(value, call)
        if source.word == "full-date":
            return self._computed(value, "long", "whole", f"Forms.dayOfText({value.span}, {field})")
        if source.word == "base64":
            return self._made_text(value, lambda name: f"Forms.ofBase64({name}, {value.span}, {field})")
        if source.base == "string":
            return self._checked_form(value, target, field)
        if target.word == "date-time":
            ticks = value.value if value.kind == OBJECT else f"Long.valueOf({value.value})"
            rest = f"{ticks_per_second(source)}L, {field}"
            return self._made_text(value, lambda name: f"Forms.dateTime({name}, {ticks}, {rest})")
        if target.word == "full-date":
            return self._made_text(value, lambda name: f"Forms.fullDate({name}, {value.value}, {field})")
        return self._made_text(value, lambda name: f"Forms.base64({name}, {value.span})")

    def _checked_form(self, value: JavaValue, target: Scalar, field: str) -> JavaValue:
        """Return a text that must have a form."""
        check = {
            "date-time": f"Forms.instant({value.span}, 1000000000L, {field});",
            "full-date": f"Forms.dayOfText({value.span}, {field});",
            "base64": f"Forms.ofBase64({self._texts()}, {value.span}, {field});",
        }
        return value.then([check[target.word]])

    # -- dates and formulas

    def _formatted(self, op: Format, scope: Slot, where: str) -> JavaValue:
        value = self.scalar(op.of, scope, where)
        source = _MICROS if value.kind == OBJECT else op.source
        ticks = f"Wholes.micros({value.value})" if value.kind == OBJECT else value.value
        instants = self._instants(op, source)
        return self._made_text(value, lambda name: f"{instants}.format({name}, {ticks}, {quoted(where)})")

    def _parsed(self, op: Parse, scope: Slot, where: str) -> JavaValue:
        if not op.target.is_wide:
            return self._parse(op, scope, where)
        return self._wide(self._parse(replace(op, target=_MICROS), scope, where), _MICROS, op.target, where)

    def _computed_formula(self, op: Arithmetic, scope: Slot, where: str) -> JavaValue:
        objects: set[tuple[str, ...]] = set()

        def read(path: tuple[str, ...]) -> JavaValue:
            value = self.scalar(Read(path), scope, where)
            if value.kind != OBJECT:
                return value
            objects.add(path)
            spelt = f"Wholes.operand({value.value}, {quoted('.'.join(path))}, {quoted(where)})"
            return replace(value, kind="real", value=spelt)

        found = formula(op, read, self.java, where)
        if _keeps_whole(op.expression, objects):
            raise EngineCannot(ENGINE, field=where, why="a formula whose result may be a whole number of any size")
        return JavaValue(
            "whole" if op.result == "long" else "real",
            found.value,
            null_when=found.null_when,
            declared=found.declared,
            lines=found.lines,
        )

    _operations: ClassVar[dict[type, Callable[..., JavaValue]]] = {
        **Operations._operations,  # noqa: SLF001 - the table that this class extends
        Read: _found,
        Widen: _widened,
        Cast: _casted,
        Format: _formatted,
        Parse: _parsed,
        Arithmetic: _computed_formula,
    }


def _keeps_whole(expression: Expression, objects: set[tuple[str, ...]]) -> bool:
    """Return whether the result of a formula is a whole number where a field of any size is one."""
    if isinstance(expression, FieldValue):
        return expression.path in objects
    if isinstance(expression, Binary):
        return any(
            not isinstance(each, FieldValue) and _keeps_whole(each, objects)
            for each in (expression.left, expression.right)
        )
    if isinstance(expression, Call) and expression.function != "abs":
        return not isinstance(expression.of, FieldValue) and _keeps_whole(expression.of, objects)
    return isinstance(expression, (Negate, Call)) and _keeps_whole(expression.of, objects)
