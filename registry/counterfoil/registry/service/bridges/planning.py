"""The plan of a bridge, read and derived beside the event loop. No other module of the registry calls these functions.

They are imported at the first request that needs them, since a server starts more often than a bridge is registered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.registry.service.judging import LongJudgements
    from counterfoil.schema.bridges.derived import DerivedPlan
    from counterfoil.schema.bridges.model import BridgeFile
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.rest.bridges import Bridge


class BridgePlans:
    """Reads and derives plans; a small file takes long where its expressions do, so that size does not decide."""

    def __init__(self, long: LongJudgements) -> None:
        self._long = long

    async def read(self, text: str) -> BridgeFile:
        """Return the bridge file in ``text`` without its rules.

        Raise ``InvalidBridge`` with line and column of a mistake.
        """
        from counterfoil.schema.bridges.derived import plan_head

        return await self._long.run(plan_head, text)

    async def derived(
        self, text: str, source: ParsedSchema, target: ParsedSchema, *, reverse: str, stored: Bridge | None
    ) -> DerivedPlan:
        """Return the plan of the bridge file in ``text``, and the one back.

        ``stored`` is the bridge of this name, if there is one. Raises ``InvalidBridge``.
        """
        from counterfoil.schema.bridges.derived import NO_HASHES, StoredHashes, derived_plan

        hashes = NO_HASHES if stored is None else StoredHashes(stored.plan_hash, stored.reverse.hash)
        return await self._long.run(derived_plan, text, source, target, reverse, hashes)
