"""Rules as programs for confluent-kafka configure them: its settings, and a registry of executors and actions.

Executors and actions of confluent-kafka itself are replaced by those of this SDK, which need no registration. Those
that a program wrote are called as they are, with a context that has the attributes of theirs.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde.context import SerializationContext
from counterfoil.sdk.serde.rules.settings import DEFAULT_RULES, Override, Rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.rules.protocol import (
        Action,
        AnyExecutor,
        Change,
        FieldChanges,
        RuleRun,
        RuleScope,
        SchemaField,
        Transform,
    )
    from counterfoil.sdk.serde.rules.settings import Checked

_THEIRS: Final = ("confluent_kafka.", "counterfoil.sdk.confluent.rules.")
_PARTS: Final = ("get_executors", "get_actions", "get_overrides")


def rules_from_confluent(
    rule_conf: Mapping[str, Any] | None, rule_registry: Any, *, check: Checked = None, fail_fast: bool = False
) -> Rules:
    """Return the rules of ``rule_conf`` and ``rule_registry``, an object with the methods of confluent-kafka's.

    Raises ``InvalidSettings``.
    """
    if rule_conf is not None and not hasattr(rule_conf, "items"):
        raise InvalidSettings(f"rule_conf is {rule_conf!r:.60}; expected a dict", setting="rule_conf")
    if rule_registry is not None and not all(hasattr(rule_registry, name) for name in _PARTS):
        problem = f"rule_registry is a {type(rule_registry).__name__}; expected a RuleRegistry"
        raise InvalidSettings(problem, setting="rule_registry")
    if not rule_conf and rule_registry is None and check is None:
        return DEFAULT_RULES
    conf = dict(rule_conf or {})
    for action in rule_registry.get_actions() if rule_registry else ():
        if type(action).__module__.startswith(_THEIRS):
            conf = {**getattr(action, "conf", {}), **conf}
    return Rules(
        executors=_executors(rule_registry, conf) if rule_registry else None,
        actions=_actions(rule_registry, conf) if rule_registry else None,
        overrides=_overrides(rule_registry) if rule_registry else None,
        conf=conf,
        check=check,
        fail_fast=fail_fast,
    )


def _own(members: Any) -> list[Any]:
    return [each for each in members if not type(each).__module__.startswith(_THEIRS)]


def _executors(registry: Any, conf: Mapping[str, Any]) -> dict[str, AnyExecutor]:
    found: dict[str, AnyExecutor] = {}
    for each in _own(registry.get_executors()):
        each.configure({}, conf)
        found[each.type()] = _FieldExecutor(each) if hasattr(each, "new_transform") else _Executor(each)
    return found


def _actions(registry: Any, conf: Mapping[str, Any]) -> dict[str, Action]:
    found: dict[str, Action] = {}
    for each in _own(registry.get_actions()):
        each.configure({}, conf)
        found[each.type()] = _Action(each)
    return found


def _overrides(registry: Any) -> dict[str, Override]:
    return {each.type: Override(each.on_success, each.on_failure, each.disabled) for each in registry.get_overrides()}


class _Executor:
    """An executor of confluent-kafka's protocol."""

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def compile(self, scope: RuleScope) -> Script[Transform]:
        """Return the function that runs the rule."""
        yield from ()
        context = _context(scope)
        return lambda message: self._theirs.transform(context, message)

    def close(self) -> None:
        """Close it."""
        self._theirs.close()


class _FieldExecutor:
    """An executor for fields of confluent-kafka's protocol."""

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def compile_fields(self, scope: RuleScope) -> Script[FieldChanges]:
        """Return the function that compiles the rule for each field."""
        yield from ()
        context = _context(scope)
        transform = self._theirs.new_transform(context)

        def changes(field: SchemaField) -> Change:
            return lambda value, message: transform(context, _field_context(field, message), value)

        return changes

    def close(self) -> None:
        """Close it."""
        self._theirs.close()


class _Action:
    """An action of confluent-kafka's protocol."""

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def run(self, run: RuleRun) -> None:
        """Do it."""
        context = _context(run.scope)
        context.ser_ctx.headers = run.headers
        context.original_key, context.original_value = run.key, run.value
        self._theirs.run(context, run.value, run.error)

    def close(self) -> None:
        """Close it."""
        self._theirs.close()


def _context(scope: RuleScope) -> Any:
    """Return a context with the attributes of confluent-kafka's ``RuleContext``."""
    return SimpleNamespace(
        rule=scope.rule,
        rule_mode=scope.mode,
        rules=list(scope.rules),
        index=scope.index,
        subject=scope.subject,
        source=None,
        target=scope.schema,
        ser_ctx=SerializationContext(scope.topic, scope.field),
        get_parameter=scope.parameter,
        original_key=None,
        original_value=None,
    )


def _field_context(field: SchemaField, message: Any) -> Any:
    return SimpleNamespace(
        containing_message=message,
        full_name=field.full_name,
        name=field.name,
        field_type=field.type,
        tags=set(field.tags),
        is_primitive=lambda: field.type.is_primitive,
        type_name=lambda: field.type.value,
    )
