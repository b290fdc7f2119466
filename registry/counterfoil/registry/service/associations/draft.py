"""Deciding about changes of one resource's associations, and the write plan that carries out all or none."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import uuid4

from counterfoil.registry.domain.associations import property_fault
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.subjects import check_subject
from counterfoil.registry.domain.writes.effects import PutVersion
from counterfoil.registry.domain.writes.extents import Extent
from counterfoil.registry.domain.writes.guards import AtRevision, SameTerms, Unreferenced
from counterfoil.registry.domain.writes.plan import Plan, together
from counterfoil.registry.service.associations.requests import Effect, Operation
from counterfoil.registry.service.planning import SubjectState, check_unreferenced, plan_hard_deletion, read_state
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import (
    AssociatedSubjectEmpty,
    AssociationExists,
    AssociationFrozen,
    AssociationNotFound,
    IncompatibleSchema,
    OperationNotPermitted,
    SubjectAssociated,
    SubjectOwned,
)
from counterfoil.schema.rest.associations import Association, Lifecycle
from counterfoil.schema.rest.modes import Mode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.service.associations.index import AssociationIndex
    from counterfoil.registry.service.associations.requests import AssociationRequest, Permit
    from counterfoil.registry.service.registration import Registered, Registration
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.associations import AssociationType, Resource


class Draft:
    """The associations of ``resource`` after the changes.

    Each request is decided on the result of those before it; nothing is written.
    """

    def __init__(
        self,
        resource: Resource,
        found: Iterable[Association],
        *,
        context: str,
        now_ms: int,
        storage: Storage,
        scopes: Scopes,
        index: AssociationIndex,
        registration: Registration,
        permit: Permit,
    ) -> None:
        self._resource = resource
        self._before = {each.type: each for each in found}
        self._after = dict(self._before)
        self._context = context
        self._now_ms = now_ms
        self._storage = storage
        self._scopes = scopes
        self._index = index
        self._registration = registration
        self._permit = permit
        self._new_versions: list[Plan] = []
        self._removed: dict[QualifiedSubject, SubjectState] = {}
        self._relied: list[AtRevision] = []
        self._claims: list[Unreferenced] = []

    async def take(self, requests: Iterable[AssociationRequest]) -> list[Effect]:
        """Apply ``requests`` and return their effects in order; consecutive ones with one operation are one unit."""
        effects = []
        for _, unit in groupby(requests, key=lambda request: request.operation):
            effects += [effect for request in unit if (effect := await self._take(request)) is not None]
            self._check_lifecycles()
        self._check_claims()
        return effects

    async def plan(self, settings_revision: int) -> Plan | None:
        """Return the write plan, which is stale if an association was written since ``settings_revision``.

        Raise ``ReferenceExists`` if another subject refers to one that would be deleted.
        """
        writes: list[Plan] = []
        for each in {**self._before, **self._after}:
            before, after = self._before.get(each), self._after.get(each)
            if before != after:
                writes += await self._index.writes(before, after)
        removals = [
            await plan_hard_deletion(self._storage, state, state.versions, own_references_count=False)
            for state in self._removed.values()
        ]
        parts = [*writes, *self._new_versions, *removals]
        if not parts:
            return None
        return together((Plan((SameTerms(settings_revision), *self._relied, *self._claims)), *parts))

    async def _take(self, request: AssociationRequest) -> Effect | None:
        before = self._after.get(request.type)
        if before is not None:
            self._permit(before.subject, request)
        if request.operation is Operation.DELETE:
            await self._delete(before, request)
            return None
        if before is None:
            return await self._create(request)
        if request.operation is Operation.CREATE:
            await self._check_same(before, request)
            return None
        return await self._change(before, request)

    # --- making one

    async def _create(self, request: AssociationRequest) -> Effect:
        lifecycle = request.lifecycle or (Lifecycle.STRONG if request.schema else Lifecycle.WEAK)
        if request.operation is Operation.UPSERT:
            _check_upsert(request, lifecycle)
        subject = self._subject(request, lifecycle)
        self._permit(subject, request)
        await self._check_mode(subject, brings_schema=request.schema is not None)
        await self._check_free(subject, lifecycle)
        history = await self._storage.history(subject)
        schema = await self._register(subject, request)
        if not isinstance(schema, PutVersion):
            if history.latest is None or subject in self._removed:
                raise AssociatedSubjectEmpty(
                    f"Subject {str(subject)!r} has no active version; register a schema first, or send one along"
                )
            self._relied.append(AtRevision(subject, history.revision))
        if lifecycle is Lifecycle.STRONG:
            claim = Unreferenced(subject, tuple(entry.version for entry in history.entries), Extent.of(subject))
            await check_unreferenced(self._storage, claim)
            self._claims.append(claim)
        association = Association(
            subject,
            uuid4(),
            self._resource,
            request.type,
            lifecycle,
            lifecycle.freezes if request.frozen is None else request.frozen,
            create_ts=self._now_ms,
            update_ts=self._now_ms,
        )
        self._after[request.type] = association
        return Effect(association, schema)

    def _subject(self, request: AssociationRequest, lifecycle: Lifecycle) -> QualifiedSubject:
        """Return the subject of the request; raise ``InvalidAssociation`` if the lifecycle does not permit it."""
        own = self._resource.subject_of(request.type)
        if not request.subject:
            if lifecycle is Lifecycle.STRONG:
                return own
            raise property_fault("subject", "a WEAK association must name one")
        subject = parse_subject(request.subject, context=self._context)
        check_subject(subject)
        if lifecycle is Lifecycle.STRONG and subject != own:
            raise property_fault("subject", f"it is {str(subject)!r}; a STRONG association's is {str(own)!r}")
        if lifecycle is Lifecycle.WEAK and subject == own:
            raise property_fault("subject", f"{str(own)!r} can only have a STRONG association")
        return subject

    async def _check_mode(self, subject: QualifiedSubject, *, brings_schema: bool) -> None:
        mode = await self._scopes.mode(subject)
        check_writable(mode, subject)
        if brings_schema and mode is Mode.IMPORT:
            raise OperationNotPermitted(
                f"Subject {str(subject)!r} is in {mode} mode: an association cannot bring a schema along"
            )

    async def _check_free(self, subject: QualifiedSubject, lifecycle: Lifecycle) -> None:
        others = [each for each in await self._index.of_subject(subject) if each.resource != self._resource]
        others += [each for each in self._after.values() if each.subject == subject]
        if lifecycle is Lifecycle.STRONG and others:
            raise SubjectAssociated(
                f"Subject {str(subject)!r} is associated with {others[0].resource} already; "
                "a STRONG association must be its only one"
            )
        owner = next((each for each in others if each.lifecycle is Lifecycle.STRONG), None)
        if owner is not None:
            raise SubjectOwned(f"Subject {str(subject)!r} belongs to {owner.resource} alone: its association is STRONG")

    async def _register(self, subject: QualifiedSubject, request: AssociationRequest) -> Registered | PutVersion | None:
        if request.schema is None:
            return None
        planned = await self._registration.plan(subject, request.schema, normalize=request.normalize)
        if not isinstance(planned, Plan):
            return planned
        self._new_versions.append(planned)
        [put] = planned.new_versions
        return put

    # --- existing ones

    async def _check_same(self, before: Association, request: AssociationRequest) -> None:
        """Raise ``AssociationExists`` if the request differs from the existing association."""
        differing = self._differences(before, request)
        if request.schema is not None and not differing:
            try:
                planned = await self._registration.plan(before.subject, request.schema, normalize=request.normalize)
            except IncompatibleSchema:
                planned = None
            if planned is None or isinstance(planned, Plan):
                differing = ["schema"]
        if differing:
            raise AssociationExists(
                f"There is an association of type {before.type} for {before.resource} already, with another "
                f"{' and '.join(differing)}: its subject is {str(before.subject)!r}, its lifecycle {before.lifecycle}"
            )

    def _differences(self, before: Association, request: AssociationRequest) -> list[str]:
        """Return the properties in which the request differs from the existing association."""
        differing = []
        if request.subject and parse_subject(request.subject, context=self._context) != before.subject:
            differing.append("subject")
        wanted = Lifecycle.STRONG if request.schema is not None else request.lifecycle
        if wanted not in {None, before.lifecycle}:
            differing.append("lifecycle")
        if request.frozen not in {None, before.frozen}:
            differing.append("frozen")
        return differing

    async def _change(self, before: Association, request: AssociationRequest) -> Effect | None:
        differing = self._differences(before, request)
        for each in differing:
            if each != "lifecycle" or before.lifecycle is Lifecycle.WEAK:
                raise property_fault(each, f"it cannot be changed from that of the association {before.guid}")
        if not differing and request.schema is None:
            return None
        await self._check_mode(before.subject, brings_schema=request.schema is not None)
        schema = await self._register(before.subject, request)
        if not differing and not isinstance(schema, PutVersion):
            return None
        lifecycle = request.lifecycle or before.lifecycle
        changed = replace(before, lifecycle=lifecycle, update_ts=max(self._now_ms, before.update_ts))
        self._after[request.type] = changed
        return Effect(changed, schema)

    async def _delete(self, before: Association | None, request: AssociationRequest) -> None:
        if before is None or "subject" in self._differences(before, request):
            raise no_association(self._resource, request.type)
        if before.frozen and not request.cascades:
            raise AssociationFrozen(
                f"The association of type {before.type} for {before.resource} is frozen; "
                "delete it with cascadeLifecycle=true, which deletes a subject that belongs to the resource with it"
            )
        await self._check_mode(before.subject, brings_schema=False)
        del self._after[before.type]
        if before.lifecycle is Lifecycle.STRONG and request.cascades:
            await self._remove(before.subject)

    async def _remove(self, subject: QualifiedSubject) -> None:
        state = await read_state(self._storage, subject)
        if state.versions:
            self._removed[subject] = state

    # --- all of them

    def _check_lifecycles(self) -> None:
        if len({each.lifecycle for each in self._after.values()}) > 1:
            raise property_fault("lifecycle", f"all associations of {self._resource} must have the same one")

    def _check_claims(self) -> None:
        """Check that no schema of the request refers to a subject that another association owns."""
        claimed = {claim.subject for claim in self._claims}
        for put in (put for plan in self._new_versions for put in plan.new_versions):
            for target in put.targets:
                if target.subject in claimed and target.subject != put.subject:
                    raise OperationNotPermitted(
                        f"Subject {str(target.subject)!r} is to belong to {self._resource} alone; "
                        f"subject {str(put.subject)!r} cannot refer to it"
                    )


def no_association(resource: Resource | str, association_type: AssociationType | None = None) -> AssociationNotFound:
    """Return the error for a resource without the requested association."""
    sort = f" of type {association_type}" if association_type else ""
    return AssociationNotFound(f"There is no association{sort} for {resource}")


def _check_upsert(request: AssociationRequest, lifecycle: Lifecycle) -> None:
    if request.schema is not None:
        raise property_fault("schema", "a new association that brings a schema must be created, not put")
    if lifecycle is Lifecycle.STRONG:
        raise property_fault("lifecycle", "a new STRONG association must be created, not put")
