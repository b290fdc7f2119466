"""What permits breaks of contracts: approvals and migrations; and verifications of records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import partial
from typing import Final

from counterfoil.registry.bridges import records as gates
from counterfoil.registry.bridges.records import BridgeRecords, Situation
from counterfoil.registry.changes.as_of import iso_time
from counterfoil.registry.contracts.events import Event, Events
from counterfoil.registry.contracts.records import APPROVALS, MIGRATIONS, VERIFICATIONS, ContractRecords, content_id
from counterfoil.registry.contracts.verdicts.sides import Counterparts, VersionPlace, consumer_of
from counterfoil.registry.contracts.verdicts.verdict import day_at, is_expired
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import Requester, record_write, together
from counterfoil.registry.subjects.levels import Scopes, check_writable
from counterfoil.schema.agreements import major_of
from counterfoil.schema.agreements.pairs import ConsumerReading, Pair
from counterfoil.schema.contexts import TOP_LEVEL, parse_subject
from counterfoil.schema.errors import (
    ApprovalNotFound,
    ContractNotFound,
    InvalidApproval,
    InvalidContract,
    InvalidVerification,
    MigrationNotFound,
    VerificationNotFound,
)
from counterfoil.schema.rest.bridges import BridgeDirection, BridgeState, Gate
from counterfoil.schema.rest.contracts import ContractKind, EventType
from counterfoil.schema.rest.observations import CHECK_RESULT, VERIFICATION, CheckOutcome, NewVerification, Verification
from counterfoil.schema.rest.verdicts import (
    NEW_APPROVAL,
    Approval,
    Approvals,
    Consumer,
    ContractMigration,
    MigrationStatus,
    NewApproval,
    ReasonCode,
    VerdictReason,
)

# Approvals: findings that someone answers for until a day.

_SHOWN: Final = 80


class ApprovalCases:
    """The use cases of approvals. ``now_ms`` is the clock (epoch ms), which decides whether one has expired."""

    def __init__(
        self, storage: Storage, *, records: ContractRecords, scopes: Scopes, now_ms: Callable[[], int]
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._now_ms = now_ms
        self._turns = WriteTurns(storage.catch_up)

    async def all(self, fingerprint: str | None = None) -> Approvals:
        """Return all approvals, or those of one finding, and the day by which some of them have expired."""
        now_ms = self._now_ms()
        found = await self._records.all(APPROVALS)
        wanted = (each for each in found if fingerprint is None or fingerprint in each.fingerprints)
        ordered = sorted(wanted, key=lambda each: (each.create_ts, each.id))
        return Approvals(day_at(now_ms).isoformat(), tuple(_at(each, now_ms) for each in ordered))

    async def get(self, approval_id: str) -> Approval:
        """Return an approval; raise ``ApprovalNotFound`` if there is none with this id."""
        held, _ = await self._held(approval_id)
        return _at(held, self._now_ms())

    async def add(self, new: NewApproval, *, by: Requester) -> Approval:
        """Store an approval; one that is equal to a stored one is that one.

        Raises ``InvalidApproval`` if its day is over.
        """
        new = replace(new, fingerprints=tuple(sorted(set(new.fingerprints))), until=self._day(new.until).isoformat())
        return await self._turns.take(partial(self._add, new, by=by), written=new)

    def _day(self, text: str) -> date:
        """Return the day in a text, which must not be over."""
        try:
            day = date.fromisoformat(text)
        except ValueError:
            raise InvalidApproval(f"until is {text[:_SHOWN]!r}; expected a day such as 2027-03-31") from None
        now_ms = self._now_ms()
        if day < day_at(now_ms):
            raise InvalidApproval(f"until is {day}, which is over: it is {iso_time(now_ms)} here")
        return day

    async def _add(self, new: NewApproval, *, by: Requester) -> Approval:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        approval_id = content_id(NEW_APPROVAL.write(new))
        held = await self._records.find(APPROVALS, (approval_id,))
        if held.value is not None:
            return _at(held.value, self._now_ms())
        approval = Approval(
            approval_id,
            new.fingerprints,
            new.owner,
            new.reason,
            new.until,
            new.migration,
            new.by,
            create_ts=self._now_ms(),
        )
        await self._storage.commit(APPROVALS.write(approval, revision=held.revision), by=by)
        return approval

    async def revoke(self, approval_id: str, *, by: Requester) -> None:
        """Delete an approval; raise ``ApprovalNotFound`` if there is none with this id."""
        await self._turns.take(partial(self._revoke, approval_id, by=by), written=approval_id)

    async def _revoke(self, approval_id: str, *, by: Requester) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        _, revision = await self._held(approval_id)
        await self._storage.commit(record_write(APPROVALS.name, (approval_id,), None, revision=revision), by=by)

    async def _held(self, approval_id: str) -> tuple[Approval, int]:
        held = await self._records.find(APPROVALS, (approval_id,))
        if held.value is None:
            raise ApprovalNotFound(f"There is no approval with the id {approval_id[:_SHOWN]!r}")
        return held.value, held.revision


def _at(approval: Approval, now_ms: int) -> Approval:
    return replace(approval, is_expired=is_expired(approval, now_ms))


# Verifications: the latest result of comparing the records of an environment with a contract, by its content.

_SHOWN_TEXT: Final = 80
_REPORTED: Final = 20
"""How many failing checks an event has."""


class VerificationCases:
    """The use cases of verifications. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        scopes: Scopes,
        events: Events,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._events = events
        self._now_ms = now_ms
        self._turns = WriteTurns(storage.catch_up)

    async def all(self, contract: str | None = None, environment: str | None = None) -> list[Verification]:
        """Return the latest verifications: of all contracts and environments, or of one."""
        return [
            each
            for each in sorted(await self._records.all(VERIFICATIONS), key=lambda one: (one.create_ts, one.id))
            if contract in {None, each.contract} and environment in {None, each.environment}
        ]

    async def get(self, verification_id: str) -> Verification:
        """Return a verification; raise ``VerificationNotFound`` if there is none with this id."""
        found = (each for each in await self._records.all(VERIFICATIONS) if each.id == verification_id)
        held = next(found, None)
        if held is None:
            raise self.no_verification(verification_id)
        return held

    @staticmethod
    def no_verification(verification_id: str) -> VerificationNotFound:
        """Return the error for a verification that does not exist."""
        return VerificationNotFound(f"There is no verification with the id {verification_id[:_SHOWN_TEXT]!r}")

    async def add(self, new: NewVerification, *, by: Requester) -> Verification:
        """Store a verification instead of that of records that were read before; a later one is kept.

        Raises ``EnvironmentNotFound``, ``ContractNotFound``, ``InvalidVerification``.
        """
        return await self._turns.take(partial(self._add, new, by=by), written=(new.contract, new.environment))

    async def _add(self, new: NewVerification, *, by: Requester) -> Verification:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        await self._records.environment(new.environment)
        verification = self._made(new, await self._hash(new))
        held = await self._records.find(VERIFICATIONS, VERIFICATIONS.key(verification))
        if held.value is not None and held.value.read_ts > verification.read_ts:
            return held.value
        if held.value is None or held.value.id != verification.id:
            events = () if verification.is_passed else (_failed(verification),)
            stored = VERIFICATIONS.write(verification, revision=held.revision)
            await self._storage.commit(together((stored, await self._events.plan(*events))), by=by)
            return verification
        return held.value

    async def _hash(self, new: NewVerification) -> str:
        contract = await self._records.published(new.contract, ContractKind.ODCS, new.contract_version)
        what = f"{new.contract[:_SHOWN_TEXT]} {new.contract_version[:_SHOWN_TEXT]}"
        if contract is None:
            raise ContractNotFound(f"There is no contract {what}; publish it before its verification")
        if new.hash and new.hash != contract.hash:
            raise InvalidVerification(
                f"It is of content with the hash {new.hash[:_SHOWN_TEXT]}, and {what} is published with {contract.hash}"
            )
        return contract.hash

    def _made(self, new: NewVerification, contract_hash: str) -> Verification:
        now_ms = self._now_ms()
        outcomes = {each.outcome for each in new.results}
        verification = Verification(
            "",
            new.contract,
            new.contract_version,
            contract_hash,
            new.environment,
            CheckOutcome.PASSED in outcomes and CheckOutcome.FAILED not in outcomes,
            new.sample,
            new.results,
            new.schema_ids,
            new.build_url,
            now_ms if new.read_ts is None else min(new.read_ts, now_ms),
        )
        return replace(verification, id=content_id(VERIFICATION.write(verification)), create_ts=now_ms)


