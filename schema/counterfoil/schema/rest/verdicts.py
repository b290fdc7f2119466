"""Verdicts in the REST API: whether a version may be deployed; approvals, migrations, differences of versions.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from counterfoil.schema.rest.bridges import GATE, BridgeDirection, BridgeState, Gate
from counterfoil.schema.rest.contracts import ContractKind
from counterfoil.schema.rest.object_forms import (
    FLAG,
    INTEGER,
    REQUIRED,
    TEXT,
    TEXTS,
    Document,
    Member,
    ObjectForm,
    form_of,
    list_of,
    word_of,
)

# Verdicts as objects of the registry: whether a version may be deployed, and why; who reads a subject.


class ReasonCode(StrEnum):
    """The reason of a verdict."""

    OK = "OK"
    """Nothing is wrong with the pair."""
    INCOMPATIBLE = "INCOMPATIBLE"
    """Records of the producer cannot be read."""
    EXPECTATION_BROKEN = "EXPECTATION_BROKEN"
    """What a consumer expects contradicts what the producer promises."""
    UNBACKED = "UNBACKED"
    """A consumer expects something that the producer does not promise: a warning."""
    PENDING = "PENDING"
    """It would break a version of a consumer that is not live in the environment: a notice."""
    VERIFICATION_FAILED = "VERIFICATION_FAILED"
    """A verification is demanded, and the latest one failed."""
    NOT_VERIFIED = "NOT_VERIFIED"
    """A verification is demanded, and there is none that is recent enough."""
    STILL_READ = "STILL_READ"
    """A live version reads the contract that is to be retired."""
    APPROVED_BREAK = "APPROVED_BREAK"
    """A break that is intended: a migration, or an approval, permits it until a day."""
    UNDECIDED = "UNDECIDED"
    """It is not known whether a consumer can read the records: the comparison ended at its limits."""
    MIGRATION_NOT_READY = "MIGRATION_NOT_READY"
    """A migration would permit the break, and something is missing: its converter, a report about it, or time."""
    NO_CONTRACT = "NO_CONTRACT"
    """A contract that is needed for the verdict is not published by any version that counts."""
    UNKNOWN_VERSION = "UNKNOWN_VERSION"
    """The version of the application was never published."""


@dataclass(frozen=True, slots=True)
class VerdictReason:
    """One reason, with a sentence and what it is about; what does not apply is empty.

    ``path`` is what is read; ``place`` is where records differ, ``expected`` what the reader expects there, ``written``
    what is written. ``fingerprint`` identifies a break for an approval, as ``former_fingerprints`` did in earlier
    releases; ``approval`` is the id of the one that covers it.
    """

    reason: ReasonCode
    text: str
    contract: str = ""
    subject: str = ""
    producer: str = ""
    producer_version: str = ""
    consumer: str = ""
    consumer_version: str = ""
    rule: str = ""
    path: str = ""
    fingerprint: str = ""
    approval: str = ""
    place: str = ""
    expected: str = ""
    written: str = ""
    former_fingerprints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeploymentVerdict:
    """Whether something may be done in an environment. ``deployable`` None: it cannot be known.

    ``decided_at`` is the time of the registry by which approvals and verifications were counted, None if none were.
    """

    deployable: bool | None = None
    reasons: tuple[VerdictReason, ...] = ()
    notices: tuple[str, ...] = ()
    decided_at: str | None = None


@dataclass(frozen=True, slots=True)
class Consumer:
    """One version of an application that reads a contract; ``reads`` are paths, or ``*`` for the whole record.

    ``contract`` is empty for one that was only seen to read. The times (epoch ms) are those of observed reads; they and
    ``activity`` are None for one that was never seen.
    """

    application: str
    version: str
    contract: str
    reads: tuple[str, ...]
    origin: str
    environments: tuple[str, ...] = ()
    first_seen: int | None = None
    last_seen: int | None = None
    activity: str | None = None


@dataclass(frozen=True, slots=True)
class FieldUse:
    """One path of a subject's records, with those who read it."""

    path: str
    consumers: tuple[Consumer, ...]


