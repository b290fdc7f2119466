"""The compilation of quality rules in CEL, without evaluating them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from counterfoil.sdk.serde.rules.cel.expression import Parts

VARIABLES: Final = ("message", "key", "headers")
"""The variables of a quality rule: the record's value, its key, its headers."""


class Outcome(NamedTuple):
    """The result: what is wrong, or None, and the paths of the fields that are read.

    Without ``is_compiled`` no engine is installed.
    """

    problem: str | None = None
    is_compiled: bool = True
    reads: tuple[tuple[str, ...], ...] = ()


@lru_cache(maxsize=1024)
def compile_rule(text: str) -> Outcome:
    """Compile an expression, and return what is wrong with it, and which fields of the message it reads."""
    from counterfoil.sdk.errors import RuleError
    from counterfoil.sdk.serde.rules.cel.engines import compile_program
    from counterfoil.sdk.serde.rules.cel.expression import read_expression
    from counterfoil.sdk.serde.rules.cel.functions import FUNCTIONS

    expression = read_expression(text, VARIABLES, FUNCTIONS)
    try:
        compile_program(expression)
    except RuleError as mistake:
        from counterfoil.sdk.errors import RuleTypeMissing

        return Outcome(str(mistake), is_compiled=not isinstance(mistake, RuleTypeMissing))
    present = [path[1:] for path in expression.presences.values() if path[0] == VARIABLES[0]]
    return Outcome(reads=tuple(dict.fromkeys((*_paths(expression.reads.get(VARIABLES[0], {})), *present))))


def _paths(parts: Parts, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths that are read; a part that is read as a whole ends its path."""
    if not parts:
        return [before] if before else []
    return [path for name, inner in parts.items() for path in _paths(inner, (*before, name))]
