"""What is in force for a subject: its config, its mode, its alias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.domain.config import Config, effective_config
from counterfoil.registry.domain.modes import Mode, effective_mode
from counterfoil.schema.contexts import GLOBAL_LEVEL, TOP_LEVEL, QualifiedSubject, parse_subject

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Storage


@dataclass(frozen=True, slots=True)
class Terms:
    """Config and mode in force, and the stamp that shows whether they still are."""

    config: Config
    mode: Mode
    settings_revision: int


class Scopes:
    """Reads config and mode over all levels."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def terms(self, scope: QualifiedSubject) -> Terms:
        """What is in force for ``scope`` now."""
        revision = await self._storage.settings_revision()
        return Terms(await self.config(scope), await self.mode(scope), revision)

    async def config(self, scope: QualifiedSubject) -> Config:
        """The config in force."""
        own = (await self._storage.settings(scope)).config
        if scope in {TOP_LEVEL, GLOBAL_LEVEL} and own is not None:
            return own
        if own is not None:
            return effective_config(own, (await self._storage.settings(TOP_LEVEL)).config, ())
        wider = [(await self._storage.settings(level)).config for level in _wider(scope)]
        return effective_config(None, None, wider)

    async def mode(self, scope: QualifiedSubject) -> Mode:
        """The mode in force."""
        levels = (scope, *_wider(scope))
        return effective_mode([(await self._storage.settings(level)).mode for level in levels])

    async def aliased(self, subject: QualifiedSubject) -> QualifiedSubject:
        """The subject that ``subject`` is an alias of, or itself; one hop, no further."""
        if subject.is_context:
            return subject
        config = (await self._storage.settings(subject)).config
        if config is None or not config.alias:
            return subject
        return parse_subject(config.alias, context=subject.context)


def _wider(scope: QualifiedSubject) -> tuple[QualifiedSubject, ...]:
    if scope.is_context:
        return (GLOBAL_LEVEL,)
    return (QualifiedSubject(scope.context, ""), GLOBAL_LEVEL)
