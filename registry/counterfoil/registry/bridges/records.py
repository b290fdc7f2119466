"""Bridges and the reports about them in a storage, requests for them, and whether a bridge permits a version."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from counterfoil.registry.audit.events import facts_about
from counterfoil.registry.store.writes import PutRecord, RecordAt, RefreshRecord, StoragePlan
from counterfoil.registry.subjects.versions import SchemaRequest
from counterfoil.schema.errors import BridgeNotFound
from counterfoil.schema.rest.bridges import (
    BRIDGE,
    BRIDGE_VERIFICATION,
    PROGRESS,
    READERS,
    Bridge,
    BridgeReports,
    BridgeSide,
    BridgeState,
    BridgeVerification,
    Progress,
    Readers,
)
from counterfoil.schema.rest.object_forms import ReplyJson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.registry.store.protocol import Storage, StorageRecord
    from counterfoil.registry.store.writes import Guard
    from counterfoil.registry.subjects.versions import Content, VersionEntry
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.model import Schema
    from counterfoil.schema.plans.bridge import BridgeFile
    from counterfoil.schema.rest.bridges import BridgeDirection, BridgeLimits
    from counterfoil.schema.rest.object_forms import Document, ObjectForm


# Bridges and the reports about them as stored documents.
#
# A bridge has two records: by name, and by the schema of its source, so that a registration finds it. Each kind of
# report has one, with the latest report.

BRIDGE_KIND: Final = "bridge"
BY_SOURCE_KIND: Final = "bridge-by-source"

_Report = TypeVar("_Report")


@dataclass(frozen=True, slots=True)
class ReportKind(Generic[_Report]):
    """A kind of report: its name in messages, the kind of its records, and its form."""

    name: str
    record_kind: str
    form: ObjectForm[_Report]

    def read(self, document: Document) -> _Report:
        """Return the report in a stored document."""
        return self.form.read(ReplyJson(document))


PROGRESS_KIND: Final[ReportKind[Progress]] = ReportKind("progress", "bridge-progress", PROGRESS)
VERIFICATION_KIND: Final[ReportKind[BridgeVerification]] = ReportKind(
    "verification", "bridge-verification", BRIDGE_VERIFICATION
)
READERS_KIND: Final[ReportKind[Readers]] = ReportKind("readers", "bridge-readers", READERS)
REPORT_KINDS: Final = (PROGRESS_KIND, VERIFICATION_KIND, READERS_KIND)

REPORT_RECORD_KINDS: Final = frozenset(kind.record_kind for kind in REPORT_KINDS)
RECORD_KINDS: Final = frozenset({BRIDGE_KIND, BY_SOURCE_KIND}) | REPORT_RECORD_KINDS
"""The kinds of all records about bridges."""


def bridge_key(name: str) -> tuple[str, ...]:
    """Return the record key of a bridge, and of the reports about it."""
    return (name,)


def source_key(side: BridgeSide, name: str | None = None) -> tuple[str, ...]:
    """Return the key of the record by source of a bridge, or the prefix of the keys of all with this source."""
    prefix = (side.subject.context, side.subject.name, str(side.guid))
    return prefix if name is None else (*prefix, name)


def stored_bridge(bridge: Bridge) -> Document:
    """Return the stored document of a bridge; the ids of its schemas are not stored, but read with their versions."""
    source, target = replace(bridge.source, id=None), replace(bridge.target, id=None)
    return BRIDGE.write(replace(bridge, source=source, target=target))


def by_source_document(bridge: Bridge) -> Document:
    """Return the document of the record by source."""
    return {"bridge": bridge.name}


def read_stored_bridge(document: Document) -> Bridge:
    """Return the bridge in a stored document."""
    return BRIDGE.read(ReplyJson(document))


# Requests to register or change a bridge.


@dataclass(frozen=True, slots=True)
class BridgeRequest:
    """A bridge to register, or changes to one; None is not given.

    ``plan`` is the text of the bridge file, which names the bridge, the topics and the subjects, and ``reverse_plan``
    the text of one that converts back. ``schema`` is the schema of the source if it is not registered yet; with
    ``registers`` it is registered together with the bridge. Otherwise ``source_version`` is the version of the source,
    by default the latest. ``target_version`` is that of the target, by default the one in the bridge file.
    """

    plan: str | None = None
    reverse_plan: str | None = None
    schema: SchemaRequest | None = None
    source_version: int | None = None
    target_version: int | None = None
    registers: bool = False
    normalize: bool = False
    direction: BridgeDirection | None = None
    owner: str | None = None
    description: str | None = None
    limits: BridgeLimits | None = None

    @property
    def changes_plan(self) -> bool:
        """Whether the request is about the plan or its schemas."""
        given = (self.plan, self.reverse_plan, self.schema, self.source_version, self.target_version, self.direction)
        return any(each is not None for each in given)


Permit: TypeAlias = "Callable[[BridgeFile, BridgeRequest], None]"
"""Raises unless the caller may register or change the bridge in a file."""


def permit_all(_: BridgeFile, __: BridgeRequest) -> None:
    """Do nothing: for callers who may do everything."""


def schema_request_of(schema: Schema) -> SchemaRequest:
    """Return the request to register ``schema`` as it is, without parts of the latest version."""
    return SchemaRequest(
        schema.text,
        schema.schema_type.value,
        schema.references,
        schema.metadata,
        schema.rule_set,
        is_complete=True,
    )


# Bridges and the reports about them in a storage: reading them, and the plans that write them.

_GivenReport = TypeVar("_GivenReport")


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

    async def _held(self, record: StorageRecord) -> HeldBridge:
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
        by_name: dict[str, dict[str, StorageRecord]] = {}
        for kind in REPORT_KINDS:
            for record in await self._storage.records(kind.record_kind):
                by_name.setdefault(record.key[0], {})[kind.record_kind] = record
        return {name: _reports(records) for name, records in by_name.items()}

    async def report_record(self, kind: ReportKind[Any], name: str) -> StorageRecord | None:
        """Return the record of the latest report of a kind."""
        found = await self._storage.records(kind.record_kind, bridge_key(name))
        return found[0] if found else None

    # --- writes

    async def deletion(self, held: HeldBridge) -> StoragePlan:
        """Return the plan that deletes a bridge and the reports about it."""
        name = held.bridge.name
        found = [await self.report_record(kind, name) for kind in REPORT_KINDS]
        removed = [PutRecord(record.kind, record.key, None) for record in found if record is not None]
        of_bridge = PutRecord(BRIDGE_KIND, bridge_key(name), None, for_audit=_about(held.bridge))
        return StoragePlan((held.guard,), (of_bridge, _by_source(held.bridge, None), *removed))


def bridge_write(held: HeldBridge | None, bridge: Bridge) -> StoragePlan:
    """Return the plan that stores ``bridge`` instead of ``held``; None if there is no bridge of this name."""
    guard = held.guard if held is not None else RecordAt(BRIDGE_KIND, bridge_key(bridge.name), 0)
    effects = [PutRecord(BRIDGE_KIND, bridge_key(bridge.name), stored_bridge(bridge), for_audit=_about(bridge))]
    if held is None or source_key(held.bridge.source) != source_key(bridge.source):
        if held is not None:
            effects.append(_by_source(held.bridge, None))
        effects.append(_by_source(bridge, by_source_document(bridge)))
    return StoragePlan((guard,), tuple(effects))


def report_write(
    held: HeldBridge,
    kind: ReportKind[_GivenReport],
    report: _GivenReport,
    *,
    replaced: StorageRecord | None,
    is_noted: bool,
) -> StoragePlan:
    """Return the plan that stores ``report`` instead of the one in ``replaced``; None if there is none.

    Without ``is_noted`` there is no entry in the journal; the record must exist then.
    """
    key, document = bridge_key(held.bridge.name), kind.form.write(report)
    revision = 0 if replaced is None else replaced.revision
    effect = PutRecord(kind.record_kind, key, document) if is_noted else RefreshRecord(kind.record_kind, key, document)
    return StoragePlan((held.guard, RecordAt(kind.record_kind, key, revision)), (effect,))


def _about(bridge: Bridge) -> dict[str, str]:
    """Return what the audit says of the subjects of a bridge."""
    return facts_about([bridge.source.subject, bridge.target.subject])


def _by_source(bridge: Bridge, document: Document | None) -> PutRecord:
    return PutRecord(BY_SOURCE_KIND, source_key(bridge.source, bridge.name), document)


def _reports(records: Mapping[str, StorageRecord]) -> BridgeReports:
    def latest(kind: ReportKind[_GivenReport]) -> _GivenReport | None:
        record = records.get(kind.record_kind)
        return None if record is None else kind.read(record.document)

    return BridgeReports(latest(PROGRESS_KIND), latest(VERIFICATION_KIND), latest(READERS_KIND))


# Whether an incompatible version may be registered, since a bridge converts its records to the latest version.


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
