"""Config and modes, remembered all at once as long as nobody, on any server, has changed any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.registry.service.recent_values import RecentValues
from counterfoil.registry.service.storage import (
    Append,
    DropContext,
    Elsewhere,
    PutRecords,
    ScopeSettings,
    SoftDelete,
)
from counterfoil.registry.store.gathered_reads import GatheredReads

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.service.storage import Appended, Plan
    from counterfoil.schema.contexts import QualifiedSubject

MAX_SCOPES: Final = 1000
"""With more scopes than that, each is read when it is asked for: there may be one for each of very many subjects."""

_MAX_ONES: Final = 10_000
_NOTHING: Final = ScopeSettings()


class KnownSettings:
    """What is stored for scopes; an observer of the storage that it is read from.

    Most subjects have nothing of their own, which is known without asking when all that have are known. ``read_all``
    gives some more than :data:`MAX_SCOPES` where there are more; ``read_one`` what is stored for one scope.
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
        """How many writes may have changed what is known."""

    async def of(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return what is stored for a scope."""
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
        """Return what was last read for a scope, without a reading; None when that is not remembered."""
        known = self._known
        return self._ones.get(scope) if known is None or len(known) > MAX_SCOPES else known.get(scope, _NOTHING)

    async def _read(self, callers: Sequence[None]) -> Sequence[dict[QualifiedSubject, ScopeSettings]]:
        known = dict(await self._read_all())
        return [known for _ in callers]

    def __call__(self, written: Plan | Elsewhere | None, _: Appended | None, /) -> None:
        """Take note of a write."""
        match written:
            case Append() | SoftDelete() | DropContext() | PutRecords():
                return
            case Elsewhere() if not written.has_new_terms:
                return
        self._known = None
        self._ones = RecentValues(_MAX_ONES)
        self.changes += 1
