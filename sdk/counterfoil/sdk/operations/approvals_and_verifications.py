"""Approvals and verifications, of this project's registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.rest.approvals import APPROVAL, APPROVALS, NEW_APPROVAL
from counterfoil.schema.rest.json_values import read_each
from counterfoil.schema.rest.verifications import NEW_VERIFICATION, VERIFICATION
from counterfoil.sdk.operations.contracts import CONTRACTS
from counterfoil.sdk.operations.operation import Operation
from counterfoil.sdk.operations.requests import action, json_body, url_path, url_query

if TYPE_CHECKING:
    from counterfoil.schema.rest.approvals import Approval, Approvals, NewApproval
    from counterfoil.schema.rest.verifications import NewVerification, Verification


def approvals(*, fingerprint: str | None = None) -> Operation[Approvals]:
    """``GET /contracts/v1/approvals``: all of them, or those of one finding."""
    query = url_query(fingerprint=fingerprint)
    return Operation("approvals", "GET", url_path(*CONTRACTS, "approvals"), APPROVALS.read, query)


def approve(new: NewApproval) -> Operation[Approval]:
    """``POST /contracts/v1/approvals``: repeatable, since an equal approval is found again."""
    body = json_body(NEW_APPROVAL.write(new))
    return Operation("approve", "POST", url_path(*CONTRACTS, "approvals"), APPROVAL.read, body=body)


def revoke_approval(approval_id: str) -> Operation[None]:
    """``DELETE /contracts/v1/approvals/{approval}``."""
    return action("revoke_approval", "DELETE", url_path(*CONTRACTS, "approvals", approval_id))


def verifications(
    *, contract: str | None = None, environment: str | None = None
) -> Operation[tuple[Verification, ...]]:
    """``GET /contracts/v1/verifications``: the latest ones, of all contracts and environments or of one."""
    path, query = url_path(*CONTRACTS, "verifications"), url_query(contract=contract, environment=environment)
    return Operation("verifications", "GET", path, read_each(VERIFICATION.read), query)


def publish_verification(new: NewVerification) -> Operation[Verification]:
    """``POST /contracts/v1/verifications``: repeatable, since an equal verification is found again."""
    path, body = url_path(*CONTRACTS, "verifications"), json_body(NEW_VERIFICATION.write(new))
    return Operation("publish_verification", "POST", path, VERIFICATION.read, body=body)