def _failed(verification: Verification) -> Event:
    """Return the event about a verification that failed, with the checks that did."""
    facts = {
        "id": verification.id,
        "contract": verification.contract,
        "contractVersion": verification.contract_version,
        "environment": verification.environment,
        "topic": verification.sample.topic,
        "buildUrl": verification.build_url,
        "failures": [CHECK_RESULT.write(each) for each in verification.failures[:_REPORTED]],
    }
    return Event(EventType.VERIFICATION_FAILED, verification.contract, facts)


# Whether a migration permits a break now, and what is missing. Pure functions.

_RELIABLE: Final = (BridgeState.VERIFIED, BridgeState.CUT_OVER, BridgeState.DRAINING)
"""The states in which others may rely on a bridge."""
_CUT_OVER: Final = (BridgeState.CUT_OVER, BridgeState.DRAINING, BridgeState.RETIRED)
"""The states in which nobody needs the bridge to write the old version for the first time."""
_GATES: Final = (gates.progress_gate, gates.lag_gate, gates.dead_letter_gate, gates.verification_gate)


@dataclass(frozen=True, slots=True)
class MigrationStanding:
    """A migration with what is known of its bridge, which is None while it is not registered, and the time."""

    migration: ContractMigration
    situation: Situation | None
    now_ms: int

    @property
    def is_expired(self) -> bool:
        """Whether the last day of the migration is over, in UTC."""
        sunset = self.migration.sunset
        return bool(sunset) and date.fromisoformat(sunset) < day_at(self.now_ms)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The conditions on the latest reports about the bridge."""
        now = self.situation
        return () if now is None else tuple(gate(now) for gate in _GATES)

    def concerns(self, pair: Pair) -> bool:
        """Return whether the migration is between the versions of a contract that a pair writes and reads."""
        mine = self.migration
        return mine.contract == pair.contract and {mine.source, mine.target} == {
            pair.producer_major,
            pair.consumer_major,
        }

    def is_of_converter(self, pair: Pair) -> bool:
        """Return whether the consumer of a pair is the converter itself, which comes before what it reads."""
        return pair.consumer == self.migration.application

    def hindrances(self) -> Iterator[str]:
        """Yield what is missing in every environment, in the order in which it can be done."""
        mine, now = self.migration, self.situation
        if self.is_expired:
            yield (
                f"the migration {mine.id} of {mine.contract} from {mine.source} to {mine.target} ended on "
                f"{mine.sunset}; agree on a later day, or retire version {mine.source}"
            )
        if now is None:
            yield f"the bridge {mine.bridge} of migration {mine.id} is not registered"
            return
        state = now.bridge.state
        if state not in _RELIABLE:
            yield f"the bridge {mine.bridge} is {state}; expected {', '.join(_RELIABLE[:-1])} or {_RELIABLE[-1]}"
        for gate in self.gates:
            if not gate.is_met:
                yield f"the bridge {mine.bridge} does not meet the condition {gate.name}: {gate.reason}"

    def misdirection(self, pair: Pair) -> Iterator[str]:
        """Yield why the bridge converts nothing for a pair; nothing if it converts what the consumer needs."""
        now, mine = self.situation, self.migration
        if now is not None and now.bridge.source.subject != parse_subject(pair.subject):
            yield (
                f"the bridge {mine.bridge} converts the records of {now.bridge.source.subject}, and {pair.producer} "
                f"writes {pair.subject}"
            )
            return
        is_of_old = pair.consumer_major == mine.source
        wanted = BridgeDirection.NEW_TO_OLD if is_of_old else BridgeDirection.OLD_TO_NEW
        if now is not None and now.bridge.direction is not wanted:
            yield (
                f"the bridge {mine.bridge} converts {now.bridge.direction}; expected {wanted}: {pair.consumer} reads "
                f"version {pair.consumer_major} of {mine.contract}, and {pair.producer} writes {pair.producer_major}"
            )

    def permission(self, pair: Pair) -> str:
        """Return the sentence that permits the breaks of a pair."""
        mine = self.migration
        if self.is_of_converter(pair):
            return f"{pair.consumer} runs the bridge {mine.bridge}, which waits for version {pair.consumer_major}"
        until = f" until {mine.sunset}" if mine.sunset else ""
        return (
            f"{pair.consumer} {pair.consumer_version} reads version {pair.consumer_major} of {pair.contract}, which "
            f"the bridge {mine.bridge} makes of version {pair.producer_major}{until}"
        )

    def unfinished(self) -> str:
        """Return why the old version is still needed for the bridge; empty if it is not."""
        now = self.situation
        if now is None or now.bridge.state in _CUT_OVER:
            return ""
        expected = f"{', '.join(_CUT_OVER[:-1])} or {_CUT_OVER[-1]}"
        return f"the bridge {self.migration.bridge} is {now.bridge.state}; expected {expected}"


# Migrations of contracts: what is stored, how each stands, and which breaks they permit.
#
# :meth:`Migrations.bridged` is the only place where a verdict takes migrations into account.


class Migrations:
    """The use cases of migrations. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        bridges: BridgeRecords,
        scopes: Scopes,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._bridges = bridges
        self._scopes = scopes
        self._now_ms = now_ms
        self._turns = WriteTurns(storage.catch_up)

    # --- what is stored

    async def all(self) -> list[ContractMigration]:
        """Return all migrations, sorted by id."""
        return sorted(await self._records.all(MIGRATIONS), key=lambda each: each.id)

    async def get(self, migration_id: str) -> ContractMigration:
        """Return a migration; raise ``MigrationNotFound`` if there is none with this id."""
        found = (await self._records.find(MIGRATIONS, (migration_id,))).value
        if found is None:
            raise MigrationNotFound(f"There is no migration {migration_id[:_SHOWN]!r}")
        return found

    async def put(self, given: ContractMigration, *, by: Requester) -> ContractMigration:
        """Store a migration, instead of what was stored under its id; the time of its creation stays.

        Its versions may be given in full, such as ``v2.1.0``; their major versions are stored. Raises
        ``ContractNotFound`` if no version of the contract has the new major version, ``InvalidContract``.
        """
        given = replace(given, source=major_of(given.source), target=major_of(given.target))
        _check(given)
        return await self._turns.take(partial(self._put, given, by=by), written=(MIGRATIONS.name, given.id))

    async def _put(self, given: ContractMigration, *, by: Requester) -> ContractMigration:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
        versions = [
            version
            for _, kind, version in await self._records.contract_keys(given.contract)
            if kind == ContractKind.ODCS
        ]
        if given.target not in map(major_of, versions):
            published = f"it has {', '.join(versions)}" if versions else "it was never published"
            raise ContractNotFound(
                f"Contract {given.contract[:_SHOWN]!r} has no version {given.target[:_SHOWN]}, to which the migration "
                f"leads; {published}"
            )
        held = await self._records.find(MIGRATIONS, MIGRATIONS.key(given))
        if held.value is not None and held.value.contract != given.contract:
            raise InvalidContract(f"The migration {given.id!r} is one of another contract; take another id")
        value = replace(given, create_ts=self._now_ms() if held.value is None else held.value.create_ts)
        if value != held.value:
            await self._storage.commit(MIGRATIONS.write(value, revision=held.revision), by=by)
        return value

    # --- how it stands

    async def standing(self, migration: ContractMigration) -> MigrationStanding:
        """Return a migration with the latest reports about its bridge."""
        now_ms, held = self._now_ms(), await self._bridges.find(migration.bridge)
        if held is None:
            return MigrationStanding(migration, None, now_ms)
        reports = await self._bridges.reports(migration.bridge)
        return MigrationStanding(migration, Situation(held.bridge, reports, now_ms), now_ms)

    async def _standings(self, contracts: Collection[str]) -> list[MigrationStanding]:
        return [await self.standing(each) for each in await self.all() if each.contract in contracts]

    # --- what it permits

    async def bridged(self, pairs: Sequence[Pair], environment: str | None) -> tuple[list[Pair], list[VerdictReason]]:
        """Return the pairs, with the permission of a migration where one permits their breaks, and what is missing.

        A break is permitted while the bridge converts what the producer writes to what the consumer reads, meets its
        conditions, and the application that runs it is live in the environment; without one, in any environment.
        """
        contracts = {each.contract for each in pairs if each.may_be_bridged}
        standings = await self._standings(contracts)
        live = await self._live({each.migration.application for each in standings}, environment)
        found: list[Pair] = []
        missing: dict[VerdictReason, None] = {}
        for pair in pairs:
            concerning = [each for each in standings if pair.may_be_bridged and each.concerns(pair)]
            judged = [(each, list(_hindrances(each, pair, environment, live=live))) for each in concerning]
            permission = next((each.permission(pair) for each, hindrances in judged if not hindrances), "")
            if not permission:
                texts = [text for _, hindrances in judged for text in hindrances]
                missing.update(dict.fromkeys(_not_ready(pair, each) for each in texts))
            found.append(replace(pair, bridged=permission))
        return found, list(missing)

    async def _live(self, applications: set[str], environment: str | None) -> set[str]:
        """Return those applications of which a version is live in an environment, or in any for None."""
        names = await self._records.environment_names() if environment is None else [environment]
        return {application for name in names for application, _ in await self._records.live(name, applications)}

    async def unfinished(self, contract: str, major: str) -> tuple[set[str], list[VerdictReason]]:
        """Return the applications that run bridges from or to an old major version, and why they still need it."""
        standings = [each for each in await self._standings([contract]) if each.migration.source == major]
        runners = {each.migration.application for each in standings}
        texts = [text for each in standings if (text := each.unfinished())]
        return runners, [VerdictReason(ReasonCode.MIGRATION_NOT_READY, each, contract=contract) for each in texts]


