"""Config and mode: reading them, setting them, deleting them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.config import without_empty_texts
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.rules import check_rule_set
from counterfoil.registry.domain.subjects import check_name
from counterfoil.registry.service.retrying import Turns
from counterfoil.registry.service.storage import PutSettings, ScopeSettings
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, SubjectPrefix
from counterfoil.schema.errors import ConfigNotFound, ModeNotFound, SubjectNotFound
from counterfoil.schema.rest.config import Config
from counterfoil.schema.rest.modes import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject

_ALWAYS_THERE: Final = frozenset({TOP_LEVEL, GLOBAL_LEVEL})
"""The levels that have a config and a mode even when none is stored."""


class Settings:
    """The use cases around config and mode."""

    def __init__(self, storage: Storage, *, scopes: Scopes) -> None:
        self._storage = storage
        self._scopes = scopes
        self._turns = Turns(storage.catch_up)  # one for all scopes: those further up are in force for those below

    # --- config

    async def config(self, scope: QualifiedSubject, *, effective: bool) -> Config:
        """The config stored for ``scope``, or with ``effective`` the one in force.

        ``ConfigNotFound`` where nothing is stored, except for the top and the global level.
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
        """The config of ``scope`` with ``changes`` made to it.

        It is stored so, but for empty texts: they are answered once, and set nothing.
        """
        changed = replace(Config(), **changes)
        check_rule_set(changed.default_rule_set)
        check_rule_set(changed.override_rule_set)
        check_name(scope)
        return await self._turns.take(partial(self._put_config, scope, changes), written=Settings)

    async def _put_config(self, scope: QualifiedSubject, changes: Mapping[str, Any]) -> Config:
        terms = await self._scopes.terms(scope)
        check_writable(terms.mode, scope)
        stored = await self._storage.settings(scope)
        config = replace(without_empty_texts(stored.config or Config()), **changes)
        await self._put({scope: replace(stored, config=without_empty_texts(config))}, terms.settings_revision)
        return config

    async def delete_config(self, scope: QualifiedSubject) -> Config:
        """The config that ``scope`` had.

        ``SubjectNotFound`` when it had none, except for the top and the global level.
        """
        return await self._turns.take(partial(self._delete_config, scope), written=Settings)

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
        """The mode stored for ``scope``, or with ``effective`` the one in force.

        ``ModeNotFound`` where nothing is stored, except for the top and the global level.
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
        await self._turns.take(partial(self._put_mode, scope, mode, force=force), written=Settings)

    async def _put_mode(self, scope: QualifiedSubject, mode: Mode | None, *, force: bool) -> None:
        terms = await self._scopes.terms(scope)
        stored = await self._storage.settings(scope)
        purges = mode is Mode.IMPORT and terms.mode is not Mode.IMPORT and not force
        await self._put(
            {scope: replace(stored, mode=mode)}, terms.settings_revision, purge=_extent(scope) if purges else None
        )

    async def delete_mode(self, scope: QualifiedSubject, *, recursive: bool = False) -> Mode | None:
        """The mode that ``scope`` had; with ``recursive`` the subjects of a context lose theirs too.

        ``SubjectNotFound`` when nothing was set and not ``recursive``, except for the top and the global level.
        """
        return await self._turns.take(partial(self._delete_mode, scope, recursive=recursive), written=Settings)

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

    async def _put(
        self,
        changed: Mapping[QualifiedSubject, ScopeSettings],
        revision: int,
        *,
        purge: SubjectPrefix | QualifiedSubject | None = None,
    ) -> None:
        await self._storage.commit(PutSettings(tuple(changed.items()), revision, purge))


def _extent(scope: QualifiedSubject) -> SubjectPrefix | QualifiedSubject:
    """The subjects whose versions stand in the way of IMPORT for ``scope``."""
    if scope in _ALWAYS_THERE:
        return SubjectPrefix(None, "")
    return SubjectPrefix(scope.context, "") if scope.is_context else scope
