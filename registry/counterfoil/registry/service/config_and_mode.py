"""Config and mode: reading them, setting them, deleting them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.config import without_empty_texts
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.rules import check_rule_set
from counterfoil.registry.domain.subjects import check_name
from counterfoil.registry.domain.writes.extents import Extent
from counterfoil.registry.domain.writes.plan import together
from counterfoil.registry.service.planning import plan_purge, plan_settings
from counterfoil.registry.service.retrying import Turns
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL
from counterfoil.schema.errors import ConfigNotFound, ModeNotFound, SubjectNotFound
from counterfoil.schema.rest.config import Config
from counterfoil.schema.rest.modes import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.domain.scope_settings import ScopeSettings
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject

_ALWAYS_THERE: Final = frozenset({TOP_LEVEL, GLOBAL_LEVEL})
"""The levels that have a config and a mode even when none is stored."""


class ConfigAndMode:
    """The use cases of config and mode."""

    def __init__(self, storage: Storage, *, scopes: Scopes) -> None:
        self._storage = storage
        self._scopes = scopes
        self._turns = Turns(storage.catch_up)  # one for all scopes, since lower ones inherit from higher ones

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

    async def put_config(self, scope: QualifiedSubject, changes: Mapping[str, Any]) -> Config:
        """Return the config of ``scope`` with ``changes`` made to it.

        It is stored without empty texts, which are only in this response.
        """
        changed = replace(Config(), **changes)
        check_rule_set(changed.default_rule_set)
        check_rule_set(changed.override_rule_set)
        check_name(scope)
        return await self._turns.take(partial(self._put_config, scope, changes), written=ConfigAndMode)

    async def _put_config(self, scope: QualifiedSubject, changes: Mapping[str, Any]) -> Config:
        terms = await self._scopes.terms(scope)
        check_writable(terms.mode, scope)
        stored = await self._storage.settings(scope)
        config = replace(without_empty_texts(stored.config or Config()), **changes)
        await self._put({scope: replace(stored, config=without_empty_texts(config))}, terms.settings_revision)
        return config

    async def delete_config(self, scope: QualifiedSubject) -> Config:
        """Delete the config of ``scope`` and return it.

        Raises ``SubjectNotFound`` if it had none, except for the top and the global level.
        """
        return await self._turns.take(partial(self._delete_config, scope), written=ConfigAndMode)

    async def _delete_config(self, scope: QualifiedSubject) -> Config:
        terms = await self._scopes.terms(scope)
        stored = await self._storage.settings(scope)
        if stored.config is None and scope not in _ALWAYS_THERE:
            raise SubjectNotFound(f"Subject {str(scope)!r} has no config to delete")
        check_writable(terms.mode, scope)
        if stored.config is not None:
            await self._put({scope: replace(stored, config=None)}, terms.settings_revision)
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

    async def put_mode(self, scope: QualifiedSubject, mode: Mode | None, *, force: bool = False) -> None:
        """Set the mode of ``scope``; None clears it.

        IMPORT needs a scope without active versions and removes the soft-deleted ones, unless ``force``.
        """
        await self._turns.take(partial(self._put_mode, scope, mode, force=force), written=ConfigAndMode)

    async def _put_mode(self, scope: QualifiedSubject, mode: Mode | None, *, force: bool) -> None:
        terms = await self._scopes.terms(scope)
        stored = await self._storage.settings(scope)
        purges = mode is Mode.IMPORT and terms.mode is not Mode.IMPORT and not force
        plan = plan_settings({scope: replace(stored, mode=mode)}, terms.settings_revision)
        if purges:
            plan = together((await plan_purge(self._storage, _extent(scope), terms.settings_revision), plan))
        await self._storage.commit(plan)

    async def delete_mode(self, scope: QualifiedSubject, *, recursive: bool = False) -> Mode | None:
        """Delete the mode of ``scope`` and return it; with ``recursive`` also the modes of a context's subjects.

        Raises ``SubjectNotFound`` if none was set and not ``recursive``, except for the top and the global level.
        """
        return await self._turns.take(partial(self._delete_mode, scope, recursive=recursive), written=ConfigAndMode)

    async def _delete_mode(self, scope: QualifiedSubject, *, recursive: bool) -> Mode | None:
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
            await self._put(changed, revision)
        return Mode.READWRITE if stored.mode is None and scope in _ALWAYS_THERE else stored.mode

    async def _put(self, changed: Mapping[QualifiedSubject, ScopeSettings], revision: int) -> None:
        await self._storage.commit(plan_settings(changed, revision))


def _extent(scope: QualifiedSubject) -> Extent:
    """Return the subjects that must have no versions when IMPORT is set for ``scope``."""
    if scope in _ALWAYS_THERE:
        return Extent()
    return Extent(scope.context) if scope.is_context else Extent.of(scope)