VERDICT_REASON: Final = form_of(
    VerdictReason,
    "reason",
    "text",
    "contract",
    "subject",
    "producer",
    "producer_version",
    "consumer",
    "consumer_version",
    "rule",
    "path",
    "place",
    "expected",
    "written",
    "fingerprint",
    "former_fingerprints",
    "approval",
    about={
        "rule": "The id of the rule.",
        "path": "The path of the field.",
        "place": "Where records differ from what is read: the path, or one inside it.",
        "expected": "What the reader expects there, in words that do not change.",
        "written": "What is written there, in words that do not change.",
        "fingerprint": "What an approval names.",
        "former_fingerprints": "What approvals of earlier releases name.",
        "approval": "The id of the approval that covers it.",
    },
)

VERDICT: Final = form_of(
    DeploymentVerdict,
    otherwise={"reasons": REQUIRED, "notices": REQUIRED},
    about={
        "deployable": "Null if it cannot be known.",
        "decided_at": "The time of the registry by which approvals and verifications were counted, where any were.",
    },
    keeps_empty=True,
)

CONSUMER: Final = form_of(
    Consumer,
    about={
        "reads": "Paths, or `*` for the whole record.",
        "origin": "How it is known, such as declared.",
        "environments": "Where the version is live.",
        "first_seen": "Of observed reads, in epoch milliseconds.",
        "last_seen": "Of observed reads, in epoch milliseconds.",
        "activity": "active, stale or gone; absent for one that was never seen.",
    },
    keeps_empty=True,
)

FIELD_USE: Final = form_of(FieldUse, keeps_empty=True)


def verdict_document(verdict: DeploymentVerdict) -> Document:
    """Return the JSON of a verdict, in which ``deployable`` is null where it cannot be known."""
    return {"deployable": verdict.deployable, **VERDICT.write(verdict)}


# Approvals as objects of the registry: findings that someone answers for until a day.


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

APPROVALS: Final = form_of(
    Approvals,
    types={"approvals": list_of(APPROVAL)},
    about={"decided_on": "The day of the registry, in UTC."},
    keeps_empty=True,
)


# What differs between two versions of a contract, as objects of the registry.


@dataclass(frozen=True, slots=True)
class ContractChange:
    """One change, without judgement: ``subject`` is the subject, or the contract that a consumer reads."""

    subject: str
    kind: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgedDifference:
    """One difference that a rule is about: whether it ``is_breaking``, and for which ``direction`` of reading.

    ``direction`` is that of the compatibility of schemas; it is empty for what the contract promises.
    """

    subject: str
    rule: str
    path: str
    text: str
    is_breaking: bool
    direction: str = ""


@dataclass(frozen=True, slots=True)
class ContractDiff:
    """What differs between two versions of a contract."""

    contract: str
    kind: ContractKind
    earlier: str
    later: str
    is_same: bool
    changes: tuple[ContractChange, ...] = ()
    findings: tuple[JudgedDifference, ...] = ()


_PLACE: Final = (
    Member("subject", "subject", TEXT, otherwise=REQUIRED),
    Member("path", "path", TEXT, otherwise=REQUIRED, about="The path of the field; empty for the whole."),
    Member("text", "text", TEXT, otherwise=REQUIRED),
)

CONTRACT_CHANGE: Final = ObjectForm(
    ContractChange,
    (Member("kind", "kind", TEXT, otherwise=REQUIRED, about="Such as field-removed."), *_PLACE),
    keeps_empty=True,
)

JUDGED_DIFFERENCE: Final = ObjectForm(
    JudgedDifference,
    (
        Member("rule", "rule", TEXT, otherwise=REQUIRED, about="The id of the rule."),
        Member("breaking", "is_breaking", FLAG, otherwise=REQUIRED),
        Member("direction", "direction", TEXT, about="BACKWARD or FORWARD, for a difference of schemas."),
        *_PLACE,
    ),
    keeps_empty=True,
)

