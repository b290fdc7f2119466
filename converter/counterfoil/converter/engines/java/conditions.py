"""Generating choices, comparisons and functions of texts: only what matters is computed, and null goes through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from counterfoil.converter.engines.java.letters import letter_table
from counterfoil.converter.engines.java.operations import JavaValue, Operations
from counterfoil.converter.engines.java.source import Slot, block, indented, quoted
from counterfoil.schema.plans.model import Choose, Compare, Constant, FirstSet, IsNull, Logic, Not, Op, TextCall

OBJECT: Final = "object"
"""The kind of values that are Java objects: whole numbers of any size."""
_NULL: Final = JavaValue("whole", "0L", null_when="true")
_STARTS: Final = {"boolean": "boolean {0} = false;", "whole": "long {0} = 0L;", "real": "double {0} = 0.0;"}
_RANK: Final = ("boolean", "whole", "real", "bytes", OBJECT)
_BOXES: Final = {"whole": "Long.valueOf({0})", "real": "Double.valueOf({0})", OBJECT: "{0}"}


@dataclass(frozen=True)
class _Holder:
    """Variables for a value that is one of several; ``is_null`` is the variable that says whether it is null."""

    value: JavaValue
    is_null: str

    def filled(self, given: JavaValue) -> list[str]:
        """Return the statements that compute a value and keep it."""
        null = f"{self.is_null} = true;"
        if given.null_when == "true":
            return [*given.lines, null]
        kept = self._kept(given)
        if given.null_when is None:
            return [*given.lines, *kept]
        return [*given.lines, *_either(given.null_when, [null], kept)]

    def _kept(self, given: JavaValue) -> list[str]:
        mine = self.value
        if mine.kind == "bytes":
            return [f"{mine.data} = {given.data};", f"{mine.start} = {given.start};", f"{mine.end} = {given.end};"]
        spelt = given.value
        if mine.kind == "real" and given.kind == "whole":
            spelt = f"(double) {spelt}"
        elif mine.kind == OBJECT:
            spelt = _BOXES[given.kind].format(spelt)
        return [f"{mine.value} = {spelt};"]


def _either(condition: str, lines: Sequence[str], others: Sequence[str]) -> list[str]:
    return [*block(f"if ({condition})", lines)[:-1], "} else {", *indented(others), "}"]


class ConditionOperations(Operations):
    """Turns formulas that are more than arithmetic into Java."""

    def _part(self, op: Op, scope: Slot, where: str) -> JavaValue:
        if isinstance(op, Constant) and op.value is None:
            return _NULL
        return self.text_of(self.scalar(op, scope, where))

    def _holder(self, parts: Sequence[JavaValue], others: Sequence[JavaValue] = ()) -> _Holder:
        """Return variables for one of several values; ``others`` are computed before."""
        kinds = [part.kind for part in parts if part.null_when != "true"] or ["whole"]
        kind, name = max(kinds, key=_RANK.index), self.java.fresh("t")
        start = _STARTS.get(kind, "Object {0} = null;").format(name)
        if kind == "bytes":
            start = f"byte[] {name} = Texts.EMPTY; int {name}a = 0; int {name}z = 0;"
        declared = [line for part in (*others, *parts) for line in part.declared]
        value = JavaValue(
            kind, name, data=name, start=f"{name}a", end=f"{name}z", null_when=f"{name}x",
            declared=(*declared, f"{start} boolean {name}x = false;"),
        )  # fmt: skip
        return _Holder(value, f"{name}x")

    def _choose(self, op: Choose, scope: Slot, where: str) -> JavaValue:
        condition = self.scalar(op.condition, scope, where)
        then, otherwise = self._part(op.then, scope, where), self._part(op.otherwise, scope, where)
        holder = self._holder([then, otherwise], [condition])
        lines = _either(condition.value, holder.filled(then), holder.filled(otherwise))
        return self._finished(holder, condition, lines)

    def _finished(self, holder: _Holder, first: JavaValue, lines: Sequence[str]) -> JavaValue:
        """Return a value whose statements run where the first value is not null."""
        if first.null_when is not None:
            lines = _either(first.null_when, [f"{holder.is_null} = true;"], lines)
        return replace(holder.value, lines=(*first.lines, *lines))

    def _logic(self, op: Logic, scope: Slot, where: str) -> JavaValue:
        left, right = self.scalar(op.left, scope, where), self.scalar(op.right, scope, where)
        holder = self._holder([right], [left])
        ends = left.value if op.word == "or" else f"!({left.value})"
        result = "true" if op.word == "or" else "false"
        lines = _either(ends, [f"{holder.value.value} = {result};"], holder.filled(right))
        return self._finished(holder, left, lines)

    def _not(self, op: Not, scope: Slot, where: str) -> JavaValue:
        value = self.scalar(op.of, scope, where)
        return replace(value, value=f"(!({value.value}))")

    def _is_null(self, op: IsNull, scope: Slot, where: str) -> JavaValue:
        value = self._part(op.of, scope, where)
        condition = f"({value.null_when})" if value.null_when else "false"
        return JavaValue("boolean", condition, declared=value.declared, lines=value.lines)

    def _first_set(self, op: FirstSet, scope: Slot, where: str) -> JavaValue:
        parts = [self._part(part, scope, where) for part in op.parts]
        holder = self._holder(parts)
        lines = holder.filled(parts[0])
        for part in parts[1:]:
            lines += block(f"if ({holder.is_null})", [f"{holder.is_null} = false;", *holder.filled(part)])
        return replace(holder.value, lines=tuple(lines))

    def _compare(self, op: Compare, scope: Slot, where: str) -> JavaValue:
        left, right = self._part(op.left, scope, where), self._part(op.right, scope, where)
        spelt = self._compared(op, left, right)
        made = JavaValue("boolean", spelt, null_when=right.null_when, declared=right.declared, lines=right.lines)
        holder = self._holder([made], [left])
        return self._finished(holder, left, holder.filled(made))

    def _compared(self, op: Compare, left: JavaValue, right: JavaValue) -> str:
        """Return the expression that compares two values."""
        sign = {"=": "=="}.get(op.sign, op.sign)
        if op.kind == "text":
            return f"TextCalls.compare({left.span}, {right.span}) {sign} 0"
        if OBJECT in {left.kind, right.kind}:
            one, other = (f"Values.big({_BOXES[side.kind].format(side.value)})" for side in (left, right))
            return f"{one}.compareTo({other}) {sign} 0"
        return f"{left.value} {sign} {right.value}"

    # -- functions of texts

    def _text_call(self, op: TextCall, scope: Slot, where: str) -> JavaValue:
        value = self._part(op.of, scope, where)
        if op.function == "length":
            return self._computed(value, "long", "whole", f"TextCalls.length({value.span})")
        return self._made_text(value, lambda name: self._text_calls[op.function](self, op, name, value.span, where))

    def _bytes(self, argument: str | int) -> str:
        return self.java.data(str(argument).encode())

    def _cased(self, op: TextCall, name: str, span: str, where: str) -> str:
        table = letter_table(is_upper=op.function == "upper")
        parts = [
            self.java.integers(table.points), self.java.several(table.made), self.java.integers(table.cased),
            self.java.integers(table.ignored), "true" if op.function == "upper" else "false",
        ]  # fmt: skip
        letters = self.java.constant("Letters", f"new Letters({', '.join(parts)})")
        return f"{letters}.turn({name}, {span}, {quoted(where)})"

    def _trim(self, _op: TextCall, name: str, span: str, _where: str) -> str:
        return f"TextCalls.trim({name}, {span})"

    def _replace(self, op: TextCall, name: str, span: str, where: str) -> str:
        old, new = map(self._bytes, op.arguments)
        return f"TextCalls.replace({name}, {span}, {old}, {new}, {quoted(where)})"

    def _substring(self, op: TextCall, name: str, span: str, _where: str) -> str:
        start, length = (*op.arguments, -1)[:2]
        return f"TextCalls.substring({name}, {span}, {start}L, {length}L)"

    def _pad(self, op: TextCall, name: str, span: str, _where: str) -> str:
        is_left = "true" if op.function == "pad_left" else "false"
        return f"TextCalls.pad({name}, {span}, {op.arguments[0]}L, {self._bytes(op.arguments[1])}, {is_left})"

    def _mask(self, op: TextCall, name: str, span: str, _where: str) -> str:
        return f"TextCalls.mask({name}, {span}, {op.arguments[0]}L)"

    def _hash(self, op: TextCall, name: str, span: str, _where: str) -> str:
        secret, mac = quoted(str(op.arguments[0])), self.java.fresh("t")
        self.java.member(f"javax.crypto.Mac {mac}")
        return f"if ({mac} == null) {mac} = mac({secret}); TextCalls.hash({name}, {span}, {mac})"

    _text_calls: ClassVar[dict[str, Callable[..., str]]] = {
        "lower": _cased,
        "upper": _cased,
        "trim": _trim,
        "replace": _replace,
        "substring": _substring,
        "pad_left": _pad,
        "pad_right": _pad,
        "mask": _mask,
        "hash": _hash,
    }

    _operations: ClassVar[dict[type, Callable[..., JavaValue]]] = {
        **Operations._operations,  # noqa: SLF001 - the table that this class extends
        Choose: _choose,
        Logic: _logic,
        Not: _not,
        IsNull: _is_null,
        FirstSet: _first_set,
        Compare: _compare,
        TextCall: _text_call,
    }
