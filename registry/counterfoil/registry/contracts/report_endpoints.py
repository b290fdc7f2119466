"""The endpoints of approvals, verifications, migrations and observed use."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Final

from fastapi import Depends, Path
from pydantic import BeforeValidator, Field

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.contracts.verdict_endpoints import (
    ApprovalId,
    ContractsBody,
    Count,
    Filter,
    Name,
    ReportBody,
    Text,
    VerificationId,
    may_on_subjects,
    require_contract,
    require_known,
    require_on_subjects,
    segment,
)
from counterfoil.registry.contracts.visibility import (
    application_resource,
    bridge_resource,
    environment_resource,
    may_know_environment,
    may_see,
    shown_consumers,
)
from counterfoil.registry.http.access import FOUND, FROM_BODY, CallerOfRequest, CasesOfRequest, RequestCaller
from counterfoil.registry.http.request import expected
from counterfoil.registry.http.route import ValidatedRoute
from counterfoil.schema import errors
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.paths import InvalidPath, parse_path
from counterfoil.schema.rest.object_forms import ListOf
from counterfoil.schema.rest.observations import (
    OBSERVED_USE,
    USAGE_RECEIPT,
    VERIFICATION,
    WHOLE_RECORD,
    CheckOutcome,
    CheckResult,
    NewVerification,
    OffsetRange,
    RecordSample,
    UsageBatch,
    UsageOrigin,
    UsageRead,
)
from counterfoil.schema.rest.verdicts import (
    APPROVAL,
    APPROVALS,
    MIGRATION,
    MIGRATION_STATUS,
    ContractMigration,
    MigrationStatus,
    NewApproval,
)

# The endpoints of approvals.

_MAX_FINGERPRINTS = 200

Fingerprint = Annotated[
    str,
    Field(pattern="^[0-9a-f]{12}$", description="Twelve hexadecimal digits."),
    expected("twelve hexadecimal digits, as a verdict and counterfoil check print them"),
]


class ApprovalBody(ContractsBody):
    """Findings to approve until the end of a day."""

    fingerprints: Annotated[tuple[Fingerprint, ...], Field(min_length=1, max_length=_MAX_FINGERPRINTS)]
    owner: Name = Field(description="Who answers for them.")
    reason: Annotated[str, Field(min_length=1, max_length=2000)]
    until: Text = Field(description="The last day, YYYY-MM-DD in UTC, by the clock of the registry.")
    migration: Text = Field("", description="The converter that goes with the change.")
    by: Text = Field("", description="Who recorded the approval.")

    def approval(self) -> NewApproval:
        """Return the approval."""
        return NewApproval(self.fingerprints, self.owner, self.reason, self.until, self.migration, self.by)


async def list_approvals(cases: CasesOfRequest, fingerprint: Filter = None) -> object:
    """List approvals, with the day by which it was decided which of them have expired."""
    return APPROVALS.write(await cases.contracts.approvals.all(fingerprint))


async def add_approval(cases: CasesOfRequest, caller: CallerOfRequest, body: ApprovalBody) -> object:
    """Approve findings until the end of a day; an equal approval is stored once."""
    return APPROVAL.write(await cases.contracts.approvals.add(body.approval(), by=caller.requester))


async def get_approval(cases: CasesOfRequest, approval: ApprovalId) -> object:
    """Return an approval."""
    return APPROVAL.write(await cases.contracts.approvals.get(approval))


async def revoke_approval(cases: CasesOfRequest, caller: CallerOfRequest, approval: ApprovalId) -> None:
    """Delete an approval: its findings count again."""
    await cases.contracts.approvals.revoke(approval, by=caller.requester)


# The endpoints of verifications.

_MAX_RESULTS = 1000
_MAX_PARTITIONS = 10_000
_MAX_SCHEMA_IDS = 10_000

Number = Annotated[int, Field(ge=0, le=2**53)]


class OffsetRangeBody(ContractsBody):
    """The offsets of a partition that were read."""

    partition: Number
    first: Number = Field(description="The first offset that was read.")
    end: Number = Field(description="The offset after the last one that was read.")


class RecordSampleBody(ContractsBody):
    """Which records were read."""

    topic: Text = ""
    records: Number = 0
    strategy: Text = ""
    seed: Annotated[int, Field(ge=-(2**53), le=2**53)] | None = None
    offsets: Annotated[tuple[OffsetRangeBody, ...], Field(max_length=_MAX_PARTITIONS)] = ()

    def sample(self) -> RecordSample:
        """Return the sample."""
        offsets = tuple(OffsetRange(each.partition, each.first, each.end) for each in self.offsets)
        return RecordSample(self.topic, self.records, self.strategy, self.seed, offsets)


class CheckResultBody(ContractsBody):
    """The result of one check."""

    check: Name
    outcome: CheckOutcome
    records: Number = 0
    failed: Number = 0
    text: Text = Field("", description="A sentence for people, without values of records.")

    def result(self) -> CheckResult:
        """Return the result."""
        return CheckResult(self.check, self.outcome, self.records, self.failed, self.text)


class VerificationBody(ContractsBody):
    """The result of verifying a published contract by records of an environment."""

    contract: Name
    contract_version: Name
    environment: Name
    sample: RecordSampleBody = RecordSampleBody()
    results: Annotated[tuple[CheckResultBody, ...], Field(min_length=1, max_length=_MAX_RESULTS)]
    schema_ids: Annotated[tuple[Number, ...], Field(max_length=_MAX_SCHEMA_IDS)] = ()
    hash: Text = Field("", description="The hash of the published contract, to be compared.")
    build_url: Text = ""
    read_ts: Number | None = Field(None, description="When the records were read, in epoch milliseconds. Default: now.")

    def verification(self) -> NewVerification:
        """Return the verification."""
        return NewVerification(
            self.contract,
            self.contract_version,
            self.environment,
            self.sample.sample(),
            tuple(each.result() for each in self.results),
            self.schema_ids,
            self.hash,
            self.build_url,
            self.read_ts,
        )


async def list_verifications(
    cases: CasesOfRequest, caller: CallerOfRequest, contract: Filter = None, environment: Filter = None
) -> object:
    """List the latest verification of each contract's content, by environment and topic."""
    caller.filters()
    found = await cases.contracts.verifications.all(contract, environment)
    seen = {
        each: await may_see(cases.contracts.library, caller, AccessOperation.READ, each)
        for each in {one.contract for one in found}
    }
    return [
        VERIFICATION.write(each)
        for each in found
        if seen[each.contract] and may_know_environment(caller, each.environment)
    ]


