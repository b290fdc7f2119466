"""The rules of one list of a schema, compiled for a subject and a mode, with the built-in actions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from counterfoil.schema.datum import Datum
from counterfoil.sdk.errors import (
    EncryptionError,
    NotEncrypted,
    RegistryUnavailable,
    RuleConditionFailed,
    RuleError,
    SchemaNotCached,
    SerdeError,
)
from counterfoil.sdk.serde import MessageContext, field_of, headers_of, read_header
from counterfoil.sdk.serde.rules.protocol import (
    Action,
    Change,
    FieldExecutor,
    PlaceExecutor,
    Redact,
    RedactKey,
    RuleMode,
    RulePhase,
    RuleRun,
    RuleScope,
    SchemaField,
    Transform,
)
from counterfoil.sdk.serde.rules.settings import Rules, kept_key
from counterfoil.sdk.serde.rules.values import Aim, DecidesByTexts, MessageBeforeRules, RuleValues

if TYPE_CHECKING:
    from counterfoil.schema.model import Rule, RuleSet, Schema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.sources import RegistrySource
    from counterfoil.sdk.subjects import Field


# The rules of one list of a schema, compiled for a subject and a mode: a function from message to message.

_LOG: Final = logging.getLogger(__name__)

RULE_NAME_HEADER: Final = "__rule.name"
"""The header of a record of a dead letter topic that names the rule that failed; that rule is not run again."""

_BOTH_BY_MODE: Final = {
    RuleMode.WRITE: "WRITEREAD",
    RuleMode.READ: "WRITEREAD",
    RuleMode.UPGRADE: "UPDOWN",
    RuleMode.DOWNGRADE: "UPDOWN",
}
_SECOND: Final = (RuleMode.READ, RuleMode.DOWNGRADE)
"""The modes of the second action of a pair ``onSuccess: "A,B"``; their rules run in reverse order."""
_AIMS: Final = {RuleMode.WRITE: Aim.ENCRYPT, RuleMode.READ: Aim.DECRYPT}
_IN_CLIENTS: Final = (None, "ALL", "CLIENT")

Marked: TypeAlias = "Callable[[Datum, frozenset[str] | None], list[Datum] | None]"
"""Returns the values in a message that tags mark, for None as the tags all; None if they are not known."""


@dataclass(frozen=True, slots=True)
class RulePlace:
    """Where rules run: whose messages, and with whose executors."""

    subject: str
    topic: str | None
    field: Field
    source: RegistrySource
    settings: Rules


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """The record whose value runs through the rules, as actions see it."""

    key: Datum
    value: Datum
    headers: Datum
    redact_key: RedactKey | None = None

    @classmethod
    def of(cls, ctx: MessageContext | None, value: object) -> RuleRecord:
        """Return the record of a call, with the key that was serialized before its value."""
        if field_of(ctx) == "key":
            return cls(value, None, headers_of(ctx))
        key, redact_key = kept_key(ctx)
        return cls(key, value, headers_of(ctx), redact_key)

    @property
    def rule_to_skip(self) -> str | None:
        """The rule that failed for this record before, if it comes from a dead letter topic."""
        named = read_header(self.headers, RULE_NAME_HEADER) if self.headers else None
        return None if named is None else named.decode(errors="replace")


@dataclass(frozen=True, slots=True)
class _Compiled:
    scope: RuleScope
    apply: Transform
    on_success: Action | None
    on_failure: Action | None
    after: Callable[[Datum, MessageBeforeRules], Datum] | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """Rules that run one after the other.

    A failed rule quotes nothing that tags of rules ENCRYPT mark: neither the error, nor a dead letter.
    """

    rules: tuple[_Compiled, ...]
    redact: Redact
    marked: Marked

    def run(self, message: object, record: RuleRecord) -> Datum:
        """Return the message after all rules. Raises ``RuleError`` and ``RegistryUnavailable``."""
        skipped = record.rule_to_skip
        before = MessageBeforeRules(message)
        for each in self.rules:
            if skipped is not None and each.scope.rule.name == skipped:
                continue
            result, error = _outcome(each, message, before)
            if error is None:
                self._act(each, each.on_success, None, record, message)
                message = result
                continue
            self._act(each, each.on_failure, error, record, message)
            if isinstance(error, NotEncrypted):
                refuse_rule(each.scope.rule, error)  # whatever the action is: the message would be plain text
        return message

    def _act(
        self, each: _Compiled, action: Action | None, error: Exception | None, record: RuleRecord, message: object
    ) -> None:
        if action is None:
            return

        def marked(tags: frozenset[str] | None) -> list[Datum] | None:
            return self.marked(message, tags)

        try:
            action.run(
                RuleRun(
                    each.scope, error, record.key, record.value, record.headers, self.redact, record.redact_key, marked
                )
            )
        except RuleError as raised:
            quote_nothing(raised, each.scope.rule_set, marked)
            raise
        except Exception as failure:
            problem = f"An action after the rule {each.scope.rule.name!r} failed: {failure}"
            raise RuleError(problem, rule=each.scope.rule.name) from failure


def _outcome(each: _Compiled, message: object, before: MessageBeforeRules) -> tuple[Datum, Exception | None]:
    """Return the message after a rule, or the error of the rule.

    The error is handled by the caller, so that it is no context of errors of actions, which are logged.
    """
    try:
        return _applied(each, message, before), None
    except (SchemaNotCached, RegistryUnavailable):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a rule raises is its failure
        return None, error


def _applied(each: _Compiled, message: object, before: MessageBeforeRules) -> Datum:
    result = each.apply(message) if each.after is None else each.after(message, before)
    if each.scope.is_condition:
        if not result:
            raise condition_failed(each.scope.rule)
        return message
    if result is None:
        raise RuleError("the rule returned null", rule=each.scope.rule.name)
    return result


def refuse_rule(rule: Rule, error: EncryptionError) -> NoReturn:
    """Raise ``RuleError`` for a rule that must not be passed over."""
    raise RuleError(f"The rule {rule.name!r} failed: {error}", rule=rule.name, action="ERROR") from error


def condition_failed(rule: Rule, path: str | None = None) -> RuleConditionFailed:
    """Return the error for a message that does not meet a condition."""
    reason = rule.doc or (f"Rule expr failed: {rule.expr}" if rule.expr else f"Rule failed: {rule.name}")
    return RuleConditionFailed(reason, path=path, rule=rule.name)


def compile_stage(
    schema: Schema, mode: RuleMode, phase: RulePhase, place: RulePlace, values: RuleValues | None
) -> Script[Stage | None]:
    """Return the rules of a schema's list that run in this mode; None if there are none.

    ``values`` are those of the schema that the messages have; None for bytes. Raises ``RuleError``, such as
    ``RuleTypeMissing``, for a rule that cannot be run.
    """
    ordered = ordered_rules(schema, mode, phase)
    compiled: list[_Compiled] = []
    for index, rule in enumerate(ordered):
        if not runs(rule, schema, mode, place.settings):
            continue
        scope = RuleScope(
            rule=rule,
            mode=mode,
            phase=phase,
            subject=place.subject,
            topic=place.topic,
            field=place.field,
            schema=schema,
            rules=ordered,
            index=index,
            conf=place.settings.conf,
            source=place.source,
        )
        try:
            compiled.append((yield from _compile_rule(scope, place.settings, values)))
        except RuleError as error:
            error.rule = error.rule or rule.name
            error.problem = f"The rule {rule.name!r} of the schema cannot be run: {error.problem}"
            raise
    seen = values if phase is RulePhase.DOMAIN else None
    return Stage(tuple(compiled), redaction(values, mode), marking(seen)) if compiled else None


def has_rules(schema: Schema | None, mode: RuleMode, phase: RulePhase, settings: Rules) -> bool:
    """Return whether any rule of a schema's list runs in this mode."""
    return schema is not None and any(runs(rule, schema, mode, settings) for rule in ordered_rules(schema, mode, phase))


