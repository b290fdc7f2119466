"""The numbers of the last writes, read for many who ask at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.registry.store.gathered_reads import GatheredReads

if TYPE_CHECKING:
    from counterfoil.registry.store.postgres_connections import Connections


@dataclass(frozen=True, slots=True)
class Stamps:
    """The number of the last write, and of the last one to any config or mode."""

    change: int
    settings: int


class CurrentStamps:
    """Reads the stamps; all who ask while one reading is under way share the next.

    What a caller gets was read after it asked, so it covers every write that was answered by then, on any node; and
    however many ask, one small statement at a time is under way.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._reads: GatheredReads[None, Stamps] = GatheredReads(self._read)

    async def read(self) -> Stamps:
        """The stamps as they are now, or a little later."""
        return await self._reads.read(None)

    async def _read(self, _: object) -> list[Stamps]:
        rows = await self._connections.rows("SELECT change, settings FROM counterfoil.stamps")
        return [Stamps(*rows[0])]
