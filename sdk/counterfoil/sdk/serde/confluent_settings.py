"""The settings and rules of confluent-kafka's serializers, translated for programs that change to this SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde import SerializationContext
from counterfoil.sdk.serde.rules.settings import DEFAULT_RULES, Checked, Override, Rules
from counterfoil.sdk.subjects import Associated, Field, SubjectNaming, SubjectStrategy, function_named, strategy_named

if TYPE_CHECKING:
    from counterfoil.schema.datum import Datum
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


# Rules as programs for confluent-kafka configure them: its settings, and a registry of executors and actions.
#
# Executors and actions of confluent-kafka itself are replaced by those of this SDK, which need no registration. Those
# that a program wrote are called as they are, with a context that has the attributes of theirs.

_THEIRS: Final = ("confluent_kafka.", "counterfoil.sdk.confluent.rules.")
_PARTS: Final = ("get_executors", "get_actions", "get_overrides")


def rules_from_confluent(
    rule_conf: Mapping[str, Datum] | None, rule_registry: Any, *, check: Checked = None, fail_fast: bool = False
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


def _own(members: Datum) -> list[Datum]:
    return [each for each in members if not type(each).__module__.startswith(_THEIRS)]


def _executors(registry: Any, conf: Mapping[str, Datum]) -> dict[str, AnyExecutor]:
    found: dict[str, AnyExecutor] = {}
    for each in _own(registry.get_executors()):
        each.configure({}, conf)
        found[each.type()] = _FieldExecutor(each) if hasattr(each, "new_transform") else _Executor(each)
    return found


def _actions(registry: Any, conf: Mapping[str, Datum]) -> dict[str, Action]:
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


def _context(scope: RuleScope) -> Datum:
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


def _field_context(field: SchemaField, message: object) -> Datum:
    return SimpleNamespace(
        containing_message=message,
        full_name=field.full_name,
        name=field.name,
        field_type=field.type,
        tags=set(field.tags),
        is_primitive=lambda: field.type.is_primitive,
        type_name=lambda: field.type.value,
    )


# The settings of confluent-kafka's serializers, translated for programs that change to this SDK.
#
# Each setting is one :class:`ConfluentOption`, which reads its value; a format adds options of its own. A setting that
# has no counterpart is refused rather than ignored, unless its value is the behaviour of this SDK.
#
# Source: the configuration of the serializers and deserializers of confluent-kafka 2.16.

TheirRules: TypeAlias = "tuple[Mapping[str, Datum] | None, Datum]"
"""The arguments ``rule_conf`` and ``rule_registry`` of confluent-kafka's classes."""


class ConfluentOption(NamedTuple):
    """A setting: its ``name``, the function ``(name, value)`` that reads its value, and the value where it is not set.

    The function raises ``InvalidSettings``.
    """

    name: str
    read: Callable[[str, Datum], Datum]
    default: Datum = None


def flag(name: str, value: object) -> bool:
    """Read a setting that is True or False."""
    if not isinstance(value, bool):
        raise _misfit(name, value, "True or False")
    return value


def must_be(only: object, reason: str) -> Callable[[str, Datum], Datum]:
    """Return a reader of a setting with a single possible value, for the ``reason`` that its errors give."""

    def read(name: str, value: object) -> Datum:
        if getattr(value, "value", value) != only:
            raise InvalidSettings(f"{name} is {value!r}; {reason}, so it can only be {only!r}", setting=name)
        return only

    return read


def optional(read: Callable[[str, Datum], Datum]) -> Callable[[str, Datum], Datum]:
    """Return a reader that also accepts None."""
    return lambda name, value: None if value is None else read(name, value)


def function(name: str, value: object) -> Callable[..., Datum]:
    """Read a setting that is a function."""
    if not callable(value):
        raise _misfit(name, value, "a function")
    found: Callable[..., Datum] = value
    return found


def serializer_settings(
    conf: Mapping[str, object] | None, own: Sequence[ConfluentOption], rules: TheirRules
) -> tuple[dict[str, Datum], dict[str, Datum]]:
    """Return the arguments of every ``Serializer``, and the values of a format's ``own`` options by name.

    ``rules`` are ``rule_conf`` and ``rule_registry``. Raises ``InvalidSettings``, which names the setting.
    """
    found = _read(conf or {}, (*_WRITE, *own))
    check, fail_fast = found["validation.rules.execution"], found["validation.rules.fail.fast"]
    neutral = {
        "subject": _subject(found),
        "register": _register(found),
        "normalize": found["normalize.schemas"],
        "id_location": found["schema.id.serializer"],
        "rules": rules_from_confluent(*rules, check=check, fail_fast=fail_fast),
    }
    return neutral, {option.name: found[option.name] for option in own}


def deserializer_settings(
    conf: Mapping[str, object] | None, own: Sequence[ConfluentOption], rules: TheirRules
) -> tuple[dict[str, Datum], dict[str, Datum]]:
    """Return the arguments of every ``Deserializer``, and the values of a format's ``own`` options by name.

    ``rules`` are ``rule_conf`` and ``rule_registry``. Raises ``InvalidSettings``, which names the setting.
    """
    found = _read(conf or {}, (*_READ, *own))
    metadata = found["use.latest.with.metadata"]
    neutral = {
        "subject": _subject(found),
        "latest": found["use.latest.version"] if metadata is None else {"metadata": metadata},
        "id_location": found["schema.id.deserializer"],
        "rules": rules_from_confluent(*rules),
    }
    return neutral, {option.name: found[option.name] for option in own}


def _read(conf: Mapping[str, object], options: Sequence[ConfluentOption]) -> dict[str, Datum]:
    known = {option.name for option in options}
    for name in conf:
        if name not in known:
            raise InvalidSettings(f"{name} is not known, or has no counterpart here", setting=name)
    return {option.name: option.read(option.name, conf.get(option.name, option.default)) for option in options}


