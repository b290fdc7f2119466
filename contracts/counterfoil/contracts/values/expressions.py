"""The compilation of quality rules in CEL, without evaluating them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.caches import cached_if_short

if TYPE_CHECKING:
    from counterfoil.sdk.serde.rules.cel.expression import CelExpression, Parts


VARIABLES: Final = ("message", "key", "headers")
"""The variables of a quality rule: the record's value, its key, its headers."""


class RuleCompilation(NamedTuple):
    """The result: what is wrong, or None, the paths of the fields that are read, and the variables.

    Without ``is_compiled`` no engine is installed.
    """

    problem: str | None = None
    is_compiled: bool = True
    reads: tuple[tuple[str, ...], ...] = ()
    variables: frozenset[str] = frozenset()


@cached_if_short(1024, longest=2_000)
def compile_rule(text: str) -> RuleCompilation:
    """Compile an expression, and return what is wrong with it, and which fields of the message it reads."""
    from counterfoil.sdk.errors import RuleError
    from counterfoil.sdk.serde.rules.cel.executors import compile_program

    expression = read_rule(text)
    try:
        compile_program(expression)
    except RuleError as mistake:
        from counterfoil.sdk.errors import RuleTypeMissing

        return RuleCompilation(str(mistake), is_compiled=not isinstance(mistake, RuleTypeMissing))
    present = [path[1:] for path in expression.presences.values() if path[0] == VARIABLES[0]]
    reads = tuple(dict.fromkeys((*_paths(expression.reads.get(VARIABLES[0], {})), *present)))
    return RuleCompilation(reads=reads, variables=variables_of(expression))


def read_rule(text: str) -> CelExpression:
    """Return what an expression reads, without compiling it."""
    from counterfoil.sdk.serde.rules.cel.expression import read_expression
    from counterfoil.sdk.serde.rules.cel.functions import FUNCTIONS

    return read_expression(text, VARIABLES, FUNCTIONS)


def variables_of(expression: CelExpression) -> frozenset[str]:
    """Return the variables that an expression reads, or of which it tests whether a field is present."""
    return frozenset((*expression.reads, *(path[0] for path in expression.presences.values())))


def _paths(parts: Parts, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths that are read; a part that is read as a whole ends its path."""
    if not parts:
        return [before] if before else []
    return [path for name, inner in parts.items() for path in _paths(inner, (*before, name))]
