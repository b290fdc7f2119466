"""Observations in the REST API: verified records, the schema ids in a topic, and what readers have read.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from counterfoil.schema.rest.object_forms import (
    FLAG,
    INTEGER,
    INTEGERS,
    REQUIRED,
    TEXT,
    JsonType,
    Member,
    ObjectForm,
    form_of,
    list_of,
    object_of,
    word_of,
)

# Verifications as objects of the registry: the results of comparing records of a topic with a contract.


class CheckOutcome(StrEnum):
    """The outcome of one check of records."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets of a partition that were read: from ``first`` up to, but not including, ``end``."""

    partition: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class RecordSample:
    """Which records were read: ``records`` of them, chosen by ``strategy``, with ``seed`` if it is random."""

    topic: str = ""
    records: int = 0
    strategy: str = ""
    seed: int | None = None
    offsets: tuple[OffsetRange, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check: of ``records``, ``failed`` did not pass; ``text`` is one sentence without values."""

    check: str
    outcome: CheckOutcome
    records: int = 0
    failed: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class NewVerification:
    """The result of verifying a published contract by records of an environment.

    ``schema_ids`` are those of the records that were read; ``hash``, if given, must be that of the published contract.
    ``read_ts`` is the time (epoch ms) when they were read; None is now, by the clock of the registry.
    """

    contract: str
    contract_version: str
    environment: str
    sample: RecordSample = RecordSample()
    results: tuple[CheckResult, ...] = ()
    schema_ids: tuple[int, ...] = ()
    hash: str = ""
    build_url: str = ""
    read_ts: int | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """A stored verification: the latest of a contract's content in an environment, on one topic."""

    id: str
    contract: str
    contract_version: str
    hash: str
    environment: str
    is_passed: bool
    sample: RecordSample = RecordSample()
    results: tuple[CheckResult, ...] = ()
    schema_ids: tuple[int, ...] = ()
    build_url: str = ""
    read_ts: int = 0
    create_ts: int = 0

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The results of the checks that failed."""
        return tuple(each for each in self.results if each.outcome is CheckOutcome.FAILED)


OFFSET_RANGE: Final = form_of(
    OffsetRange,
    about={
        "first": "The first offset that was read.",
        "end": "The offset after the last one that was read.",
    },
)

RECORD_SAMPLE: Final = form_of(
    RecordSample,
    about={
        "records": "How many records were read.",
        "strategy": "How they were chosen, such as newest or random.",
        "seed": "The seed of a random choice.",
    },
)

CHECK_RESULT: Final = form_of(
    CheckResult,
    about={
        "check": "What was checked, such as the id of a rule.",
        "outcome": "passed, failed or skipped.",
        "records": "How many records were checked.",
        "failed": "How many of them did not pass.",
        "text": "A sentence for people, without values of records.",
    },
)

_SAMPLE: Final = Member("sample", "sample", object_of(RECORD_SAMPLE), about="Which records were read.")
_RESULTS: Final = Member("results", "results", list_of(CHECK_RESULT))
_SCHEMA_IDS: Final = Member("schemaIds", "schema_ids", INTEGERS, about="The schema ids of the records.")
_BUILD_URL: Final = Member("buildUrl", "build_url", TEXT, about="The address of the build that ran it.")

NEW_VERIFICATION: Final = ObjectForm(
    NewVerification,
    (
        Member("contract", "contract", TEXT, otherwise=REQUIRED),
        Member("contractVersion", "contract_version", TEXT, otherwise=REQUIRED),
        Member("environment", "environment", TEXT, otherwise=REQUIRED),
        _SAMPLE,
        _RESULTS,
        _SCHEMA_IDS,
        Member("hash", "hash", TEXT, about="The hash of the published contract, to be compared."),
        _BUILD_URL,
        Member(
            "readTs",
            "read_ts",
            INTEGER,
            about="When the records were read, in epoch milliseconds; a later time than that of the registry is now.",
        ),
    ),
)

VERIFICATION: Final = ObjectForm(
    Verification,
    (
        Member("id", "id", TEXT, otherwise=REQUIRED),
        *NEW_VERIFICATION.members[:2],
        Member("hash", "hash", TEXT, otherwise=REQUIRED, about="The hash of the contract."),
        NEW_VERIFICATION.members[2],
        Member("passed", "is_passed", FLAG, otherwise=REQUIRED, about="Whether a check passed and none failed."),
        _SAMPLE,
        _RESULTS,
        _SCHEMA_IDS,
        _BUILD_URL,
        Member("readTs", "read_ts", INTEGER, otherwise=REQUIRED, about="When the records were read, which counts."),
        Member("createTs", "create_ts", INTEGER, about="The time at which it was stored, in epoch milliseconds."),
    ),
)


# What is in a topic, as an object of the registry: which schema ids, and what cannot be read.


@dataclass(frozen=True, slots=True)
class SchemaCount:
    """How many records have a schema id; subject and version are those of the registry, None where it has none."""

    schema_id: int
    count: int
    subject: str | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class TopicStats:
    """The values of a topic's records, counted in all of them, or in a sample.

    ``tombstones`` are records without a value, ``undecodable`` those whose value cannot be read. ``oldest_version`` is
    the earliest version, of the topic's subject, that a counted record has. ``counted_ts`` is the time of the count
    (epoch ms).
    """

    topic: str
    environment: str = ""
    records: int = 0
    tombstones: int = 0
    undecodable: int = 0
    schemas: tuple[SchemaCount, ...] = ()
    is_complete: bool = False
    oldest_version: int | None = None
    counted_ts: int = 0


_SCHEMA_COUNT: Final = form_of(
    SchemaCount,
    about={"subject": "Of the registry; absent if it does not have the id."},
)

TOPIC_STATS: Final = form_of(
    TopicStats,
    keys={"is_complete": "complete"},
    otherwise={
        "environment": "",
        "records": REQUIRED,
        "tombstones": 0,
        "undecodable": 0,
        "schemas": REQUIRED,
        "is_complete": False,
        "counted_ts": 0,
    },
    about={
        "records": "How many records were counted.",
        "tombstones": "How many of them have no value.",
        "undecodable": "How many of them cannot be read.",
        "schemas": "By schema id.",
        "is_complete": "Whether all records were counted.",
        "oldest_version": "The earliest version that a counted record has.",
        "counted_ts": "In epoch milliseconds.",
    },
    keeps_empty=True,
)


# What was observed of readers, as objects of the registry: who read which fields of a subject's records, and when.

WHOLE_RECORD: Final = "*"
"""The path of the whole record."""


class UsageOrigin(StrEnum):
    """How it is known that something was read."""

    RECORDED = "recorded"
    """By the consumer's tests."""
    OBSERVED = "observed"
    """By the SDK, in one message of many."""
    READER_SCHEMA = "reader_schema"
    """The schema with which the consumer reads."""
    LINEAGE = "lineage"
    """The columns that a Spark plan reads."""
    FETCHED = "fetched"
    """Requests for the schema: the whole record."""
    GROUP = "group"
    """The broker's list of consumer groups: only that the consumer exists."""


@dataclass(frozen=True, slots=True)
class PathUse:
    """The reads of one path: in how many of the observed messages, and when first and last (epoch ms)."""

    count: int
    first_seen: int
    last_seen: int


@dataclass(frozen=True, slots=True)
class ObservedUse:
    """What one application read of one subject's messages with one schema id, in one environment, since the first.

    ``schema_id`` is 0 where it is not known. ``version`` is the application's latest. Times are epoch ms.
    """

    application: str
    subject: str
    schema_id: int = 0
    environment: str = ""
    version: str = ""
    origin: UsageOrigin = UsageOrigin.OBSERVED
    first_seen: int = 0
    last_seen: int = 0
    messages: int = 0
    sampled: int = 0
    paths: Mapping[str, PathUse] = field(default_factory=dict)
    stale_since: int = 0
    """When the registry noticed that it was not seen for long; 0 while it is seen."""


@dataclass(frozen=True, slots=True)
class UsageRead:
    """One entry of a batch: messages of one schema id, or of a subject whose id is not known, with the paths read."""

    schema_id: int = 0
    subject: str = ""
    messages: int = 0
    sampled: int = 0
    paths: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UsageBatch:
    """What one application has read in a time (epoch ms; 0 is now)."""

    application: str
    reads: tuple[UsageRead, ...]
    version: str = ""
    environment: str = ""
    origin: UsageOrigin = UsageOrigin.OBSERVED
    since: int = 0
    until: int = 0


@dataclass(frozen=True, slots=True)
class UsageReceipt:
    """How many entries of a batch were stored, and notices about the others."""

    stored: int
    notices: tuple[str, ...] = ()


_COUNT: Final = Member("count", "count", INTEGER, otherwise=REQUIRED)
_FIRST: Final = Member("firstSeen", "first_seen", INTEGER, about="In epoch milliseconds.")
_LAST: Final = Member("lastSeen", "last_seen", INTEGER, about="In epoch milliseconds.")
_PATH_USE: Final = ObjectForm(PathUse, (_COUNT, _FIRST, _LAST))
_PATHS: Final = JsonType(
    lambda value: value.by_key(_PATH_USE.read),
    lambda paths: {path: _PATH_USE.write(use) for path, use in sorted(paths.items())},
    {"type": "object", "additionalProperties": {"type": "object"}},
)

OBSERVED_USE: Final = ObjectForm(
    ObservedUse,
    (
        Member("application", "application", TEXT, otherwise=REQUIRED),
        Member("subject", "subject", TEXT, otherwise=REQUIRED),
        Member("schemaId", "schema_id", INTEGER, about="0 where it is not known."),
        Member("environment", "environment", TEXT, about="Absent where the application gives none."),
        Member("version", "version", TEXT, about="The application's latest."),
        Member("origin", "origin", word_of(UsageOrigin), otherwise=REQUIRED, about="How it is known."),
        _FIRST,
        _LAST,
        Member("messages", "messages", INTEGER, about="How many messages were read."),
        Member("sampled", "sampled", INTEGER, about="How many of them were observed."),
        Member("paths", "paths", _PATHS, about="In how many of those each path was read, and when."),
        Member("staleSince", "stale_since", INTEGER),
    ),
)

USAGE_RECEIPT: Final = form_of(
    UsageReceipt,
    otherwise={"notices": REQUIRED},
    about={"stored": "How many entries were stored."},
    keeps_empty=True,
)
