"""The use cases of associations, and selecting subjects by them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from counterfoil.registry.associations.draft import (
    AssociationDraft,
    AssociationEffect,
    AssociationOperation,
    AssociationOutcome,
    AssociationRequest,
    Permit,
    ResourceRequest,
    no_association,
    permit_all,
)
from counterfoil.registry.associations.records import AssociationIndex, check_resource_type
from counterfoil.registry.store.committing import until_current
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import PutVersion, Requester, StaleWrite
from counterfoil.registry.subjects.levels import Scopes
from counterfoil.registry.subjects.reading import SchemaReader
from counterfoil.registry.subjects.registration import Registered, SchemaRegistration
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import AssociationExists, RegistryError, StoreTimeout, StoreUnavailable
from counterfoil.schema.rest.subjects import Association, Resource

# The use cases of associations: reading them, and creating, changing and deleting them for one resource at a time.


class Associations:
    """The use cases of associations."""

    def __init__(
        self,
        storage: Storage,
        *,
        index: AssociationIndex,
        scopes: Scopes,
        reader: SchemaReader,
        registration: SchemaRegistration,
    ) -> None:
        self._storage = storage
        self._index = index
        self._scopes = scopes
        self._reader = reader
        self._registration = registration

    # --- reading

    async def of_subject(self, subject: QualifiedSubject) -> list[Association]:
        """Return the associations of a subject, sorted."""
        return await self._index.of_subject(subject)

    async def of_resource(self, resource_type: str, resource_id: str) -> list[Association]:
        """Return the associations of the resource with this id, sorted."""
        return await self._index.of_resource(resource_type, resource_id)

    async def named(self, namespace: str, name: str) -> list[Association]:
        """Return the associations of all resources of this name, sorted; ``-`` is any name or any namespace."""
        return await self._index.named(namespace, name)

    async def latest_schema(self, subject: QualifiedSubject) -> Registered | None:
        """Return the latest active version of an associated subject."""
        entry = (await self._storage.history(subject)).latest
        if entry is None:
            return None
        return Registered(entry.schema_id, entry.version, await self._reader.content(entry.guid), entry)

    # --- writing

    async def put(
        self, request: ResourceRequest, *, by: Requester, dry_run: bool = False, permit: Permit = permit_all
    ) -> AssociationOutcome:
        """Carry out all of ``request`` or nothing, and return the changes; with ``dry_run`` only return them.

        ``permit`` is called with each subject, and raises if the caller may not do this.
        Raises ``InvalidAssociation``, ``AssociationExists``, ``SubjectAssociated``, ``SubjectOwned``,
        ``AssociatedSubjectEmpty``, ``AssociationFrozen``, ``AssociationNotFound``, ``OperationNotPermitted``,
        ``ReferenceExists``, and the errors of registering a schema.
        """
        request.check(needs_id=not dry_run)
        attempt = partial(self._attempt, request, dry_run=dry_run, permit=permit, by=by)
        return await until_current(attempt, catch_up=self._storage.catch_up)

    async def delete(
        self,
        resource_type: str,
        resource_id: str,
        *,
        by: Requester,
        types: Collection[str] = (),
        cascades: bool = False,
        dry_run: bool = False,
        permit: Permit = permit_all,
    ) -> None:
        """Delete the associations of a resource, or those of some types.

        Raise ``AssociationNotFound`` if there are none. With ``cascades`` the subjects that belong to the resource
        alone are permanently deleted.
        """
        await until_current(
            partial(
                self._delete,
                resource_type,
                resource_id,
                types=types,
                cascades=cascades,
                dry_run=dry_run,
                permit=permit,
                by=by,
            ),
            catch_up=self._storage.catch_up,
        )

    async def _delete(
        self,
        resource_type: str,
        resource_id: str,
        *,
        by: Requester,
        types: Collection[str],
        cascades: bool,
        dry_run: bool,
        permit: Permit,
    ) -> None:
        found = await self._index.of_resource(resource_type, resource_id)
        wanted = [each for each in found if not types or each.type in types]
        if not wanted:
            raise no_association(f"the resource {resource_id[:80]!r}")
        requests = tuple(
            AssociationRequest(AssociationOperation.DELETE, each.type, cascades=cascades) for each in wanted
        )
        await self._attempt(ResourceRequest(requests, resource_id), dry_run=dry_run, permit=permit, by=by)

    async def _attempt(
        self, request: ResourceRequest, *, by: Requester, dry_run: bool, permit: Permit
    ) -> AssociationOutcome:
        revision = await self._storage.settings_revision()  # before anything else is read
        try:
            return await self._carry_out(request, revision, dry_run=dry_run, permit=permit, by=by)
        except (StoreUnavailable, StoreTimeout):
            raise
        except RegistryError:
            await self._storage.catch_up()
            if await self._storage.settings_revision() == revision:
                raise
            raise StaleWrite("associations have changed while they were read, one after the other") from None

    async def _carry_out(
        self, request: ResourceRequest, revision: int, *, by: Requester, dry_run: bool, permit: Permit
    ) -> AssociationOutcome:
        resource, found = await self._resource(request)
        draft = AssociationDraft(
            resource,
            found,
            context=request.context,
            now_ms=time.time_ns() // 1_000_000,
            storage=self._storage,
            scopes=self._scopes,
            index=self._index,
            registration=self._registration,
            permit=permit,
            by=by,
        )
        effects = await draft.take(request.associations)
        plan = None if dry_run else await draft.plan(revision)
        if plan is None:
            return AssociationOutcome(resource, tuple(effects))
        registered = iter((await self._storage.commit(plan, by=by)).registered)
        return AssociationOutcome(resource, tuple(_stored(effect, registered) for effect in effects))

    async def _resource(self, request: ResourceRequest) -> tuple[Resource, list[Association]]:
        """Return the resource of the request and its associations.

        Raise ``AssociationExists`` if its id has another name.
        """
        if request.id:
            found = await self._index.of_resource(check_resource_type(request.type), request.id)
            if found:
                _check_name(found[0].resource, request)
                return found[0].resource, found
            described = request.resource() if _makes(request) else None
            if described is None:
                raise no_association(f"the resource {request.id[:80]!r}")
            ids = await self._index.ids_of_name(described)
            if ids:
                raise AssociationExists(f"{described} has associations already, under the id {min(ids)!r}")
            return described, []
        described = request.resource()
        found = await self._index.named(described.namespace, described.name)
        found = [each for each in found if (each.resource.namespace, each.resource.name) == _name(described)]
        return (found[0].resource if found else described), found


def _stored(effect: AssociationEffect, registered: Iterator[tuple[int, int]]) -> AssociationEffect:
    """Return the effect with the id and number of its stored schema, which are the next of ``registered``."""
    if not isinstance(effect.schema, PutVersion):
        return effect
    schema_id, version = next(registered)
    return replace(effect, schema=Registered(schema_id, version, effect.schema.content))


def _makes(request: ResourceRequest) -> bool:
    return any(each.operation is not AssociationOperation.DELETE for each in request.associations)


def _name(resource: Resource) -> tuple[str, str]:
    return resource.namespace, resource.name


def _check_name(known: Resource, request: ResourceRequest) -> None:
    if request.name not in {None, known.name} or request.namespace not in {None, known.namespace}:
        raise AssociationExists(
            f"The resource with the id {known.id!r} is {known.namespace}/{known.name}; "
            f"the request names {request.namespace or known.namespace}/{request.name or known.name}"
        )


# Selecting subjects by their associations, for the listing of all schemas.

NO_LIFECYCLE: Final = "NONE"
"""In a list of lifecycles: also subjects without an association."""


@dataclass(frozen=True, slots=True)
class AssociationFilter:
    """A condition on the associations of subjects; an empty part is no condition.

    The result for a subject is cached, since it is needed for each of its versions.
    """

    associations: Associations
    types: frozenset[str]
    lifecycles: frozenset[str]
    resource_type: str
    _found: dict[QualifiedSubject, list[Association] | None] = field(default_factory=dict)

    async def find(self, subject: QualifiedSubject) -> list[Association] | None:
        """Return the matching associations of ``subject``; None when the subject does not match."""
        if subject not in self._found:
            self._found[subject] = self._admitted(await self.associations.of_subject(subject))
        return self._found[subject]

    def _admitted(self, found: list[Association]) -> list[Association] | None:
        kept = [each for each in found if self._matches(each)]
        if kept or (NO_LIFECYCLE in self.lifecycles and not found):
            return kept
        return None

    def _matches(self, association: Association) -> bool:
        return (
            (not self.types or association.type in self.types)
            and (not self.lifecycles or association.lifecycle in self.lifecycles)
            and self.resource_type in {"", association.resource.type}
        )
