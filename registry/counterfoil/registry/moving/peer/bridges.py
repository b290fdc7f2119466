"""Bridges of a registry, read over the REST API, as the records that a store has of them.

The API has no request that stores a bridge with its history: an import registers the bridge, and forces it into its
state, step by step. Other registries than those of this project have no bridges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.bridges.stored import (
    BRIDGE_KIND,
    BY_SOURCE_KIND,
    PROGRESS_KIND,
    READERS_KIND,
    VERIFICATION_KIND,
    bridge_key,
    by_source_document,
    read_stored_bridge,
    source_key,
    stored_bridge,
)
from counterfoil.registry.domain.bridges.transitions import steps_to
from counterfoil.registry.moving.facts import RecordFact
from counterfoil.registry.moving.target import ABSENT, SAME, Standing, clash
from counterfoil.schema.rest.bridges import PROGRESS, READERS, RECEIVED_KEY, VERIFICATION, NewBridge
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from counterfoil.registry.moving.peer.connection import Peer
    from counterfoil.schema.rest.bridges import Bridge, BridgeReports, BridgeStatus
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.sdk.operations import Operation

_OWN_TO_A_REGISTRY: Final = frozenset({"createTs", "updateTs", "history"})
_BY: Final = "counterfoil import"
_REASON: Final = "The state of the bridge in the registry that was imported."


class PeerBridges:
    """The bridges of the registry that ``peer`` connects to."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def records(self) -> list[RecordFact]:
        """Return the records of all bridges, those of reports last; an empty list if the registry has none."""
        found = await self._peer.listed(operations.bridges()) or ()
        definitions = sorted((fact for each in found for fact in _definition(each.bridge)), key=_place)
        return [*definitions, *sorted((fact for each in found for fact in _reports(each)), key=_place)]

    async def standing(self, fact: RecordFact) -> Standing:
        """Return the state of a bridge or a report in the registry; times, and the history, are ignored."""
        if fact.kind == BY_SOURCE_KIND:
            return SAME
        status = await self._peer.found(operations.bridge(fact.key[0]))
        if fact.kind == BRIDGE_KIND:
            held = None if status is None else stored_bridge(status.bridge)
        else:
            held = None if status is None else _report_documents(status.reports).get(fact.kind)
        if held is None:
            return ABSENT
        return SAME if _content(held) == _content(fact.document) else clash(f"{fact} is there with other content")

    async def put(self, fact: RecordFact) -> None:
        """Register a bridge that is absent, or send a report."""
        what = f"{fact} was refused"
        if fact.kind != BRIDGE_KIND:
            await self._peer.carry_out(_report(fact), what)
            return
        bridge = read_stored_bridge(fact.document)
        await self._peer.carry_out(operations.register_bridge(_new(bridge)), what)
        for state in steps_to(bridge.state):
            operation = operations.change_bridge_state(bridge.name, state, by=_BY, reason=_REASON, force=True)
            await self._peer.carry_out(operation, what)


def _place(fact: RecordFact) -> tuple[str, tuple[str, ...]]:
    return fact.kind, fact.key


def _definition(bridge: Bridge) -> list[RecordFact]:
    return [
        RecordFact(BRIDGE_KIND, bridge_key(bridge.name), stored_bridge(bridge)),
        RecordFact(BY_SOURCE_KIND, source_key(bridge.source, bridge.name), by_source_document(bridge)),
    ]


def _reports(status: BridgeStatus) -> list[RecordFact]:
    key = bridge_key(status.bridge.name)
    return [RecordFact(kind, key, document) for kind, document in _report_documents(status.reports).items()]


def _report_documents(reports: BridgeReports) -> dict[str, Document]:
    found = (
        (PROGRESS_KIND.record_kind, PROGRESS, reports.progress),
        (VERIFICATION_KIND.record_kind, VERIFICATION, reports.verification),
        (READERS_KIND.record_kind, READERS, reports.readers),
    )
    return {kind: form.write(report) for kind, form, report in found if report is not None}


def _report(fact: RecordFact) -> Operation[None]:
    name = fact.key[0]
    if fact.kind == PROGRESS_KIND.record_kind:
        return operations.report_progress(name, PROGRESS_KIND.read(fact.document))
    if fact.kind == VERIFICATION_KIND.record_kind:
        return operations.report_verification(name, VERIFICATION_KIND.read(fact.document))
    return operations.report_readers(name, READERS_KIND.read(fact.document))


def _new(bridge: Bridge) -> NewBridge:
    return NewBridge(
        plan=bridge.plan,
        reverse_plan=bridge.reverse.plan,
        source_version=bridge.source.version,
        source_schema=bridge.source.schema,
        target_version=bridge.target.version,
        direction=bridge.direction,
        owner=bridge.owner,
        description=bridge.description,
        limits=bridge.limits,
    )


def _content(document: Document) -> dict[str, Any]:
    left_out = _OWN_TO_A_REGISTRY | {RECEIVED_KEY}
    return {name: value for name, value in document.items() if name not in left_out}
