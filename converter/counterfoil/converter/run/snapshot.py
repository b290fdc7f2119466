"""The state of a run at one moment, as a value and as JSON: what is displayed, recorded, published and measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.rest.bridges import COUNTS, NUMBER
from counterfoil.schema.rest.json_values import ReplyJson
from counterfoil.schema.rest.object_forms import INTEGER, REQUIRED, TEXT, Member, ObjectForm, list_of, word_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class RunState(StrEnum):
    """What a run does, or how it ended."""

    RUNNING = "running"
    FINISHED = "finished"
    """It has converted the records that were there at its start."""
    STOPPED = "stopped"
    """A person, a limit or another driver ended it."""
    FAILED = "failed"
    """The query ended by itself."""


@dataclass(frozen=True, slots=True)
class PartitionPosition:
    """The progress in one partition of the source, as offsets.

    ``begin`` is the first one that the bridge has read, ``position`` the next one to read, ``end`` the one after the
    last record.
    """

    partition: int
    begin: int
    position: int
    end: int

    @property
    def lag(self) -> int:
        """The number of offsets that are still to be read."""
        return max(0, self.end - self.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """The state of one run of a bridge; counts are of this run, and of records of the source.

    ``started_ts`` and ``ts`` are epoch milliseconds, ``error`` is the reason of an end that was not requested.
    ``batch`` is the number of the latest batch, -1 before the first; ``batch_s`` is how long it took.
    ``dead_letters`` are counts by code, ``written_bytes`` those of the values on both outputs. ``rate_per_s`` is
    that of the last minute, and at the end that of the whole run.
    """

    bridge: str
    plan_hash: str
    engine: str
    job: str
    started_ts: int
    ts: int
    state: RunState = RunState.RUNNING
    error: str = ""
    batch: int = -1
    batch_records: int = 0
    batch_s: float = 0.0
    batches: int = 0
    read: int = 0
    converted: int = 0
    tombstones: int = 0
    echoes: int = 0
    repeats: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    written_bytes: int = 0
    partitions: tuple[PartitionPosition, ...] = ()
    rate_per_s: float = 0.0

    @property
    def dead_letter_count(self) -> int:
        """How many records went to the dead-letter topic."""
        return sum(self.dead_letters.values())

    @property
    def done(self) -> int:
        """The number of offsets that the bridge has read since its beginning."""
        return sum(each.position - each.begin for each in self.partitions)

    @property
    def total(self) -> int:
        """The number of offsets that the bridge has read or still has to read."""
        return sum(each.end - each.begin for each in self.partitions)

    @property
    def lag(self) -> int:
        """The number of offsets that are still to be read."""
        return sum(each.lag for each in self.partitions)

    @property
    def eta_s(self) -> float | None:
        """The estimated time until nothing is left, in seconds; None if it cannot be estimated."""
        return self.lag / self.rate_per_s if self.lag and self.rate_per_s >= 1 else None


_PARTITION: Final = ObjectForm(
    PartitionPosition,
    tuple(Member(name, name, INTEGER, otherwise=REQUIRED) for name in ("partition", "begin", "position", "end")),
)
SNAPSHOT: Final = ObjectForm(
    RunSnapshot,
    (
        Member("bridge", "bridge", TEXT, otherwise=REQUIRED),
        Member("planHash", "plan_hash", TEXT, otherwise=REQUIRED),
        Member("engine", "engine", TEXT, otherwise=REQUIRED),
        Member("job", "job", TEXT, otherwise=REQUIRED),
        Member("state", "state", word_of(RunState), otherwise=REQUIRED),
        Member("error", "error", TEXT),
        Member("startedTs", "started_ts", INTEGER, otherwise=REQUIRED),
        Member("ts", "ts", INTEGER, otherwise=REQUIRED),
        Member("batch", "batch", INTEGER),
        Member("batchRecords", "batch_records", INTEGER),
        Member("batchS", "batch_s", NUMBER),
        Member("batches", "batches", INTEGER),
        Member("read", "read", INTEGER),
        Member("converted", "converted", INTEGER),
        Member("tombstones", "tombstones", INTEGER),
        Member("echoes", "echoes", INTEGER),
        Member("repeats", "repeats", INTEGER),
        Member("deadLetters", "dead_letters", COUNTS),
        Member("writtenBytes", "written_bytes", INTEGER),
        Member("partitions", "partitions", list_of(_PARTITION)),
        Member("ratePerS", "rate_per_s", NUMBER),
    ),
    keeps_empty=True,
)
"""The JSON form; sums are added where people and scripts read it (:func:`snapshot_json`)."""


def snapshot_json(snapshot: RunSnapshot) -> dict[str, object]:
    """Return a snapshot as a JSON object, with what follows from its members."""
    return {**SNAPSHOT.write(snapshot), "total": snapshot.total, "lag": snapshot.lag, "etaS": snapshot.eta_s}


def read_snapshot(document: object) -> RunSnapshot:
    """Return the snapshot of a JSON object; raise ``UnexpectedShapeError`` if it is none."""
    return SNAPSHOT.read(ReplyJson(document, root="the progress of a run"))
