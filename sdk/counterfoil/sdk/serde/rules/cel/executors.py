"""The executors of the types CEL and CEL_FIELD, and the engines that evaluate expressions: in Rust, or in Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import wraps
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import MissingExtra, needed_by
from counterfoil.sdk.errors import RuleError, RuleTypeMissing
from counterfoil.sdk.serde.rules.cel import (
    CelExpression,
    Unsupported,
    convert,
    function_alias,
    is_present,
    read_expression,
    split_guard,
)
from counterfoil.sdk.serde.rules.cel.functions import FUNCTIONS
from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, RuleScope, SchemaField, Transform
from counterfoil.sdk.serde.rules.values import mentions

if TYPE_CHECKING:
    from counterfoil.sdk.script import Script


# The engine in Rust, imported without the rest of its package, whose command line takes far longer to import.

_PACKAGE: Final = "cel"
_EXTENSION: Final = f"{_PACKAGE}.cel"


def find_engine() -> Datum:
    """Return the compiled module of the package ``cel``; None if it is not installed (the extra rules-fast has it).

    It is registered under its own name, so that a program which imports the package gets the same module.
    """
    if _EXTENSION in sys.modules:
        return sys.modules[_EXTENSION]
    try:
        package = find_spec(_PACKAGE)
        if package is None:
            return None
        spec = PathFinder.find_spec(_EXTENSION, package.submodule_search_locations)
        if spec is None or spec.loader is None:
            return None
        module = sys.modules[_EXTENSION] = module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError:  # such as a build for another version of Python
        sys.modules.pop(_EXTENSION, None)
        return None
    return module


# The engines that evaluate CEL: one in Rust, and one in Python that is slower and needs no compiled package.
#
# Both get plain Python values and return such. The Rust engine has 64-bit numbers only: expressions about exact
# numbers, and values with larger integers or decimals, are evaluated in Python, so that the result is the same with and
# without it.

Evaluate: TypeAlias = "Callable[[dict[str, Datum]], Datum]"
"""Evaluates an expression with variables; raises ``CelError``."""

rust = find_engine()


def _quoting_nothing(call: Callable[..., Datum]) -> Callable[..., Datum]:
    """Return a function whose errors quote no value: the engine in Rust writes them to its log."""

    @wraps(call)
    def called(*arguments: object) -> Datum:
        try:
            return call(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, its text may have the value
            reason = str(error)
        if mentions(reason, arguments):
            reason = "a value that it cannot be applied to"
        raise ValueError(reason)

    return called


_OWN: Final[Mapping[str, Callable[..., Datum]]] = {
    function_alias(name): _quoting_nothing(call) for name, call in FUNCTIONS.items()
}
_EXACT: Final = frozenset(function_alias(name) for name in FUNCTIONS if name.startswith("decimal"))
_INT_MAX: Final = 2**63 - 1
_INT_MIN: Final = -(2**63)


class CelError(RuleError):
    """An expression that is not valid CEL, or that cannot be evaluated with a message."""


class OutOfRange(Exception):
    """A value that the Rust engine cannot represent."""


def compile_program(expression: CelExpression, engine: str | None = None) -> Evaluate:
    """Return the function that evaluates an expression, in ``rust`` or ``python``; None is the fastest that fits.

    Raises ``CelError`` for a text that is not valid, and ``RuleTypeMissing`` without an engine.
    """
    is_exact = bool(_EXACT & expression.calls)
    if engine == "python" or rust is None or is_exact:
        return compile_python(expression)
    program = compile_rust(expression)
    if engine == "rust":
        return program
    later: list[Evaluate] = []

    def evaluate(variables: dict[str, Datum]) -> Datum:
        try:
            return program(variables)
        except OutOfRange:
            if not later:
                later.append(compile_python(expression))
            return later[0](variables)

    return evaluate


def compile_rust(expression: CelExpression) -> Evaluate:
    """Return the function that evaluates an expression in Rust."""
    try:
        execute = rust.compile(expression.text).execute
    except Exception as error:
        raise _invalid(expression, error) from error
    functions = {name: _OWN[name] for name in expression.calls if name in _OWN}

    def evaluate(variables: dict[str, Datum]) -> Datum:
        for value in variables.values():
            check_range(value)
        try:
            return execute({**variables, **functions} if functions else variables)
        except Exception as error:
            raise _failed(expression, error) from error

    return evaluate


def compile_python(expression: CelExpression, most_steps: int | None = None) -> Evaluate:
    """Return the function that evaluates an expression in Python.

    ``most_steps`` are the steps of its comprehensions in one evaluation, beyond which it raises ``CelError``; None: the
    usual limit.
    """
    try:
        with needed_by("A rule in CEL", extra="rules"):
            from counterfoil.sdk.serde.rules.cel.python_engine import MOST_STEPS, compile_text
    except MissingExtra as missing:
        raise RuleTypeMissing(str(missing)) from missing
    functions = {name: _OWN[name] for name in expression.calls if name in _OWN}
    try:
        run = compile_text(expression.text, functions, most_steps=MOST_STEPS if most_steps is None else most_steps)
    except Exception as error:
        raise _invalid(expression, error) from error

    def evaluate(variables: dict[str, Datum]) -> Datum:
        try:
            return run(variables)
        except Exception as error:
            raise _failed(expression, error) from error

    return evaluate


def check_range(value: Datum) -> None:
    """Raise ``OutOfRange`` for a value with a number that the Rust engine would change."""
    kind = type(value)
    if kind is int:
        if not _INT_MIN <= value <= _INT_MAX:
            raise OutOfRange
    elif kind is dict:
        for item in value.values():
            check_range(item)
    elif kind is list:
        for item in value:
            check_range(item)
    elif isinstance(value, Decimal):
        raise OutOfRange


def _invalid(expression: CelExpression, error: Exception) -> CelError:
    return CelError(f"{expression.source.strip()!r} is not valid CEL: {_first_line(error)}")


def _failed(expression: CelExpression, error: Exception) -> CelError:
    return CelError(f"{expression.source.strip()!r} cannot be evaluated: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    text = str(error.args[0]) if error.args else ""
    return text.strip().partition("\n")[0] or type(error).__name__


# The executors of the types CEL, whose rules are about a message, and CEL_FIELD, whose rules are about fields.
#
# Source: Confluent's documentation of data contracts; the variables are those of confluent-kafka 2.16.

_NOW: Final = "now"
_MESSAGE: Final = ("message", _NOW)
_FIELD: Final = ("value", "fullName", "name", "typeName", "tags", "message", _NOW)


class CelRuleExecutor:
    """Runs rules of the type CEL."""

    def compile(self, scope: RuleScope) -> Script[Transform]:
        """Return the function that evaluates the rule about a message."""
        yield from ()
        evaluate = compile_rule(scope, _MESSAGE)
        if evaluate is None:
            return lambda message: message
        return lambda message: evaluate({"message": message}, message)

    def close(self) -> None:
        """Do nothing."""


class CelFieldRuleExecutor:
    """Runs rules of the type CEL_FIELD."""

    def compile_fields(self, scope: RuleScope) -> Script[FieldChanges]:
        """Return the function that makes the rule's function for each field of a primitive type."""
        yield from ()
        evaluate = compile_rule(scope, _FIELD)

        def changes(field: SchemaField) -> Change | None:
            if evaluate is None or not field.type.is_primitive:
                return None
            facts = {
                "fullName": field.full_name,
                "name": field.name,
                "typeName": field.type.value,
                "tags": sorted(field.tags),
            }
            return lambda value, message: evaluate({**facts, "value": value, "message": message}, value)

        return changes

    def close(self) -> None:
        """Do nothing."""


