"""Associations as they are stored: documents, the rules for them, and the records by which each is found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from counterfoil.registry.audit.events import facts_about
from counterfoil.registry.store.protocol import Storage
from counterfoil.registry.store.writes import ReferenceTarget, StoragePlan, record_write
from counterfoil.registry.subjects.versions import SubjectHistory
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import (
    AssociatedSubjectEmpty,
    InvalidAssociation,
    OperationNotPermitted,
    SubjectAssociated,
)
from counterfoil.schema.rest.json_values import ReplyJson
from counterfoil.schema.rest.object_forms import Document
from counterfoil.schema.rest.subjects import (
    TOPIC,
    WILDCARD,
    Association,
    AssociationType,
    Lifecycle,
    Resource,
    association_document,
    read_association,
)

# Associations as they are stored, and the rules for requests that create or change one.
#
# Source: Confluent's description of the Schema Registry REST API, associations.

BY_ID: Final = "association"
BY_NAME: Final = "association-by-name"
BY_SUBJECT: Final = "association-by-subject"
RECORD_KINDS: Final = frozenset({BY_ID, BY_NAME, BY_SUBJECT})
"""The kinds of the records: one with the association, the others find it."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")
_RESOURCE_ID: Final = re.compile(r"[^\x00-\x1f\x7f]{1,256}")


def stored_document(association: Association) -> Document:
    """Return the association as it is stored: every field, the subject in its two parts."""
    return {
        **association_document(association),
        "subject": [association.subject.context, association.subject.name],
        "frozen": association.frozen,
    }


def stored_association(document: Mapping[str, Any]) -> Association:
    """Return the association that was stored as ``document``."""
    return read_association(ReplyJson({**document, "subject": str(QualifiedSubject(*document["subject"]))}))


# --- checks of what callers send


def check_name(name: str | None, what: str) -> str:
    """Return ``name`` if it has letters, digits, ``_`` and ``-`` only.

    Else raise ``InvalidAssociation`` about ``what``.
    """
    if name and _NAME.fullmatch(name):
        return name
    raise _invalid(what, name, "1 to 256 letters, digits, _ or -")


def check_resource_id(resource_id: str | None) -> str:
    """Return ``resource_id`` if it is given and has no control character; else raise ``InvalidAssociation``."""
    if resource_id and _RESOURCE_ID.fullmatch(resource_id):
        return resource_id
    raise _invalid("resourceId", resource_id, "1 to 256 characters")


def check_resource_type(text: str | None) -> str:
    """Return the type of a resource, by default ``topic``; raise ``InvalidAssociation`` for an unknown one."""
    if text in {None, "", TOPIC}:
        return TOPIC
    raise _invalid("resourceType", text, repr(TOPIC))


def parse_association_type(text: str | None) -> AssociationType:
    """Return the association type that ``text`` names; by default ``value``.

    Raise ``InvalidAssociation`` for an unknown one.
    """
    return AssociationType(_one_of(AssociationType, text or AssociationType.VALUE, "associationType"))


def parse_lifecycle(text: str | None) -> Lifecycle | None:
    """Return the lifecycle that ``text`` names, or None if none is given.

    Raise ``InvalidAssociation`` for an unknown one.
    """
    return Lifecycle(_one_of(Lifecycle, text, "lifecycle")) if text else None


def _one_of(words: Iterable[str], text: str, what: str) -> str:
    known = list(words)
    if text in known:
        return text
    raise _invalid(what, text, " or ".join(str(word) for word in known))


def _invalid(what: str, value: str | None, expected: str) -> InvalidAssociation:
    found = "missing" if not value else f"{value[:80]!r}"
    return InvalidAssociation(f"The association's property {what!r} is {found}; expected {expected}")


def property_fault(what: str, fault: str) -> InvalidAssociation:
    """Return the error for a property that contradicts another; ``fault`` is the end of the sentence."""
    return InvalidAssociation(f"The association's property {what!r} is not valid: {fault}")


# The records of associations: three for each, so that they are found by resource id, by name, and by subject.


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

    async def writes(self, before: Association | None, after: Association | None) -> list[StoragePlan]:
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

    async def check_targets(self, subject: QualifiedSubject, targets: Iterable[ReferenceTarget]) -> None:
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

    async def check_version_deletion(self, subject: QualifiedSubject, version: int, history: SubjectHistory) -> None:
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
