"""The engines that evaluate CEL: one in Rust, and one in Python that is slower and needs no compiled package.

Both get plain Python values and return such. The Rust engine has 64-bit numbers only: expressions about exact numbers,
and values with larger integers or decimals, are evaluated in Python, so that the result is the same with and without
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.schema.errors import MissingExtra
from counterfoil.schema.extras import needed_by
from counterfoil.sdk.errors import RuleError, RuleTypeMissing
from counterfoil.sdk.serde.rules.cel.expression import function_alias
from counterfoil.sdk.serde.rules.cel.functions import FUNCTIONS
from counterfoil.sdk.serde.rules.cel.rust_engine import find_engine
from counterfoil.sdk.serde.rules.redaction import mentions

if TYPE_CHECKING:
    from counterfoil.sdk.serde.rules.cel.expression import Expression

Evaluate: TypeAlias = Callable[[dict[str, Any]], Any]
"""Evaluates an expression with variables; raises ``CelError``."""

rust = find_engine()


def _quoting_nothing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose errors quote no value: the engine in Rust writes them to its log."""

    @wraps(call)
    def called(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, its text may have the value
            reason = str(error)
        if mentions(reason, arguments):
            reason = "a value that it cannot be applied to"
        raise ValueError(reason)

    return called


_OWN: Final[Mapping[str, Callable[..., Any]]] = {
    function_alias(name): _quoting_nothing(call) for name, call in FUNCTIONS.items()
}
_EXACT: Final = frozenset(function_alias(name) for name in FUNCTIONS if name.startswith("decimal"))
_INT_MAX: Final = 2**63 - 1
_INT_MIN: Final = -(2**63)


class CelError(RuleError):
    """An expression that is not valid CEL, or that cannot be evaluated with a message."""


class OutOfRange(Exception):
    """A value that the Rust engine cannot represent."""


def compile_program(expression: Expression, engine: str | None = None) -> Evaluate:
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

    def evaluate(variables: dict[str, Any]) -> Any:
        try:
            return program(variables)
        except OutOfRange:
            if not later:
                later.append(compile_python(expression))
            return later[0](variables)

    return evaluate


def compile_rust(expression: Expression) -> Evaluate:
    """Return the function that evaluates an expression in Rust."""
    try:
        execute = rust.compile(expression.text).execute
    except Exception as error:
        raise _invalid(expression, error) from error
    functions = {name: _OWN[name] for name in expression.calls if name in _OWN}

    def evaluate(variables: dict[str, Any]) -> Any:
        for value in variables.values():
            check_range(value)
        try:
            return execute({**variables, **functions} if functions else variables)
        except Exception as error:
            raise _failed(expression, error) from error

    return evaluate


def compile_python(expression: Expression) -> Evaluate:
    """Return the function that evaluates an expression in Python."""
    try:
        with needed_by("A rule in CEL", extra="rules"):
            from counterfoil.sdk.serde.rules.cel.python_engine import compile_text
    except MissingExtra as missing:
        raise RuleTypeMissing(str(missing)) from missing
    functions = {name: _OWN[name] for name in expression.calls if name in _OWN}
    try:
        run = compile_text(expression.text, functions)
    except Exception as error:
        raise _invalid(expression, error) from error

    def evaluate(variables: dict[str, Any]) -> Any:
        try:
            return run(variables)
        except Exception as error:
            raise _failed(expression, error) from error

    return evaluate


def check_range(value: Any) -> None:
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


def _invalid(expression: Expression, error: Exception) -> CelError:
    return CelError(f"{expression.source.strip()!r} is not valid CEL: {_first_line(error)}")


def _failed(expression: Expression, error: Exception) -> CelError:
    return CelError(f"{expression.source.strip()!r} cannot be evaluated: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    text = str(error.args[0]) if error.args else ""
    return text.strip().partition("\n")[0] or type(error).__name__
