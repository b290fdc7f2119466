"""Inline rules of a schema, ``confluent:rules``: conditions in CEL beside records and fields, about the value ``this``.

A rule holds if it returns true or an empty text; another text says what is wrong. All violations of a message are
reported together, unless the program wants the first alone.

Source: the public validation classes of confluent-kafka 2.16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.errors import RuleError, ValidationError, Violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.serde.rules.values import Checked, InlineRule, RuleValues

_SHOWN: Final = 3


def compile_check(values: RuleValues, *, fail_fast: bool) -> Callable[[Any], None] | None:
    """Return a function that raises ``ValidationError`` for a message; None if the schema has no inline rules."""
    found = values.inline_rules()
    if found is None:
        return None
    programs: dict[InlineRule, Callable[[dict[str, Any]], Any]] = {}

    def check(message: Any) -> None:
        violations: list[Violation] = []
        for each in found(message):
            violation = _violation(each, programs)
            if violation is not None:
                violations.append(violation)
                if fail_fast:
                    break
        if violations:
            refuse(violations)

    return check


def refuse(violations: list[Violation]) -> None:
    """Raise ``ValidationError`` with all violations."""
    shown = "; ".join(f"{each.path or 'the value'}: {each.keyword}: {each.message}" for each in violations[:_SHOWN])
    more = f"; and {len(violations) - _SHOWN} more" if len(violations) > _SHOWN else ""
    raise ValidationError(f"The value violates rules of its schema: {shown}{more}", violations=tuple(violations))


def _violation(each: Checked, programs: dict[InlineRule, Callable[[dict[str, Any]], Any]]) -> Violation | None:
    rule = each.rule
    try:
        program = programs.get(rule)
        if program is None:
            from counterfoil.sdk.serde.rules.cel.executors import compile_check_of

            program = programs[rule] = compile_check_of(rule.expr)
        result = program({"this": each.value})
    except RuleError as error:
        return Violation(each.path, rule.name, error.problem)
    if result is True or result == "":
        return None
    if result is False:
        return Violation(each.path, rule.name, rule.doc or rule.expr)
    if isinstance(result, str):
        return Violation(each.path, rule.name, result)
    problem = f"the rule returned {type(result).__name__}; expected true, false or a text"
    return Violation(each.path, rule.name, problem)
