"""What was observed of readers, as objects of the registry: who read which fields of a subject's records, and when.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.rest.object_forms import INTEGER, REQUIRED, TEXT, TEXTS, JsonType, Member, ObjectForm, word_of

if TYPE_CHECKING:
    from collections.abc import Mapping

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

USAGE_RECEIPT: Final = ObjectForm(
    UsageReceipt,
    (
        Member("stored", "stored", INTEGER, otherwise=REQUIRED, about="How many entries were stored."),
        Member("notices", "notices", TEXTS, otherwise=REQUIRED),
    ),
    keeps_empty=True,
)
