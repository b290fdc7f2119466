"""Associations as they are stored, and the rules for requests that create or change one.

Source: Confluent's description of the Schema Registry REST API, associations.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.errors import InvalidAssociation
from counterfoil.schema.rest.associations import (
    TOPIC,
    Association,
    AssociationType,
    Lifecycle,
    association_document,
    read_association,
)
from counterfoil.schema.rest.json_values import ReplyJson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.rest.object_forms import Document

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
# -------------------------------------------------------------------------------------------------


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
