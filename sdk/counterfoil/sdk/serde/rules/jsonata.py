"""The executor of the type JSONATA, which migrates messages from one version of a schema to the next.

Evaluations are limited in time and depth, since an expression may never end. The limits are the parameters
``jsonata.timeout.ms`` and ``jsonata.max.depth`` of the rule or of the schema's metadata, or the program's settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import jsonata

from counterfoil.schema.datum import Datum
from counterfoil.sdk.errors import RuleError

if TYPE_CHECKING:
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.rules.protocol import RuleScope, Transform


TIMEOUT: Final = "jsonata.timeout.ms"
DEPTH: Final = "jsonata.max.depth"
_DEFAULT_TIMEOUT_MS: Final = 60_000
_DEFAULT_DEPTH: Final = 1000


class JsonataRuleExecutor:
    """Runs rules of the type JSONATA."""

    def compile(self, scope: RuleScope) -> Script[Transform]:
        """Return the function that evaluates the expression with a message."""
        yield from ()
        source = scope.rule.expr
        if not source:
            raise RuleError("it has no expression")
        timeout_ms, depth = _limit(scope, TIMEOUT, _DEFAULT_TIMEOUT_MS), _limit(scope, DEPTH, _DEFAULT_DEPTH)
        expression = _parsed(source)

        def evaluate(message: object) -> Datum:
            frame = expression.create_frame()
            frame.set_runtime_bounds(timeout_ms, depth)
            try:
                return expression.evaluate(message, frame)
            except RecursionError as error:
                raise RuleError(f"{source!r:.200} is nested too deep") from error
            except jsonata.JException as error:
                raise RuleError(f"{source!r:.200} cannot be evaluated: {error}") from error

        return evaluate

    def close(self) -> None:
        """Do nothing."""


def _parsed(source: str) -> Datum:
    try:
        expression = jsonata.Jsonata(source)
    except jsonata.JException as error:
        raise RuleError(f"{source!r:.200} is not valid JSONata: {error}") from error
    expression.set_validate_input(False)
    return expression


def _limit(scope: RuleScope, name: str, default: int) -> int:
    text = scope.parameter(name) or scope.conf.get(name) or default
    try:
        return int(text)
    except ValueError:
        raise RuleError(f"{name} is {text!r}; expected a whole number") from None
