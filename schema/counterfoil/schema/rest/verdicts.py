"""Verdicts as objects of the registry: whether a version may be deployed, and why; who reads a subject.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.rest.object_forms import (
    FLAG,
    INTEGER,
    REQUIRED,
    TEXT,
    TEXTS,
    Member,
    ObjectForm,
    list_of,
    word_of,
)

if TYPE_CHECKING:
    from counterfoil.schema.rest.object_forms import Document


class Reason(StrEnum):
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

    reason: Reason
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


VERDICT_REASON: Final = ObjectForm(
    VerdictReason,
    (
        Member("reason", "reason", word_of(Reason), otherwise=REQUIRED),
        Member("text", "text", TEXT, otherwise=REQUIRED),
        Member("contract", "contract", TEXT),
        Member("subject", "subject", TEXT),
        Member("producer", "producer", TEXT),
        Member("producerVersion", "producer_version", TEXT),
        Member("consumer", "consumer", TEXT),
        Member("consumerVersion", "consumer_version", TEXT),
        Member("rule", "rule", TEXT, about="The id of the rule."),
        Member("path", "path", TEXT, about="The path of the field."),
        Member("place", "place", TEXT, about="Where records differ from what is read: the path, or one inside it."),
        Member("expected", "expected", TEXT, about="What the reader expects there, in words that do not change."),
        Member("written", "written", TEXT, about="What is written there, in words that do not change."),
        Member("fingerprint", "fingerprint", TEXT, about="What an approval names."),
        Member("formerFingerprints", "former_fingerprints", TEXTS, about="What approvals of earlier releases name."),
        Member("approval", "approval", TEXT, about="The id of the approval that covers it."),
    ),
)

VERDICT: Final = ObjectForm(
    DeploymentVerdict,
    (
        Member("deployable", "deployable", FLAG, about="Null if it cannot be known."),
        Member("reasons", "reasons", list_of(VERDICT_REASON), otherwise=REQUIRED),
        Member("notices", "notices", TEXTS, otherwise=REQUIRED),
        Member(
            "decidedAt",
            "decided_at",
            TEXT,
            about="The time of the registry by which approvals and verifications were counted, where any were.",
        ),
    ),
    keeps_empty=True,
)

CONSUMER: Final = ObjectForm(
    Consumer,
    (
        Member("application", "application", TEXT, otherwise=REQUIRED),
        Member("version", "version", TEXT, otherwise=REQUIRED),
        Member("contract", "contract", TEXT, otherwise=REQUIRED),
        Member("reads", "reads", TEXTS, otherwise=REQUIRED, about="Paths, or `*` for the whole record."),
        Member("origin", "origin", TEXT, otherwise=REQUIRED, about="How it is known, such as declared."),
        Member("environments", "environments", TEXTS, about="Where the version is live."),
        Member("firstSeen", "first_seen", INTEGER, about="Of observed reads, in epoch milliseconds."),
        Member("lastSeen", "last_seen", INTEGER, about="Of observed reads, in epoch milliseconds."),
        Member("activity", "activity", TEXT, about="active, stale or gone; absent for one that was never seen."),
    ),
    keeps_empty=True,
)

FIELD_USE: Final = ObjectForm(
    FieldUse,
    (
        Member("path", "path", TEXT, otherwise=REQUIRED),
        Member("consumers", "consumers", list_of(CONSUMER), otherwise=REQUIRED),
    ),
    keeps_empty=True,
)


def verdict_document(verdict: DeploymentVerdict) -> Document:
    """Return the JSON of a verdict, in which ``deployable`` is null where it cannot be known."""
    return {"deployable": verdict.deployable, **VERDICT.write(verdict)}
