"""The types of formulas, and the operations that they are: what every part of a formula is, before any record is read.

======================  ==============================================================================================
``long``, ``double``    numbers; a long beside a double becomes one. Decimals, and numbers of more than 64 bits, are
                        the doubles nearest to them
``text``                texts, enums and UUIDs
``boolean``             conditions
any other scalar        points in time, dates and the like: only of their own type, in choices and comparisons
======================  ==============================================================================================

Null in, null out: an operator or function of a null is null, and so is a choice whose condition is null. ``is null``
and ``coalesce`` look at null; ``and``, ``or`` and choices do not look at what does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from counterfoil.schema.plans.expressions import (
    Binary,
    Call,
    Choice,
    Combination,
    Comparison,
    Expression,
    FieldValue,
    FunctionCall,
    Negate,
    Negation,
    NullTest,
    Number,
    WrittenNull,
    WrittenText,
    WrittenTruth,
    constant_of,
    is_arithmetic,
    parts_of,
    paths_of,
    result_of,
)
from counterfoil.schema.plans.formulas import Path, spell_in_formula
from counterfoil.schema.plans.model import (
    Arithmetic,
    Cast,
    Choose,
    Compare,
    Constant,
    FirstSet,
    IsNull,
    Join,
    Logic,
    Not,
    Op,
    Otherwise,
    Read,
    Scalar,
    Split,
    TextCall,
    Widen,
)
from counterfoil.schema.plans.moments import MomentKind, moment_kind, moment_of_text
from counterfoil.schema.plans.operands import operands_of
from counterfoil.schema.plans.types import NUMERIC, widens

TEXT: Final = Scalar("string", "string")
LONG: Final = Scalar("long", "long")
DOUBLE: Final = Scalar("double", "double")
BOOLEAN: Final = Scalar("boolean", "boolean")
_LONGS: Final = frozenset({"int", "long", "uint32"})
_EQUALITY: Final = frozenset({"=", "!="})
_JOINED: Final = frozenset({*_LONGS, "boolean"})


class WrongFormula(Exception):
    """A formula with a part of another type than it must have; ``text`` is a sentence."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


@dataclass(frozen=True, slots=True)
class TypedFormula:
    """The operation of a formula and the type of its result; None for null alone."""

    op: Op
    scalar: Scalar | None


def typed_formula(expression: Expression, scalar_at: Callable[[Path], Scalar]) -> TypedFormula:
    """Return a formula as an operation; ``scalar_at`` returns the type of a field. Raise ``WrongFormula``."""
    typer = _Typer(scalar_at)
    is_number = not isinstance(expression, FieldValue) or scalar_at(expression.path).word in NUMERIC
    return typer.arithmetic(expression) if is_arithmetic(expression) and is_number else typer.typed(expression)


