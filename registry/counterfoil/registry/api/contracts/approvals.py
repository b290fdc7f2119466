"""The endpoints of approvals."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from counterfoil.registry.api.contracts.models import ContractsBody, Name, Text
from counterfoil.registry.api.contracts.parameters import ApprovalId, Filter
from counterfoil.registry.api.http.validation import expected
from counterfoil.registry.api.routes.services import CasesOfRequest
from counterfoil.schema.rest.approvals import APPROVAL, APPROVALS, NewApproval

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


async def list_approvals(cases: CasesOfRequest, fingerprint: Filter = None) -> Any:
    """List approvals, with the day by which it was decided which of them have expired."""
    return APPROVALS.write(await cases.contracts.approvals.all(fingerprint))


async def add_approval(cases: CasesOfRequest, body: ApprovalBody) -> Any:
    """Approve findings until the end of a day; an equal approval is stored once."""
    return APPROVAL.write(await cases.contracts.approvals.add(body.approval()))


async def get_approval(cases: CasesOfRequest, approval: ApprovalId) -> Any:
    """Return an approval."""
    return APPROVAL.write(await cases.contracts.approvals.get(approval))


async def revoke_approval(cases: CasesOfRequest, approval: ApprovalId) -> None:
    """Delete an approval: its findings count again."""
    await cases.contracts.approvals.revoke(approval)
