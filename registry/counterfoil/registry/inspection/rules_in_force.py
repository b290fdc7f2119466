"""The settings in force for a subject with the scope that sets each, and those of wider scopes that do not apply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final

from counterfoil.registry.access.resources import AccessOperation, scope_resource
from counterfoil.registry.access.rights import Viewer
from counterfoil.registry.changes.as_of import EVER
from counterfoil.registry.store.changes import JournalChange, JournalChangeKind
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.subjects.levels import INHERITED_SETTINGS, level_of, wider_levels
from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, QualifiedSubject
from counterfoil.schema.rest.inspection import RuleInForce
from counterfoil.schema.rest.subjects import CONFIG_KEYS, Config, Mode, config_document

_MODE: Final = "mode"
_OWN_ENTRY: Final = "this subject has settings of its own, and takes this key from no other scope"
_NARROWER: Final = "a narrower scope sets it"


@dataclass(frozen=True, slots=True)
class ScopeLevel:
    """A scope with what is stored for it, and the change that stored it.

    ``is_shown``: the caller may read the settings of the scope; ``shows_author``: it may know who changed them.
    """

    scope: QualifiedSubject
    config: Config | None
    mode: Mode | None
    change: JournalChange | None
    is_shown: bool
    shows_author: bool


async def scope_levels(storage: Storage, subject: QualifiedSubject, *, viewer: Viewer) -> list[ScopeLevel]:
    """Return the scopes whose settings may be in force for a subject, from the narrowest one on."""
    scopes = dict.fromkeys((subject, *wider_levels(subject), TOP_LEVEL))
    return [await _level(storage, scope, viewer=viewer) for scope in scopes]


async def _level(storage: Storage, scope: QualifiedSubject, *, viewer: Viewer) -> ScopeLevel:
    stored = await storage.settings(scope)
    resource = scope_resource(scope)
    change = None
    if stored.config is not None or stored.mode is not None:
        changes = await storage.changes_of(scope, EVER, kind=JournalChangeKind.SETTINGS, newest=1)
        change = changes[-1] if changes else None
    return ScopeLevel(
        scope,
        stored.config,
        stored.mode,
        change,
        is_shown=viewer.may(AccessOperation.DESCRIBE_CONFIGS, resource),
        shows_author=viewer.may(AccessOperation.READ, resource),
    )


def rules_in_force(levels: Sequence[ScopeLevel]) -> tuple[RuleInForce, ...]:
    """Return the settings in force, and those that are set elsewhere and do not apply.

    ``levels`` are those of :func:`scope_levels`. Of scopes whose settings the caller may not read, only that something
    is inherited is shown.
    """
    own = levels[0]
    if not own.is_shown:
        return ()
    return tuple(rule for field in fields(Config) for rule in _config_rules(levels, field.name)) + tuple(
        _mode_rules(levels)
    )


def _config_rules(levels: Sequence[ScopeLevel], name: str) -> Iterator[RuleInForce]:
    """Yield the rule of a config's field that is in force, and those that do not apply."""
    own = levels[0]
    holders = [each for each in levels if each.config is not None and getattr(each.config, name) is not None]
    source = _source(levels, name)
    if source is None:
        default = _DEFAULTS.get(name)
        if default is not None:
            yield RuleInForce(CONFIG_KEYS[name], json.dumps(default), why="the default of the server")
    else:
        why = "set here" if source is own else f"from {_in_words(source.scope)}"
        if source is not own and own.config is not None:
            why += ", since it is left open here"
        yield _rule(source, CONFIG_KEYS[name], _text(source, name), why=why)
    for each in holders:
        if each is not source and each.is_shown:
            why = _why_not(levels, each, name)
            yield _rule(each, CONFIG_KEYS[name], _text(each, name), applies=False, why=why)


def _source(levels: Sequence[ScopeLevel], name: str) -> ScopeLevel | None:
    """Return the scope that gives a field of the config in force; None if it is set nowhere that counts."""
    own = levels[0]
    if own.config is None:
        first = next((each for each in _wider(levels) if each.config is not None), None)
        return first if first is not None and getattr(first.config, name) is not None else None
    if getattr(own.config, name) is not None:
        return own
    top = next(each for each in levels if each.scope == TOP_LEVEL)
    is_inherited = name in INHERITED_SETTINGS and own.scope not in {TOP_LEVEL, GLOBAL_LEVEL}
    return top if is_inherited and top.config is not None and getattr(top.config, name) is not None else None


def _wider(levels: Sequence[ScopeLevel]) -> list[ScopeLevel]:
    """Return the scopes from which a scope without an entry takes its config, the narrowest first."""
    return [each for each in levels if each.scope in wider_levels(levels[0].scope)]


def _why_not(levels: Sequence[ScopeLevel], level: ScopeLevel, name: str) -> str:
    """Return why the setting of a wider scope does not apply."""
    own = levels[0]
    if own.config is not None:
        return _OWN_ENTRY if getattr(own.config, name) is None else _NARROWER
    first = next((each for each in _wider(levels) if each.config is not None), None)
    if first is None or level.scope not in wider_levels(own.scope):
        return "the top level counts for subjects of other contexts only where they have settings of their own"
    return f"{_in_words(first.scope)} has settings, and they count as a whole"


def _mode_rules(levels: Sequence[ScopeLevel]) -> Iterator[RuleInForce]:
    """Yield the mode that is in force, and those that do not apply."""
    own = levels[0]
    holders = [each for each in (own, *_wider(levels)) if each.mode is not None]
    if not holders:
        yield RuleInForce(_MODE, json.dumps(Mode.READWRITE.value), why="the default of the server")
    for number, each in enumerate(holders):
        if number == 0:
            why = "set here" if each is own else f"from {_in_words(each.scope)}"
            yield _rule(each, _MODE, json.dumps(each.mode), why=why)
        elif each.is_shown:
            yield _rule(each, _MODE, json.dumps(each.mode), applies=False, why=_NARROWER)


def _rule(level: ScopeLevel, key: str, value: str, *, why: str, applies: bool = True) -> RuleInForce:
    if not level.is_shown:
        return RuleInForce(key, value, why="from a wider scope")
    change = level.change
    return RuleInForce(
        key,
        value,
        str(level.scope),
        applies,
        why,
        None if change is None else change.seq,
        None if change is None else change.ts,
        change.author if change is not None and level.shows_author else None,
    )


def _text(level: ScopeLevel, name: str) -> str:
    """Return a field of a scope's config as a JSON text."""
    assert level.config is not None  # noqa: S101 - it has the field
    return json.dumps(config_document(level.config)[CONFIG_KEYS[name]], ensure_ascii=False)


def _in_words(scope: QualifiedSubject) -> str:
    if scope == TOP_LEVEL:
        return "the top level"
    return "the global level" if scope == GLOBAL_LEVEL else f"context {scope.context}"


_DEFAULTS: Final = {
    "compatibility_level": level_of(Config()).value,
    "compatibility_policy": CompatibilityPolicy.STRICT.value,
}
"""What is in force for a key that is set nowhere."""
