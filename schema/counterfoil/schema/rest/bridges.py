"""Bridges as objects of the registry: what they convert, their states, the reports about them, and their gates.

The JSON of these values is that of this project's own API under ``/bridges/v1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final
from uuid import UUID

from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.object_forms import (
    FLAG,
    INTEGER,
    REQUIRED,
    JsonType,
    Member,
    ObjectForm,
    form_of,
    list_of,
    object_of,
    read_number,
    word_of,
)
from counterfoil.schema.rest.schemas import GUID, SCHEMA


class BridgeState(StrEnum):
    """The state of a bridge, from its registration to its end."""

    PLANNED = "planned"
    """It is registered, and its plan is complete; nothing runs."""
    SHADOW = "shadow"
    """The job runs, and nobody relies on its target yet."""
    RUNNING = "running"
    """The job converts the records that exist already."""
    CAUGHT_UP = "caught-up"
    """The job has converted the existing records and follows new ones."""
    VERIFIED = "verified"
    """A verification of the target has passed."""
    CUT_OVER = "cut-over"
    """Programs rely on the target: those that have not moved yet read it."""
    DRAINING = "draining"
    """The programs that rely on the target are moved, one after the other."""
    ROLLED_BACK = "rolled-back"
    """The migration was undone: the records of the target are converted back by the reverse plan."""
    RETIRED = "retired"
    """The bridge has ended."""


class BridgeDirection(StrEnum):
    """The side of a bridge that producers write to."""

    NEW_TO_OLD = "new-to-old"
    """Producers write the new schema, and programs that have not moved yet read the old one."""
    OLD_TO_NEW = "old-to-new"
    """Producers write the old schema, and programs that have moved already read the new one."""


@dataclass(frozen=True, slots=True)
class BridgeSide:
    """One side of a bridge: a topic, and the version of a subject with the schema of its records.

    ``version`` and ``id`` are None for a schema that is not registered yet; then ``schema`` has it. ``guid`` is the
    fingerprint of the schema.
    """

    topic: str
    subject: QualifiedSubject
    guid: UUID
    version: int | None = None
    id: int | None = None
    schema: Schema | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a plan: its kind, the path of the field, and a sentence."""

    kind: str
    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


