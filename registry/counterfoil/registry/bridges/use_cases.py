"""The use cases of bridges: registering, changing and deleting them, their plans, transitions and reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from counterfoil.registry.bridges.records import (
    AT_REST,
    PROGRESS_KIND,
    READERS_KIND,
    REMOVABLE,
    VERIFICATION_KIND,
    BridgeTarget,
    Situation,
    bridge_write,
    changed,
    permit_all,
    possible_transitions,
    progress_gate,
    report_write,
)
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.writes import ReferenceTarget, StoragePlan, together
from counterfoil.registry.subjects.levels import check_writable
from counterfoil.registry.subjects.registration import Registered
from counterfoil.registry.subjects.versions import schema_request_of, version_not_found
from counterfoil.schema.contexts import TOP_LEVEL, parse_subject
from counterfoil.schema.errors import BridgeExists, BridgeInUse, InvalidBridge, ReporterReplaced, SubjectNotFound
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.bridges import (
    Bridge,
    BridgeDirection,
    BridgeLimits,
    BridgeReports,
    BridgeSide,
    BridgeState,
    BridgeStatus,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.registry.bridges.records import (
        BridgeRecords,
        BridgeRequest,
        HeldBridge,
        Permit,
        ReportKind,
        TransitionRequest,
    )
    from counterfoil.registry.judges.judging import LongJudgements
    from counterfoil.registry.store.protocol import Storage
    from counterfoil.registry.store.writes import Requester
    from counterfoil.registry.subjects.levels import Scopes
    from counterfoil.registry.subjects.reading import SchemaReader
    from counterfoil.registry.subjects.registration import SchemaRegistration
    from counterfoil.registry.subjects.versions import Content
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.plans.bridge import BridgeFile
    from counterfoil.schema.plans.bridge_plans import DerivedPlan
    from counterfoil.schema.rest.bridges import BridgeVerification, PossibleTransition, Progress, Readers


# The plan of a bridge, read and derived beside the event loop. No other module of the registry calls these functions.
#
# They are imported at the first request that needs them, since a server starts more often than a bridge is registered.


class BridgePlans:
    """Reads and derives plans; a small file takes long where its expressions do, so that size does not decide."""

    def __init__(self, long: LongJudgements) -> None:
        self._long = long

    async def read(self, text: str) -> BridgeFile:
        """Return the bridge file in ``text`` without its rules.

        Raise ``InvalidBridge`` with line and column of a mistake.
        """
        from counterfoil.schema.plans.bridge_plans import plan_head

        return await self._long.run(plan_head, text)

    async def derived(
        self, text: str, source: ParsedSchema, target: ParsedSchema, *, reverse: str, stored: Bridge | None
    ) -> DerivedPlan:
        """Return the plan of the bridge file in ``text``, and the one back.

        ``stored`` is the bridge of this name, if there is one. Raises ``InvalidBridge``.
        """
        from counterfoil.schema.plans.bridge_plans import NO_HASHES, StoredHashes, derived_plan

        hashes = NO_HASHES if stored is None else StoredHashes(stored.plan_hash, stored.reverse.hash)
        return await self._long.run(derived_plan, text, source, target, reverse, hashes)


# A bridge as it would be stored: its schemas are found, and its plan is derived.


@dataclass(frozen=True, slots=True)
class BridgeDraft:
    """A bridge, the plan that its versions exist, and the plan that registers the schema of its source, if requested.

    ``content`` is the schema to register.
    """

    bridge: Bridge
    guards: StoragePlan
    registration: StoragePlan | None = None
    content: Content | None = None


@dataclass(frozen=True, slots=True)
class _Side:
    side: BridgeSide
    content: Content
    registration: StoragePlan | None = None


class Drafting:
    """Makes drafts of bridges from requests."""

    def __init__(
        self, storage: Storage, *, reader: SchemaReader, registration: SchemaRegistration, plans: BridgePlans
    ) -> None:
        self._storage = storage
        self._reader = reader
        self._registration = registration
        self._plans = plans

    async def draft(
        self,
        file: BridgeFile,
        request: BridgeRequest,
        *,
        by: Requester,
        text: str,
        permit: Permit,
        stored: Bridge | None = None,
    ) -> BridgeDraft:
        """Return the draft of the bridge in ``file``, whose text is ``text``; ``permit`` raises if it is not allowed.

        ``stored`` is the bridge of this name, if there is one: a plan that is stored keeps its meaning.

        Raises ``InvalidBridge``, ``SubjectNotFound``, ``VersionNotFound``, and the errors of registering a schema.
        """
        permit(file, request)
        target_version = request.target_version or file.target_version
        target = await self._stored(file.target_topic, parse_subject(file.target_subject), target_version)
        source = await self._source(file, request, target.side, by)
        reverse = request.reverse_plan or ""
        derived = await self._plans.derived(
            text, await self._parsed(source), await self._parsed(target), reverse=reverse, stored=stored
        )
        bridge = Bridge(
            name=file.name,
            state=BridgeState.PLANNED,
            source=source.side,
            target=target.side,
            direction=request.direction or BridgeDirection.NEW_TO_OLD,
            plan=text,
            plan_hash=derived.hash,
            reverse=derived.reverse,
            owner=request.owner or "",
            lossy=derived.lossy,
            dropped=derived.dropped,
            limits=request.limits or BridgeLimits(),
            description=request.description or "",
        )
        exist = tuple(_exists(each.side) for each in (source, target) if each.registration is None)
        is_new = source.registration is not None and request.registers
        return BridgeDraft(
            bridge,
            StoragePlan(tuple(guard for guard in exist if guard is not None)),
            source.registration if is_new else None,
            source.content if is_new else None,
        )

    async def _source(self, file: BridgeFile, request: BridgeRequest, target: BridgeSide, by: Requester) -> _Side:
        subject = parse_subject(file.source_subject)
        if request.schema is None:
            return await self._stored(file.source_topic, subject, request.source_version)
        bridged_to = BridgeTarget(target.subject, target.version or 0)
        found = await self._registration.plan(
            subject, request.schema, by=by, normalize=request.normalize, bridged_to=bridged_to
        )
        if isinstance(found, Registered):
            content = found.content
            side = BridgeSide(file.source_topic, subject, content.guid, found.version, found.schema_id)
            return _Side(side, content)
        [put] = found.new_versions
        content = put.content
        version = put.version if request.registers else None
        schema = None if request.registers else _schema_of(content)
        return _Side(BridgeSide(file.source_topic, subject, content.guid, version, schema=schema), content, found)

    async def _stored(self, topic: str, subject: QualifiedSubject, version: int | None) -> _Side:
        history = await self._storage.history(subject)
        entry = history.find(version, deleted=False)
        if entry is None:
            if not history.active:
                raise SubjectNotFound(f"Subject {str(subject)!r} not found, so that the schema of {topic} is not known")
            raise version_not_found(subject, version, history)
        content = await self._reader.content(entry.guid)
        return _Side(BridgeSide(topic, subject, entry.guid, entry.version, entry.schema_id), content)

    async def _parsed(self, side: _Side) -> ParsedSchema:
        return await self._reader.parsed(side.side.subject.context, side.content)


def _exists(side: BridgeSide) -> ReferenceTarget | None:
    return None if side.version is None else ReferenceTarget(side.subject, side.version)


def _schema_of(content: Content) -> Schema:
    return Schema(content.text, content.schema_type, content.references, content.metadata, content.rule_set)


# The use cases of bridges: registering, changing and deleting them, their transitions, and the reports about them.

_T = TypeVar("_T")
_Report = TypeVar("_Report", "Progress", "BridgeVerification", "Readers")


@dataclass(frozen=True, slots=True)
class BridgeFilter:
    """The bridges in a state, and with a subject on one of their sides; None is any."""

    state: BridgeState | None = None
    subject: QualifiedSubject | None = None

    def wants(self, bridge: Bridge) -> bool:
        """Return whether ``bridge`` is wanted."""
        subjects = {None, bridge.source.subject, bridge.target.subject}
        return self.state in {None, bridge.state} and self.subject in subjects


class Bridges:
    """The use cases of bridges. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: BridgeRecords,
        scopes: Scopes,
        reader: SchemaReader,
        drafting: Drafting,
        plans: BridgePlans,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._reader = reader
        self._drafting = drafting
        self._plans = plans
        self._now_ms = now_ms
        self._turns = WriteTurns(storage.catch_up)

    # --- reading

    async def listed(self, wanted: BridgeFilter) -> list[BridgeStatus]:
        """Return the wanted bridges with the latest reports about them, sorted by name."""
        reports = await self._records.all_reports()
        found = [held.bridge for held in await self._records.all()]
        return [self._status(each, reports.get(each.name, BridgeReports())) for each in found if wanted.wants(each)]

    async def status(self, name: str) -> BridgeStatus:
        """Return a bridge with the latest reports about it; raise ``BridgeNotFound`` if there is none."""
        held = await self._records.get(name)
        return self._status(held.bridge, await self._records.reports(name))

    def _status(self, bridge: Bridge, reports: BridgeReports) -> BridgeStatus:
        is_current = progress_gate(Situation(bridge, reports, self._now_ms())).is_met
        return BridgeStatus(bridge, reports, is_stale=not is_current)

    async def possible_transitions(self, name: str) -> tuple[PossibleTransition, ...]:
        """Return the states that the bridge can change to, with the gates as they are now."""
        return possible_transitions(await self._situation(await self._records.get(name)))

    async def _situation(self, held: HeldBridge) -> Situation:
        return Situation(held.bridge, await self._records.reports(held.bridge.name), self._now_ms())

    # --- definitions

    async def create(
        self, request: BridgeRequest, *, by: Requester, dry_run: bool = False, permit: Permit = permit_all
    ) -> Bridge:
        """Register a bridge, and the schema of its source if requested, all or nothing; return the bridge.

        An equal one that exists is returned. With ``dry_run`` nothing is stored. ``permit`` is called with the bridge
        file before anything about it is read, and raises if the caller may not do this. Raises ``InvalidBridge``,
        ``BridgeExists``, ``SubjectNotFound``, ``VersionNotFound``, ``OperationNotPermitted``, and the errors of
        registering a schema.
        """
        if not request.plan or not (request.owner or "").strip():
            raise InvalidBridge("A bridge needs a plan, the text of a bridge file, and an owner")
        file = await self._plans.read(request.plan)
        attempt = partial(self._create, request, file, text=request.plan, dry_run=dry_run, permit=permit, by=by)
        return await self._take(file.name, attempt)

    async def _create(
        self, request: BridgeRequest, file: BridgeFile, *, by: Requester, text: str, dry_run: bool, permit: Permit
    ) -> Bridge:
        await self._check_writable()
        held = await self._records.find(file.name)
        stored = None if held is None else held.bridge
        draft = await self._drafting.draft(file, request, by=by, text=text, permit=permit, stored=stored)
        if held is not None:
            if _definition(held.bridge) == _definition(draft.bridge):
                return held.bridge
            raise BridgeExists(f"There is another bridge {file.name!r} already")
        now_ms = self._now_ms()
        bridge = replace(draft.bridge, create_ts=now_ms, update_ts=now_ms)
        return bridge if dry_run else await self._store(None, bridge, draft, by=by)

    async def change(
        self, name: str, request: BridgeRequest, *, by: Requester, dry_run: bool = False, permit: Permit = permit_all
    ) -> Bridge:
        """Change a bridge and return it; what the request does not give stays. With ``dry_run`` nothing is stored.

        Raises ``BridgeInUse`` if the plan would be changed while something relies on it, and as :meth:`create`.
        """
        return await self._take(name, partial(self._change, name, request, dry_run=dry_run, permit=permit, by=by))

    async def _change(
        self, name: str, request: BridgeRequest, *, by: Requester, dry_run: bool, permit: Permit
    ) -> Bridge:
        await self._check_writable()
        held = await self._records.get(name)
        draft = await self._redraft(held.bridge, request, permit, by) if request.changes_plan else None
        bridge = held.bridge if draft is None else _with_plan(held.bridge, draft.bridge)
        bridge = replace(
            bridge,
            owner=bridge.owner if request.owner is None else request.owner,
            description=bridge.description if request.description is None else request.description,
            limits=request.limits or bridge.limits,
        )
        if not bridge.owner.strip():
            raise InvalidBridge("A bridge needs an owner")
        if bridge == held.bridge or dry_run:
            return bridge
        return await self._store(held, replace(bridge, update_ts=self._now_ms()), draft, by=by)

    async def _redraft(self, bridge: Bridge, request: BridgeRequest, permit: Permit, by: Requester) -> BridgeDraft:
        text = request.plan or bridge.plan
        file = await self._plans.read(text)
        if file.name != bridge.name:
            raise InvalidBridge(f"The plan is that of bridge {file.name!r}; expected {bridge.name!r}")
        completed = _completed(request, file, bridge)
        draft = await self._drafting.draft(file, completed, by=by, text=text, permit=permit, stored=bridge)
        if bridge.state not in AT_REST and _conversion(draft.bridge) != _conversion(bridge):
            raise BridgeInUse(
                f"Bridge {bridge.name!r} is {bridge.state}; its plan can be changed while it is "
                f"{' or '.join(sorted(AT_REST))}"
            )
        return draft

    async def _store(
        self, held: HeldBridge | None, bridge: Bridge, draft: BridgeDraft | None, *, by: Requester
    ) -> Bridge:
        parts = [] if draft is None else [draft.registration or StoragePlan(), draft.guards]
        await self._storage.commit(together((*parts, bridge_write(held, bridge))), by=by)
        if draft is not None and draft.content is not None:
            self._reader.keep(draft.content)
        return (await self._records.get(bridge.name)).bridge

    async def delete(self, name: str, *, by: Requester) -> None:
        """Delete a bridge and the reports about it; raise ``BridgeInUse`` if something may rely on it."""
        await self._take(name, partial(self._delete, name, by=by))

    async def _delete(self, name: str, *, by: Requester) -> None:
        await self._check_writable()
        held = await self._records.get(name)
        if held.bridge.state not in REMOVABLE:
            raise BridgeInUse(
                f"Bridge {name!r} is {held.bridge.state}; it can be deleted while it is {', '.join(sorted(REMOVABLE))}"
            )
        await self._storage.commit(await self._records.deletion(held), by=by)

    # --- transitions

    async def transit(self, name: str, request: TransitionRequest, *, by: Requester, dry_run: bool = False) -> Bridge:
        """Change the state of a bridge and return the bridge; with ``dry_run`` nothing is stored.

        Raises ``TransitionRefused`` if the state cannot follow, or a gate is not met.
        """
        return await self._take(name, partial(self._transit, name, request, dry_run=dry_run, by=by))

    async def _transit(self, name: str, request: TransitionRequest, *, by: Requester, dry_run: bool) -> Bridge:
        await self._check_writable()
        held = await self._records.get(name)
        bridge = changed(await self._situation(held), request)
        if not dry_run:
            await self._storage.commit(bridge_write(held, bridge), by=by)
        return bridge

    # --- reports

    async def report_progress(self, name: str, progress: Progress, *, by: Requester) -> None:
        """Store the latest progress; raise ``ReporterReplaced`` if a later start of the job has reported before.

        Only the first report of each start is in the journal.
        """
        await self._take(name, partial(self._report_progress, name, progress, by=by))

    async def _report_progress(self, name: str, progress: Progress, *, by: Requester) -> None:
        held = await self._records.get(name)
        found = await self._records.report_record(PROGRESS_KIND, name)
        is_same_start = False
        if found is not None:
            latest = PROGRESS_KIND.read(found.document)
            is_same_start = (latest.epoch, latest.job) == (progress.epoch, progress.job)
            if latest.epoch >= progress.epoch and not is_same_start:
                raise ReporterReplaced(
                    f"Job {latest.job!r} reports the progress of bridge {name!r} since its start {latest.epoch}; "
                    f"a report of job {progress.job!r}, start {progress.epoch}, is refused"
                )
        report = replace(progress, received_ts=self._now_ms())
        write = report_write(held, PROGRESS_KIND, report, replaced=found, is_noted=not is_same_start)
        await self._storage.commit(write, by=by)

    async def report_verification(self, name: str, verification: BridgeVerification, *, by: Requester) -> None:
        """Store the result of the latest verification."""
        stamped = replace(verification, received_ts=self._now_ms())
        await self._take(name, partial(self._report, name, VERIFICATION_KIND, stamped, by=by))

    async def report_readers(self, name: str, readers: Readers, *, by: Requester) -> None:
        """Store which programs still depend on the old schema."""
        stamped = replace(readers, received_ts=self._now_ms())
        await self._take(name, partial(self._report, name, READERS_KIND, stamped, by=by))

    async def _report(self, name: str, kind: ReportKind[_Report], report: _Report, *, by: Requester) -> None:
        held = await self._records.get(name)
        found = await self._records.report_record(kind, name)
        await self._storage.commit(report_write(held, kind, report, replaced=found, is_noted=True), by=by)

    # --- all writes

    async def _take(self, name: str, attempt: Callable[[], Awaitable[_T]]) -> _T:
        return await self._turns.take(attempt, written=name)

    async def _check_writable(self) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)


