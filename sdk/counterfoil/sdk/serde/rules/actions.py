"""The built-in actions: NONE does nothing, ERROR raises the rule's error, DLQ is in ``dlq``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from counterfoil.sdk.errors import RuleConditionFailed, RuleError

if TYPE_CHECKING:
    from counterfoil.sdk.serde.rules.protocol import Action, RuleRun
    from counterfoil.sdk.serde.rules.settings import Rules


class ErrorAction:
    """Raises the error of the rule, or that the rule succeeded where a schema asks for that."""

    def run(self, run: RuleRun) -> None:
        """Raise ``RuleError``."""
        refuse(run, "ERROR")

    def close(self) -> None:
        """Do nothing."""


def refuse(run: RuleRun, action: str) -> NoReturn:
    """Raise ``RuleError`` for a rule, with the error of the rule as its cause."""
    rule, error = run.scope.rule, run.error
    if isinstance(error, RuleConditionFailed):
        where = f" for the field {error.path}" if error.path else ""
        problem = f"The condition {rule.name!r} is not met{where}: {error.problem}"
        raise RuleConditionFailed(problem, path=error.path, rule=rule.name, action=action) from error
    reason = "it succeeded, and the schema makes that an error" if error is None else _in_words(error)
    raise RuleError(f"The rule {rule.name!r} failed: {reason}", rule=rule.name, action=action) from error


def _in_words(error: Exception) -> str:
    return error.problem if isinstance(error, RuleError) else f"{type(error).__name__}: {error}"


def action_named(name: str, settings: Rules) -> Action | None:
    """Return an action; None for the one that does nothing. Raises ``RuleTypeMissing``."""
    if name == "NONE":
        return None
    return _ERROR if name == "ERROR" else settings.action(name)


_ERROR: Final = ErrorAction()
