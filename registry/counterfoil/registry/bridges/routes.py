"""The routes under ``/bridges/v1``, their endpoints, and the bodies of requests."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from counterfoil.registry.access.resources import AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.bridges.records import BridgeRequest, TransitionRequest
from counterfoil.registry.bridges.use_cases import BridgeFilter
from counterfoil.registry.http.access import FOUND, FROM_BODY, CallerOfRequest, CasesOfRequest, on, the
from counterfoil.registry.http.request import decode_segment, expected
from counterfoil.registry.http.route import ValidatedRoute
from counterfoil.registry.subjects.documents import read_schema_request
from counterfoil.schema import errors
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.bridges import (
    BRIDGE,
    POSSIBLE_TRANSITION,
    STATUS,
    TRANSITION,
    BridgeDirection,
    BridgeLimits,
    BridgeState,
    BridgeVerification,
    PartitionProgress,
    Progress,
    Readers,
)
from counterfoil.schema.rest.object_forms import Document, ListOf

if TYPE_CHECKING:
    from counterfoil.registry.http.access import RequestCaller
    from counterfoil.schema.plans.bridge import BridgeFile


# The bodies of requests under ``/bridges/v1``, and the values that they stand for.

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
    source_schema: Document | None = Field(
        None, description="The schema of the source if it is not registered yet, as the body of a registration."
    )
    target_version: Version | None = Field(None, description="Default: the version in the bridge file, or the latest.")
    direction: BridgeDirection | None = Field(None, description="Default: new-to-old.")
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

    def report(self) -> BridgeVerification:
        """Return the report."""
        return BridgeVerification(**self.model_dump())


class ReadersToReportBody(_Body):
    """The programs that still depend on the old schema."""

    readers: Annotated[tuple[Name, ...], Field(max_length=_MAX_READERS)]
    by: Annotated[str, Field(max_length=200)] = ""
    ts: Count = 0

    def report(self) -> Readers:
        """Return the report."""
        return Readers(**self.model_dump())


# The endpoints under ``/bridges/v1``.

_STATES = ", ".join(BridgeState)
_MAX_PAGE = 1000


async def _name(name: Annotated[str, Path()]) -> str:
    return decode_segment(name)


BridgeName = Annotated[str, Depends(_name)]
DryRun = Annotated[bool, Query(alias="dryRun", description="Only check the request.")]
State = Annotated[
    BridgeState | SkipJsonSchema[None], Query(description="Only bridges in this state."), expected(f"one of {_STATES}")
]
Subject = Annotated[
    str | SkipJsonSchema[None], Query(description="Only bridges with this subject on one of their sides.")
]
Offset = Annotated[int, Query(ge=0, description="How many bridges to leave out.")]
Limit = Annotated[int, Query(ge=1, le=_MAX_PAGE, description="The largest number of bridges.")]


async def list_bridges(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    *,
    state: State = None,
    subject: Subject = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> object:
    """List bridges with the latest reports about them."""
    wanted = BridgeFilter(state, None if subject is None else parse_subject(subject))
    caller.filters()
    found = [
        each
        for each in await cases.bridges.listed(wanted)
        if caller.may(AccessOperation.READ, AccessResource(ResourceKind.BRIDGE, each.bridge.name))
    ]
    return [STATUS.write(each) for each in found[offset : offset + limit]]


async def register_bridge(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    body: BridgeToRegisterBody,
    dry_run: DryRun = False,  # noqa: FBT002 - FastAPI passes it by name
) -> object:
    """Register a bridge, and the schema of its source if requested; the plan must be complete."""
    request = body.request(registers=body.register_source)
    return BRIDGE.write(
        await cases.bridges.create(request, dry_run=dry_run, permit=partial(_permit, caller), by=caller.requester)
    )


def _permit(caller: RequestCaller, file: BridgeFile, request: BridgeRequest) -> None:
    """Raise ``Forbidden`` unless the caller may write the bridge, read its sources and write its targets."""
    caller.require(AccessOperation.WRITE, AccessResource(ResourceKind.BRIDGE, file.name))
    source = parse_subject(file.source_subject)
    caller.require_on(AccessOperation.WRITE if request.registers else AccessOperation.READ, source)
    if request.schema is not None:
        caller.require_registration(source, request.schema)
    caller.require_on(AccessOperation.WRITE, parse_subject(file.target_subject))
    if file.keys is not None:
        caller.require_on(AccessOperation.READ, parse_subject(file.keys.source_subject))
        caller.require_on(AccessOperation.WRITE, parse_subject(file.keys.target_subject))


async def get_bridge(cases: CasesOfRequest, name: BridgeName) -> object:
    """Return a bridge with the latest reports about it."""
    return STATUS.write(await cases.bridges.status(name))


async def change_bridge(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    name: BridgeName,
    body: BridgeChangeBody,
    dry_run: DryRun = False,  # noqa: FBT002 - FastAPI passes it by name
) -> object:
    """Change a bridge; its plan only while nothing relies on it."""
    caller.filters()
    changed = await cases.bridges.change(
        name, body.request(), dry_run=dry_run, permit=partial(_permit, caller), by=caller.requester
    )
    return BRIDGE.write(changed)


async def delete_bridge(cases: CasesOfRequest, caller: CallerOfRequest, name: BridgeName) -> None:
    """Delete a bridge that does not run, and the reports about it."""
    await cases.bridges.delete(name, by=caller.requester)


async def list_possible_transitions(cases: CasesOfRequest, name: BridgeName) -> object:
    """List the states that a bridge can change to, with the gates as they are now."""
    return [POSSIBLE_TRANSITION.write(each) for each in await cases.bridges.possible_transitions(name)]


async def list_transitions(cases: CasesOfRequest, name: BridgeName) -> object:
    """List the latest transitions of a bridge, the oldest first."""
    return [TRANSITION.write(each) for each in (await cases.bridges.status(name)).bridge.history]


async def change_state(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    name: BridgeName,
    body: TransitionBody,
    dry_run: DryRun = False,  # noqa: FBT002 - FastAPI passes it by name
) -> object:
    """Change the state of a bridge, if the gates are met."""
    return BRIDGE.write(await cases.bridges.transit(name, body.request(), dry_run=dry_run, by=caller.requester))


async def report_progress(
    cases: CasesOfRequest, caller: CallerOfRequest, name: BridgeName, body: ProgressToReportBody
) -> None:
    """Report the progress of the job; the latest report is kept."""
    await cases.bridges.report_progress(name, body.report(), by=caller.requester)


async def report_verification(
    cases: CasesOfRequest, caller: CallerOfRequest, name: BridgeName, body: VerificationToReportBody
) -> None:
    """Report the result of a verification; the latest report is kept."""
    await cases.bridges.report_verification(name, body.report(), by=caller.requester)


async def report_readers(
    cases: CasesOfRequest, caller: CallerOfRequest, name: BridgeName, body: ReadersToReportBody
) -> None:
    """Report which programs still depend on the old schema; the latest report is kept."""
    await cases.bridges.report_readers(name, body.report(), by=caller.requester)


# The routes under ``/bridges/v1``.

_route = partial(ValidatedRoute, tag="bridges")
_ALL: Final = "/bridges/v1"
_ONE: Final = f"{_ALL}/{{name}}"

_bridge = the(ResourceKind.BRIDGE, "name")
_READ: Final = on(AccessOperation.READ, _bridge)
_WRITE: Final = on(AccessOperation.WRITE, _bridge)

_FOUND: Final = (errors.BridgeNotFound,)
_DEFINED: Final = (
    errors.SubjectNotFound,
    errors.VersionNotFound,
    errors.IncompatibleSchema,
    errors.InvalidSchema,
    errors.InvalidSubject,
    errors.InvalidRuleSet,
    errors.InvalidBridge,
    errors.OperationNotPermitted,
)
_CHANGED: Final = (*_FOUND, errors.OperationNotPermitted)

BRIDGE_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", _ALL, list_bridges, access=FOUND, result=ListOf(STATUS), errors=()),
    _route("POST", _ALL, register_bridge, access=FROM_BODY, result=BRIDGE, errors=(errors.BridgeExists, *_DEFINED)),
    _route("GET", _ONE, get_bridge, access=_READ, result=STATUS, errors=_FOUND),
    _route(
        "PUT",
        _ONE,
        change_bridge,
        access=_WRITE & FROM_BODY,
        result=BRIDGE,
        errors=(*_FOUND, errors.BridgeInUse, *_DEFINED),
    ),
    _route(
        "DELETE",
        _ONE,
        delete_bridge,
        access=on(AccessOperation.DELETE, _bridge),
        errors=(*_CHANGED, errors.BridgeInUse),
    ),
    _route(
        "GET",
        f"{_ONE}/gates",
        list_possible_transitions,
        access=_READ,
        result=ListOf(POSSIBLE_TRANSITION),
        errors=_FOUND,
    ),
    _route("GET", f"{_ONE}/transitions", list_transitions, access=_READ, result=ListOf(TRANSITION), errors=_FOUND),
    _route(
        "POST",
        f"{_ONE}/transitions",
        change_state,
        access=_WRITE,
        result=BRIDGE,
        errors=(*_CHANGED, errors.InvalidBridge, errors.TransitionRefused),
    ),
    _route("POST", f"{_ONE}/progress", report_progress, access=_WRITE, errors=(*_FOUND, errors.ReporterReplaced)),
    _route("POST", f"{_ONE}/verification", report_verification, access=_WRITE, errors=_FOUND),
    _route("POST", f"{_ONE}/readers", report_readers, access=_WRITE, errors=_FOUND),
)