def _misfit(name: str, value: object, expected: str) -> InvalidSettings:
    return InvalidSettings(f"{name} is {value!r}; expected {expected}", setting=name)


# --- readers of single settings ------------------------------------------------------------------------------------


def _schema_id(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _misfit(name, value, "a schema id")
    return value


def _properties(name: str, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise _misfit(name, value, "a dict of metadata properties")
    return dict(value)


def _one_of(location_by_function: Mapping[str, str]) -> Callable[[str, Datum], str]:
    """Return a reader of one of Confluent's functions, by its name, so that their package is not imported."""

    def read(name: str, value: object) -> str:
        found = value if isinstance(value, str) else getattr(value, "__name__", repr(value))
        if found not in location_by_function:
            raise _misfit(name, value, " or ".join(location_by_function))
        return location_by_function[found]

    return read


def _execution(name: str, value: object) -> Checked:
    """Read when inline rules are checked."""
    checks: dict[Datum, Checked] = {"DISABLED": None, "BEFORE_DOMAIN_RULES": "before", "AFTER_DOMAIN_RULES": "after"}
    found = getattr(value, "value", value)
    if found not in checks:
        raise _misfit(name, value, " or ".join(checks))
    return checks[found]


def _strategy_type(name: str, value: object) -> SubjectNaming:
    text = getattr(value, "value", value)
    if not isinstance(text, str):
        raise _misfit(name, value, "TOPIC, RECORD, TOPIC_RECORD or ASSOCIATED")
    return strategy_named(text.upper())


def _associations(name: str, value: object) -> Associated:
    """Read the settings of the strategy ASSOCIATED, a dict in the dict."""
    if not isinstance(value, Mapping):
        raise _misfit(name, value, "a dict")
    rest = dict(value)
    cluster_id = rest.pop(_CLUSTER_ID, None)
    if cluster_id is not None and not isinstance(cluster_id, str):
        raise _misfit(_CLUSTER_ID, cluster_id, "the id of a Kafka cluster")
    fallback = rest.pop(_FALLBACK, None)
    if rest:
        raise InvalidSettings(f"{name} has {next(iter(rest))!r}; known are {_CLUSTER_ID} and {_FALLBACK}", setting=name)
    return Associated(_fallback(fallback), cluster_id or None)


def _fallback(value: object) -> SubjectStrategy | None:
    text = str(getattr(value, "value", value)).upper() if value is not None else "TOPIC"
    if text == "NONE":
        return None
    return function_named(text, "NONE")


# --- combinations --------------------------------------------------------------------------------------------------


def _subject(found: Mapping[str, Datum]) -> SubjectNaming:
    theirs = found["subject.name.strategy"]
    associated: Associated = found["subject.name.strategy.conf"]
    if theirs is not None:
        return associated if type(theirs).__name__ == "AssociatedNameStrategy" else _adapted(theirs)
    named: SubjectNaming | None = found["subject.name.strategy.type"]
    return associated if named is None or isinstance(named, Associated) else named


def _adapted(theirs: Callable[..., str]) -> SubjectStrategy:
    """Return a strategy of confluent-kafka, ``(ctx, record_name)``, as a strategy of this SDK."""

    def strategy(topic: str | None, field: Field, record_name: str | None) -> str:
        return theirs(SimpleNamespace(topic=topic, field=field, headers=None), record_name)

    return strategy


def _register(found: Mapping[str, object]) -> str | dict[str, Datum]:
    is_latest, is_auto = found["use.latest.version"], found["auto.register.schemas"]
    if is_latest and is_auto:
        problem = "use.latest.version and auto.register.schemas exclude each other; set auto.register.schemas to False"
        raise InvalidSettings(problem, setting="use.latest.version")
    if found["use.schema.id"] is not None:
        return {"id": found["use.schema.id"]}
    if found["use.latest.with.metadata"] is not None:
        return {"metadata": found["use.latest.with.metadata"]}
    if is_latest:
        return "latest"
    return "auto" if is_auto else "lookup"


_CLUSTER_ID: Final = "subject.name.strategy.kafka.cluster.id"
_FALLBACK: Final = "subject.name.strategy.fallback.type"

_BOTH: Final = (
    ConfluentOption("use.latest.version", flag, default=False),
    ConfluentOption("use.latest.with.metadata", optional(_properties)),
    ConfluentOption("subject.name.strategy", optional(function)),
    ConfluentOption("subject.name.strategy.type", optional(_strategy_type)),
    ConfluentOption("subject.name.strategy.conf", lambda name, value: _associations(name, value or {})),
)
_LOCATION_WRITTEN: Final = {"prefix_schema_id_serializer": "prefix", "header_schema_id_serializer": "header"}
_LOCATION_READ: Final = {"dual_schema_id_deserializer": "any", "prefix_schema_id_deserializer": "prefix"}
_WRITE: Final = (
    *_BOTH,
    ConfluentOption("auto.register.schemas", flag, default=True),
    ConfluentOption("normalize.schemas", flag, default=False),
    ConfluentOption("use.schema.id", optional(_schema_id)),
    ConfluentOption("schema.id.serializer", _one_of(_LOCATION_WRITTEN), default="prefix_schema_id_serializer"),
    ConfluentOption("validation.rules.execution", _execution, default="DISABLED"),
    ConfluentOption("validation.rules.fail.fast", flag, default=False),
    ConfluentOption("validation.rules.executor", must_be(None, "this SDK evaluates inline rules in CEL itself")),
)
_READ: Final = (
    *_BOTH,
    ConfluentOption("schema.id.deserializer", _one_of(_LOCATION_READ), default="dual_schema_id_deserializer"),
)
