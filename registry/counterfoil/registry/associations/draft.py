"""Requests about the associations of one resource, and the write plan that carries out all or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import groupby
from typing import TypeAlias
from uuid import uuid4

from counterfoil.registry.associations.records import (
    AssociationIndex,
    check_name,
    check_resource_id,
    check_resource_type,
    property_fault,
)
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import (
    AtRevision,
    Extent,
    PutVersion,
    Requester,
    SameTerms,
    StoragePlan,
    Unreferenced,
    together,
)
from counterfoil.registry.subjects.levels import Scopes, check_writable
from counterfoil.registry.subjects.planning import SubjectState, check_unreferenced, plan_hard_deletion, read_state
from counterfoil.registry.subjects.registration import Registered, SchemaRegistration
from counterfoil.registry.subjects.versions import SchemaRequest, check_subject
from counterfoil.schema.contexts import DEFAULT_CONTEXT, QualifiedSubject, parse_subject
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
from counterfoil.schema.rest.subjects import TOPIC, Association, AssociationType, Lifecycle, Mode, Resource

# Requests about the associations of one resource: to create, change or delete them.


class AssociationOperation(Enum):
    """How an association is written."""

    CREATE = "CREATE"
    """Create it; an existing one must be equal."""
    UPSERT = "UPSERT"
    """Create it, or change the existing one."""
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class AssociationRequest:
    """One association in a request. None is not given.

    ``subject`` is the text of the request. ``cascades``: subjects that belong to the resource alone are deleted with
    the association.
    """

    operation: AssociationOperation
    type: AssociationType = AssociationType.VALUE
    subject: str | None = None
    lifecycle: Lifecycle | None = None
    frozen: bool | None = None
    schema: SchemaRequest | None = None
    normalize: bool = False
    cascades: bool = False


Permit: TypeAlias = "Callable[[QualifiedSubject, AssociationRequest], None]"
"""Raises unless the caller may write an association of a subject as requested."""


def permit_all(_: QualifiedSubject, __: AssociationRequest) -> None:
    """Do nothing: for callers who may do everything."""


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """A request about the associations of one resource.

    ``context`` is the context of subjects without one.
    """

    associations: tuple[AssociationRequest, ...]
    id: str | None = None
    name: str | None = None
    namespace: str | None = None
    type: str = TOPIC
    context: str = DEFAULT_CONTEXT

    def check(self, *, needs_id: bool) -> None:
        """Raise ``InvalidAssociation``, which names the property, if the request is not valid by itself."""
        check_resource_type(self.type)
        if self.id is not None or needs_id:
            check_resource_id(self.id)
        creates = any(each.operation is AssociationOperation.CREATE for each in self.associations)
        if creates or self.name is not None or not self.id:
            check_name(self.name, "resourceName")
        if creates or self.namespace is not None or not self.id:
            check_name(self.namespace, "resourceNamespace")
        if not self.associations:
            raise property_fault("associations", "there is none; expected at least one")
        types = [each.type for each in self.associations]
        if len(set(types)) < len(types):
            raise property_fault("associationType", "a request has each type once at most")
        for each in self.associations:
            _check_schema(each)

    def resource(self) -> Resource:
        """Return the resource in the request; raise ``InvalidAssociation`` if a part of it is missing."""
        name = check_name(self.name, "resourceName")
        return Resource(name, check_name(self.namespace, "resourceNamespace"), self.type, self.id or "")


def _check_schema(request: AssociationRequest) -> None:
    if request.schema is None:
        return
    if request.lifecycle is Lifecycle.WEAK:
        raise property_fault("lifecycle", "a subject that is given a schema here belongs to the resource: STRONG")
    if request.frozen is False:
        raise property_fault("frozen", "an association that brings a schema is frozen")


@dataclass(frozen=True, slots=True)
class AssociationEffect:
    """An association as it was created or changed, and the schema of the request.

    The schema is a version to store if it is not stored yet.
    """

    association: Association
    schema: Registered | PutVersion | None = None


@dataclass(frozen=True, slots=True)
class AssociationOutcome:
    """The changes of a request, made or (in a dry run) planned."""

    resource: Resource
    effects: tuple[AssociationEffect, ...] = field(default=())


# Deciding about changes of one resource's associations, and the write plan that carries out all or none.


class AssociationDraft:
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
        registration: SchemaRegistration,
        permit: Permit,
        by: Requester,
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
        self._by = by
        self._new_versions: list[StoragePlan] = []
        self._removed: dict[QualifiedSubject, SubjectState] = {}
        self._relied: list[AtRevision] = []
        self._claims: list[Unreferenced] = []

    async def take(self, requests: Iterable[AssociationRequest]) -> list[AssociationEffect]:
        """Apply ``requests`` and return their effects in order; consecutive ones with one operation are one unit."""
        effects = []
        for _, unit in groupby(requests, key=lambda request: request.operation):
            effects += [effect for request in unit if (effect := await self._take(request)) is not None]
            self._check_lifecycles()
        self._check_claims()
        return effects

    async def plan(self, settings_revision: int) -> StoragePlan | None:
        """Return the write plan, which is stale if an association was written since ``settings_revision``.

        Raise ``ReferenceExists`` if another subject refers to one that would be deleted.
        """
        writes: list[StoragePlan] = []
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
        return together((StoragePlan((SameTerms(settings_revision), *self._relied, *self._claims)), *parts))

    async def _take(self, request: AssociationRequest) -> AssociationEffect | None:
        before = self._after.get(request.type)
        if before is not None:
            self._permit(before.subject, request)
        if request.operation is AssociationOperation.DELETE:
            await self._delete(before, request)
            return None
        if before is None:
            return await self._create(request)
        if request.operation is AssociationOperation.CREATE:
            await self._check_same(before, request)
            return None
        return await self._change(before, request)

    # --- making one

    async def _create(self, request: AssociationRequest) -> AssociationEffect:
        lifecycle = request.lifecycle or (Lifecycle.STRONG if request.schema else Lifecycle.WEAK)
        if request.operation is AssociationOperation.UPSERT:
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
        return AssociationEffect(association, schema)

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
        planned = await self._registration.plan(subject, request.schema, by=self._by, normalize=request.normalize)
        if not isinstance(planned, StoragePlan):
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
                planned = await self._registration.plan(
                    before.subject, request.schema, by=self._by, normalize=request.normalize
                )
            except IncompatibleSchema:
                planned = None
            if planned is None or isinstance(planned, StoragePlan):
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

    async def _change(self, before: Association, request: AssociationRequest) -> AssociationEffect | None:
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
        return AssociationEffect(changed, schema)

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