def _check(given: ContractMigration) -> None:
    """Raise ``InvalidContract`` for a migration that cannot be one."""
    if given.source == given.target:
        raise InvalidContract(f"The migration {given.id!r} leads from version {given.source} to itself")
    try:
        date.fromisoformat(given.sunset or "2000-01-01")
    except ValueError:
        raise InvalidContract(f"The sunset {given.sunset[:_SHOWN]!r} is no day such as 2027-03-31") from None


def _hindrances(
    standing: MigrationStanding, pair: Pair, environment: str | None, *, live: Container[str]
) -> Iterator[str]:
    """Yield what is missing for a pair, in the order in which it can be done; ``live`` are the live applications."""
    mine = standing.migration
    if standing.is_of_converter(pair):
        return
    if mine.application not in live:
        order = f"{mine.application} with the bridge {mine.bridge}, then {pair.producer} {pair.producer_version}"
        where = environment or "any environment"
        yield f"no version of {mine.application} is live in {where}; deploy in this order: {order}"
    yield from standing.hindrances()
    yield from standing.misdirection(pair)


def _not_ready(pair: Pair, text: str) -> VerdictReason:
    return VerdictReason(
        ReasonCode.MIGRATION_NOT_READY,
        text,
        contract=pair.contract,
        subject=pair.subject,
        producer=pair.producer,
        producer_version=pair.producer_version,
    )