async def add_verification(cases: CasesOfRequest, caller: CallerOfRequest, body: VerificationBody) -> object:
    """Store a verification, instead of that of records that were read before."""
    await require_contract(cases, caller, AccessOperation.WRITE, body.contract)
    require_known(caller, environment_resource(body.environment))
    return VERIFICATION.write(await cases.contracts.verifications.add(body.verification(), by=caller.requester))


async def get_verification(cases: CasesOfRequest, caller: CallerOfRequest, verification: VerificationId) -> object:
    """Return a verification."""
    caller.filters()
    found = await cases.contracts.verifications.get(verification)
    absent = cases.contracts.verifications.no_verification(verification)
    if not await may_see(cases.contracts.library, caller, AccessOperation.READ, found.contract):
        raise caller.unknown(absent)
    caller.require_found(AccessOperation.DESCRIBE, environment_resource(found.environment), absent=absent)
    return VERIFICATION.write(found)


# The migrations of contracts under ``/contracts/v1/migrations``: the body, the endpoints and their routes.

_MIGRATIONS: Final = "/contracts/v1/migrations"
_MIGRATION: Final = f"{_MIGRATIONS}/{{migration}}"
_NO_MIGRATION: Final = (errors.MigrationNotFound,)


class MigrationToPutBody(ContractsBody):
    """An intended break of a contract."""

    contract: Name
    source: Name = Field(alias="from", description="The old major version, such as 1.")
    target: Name = Field(alias="to", description="The new major version, such as 2.")
    bridge: Name = Field(description="The name of the bridge that converts the records, under /bridges/v1.")
    application: Name = Field(description="The application that runs the bridge; it is deployed like any other.")
    sunset: Annotated[str, Field(max_length=10)] = Field(
        "", description="The last day of the migration, in UTC, such as 2027-03-31; empty for no end."
    )

    def migration(self, migration_id: str) -> ContractMigration:
        """Return the migration."""
        return ContractMigration(
            migration_id, self.contract, self.source, self.target, self.bridge, self.application, self.sunset
        )


async def _migration_id(migration: Annotated[str, Path()]) -> str:
    return segment(migration)


MigrationId = Annotated[str, Depends(_migration_id)]