class _Typer:
    def __init__(self, scalar_at: Callable[[Path], Scalar]) -> None:
        self._scalar_at = scalar_at

    def typed(self, expression: Expression) -> TypedFormula:
        """Return a formula with its type."""
        match expression:
            case Number() | WrittenText() | WrittenTruth() | WrittenNull():
                return _constant(expression)
            case FieldValue():
                return self._field(expression)
            case Negate() | Binary() | Call():
                return self.arithmetic(expression)
            case FunctionCall():
                return self._call(expression)
        return self._condition(expression)

    def _condition(self, expression: Expression) -> TypedFormula:
        """Return a choice, or a formula that is true or false."""
        match expression:
            case Comparison():
                return self._comparison(expression)
            case Combination(word, left, right):
                return TypedFormula(Logic(word, self._truth(left, word), self._truth(right, word)), BOOLEAN)
            case Negation(of):
                return TypedFormula(Not(self._truth(of, "not")), BOOLEAN)
            case NullTest(of, is_not):
                test = IsNull(self.typed(of).op)
                return TypedFormula(Not(test) if is_not else test, BOOLEAN)
            case Choice(condition, then, otherwise):
                (one, other), scalar = _alike([self.typed(then), self.typed(otherwise)], "then and else")
                return TypedFormula(Choose(self._truth(condition, "if"), one, other), scalar)
        raise WrongFormula(f"{describe_formula(expression)} is no formula")

    def _field(self, expression: FieldValue) -> TypedFormula:
        scalar = self._scalar_at(expression.path)
        if scalar.word in _LONGS:
            return TypedFormula(Read(expression.path), LONG)
        if scalar.word == "decimal":
            return TypedFormula(Cast(Read(expression.path), scalar, DOUBLE), DOUBLE)
        if scalar.word not in NUMERIC:
            return TypedFormula(Read(expression.path), scalar)
        is_real = scalar.base in {"float", "double"}
        read = expression if is_real else Binary("*", expression, Number(1.0))  # a whole number becomes a double
        return TypedFormula(Arithmetic(read, "double"), DOUBLE)

    def _truth(self, expression: Expression, word: str) -> Op:
        made = self.typed(expression)
        if made.scalar != BOOLEAN:
            raise WrongFormula(f"{word}: {describe_formula(expression)} is {_name(made)}; expected a condition")
        return made.op

    # -- numbers

    def arithmetic(self, expression: Expression) -> TypedFormula:
        """Return arithmetic as one operation; what else stands in it is computed before."""
        operands: dict[Path, tuple[Op, str]] = {}
        made = self._lifted(expression, operands)
        kinds = {path: operands[path][1] if path in operands else self._kind(path) for path in paths_of(made)}
        integers = tuple(sorted(path for path, kind in kinds.items() if kind == "long"))
        computed = tuple((path, op) for path, (op, _) in operands.items()) or None
        result = result_of(made, kinds)
        return TypedFormula(Arithmetic(made, result, integers, computed), LONG if result == "long" else DOUBLE)

    def _kind(self, path: Path) -> str:
        scalar = self._scalar_at(path)
        if scalar.word not in NUMERIC:
            raise WrongFormula(f"{spell_in_formula(path)} is {scalar}; expected a number")
        return "long" if scalar.word in _LONGS else "double"

    def _is_decimal(self, expression: FieldValue) -> bool:
        return self._scalar_at(expression.path).word == "decimal"

    def _lifted(self, expression: Expression, operands: dict[Path, tuple[Op, str]]) -> Expression:
        """Return arithmetic with a path for each part that is none; ``operands`` gets what is there."""
        if isinstance(expression, Number) or (isinstance(expression, FieldValue) and not self._is_decimal(expression)):
            return expression
        if isinstance(expression, Negate | Call):
            return replace(expression, of=self._lifted(expression.of, operands))
        if isinstance(expression, Binary):
            left = self._lifted(expression.left, operands)
            return replace(expression, left=left, right=self._lifted(expression.right, operands))
        made = self.typed(expression)
        if made.scalar not in {LONG, DOUBLE}:
            raise WrongFormula(f"{describe_formula(expression)} is {_name(made)}; expected a number")
        path = ("", str(len(operands)))
        operands[path] = made.op, "long" if made.scalar == LONG else "double"
        return FieldValue(path)

    # -- comparisons

    def _comparison(self, expression: Comparison) -> TypedFormula:
        sides = [self.typed(part) for part in parts_of(expression)]
        if any(side.scalar is None for side in sides):
            raise WrongFormula("a comparison with null is always null; write is null, or is not null")
        left, right = map(_comparable, sides)
        (one, other), scalar = _alike([left, right], f"the sides of {expression.sign}")
        kind = _kind_of(scalar)
        if kind is None or (kind == "boolean" and expression.sign not in _EQUALITY):
            raise WrongFormula(f"{expression.sign}: {scalar} cannot be compared so")
        return TypedFormula(Compare(expression.sign, one, other, kind), BOOLEAN)

    # -- functions

    def _call(self, call: FunctionCall) -> TypedFormula:
        if call.function == "coalesce":
            parts, scalar = _alike([self.typed(value) for value in call.values], "coalesce")
            return TypedFormula(FirstSet(tuple(parts)), scalar)
        if call.function == "concat":
            return TypedFormula(Join(tuple(self._text(value, call.function) for value in call.values), ""), TEXT)
        of = self._text(call.values[0], call.function)
        if call.function == "split":
            separator, take = call.constants
            return TypedFormula(Split(of, str(separator), int(take)), TEXT)
        made = TextCall(call.function, of, call.constants)
        return TypedFormula(made, LONG if call.function == "length" else TEXT)

    def _text(self, expression: Expression, function: str) -> Op:
        made = self.typed(expression)
        scalar = made.scalar
        if scalar is not None and (scalar.word == "string" or widens(scalar, TEXT)):
            return _as_text(made).op
        if function == "concat" and scalar is not None and scalar.word in _JOINED:
            return Cast(made.op, scalar, TEXT)
        raise WrongFormula(f"{function}: {describe_formula(expression)} is {_name(made)}; expected a text")


