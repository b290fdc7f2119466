"""The registry of executors and actions with the calls of confluent-kafka's ``schema_registry.rule_registry``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["RuleOverride", "RuleRegistry"]


@dataclass(frozen=True)
class RuleOverride:
    """A setting that replaces the actions of the rules of a type, or disables them."""

    type: str
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool | None = None


class RuleRegistry:
    """The executors and actions that a program wrote, by type, and overrides.

    Those of this SDK need no registration; they are here only to be registered as in confluent-kafka.
    """

    def __init__(self) -> None:
        self._executors: dict[str, Any] = {}
        self._actions: dict[str, Any] = {}
        self._overrides: dict[str, RuleOverride] = {}

    def register_executor(self, rule_executor: Any) -> None:
        """Add an executor, or replace the one of its type."""
        self._executors[rule_executor.type()] = rule_executor

    def get_executor(self, name: str) -> Any:
        """Return the executor of a type; None without one."""
        return self._executors.get(name)

    def get_executors(self) -> list[Any]:
        """Return the executors."""
        return [*self._executors.values()]

    def register_action(self, rule_action: Any) -> None:
        """Add an action, or replace the one of its type."""
        self._actions[rule_action.type()] = rule_action

    def get_action(self, name: str) -> Any:
        """Return the action of a type; None without one."""
        return self._actions.get(name)

    def get_actions(self) -> list[Any]:
        """Return the actions."""
        return [*self._actions.values()]

    def register_override(self, rule_override: RuleOverride) -> None:
        """Add an override, or replace the one of its type."""
        self._overrides[rule_override.type] = rule_override

    def get_override(self, name: str) -> RuleOverride | None:
        """Return the override of a type; None without one."""
        return self._overrides.get(name)

    def get_overrides(self) -> list[RuleOverride]:
        """Return the overrides."""
        return [*self._overrides.values()]

    def clear(self) -> None:
        """Remove everything."""
        self._executors.clear()
        self._actions.clear()
        self._overrides.clear()

    @staticmethod
    def get_global_instance() -> RuleRegistry:
        """Return the registry of serializers that are given none."""
        return _EVERYWHERE

    @staticmethod
    def register_rule_executor(rule_executor: object) -> None:
        """Add an executor for all serializers that are given no registry."""
        _EVERYWHERE.register_executor(rule_executor)

    @staticmethod
    def register_rule_action(rule_action: object) -> None:
        """Add an action for all serializers that are given no registry."""
        _EVERYWHERE.register_action(rule_action)

    @staticmethod
    def register_rule_override(rule_override: RuleOverride) -> None:
        """Add an override for all serializers that are given no registry."""
        _EVERYWHERE.register_override(rule_override)


_EVERYWHERE: Final = RuleRegistry()


def registry_in_use(given: object) -> object:
    """Return the registry of a serializer: the given one, else that of all serializers; None if nothing is in it."""
    if given is not None:
        return given
    parts = (_EVERYWHERE.get_executors(), _EVERYWHERE.get_actions(), _EVERYWHERE.get_overrides())
    return _EVERYWHERE if any(parts) else None
