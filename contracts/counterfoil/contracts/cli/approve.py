"""``counterfoil approve``: approvals in the file of the project, and in a registry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import click

from counterfoil.contracts.cli.check import JudgingOptions, generated_code_option, judging_options
from counterfoil.schema.errors import InvalidApproval
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.rest.verdicts import APPROVAL, Approval, NewApproval
from counterfoil.sdk import operations
from counterfoil.sdk.commands import as_json, print_json
from counterfoil.sdk.commands.options import RegistryAccess

if TYPE_CHECKING:
    from datetime import date

    from counterfoil.contracts.findings import CheckReport
    from counterfoil.contracts.project.documents import ApprovalRecord
    from counterfoil.sdk.client import Registry


# The approvals of a registry on the command line: adding, listing and revoking them.


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


# ``counterfoil approve``: accept single findings until a day, in a file of the repository or in a registry.

_Result = TypeVar("_Result")


@click.command()
@click.argument("fingerprints", nargs=-1, metavar="[FINGERPRINT]...")
@click.option("--reason", help="Why the finding is accepted.")
@click.option("--owner", help="Who answers for it.")
@click.option("--until", metavar="YYYY-MM-DD", help="The last day on which it is accepted, in UTC.")
@click.option(
    "--migration", metavar="FILE", help="The file of the converter that goes with the change; in a registry, its name."
)
@click.option("--local", is_flag=True, help="Write the approval to .contract-approvals.yaml, to be committed.")
@click.option(
    "--list",
    "is_list",
    is_flag=True,
    help="Print the approvals of the repository, and of the registry if one is given.",
)
@click.option("--revoke", is_flag=True, help="Remove the approvals with these fingerprints.")
@generated_code_option
@judging_options
@as_json
def approve(
    fingerprints: tuple[str, ...],
    reason: str | None,
    owner: str | None,
    until: str | None,
    migration: str | None,
    local: bool,
    is_list: bool,
    revoke: bool,
    generated_code: str,
    judging: JudgingOptions,
    as_json: bool,
) -> ExitCode:
    """Accept findings of `counterfoil check`, by their FINGERPRINTs, until the end of a day.

    With --local, the check is run again with the same options, so that a fingerprint without a finding is noticed. A
    finding that is accepted does not fail the check; after the day it fails again. The file .contract-approvals.yaml is
    at the top of the repository, so that a review of the change reviews the approval too.

    Without --local, the approval is stored in the registry (--registry), whose clock decides on the last day. It counts
    for `counterfoil can-i-deploy`, and for checks that are given this registry.

    Exit codes: 0 done, 2 usage, 4 no finding or approval has the fingerprint, 11 registry unreachable, 12 registry
    refused, 14 a file or git ref is missing.
    """
    from counterfoil.contracts.project.files import load_approvals
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.rest.verdicts import NewApproval

    root = _root()
    records = load_approvals(root)
    in_registry = not local and not judging.offline and judging.registry.url is not None
    if is_list:
        stored = _in_registry(judging.registry, lambda held: held.all()) if in_registry else ()
        _list(records, stored, as_json=as_json)
        return ExitCode.OK
    if not fingerprints:
        raise click.UsageError("name the findings to approve by their fingerprints, or give --list")
    if not local and not in_registry:
        raise click.UsageError("give --local for an approval in the repository, or a registry: --registry URL")
    if revoke and in_registry:
        return _in_registry(judging.registry, lambda held: held.revoke(fingerprints, as_json=as_json))
    if revoke:
        return _revoke(root, records, fingerprints, as_json=as_json)
    if not (reason and owner and until):
        raise click.UsageError("an approval needs --reason, --owner and --until YYYY-MM-DD")
    new = NewApproval(fingerprints, owner, reason, until, migration or "")
    if in_registry:
        return _in_registry(judging.registry, lambda held: held.add(new, as_json=as_json))
    day = _parse_day(until)
    if migration is not None:
        _insist_on_file(migration)
    _, report = judging.run(confirm=0, generated_code=generated_code)
    return _approve(root, records, report, new, until=day, as_json=as_json)


def _in_registry(access: RegistryAccess, act: Callable[[RegisteredApprovals], _Result]) -> _Result:
    """Return the result of ``act`` on the approvals of a registry."""
    with access.open() as client:
        return act(RegisteredApprovals(client))


def _approve(
    root: str,
    records: tuple[ApprovalRecord, ...],
    report: CheckReport,
    new: NewApproval,
    *,
    until: date,
    as_json: bool,
) -> ExitCode:
    from counterfoil.contracts.project.documents import ApprovalRecord
    from counterfoil.contracts.project.files import save_approvals
    from counterfoil.contracts.project.model import AcceptedFinding
    from counterfoil.contracts.reports import what_is_found
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.texts import Position

    found = {finding.fingerprint: finding for finding in report.findings}
    if unknown := [each for each in new.fingerprints if each not in found]:
        click.echo(
            f"counterfoil: no finding against {report.against} has the fingerprint {', '.join(unknown)}; nothing was "
            "approved. Give the options of the check that printed it",
            err=True,
        )
        return ExitCode.CANNOT_SAY
    kept = {record.accepted.fingerprint: record for record in records}
    for each in new.fingerprints:
        finding = found[each]
        accepted = AcceptedFinding(each, new.owner, new.reason, until, Position(1, 1), new.migration)
        kept[each] = ApprovalRecord(accepted, finding.rule, finding.subject, finding.path, what_is_found(finding))
        if not as_json:
            click.echo(f"{each} approved until {until}: {finding.path}: {finding.rule}")
    save_approvals(root, kept.values())
    if as_json:
        print_json({"approved": [_document(kept[each]) for each in new.fingerprints]})
    return ExitCode.OK


def _revoke(
    root: str, records: tuple[ApprovalRecord, ...], fingerprints: tuple[str, ...], *, as_json: bool
) -> ExitCode:
    from counterfoil.contracts.project.files import save_approvals
    from counterfoil.schema.exit_codes import ExitCode

    known = {record.accepted.fingerprint for record in records}
    if unknown := [each for each in fingerprints if each not in known]:
        click.echo(f"counterfoil: no approval has the fingerprint {', '.join(unknown)}; nothing was revoked", err=True)
        return ExitCode.CANNOT_SAY
    save_approvals(root, [record for record in records if record.accepted.fingerprint not in fingerprints])
    if as_json:
        print_json({"revoked": list(fingerprints)})
    return ExitCode.OK


def _document(record: ApprovalRecord) -> dict[str, object]:
    """Return an approval of the repository as JSON; it has no id."""
    accepted = record.accepted
    return {
        "fingerprint": accepted.fingerprint,
        "owner": accepted.owner,
        "reason": accepted.reason,
        "until": str(accepted.until),
        "migration": accepted.migration or None,
        "rule": record.rule or None,
        "path": record.path or None,
    }


def _list(records: tuple[ApprovalRecord, ...], stored: Iterable[Approval], *, as_json: bool) -> None:
    """Print the approvals of the repository, and those that a registry stores."""
    if as_json:
        from counterfoil.schema.rest.verdicts import APPROVAL

        print_json(
            {
                "approvals": [_document(each) for each in records],
                "registered": [APPROVAL.write(each) for each in stored],
            }
        )
        return
    from datetime import UTC, datetime

    from counterfoil.contracts.reports import printable

    today = datetime.now(UTC).date()
    for record in records:
        accepted = record.accepted
        word = "expired" if today > accepted.until else "until"
        what = f"{record.path}  {record.rule}  {record.text}" if record.rule else ""
        line = f"{accepted.fingerprint}  {word} {accepted.until}  {accepted.owner}  {accepted.reason}  {what}"
        click.echo(printable(line.rstrip()))
    for each in lines_of(stored):
        click.echo(printable(each))


def _root() -> str:
    """Return the top of the repository; without one, the current folder."""
    from counterfoil.contracts.baselines.git import find_repository

    repository = find_repository(".")
    return "." if repository is None else repository.top


def _parse_day(text: str) -> date:
    from datetime import UTC, date, datetime

    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"--until {text!r} is not a day such as 2027-03-31") from None
    today = datetime.now(UTC).date()
    if day < today:
        raise click.UsageError(f"--until {day} is over: today is {today} in UTC")
    return day


def _insist_on_file(path: str) -> None:
    from pathlib import Path

    from counterfoil.contracts.errors import InputNotFound

    if not Path(path).is_file():
        raise InputNotFound(f"there is no file {path!r}, which --migration names")