# How a migration stands: its bridge, where its converter is live, and who still reads the old version.

_VERIFICATION = "verification"


class MigrationStatuses:
    """The use case of a migration's status."""

    def __init__(self, *, migrations: Migrations, records: ContractRecords, counterparts: Counterparts) -> None:
        self._migrations = migrations
        self._records = records
        self._counterparts = counterparts

    async def status(self, migration_id: str) -> MigrationStatus:
        """Return how a migration stands; raise ``MigrationNotFound`` if there is none with this id."""
        mine = await self._migrations.get(migration_id)
        standing = await self._migrations.standing(mine)
        status = MigrationStatus(
            **asdict(mine),
            environments=tuple(await self._live_in(mine.application)),
            is_expired=standing.is_expired,
            hindrances=tuple(standing.hindrances()),
            consumers=await self._remaining(mine),
        )
        return _with_bridge(status, standing)

    async def _remaining(self, mine: ContractMigration) -> tuple[Consumer, ...]:
        """Return who reads the old version and is live somewhere; the converter does not count."""
        found: dict[tuple[str, str], tuple[ConsumerReading, list[str]]] = {}
        for name in await self._records.environment_names():
            live = (await self._counterparts.readers([mine.contract], VersionPlace(name))).live
            for reading in (each for side in live for each in side.readings):
                if reading.major == mine.source and reading.application != mine.application:
                    _, live_in = found.setdefault((reading.application, reading.version), (reading, []))
                    live_in.append(name)
        return tuple(consumer_of(*found[key]) for key in sorted(found))

    async def _live_in(self, application: str) -> list[str]:
        names = await self._records.environment_names()
        found = await asyncio.gather(*(self._records.deployments(name, application) for name in names))
        return [name for name, deployments in zip(names, found, strict=True) if deployments]


def _with_bridge(status: MigrationStatus, standing: MigrationStanding) -> MigrationStatus:
    """Return a status with what is known of the bridge; unchanged while it is not registered."""
    now, gates = standing.situation, standing.gates
    if now is None:
        return status
    progress = now.reports.progress
    return replace(
        status,
        state=now.bridge.state,
        direction=now.bridge.direction,
        source_subject=str(now.bridge.source.subject),
        target_subject=str(now.bridge.target.subject),
        lag=None if progress is None else progress.lag,
        is_verified=any(each.name == _VERIFICATION and each.is_met for each in gates),
        gates=gates,
    )
