"""CEL in Python: the package cel-python, with the comparisons of the language's current definition.

Simple expressions are evaluated without it, see ``direct.py``.

Values of different types may be compared there: numbers by value, others are unequal. cel-python refuses that.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import celpy
from celpy import celtypes
from celpy.evaluation import Activation, CELEvalError, base_functions

from counterfoil.sdk.serde.rules.cel.counted import (
    MOST_STEPS,
    CelSteps,
    CountedEvaluator,
    counting,
    has_comprehensions,
    size_of,
)
from counterfoil.sdk.serde.rules.cel.direct import NotDirect, compile_direct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.schema.datum import Datum


_NUMBERS: Final = (celtypes.IntType, celtypes.UintType, celtypes.DoubleType, Decimal, int, float)
_ENVIRONMENT: Final = celpy.Environment()


def compile_text(
    text: str, functions: Mapping[str, Callable[..., Datum]], *, most_steps: int = MOST_STEPS
) -> Callable[[dict[str, Datum]], Datum]:
    """Return a function that evaluates the text with variables, plain values in and out.

    An evaluation has ``most_steps`` for its comprehensions, and raises ``CelOutOfSteps`` if it needs more.
    """
    tree = parse(text)
    interpret = interpreter(tree, functions, most_steps=most_steps)
    try:
        direct = compile_direct(tree)
    except NotDirect:
        return interpret

    def run(variables: dict[str, Datum]) -> Datum:
        try:
            return direct(variables)
        except NotDirect:
            return interpret(variables)

    return run


def parse(text: str) -> Datum:
    """Return the tree of an expression."""
    return _ENVIRONMENT.compile(text)


def interpreter(
    tree: Any, functions: Mapping[str, Callable[..., Datum]], *, most_steps: int = MOST_STEPS
) -> Callable[[dict[str, Datum]], Datum]:
    """Return a function that evaluates a tree with cel-python; ``most_steps`` are those of its comprehensions."""
    own = {name: _adapted(function) for name, function in functions.items()}
    if has_comprehensions(tree):
        return _counted(tree, own, most_steps)
    program = _ENVIRONMENT.program(tree, functions={**_OPERATORS, **own})

    def interpret(variables: dict[str, Datum]) -> Datum:
        result = program.evaluate({name: to_cel(value) for name, value in variables.items()})
        if isinstance(result, CELEvalError):
            raise result
        return to_plain(result)

    return interpret


def _counted(
    tree: Any, own: Mapping[str, Callable[..., Datum]], most_steps: int
) -> Callable[[dict[str, Datum]], Datum]:
    size = size_of(tree)
    sizes: dict[int, int] = {}

    def interpret(variables: dict[str, Datum]) -> Datum:
        steps = CelSteps(most_steps, size, variables, sizes)
        counted = {name: counting(_OPERATORS[name], steps) for name in _OF_CONTAINERS}
        activation = Activation(
            package=_ENVIRONMENT.package,
            annotations=_ENVIRONMENT.annotations,
            functions={**_OPERATORS, **counted, **own},
        )
        evaluator = CountedEvaluator(tree, activation, steps)
        return to_plain(evaluator.evaluate({name: to_cel(value) for name, value in variables.items()}))

    return interpret


def to_cel(value: object) -> Datum:
    """Return a plain value as one of cel-python; decimals stay as they are."""
    convert = _CEL_BY_TYPE.get(type(value))
    return value if convert is None else convert(value)


def to_plain(value: object) -> Datum:
    """Return a value of cel-python as a plain one."""
    for kind, convert in _PLAIN_BY_TYPE:
        if isinstance(value, kind):
            return convert(value)
    return value


def _adapted(function: Callable[..., Datum]) -> Callable[..., Datum]:
    def call(*arguments: object) -> Datum:
        try:
            return to_cel(function(*map(to_plain, arguments)))
        except (TypeError, ValueError, ArithmeticError) as error:
            return CELEvalError(str(error), type(error), error.args)

    return call


def _map(value: dict[Datum, Datum]) -> Datum:
    return celtypes.MapType({to_cel(key): to_cel(item) for key, item in value.items()})


_CEL_BY_TYPE: Final[Mapping[type, Callable[[Datum], Datum]]] = {
    bool: celtypes.BoolType,
    int: celtypes.IntType,
    float: celtypes.DoubleType,
    str: celtypes.StringType,
    bytes: celtypes.BytesType,
    datetime: celtypes.TimestampType,
    timedelta: celtypes.DurationType,
    dict: _map,
    list: lambda value: celtypes.ListType([to_cel(item) for item in value]),
}


def _moment(value: Datum) -> datetime:
    return datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, value.tzinfo
    )


_PLAIN_BY_TYPE: Final[tuple[tuple[Datum, Callable[[Datum], Datum]], ...]] = (
    (celtypes.BoolType, bool),
    (celtypes.IntType, int),
    (celtypes.UintType, int),
    (celtypes.DoubleType, float),
    (celtypes.StringType, str),
    (celtypes.BytesType, bytes),
    (celtypes.ListType, lambda value: [to_plain(item) for item in value]),
    (celtypes.MapType, lambda value: {to_plain(key): to_plain(item) for key, item in value.items()}),
    (datetime, _moment),
    (timedelta, lambda value: timedelta(days=value.days, seconds=value.seconds, microseconds=value.microseconds)),
)


def _is_number(value: object) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, (bool, celtypes.BoolType))


def _are_equal(left: object, right: object) -> bool:
    if _is_number(left) and _is_number(right):
        return bool(_comparable(left) == _comparable(right))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_are_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(key in right and _are_equal(left[key], right[key]) for key in left)
    return bool(to_plain(left) == to_plain(right)) if type(left) is type(right) else left is right


def _comparable(value: Datum) -> Datum:
    if isinstance(value, Decimal):
        return value
    return float(value) if isinstance(value, float) else int(value)


def _passing_errors(compare: Callable[[Datum, Datum], Datum]) -> Callable[[Datum, Datum], Datum]:
    """Return an operator that returns the error of an operand."""

    def operate(left: object, right: object) -> Datum:
        for operand in (left, right):
            if isinstance(operand, CELEvalError):
                return operand
        return compare(left, right)

    return operate


def _ordering(name: str, compare: Callable[[Datum, Datum], bool]) -> Callable[[Datum, Datum], Datum]:
    own = base_functions[name]

    def ordered(left: object, right: object) -> Datum:
        if _is_number(left) and _is_number(right):
            return celtypes.BoolType(compare(_comparable(left), _comparable(right)))
        return own(left, right)

    return _passing_errors(ordered)


def _contains(item: Datum, container: Datum) -> Datum:
    return celtypes.BoolType(any(_are_equal(item, each) for each in container))


def _string(value: object) -> Datum:
    if isinstance(value, Decimal):
        return celtypes.StringType(format(value, "f"))
    if isinstance(value, celtypes.DoubleType) and float(value).is_integer():
        return celtypes.StringType(str(int(value)))
    return base_functions["string"](value)


_OPERATORS: Final[dict[str, Datum]] = {
    "_==_": _passing_errors(lambda left, right: celtypes.BoolType(_are_equal(left, right))),
    "_!=_": _passing_errors(lambda left, right: celtypes.BoolType(not _are_equal(left, right))),
    "_<_": _ordering("_<_", lambda left, right: left < right),
    "_<=_": _ordering("_<=_", lambda left, right: left <= right),
    "_>_": _ordering("_>_", lambda left, right: left > right),
    "_>=_": _ordering("_>=_", lambda left, right: left >= right),
    "_in_": _passing_errors(_contains),
    "_+_": _passing_errors(
        lambda left, right: to_cel(base_functions["_+_"](left, right))
    ),  # theirs adds to a plain text
    "string": _string,
    "double": lambda value: celtypes.DoubleType(float(value)),
}

_OF_CONTAINERS: Final = ("_in_", "_==_", "_!=_", "_+_")
"""The operators that take longer for longer operands."""