def ordered_rules(schema: Schema, mode: RuleMode, phase: RulePhase) -> tuple[Rule, ...]:
    """Return a list of a schema's rules in the order in which they run: reversed for reading and downgrading."""
    if schema.rule_set is None:
        return ()
    rules = {
        RulePhase.DOMAIN: schema.rule_set.domain_rules,
        RulePhase.ENCODING: schema.rule_set.encoding_rules,
        RulePhase.MIGRATION: schema.rule_set.migration_rules,
    }[phase]
    return rules[::-1] if mode in _SECOND else rules


def runs(rule: Rule, schema: Schema, mode: RuleMode, settings: Rules) -> bool:
    """Return whether a rule runs in this mode, in clients, and is not disabled."""
    if rule.mode not in (mode.value, _BOTH_BY_MODE[mode]):
        return False
    overridden = settings.override(rule.type or "").disabled
    if overridden is not None:
        return not overridden
    enabled_at = schema.rule_set.enable_at if schema.rule_set is not None else None
    return enabled_at in _IN_CLIENTS and not rule.disabled


def _compile_rule(scope: RuleScope, settings: Rules, values: RuleValues | None) -> Script[_Compiled]:

    rule_type = (scope.rule.type or "").upper()
    if not rule_type:
        raise RuleError("it has no type")
    executor = settings.executor(rule_type)
    apply: Transform
    if isinstance(executor, FieldExecutor):
        if values is None or scope.phase is RulePhase.MIGRATION:
            raise RuleError(f"rules of the type {rule_type} change fields, and are domain rules only")
        apply = yield from _compile_fields(scope, executor, values)
    else:
        apply = yield from executor.compile(scope)
    override = settings.override(rule_type)
    on_success = _action_name(scope, override.on_success or scope.rule.on_success) or "NONE"
    on_failure = _action_name(scope, override.on_failure or scope.rule.on_failure) or "ERROR"
    after = apply.after if isinstance(apply, DecidesByTexts) else None
    return _Compiled(scope, apply, action_named(on_success, settings), action_named(on_failure, settings), after)


