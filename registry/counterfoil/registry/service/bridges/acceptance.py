"""Whether an incompatible version may be registered, since a bridge converts its records to the latest version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.rest.bridges import BridgeSide, BridgeState

if TYPE_CHECKING:
    from counterfoil.registry.domain.content import Content
    from counterfoil.registry.domain.versions import VersionEntry
    from counterfoil.registry.domain.writes.guards import Guard
    from counterfoil.registry.service.bridges.records import BridgeRecords
    from counterfoil.schema.contexts import QualifiedSubject


@dataclass(frozen=True, slots=True)
class BridgeTarget:
    """The target of a bridge that is registered together with a version."""

    subject: QualifiedSubject
    version: int

    def accepts(self, subject: QualifiedSubject, latest: VersionEntry | None) -> bool:
        """Return whether the target is the latest version of ``subject``."""
        return latest is not None and (self.subject, self.version) == (subject, latest.version)


class BridgeAcceptance:
    """The bridges that permit a registration."""

    def __init__(self, records: BridgeRecords) -> None:
        self._records = records

    async def guard(self, subject: QualifiedSubject, content: Content, latest: VersionEntry | None) -> Guard | None:
        """Return the guard that a bridge from ``content`` to ``latest`` still exists; None if there is no such bridge.

        A retired bridge does not count.
        """
        for held in await self._records.from_source(BridgeSide("", subject, content.guid)):
            target = held.bridge.target
            if held.bridge.state is BridgeState.RETIRED or target.version is None:
                continue
            if BridgeTarget(target.subject, target.version).accepts(subject, latest):
                return held.guard
        return None