async def list_migrations(cases: CasesOfRequest, caller: CallerOfRequest) -> object:
    """List migrations."""
    caller.filters()
    found = await cases.contracts.migrations.all()
    return [
        MIGRATION.write(each)
        for each in found
        if await may_on_subjects(cases, caller, AccessOperation.READ, each.contract)
    ]


async def get_migration(cases: CasesOfRequest, caller: CallerOfRequest, migration: MigrationId) -> object:
    """Return a migration."""
    caller.filters()
    found = await cases.contracts.migrations.get(migration)
    await require_on_subjects(cases, caller, AccessOperation.READ, found.contract)
    return MIGRATION.write(found)


async def put_migration(
    cases: CasesOfRequest, caller: CallerOfRequest, migration: MigrationId, body: MigrationToPutBody
) -> object:
    """Store a migration; the new major version of its contract must have been published."""
    await require_on_subjects(cases, caller, AccessOperation.ALTER_CONFIGS, body.contract)
    return MIGRATION.write(await cases.contracts.migrations.put(body.migration(migration), by=caller.requester))


async def get_migration_status(cases: CasesOfRequest, caller: CallerOfRequest, migration: MigrationId) -> object:
    """Return how a migration stands: its bridge, where its converter is live, who still reads the old version."""
    caller.filters()
    found = await cases.contracts.migration_statuses.status(migration)
    await require_on_subjects(cases, caller, AccessOperation.READ, found.contract)
    return MIGRATION_STATUS.write(_shown(caller, found))


def _shown(caller: RequestCaller, status: MigrationStatus) -> MigrationStatus:
    """Return a status with the applications, environments and facts of the bridge that the caller may know."""
    environments = (
        tuple(name for name in status.environments if may_know_environment(caller, name))
        if caller.may_know_application(status.application)
        else ()
    )
    shown = replace(status, consumers=shown_consumers(caller, status.consumers), environments=environments)
    if caller.may(AccessOperation.READ, bridge_resource(status.bridge)):
        return shown
    return replace(
        shown,
        state=None,
        direction=None,
        source_subject="",
        target_subject="",
        lag=None,
        is_verified=False,
        gates=(),
        hindrances=(f"{caller.name} may not read the bridge, so that it is not shown what is missing",),
    )


_route = partial(ValidatedRoute, tag="contracts")

MIGRATION_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    _route("GET", _MIGRATIONS, list_migrations, access=FOUND, result=ListOf(MIGRATION), errors=()),
    _route("GET", _MIGRATION, get_migration, access=FOUND, result=MIGRATION, errors=_NO_MIGRATION),
    _route(
        "PUT",
        _MIGRATION,
        put_migration,
        access=FROM_BODY,
        result=MIGRATION,
        errors=(errors.ContractNotFound, errors.InvalidContract, errors.OperationNotPermitted),
    ),
    _route(
        "GET", f"{_MIGRATION}/status", get_migration_status, access=FOUND, result=MIGRATION_STATUS, errors=_NO_MIGRATION
    ),
)


# ``/contracts/v1/usage``: what was observed of readers.

_MAX_READS: Final = 1000
_MAX_PATHS: Final = 2000

FieldPathText = Annotated[str, Field(max_length=500)]
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
    paths: Annotated[dict[FieldPathText, Count], Field(max_length=_MAX_PATHS)] = Field(
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


async def post_usage(cases: CasesOfRequest, caller: CallerOfRequest, body: UsageBatchBody) -> object:
    """Store a batch of observed reads: counts, ids and names of fields, never values."""
    caller.require(AccessOperation.WRITE, application_resource(body.application))
    batch = body.batch()
    for read in batch.reads:
        if read.subject:
            caller.require_on(AccessOperation.READ, parse_subject(read.subject))
    return USAGE_RECEIPT.write(await cases.contracts.usage.post(batch, shows=caller.readable, by=caller.requester))


async def list_usage(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    subject: Filter = None,
    application: Filter = None,
    environment: Filter = None,
) -> object:
    """List what was observed: of a subject, of an application, in an environment, or all."""
    of = None if subject is None else parse_subject(subject)
    found = await cases.contracts.usage.uses(of, application=application, environment=environment)
    caller.filters()
    return [
        OBSERVED_USE.write(each)
        for each in found
        if caller.may(AccessOperation.READ, application_resource(each.application))
        and caller.may_describe(parse_subject(each.subject))
        and may_know_environment(caller, each.environment)
    ]


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
