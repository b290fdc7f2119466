"""The settings in effect for a subject: its config, its mode, its alias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.config import effective_config
from counterfoil.registry.domain.modes import effective_mode
from counterfoil.schema.contexts import DEFAULT_CONTEXT, GLOBAL_LEVEL, TOP_LEVEL, QualifiedSubject, parse_subject

if TYPE_CHECKING:
    from counterfoil.registry.domain.scope_settings import ScopeSettings
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.config import Config
    from counterfoil.schema.rest.modes import Mode


_MAX_KNOWN: Final = 10_000


@dataclass(frozen=True, slots=True)
class Terms:
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

    async def terms(self, scope: QualifiedSubject) -> Terms:
        """Return the config and mode in effect for ``scope`` now."""
        revision = await self._refresh()
        return Terms(await self._config(scope), await self._mode(scope), revision)

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
        wider = [(await self._settings(level)).config for level in _wider(scope)]
        return effective_config(None, None, wider)

    async def mode(self, scope: QualifiedSubject) -> Mode:
        """Return the mode in effect."""
        await self._refresh()
        return await self._mode(scope)

    async def _mode(self, scope: QualifiedSubject) -> Mode:
        levels = (scope, *_wider(scope))
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


def _wider(scope: QualifiedSubject) -> tuple[QualifiedSubject, ...]:
    if scope.is_context:
        return (GLOBAL_LEVEL,)
    return (QualifiedSubject(scope.context, ""), GLOBAL_LEVEL)
