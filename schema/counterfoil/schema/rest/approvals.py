"""Approvals as objects of the registry: findings that someone answers for until a day.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from counterfoil.schema.rest.object_forms import FLAG, INTEGER, REQUIRED, TEXT, TEXTS, Member, ObjectForm, list_of


@dataclass(frozen=True, slots=True)
class NewApproval:
    """Findings to approve, by their fingerprints, until the end of the day ``until`` (``YYYY-MM-DD``, UTC).

    ``owner`` answers for them, ``by`` recorded it; ``migration`` names the converter that goes with the change.
    """

    fingerprints: tuple[str, ...]
    owner: str
    reason: str
    until: str
    migration: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Approval:
    """A stored approval; ``is_expired`` by the clock of the registry when it was returned, and is not stored."""

    id: str
    fingerprints: tuple[str, ...]
    owner: str
    reason: str
    until: str
    migration: str = ""
    by: str = ""
    create_ts: int = 0
    is_expired: bool = False


@dataclass(frozen=True, slots=True)
class Approvals:
    """Approvals, and the day (UTC) of the registry by which it was decided which of them have expired."""

    decided_on: str
    approvals: tuple[Approval, ...]


_GIVEN: Final = (
    Member("fingerprints", "fingerprints", TEXTS, otherwise=REQUIRED, about="The findings that are approved."),
    Member("owner", "owner", TEXT, otherwise=REQUIRED, about="Who answers for them."),
    Member("reason", "reason", TEXT, otherwise=REQUIRED),
    Member("until", "until", TEXT, otherwise=REQUIRED, about="The last day, YYYY-MM-DD in UTC."),
    Member("migration", "migration", TEXT, about="The converter that goes with the change."),
    Member("by", "by", TEXT, about="Who recorded the approval."),
)

NEW_APPROVAL: Final = ObjectForm(NewApproval, _GIVEN)

STORED_APPROVAL: Final = ObjectForm(
    Approval,
    (
        Member("id", "id", TEXT, otherwise=REQUIRED),
        *_GIVEN,
        Member("createTs", "create_ts", INTEGER, about="The time of its creation, in epoch milliseconds."),
    ),
)

APPROVAL: Final = ObjectForm(
    Approval,
    (
        *STORED_APPROVAL.members,
        Member("expired", "is_expired", FLAG, about="Whether the day is over, by the clock of the registry."),
    ),
)

APPROVALS: Final = ObjectForm(
    Approvals,
    (
        Member("decidedOn", "decided_on", TEXT, otherwise=REQUIRED, about="The day of the registry, in UTC."),
        Member("approvals", "approvals", list_of(APPROVAL), otherwise=REQUIRED),
    ),
    keeps_empty=True,
)
