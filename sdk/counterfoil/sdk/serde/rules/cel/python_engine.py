"""CEL in Python: the package cel-python with counted steps and the comparisons of the language's current definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import celpy
from celpy import celtypes
from celpy.evaluation import Activation, CELEvalError, Evaluator, base_functions

from counterfoil.schema.datum import Datum
from counterfoil.sdk.serde.rules.cel.direct import NotDirect, compile_direct

if TYPE_CHECKING:
    import lark


# The evaluation of comprehensions by cel-python with counted steps.
#
# A comprehension evaluates its expression once for each value, and comprehensions inside each other do so for each
# combination of values: a short rule about a short list would not end. Expressions without comprehensions take time in
# proportion to their text and their values, and are not counted.

MOST_STEPS: Final = 200_000
"""The steps of one evaluation, beside those of one look at each value: about three seconds."""

_CHARACTERS_A_STEP: Final = 100
_TEXTS: Final = (str, bytes)
_SIZED: Final = (*_TEXTS, list, dict)
_MACROS: Final = frozenset({"map", "filter", "all", "exists", "exists_one", "reduce"})


class CelOutOfSteps(Exception):
    """An evaluation that has no steps left; its text names the limit."""


class CelSteps:
    """The steps of one evaluation: one for each part of an expression that a comprehension evaluates for a value.

    When ``limit`` steps are spent, as many are added as the whole expression, of ``size`` parts, takes once for each of
    the values in ``variables``, so that a comprehension about a long list ends whatever its length. ``sizes`` are those
    of the parts that are known, by their identity, for all evaluations.
    """

    def __init__(self, limit: int, size: int, variables: Mapping[str, object], sizes: dict[int, int]) -> None:
        self._left = self._limit = limit
        self._size = size
        self._variables: Mapping[str, Datum] | None = variables
        self._size_by_tree = sizes

    def spend(self, steps: int) -> None:
        """Count steps; raise ``CelOutOfSteps`` if none are left."""
        self._left -= steps
        if self._left >= 0:
            return
        if self._variables is not None:
            further = self._size * sum(map(_values_in, self._variables.values()))
            self._variables = None
            self._limit += further
            self._left += further
        if self._left < 0:
            raise CelOutOfSteps(f"it takes more than {self._limit:,} steps, the limit of an evaluation")

    def size_of(self, tree: lark.Tree[object]) -> int:
        """Return the number of parts of an expression."""
        known = self._size_by_tree.get(id(tree))
        if known is None:
            known = self._size_by_tree[id(tree)] = size_of(tree)
        return known


def size_of(tree: lark.Tree[object]) -> int:
    """Return the number of parts of an expression."""
    return sum(1 for _ in tree.iter_subtrees())


def has_comprehensions(tree: lark.Tree[object]) -> bool:
    """Return whether an expression has a comprehension."""
    return any(str(each.children[1]) in _MACROS for each in tree.find_data("member_dot_arg"))


def counting(operate: Callable[[Datum, Datum], Datum], steps: CelSteps) -> Callable[[Datum, Datum], Datum]:
    """Return an operator that spends a step for each part of its operands."""

    def operated(left: object, right: object) -> Datum:
        for operand in (left, right):
            if isinstance(operand, _SIZED):
                size = len(operand)
                steps.spend(size // _CHARACTERS_A_STEP if isinstance(operand, _TEXTS) else size)
        return operate(left, right)

    return operated


class CountedEvaluator(Evaluator):
    """An evaluator whose comprehensions spend the steps of one evaluation."""

    def __init__(self, ast: lark.Tree[object], activation: Activation, steps: CelSteps, size: int = 0) -> None:
        super().__init__(ast, activation)
        self._steps = steps
        self._parts = size

    def sub_evaluator(self, ast: lark.Tree[object]) -> CountedEvaluator:
        """Return the evaluator of an expression that a comprehension evaluates for each value."""
        return CountedEvaluator(ast, self.activation, self._steps, self._steps.size_of(ast))

    def evaluate(self, context: Any = None) -> Datum:
        """Return the value of the expression, after counting its parts."""
        self._steps.spend(self._parts)
        return super().evaluate(context)


def _values_in(value: object) -> int:
    count, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        count += 1
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return count


# CEL in Python: the package cel-python, with the comparisons of the language's current definition.
#
# Simple expressions are evaluated without it, see ``direct.py``.
#
# Values of different types may be compared there: numbers by value, others are unequal. cel-python refuses that.

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
