"""The executors of the types CEL, whose rules are about a message, and CEL_FIELD, whose rules are about fields.

Source: Confluent's documentation of data contracts; the variables are those of confluent-kafka 2.16.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.errors import RuleError
from counterfoil.sdk.serde.rules.cel.conversion import Unsupported, convert, is_present
from counterfoil.sdk.serde.rules.cel.engines import CelError, compile_program
from counterfoil.sdk.serde.rules.cel.expression import read_expression, split_guard
from counterfoil.sdk.serde.rules.cel.functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.rules.cel.expression import Expression
    from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, RuleScope, SchemaField, Transform

_NOW: Final = "now"
_MESSAGE: Final = ("message", _NOW)
_FIELD: Final = ("value", "fullName", "name", "typeName", "tags", "message", _NOW)


class CelExecutor:
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


class CelFieldExecutor:
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


def compile_rule(scope: RuleScope, variables: Sequence[str]) -> Callable[[Mapping[str, Any], Any], Any] | None:
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

    def guarded(given: Mapping[str, Any], value: Any) -> Any:
        if guard is not None and not guard(given):
            return True if is_condition else value
        return body(given)

    return guarded


def compile_check_of(source: str, variables: Sequence[str] = ("this",)) -> Callable[[Mapping[str, Any]], Any]:
    """Return the function that evaluates a condition with the values of these variables, such as an inline rule."""
    return _compiled(source, (*variables, _NOW))


def _compiled(source: str, variables: Sequence[str]) -> Callable[[Mapping[str, Any]], Any]:
    expression = read_expression(source, variables, FUNCTIONS)
    return _bound(expression, compile_program(expression))


def _bound(expression: Expression, evaluate: Callable[[dict[str, Any]], Any]) -> Callable[[Mapping[str, Any]], Any]:
    """Return the function that evaluates an expression with what it reads of the given values."""
    reads = [(name, parts) for name, parts in expression.reads.items() if name != _NOW]
    presences = [(name, path[0], path[1:]) for name, path in expression.presences.items()]
    reads_now = _NOW in expression.reads

    def run(given: Mapping[str, Any]) -> Any:
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