def _constant(expression: Expression) -> TypedFormula:
    match expression:
        case Number(value):
            return TypedFormula(Constant(value), LONG if isinstance(value, int) else DOUBLE)
        case WrittenText(value):
            return TypedFormula(Constant(value), TEXT)
        case WrittenTruth(value):
            return TypedFormula(Constant(value), BOOLEAN)
    return TypedFormula(Constant(None), None)


def _as_text(made: TypedFormula) -> TypedFormula:
    scalar = made.scalar
    return made if scalar is None or scalar.word == "string" else TypedFormula(Widen(made.op, scalar, TEXT), TEXT)


def _is_text(scalar: Scalar) -> bool:
    return scalar.word == "string" or (widens(scalar, TEXT) and moment_kind(scalar) is None)


def _alike(parts: Sequence[TypedFormula], where: str) -> tuple[list[Op], Scalar | None]:
    """Return values as values of one type: their own, a double for numbers of both kinds, a text for kinds of texts."""
    scalars = [part.scalar for part in parts if part.scalar is not None]
    if len(set(scalars)) <= 1:
        return [part.op for part in parts], next(iter(scalars), None)
    if set(scalars) == {LONG, DOUBLE}:
        return [Widen(part.op, LONG, DOUBLE) if part.scalar == LONG else part.op for part in parts], DOUBLE
    if all(map(_is_text, scalars)):
        return [_as_text(part).op for part in parts], TEXT
    names = " and ".join(dict.fromkeys(map(str, scalars)))
    raise WrongFormula(f"{where} are {names}; expected values of one type")


def _comparable(side: TypedFormula) -> TypedFormula:
    """Return a value whose order is that of its meaning: a text for a kind of text, the moment of a date in text."""
    scalar = side.scalar
    if scalar is None or scalar.word in {"string", "long", "double", "boolean"}:
        return side
    return _as_text(side) if _is_text(scalar) else TypedFormula(*moment_of_text(side.op, scalar))


def _kind_of(scalar: Scalar | None) -> str | None:
    """Return how two values are compared; None if they cannot be."""
    if scalar is None:
        return None
    known = {"long": "long", "double": "double", "string": "text", "boolean": "boolean"}.get(scalar.word)
    return known or ("whole" if moment_kind(scalar) not in {None, MomentKind.NUMBER} else None)


def _name(made: TypedFormula) -> str:
    return "null" if made.scalar is None else str(made.scalar)


def describe_formula(expression: Expression) -> str:
    """Return a short description of a part of a formula for messages."""
    if isinstance(expression, FieldValue):
        return spell_in_formula(expression.path)
    constant = constant_of(expression)
    if constant is not None:
        return repr(constant)
    words = {Comparison: "a comparison", Choice: "a choice", FunctionCall: "a call", NullTest: "a comparison"}
    if isinstance(expression, FunctionCall | Call):
        return f"{expression.function}(…)"
    return words.get(type(expression), "a part of the formula")


# Whether the result of a formula may be null: what a condition says about a field counts.


def formula_may_be_null(op: Op, is_nullable: Callable[[Path], bool], known: frozenset[Path] = frozenset()) -> bool:
    """Return whether an operation of a formula may be null; the fields at ``known`` are not."""
    match op:
        case Constant():
            return op.value is None
        case Read():
            return op.path not in known and is_nullable(op.path)
        case IsNull():
            return False
        case FirstSet():
            return all(formula_may_be_null(part, is_nullable, known) for part in op.parts)
        case Logic():
            facts = _facts(op.left, is_true=op.word == "and")
            left = formula_may_be_null(op.left, is_nullable, known)
            return left or formula_may_be_null(op.right, is_nullable, known | facts)
        case Choose():
            then, otherwise = (known | _facts(op.condition, is_true=is_true) for is_true in (True, False))
            return (
                formula_may_be_null(op.condition, is_nullable, known)
                or formula_may_be_null(op.then, is_nullable, then)
                or formula_may_be_null(op.otherwise, is_nullable, otherwise)
            )
        case Otherwise() if op.value is None:
            return True
    return any(formula_may_be_null(each, is_nullable, known) for each in operands_of(op))


def _facts(condition: Op, *, is_true: bool) -> frozenset[Path]:
    """Return the fields that are certainly not null where a condition is true, or false."""
    match condition:
        case IsNull(Read(path)) if not is_true:
            return frozenset({path})
        case Not(of):
            return _facts(of, is_true=not is_true)
        case Logic(word, left, right) if is_true == (word == "and"):
            return _facts(left, is_true=is_true) | _facts(right, is_true=is_true)
    return frozenset()
