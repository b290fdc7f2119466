"""The approvals of a registry on the command line: adding, listing and revoking them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.schema.errors import InvalidApproval
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.rest.verdicts import APPROVAL, NewApproval
from counterfoil.sdk import operations
from counterfoil.sdk.commands.output import print_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from counterfoil.schema.rest.verdicts import Approval
    from counterfoil.sdk.client import Registry


class RegisteredApprovals:
    """The approvals of the registry of ``client``."""

    def __init__(self, client: Registry) -> None:
        self._client = client

    def add(self, new: NewApproval, *, as_json: bool) -> ExitCode:
        """Store an approval, whose day must not be over by the clock of the registry."""
        try:
            approval = self._client.call(operations.approve(new))
        except InvalidApproval as mistake:
            raise click.UsageError(mistake.message) from None
        if as_json:
            print_json({"approved": [APPROVAL.write(approval)]})
            return ExitCode.OK
        for each in approval.fingerprints:
            click.echo(f"{each} approved until {approval.until} in the registry")
        return ExitCode.OK

    def all(self) -> tuple[Approval, ...]:
        """Return all approvals of the registry."""
        return self._client.call(operations.approvals()).approvals

    def revoke(self, fingerprints: Collection[str], *, as_json: bool) -> ExitCode:
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
        if as_json:
            print_json({"revoked": list(fingerprints)})
        return ExitCode.OK


def lines_of(approvals: Iterable[Approval]) -> Iterator[str]:
    """Yield one line for each approved finding."""
    for approval in approvals:
        word = "expired" if approval.is_expired else "until"
        migration = f"  {approval.migration}" if approval.migration else ""
        facts = f"{word} {approval.until}  {approval.owner}  {approval.reason}{migration}  (in the registry)"
        yield from (f"{each}  {facts}" for each in approval.fingerprints)


def _with(approval: Approval, fingerprints: tuple[str, ...]) -> NewApproval:
    return NewApproval(fingerprints, approval.owner, approval.reason, approval.until, approval.migration, approval.by)
