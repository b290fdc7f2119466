"""The approvals of a registry on the command line: adding, listing and revoking them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.contracts.reports.text import printable
from counterfoil.schema.errors import InvalidApproval
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.rest.approvals import NewApproval
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from collections.abc import Collection

    from counterfoil.schema.rest.approvals import Approval
    from counterfoil.sdk.client import Registry


class RegisteredApprovals:
    """The approvals of the registry of ``client``."""

    def __init__(self, client: Registry) -> None:
        self._client = client

    def add(self, new: NewApproval) -> ExitCode:
        """Store an approval, whose day must not be over by the clock of the registry."""
        try:
            approval = self._client.call(operations.approve(new))
        except InvalidApproval as mistake:
            raise click.UsageError(mistake.message) from None
        for each in approval.fingerprints:
            click.echo(f"{each} approved until {approval.until} in the registry")
        return ExitCode.OK

    def show(self) -> ExitCode:
        """Print one line for each approved finding."""
        for approval in self._client.call(operations.approvals()).approvals:
            word = "expired" if approval.is_expired else "until"
            migration = f"  {approval.migration}" if approval.migration else ""
            facts = f"{word} {approval.until}  {approval.owner}  {approval.reason}{migration}  (in the registry)"
            for each in approval.fingerprints:
                click.echo(printable(f"{each}  {facts}"))
        return ExitCode.OK

    def revoke(self, fingerprints: Collection[str]) -> ExitCode:
        """Delete the approvals of findings; what else one of them approves stays approved."""
        held = self._client.call(operations.approvals()).approvals
        known = {fingerprint for each in held for fingerprint in each.fingerprints}
        if unknown := sorted(set(fingerprints) - known):
            names = ", ".join(unknown)
            click.echo(
                f"counterfoil: no approval of the registry has the fingerprint {names}; nothing was revoked", err=True
            )
            return ExitCode.CANNOT_SAY
        for approval in held:
            kept = tuple(each for each in approval.fingerprints if each not in fingerprints)
            if len(kept) < len(approval.fingerprints):
                if kept and not approval.is_expired:
                    self._client.call(operations.approve(_with(approval, kept)))
                self._client.call(operations.revoke_approval(approval.id))
        return ExitCode.OK


def _with(approval: Approval, fingerprints: tuple[str, ...]) -> NewApproval:
    return NewApproval(fingerprints, approval.owner, approval.reason, approval.until, approval.migration, approval.by)
