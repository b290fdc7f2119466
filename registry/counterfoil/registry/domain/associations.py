"""Associations as they are stored, and what may be said in a request for one.

Source: Confluent's description of the Schema Registry REST API, associations.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import InvalidAssociation
from counterfoil.schema.rest.associations import (
    TOPIC,
    Association,
    AssociationType,
    Lifecycle,
    Resource,
    association_document,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.rest.object_forms import Document

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")
_RESOURCE_ID: Final = re.compile(r"[^\x00-\x1f\x7f]{1,256}")


def stored_document(association: Association) -> Document:
    """The association as it is stored: every field, the subject in its two parts."""
    return {
        **association_document(association),
        "subject": [association.subject.context, association.subject.name],
        "frozen": association.frozen,
    }


def stored_association(document: Mapping[str, Any]) -> Association:
    """The association that was stored as ``document``."""
    resource = Resource(
        document["resourceName"], document["resourceNamespace"], document["resourceType"], document["resourceId"]
    )
    return Association(
        QualifiedSubject(*document["subject"]),
        UUID(document["guid"]),
        resource,
        AssociationType(document["associationType"]),
        Lifecycle(document["lifecycle"]),
        document["frozen"],
        document["createTs"],
        document["updateTs"],
    )


# --- what may be sent -------------------------------------------------------------------------------------------------


def check_name(name: str | None, what: str) -> str:
    """``name``, which must be one of letters, digits, ``_`` and ``-``; else ``InvalidAssociation`` names ``what``."""
    if name and _NAME.fullmatch(name):
        return name
    raise _invalid(what, name, "1 to 256 letters, digits, _ or -")


def check_resource_id(resource_id: str | None) -> str:
    """``resource_id``, which must be there, and no control character in it; else ``InvalidAssociation``."""
    if resource_id and _RESOURCE_ID.fullmatch(resource_id):
        return resource_id
    raise _invalid("resourceId", resource_id, "1 to 256 characters")


def check_resource_type(text: str | None) -> str:
    """The type of a resource; ``topic`` where none is given. Else ``InvalidAssociation``."""
    if text in {None, "", TOPIC}:
        return TOPIC
    raise _invalid("resourceType", text, repr(TOPIC))


def parse_association_type(text: str | None) -> AssociationType:
    """The association type that ``text`` names; ``value`` where none is given. Else ``InvalidAssociation``."""
    return AssociationType(_one_of(AssociationType, text or AssociationType.VALUE, "associationType"))


def parse_lifecycle(text: str | None) -> Lifecycle | None:
    """The lifecycle that ``text`` names, or None where none is given. Else ``InvalidAssociation``."""
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
    """The error for a property whose value does not go with something else: ``fault`` says with what, and why."""
    return InvalidAssociation(f"The association's property {what!r} is not valid: {fault}")
