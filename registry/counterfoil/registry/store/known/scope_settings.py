"""A cache of all config and modes, valid until any server changes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.scope_settings import ScopeSettings
from counterfoil.registry.store.gathered_reads import GatheredReads
from counterfoil.schema.recent_values import RecentValues

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.domain.changes import Written
    from counterfoil.schema.contexts import QualifiedSubject

MAX_SCOPES: Final = 1000
"""With more scopes than that, each is read when it is requested: every subject may have one."""

_MAX_ONES: Final = 10_000
_NOTHING: Final = ScopeSettings()


class KnownSettings:
    """The stored settings of scopes; an observer of the storage from which they are read.

    Most subjects have no settings of their own, which is known without a read when all scopes with settings are cached.
    ``read_all`` returns more than :data:`MAX_SCOPES` if there are more; ``read_one`` reads one scope.
    """

    def __init__(
        self,
        read_all: Callable[[], Awaitable[Sequence[tuple[QualifiedSubject, ScopeSettings]]]],
        *,
        read_one: Callable[[QualifiedSubject], Awaitable[ScopeSettings]],
    ) -> None:
        self._read_all = read_all
        self._read_one = read_one
        self._readings: GatheredReads[None, dict[QualifiedSubject, ScopeSettings]] = GatheredReads(self._read)
        self._known: dict[QualifiedSubject, ScopeSettings] | None = None
        self._ones: RecentValues[QualifiedSubject, ScopeSettings] = RecentValues(_MAX_ONES)
        self.changes = 0
        """The number of writes that may have changed cached settings."""

    async def of(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the stored settings of a scope."""
        known = self._known
        if known is None:
            changes = self.changes
            known = await self._readings.read(None)
            if changes == self.changes:
                self._known = known
        return await self._one(scope) if len(known) > MAX_SCOPES else known.get(scope, _NOTHING)

    async def _one(self, scope: QualifiedSubject) -> ScopeSettings:
        changes = self.changes
        found = await self._read_one(scope)
        if changes == self.changes:
            self._ones.put(scope, found, weight=1)
        return found

    def known(self, scope: QualifiedSubject) -> ScopeSettings | None:
        """Return the settings that were last read for a scope, without a read; None when they are not cached."""
        known = self._known
        return self._ones.get(scope) if known is None or len(known) > MAX_SCOPES else known.get(scope, _NOTHING)

    async def _read(self, callers: Sequence[None]) -> Sequence[dict[QualifiedSubject, ScopeSettings]]:
        known = dict(await self._read_all())
        return [known for _ in callers]

    def __call__(self, written: Written | None, /) -> None:
        """Remove what a write may have changed."""
        if written is not None and not written.has_new_terms:
            return
        self._known = None
        self._ones = RecentValues(_MAX_ONES)
        self.changes += 1
