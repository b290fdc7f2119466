"""``/contracts/v1/usage``: what was observed of readers."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from counterfoil.registry.api.contracts import visible
from counterfoil.registry.api.contracts.models import Count, Name, ReportBody
from counterfoil.registry.api.contracts.parameters import Filter
from counterfoil.registry.api.routes.access import FOUND, FROM_BODY
from counterfoil.registry.api.routes.route import ValidatedRoute
from counterfoil.registry.api.routes.services import CallOfRequest, CasesOfRequest
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema import errors
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.paths import InvalidPath, parse_path
from counterfoil.schema.rest.object_forms import ListOf
from counterfoil.schema.rest.usage import (
    OBSERVED_USE,
    USAGE_RECEIPT,
    WHOLE_RECORD,
    UsageBatch,
    UsageOrigin,
    UsageRead,
)

_MAX_READS: Final = 1000
_MAX_PATHS: Final = 2000

Path = Annotated[str, Field(max_length=500)]
OptionalName = Annotated[str, BeforeValidator(lambda given: "" if given is None else given), Field(max_length=300)]


class UsageReadBody(ReportBody):
    """Reads of messages with one schema id, or of a subject."""

    schema_id: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None, description="Without one, the subject must be given."
    )
    subject: Annotated[str, Field(max_length=2000)] | None = Field(
        None, description="Default: every subject of the default context that has the schema id."
    )
    messages: Count = Field(0, description="How many messages were read.")
    sampled: Count = Field(0, description="How many of them were observed.")
    paths: Annotated[dict[Path, Count], Field(max_length=_MAX_PATHS)] = Field(
        default_factory=dict, description="In how many of the observed messages each path was read; * is all fields."
    )

    def read(self) -> UsageRead:
        """Return the reads; raise ``BadRequest`` for a path that is none."""
        for path in self.paths:
            _check_path(path)
        return UsageRead(self.schema_id or 0, self.subject or "", self.messages, self.sampled, self.paths)


class UsageBatchBody(ReportBody):
    """What one application has read, as the SDK's `Usage` reports it."""

    application: Name
    version: OptionalName = ""
    environment: OptionalName = Field("", description="Default: it counts in every environment.")
    origin: UsageOrigin = Field(UsageOrigin.OBSERVED, description="How it is known.")
    since: datetime | None = Field(None, alias="from", description="Default: now.")
    until: datetime | None = Field(None, alias="to", description="Default: now.")
    reads: Annotated[tuple[UsageReadBody, ...], Field(max_length=_MAX_READS)]

    def batch(self) -> UsageBatch:
        """Return the batch."""
        return UsageBatch(
            self.application,
            tuple(each.read() for each in self.reads),
            self.version,
            self.environment,
            self.origin,
            _epoch_ms(self.since),
            _epoch_ms(self.until),
        )


def _check_path(path: str) -> None:
    if path == WHOLE_RECORD:
        return
    try:
        parse_path(path)
    except InvalidPath as mistake:
        raise BadRequest(f"{path[:80]!r} is no path of a field: {mistake}") from None


def _epoch_ms(time: datetime | None) -> int:
    if time is None:
        return 0
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return max(0, int(aware.timestamp() * 1000))


async def post_usage(cases: CasesOfRequest, call: CallOfRequest, body: UsageBatchBody) -> Any:
    """Store a batch of observed reads: counts, ids and names of fields, never values."""
    call.require(Operation.WRITE, visible.application(body.application))
    batch = body.batch()
    for read in batch.reads:
        if read.subject:
            call.require_on(Operation.READ, parse_subject(read.subject))
    return USAGE_RECEIPT.write(await cases.contracts.usage.post(batch, shows=call.readable))


async def list_usage(
    cases: CasesOfRequest,
    call: CallOfRequest,
    subject: Filter = None,
    application: Filter = None,
    environment: Filter = None,
) -> Any:
    """List what was observed: of a subject, of an application, in an environment, or all."""
    of = None if subject is None else parse_subject(subject)
    found = await cases.contracts.usage.uses(of, application=application, environment=environment)
    call.asks()
    return [
        OBSERVED_USE.write(each)
        for each in found
        if call.may(Operation.READ, visible.application(each.application))
        and call.may_describe(parse_subject(each.subject))
        and visible.may_know_environment(call, each.environment)
    ]


_route = partial(ValidatedRoute, tag="contracts")
_PATH: Final = "/contracts/v1/usage"

USAGE_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route(
        "POST",
        _PATH,
        post_usage,
        access=FROM_BODY,
        result=USAGE_RECEIPT,
        errors=(errors.BadRequest, errors.InvalidSubject, errors.OperationNotPermitted),
    ),
    _route("GET", _PATH, list_usage, access=FOUND, result=ListOf(OBSERVED_USE), errors=()),
)
