"""The endpoints under ``/bridges/v1``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Path, Query
from pydantic.json_schema import SkipJsonSchema

from counterfoil.registry.api.bridges.models import (
    BridgeChangeBody,
    BridgeToRegisterBody,
    ProgressToReportBody,
    ReadersToReportBody,
    TransitionBody,
    VerificationToReportBody,
)
from counterfoil.registry.api.http.paths import decode_segment
from counterfoil.registry.api.http.validation import expected
from counterfoil.registry.api.routes.services import CallOfRequest, CasesOfRequest
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.resources import Kind, Resource
from counterfoil.registry.service.bridges.use_cases import BridgeFilter
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.bridges import (
    BRIDGE,
    POSSIBLE_TRANSITION,
    STATUS,
    TRANSITION,
    BridgeState,
)

if TYPE_CHECKING:
    from counterfoil.registry.api.call import Call
    from counterfoil.registry.service.bridges.requests import BridgeRequest
    from counterfoil.schema.bridges.model import BridgeFile

_STATES = ", ".join(BridgeState)
_MAX_PAGE = 1000


def _name(name: Annotated[str, Path()]) -> str:
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
    call: CallOfRequest,
    *,
    state: State = None,
    subject: Subject = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Any:
    """List bridges with the latest reports about them."""
    wanted = BridgeFilter(state, None if subject is None else parse_subject(subject))
    call.asks()
    found = [
        each
        for each in await cases.bridges.listed(wanted)
        if call.may(Operation.READ, Resource(Kind.BRIDGE, each.bridge.name))
    ]
    return [STATUS.write(each) for each in found[offset : offset + limit]]


async def register_bridge(
    cases: CasesOfRequest,
    call: CallOfRequest,
    body: BridgeToRegisterBody,
    dry_run: DryRun = False,  # noqa: FBT002 - FastAPI passes it by name
) -> Any:
    """Register a bridge, and the schema of its source if requested; the plan must be complete."""
    request = body.request(registers=body.register_source)
    return BRIDGE.write(await cases.bridges.create(request, dry_run=dry_run, permit=partial(_permit, call)))


def _permit(call: Call, file: BridgeFile, request: BridgeRequest) -> None:
    """Raise ``Forbidden`` unless the caller may write the bridge, read its sources and write its targets."""
    call.require(Operation.WRITE, Resource(Kind.BRIDGE, file.name))
    source = parse_subject(file.source_subject)
    call.require_on(Operation.WRITE if request.registers else Operation.READ, source)
    if request.schema is not None:
        call.require_registration(source, request.schema)
    call.require_on(Operation.WRITE, parse_subject(file.target_subject))
    if file.keys is not None:
        call.require_on(Operation.READ, parse_subject(file.keys.source_subject))
        call.require_on(Operation.WRITE, parse_subject(file.keys.target_subject))


async def get_bridge(cases: CasesOfRequest, name: BridgeName) -> Any:
    """Return a bridge with the latest reports about it."""
    return STATUS.write(await cases.bridges.status(name))


async def change_bridge(
    cases: CasesOfRequest,
    call: CallOfRequest,
    name: BridgeName,
    body: BridgeChangeBody,
    dry_run: DryRun = False,  # noqa: FBT002 - FastAPI passes it by name
) -> Any:
    """Change a bridge; its plan only while nothing relies on it."""
    call.asks()
    changed = await cases.bridges.change(name, body.request(), dry_run=dry_run, permit=partial(_permit, call))
    return BRIDGE.write(changed)


async def delete_bridge(cases: CasesOfRequest, name: BridgeName) -> None:
    """Delete a bridge that does not run, and the reports about it."""
    await cases.bridges.delete(name)


async def list_possible_transitions(cases: CasesOfRequest, name: BridgeName) -> Any:
    """List the states that a bridge can change to, with the gates as they are now."""
    return [POSSIBLE_TRANSITION.write(each) for each in await cases.bridges.possible_transitions(name)]


async def list_transitions(cases: CasesOfRequest, name: BridgeName) -> Any:
    """List the latest transitions of a bridge, the oldest first."""
    return [TRANSITION.write(each) for each in (await cases.bridges.status(name)).bridge.history]


async def change_state(
    cases: CasesOfRequest,
    name: BridgeName,
    body: TransitionBody,
    dry_run: DryRun = False,  # noqa: FBT002 - FastAPI passes it by name
) -> Any:
    """Change the state of a bridge, if the gates are met."""
    return BRIDGE.write(await cases.bridges.transit(name, body.request(), dry_run=dry_run))


async def report_progress(cases: CasesOfRequest, name: BridgeName, body: ProgressToReportBody) -> None:
    """Report the progress of the job; the latest report is kept."""
    await cases.bridges.report_progress(name, body.report())


async def report_verification(cases: CasesOfRequest, name: BridgeName, body: VerificationToReportBody) -> None:
    """Report the result of a verification; the latest report is kept."""
    await cases.bridges.report_verification(name, body.report())


async def report_readers(cases: CasesOfRequest, name: BridgeName, body: ReadersToReportBody) -> None:
    """Report which programs still depend on the old schema; the latest report is kept."""
    await cases.bridges.report_readers(name, body.report())
