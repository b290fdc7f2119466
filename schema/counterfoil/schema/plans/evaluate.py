"""The meaning of a plan: the result for one value, or why there is none; arithmetic without silent overflow."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Final, TypeAlias

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.datum import Datum
from counterfoil.schema.plans import ConversionError, FailureCode, PlanUnfinished, shown
from counterfoil.schema.plans.branches import SHAPE_BY_CLASS, value_of_branch
from counterfoil.schema.plans.casts import CastRefused, cast_function, widen_function
from counterfoil.schema.plans.expressions import (
    Binary,
    Call,
    Expression,
    FieldValue,
    Negate,
    Number,
    paths_of,
    result_of,
)
from counterfoil.schema.plans.formulas import BranchSegment, Path, spell
from counterfoil.schema.plans.levels import current_levels, levels_of_plan
from counterfoil.schema.plans.model import (
    Arithmetic,
    BranchByValue,
    BuildRecord,
    Cast,
    Choose,
    Compare,
    Constant,
    ConversionPlan,
    Define,
    FirstSet,
    Format,
    IsNull,
    Join,
    LeaveOut,
    Logic,
    Lookup,
    MapBranches,
    MapItems,
    MapTagged,
    MapValues,
    Not,
    Op,
    Otherwise,
    Parse,
    Read,
    Recount,
    Repeat,
    ReplaceNull,
    RequireValue,
    Shift,
    Split,
    Tag,
    TextCall,
    Widen,
)
from counterfoil.schema.plans.moments import recounted, shifted
from counterfoil.schema.plans.notation import LONG_RANGE
from counterfoil.schema.plans.operands import leaves_out
from counterfoil.schema.plans.text_forms import format_instant, parse_instant
from counterfoil.schema.plans.text_functions import joined_text, text_function
from counterfoil.schema.plans.tree import base_function, decoded_function
from counterfoil.schema.texts import counted

# Evaluating formulas: longs that do not overflow silently, doubles that are never NaN or infinite.

Step: TypeAlias = Callable[[Datum], Datum]
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

    def step(scope: object) -> Datum:
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


def _compile(expression: Expression, kind_by_path: dict[Path, str]) -> Callable[[Numbers], Datum]:
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
    if not isinstance(expression, Negate | Call):
        raise TypeError(expression)
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


def _negated(value: Datum) -> Datum:
    return _whole(-value) if isinstance(value, int) else -value


def _absolute(value: Datum) -> Datum:
    return _whole(abs(value)) if isinstance(value, int) else abs(value)


_LONG: Final[dict[str, Callable[[Datum, Datum], Datum]]] = {
    "+": lambda left, right: _whole(left + right),
    "-": lambda left, right: _whole(left - right),
    "*": lambda left, right: _whole(left * right),
}
_DOUBLE: Final[dict[str, Callable[[Datum, Datum], Datum]]] = {
    "+": lambda left, right: _finite(float(left) + float(right)),
    "-": lambda left, right: _finite(float(left) - float(right)),
    "*": lambda left, right: _finite(float(left) * float(right)),
    "/": _divided,
}
_FUNCTIONS: Final[dict[str, Callable[[Datum], Datum]]] = {
    "round": lambda value: float(round(value)),
    "floor": lambda value: float(math.floor(value)),
    "ceil": lambda value: float(math.ceil(value)),
    "abs": _absolute,
}


# The meaning of a plan: the result for one value, or the reason why there is none.
#
# Operations are turned into closures once per plan; each takes the scope and returns a base value or None, or raises a
# ``ConversionError`` with its target field.


_CACHE_BYTES: Final = 4 * 1024 * 1024
_BYTES_A_PLAN: Final = 2_000
_BYTES_A_CHARACTER: Final = 20
"""The bytes of a plan and its functions for each character of its two schemas; they hold about this much."""


def evaluate(plan: ConversionPlan, value: object) -> Datum:
    """Convert a source record with ``plan`` and return the target record; or a value without parts.

    ``value`` is a decoded value, with logical types or without. The result holds base values (a timestamp is a
    number, a decimal its bytes), to be encoded with ``base_schema(plan.target)``. Where a value of a union does not
    tell its branch, it is ``(name, value)``, in ``value`` and in the result. Raises ``ConversionError`` with code,
    field and text, and ``PlanUnfinished`` for a plan with problems.
    """
    turn, turn_back = _turns(plan)
    made = evaluator(plan)(value if turn is None else turn(value))
    return made if turn_back is None else turn_back(made)


def evaluator(plan: ConversionPlan) -> Callable[[Datum], Datum]:
    """Return the function that converts a source value to a target value, both base values.

    It is made once per plan.
    """
    if plan.problems:
        raise PlanUnfinished(tuple(str(problem) for problem in plan.problems))
    return _compiled(plan)


def _bytes_of(_: object, plan: ConversionPlan) -> int:
    chars = sum(len(each.text) + each.referenced_chars for each in (plan.source, plan.target))
    return _BYTES_A_PLAN + _BYTES_A_CHARACTER * chars


@cached_by_size(_CACHE_BYTES, size_of=_bytes_of, keeps_large=True)
def _compiled(plan: ConversionPlan) -> Step:
    return compile_op(plan.root, "")


@cached_by_size(_CACHE_BYTES, size_of=_bytes_of, keeps_large=True)
def _turns(plan: ConversionPlan) -> tuple[Step | None, Step | None]:
    return base_function(plan.source), decoded_function(plan.target)


def compile_op(op: Op, field: str) -> Step:
    """Return the function of an operation; ``field`` is the target path in its errors."""
    with levels_of_plan():
        return _COMPILER_BY_OP[type(op)](op, field)


def _read(op: Read, _field: str) -> Step:
    path = op.path
    if not path:
        return lambda scope: scope
    if any(isinstance(name, BranchSegment) for name in path):
        return _read_branches(path)
    if len(path) == 1:
        (name,) = path
        return lambda scope: scope[name]

    def read(scope: Datum) -> Datum:
        for name in path:
            if scope is None:
                return None
            scope = scope[name]
        return scope

    return read


def _read_branches(path: Path) -> Step:
    """Return the function that reads a path through branches: null for a value of another branch."""

    def read(scope: Datum) -> Datum:
        for name in path:
            if scope is None:
                return None
            scope = value_of_branch(name, scope) if isinstance(name, BranchSegment) else scope[name]
        return scope

    return read


def _constant(op: Constant, _field: str) -> Step:
    value = op.value
    return lambda _scope: value


def _through(of: Op, field: str, turn: Callable[[Datum], Datum]) -> Step:
    """Return a function that applies ``turn`` to the value of ``of``, and returns null for null."""
    inner = compile_op(of, field)

    def step(scope: object) -> Datum:
        value = inner(scope)
        return None if value is None else turn(value)

    return step


def _widen(op: Widen, field: str) -> Step:
    return _through(op.of, field, widen_function(op.source, op.target))


def _cast(op: Cast, field: str) -> Step:
    return _through(op.of, field, cast_function(op, field))


def _turned(of: Op, field: str, turn: Callable[[Datum], Datum]) -> Step:
    """Return a function that applies ``turn``, whose refusals are failures of the field."""

    def checked(value: object) -> Datum:
        try:
            return turn(value)
        except CastRefused as refused:
            raise ConversionError(refused.code, field, refused.text) from None

    return _through(of, field, checked)


def _recount(op: Recount, field: str) -> Step:
    return _turned(op.of, field, lambda value: recounted(op, value))


def _shift(op: Shift, field: str) -> Step:
    return _turned(op.of, field, lambda value: shifted(op, value))


def _text_call(op: TextCall, field: str) -> Step:
    return _turned(op.of, field, text_function(op))


def _otherwise(op: Otherwise, field: str) -> Step:
    inner, instead = compile_op(op.of, field), op.value

    def step(scope: object) -> Datum:
        try:
            return inner(scope)
        except ConversionError:
            return instead

    return step


_IS_IN_ORDER: Final[dict[str, Callable[[Datum, Datum], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _compare(op: Compare, field: str) -> Step:
    left, right, is_in_order = compile_op(op.left, field), compile_op(op.right, field), _IS_IN_ORDER[op.sign]

    def step(scope: object) -> Datum:
        one = left(scope)
        if one is None:
            return None
        other = right(scope)
        return None if other is None else is_in_order(one, other)

    return step


def _logic(op: Logic, field: str) -> Step:
    left, right, ends = compile_op(op.left, field), compile_op(op.right, field), op.word == "or"

    def step(scope: object) -> Datum:
        one = left(scope)
        return one if one is None or one is ends else right(scope)

    return step


def _not(op: Not, field: str) -> Step:
    return _through(op.of, field, operator.not_)


def _is_null(op: IsNull, field: str) -> Step:
    inner = compile_op(op.of, field)
    return lambda scope: inner(scope) is None


def _choose(op: Choose, field: str) -> Step:
    condition, then, otherwise = (compile_op(part, field) for part in (op.condition, op.then, op.otherwise))

    def step(scope: object) -> Datum:
        is_true = condition(scope)
        return None if is_true is None else then(scope) if is_true else otherwise(scope)

    return step


def _format(op: Format, field: str) -> Step:
    return _through(op.of, field, lambda value: format_instant(op, value, field))


def _parse(op: Parse, field: str) -> Step:
    return _through(op.of, field, lambda text: parse_instant(op, text, field))


def _lookup(op: Lookup, field: str) -> Step:
    table = dict(op.table)
    inner = compile_op(op.of, field)
    otherwise = compile_op(op.otherwise, field) if op.otherwise is not None else None

    def step(scope: object) -> Datum:
        value = inner(scope)
        if value is None:
            return None
        if value in table:
            return table[value]
        if otherwise is None:
            raise ConversionError(FailureCode.LOOKUP_MISSING, field, f"{shown(value)} is not in the table")
        return otherwise(scope)

    return step


def _replace_null(op: ReplaceNull, field: str) -> Step:
    inner, replacement = compile_op(op.of, field), op.value

    def step(scope: object) -> Datum:
        value = inner(scope)
        return replacement if value is None else value

    return step


def _require_value(op: RequireValue, field: str) -> Step:
    inner = compile_op(op.of, field)

    def step(scope: object) -> Datum:
        value = inner(scope)
        if value is None:
            raise ConversionError(FailureCode.NULL_NOT_ALLOWED, field, "the source is null here")
        return value

    return step


def _split(op: Split, field: str) -> Step:
    separator, take = op.separator, op.take

    def piece(text: str) -> str:
        pieces = text.split(separator)
        if not -len(pieces) <= take < len(pieces):
            problem = f"{shown(text)} has {counted(len(pieces), 'piece')}; piece {take} is not there"
            raise ConversionError(FailureCode.SPLIT_MISSING, field, problem)
        return pieces[take]

    return _through(op.of, field, piece)


def _join(op: Join, field: str) -> Step:
    parts = [compile_op(part, field) for part in op.parts]
    separator = op.separator

    def step(scope: object) -> Datum:
        texts = [part(scope) for part in parts]
        try:
            return None if None in texts else joined_text(texts, separator)
        except CastRefused as refused:
            raise ConversionError(refused.code, field, refused.text) from None

    return step


def _arithmetic(op: Arithmetic, field: str) -> Step:
    operands = dict(op.operands or ())
    return compile_expression(op, field, lambda path: compile_op(operands.get(path) or Read(path), field))


def _build_record(op: BuildRecord, field: str) -> Step:
    prefix = f"{field}." if field else ""
    members = [(name, compile_op(member, f"{prefix}{name}")) for name, member in op.fields]
    guard = compile_op(op.guard, field) if op.guard is not None else None

    def step(scope: object) -> Datum:
        if guard is not None and guard(scope) is None:
            return None
        return {name: member(scope) for name, member in members}

    return step


def _map_items(op: MapItems, field: str) -> Step:
    item = compile_op(op.item, f"{field}[]")
    if not leaves_out(op.item):
        return _through(op.of, field, lambda values: [item(value) for value in values])
    return _through(op.of, field, lambda values: [made for value in values if (made := item(value)) is not _LEFT_OUT])


def _map_values(op: MapValues, field: str) -> Step:
    item = compile_op(op.value, f"{field}{{}}")
    if not leaves_out(op.value):
        return _through(op.of, field, lambda values: {key: item(value) for key, value in values.items()})
    return _through(
        op.of,
        field,
        lambda values: {key: made for key, value in values.items() if (made := item(value)) is not _LEFT_OUT},
    )


_LEFT_OUT: Final = object()
"""The result of ``LeaveOut``, which no value of a field is."""


def _map_branches(op: MapBranches, field: str) -> Step:
    step_by_shape = {shape: compile_op(branch, field) for shape, branch in op.branches}

    def turn(value: object) -> Datum:
        step = step_by_shape.get(SHAPE_BY_CLASS[type(value)])
        if step is None:
            raise ConversionError(FailureCode.UNION_BRANCH_MISSING, field, f"no branch takes {shown(value)}")
        return step(value)

    return _through(op.of, field, turn)


def _map_tagged(op: MapTagged, field: str) -> Step:
    step_by_index = {index: compile_op(branch, field) for index, branch in op.branches}

    def turn(tagged: Datum) -> Datum:
        step = step_by_index.get(tagged[0])
        if step is None:
            raise ConversionError(FailureCode.UNION_BRANCH_MISSING, field, f"no branch takes {shown(tagged[1])}")
        return step(tagged[1])

    return _through(op.of, field, turn)


def _branch_choice(op: BranchByValue, field: str) -> Step:
    key = compile_op(op.of, field)
    steps = {value: None if case is None else compile_op(case, field) for value, case in op.cases}
    otherwise = None if op.otherwise is None else compile_op(op.otherwise, field)

    def step(scope: object) -> Datum:
        found = key(scope)
        chosen = steps[found] if found is not None and found in steps else otherwise
        if chosen is None:
            raise ConversionError(FailureCode.UNION_BRANCH_MISSING, field, f"no branch is for {shown(found)}")
        return chosen(scope)

    return step


def _leave_out(_op: LeaveOut, _field: str) -> Step:
    return lambda _scope: _LEFT_OUT


def _define(op: Define, field: str) -> Step:
    current_levels().step_by_number[op.number] = compile_op(op.value, "")
    return _repeat(Repeat(op.of, op.number), field)


def _repeat(op: Repeat, field: str) -> Step:
    levels = current_levels()
    return _through(op.of, field, lambda value: levels.run(op.number, value, field))


def _tag(op: Tag, field: str) -> Step:
    index = op.index
    return _through(op.of, field, lambda value: (index, value))


def _first_set(op: FirstSet, field: str) -> Step:
    parts = [compile_op(part, field) for part in op.parts]
    return lambda scope: next((value for part in parts if (value := part(scope)) is not None), None)


_COMPILER_BY_OP: dict[type, Callable[[Datum, str], Step]] = {
    Read: _read,
    Constant: _constant,
    Widen: _widen,
    Cast: _cast,
    Recount: _recount,
    Shift: _shift,
    Otherwise: _otherwise,
    Compare: _compare,
    Logic: _logic,
    Not: _not,
    IsNull: _is_null,
    Choose: _choose,
    TextCall: _text_call,
    Format: _format,
    Parse: _parse,
    Lookup: _lookup,
    ReplaceNull: _replace_null,
    RequireValue: _require_value,
    Split: _split,
    Join: _join,
    Arithmetic: _arithmetic,
    BuildRecord: _build_record,
    MapItems: _map_items,
    MapValues: _map_values,
    MapBranches: _map_branches,
    MapTagged: _map_tagged,
    Tag: _tag,
    FirstSet: _first_set,
    BranchByValue: _branch_choice,
    LeaveOut: _leave_out,
    Define: _define,
    Repeat: _repeat,
}
