"""What is in a topic, as an object of the registry: which schema ids, and what cannot be read.

The JSON of these values is that of this project's own API under ``/contracts/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from counterfoil.schema.rest.object_forms import FLAG, INTEGER, REQUIRED, TEXT, Member, ObjectForm, list_of


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


_SCHEMA_COUNT: Final = ObjectForm(
    SchemaCount,
    (
        Member("schemaId", "schema_id", INTEGER, otherwise=REQUIRED),
        Member("count", "count", INTEGER, otherwise=REQUIRED),
        Member("subject", "subject", TEXT, about="Of the registry; absent if it does not have the id."),
        Member("version", "version", INTEGER),
    ),
)

TOPIC_STATS: Final = ObjectForm(
    TopicStats,
    (
        Member("topic", "topic", TEXT, otherwise=REQUIRED),
        Member("environment", "environment", TEXT, otherwise=""),
        Member("records", "records", INTEGER, otherwise=REQUIRED, about="How many records were counted."),
        Member("tombstones", "tombstones", INTEGER, otherwise=0, about="How many of them have no value."),
        Member("undecodable", "undecodable", INTEGER, otherwise=0, about="How many of them cannot be read."),
        Member("schemas", "schemas", list_of(_SCHEMA_COUNT), otherwise=REQUIRED, about="By schema id."),
        Member("complete", "is_complete", FLAG, otherwise=False, about="Whether all records were counted."),
        Member("oldestVersion", "oldest_version", INTEGER, about="The earliest version that a counted record has."),
        Member("countedTs", "counted_ts", INTEGER, otherwise=0, about="In epoch milliseconds."),
    ),
    keeps_empty=True,
)
