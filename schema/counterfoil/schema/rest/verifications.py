"""Verifications as objects of the registry: the results of comparing records of a topic with a contract.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from counterfoil.schema.rest.object_forms import (
    FLAG,
    INTEGER,
    INTEGERS,
    REQUIRED,
    TEXT,
    Member,
    ObjectForm,
    list_of,
    object_of,
    word_of,
)


class Outcome(StrEnum):
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
    outcome: Outcome
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
        return tuple(each for each in self.results if each.outcome is Outcome.FAILED)


OFFSET_RANGE: Final = ObjectForm(
    OffsetRange,
    (
        Member("partition", "partition", INTEGER, otherwise=REQUIRED),
        Member("first", "first", INTEGER, otherwise=REQUIRED, about="The first offset that was read."),
        Member("end", "end", INTEGER, otherwise=REQUIRED, about="The offset after the last one that was read."),
    ),
)

RECORD_SAMPLE: Final = ObjectForm(
    RecordSample,
    (
        Member("topic", "topic", TEXT),
        Member("records", "records", INTEGER, about="How many records were read."),
        Member("strategy", "strategy", TEXT, about="How they were chosen, such as newest or random."),
        Member("seed", "seed", INTEGER, about="The seed of a random choice."),
        Member("offsets", "offsets", list_of(OFFSET_RANGE)),
    ),
)

CHECK_RESULT: Final = ObjectForm(
    CheckResult,
    (
        Member("check", "check", TEXT, otherwise=REQUIRED, about="What was checked, such as the id of a rule."),
        Member("outcome", "outcome", word_of(Outcome), otherwise=REQUIRED, about="passed, failed or skipped."),
        Member("records", "records", INTEGER, about="How many records were checked."),
        Member("failed", "failed", INTEGER, about="How many of them did not pass."),
        Member("text", "text", TEXT, about="A sentence for people, without values of records."),
    ),
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
