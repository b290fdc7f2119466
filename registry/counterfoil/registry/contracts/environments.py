"""Applications, environments, what is live in them, and what is stored of the time at which it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TypeVar
from uuid import uuid4

from counterfoil.registry.contracts.events import Event, Events
from counterfoil.registry.contracts.records import (
    ANYWHERE,
    APPLICATIONS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    LIVE_HISTORIES,
    PUBLISHED_BESIDE,
    VERSIONS,
    ContractRecords,
    LiveHistory,
    PublishedBeside,
    ended,
    went_live,
)
from counterfoil.registry.contracts.verdicts.sides import Sides
from counterfoil.registry.store.committing import WriteTurns
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.records import StoredKind
from counterfoil.registry.store.writes import PutRecord, RecordAt, Requester, StoragePlan, together
from counterfoil.registry.subjects.levels import Scopes, check_writable
from counterfoil.schema.agreements.sides import Numbered
from counterfoil.schema.contexts import TOP_LEVEL
from counterfoil.schema.errors import DeploymentNotFound
from counterfoil.schema.rest.contracts import (
    DEPLOYMENT,
    Application,
    ApplicationVersion,
    ContractKind,
    Deployment,
    Environment,
    EventType,
    Liveness,
)

# What is stored of the time at which versions were live and published: written beside deployments and publications.

_NOTHING = StoragePlan()


class Histories:
    """Plans the records of histories. Times are epoch ms."""

    def __init__(self, *, records: ContractRecords, sides: Sides) -> None:
        self._records = records
        self._sides = sides

    async def went_live(self, given: Deployment, now_ms: int) -> StoragePlan:
        """Return the plan that records that a version is live; the first time with the writers that it meets."""
        key = (given.environment, given.application, given.version)
        held = await self._records.find(LIVE_HISTORIES, key)
        new = LiveHistory(*key)
        if held.value is None:
            version, _ = await self._records.version(given.application, given.version)
            contracts = {each.contract for each in (await self._sides.side(version)).readings}
            new = LiveHistory(*key, writers=tuple(await self._writers(contracts, given.environment)))
        history = went_live(held.value, new, now_ms)
        return _NOTHING if history == held.value else LIVE_HISTORIES.write(history, revision=held.revision)

    async def ended(self, gone: Deployment, now_ms: int) -> StoragePlan:
        """Return the plan that records that a version is no longer live, if nothing else of it is."""
        live = await self._records.deployments(gone.environment, gone.application)
        if any(each.version == gone.version and each.id != gone.id for each in live):
            return _NOTHING
        held = await self._records.find(LIVE_HISTORIES, (gone.environment, gone.application, gone.version))
        history = held.value or went_live(
            None, LiveHistory(gone.environment, gone.application, gone.version), gone.create_ts
        )
        return LIVE_HISTORIES.write(ended(history, now_ms), revision=held.revision)

    async def published(self, application: str, version: str, contracts: Iterable[str]) -> StoragePlan:
        """Return the plan that records which writers of the contracts that a version reads are there, everywhere."""
        wanted = sorted(set(contracts))
        held = await self._records.find(PUBLISHED_BESIDE, (application, version))
        known = {} if held.value is None else dict(held.value.writers)
        for name in (ANYWHERE, *await self._records.environment_names()) if wanted else ():
            known[name] = tuple(dict.fromkeys((*known.get(name, ()), *await self._writers(wanted, name))))
        beside = PublishedBeside(application, version, {name: each for name, each in known.items() if each})
        is_news = bool(wanted) and beside != held.value  # that nobody was there is known, too
        return PUBLISHED_BESIDE.write(beside, revision=held.revision) if is_news else _NOTHING

    async def _writers(self, contracts: Iterable[str], environment: str) -> list[Numbered]:
        """Return the versions that offer one of some contracts: live in an environment, or the newest ones."""
        wanted = frozenset(contracts)
        parties = await self._records.parties(ContractKind.ODCS, sorted(wanted))
        if environment == ANYWHERE:
            return sorted({(each.application, each.newest) for each in parties})
        live = await self._records.live(environment, {each.application for each in parties})
        return [
            (each.application, each.version)
            for each in await self._records.versions(live)
            if any(link.kind is ContractKind.ODCS and link.id in wanted for link in each.contracts)
        ]


# Applications, environments, and what is live in them: deployments, which replace, and releases, which accumulate.

_T = TypeVar("_T")


class Environments:
    """The use cases of applications, environments and deployments. ``now_ms`` is the clock (epoch ms)."""

    def __init__(
        self,
        storage: Storage,
        *,
        records: ContractRecords,
        scopes: Scopes,
        events: Events,
        histories: Histories,
        now_ms: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._records = records
        self._scopes = scopes
        self._events = events
        self._histories = histories
        self._now_ms = now_ms
        self._turns = WriteTurns(storage.catch_up)

    # --- applications

    async def applications(self) -> list[Application]:
        """Return all applications, sorted by name."""
        return await self._records.all(APPLICATIONS)

    async def application(self, name: str) -> Application:
        """Return an application; raise ``ApplicationNotFound`` if there is none of this name."""
        return await self._records.application(name)

    async def put_application(self, application: Application, *, by: Requester) -> Application:
        """Store an application, instead of what was stored about it; the time of its creation stays."""

        def made(held: Application | None) -> Application:
            return replace(application, create_ts=self._now_ms() if held is None else held.create_ts)

        return await self._put(APPLICATIONS, (application.name,), made, by=by)

    async def versions(self, application: str) -> list[ApplicationVersion]:
        """Return the versions of an application; raise ``ApplicationNotFound`` if there is none of this name."""
        await self._records.application(application)
        return await self._records.all(VERSIONS, (application,))

    async def version(self, application: str, version: str) -> ApplicationVersion:
        """Return a version of an application; raise ``ApplicationNotFound`` if there is none."""
        found, _ = await self._records.version(application, version)
        return found

    async def put_version(self, given: ApplicationVersion, *, by: Requester) -> ApplicationVersion:
        """Store a version of an existing application; the contracts that it has published stay."""
        await self._records.application(given.application)

        def made(held: ApplicationVersion | None) -> ApplicationVersion:
            if held is None:
                return replace(given, contracts=(), create_ts=self._now_ms())
            return replace(given, contracts=held.contracts, create_ts=held.create_ts)

        return await self._put(VERSIONS, (given.application, given.version), made, by=by)

    # --- environments

    async def environments(self) -> list[Environment]:
        """Return all environments in their order."""
        return sorted(await self._records.all(ENVIRONMENTS), key=lambda each: (each.order, each.name))

    async def environment(self, name: str) -> Environment:
        """Return an environment; raise ``EnvironmentNotFound`` if there is none of this name."""
        found, _ = await self._records.environment(name)
        return found

    async def put_environment(self, environment: Environment, *, by: Requester) -> Environment:
        """Store an environment, instead of what was stored about it."""
        return await self._put(ENVIRONMENTS, (environment.name,), lambda _: environment, by=by)

    async def _put(
        self, kind: StoredKind[_T], key: tuple[str, ...], made: Callable[[_T | None], _T], *, by: Requester
    ) -> _T:
        async def attempt() -> _T:
            await self._check_writable()
            held = await self._records.find(kind, key)
            value = made(held.value)
            if value != held.value:
                await self._storage.commit(kind.write(value, revision=held.revision), by=by)
            return value

        return await self._turns.take(attempt, written=(kind.name, key))

    # --- deployments and releases

    async def live(self, environment: str, liveness: Liveness, application: str | None = None) -> list[Deployment]:
        """Return the deployments, or the releases, in an environment: of one application, or of all."""
        await self._records.environment(environment)
        found = await self._records.deployments(environment, application)
        return [each for each in found if each.liveness is liveness]

    async def find(self, environment: str, liveness: Liveness, deployment_id: str) -> Deployment:
        """Return a deployment or a release; raise ``DeploymentNotFound`` if there is none with this id."""
        found = await self.live(environment, liveness)
        held = next((each for each in found if each.id == deployment_id), None)
        if held is None:
            raise self.no_deployment(environment, liveness, deployment_id)
        return held

    @staticmethod
    def no_deployment(environment: str, liveness: Liveness, deployment_id: str) -> DeploymentNotFound:
        """Return the error for a deployment, or a release, that does not exist."""
        return DeploymentNotFound(f"There is nothing {liveness} with the id {deployment_id[:80]!r} in {environment}")

    async def record(self, given: Deployment, *, by: Requester) -> Deployment:
        """Record that a version is live; the version must have been published.

        A deployment replaces that of the same instance; a release that is recorded again stays as it is. Raises
        ``EnvironmentNotFound`` and ``ApplicationNotFound``.
        """
        return await self._turns.take(partial(self._record, given, by=by), written=DEPLOYMENTS.key(given))

    async def _record(self, given: Deployment, *, by: Requester) -> Deployment:
        await self._check_writable()
        _, environment_revision = await self._records.environment(given.environment)
        _, version_revision = await self._records.version(given.application, given.version)
        held = await self._records.find(DEPLOYMENTS, DEPLOYMENTS.key(given))
        if held.value is not None and held.value.version == given.version:
            return held.value
        deployment = replace(given, id=str(uuid4()), create_ts=self._now_ms())
        guards = (
            RecordAt(ENVIRONMENTS.name, (given.environment,), environment_revision),
            RecordAt(VERSIONS.name, (given.application, given.version), version_revision),
        )
        stored = DEPLOYMENTS.write(deployment, revision=held.revision)
        event = await self._events.plan(
            Event(EventType.DEPLOYMENT_RECORDED, given.application, DEPLOYMENT.write(deployment))
        )
        histories = [await self._histories.went_live(deployment, deployment.create_ts)]
        if held.value is not None:
            histories.append(await self._histories.ended(held.value, deployment.create_ts))
        await self._storage.commit(together((StoragePlan(guards), stored, *histories, event)), by=by)
        return deployment

    async def end(self, environment: str, liveness: Liveness, deployment_id: str, *, by: Requester) -> None:
        """Record that a version is no longer live; raise ``DeploymentNotFound`` if there is none with this id."""
        await self._turns.take(partial(self._end, environment, liveness, deployment_id, by=by), written=deployment_id)

    async def _end(self, environment: str, liveness: Liveness, deployment_id: str, *, by: Requester) -> None:
        await self._check_writable()
        held = await self.find(environment, liveness, deployment_id)
        key = DEPLOYMENTS.key(held)
        current = await self._records.find(DEPLOYMENTS, key)
        if current.value is None or current.value.id != deployment_id:
            raise self.no_deployment(environment, liveness, deployment_id)
        guards = (RecordAt(DEPLOYMENTS.name, key, current.revision),)
        history = await self._histories.ended(current.value, self._now_ms())
        await self._storage.commit(
            together((StoragePlan(guards, (PutRecord(DEPLOYMENTS.name, key, None),)), history)), by=by
        )

    async def _check_writable(self) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
