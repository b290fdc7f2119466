"""Evaluating formulas: longs that do not overflow silently, doubles that are never NaN or infinite."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.schema.evolution.errors import ConversionError, FailureCode
from counterfoil.schema.evolution.expr import Binary, FieldValue, Negate, Number, paths_of, result_of
from counterfoil.schema.evolution.field_paths import spell
from counterfoil.schema.evolution.numbers import LONG_RANGE

if TYPE_CHECKING:
    from counterfoil.schema.evolution.expr import Expression
    from counterfoil.schema.evolution.model import Arithmetic

Path: TypeAlias = tuple[str, ...]
Step: TypeAlias = Callable[[Any], Any]
Numbers: TypeAlias = dict[Path, "int | float"]


class _Failed(Exception):
    """An operation without a result: the code and the sentence."""

    def __init__(self, code: FailureCode, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def compile_expression(op: Arithmetic, field: str, reader: Callable[[Path], Step]) -> Step:
    """Return the function that computes the formula's number from a scope; its result is None when a field is null."""
    integers = set(op.integers)
    paths = list(dict.fromkeys(paths_of(op.expression)))
    readers = [(path, reader(path), path in integers) for path in paths]
    kind_by_path = {path: "long" if path in integers else "double" for path in paths}
    run = _compile(op.expression, kind_by_path)

    def step(scope: Any) -> Any:
        numbers: Numbers = {}
        is_null = False
        try:
            for path, read, is_long in readers:
                value = read(scope)
                if value is None:
                    is_null = True
                elif not is_null:
                    numbers[path] = value if is_long else _finite_field(value, path)
            return None if is_null else run(numbers)
        except _Failed as failed:
            raise ConversionError(failed.code, field, failed.text) from None

    return step


def _finite_field(value: float, path: Path) -> float:
    try:
        is_finite = math.isfinite(value)
    except OverflowError:  # a whole number of JSON has any size
        raise _Failed(FailureCode.OVERFLOW, f"{spell(path)} is beyond a double") from None
    if not is_finite:
        raise _Failed(FailureCode.NOT_A_NUMBER, f"{spell(path)} is {value}, which is no number to reckon with")
    return value


def _compile(expression: Expression, kind_by_path: dict[Path, str]) -> Callable[[Numbers], Any]:
    if isinstance(expression, Number):
        number = expression.value
        return lambda _numbers: number
    if isinstance(expression, FieldValue):
        path = expression.path
        return lambda numbers: numbers[path]
    is_long = result_of(expression, kind_by_path) == "long"
    if isinstance(expression, Binary):
        left, right = _compile(expression.left, kind_by_path), _compile(expression.right, kind_by_path)
        reckon = (_LONG if is_long else _DOUBLE)[expression.sign]
        return lambda numbers: reckon(left(numbers), right(numbers))
    inner = _compile(expression.of, kind_by_path)
    turn = _negated if isinstance(expression, Negate) else _FUNCTIONS[expression.function]
    return lambda numbers: turn(inner(numbers))


def _whole(value: int) -> int:
    if not LONG_RANGE[0] <= value <= LONG_RANGE[1]:
        raise _Failed(FailureCode.OVERFLOW, f"{value} is beyond 64 bits")
    return value


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise _Failed(FailureCode.OVERFLOW, "the result is beyond a double")
    return value


def _divided(left: float, right: float) -> float:
    if right == 0:
        raise _Failed(FailureCode.DIVISION_BY_ZERO, f"{left} divided by zero")
    return _finite(float(left) / float(right))


def _negated(value: Any) -> Any:
    return _whole(-value) if isinstance(value, int) else -value


def _absolute(value: Any) -> Any:
    return _whole(abs(value)) if isinstance(value, int) else abs(value)


_LONG: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": lambda left, right: _whole(left + right),
    "-": lambda left, right: _whole(left - right),
    "*": lambda left, right: _whole(left * right),
}
_DOUBLE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": lambda left, right: _finite(float(left) + float(right)),
    "-": lambda left, right: _finite(float(left) - float(right)),
    "*": lambda left, right: _finite(float(left) * float(right)),
    "/": _divided,
}
_FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "round": lambda value: float(round(value)),
    "floor": lambda value: float(math.floor(value)),
    "ceil": lambda value: float(math.ceil(value)),
    "abs": _absolute,
}
