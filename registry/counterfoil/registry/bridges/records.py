"""Bridges as records, the rules of their states and gates, and the reports about them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from counterfoil.registry.audit.events import facts_about
from counterfoil.registry.store.writes import PutRecord, RecordAt, RefreshRecord, StoragePlan
from counterfoil.registry.subjects.versions import SchemaRequest
from counterfoil.schema.errors import BridgeNotFound, InvalidBridge, TransitionRefused
from counterfoil.schema.rest.bridges import (
    BRIDGE,
    BRIDGE_VERIFICATION,
    GATE,
    PROGRESS,
    READERS,
    Bridge,
    BridgeReports,
    BridgeSide,
    BridgeState,
    BridgeVerification,
    Gate,
    PossibleTransition,
    Progress,
    Readers,
    Transition,
)
from counterfoil.schema.rest.json_values import ReplyJson

if TYPE_CHECKING:
    from counterfoil.registry.store.protocol import Storage, StorageRecord
    from counterfoil.registry.store.writes import Guard
    from counterfoil.registry.subjects.versions import Content, VersionEntry
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.plans.bridge import BridgeFile
    from counterfoil.schema.rest.bridges import BridgeDirection, BridgeLimits
    from counterfoil.schema.rest.object_forms import Document, ObjectForm


# The gates of a bridge's transitions: conditions on the latest reports about it, as pure functions.

_MS: Final = 1000
_FOLLOWING: Final = "the reverse plan is used to convert the records of the target back"


@dataclass(frozen=True, slots=True)
class Situation:
    """What gates are decided on: a bridge, the latest reports about it, and the time (epoch ms)."""

    bridge: Bridge
    reports: BridgeReports
    now_ms: int

    def age_s(self, received_ms: int) -> float:
        """Return the age of a report, in seconds."""
        return max(0, self.now_ms - received_ms) / _MS

    @property
    def running_since_ms(self) -> int:
        """The time of the latest transition to ``running``; 0 if there was none."""
        return max((each.ts for each in self.bridge.history if each.target is BridgeState.RUNNING), default=0)


def progress_gate(now: Situation) -> Gate:
    """Return whether the job has reported recently, with the plan of the bridge."""
    progress, limit = now.reports.progress, now.bridge.limits.max_progress_age_s
    if progress is None:
        return _gate("progress", is_met=False, reason="the job has not reported its progress")
    age_s = now.age_s(progress.received_ts)
    figures = {"ageS": age_s, "maxProgressAgeS": limit}
    if progress.plan_hash != now.bridge.plan_hash:
        return _gate("progress", is_met=False, reason=_other_plan(progress.plan_hash, now), **figures)
    reason = f"the job's last report is {age_s:.0f} s old; expected at most {limit} s"
    return _gate("progress", is_met=age_s <= limit, reason=reason, **figures)


def lag_gate(now: Situation) -> Gate:
    """Return whether the number of records that are still to be converted is within its limit."""
    progress, limit = now.reports.progress, now.bridge.limits.max_lag
    if progress is None:
        return _gate("lag", is_met=False, reason="the lag is not known", maxLag=limit)
    reason = f"{progress.lag} offsets are still to be converted; expected at most {limit}"
    return _gate("lag", is_met=progress.lag <= limit, reason=reason, lag=progress.lag, maxLag=limit)


def dead_letter_gate(now: Situation) -> Gate:
    """Return whether the share of records that could not be converted is within its limit."""
    progress, limit = now.reports.progress, now.bridge.limits.max_dead_letter_rate
    if progress is None:
        return _gate("dead-letters", is_met=False, reason="the number of dead letters is not known")
    rate = progress.dead_letter_rate
    return _gate(
        "dead-letters",
        is_met=rate <= limit,
        reason=f"{progress.dead_letter_count} of {progress.records} records are dead letters, which is {rate:.2%}; "
        f"expected at most {limit:.2%}",
        deadLetters=progress.dead_letter_count,
        records=progress.records,
        rate=rate,
        maxDeadLetterRate=limit,
    )


def verification_gate(now: Situation) -> Gate:
    """Return whether a verification has passed, with the plan of the bridge, since it runs, and recently."""
    found, limit = now.reports.verification, now.bridge.limits.max_verification_age_s
    if found is None:
        return _gate("verification", is_met=False, reason="the target has not been verified")
    age_s = now.age_s(found.received_ts)
    figures = {"records": found.records, "faults": found.fault_count, "ageS": age_s, "maxVerificationAgeS": limit}
    if found.plan_hash != now.bridge.plan_hash:
        return _gate("verification", is_met=False, reason=_other_plan(found.plan_hash, now), **figures)
    if found.received_ts < now.running_since_ms:
        reason = "the last verification is from before the bridge was started the last time"
        return _gate("verification", is_met=False, reason=reason, **figures)
    reason = (
        f"{found.fault_count} faults were found in {found.records} records, {age_s:.0f} s ago; "
        f"expected none in at least one record, at most {limit} s ago"
    )
    return _gate("verification", is_met=found.has_passed and age_s <= limit, reason=reason, **figures)


def readers_gate(now: Situation) -> Gate:
    """Return whether no program depends on the old schema any more, according to a recent report."""
    found, limit = now.reports.readers, now.bridge.limits.max_readers_age_s
    if found is None:
        return _gate("readers", is_met=False, reason="the programs that depend on the old schema are not known")
    age_s = now.age_s(found.received_ts)
    named = ", ".join(found.readers[:5]) + (", ..." if len(found.readers) > 5 else "")  # noqa: PLR2004 - enough names
    reason = (
        f"{len(found.readers)} programs depend on the old schema{f' ({named})' if named else ''}, as of {age_s:.0f} s "
        f"ago; expected none, as of at most {limit} s ago"
    )
    figures = {"readers": len(found.readers), "ageS": age_s, "maxReadersAgeS": limit}
    return _gate("readers", is_met=not found.readers and age_s <= limit, reason=reason, **figures)


def reverse_gate(now: Situation) -> Gate:
    """Return whether the reverse plan is complete."""
    problems = now.bridge.reverse.problems
    reason = f"the reverse plan is not complete: {'; '.join(map(str, problems[:5]))}" if problems else _FOLLOWING
    return _gate("reverse-plan", is_met=not problems, reason=reason, problems=len(problems))


def source_gate(now: Situation) -> Gate:
    """Return whether the schema of the source is registered."""
    side = now.bridge.source
    is_met = side.version is not None
    where = f"version {side.version} of" if is_met else "not registered in"
    return _gate("source", is_met=is_met, reason=f"the schema of the source is {where} subject {str(side.subject)!r}")


def _other_plan(plan_hash: str, now: Situation) -> str:
    return (
        f"the last report is about the plan {plan_hash[:12]}, and the bridge has the plan {now.bridge.plan_hash[:12]}"
    )


def _gate(name: str, *, is_met: bool, reason: str, **figures: float) -> Gate:
    return Gate(name, is_met, reason, figures)


# The states of a bridge: which transition is possible, and behind which gates.

MAX_HISTORY: Final = 200
"""The number of transitions that are kept; the oldest are dropped."""

_FLOW: Final = (progress_gate, dead_letter_gate)
_CURRENT: Final = (progress_gate, lag_gate, dead_letter_gate)
_SAFE: Final = (*_CURRENT, verification_gate)
_FREE: Final[tuple[Callable[[Situation], Gate], ...]] = ()

_State = BridgeState
TRANSITIONS: Final[Mapping[BridgeState, Mapping[BridgeState, tuple[Callable[[Situation], Gate], ...]]]] = {
    _State.PLANNED: {_State.SHADOW: (source_gate,), _State.RETIRED: _FREE},
    _State.SHADOW: {_State.RUNNING: _FLOW, _State.PLANNED: _FREE},
    _State.RUNNING: {_State.CAUGHT_UP: _CURRENT, _State.PLANNED: _FREE},
    _State.CAUGHT_UP: {_State.VERIFIED: _SAFE, _State.RUNNING: _FREE, _State.PLANNED: _FREE},
    _State.VERIFIED: {_State.CUT_OVER: _SAFE, _State.RUNNING: _FREE, _State.PLANNED: _FREE},
    _State.CUT_OVER: {_State.DRAINING: _CURRENT, _State.ROLLED_BACK: (reverse_gate,)},
    _State.DRAINING: {
        _State.RETIRED: (readers_gate, lag_gate),
        _State.CUT_OVER: _FREE,
        _State.ROLLED_BACK: (reverse_gate,),
    },
    _State.ROLLED_BACK: {_State.PLANNED: _FREE, _State.RETIRED: _FREE},
    _State.RETIRED: {},
}
"""For each state, the states that a bridge can change to, with the gates of each change."""

AT_REST: Final = frozenset({BridgeState.PLANNED, BridgeState.ROLLED_BACK})
"""The states in which nothing relies on the plan, so that it can be replaced."""

REMOVABLE: Final = AT_REST | {BridgeState.RETIRED}
"""The states in which a bridge can be deleted."""


def steps_to(state: BridgeState) -> tuple[BridgeState, ...]:
    """Return the shortest sequence of states after ``planned`` that ends with ``state``.

    >>> [step.value for step in steps_to(BridgeState.CAUGHT_UP)]
    ['shadow', 'running', 'caught-up']
    """
    paths: dict[BridgeState, tuple[BridgeState, ...]] = {BridgeState.PLANNED: ()}
    waiting = deque(paths)
    while state not in paths:
        last = waiting.popleft()
        for following in TRANSITIONS[last]:
            if following not in paths:
                paths[following] = (*paths[last], following)
                waiting.append(following)
    return paths[state]


@dataclass(frozen=True, slots=True)
class TransitionRequest:
    """A requested change of the state: by whom and why.

    ``expected`` is the state that the caller has seen, None for any. ``force``: carry it out although gates are not
    met, which needs a reason.
    """

    target: BridgeState
    by: str
    reason: str = ""
    force: bool = False
    expected: BridgeState | None = None


def possible_transitions(now: Situation) -> tuple[PossibleTransition, ...]:
    """Return the states that the bridge can change to, with the gates as they are now."""
    found = []
    for state, conditions in TRANSITIONS[now.bridge.state].items():
        checked = tuple(condition(now) for condition in conditions)
        found.append(PossibleTransition(state, all(gate.is_met for gate in checked), checked))
    return tuple(found)


def changed(now: Situation, request: TransitionRequest) -> Bridge:
    """Return the bridge in the requested state, with the transition in its history.

    Raises ``TransitionRefused``, with the unmet gates in its details, and ``InvalidBridge`` for a forced transition
    without a reason.
    """
    bridge = now.bridge
    if request.force and not request.reason.strip():
        raise InvalidBridge("A forced transition needs a reason")
    possible = TRANSITIONS[bridge.state]
    if request.expected not in {None, bridge.state}:
        raise _refused(bridge, request, f"it is {bridge.state}, and the request expects {request.expected}")
    if request.target not in possible:
        choices = ", ".join(possible) or "no other state"
        raise _refused(bridge, request, f"it is {bridge.state}, from which it can change to {choices}")
    unmet = tuple(gate for condition in possible[request.target] if not (gate := condition(now)).is_met)
    if unmet and not request.force:
        raise _refused(bridge, request, "; ".join(f"{gate.name}: {gate.reason}" for gate in unmet), unmet)
    done = Transition(
        bridge.state, request.target, now.now_ms, request.by, request.reason, forced=bool(unmet), unmet=unmet
    )
    history = (*bridge.history, done)[-MAX_HISTORY:]
    return replace(bridge, state=request.target, history=history, update_ts=now.now_ms)


def _refused(bridge: Bridge, request: TransitionRequest, why: str, unmet: tuple[Gate, ...] = ()) -> TransitionRefused:
    details = {"state": bridge.state.value, "gates": [GATE.write(gate) for gate in unmet]}
    return TransitionRefused(f"Bridge {bridge.name!r} cannot change to {request.target}: {why}", details=details)


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