@dataclass(frozen=True, slots=True)
class ReversePlan:
    """The plan that converts records of the target back; it cannot be used with ``problems``.

    ``plan`` is the text of a bridge file of its own; if it is empty, the plan was derived without rules.
    """

    hash: str
    plan: str = field(default="", repr=False)
    problems: tuple[Problem, ...] = ()
    lossy: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the plan has no problems."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class BridgeLimits:
    """The limits of the gates of a bridge."""

    max_lag: int = 1000
    max_dead_letter_rate: float = 0.01
    max_progress_age_s: int = 300
    max_verification_age_s: int = 86_400
    max_readers_age_s: int = 86_400


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition of a transition: whether it is met, a sentence with the reason, and the figures it depends on."""

    name: str
    is_met: bool
    reason: str
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Transition:
    """A transition that was carried out: when (epoch ms), by whom, and why.

    ``forced``: it was carried out although the gates in ``unmet`` were not met.
    """

    source: BridgeState
    target: BridgeState
    ts: int
    by: str
    reason: str = ""
    forced: bool = False
    unmet: tuple[Gate, ...] = ()


@dataclass(frozen=True, slots=True)
class PossibleTransition:
    """A state that a bridge can change to, whether all of the gates are met, and the gates."""

    state: BridgeState
    is_permitted: bool
    gates: tuple[Gate, ...] = ()


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge: which schema is converted to which one, by which plan, and the state of the migration.

    ``plan`` is the text of the bridge file. ``create_ts`` and ``update_ts`` are times in epoch milliseconds.
    ``history`` has the latest transitions, the oldest first.
    """

    name: str
    state: BridgeState
    source: BridgeSide
    target: BridgeSide
    direction: BridgeDirection
    plan: str = field(repr=False)
    plan_hash: str
    reverse: ReversePlan
    owner: str
    lossy: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    limits: BridgeLimits = BridgeLimits()
    description: str = ""
    create_ts: int = 0
    update_ts: int = 0
    history: tuple[Transition, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBridge:
    """A bridge to register, or changes to one; None is not given.

    ``plan`` and ``reverse_plan`` are texts of bridge files. ``source_schema`` is the schema of the source if it is not
    registered yet; with ``registers_source`` it is registered together with the bridge, both or neither.
    """

    plan: str | None = field(default=None, repr=False)
    reverse_plan: str | None = field(default=None, repr=False)
    source_version: int | None = None
    source_schema: Schema | None = field(default=None, repr=False)
    target_version: int | None = None
    direction: BridgeDirection | None = None
    owner: str | None = None
    description: str | None = None
    limits: BridgeLimits | None = None
    registers_source: bool | None = None


# --- reports ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """The progress in one partition of the source, as offsets: ``position`` is the next one to convert.

    ``end`` is the offset after the last record of the partition.
    """

    partition: int
    position: int
    end: int

    @property
    def lag(self) -> int:
        """The number of offsets that are still to be converted."""
        return max(0, self.end - self.position)


@dataclass(frozen=True, slots=True)
class Progress:
    """The latest report of the job that runs a bridge.

    ``epoch`` is the number of the job's start: a report with a lower number than that of the report before is refused.
    ``dead_letters`` are counts by code. ``received_ts`` (epoch ms) is the time at which the registry received it.
    """

    job: str
    epoch: int
    plan_hash: str
    partitions: tuple[PartitionProgress, ...]
    ts: int = 0
    converted: int = 0
    tombstones: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    rate_per_s: float | None = None
    received_ts: int = 0

    @property
    def lag(self) -> int:
        """The number of offsets that are still to be converted, in all partitions."""
        return sum(each.lag for each in self.partitions)

    @property
    def dead_letter_count(self) -> int:
        """The number of records that could not be converted."""
        return sum(self.dead_letters.values())

    @property
    def records(self) -> int:
        """The number of records that the job has written, to either topic."""
        return self.converted + self.tombstones + self.dead_letter_count

    @property
    def dead_letter_rate(self) -> float:
        """The share of the records that could not be converted, from 0 to 1."""
        return self.dead_letter_count / self.records if self.records else 0.0


@dataclass(frozen=True, slots=True)
class BridgeVerification:
    """The result of the latest verification of the target.

    ``faults`` are counts by kind, such as missing or repeated records; a verification without records has not passed.
    """

    plan_hash: str
    records: int
    faults: Mapping[str, int] = field(default_factory=dict)
    dead_letters: int = 0
    job: str = ""
    ts: int = 0
    received_ts: int = 0

    @property
    def fault_count(self) -> int:
        """The number of faults."""
        return sum(self.faults.values())

    @property
    def has_passed(self) -> bool:
        """Whether records were verified, and no fault was found."""
        return self.records > 0 and not self.fault_count


@dataclass(frozen=True, slots=True)
class Readers:
    """The programs that still depend on the old schema, such as consumer groups that read the old topic."""

    readers: tuple[str, ...]
    by: str = ""
    ts: int = 0
    received_ts: int = 0


@dataclass(frozen=True, slots=True)
class BridgeReports:
    """The latest reports about a bridge; None if there is none."""

    progress: Progress | None = None
    verification: BridgeVerification | None = None
    readers: Readers | None = None


@dataclass(frozen=True, slots=True)
class BridgeStatus:
    """A bridge with the latest reports about it.

    ``is_stale``: there is no report of the job's progress that is recent enough.
    """

    bridge: Bridge
    reports: BridgeReports
    is_stale: bool = True


# --- their JSON -------------------------------------------------------------------------------------------------------

COUNTS: Final = JsonType(
    lambda value: value.by_key(INTEGER.read),
    lambda counts: dict(sorted(counts.items())),
    {"type": "object", "additionalProperties": {"type": "integer"}},
)
_FIGURES: Final = JsonType(
    lambda value: value.by_key(read_number), dict, {"type": "object", "additionalProperties": {"type": "number"}}
)
_STATE: Final = word_of(BridgeState)
_TS: Final = "Epoch milliseconds."

SIDE: Final = form_of(
    BridgeSide,
    "topic",
    "subject",
    "version",
    "id",
    "guid",
    "schema",
    types={"guid": GUID, "schema": object_of(SCHEMA)},
    about={
        "subject": "The qualified name of the subject.",
        "version": "Absent for a schema that is not registered yet.",
        "id": "The id of the schema; absent for one that is not registered yet.",
        "schema": "The schema, if it is not registered yet.",
    },
)
PROBLEM: Final = form_of(
    Problem,
    "field",
    "kind",
    "text",
    otherwise={"field": "", "kind": "", "text": ""},
    about={"field": "The path of the field; empty for the plan as a whole."},
    keeps_empty=True,
)
REVERSE: Final = form_of(
    ReversePlan,
    otherwise={"hash": ""},
    about={
        "plan": "The text of its bridge file; absent if it was derived without rules.",
        "problems": "Absent if the reverse plan can be used.",
        "lossy": "Fields from which the value cannot be restored.",
    },
)
LIMITS: Final = form_of(
    BridgeLimits,
    about={
        "max_lag": "The largest number of offsets that are still to be converted.",
        "max_dead_letter_rate": "The largest share, from 0 to 1.",
        "max_progress_age_s": "In seconds.",
        "max_verification_age_s": "In seconds.",
        "max_readers_age_s": "In seconds.",
    },
)
GATE: Final = form_of(Gate, types={"figures": _FIGURES}, otherwise={"reason": ""})
_GATES: Final = list_of(GATE)
TRANSITION: Final = form_of(
    Transition,
    keys={"source": "from", "target": "to"},
    types={"forced": replace(FLAG, write=lambda forced: forced or None)},
    about={
        "ts": _TS,
        "forced": "Absent if false.",
        "unmet": "The gates that were not met.",
    },
)
TRANSITIONS: Final = list_of(TRANSITION)
POSSIBLE_TRANSITION: Final = form_of(PossibleTransition, keys={"state": "to"})
BRIDGE: Final = form_of(
    Bridge,
    "name",
    "state",
    "source",
    "target",
    "direction",
    "plan",
    "plan_hash",
    "lossy",
    "dropped",
    "reverse",
    "limits",
    "owner",
    "description",
    "create_ts",
    "update_ts",
    "history",
    otherwise={"limits": REQUIRED, "create_ts": REQUIRED, "update_ts": REQUIRED},
    about={
        "plan": "The text of the bridge file.",
        "lossy": "Fields of the target from which the value cannot be restored.",
        "dropped": "Fields of the source that are left out.",
        "reverse": "The plan that converts back.",
        "create_ts": _TS,
        "update_ts": _TS,
        "history": "The latest transitions.",
    },
)
NEW_BRIDGE: Final = form_of(
    NewBridge,
    keys={"registers_source": "registerSource"},
    types={"source_schema": object_of(SCHEMA)},
    keeps_empty=True,
)

_PARTITIONS: Final = list_of(
    ObjectForm(
        PartitionProgress,
        tuple(Member(name, name, INTEGER, otherwise=REQUIRED) for name in ("partition", "position", "end")),
    )
)
RECEIVED_KEY: Final = "receivedTs"
"""The member of a report that the registry adds."""
PROGRESS: Final = form_of(
    Progress,
    "job",
    "epoch",
    "plan_hash",
    "ts",
    "partitions",
    "converted",
    "tombstones",
    "dead_letters",
    "rate_per_s",
    "received_ts",
    keys={"received_ts": RECEIVED_KEY},
    types={"partitions": _PARTITIONS, "dead_letters": COUNTS},
    about={
        "ts": _TS,
        "dead_letters": "Counts by code.",
        "received_ts": _TS,
    },
    keeps_empty=True,
)
BRIDGE_VERIFICATION: Final = form_of(
    BridgeVerification,
    keys={"received_ts": RECEIVED_KEY},
    types={"faults": COUNTS},
    about={
        "faults": "Counts by kind.",
        "ts": _TS,
        "received_ts": _TS,
    },
    keeps_empty=True,
)
READERS: Final = form_of(
    Readers,
    keys={"received_ts": RECEIVED_KEY},
    about={
        "ts": _TS,
        "received_ts": _TS,
    },
    keeps_empty=True,
)
REPORTS: Final = form_of(BridgeReports)
STATUS: Final = form_of(
    BridgeStatus,
    otherwise={"is_stale": REQUIRED},
    about={"is_stale": "Whether no recent report of progress is there."},
    keeps_empty=True,
)