def compile_rule(scope: RuleScope, variables: Sequence[str]) -> Callable[[Mapping[str, Datum], Datum], Datum] | None:
    """Return the function ``(variables, value)`` that evaluates a rule; None for a rule without an expression.

    If the guard is false, it returns the value, and for a condition True.
    """
    source = scope.rule.expr
    if not source:
        return None
    guard_source, body_source = split_guard(source)
    body = _compiled(body_source, variables)
    guard = None if guard_source is None else _compiled(guard_source, variables)
    is_condition = scope.is_condition

    def guarded(given: Mapping[str, object], value: object) -> Datum:
        if guard is not None and not guard(given):
            return True if is_condition else value
        return body(given)

    return guarded


def compile_check_of(source: str, variables: Sequence[str] = ("this",)) -> Callable[[Mapping[str, Datum]], Datum]:
    """Return the function that evaluates a condition with the values of these variables, such as an inline rule."""
    return _compiled(source, (*variables, _NOW))


def _compiled(source: str, variables: Sequence[str]) -> Callable[[Mapping[str, Datum]], Datum]:
    expression = read_expression(source, variables, FUNCTIONS)
    return _bound(expression, compile_program(expression))


def _bound(
    expression: CelExpression, evaluate: Callable[[dict[str, Datum]], Datum]
) -> Callable[[Mapping[str, Datum]], Datum]:
    """Return the function that evaluates an expression with its reads of the given values."""
    reads = [(name, parts) for name, parts in expression.reads.items() if name != _NOW]
    presences = [(name, path[0], path[1:]) for name, path in expression.presences.items()]
    reads_now = _NOW in expression.reads

    def run(given: Mapping[str, object]) -> Datum:
        try:
            passed = {name: convert(given[name], parts) for name, parts in reads}
        except Unsupported as error:
            raise CelError(f"{expression.source.strip()!r} cannot be evaluated: {error}") from error
        except KeyError as error:
            raise RuleError(f"there is no variable {error}") from error
        for name, root, path in presences:
            passed[name] = is_present(given[root], path)
        if reads_now:
            passed[_NOW] = datetime.now(UTC)
        return evaluate(passed)

    return run
