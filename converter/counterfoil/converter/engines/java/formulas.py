"""Generating formulas: longs that do not overflow silently, doubles that are never NaN or infinite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.java.source import block, quoted, real
from counterfoil.schema.evolution.expr import Binary, FieldValue, Negate, Number, paths_of, result_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.converter.engines.java.operations import Value
    from counterfoil.converter.engines.java.source import JavaClass
    from counterfoil.schema.evolution.expr import Call, Expression
    from counterfoil.schema.evolution.model import Arithmetic

_LONG_BY_SIGN: Final = {"+": "added", "-": "subtracted", "*": "multiplied"}
_ROUNDING: Final = {"round": "rint", "floor": "floor", "ceil": "ceil"}

Path = tuple[str, ...]


@dataclass(frozen=True)
class Formula:
    """The result of a formula as an expression, after its statements."""

    value: str
    null_when: str | None
    declared: tuple[str, ...]
    lines: tuple[str, ...]


def formula(op: Arithmetic, read: Callable[[Path], Value], java: JavaClass, where: str) -> Formula:
    """Return a formula in Java; ``read`` returns the value of a field.

    A field that is null makes the result null, and the fields behind it are not looked at.
    """
    paths = list(dict.fromkeys(paths_of(op.expression)))
    kinds = {path: "long" if path in op.integers else "double" for path in paths}
    values = {path: read(path) for path in paths}
    nulls = [value.null_when for value in values.values() if value.null_when]
    is_null = java.fresh("t") if nulls else None
    lines: list[str] = []
    for path, value in values.items():
        check = [] if value.kind == "whole" else [_operand(value, path, where)]
        if value.null_when:
            lines.append(f"if ({value.null_when}) {is_null} = true;")
        if check:
            lines += block(f"if (!{is_null})", check) if is_null else check
    result = java.fresh("t")
    computed = f"{result} = {_Writer(kinds, values, where).write(op.expression)};"
    lines += block(f"if (!{is_null})", [computed]) if is_null else [computed]
    java_type, start = ("long", "0L") if op.result == "long" else ("double", "0.0")
    declared = [line for value in values.values() for line in value.declared]
    declared += [f"boolean {is_null} = false;"] if is_null else []
    return Formula(result, is_null, (*declared, f"{java_type} {result} = {start};"), tuple(lines))


def _operand(value: Value, path: Path, where: str) -> str:
    return f"Numbers.operand({value.value}, {quoted('.'.join(path))}, {quoted(where)});"


class _Writer:
    """Writes one formula as nested calls, which Java evaluates from left to right."""

    def __init__(self, kinds: dict[Path, str], values: dict[Path, Value], where: str) -> None:
        self._kinds = kinds
        self._values = values
        self._where = quoted(where)

    def write(self, expression: Expression) -> str:
        """Return a long or double expression."""
        if isinstance(expression, Number):
            return f"{expression.value}L" if isinstance(expression.value, int) else real(expression.value)
        if isinstance(expression, FieldValue):
            return self._values[expression.path].value
        if isinstance(expression, Binary):
            return self._binary(expression)
        inner = self.write(expression.of)
        is_long = result_of(expression.of, self._kinds) == "long"
        if isinstance(expression, Negate):
            return f"Numbers.subtracted(0L, {inner}, {self._where})" if is_long else f"(-({inner}))"
        return self._call(expression, inner, is_long=is_long)

    def _binary(self, expression: Binary) -> str:
        left, right = self.write(expression.left), self.write(expression.right)
        if result_of(expression, self._kinds) == "long":
            return f"Numbers.{_LONG_BY_SIGN[expression.sign]}({left}, {right}, {self._where})"
        left, right = f"(double) {left}", f"(double) {right}"
        if expression.sign == "/":
            return f"Numbers.divided({left}, {right}, {self._where})"
        return f"Numbers.finite({left} {expression.sign} {right}, {self._where})"

    def _call(self, expression: Call, inner: str, *, is_long: bool) -> str:
        if expression.function == "abs":
            return f"Numbers.absolute({inner}, {self._where})" if is_long else f"Math.abs({inner})"
        if is_long:
            return f"((double) {inner})"
        return f"(Math.{_ROUNDING[expression.function]}({inner}) + 0.0)"