CONTRACT_DIFF: Final = form_of(
    ContractDiff,
    keys={"earlier": "from", "later": "to", "is_same": "same"},
    types={"changes": list_of(CONTRACT_CHANGE), "findings": list_of(JUDGED_DIFFERENCE)},
    otherwise={"changes": REQUIRED, "findings": REQUIRED},
    about={
        "kind": "odcs or odps.",
        "earlier": "The earlier version.",
        "later": "The later version.",
        "is_same": "Whether no verdict can differ.",
        "changes": "What changed.",
        "findings": "What breaks readers in one direction, and what the contract no longer promises.",
    },
    keeps_empty=True,
)


# Migrations of contracts as objects of the registry: intended breaks, and what still hinders each of them.


@dataclass(frozen=True, slots=True)
class ContractMigration:
    """An intended break of a contract, from the major version ``source`` to ``target``.

    ``bridge`` converts the records, and ``application`` is the program that runs it. Until the end of the day
    ``sunset`` (``YYYY-MM-DD``, in UTC; empty for no end) consumers of one version may read through the bridge what is
    written in the other.
    """

    id: str
    contract: str
    source: str
    target: str
    bridge: str
    application: str
    sunset: str = ""
    create_ts: int = 0


@dataclass(frozen=True, slots=True)
class MigrationStatus(ContractMigration):
    """A migration as it stands: its bridge, where the converter is live, and who still reads the old version.

    ``state``, ``direction`` and the subjects are those of the bridge; None or empty while it is not registered. ``lag``
    is the number of offsets that are still to be converted; None if it is not known. ``hindrances`` are sentences about
    what is missing in every environment.
    """

    state: BridgeState | None = None
    direction: BridgeDirection | None = None
    source_subject: str = ""
    target_subject: str = ""
    environments: tuple[str, ...] = ()
    lag: int | None = None
    is_verified: bool = False
    is_expired: bool = False
    gates: tuple[Gate, ...] = ()
    hindrances: tuple[str, ...] = ()
    consumers: tuple[Consumer, ...] = ()


MIGRATION: Final = form_of(
    ContractMigration,
    keys={"source": "from", "target": "to"},
    about={
        "contract": "The id of the contract.",
        "source": "The old major version.",
        "target": "The new major version.",
        "bridge": "The name of the bridge under /bridges/v1.",
        "application": "The application that runs the bridge.",
        "sunset": "The last day of the migration, in UTC; absent for no end.",
        "create_ts": "The time of its creation, in epoch milliseconds.",
    },
)

MIGRATION_STATUS: Final = ObjectForm(
    MigrationStatus,
    (
        *MIGRATION.members,
        Member("state", "state", word_of(BridgeState), about="The state of the bridge; absent without one."),
        Member("direction", "direction", word_of(BridgeDirection), about="Of the bridge: new-to-old or old-to-new."),
        Member("sourceSubject", "source_subject", TEXT, about="The subject whose records are converted."),
        Member("targetSubject", "target_subject", TEXT, about="The subject of the converted records."),
        Member("environments", "environments", TEXTS, about="Where the application is live."),
        Member("lag", "lag", INTEGER, about="Offsets that are still to be converted; absent if not known."),
        Member("verified", "is_verified", FLAG, otherwise=REQUIRED, about="Whether a recent verification passed."),
        Member("expired", "is_expired", FLAG, otherwise=REQUIRED, about="Whether the last day is over."),
        Member("gates", "gates", list_of(GATE), about="The conditions of the bridge that count for verdicts."),
        Member("hindrances", "hindrances", TEXTS, about="What is missing in every environment."),
        Member("consumers", "consumers", list_of(CONSUMER), about="Live consumers of the old version."),
    ),
    keeps_empty=True,
)
