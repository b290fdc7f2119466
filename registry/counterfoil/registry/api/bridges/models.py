"""The bodies of requests under ``/bridges/v1``, and the values that they stand for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from counterfoil.registry.api.documents import read_schema_request
from counterfoil.registry.domain.bridges.transitions import TransitionRequest
from counterfoil.registry.service.bridges.requests import BridgeRequest
from counterfoil.schema.rest.bridges import (
    BridgeLimits,
    BridgeState,
    Direction,
    PartitionProgress,
    Progress,
    Readers,
    Verification,
)

_MAX_PLAN_CHARS = 1_000_000
_MAX_PARTITIONS = 10_000
_MAX_KINDS = 100
_MAX_READERS = 1000
_MAX_NUMBER = 2**63 - 1
_DEFAULTS = BridgeLimits()

Count = Annotated[int, Field(ge=0, le=_MAX_NUMBER)]
Seconds = Annotated[int, Field(ge=1, le=10**9)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=10_000)]
Counts = Annotated[dict[Name, Count], Field(max_length=_MAX_KINDS)]
Version = Annotated[int, Field(ge=1, le=2**31 - 1)]


class _Body(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class LimitsBody(_Body):
    """The limits of the gates."""

    max_lag: Count = _DEFAULTS.max_lag
    max_dead_letter_rate: float = Field(_DEFAULTS.max_dead_letter_rate, ge=0, le=1)
    max_progress_age_s: Seconds = _DEFAULTS.max_progress_age_s
    max_verification_age_s: Seconds = _DEFAULTS.max_verification_age_s
    max_readers_age_s: Seconds = _DEFAULTS.max_readers_age_s


class BridgeChangeBody(_Body):
    """Changes to a bridge; what is absent stays as it is."""

    plan: str | None = Field(None, max_length=_MAX_PLAN_CHARS, description="The text of the bridge file.")
    reverse_plan: str | None = Field(
        None,
        max_length=_MAX_PLAN_CHARS,
        description="The text of a bridge file that converts back, for a roll-back. Default: derived without rules.",
    )
    source_version: Version | None = Field(None, description="The version of the source. Default: the latest.")
    source_schema: dict[str, Any] | None = Field(
        None, description="The schema of the source if it is not registered yet, as the body of a registration."
    )
    target_version: Version | None = Field(None, description="Default: the version in the bridge file, or the latest.")
    direction: Direction | None = Field(None, description="Default: new-to-old.")
    owner: Name | None = Field(None, description="The team or person to ask.")
    description: Text | None = None
    limits: LimitsBody | None = Field(None, description="All limits; one that is absent has its default.")

    def request(self, *, registers: bool = False) -> BridgeRequest:
        """Return the request; ``registers``: the schema of the source is registered together with the bridge."""
        return BridgeRequest(
            plan=self.plan,
            reverse_plan=self.reverse_plan,
            schema=None if self.source_schema is None else read_schema_request(self.source_schema),
            source_version=self.source_version,
            target_version=self.target_version,
            registers=registers,
            direction=self.direction,
            owner=self.owner,
            description=self.description,
            limits=None if self.limits is None else BridgeLimits(**self.limits.model_dump()),
        )


class BridgeToRegisterBody(BridgeChangeBody):
    """A bridge to register. The bridge file names the bridge, the topics and the subjects."""

    plan: str = Field(max_length=_MAX_PLAN_CHARS, description="The text of the bridge file.")
    owner: Name = Field(description="The team or person to ask.")
    register_source: bool = Field(
        default=False, description="Register `sourceSchema` together with the bridge, both or neither."
    )


class TransitionBody(_Body):
    """A change of the state of a bridge."""

    to: BridgeState
    by: Name = Field(description="The person or program that requests it.")
    reason: Text = ""
    force: bool = Field(default=False, description="Change the state although gates are not met; needs a reason.")
    expected: BridgeState | None = Field(None, alias="from", description="Refuse the request in any other state.")

    def request(self) -> TransitionRequest:
        """Return the request."""
        return TransitionRequest(self.to, self.by, self.reason, force=self.force, expected=self.expected)


class PartitionProgressToReportBody(_Body):
    """The progress in one partition of the source."""

    partition: Count
    position: Count = Field(description="The next offset to convert.")
    end: Count = Field(description="The offset after the last record.")


class ProgressToReportBody(_Body):
    """The progress of the job, since its start."""

    job: Name
    epoch: Count = Field(
        description="The number of the job's start; a lower one than that of the last report is refused."
    )
    plan_hash: Name
    ts: Count = 0
    partitions: Annotated[tuple[PartitionProgressToReportBody, ...], Field(max_length=_MAX_PARTITIONS)]
    converted: Count = 0
    tombstones: Count = 0
    dead_letters: Counts = Field(default_factory=dict, description="Counts by code.")
    rate_per_s: float | None = Field(None, ge=0, allow_inf_nan=False)

    def report(self) -> Progress:
        """Return the report."""
        fields = self.model_dump(exclude={"partitions"})
        return Progress(
            partitions=tuple(PartitionProgress(each.partition, each.position, each.end) for each in self.partitions),
            **fields,
        )


class VerificationToReportBody(_Body):
    """The result of a verification of the target."""

    plan_hash: Name
    records: Count = Field(description="How many records of the source were verified.")
    faults: Counts = Field(default_factory=dict, description="Counts by kind, such as missing or repeated records.")
    dead_letters: Count = 0
    job: Annotated[str, Field(max_length=200)] = ""
    ts: Count = 0

    def report(self) -> Verification:
        """Return the report."""
        return Verification(**self.model_dump())


class ReadersToReportBody(_Body):
    """The programs that still depend on the old schema."""

    readers: Annotated[tuple[Name, ...], Field(max_length=_MAX_READERS)]
    by: Annotated[str, Field(max_length=200)] = ""
    ts: Count = 0

    def report(self) -> Readers:
        """Return the report."""
        return Readers(**self.model_dump())
