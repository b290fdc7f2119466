"""The endpoints of verifications."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from counterfoil.registry.api.contracts import visible
from counterfoil.registry.api.contracts.models import ContractsBody, Name, Text
from counterfoil.registry.api.contracts.parameters import Filter, VerificationId
from counterfoil.registry.api.routes.services import CallOfRequest, CasesOfRequest
from counterfoil.registry.domain.access.operations import Operation
from counterfoil.schema.rest.verifications import (
    VERIFICATION,
    CheckResult,
    NewVerification,
    OffsetRange,
    Outcome,
    RecordSample,
)

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
    outcome: Outcome
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
    cases: CasesOfRequest, call: CallOfRequest, contract: Filter = None, environment: Filter = None
) -> Any:
    """List the latest verification of each contract's content, by environment and topic."""
    call.asks()
    found = await cases.contracts.verifications.all(contract, environment)
    seen = {each: await visible.may_see(cases, call, Operation.READ, each) for each in {one.contract for one in found}}
    return [
        VERIFICATION.write(each)
        for each in found
        if seen[each.contract] and visible.may_know_environment(call, each.environment)
    ]


async def add_verification(cases: CasesOfRequest, call: CallOfRequest, body: VerificationBody) -> Any:
    """Store a verification, instead of that of records that were read before."""
    await visible.require_contract(cases, call, Operation.WRITE, body.contract)
    visible.require_known(call, visible.environment(body.environment))
    return VERIFICATION.write(await cases.contracts.verifications.add(body.verification()))


async def get_verification(cases: CasesOfRequest, call: CallOfRequest, verification: VerificationId) -> Any:
    """Return a verification."""
    call.asks()
    found = await cases.contracts.verifications.get(verification)
    absent = cases.contracts.verifications.no_verification(verification)
    if not await visible.may_see(cases, call, Operation.READ, found.contract):
        raise call.unknown(absent)
    call.require_found(Operation.DESCRIBE, visible.environment(found.environment), absent=absent)
    return VERIFICATION.write(found)
