"""The records of associations: three for each, so that they are found by resource id, by name, and by subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.domain.associations import BY_ID, BY_NAME, BY_SUBJECT, stored_association, stored_document
from counterfoil.registry.domain.audit.about import facts_about
from counterfoil.registry.domain.writes.plan import Plan, record_write
from counterfoil.schema.errors import AssociatedSubjectEmpty, OperationNotPermitted, SubjectAssociated
from counterfoil.schema.rest.associations import WILDCARD, Association, Lifecycle, Resource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.registry.domain.versions import History
    from counterfoil.registry.domain.writes.guards import Target
    from counterfoil.registry.service.storage import Storage
    from counterfoil.schema.contexts import QualifiedSubject


def record_keys(association: Association) -> dict[str, tuple[str, ...]]:
    """Return the key of each of an association's records, by their kind."""
    resource, subject = association.resource, association.subject
    own = (resource.type, resource.id, association.type.value)
    return {
        BY_ID: own,
        BY_NAME: (resource.name, resource.namespace, *own),
        BY_SUBJECT: (subject.context, subject.name, *own),
    }


class AssociationIndex:
    """Reads associations, and plans the writes of their records, on which registrations and deletions depend."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def _read(self, kind: str, *prefix: str) -> list[Association]:
        records = await self._storage.records(kind, prefix)
        return sorted((stored_association(each.document) for each in records), key=lambda found: found.sort_key)

    async def of_subject(self, subject: QualifiedSubject) -> list[Association]:
        """Return the associations of a subject, sorted."""
        return await self._read(BY_SUBJECT, subject.context, subject.name)

    async def of_resource(self, resource_type: str, resource_id: str) -> list[Association]:
        """Return the associations of the resource with this id, sorted."""
        return await self._read(BY_ID, resource_type, resource_id)

    async def named(self, namespace: str, name: str) -> list[Association]:
        """Return the associations of all resources of this name, sorted; ``-`` is any name or any namespace."""
        prefix: tuple[str, ...] = ()
        if name != WILDCARD:
            prefix = (name,) if namespace == WILDCARD else (name, namespace)
        found = await self._read(BY_NAME, *prefix)
        return [each for each in found if namespace in {WILDCARD, each.resource.namespace}]

    async def ids_of_name(self, resource: Resource) -> set[str]:
        """Return the ids of the resources with this name and namespace."""
        records = await self._storage.records(BY_NAME, (resource.name, resource.namespace, resource.type))
        return {stored_association(each.document).resource.id for each in records}

    async def writes(self, before: Association | None, after: Association | None) -> list[Plan]:
        """Return the plans that replace ``before`` by ``after``; resource, type and subject are the same."""
        association = after or before
        if association is None:
            return []
        document = None if after is None else stored_document(after)
        about = facts_about([association.subject])
        return [
            record_write(kind, key, document, revision=await self._revision(kind, key), is_term=True, for_audit=about)
            for kind, key in record_keys(association).items()
        ]

    async def _revision(self, kind: str, key: tuple[str, ...]) -> int:
        found = await self._storage.records(kind, key)
        return found[0].revision if found else 0


class SubjectGuard:
    """The checks that associations require for writes to subjects, made after the settings' revision was read."""

    def __init__(self, index: AssociationIndex | None) -> None:
        self._index = index

    async def check_targets(self, subject: QualifiedSubject, targets: Iterable[Target]) -> None:
        """Raise ``OperationNotPermitted`` unless a schema of ``subject`` may refer to ``targets``."""
        if self._index is None:
            return
        for target in {target.subject for target in targets} - {subject}:
            owner = await self._owner(self._index, target)
            if owner is not None:
                raise OperationNotPermitted(
                    f"Subject {str(target)!r} belongs to {owner.resource} alone (its association is STRONG); "
                    f"subject {str(subject)!r} cannot refer to it"
                )

    async def _owner(self, index: AssociationIndex, subject: QualifiedSubject) -> Association | None:
        found = await index.of_subject(subject)
        return next((each for each in found if each.lifecycle is Lifecycle.STRONG), None)

    async def check_subject_deletion(self, subject: QualifiedSubject) -> None:
        """Raise ``SubjectAssociated`` if a resource is associated with ``subject``."""
        found = await self._index.of_subject(subject) if self._index else []
        if found:
            raise SubjectAssociated(
                f"Subject {str(subject)!r} is associated with {found[0].resource}; delete that association first"
            )

    async def check_version_deletion(self, subject: QualifiedSubject, version: int, history: History) -> None:
        """Check that a version is not the last active one of an associated subject.

        Raises ``AssociatedSubjectEmpty`` otherwise.
        """
        if self._index is None or {entry.version for entry in history.active} != {version}:
            return
        found = await self._index.of_subject(subject)
        if found:
            raise AssociatedSubjectEmpty(
                f"Version {version} is the last active one of subject {str(subject)!r}, which is associated with "
                f"{found[0].resource}; delete that association first"
            )
