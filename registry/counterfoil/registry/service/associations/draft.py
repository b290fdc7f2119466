"""Deciding about the associations of one resource, and the plan that carries it all out, or nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import uuid4

from counterfoil.registry.domain.associations import property_fault
from counterfoil.registry.domain.modes import check_writable
from counterfoil.registry.domain.subjects import check_subject
from counterfoil.registry.service.associations.index import check_unreferenced
from counterfoil.registry.service.associations.requests import Effect, Operation
from counterfoil.registry.service.storage import Append, HardDelete, PutRecords, Together
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
    from counterfoil.registry.service.associations.requests import AssociationRequest
    from counterfoil.registry.service.registration import Registered, Registration
    from counterfoil.registry.service.scopes import Scopes
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.associations import AssociationType, Resource


class Draft:
    """The associations of ``resource`` as they will be.

    Each request is decided on what those before it leave behind; nothing is written.
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
        self._appends: list[Append] = []
        self._removals: list[HardDelete] = []
        self._relied: dict[QualifiedSubject, int] = {}
        self._claimed: list[QualifiedSubject] = []

    async def take(self, requests: Iterable[AssociationRequest]) -> list[Effect]:
        """The effects of ``requests``, in their order; those that follow each other with one operation are one unit."""
        effects = []
        for _, unit in groupby(requests, key=lambda request: request.operation):
            effects += [effect for request in unit if (effect := await self._take(request)) is not None]
            self._check_lifecycles()
        self._check_claims()
        return effects

    async def plan(self, settings_revision: int) -> PutRecords | Together | None:
        """What carries it out, when no association was written since ``settings_revision`` was read."""
        writes = []
        for each in {**self._before, **self._after}:
            before, after = self._before.get(each), self._after.get(each)
            if before != after:
                writes += await self._index.writes(before, after)
        records = PutRecords(
            tuple(writes), tuple(self._relied.items()), settings_revision, unreferenced=tuple(self._claimed)
        )
        if self._appends or self._removals:
            return Together(records, (*self._appends, *self._removals))
        return records if writes else None

    async def _take(self, request: AssociationRequest) -> Effect | None:
        before = self._after.get(request.type)
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
        await self._check_mode(subject, brings_schema=request.schema is not None)
        await self._check_free(subject, lifecycle)
        history = await self._storage.history(subject)
        schema = await self._register(subject, request)
        if not isinstance(schema, Append):
            removed = any(each.subject == subject for each in self._removals)
            if history.latest is None or removed:
                raise AssociatedSubjectEmpty(
                    f"Subject {str(subject)!r} has no active version; register a schema first, or send one along"
                )
            self._relied[subject] = history.revision
        if lifecycle is Lifecycle.STRONG:
            await check_unreferenced(self._storage, subject, history)
            self._claimed.append(subject)
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
        """The subject that is meant; ``InvalidAssociation`` when it does not go with the lifecycle."""
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

    async def _register(self, subject: QualifiedSubject, request: AssociationRequest) -> Registered | Append | None:
        if request.schema is None:
            return None
        planned = await self._registration.plan(subject, request.schema, normalize=request.normalize)
        if isinstance(planned, Append):
            self._appends.append(planned)
        return planned

    # --- one that is there

    async def _check_same(self, before: Association, request: AssociationRequest) -> None:
        """Return when the request asks for what is there; else ``AssociationExists``."""
        differing = self._differences(before, request)
        if request.schema is not None and not differing:
            try:
                planned = await self._registration.plan(before.subject, request.schema, normalize=request.normalize)
            except IncompatibleSchema:
                planned = None
            if planned is None or isinstance(planned, Append):
                differing = ["schema"]
        if differing:
            raise AssociationExists(
                f"There is an association of type {before.type} for {before.resource} already, with another "
                f"{' and '.join(differing)}: its subject is {str(before.subject)!r}, its lifecycle {before.lifecycle}"
            )

    def _differences(self, before: Association, request: AssociationRequest) -> list[str]:
        """The properties in which the request is not what is there."""
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
        if not differing and not isinstance(schema, Append):
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
        terms = await self._scopes.terms(subject)
        history = await self._storage.history(subject)
        versions = tuple(entry.version for entry in history.entries)
        if versions:
            self._removals.append(
                HardDelete(subject, versions, history.revision, terms.settings_revision, ignore_own_references=True)
            )

    # --- all of them

    def _check_lifecycles(self) -> None:
        if len({each.lifecycle for each in self._after.values()}) > 1:
            raise property_fault("lifecycle", f"all associations of {self._resource} must have the same one")

    def _check_claims(self) -> None:
        """A schema that comes along cannot refer to a subject that another association claims."""
        for append in self._appends:
            for target in append.targets:
                if target.subject in self._claimed and target.subject != append.subject:
                    raise OperationNotPermitted(
                        f"Subject {str(target.subject)!r} is to belong to {self._resource} alone; "
                        f"subject {str(append.subject)!r} cannot refer to it"
                    )


def no_association(resource: Resource | str, association_type: AssociationType | None = None) -> AssociationNotFound:
    """The error for a resource without the association that is meant."""
    sort = f" of type {association_type}" if association_type else ""
    return AssociationNotFound(f"There is no association{sort} for {resource}")


def _check_upsert(request: AssociationRequest, lifecycle: Lifecycle) -> None:
    if request.schema is not None:
        raise property_fault("schema", "a new association that brings a schema must be created, not put")
    if lifecycle is Lifecycle.STRONG:
        raise property_fault("lifecycle", "a new STRONG association must be created, not put")