def _conversion(bridge: Bridge) -> tuple[object, ...]:
    """Return what the bridge converts, and how."""
    sides = ((side.topic, side.subject, side.guid, side.version) for side in (bridge.source, bridge.target))
    return bridge.plan_hash, bridge.reverse, bridge.direction, *sides


def _definition(bridge: Bridge) -> tuple[object, ...]:
    """Return what is equal for two registrations of the same bridge."""
    return _conversion(bridge), bridge.plan, bridge.owner, bridge.description, bridge.limits


def _completed(request: BridgeRequest, file: BridgeFile, bridge: Bridge) -> BridgeRequest:
    """Return ``request`` with the schemas and the direction of ``bridge`` where it gives no others."""
    reverse = bridge.reverse.plan if request.reverse_plan is None else request.reverse_plan
    request = replace(request, direction=request.direction or bridge.direction, reverse_plan=reverse)
    source, target = bridge.source, bridge.target
    is_given = request.schema is not None or request.source_version is not None
    if not is_given and parse_subject(file.source_subject) == source.subject:
        schema = None if source.schema is None else schema_request_of(source.schema)
        request = replace(request, schema=schema, source_version=source.version)
    if file.target_version is None and parse_subject(file.target_subject) == target.subject:
        request = replace(request, target_version=request.target_version or target.version)
    return request


def _with_plan(bridge: Bridge, draft: Bridge) -> Bridge:
    """Return ``bridge`` with the plan of ``draft``."""
    return replace(
        draft,
        state=bridge.state,
        owner=bridge.owner,
        description=bridge.description,
        limits=bridge.limits,
        create_ts=bridge.create_ts,
        update_ts=bridge.update_ts,
        history=bridge.history,
    )
