"""Applications, environments, and what is live in them: deployments, which replace, and releases, which accumulate."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from counterfoil.registry.domain.contracts.hooks import Event
from counterfoil.registry.domain.contracts.stored import APPLICATIONS, DEPLOYMENTS, ENVIRONMENTS, VERSIONS
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.writes.effects import PutRecord
from counterfoil.registry.domain.writes.guards import RecordAt
from counterfoil.registry.domain.writes.plan import Plan, together
from counterfoil.registry.service.retrying import Turns
from counterfoil.schema.contexts import TOP_LEVEL
from counterfoil.schema.errors import DeploymentNotFound
from counterfoil.schema.rest.contracts import DEPLOYMENT
from counterfoil.schema.rest.webhooks import EventType

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.domain.stored_kinds import StoredKind
    from counterfoil.registry.service.contracts.events import Events
    from counterfoil.registry.service.contracts.histories import Histories
    from counterfoil.registry.service.contracts.records import ContractRecords
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.rest.contracts import Application, ApplicationVersion, Deployment, Environment, Liveness

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
        self._turns = Turns(storage.catch_up)

    # --- applications

    async def applications(self) -> list[Application]:
        """Return all applications, sorted by name."""
        return await self._records.all(APPLICATIONS)

    async def application(self, name: str) -> Application:
        """Return an application; raise ``ApplicationNotFound`` if there is none of this name."""
        return await self._records.application(name)

    async def put_application(self, application: Application) -> Application:
        """Store an application, instead of what was stored about it; the time of its creation stays."""

        def made(held: Application | None) -> Application:
            return replace(application, create_ts=self._now_ms() if held is None else held.create_ts)

        return await self._put(APPLICATIONS, (application.name,), made)

    async def versions(self, application: str) -> list[ApplicationVersion]:
        """Return the versions of an application; raise ``ApplicationNotFound`` if there is none of this name."""
        await self._records.application(application)
        return await self._records.all(VERSIONS, (application,))

    async def version(self, application: str, version: str) -> ApplicationVersion:
        """Return a version of an application; raise ``ApplicationNotFound`` if there is none."""
        found, _ = await self._records.version(application, version)
        return found

    async def put_version(self, given: ApplicationVersion) -> ApplicationVersion:
        """Store a version of an existing application; the contracts that it has published stay."""
        await self._records.application(given.application)

        def made(held: ApplicationVersion | None) -> ApplicationVersion:
            if held is None:
                return replace(given, contracts=(), create_ts=self._now_ms())
            return replace(given, contracts=held.contracts, create_ts=held.create_ts)

        return await self._put(VERSIONS, (given.application, given.version), made)

    # --- environments

    async def environments(self) -> list[Environment]:
        """Return all environments in their order."""
        return sorted(await self._records.all(ENVIRONMENTS), key=lambda each: (each.order, each.name))

    async def environment(self, name: str) -> Environment:
        """Return an environment; raise ``EnvironmentNotFound`` if there is none of this name."""
        found, _ = await self._records.environment(name)
        return found

    async def put_environment(self, environment: Environment) -> Environment:
        """Store an environment, instead of what was stored about it."""
        return await self._put(ENVIRONMENTS, (environment.name,), lambda _: environment)

    async def _put(self, kind: StoredKind[_T], key: tuple[str, ...], made: Callable[[_T | None], _T]) -> _T:
        async def attempt() -> _T:
            await self._check_writable()
            held = await self._records.find(kind, key)
            value = made(held.value)
            if value != held.value:
                await self._storage.commit(kind.write(value, revision=held.revision))
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
            raise DeploymentNotFound(f"There is nothing {liveness} with the id {deployment_id[:80]!r} in {environment}")
        return held

    async def record(self, given: Deployment) -> Deployment:
        """Record that a version is live; the version must have been published.

        A deployment replaces that of the same instance; a release that is recorded again stays as it is. Raises
        ``EnvironmentNotFound`` and ``ApplicationNotFound``.
        """
        return await self._turns.take(partial(self._record, given), written=DEPLOYMENTS.key(given))

    async def _record(self, given: Deployment) -> Deployment:
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
        await self._storage.commit(together((Plan(guards), stored, *histories, event)))
        return deployment

    async def end(self, environment: str, liveness: Liveness, deployment_id: str) -> None:
        """Record that a version is no longer live; raise ``DeploymentNotFound`` if there is none with this id."""
        await self._turns.take(partial(self._end, environment, liveness, deployment_id), written=deployment_id)

    async def _end(self, environment: str, liveness: Liveness, deployment_id: str) -> None:
        await self._check_writable()
        held = await self.find(environment, liveness, deployment_id)
        key = DEPLOYMENTS.key(held)
        current = await self._records.find(DEPLOYMENTS, key)
        if current.value is None or current.value.id != deployment_id:
            raise DeploymentNotFound(f"There is nothing {liveness} with the id {deployment_id[:80]!r} in {environment}")
        guards = (RecordAt(DEPLOYMENTS.name, key, current.revision),)
        history = await self._histories.ended(current.value, self._now_ms())
        await self._storage.commit(together((Plan(guards, (PutRecord(DEPLOYMENTS.name, key, None),)), history)))

    async def _check_writable(self) -> None:
        check_writable(await self._scopes.mode(TOP_LEVEL), TOP_LEVEL)
