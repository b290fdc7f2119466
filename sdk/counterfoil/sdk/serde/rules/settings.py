"""What a program decides about rules: executors, actions, overrides, settings, validation; the keys of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypeVar
from weakref import WeakSet

from counterfoil.schema.errors import MissingExtra, needed_by
from counterfoil.sdk.errors import InvalidSettings, RuleTypeMissing
from counterfoil.sdk.processes import PickledByArguments
from counterfoil.sdk.serde import MessageContext, field_of, topic_of

if TYPE_CHECKING:
    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.serde.rules.protocol import Action, AnyExecutor, RedactKey


# The key of a record, kept for the rules of its value: an action may send both to a dead letter topic.
#
# Serializers see keys and values in separate calls, the key first, in one thread or task. Keeping a key takes time for
# every record, so that it is done only once an action that needs keys was made.

_KEPT: ContextVar[tuple[str | None, Datum, RedactKey | None] | None] = ContextVar(
    "counterfoil_record_key", default=None
)


class KeepsKeys(Protocol):
    """A serializer or deserializer whose shortest way keeps no keys."""

    def forget_short_ways(self) -> None:
        """Use the way that keeps keys for every record, from now on."""


class _Need:
    """Whether any action of this process needs keys, and who must know."""

    def __init__(self) -> None:
        self.is_there = False
        self._serdes: WeakSet[Any] = WeakSet()

    def join(self, serde: KeepsKeys) -> None:
        """Let a serializer or deserializer know when keys are needed."""
        self._serdes.add(serde)

    def begin(self) -> None:
        """Keep the keys of all records from now on."""
        self.is_there = True
        for serde in list(self._serdes):
            serde.forget_short_ways()


NEED: Final = _Need()


def keep(ctx: MessageContext | None, key: object, redact: RedactKey | None = None) -> None:
    """Keep a key for the value of the same record; after a value, forget its key.

    ``redact`` removes from the key the parts that the rules of its schema encrypt.
    """
    _KEPT.set((topic_of(ctx), key, redact) if field_of(ctx) == "key" else None)


def kept_key(ctx: MessageContext | None) -> tuple[Datum, RedactKey | None]:
    """Return the key of the record of ``ctx`` and its redaction; None if it was not serialized before its value."""
    kept = _KEPT.get()
    return kept[1:] if kept is not None and kept[0] == topic_of(ctx) else (None, None)


# What a program decides about rules: executors, actions, overrides, settings, and when values are validated.

T = TypeVar("T")

EXECUTOR_GROUP: Final = "counterfoil.rule_executors"
ACTION_GROUP: Final = "counterfoil.rule_actions"

Checked: TypeAlias = Literal["before", "after"] | None
"""When inline rules (``confluent:rules``) are checked on writing: before or after the domain rules, or never."""


@dataclass(frozen=True, slots=True)
class Override:
    """The differences from the schema for all rules of one type: their actions, and whether they run.

    With ``disabled=False`` the rules run even if the schema disables them.
    """

    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool | None = None


class Rules(PickledByArguments):
    """How serializers and deserializers run rules.

    ``executors`` and ``actions``, by type, are used before those that are installed: entry points of the groups
    ``counterfoil.rule_executors`` and ``counterfoil.rule_actions``, each loaded when a schema first names it.
    ``overrides`` are by type of rules. ``conf`` are the settings that executors and actions read, such as
    ``dlq.topic``. ``check`` is when inline rules are checked on writing; ``fail_fast`` stops at the first violation.

    One object can be used by several serializers; :meth:`close` closes its executors and actions. A pickle of it has
    ``conf``, with the secrets in it.
    """

    def __init__(
        self,
        *,
        executors: Mapping[str, AnyExecutor] | None = None,
        actions: Mapping[str, Action] | None = None,
        overrides: Mapping[str, Override] | None = None,
        conf: Mapping[str, object] | None = None,
        check: Checked = None,
        fail_fast: bool = False,
    ) -> None:
        if check not in (None, "before", "after"):
            raise InvalidSettings(f"check is {check!r}; expected 'before', 'after' or None", setting="check")
        for name, given in {"executors": executors, "actions": actions, "overrides": overrides, "conf": conf}.items():
            if given is not None and not isinstance(given, Mapping):
                raise InvalidSettings(f"{name} is a {type(given).__name__}; expected a dict", setting=name)
        for name, each in (overrides or {}).items():
            if not isinstance(each, Override):
                problem = f"overrides[{name!r}] is a {type(each).__name__}; expected an Override"
                raise InvalidSettings(problem, setting="overrides")
        self.conf: Mapping[str, Datum] = dict(conf or {})
        self.check = check
        self.fail_fast = fail_fast
        self._overrides = dict(overrides or {})
        self._executors: dict[str, AnyExecutor] = dict(executors or {})
        self._actions: dict[str, Action] = dict(actions or {})
        self._lock = Lock()
        if any(name == "producer" or name.startswith("dlq.") for name in self.conf):
            NEED.begin()

    def __repr__(self) -> str:
        """Return the settings that differ from the defaults; of ``conf``, which may hold a password, only names."""
        named = {
            "conf": sorted(self.conf),
            "overrides": sorted(self._overrides),
            "check": self.check,
            "fail_fast": self.fail_fast,
        }
        return f"Rules({', '.join(f'{name}={value!r}' for name, value in named.items() if value)})"

    def override(self, rule_type: str) -> Override:
        """Return the differences for rules of a type."""
        return self._overrides.get(rule_type) or _NO_OVERRIDE

    def executor(self, rule_type: str) -> AnyExecutor:
        """Return the executor of a type of rules. Raises ``RuleTypeMissing``."""
        with self._lock:
            return _named(self._executors, rule_type, EXECUTOR_GROUP, "the rule type")

    def action(self, name: str) -> Action:
        """Return the action of this name. Raises ``RuleTypeMissing``."""
        with self._lock:
            return _named(self._actions, name, ACTION_GROUP, "the action")

    def close(self) -> None:
        """Close the actions, then the executors; those that are installed are loaded again when they are needed."""
        with self._lock:
            held = [*self._actions.values(), *self._executors.values()]
            self._actions, self._executors = {}, {}
        for each in held:
            each.close()


_NO_OVERRIDE: Final = Override()


def _named(known: dict[str, T], name: str, group: str, what: str) -> T:
    found = known.get(name)
    if found is None:
        found = known[name] = _installed(name, group, what, known)
    return found


def _installed(name: str, group: str, what: str, known: Iterable[str]) -> Datum:
    from importlib import metadata

    entries = metadata.entry_points(group=group)
    entry = next(iter(entries.select(name=name)), None)
    if entry is None:
        names = ", ".join(sorted({*known, *(each.name for each in entries)})) or "none"
        raise RuleTypeMissing(f"Nothing is installed for {what} {name!r}; known are {names}")
    try:
        with needed_by(f"{what[0].upper()}{what[1:]} {name!r}", extra=next(iter(entry.extras), None)):
            return entry.load()()
    except MissingExtra as missing:
        raise RuleTypeMissing(str(missing)) from missing


def chosen_rules(rules: Rules) -> Rules:
    """Return the argument ``rules`` of a serializer; raise ``InvalidSettings`` if it is not ``Rules``."""
    if not isinstance(rules, Rules):
        problem = f"rules is a {type(rules).__name__}; expected Rules of counterfoil.sdk, such as Rules(conf={{…}})"
        raise InvalidSettings(problem, setting="rules")
    return rules


DEFAULT_RULES: Final = Rules()
"""What is used where a program decides nothing: everything that is installed."""
