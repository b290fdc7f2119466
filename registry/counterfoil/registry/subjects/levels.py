"""Levels, modes and aliases: those in force for a subject; reading, setting and deleting them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Final

from counterfoil.registry.store.changes import ScopeSettings
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import Extent, Requester, together
from counterfoil.registry.subjects.planning import plan_purge, plan_settings
from counterfoil.registry.subjects.versions import check_name, check_rule_set
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, RegistrationPolicy, rules_policy
from counterfoil.schema.contexts import DEFAULT_CONTEXT, GLOBAL_LEVEL, TOP_LEVEL, QualifiedSubject, parse_subject
from counterfoil.schema.errors import ConfigNotFound, InvalidMode, ModeNotFound, OperationNotPermitted, SubjectNotFound
from counterfoil.schema.rest.subjects import Config, IncompatibleVersions, Mode

# What a config asks of the schemas in its scope, and which of several levels' configs is in force.
#
# Source: Confluent Schema Registry's public API; the rules of falling back are those that its clients observe.

DEFAULT_LEVEL: Final = CompatibilityLevel.BACKWARD


def level_of(config: Config) -> CompatibilityLevel:
    """Return the level that applies: the stored one, else the server's default."""
    return config.compatibility_level or DEFAULT_LEVEL


def policy_of(config: Config) -> CompatibilityPolicy:
    """Return the policy by whose rules schemas are compared: the stored one, else Confluent's default."""
    return rules_policy(config.compatibility_policy or CompatibilityPolicy.STRICT)


def is_decided_by_consumers(config: Config) -> bool:
    """Return whether the consumers that are known decide on a registration, and not the level."""
    return config.compatibility_policy == RegistrationPolicy.CONSUMERS


def permits_bridged(config: Config) -> bool:
    """Return whether an incompatible version may be registered if a bridge converts it to the latest one."""
    return config.incompatible_versions is IncompatibleVersions.BRIDGED


def is_merged(config: Config) -> bool:
    """Return whether registrations get metadata or rules from ``config``."""
    given = (config.default_metadata, config.override_metadata, config.default_rule_set, config.override_rule_set)
    return any(part is not None for part in given)


def without_empty_texts(config: Config) -> Config:
    """Return ``config`` as it is stored: an empty text, such as an alias of nothing, sets nothing."""
    empty = {field.name: None for field in fields(config) if getattr(config, field.name) == ""}
    return replace(config, **empty)


INHERITED_SETTINGS: Final = (
    "normalize",
    "validate_fields",
    "validate_new_schemas",
    "validate_rules",
    "compatibility_policy",
    "compatibility_group",
    "incompatible_versions",
)
"""The fields of a config that a scope with an entry of its own takes from the top level where it leaves them open."""


def effective_config(own: Config | None, top_level: Config | None, wider_first: Iterable[Config | None]) -> Config:
    """Return the config in force for a scope.

    Without an entry of its own a scope takes the first of ``wider_first`` whole. With one, the plain fields that it
    leaves open come from ``top_level``; level, alias, metadata and rules never do.
    """
    if own is None:
        return next((config for config in wider_first if config is not None), Config())
    if top_level is None:
        return own
    return replace(own, **{name: getattr(top_level, name) for name in INHERITED_SETTINGS if getattr(own, name) is None})


# Modes: who may write what. And which of several levels' modes is in force.
#
# Source: Confluent Schema Registry's documentation of modes; the narrowest level wins.


def parse_mode(text: str, scope: QualifiedSubject) -> Mode:
    """Return the mode that ``text`` names, in any letter case; FORWARD is for the global level only."""
    try:
        mode = Mode(text.upper())
    except ValueError:
        raise InvalidMode(f"Unknown mode {text[:80]!r}; expected one of {', '.join(Mode)}") from None
    if mode is Mode.FORWARD and scope != GLOBAL_LEVEL:
        raise InvalidMode(f"Mode FORWARD is not possible for {str(scope)!r}; it is for {str(GLOBAL_LEVEL)!r} alone")
    return mode


def effective_mode(narrowest_first: Iterable[Mode | None]) -> Mode:
    """Return the mode in force: the first that is set, otherwise READWRITE."""
    return next((mode for mode in narrowest_first if mode is not None), Mode.READWRITE)


def check_writable(mode: Mode, scope: QualifiedSubject) -> None:
    """Return unless ``mode`` is a read-only one; else ``OperationNotPermitted``."""
    if mode.is_read_only:
        raise OperationNotPermitted(f"{_named(scope)} is in {mode} mode: it takes no writes")


def check_registration(mode: Mode, scope: QualifiedSubject, *, with_id: bool) -> None:
    """Return when a new schema may be registered, with an id of its own or without; else ``OperationNotPermitted``."""
    check_writable(mode, scope)
    if with_id and not mode.takes_ids:
        raise OperationNotPermitted(f"{_named(scope)} is in {mode} mode: an id can be given in IMPORT mode only")
    if not with_id and mode.takes_ids:
        raise OperationNotPermitted(f"{_named(scope)} is in {mode} mode: a new schema must bring its id along")