def _compile_fields(scope: RuleScope, executor: FieldExecutor, values: RuleValues) -> Script[Transform]:
    if _repeats(scope):
        return lambda message: message
    wanted = frozenset(scope.rule.tags)
    if isinstance(executor, PlaceExecutor):
        executor.check_places(scope, _wanted(values.places(), wanted))
    _check_paths(scope, values, refuses=isinstance(executor, PlaceExecutor))
    changes = yield from executor.compile_fields(scope)

    def tagged(field: SchemaField) -> Change | None:
        found = next(_wanted((field,), wanted), None)
        change = None if found is None else changes(found)
        return _condition_on(scope.rule, field, change) if change is not None and scope.is_condition else change

    aim = _AIMS.get(scope.mode, Aim.CHANGE) if isinstance(executor, PlaceExecutor) else Aim.CHANGE
    apply = values.fields(tagged, tags=wanted, aim=aim)
    return _holding(apply) if scope.is_condition else apply


def _check_paths(scope: RuleScope, values: RuleValues, *, refuses: bool) -> None:
    """Warn of paths of the metadata that assign tags of a rule to nothing.

    With ``refuses``, raise ``RuleError`` for one without wildcards when messages are written: a field of a similar name
    would be plain text.
    """
    if scope.mode is not RuleMode.WRITE:
        return
    for each in values.unnamed_paths():
        if not set(each.tags) & set(scope.rule.tags):
            continue
        if refuses and each.is_exact:
            raise RuleError(f"{each.text}; correct or remove the path", rule=scope.rule.name)
        _LOG.warning("The rule %r of %s: %s", scope.rule.name, scope.subject, each.text)


def _wanted(fields: Iterable[SchemaField], wanted: frozenset[str]) -> Iterator[SchemaField]:
    """Yield the fields that have one of the tags; without tags all, but no names of properties."""
    for field in fields:
        if not wanted and not field.is_key:
            yield field
        elif wanted & field.tags:
            is_known = bool(wanted & field.known_tags) and not field.is_beyond
            yield field if is_known else replace(field, is_beyond=True)


def _holding(check: Transform) -> Transform:
    def holds(message: object) -> bool:
        check(message)
        return True

    return holds


def _condition_on(rule: Rule, field: SchemaField, holds: Change) -> Change:
    def check(value: object, message: object) -> Datum:
        if not holds(value, message):
            raise condition_failed(rule, field.full_name)
        return value

    return check


def _repeats(scope: RuleScope) -> bool:
    """Return whether another rule changes the same fields: of such rules, the first in the schema's order runs."""
    others = scope.rules[scope.index + 1 :] if scope.mode in _SECOND else scope.rules[: scope.index]
    return not scope.is_condition and any(_is_equal(scope.rule, other) for other in others)


def _is_equal(rule: Rule, other: Rule) -> bool:
    return bool(rule.tags) and (
        (rule.kind, rule.mode, rule.type, frozenset(rule.tags))
        == (other.kind, other.mode, other.type, frozenset(other.tags))
    )


def _action_name(scope: RuleScope, name: str | None) -> str | None:
    """Return the action of this mode; rules of two modes may have a pair, the first for writing and upgrading."""
    if not name or "," not in name or scope.rule.mode not in _BOTH_BY_MODE.values():
        return name
    pair: Sequence[str] = name.split(",")
    return pair[1 if scope.mode in _SECOND else 0].strip()


def redaction(values: RuleValues | None, mode: RuleMode) -> Redact:
    """Return the function that removes values from records; records that are read are bytes, which stay as they are."""

    def redact(value: object, tags: frozenset[str] | None, /, found: list[Datum] | None = None) -> Datum:
        from counterfoil.sdk.serde.rules.values import Hiding

        if values is None or tags == frozenset() or mode is not RuleMode.WRITE:
            return value
        return values.redacted(value, Hiding(tags, found))

    return redact


def marking(values: RuleValues | None) -> Marked:
    """Return the finder, in messages as rules see them, of the values that tags mark; for None as the tags, all."""

    def marked(message: object, tags: frozenset[str] | None) -> list[Datum] | None:
        from counterfoil.sdk.serde.rules.values import Hiding

        found: list[Datum] = []
        if values is None:
            return None
        if tags != frozenset():
            try:
                values.redacted(message, Hiding(tags, found))
            except Exception:  # noqa: BLE001 - what is no value of the schema may have everything anywhere
                return [*message.values()] if isinstance(message, dict) else [message]
        return found

    return marked


def quote_nothing(
    error: SerdeError, rule_set: RuleSet | None, marked: Callable[[frozenset[str] | None], list[Datum] | None]
) -> None:
    """Remove from an error the values that tags of rules ENCRYPT mark; ``marked`` returns them, if they are known.

    Errors of encryption contain no values.
    """
    if isinstance(error.__cause__, EncryptionError):
        return
    from counterfoil.sdk.serde.rules.values import FIELDS, tags_to_hide, without_values

    tags = tags_to_hide(rule_set, FIELDS)
    if tags != frozenset():
        without_values(error, marked(tags) or [])


# The built-in actions: NONE does nothing, ERROR raises the rule's error, DLQ is in ``dlq``.


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
