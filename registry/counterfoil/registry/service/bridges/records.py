"""Bridges and the reports about them in a storage: reading them, and the plans that write them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from counterfoil.registry.domain.audit.about import facts_about
from counterfoil.registry.domain.bridges.stored import (
    BRIDGE_KIND,
    BY_SOURCE_KIND,
    PROGRESS_KIND,
    READERS_KIND,
    REPORT_KINDS,
    VERIFICATION_KIND,
    bridge_key,
    by_source_document,
    read_stored_bridge,
    source_key,
    stored_bridge,
)
from counterfoil.registry.domain.writes.effects import PutRecord, RefreshRecord
from counterfoil.registry.domain.writes.guards import RecordAt
from counterfoil.registry.domain.writes.plan import Plan
from counterfoil.schema.errors import BridgeNotFound
from counterfoil.schema.rest.bridges import BridgeReports

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.registry.domain.bridges.stored import ReportKind
    from counterfoil.registry.service.storage import Record, Storage
    from counterfoil.schema.rest.bridges import Bridge, BridgeSide
    from counterfoil.schema.rest.object_forms import Document

_Report = TypeVar("_Report")


@dataclass(frozen=True, slots=True)
class HeldBridge:
    """A bridge with the versions of its schemas as they are stored now, and the revision of its record."""

    bridge: Bridge
    revision: int

    @property
    def guard(self) -> RecordAt:
        """The guard that the bridge has not changed."""
        return RecordAt(BRIDGE_KIND, bridge_key(self.bridge.name), self.revision)


class BridgeRecords:
    """The bridges in ``storage``."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def find(self, name: str) -> HeldBridge | None:
        """Return the bridge of this name."""
        found = await self._storage.records(BRIDGE_KIND, bridge_key(name))
        return await self._held(found[0]) if found else None

    async def get(self, name: str) -> HeldBridge:
        """Return the bridge of this name; raise ``BridgeNotFound`` if there is none."""
        found = await self.find(name)
        if found is None:
            raise BridgeNotFound(f"There is no bridge {name[:80]!r}")
        return found

    async def all(self) -> list[HeldBridge]:
        """Return all bridges, sorted by name."""
        return [await self._held(record) for record in await self._storage.records(BRIDGE_KIND)]

    async def from_source(self, side: BridgeSide) -> list[HeldBridge]:
        """Return the bridges whose source has the subject and the schema of ``side``."""
        records = await self._storage.records(BY_SOURCE_KIND, source_key(side))
        found = [await self.find(record.key[-1]) for record in records]
        return [held for held in found if held is not None]

    async def _held(self, record: Record) -> HeldBridge:
        bridge = read_stored_bridge(record.document)
        source, target = await self._current(bridge.source), await self._current(bridge.target)
        return HeldBridge(replace(bridge, source=source, target=target), record.revision)

    async def _current(self, side: BridgeSide) -> BridgeSide:
        """Return ``side`` with the version and the id that its schema has now, if it is registered."""
        history = await self._storage.history(side.subject)
        of_schema = [entry for entry in history.entries if entry.guid == side.guid]
        if not of_schema:
            return side
        entry = next((each for each in of_schema if each.version == side.version), of_schema[-1])
        return replace(side, version=entry.version, id=entry.schema_id, schema=None)

    # --- reports

    async def reports(self, name: str) -> BridgeReports:
        """Return the latest reports about a bridge."""
        found = {kind.record_kind: await self.report_record(kind, name) for kind in REPORT_KINDS}
        return _reports({kind: record for kind, record in found.items() if record is not None})

    async def all_reports(self) -> dict[str, BridgeReports]:
        """Return the latest reports about all bridges, by their names."""
        by_name: dict[str, dict[str, Record]] = {}
        for kind in REPORT_KINDS:
            for record in await self._storage.records(kind.record_kind):
                by_name.setdefault(record.key[0], {})[kind.record_kind] = record
        return {name: _reports(records) for name, records in by_name.items()}

    async def report_record(self, kind: ReportKind[Any], name: str) -> Record | None:
        """Return the record of the latest report of a kind."""
        found = await self._storage.records(kind.record_kind, bridge_key(name))
        return found[0] if found else None

    # --- writes

    async def deletion(self, held: HeldBridge) -> Plan:
        """Return the plan that deletes a bridge and the reports about it."""
        name = held.bridge.name
        found = [await self.report_record(kind, name) for kind in REPORT_KINDS]
        removed = [PutRecord(record.kind, record.key, None) for record in found if record is not None]
        of_bridge = PutRecord(BRIDGE_KIND, bridge_key(name), None, for_audit=_about(held.bridge))
        return Plan((held.guard,), (of_bridge, _by_source(held.bridge, None), *removed))


def bridge_write(held: HeldBridge | None, bridge: Bridge) -> Plan:
    """Return the plan that stores ``bridge`` instead of ``held``; None if there is no bridge of this name."""
    guard = held.guard if held is not None else RecordAt(BRIDGE_KIND, bridge_key(bridge.name), 0)
    effects = [PutRecord(BRIDGE_KIND, bridge_key(bridge.name), stored_bridge(bridge), for_audit=_about(bridge))]
    if held is None or source_key(held.bridge.source) != source_key(bridge.source):
        if held is not None:
            effects.append(_by_source(held.bridge, None))
        effects.append(_by_source(bridge, by_source_document(bridge)))
    return Plan((guard,), tuple(effects))


def report_write(
    held: HeldBridge, kind: ReportKind[_Report], report: _Report, *, replaced: Record | None, is_noted: bool
) -> Plan:
    """Return the plan that stores ``report`` instead of the one in ``replaced``; None if there is none.

    Without ``is_noted`` there is no entry in the journal; the record must exist then.
    """
    key, document = bridge_key(held.bridge.name), kind.form.write(report)
    revision = 0 if replaced is None else replaced.revision
    effect = PutRecord(kind.record_kind, key, document) if is_noted else RefreshRecord(kind.record_kind, key, document)
    return Plan((held.guard, RecordAt(kind.record_kind, key, revision)), (effect,))


def _about(bridge: Bridge) -> dict[str, str]:
    """Return what the audit says of the subjects of a bridge."""
    return facts_about([bridge.source.subject, bridge.target.subject])


def _by_source(bridge: Bridge, document: Document | None) -> PutRecord:
    return PutRecord(BY_SOURCE_KIND, source_key(bridge.source, bridge.name), document)


def _reports(records: Mapping[str, Record]) -> BridgeReports:
    def latest(kind: ReportKind[_Report]) -> _Report | None:
        record = records.get(kind.record_kind)
        return None if record is None else kind.read(record.document)

    return BridgeReports(latest(PROGRESS_KIND), latest(VERIFICATION_KIND), latest(READERS_KIND))