def _named(scope: QualifiedSubject) -> str:
    if scope.is_default and scope.is_context:
        return "The registry"
    return f"Context {scope.context!r}" if scope.is_context else f"Subject {str(scope)!r}"


# The settings in effect for a subject: its config, its mode, its alias.

_MAX_KNOWN: Final = 10_000


@dataclass(frozen=True, slots=True)
class ScopeTerms:
    """Config and mode in effect, and the revision for which they are valid."""

    config: Config
    mode: Mode
    settings_revision: int


class Scopes:
    """Reads config and mode over all levels, and caches them until any of them changes."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._revision = -1
        self._known: dict[QualifiedSubject, ScopeSettings] = {}

    async def _settings(self, scope: QualifiedSubject) -> ScopeSettings:
        known = self._known  # another request may replace it while this one waits
        found = known.get(scope)
        if found is None:
            found = await self._storage.settings(scope)
            if len(known) >= _MAX_KNOWN:
                known.clear()
            known[scope] = found
        return found

    async def _refresh(self) -> int:
        """Return the current revision; clear the cache if it has changed."""
        revision = await self._storage.settings_revision()
        if revision != self._revision:
            self._known = {}
            self._revision = revision
        return revision

    async def terms(self, scope: QualifiedSubject) -> ScopeTerms:
        """Return the config and mode in effect for ``scope`` now."""
        revision = await self._refresh()
        return ScopeTerms(await self._config(scope), await self._mode(scope), revision)

    async def config(self, scope: QualifiedSubject) -> Config:
        """Return the config in effect."""
        await self._refresh()
        return await self._config(scope)

    async def _config(self, scope: QualifiedSubject) -> Config:
        own = (await self._settings(scope)).config
        if scope in {TOP_LEVEL, GLOBAL_LEVEL} and own is not None:
            return own
        if own is not None:
            return effective_config(own, (await self._settings(TOP_LEVEL)).config, ())
        wider = [(await self._settings(level)).config for level in wider_levels(scope)]
        return effective_config(None, None, wider)

    async def mode(self, scope: QualifiedSubject) -> Mode:
        """Return the mode in effect."""
        await self._refresh()
        return await self._mode(scope)

    async def _mode(self, scope: QualifiedSubject) -> Mode:
        levels = (scope, *wider_levels(scope))
        return effective_mode([(await self._settings(level)).mode for level in levels])

    async def aliased(self, subject: QualifiedSubject) -> QualifiedSubject:
        """Return the subject that ``subject`` is an alias of, or the subject itself.

        Aliases of aliases are not followed. An alias without a context is in the context of its owner; the alias of a
        whole context is in the default one.
        """
        config = await self._own_config(subject)
        return alias_target(config.alias, subject) if config is not None else subject

    async def aliased_for_keys(self, subject: QualifiedSubject) -> QualifiedSubject:
        """Return the subject as :meth:`aliased`, for keys: an alias for keys is preferred to the general one."""
        config = await self._own_config(subject)
        return alias_target(config.alias_for_deks or config.alias, subject) if config is not None else subject

    async def _own_config(self, subject: QualifiedSubject) -> Config | None:
        """Return the config of ``subject`` itself; the levels above all subjects have no alias."""
        if subject in {TOP_LEVEL, GLOBAL_LEVEL}:
            return None
        await self._refresh()
        return (await self._settings(subject)).config


def alias_target(alias: str | None, subject: QualifiedSubject) -> QualifiedSubject:
    """Return the subject that ``alias``, in the config of ``subject``, names; ``subject`` itself for none."""
    if not alias:
        return subject
    return parse_subject(alias, context=DEFAULT_CONTEXT if subject.is_context else subject.context)


def wider_levels(scope: QualifiedSubject) -> tuple[QualifiedSubject, ...]:
    """Return the scopes from which ``scope`` takes what it has no entry for, the narrowest first."""
    if scope.is_context:
        return (GLOBAL_LEVEL,)
    return (QualifiedSubject(scope.context, ""), GLOBAL_LEVEL)


# Config and mode: reading them, setting them, deleting them.

_ALWAYS_THERE: Final = frozenset({TOP_LEVEL, GLOBAL_LEVEL})
"""The levels that have a config and a mode even when none is stored."""


class ConfigAndMode:
    """The use cases of config and mode."""

    def __init__(self, storage: Storage, *, scopes: Scopes) -> None:
        self._storage = storage
        self._scopes = scopes
        self._turns = WriteTurns(storage.catch_up)  # one for all scopes, since lower ones inherit from higher ones

    # --- config

    async def config(self, scope: QualifiedSubject, *, effective: bool) -> Config:
        """Return the config stored for ``scope``, or with ``effective`` the one in effect.

        Raises ``ConfigNotFound`` if nothing is stored, except for the top and the global level.
        """
        if effective:
            return await self._scopes.config(scope)
        found = (await self._storage.settings(scope)).config
        if found is not None:
            return found
        if scope in _ALWAYS_THERE:
            return Config()
        raise ConfigNotFound(f"Subject {str(scope)!r} has no config of its own; ask with defaultToGlobal=true")

    async def put_config(self, scope: QualifiedSubject, changes: Mapping[str, Any], *, by: Requester) -> Config:
        """Return the config of ``scope`` with ``changes`` made to it.

        It is stored without empty texts, which are only in this response.
        """
        changed = replace(Config(), **changes)
        check_rule_set(changed.default_rule_set)
        check_rule_set(changed.override_rule_set)
        check_name(scope)
        return await self._turns.take(partial(self._put_config, scope, changes, by=by), written=ConfigAndMode)

    async def _put_config(self, scope: QualifiedSubject, changes: Mapping[str, Any], *, by: Requester) -> Config:
        terms = await self._scopes.terms(scope)
        check_writable(terms.mode, scope)
        stored = await self._storage.settings(scope)
        config = replace(without_empty_texts(stored.config or Config()), **changes)
        await self._put({scope: replace(stored, config=without_empty_texts(config))}, terms.settings_revision, by=by)
        return config

    async def delete_config(self, scope: QualifiedSubject, *, by: Requester) -> Config:
        """Delete the config of ``scope`` and return it.

        Raises ``SubjectNotFound`` if it had none, except for the top and the global level.
        """
        return await self._turns.take(partial(self._delete_config, scope, by=by), written=ConfigAndMode)

    async def _delete_config(self, scope: QualifiedSubject, *, by: Requester) -> Config:
        terms = await self._scopes.terms(scope)
        stored = await self._storage.settings(scope)
        if stored.config is None and scope not in _ALWAYS_THERE:
            raise SubjectNotFound(f"Subject {str(scope)!r} has no config to delete")
        check_writable(terms.mode, scope)
        if stored.config is not None:
            await self._put({scope: replace(stored, config=None)}, terms.settings_revision, by=by)
        return stored.config or Config()

    # --- mode

    async def mode(self, scope: QualifiedSubject, *, effective: bool) -> Mode:
        """Return the mode stored for ``scope``, or with ``effective`` the one in effect.

        Raises ``ModeNotFound`` if nothing is stored, except for the top and the global level.
        """
        if effective:
            return await self._scopes.mode(scope)
        found = (await self._storage.settings(scope)).mode
        if found is not None:
            return found
        if scope in _ALWAYS_THERE:
            return Mode.READWRITE
        raise ModeNotFound(f"Subject {str(scope)!r} has no mode of its own; ask with defaultToGlobal=true")

    async def put_mode(self, scope: QualifiedSubject, mode: Mode | None, *, by: Requester, force: bool = False) -> None:
        """Set the mode of ``scope``; None clears it.

        IMPORT needs a scope without active versions and removes the soft-deleted ones, unless ``force``.
        """
        await self._turns.take(partial(self._put_mode, scope, mode, force=force, by=by), written=ConfigAndMode)

    async def _put_mode(self, scope: QualifiedSubject, mode: Mode | None, *, by: Requester, force: bool) -> None:
        terms = await self._scopes.terms(scope)
        stored = await self._storage.settings(scope)
        purges = mode is Mode.IMPORT and terms.mode is not Mode.IMPORT and not force
        plan = plan_settings({scope: replace(stored, mode=mode)}, terms.settings_revision)
        if purges:
            plan = together((await plan_purge(self._storage, _extent(scope), terms.settings_revision), plan))
        await self._storage.commit(plan, by=by)

    async def delete_mode(self, scope: QualifiedSubject, *, by: Requester, recursive: bool = False) -> Mode | None:
        """Delete the mode of ``scope`` and return it; with ``recursive`` also the modes of a context's subjects.

        Raises ``SubjectNotFound`` if none was set and not ``recursive``, except for the top and the global level.
        """
        return await self._turns.take(
            partial(self._delete_mode, scope, recursive=recursive, by=by), written=ConfigAndMode
        )

    async def _delete_mode(self, scope: QualifiedSubject, *, by: Requester, recursive: bool) -> Mode | None:
        revision = await self._storage.settings_revision()
        stored = await self._storage.settings(scope)
        if stored.mode is None and scope not in _ALWAYS_THERE and not recursive:
            raise SubjectNotFound(f"Subject {str(scope)!r} has no mode to delete")
        changed = {scope: replace(stored, mode=None)} if stored.mode is not None else {}
        if recursive and scope.is_context:
            for other, settings in await self._storage.scopes():
                if other.context == scope.context and settings.mode is not None:
                    changed[other] = replace(settings, mode=None)
        if changed:
            await self._put(changed, revision, by=by)
        return Mode.READWRITE if stored.mode is None and scope in _ALWAYS_THERE else stored.mode

    async def _put(self, changed: Mapping[QualifiedSubject, ScopeSettings], revision: int, *, by: Requester) -> None:
        await self._storage.commit(plan_settings(changed, revision), by=by)


def _extent(scope: QualifiedSubject) -> Extent:
    """Return the subjects that must have no versions when IMPORT is set for ``scope``."""
    if scope in _ALWAYS_THERE:
        return Extent()
    return Extent(scope.context) if scope.is_context else Extent.of(scope)
