"""Formulas as Spark SQL: null whenever the reference evaluator raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.converter.engines.sql.text import number
from counterfoil.schema.evolution.expr import Binary, Call, FieldValue, Negate, Number, paths_of, result_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.evolution.expr import Expression
    from counterfoil.schema.evolution.model import Arithmetic

_TRY_BY_SIGN = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide"}
_EXACT_WHOLE = "4503599627370496D"  # 2 to the 52nd: every larger double is whole


def arithmetic_sql(op: Arithmetic, read: Callable[[tuple[str, ...]], str]) -> str:
    """Return the formula; ``read`` returns the expression of the field at a path."""
    integers = set(op.integers)
    kinds = {path: "long" if path in integers else "double" for path in paths_of(op.expression)}
    value = _Writer(kinds, read).write(op.expression)
    return _finite(value) if op.result == "double" else value


class _Writer:
    """Writes one formula; ``kinds`` distinguishes longs from doubles.

    NaN and the infinities pass through every operation to the result, where they become null; only dividing by an
    infinity, and comparing with one, would hide it.
    """

    def __init__(self, kinds: dict[tuple[str, ...], str], read: Callable[[tuple[str, ...]], str]) -> None:
        self._kinds = kinds
        self._read = read

    def write(self, expression: Expression) -> str:
        """Return a bigint or a double; null for an error."""
        if isinstance(expression, Number):
            return number(expression.value, "bigint" if isinstance(expression.value, int) else "double")
        if isinstance(expression, FieldValue):
            kind = self._kinds[expression.path]
            return f"cast({self._read(expression.path)} AS {'bigint' if kind == 'long' else 'double'})"
        if isinstance(expression, Binary):
            return self._binary(expression)
        inner = self.write(expression.of)
        is_long = result_of(expression.of, self._kinds) == "long"
        if isinstance(expression, Negate):
            return f"try_subtract({number(0, 'bigint')}, {inner})" if is_long else f"(-({inner}))"
        return self._call(expression, inner, is_long=is_long)

    def _binary(self, expression: Binary) -> str:
        left, right = self.write(expression.left), self.write(expression.right)
        if result_of(expression, self._kinds) == "long":
            return f"{_TRY_BY_SIGN[expression.sign]}({left}, {right})"
        dividend, divisor = f"cast({left} AS double)", f"cast({right} AS double)"
        if expression.sign != "/":
            return f"({dividend} {expression.sign} {divisor})"
        if isinstance(expression.right, Number) and expression.right.value:
            return f"({dividend} / {divisor})"
        return f"try_divide({dividend}, {_finite(divisor)})"

    def _call(self, expression: Call, inner: str, *, is_long: bool) -> str:
        if expression.function == "abs" and is_long:
            return f"CASE WHEN {inner} >= 0 THEN {inner} ELSE try_subtract({number(0, 'bigint')}, {inner}) END"
        if expression.function == "abs":
            return f"abs({inner})"
        value = f"cast({inner} AS double)"
        if expression.function == "round":
            return f"(rint({value}) + 0.0D)"
        made = f"cast({expression.function}({value}) AS double)"
        return f"CASE WHEN abs({value}) < {_EXACT_WHOLE} THEN {made} ELSE {value} END"


def _finite(value: str) -> str:
    """Return the double, or null for NaN and the infinities."""
    return f"CASE WHEN abs({value}) < cast('Infinity' AS double) THEN {value} END"
