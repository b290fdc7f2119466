"""``counterfoil publish``: the contracts of one version of an application are stored in a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.project import project_option, registry_of
from counterfoil.sdk.commands.output import as_json, print_json, print_rows
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.linting.lint import LintReport
    from counterfoil.contracts.publication import ContractFiles
    from counterfoil.schema.errors import RegistryError
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.rest.contracts import Publication
    from counterfoil.schema.rest.migrations import ContractMigration
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.registry_options import RegistryAccess

_DIGEST_LENGTH = 12


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--application", required=True, metavar="NAME", help="The application that publishes.")
@click.option("--version", required=True, metavar="VERSION", help="The version of the application.")
@click.option("--branch", default="", metavar="NAME", help="The branch that the version comes from.")
@click.option("--commit", default="", metavar="HASH", help="The commit that the version comes from.")
@click.option("--build-url", default="", metavar="URL", help="The address of the build.")
@click.option("--dry-run", is_flag=True, help="Store nothing; only check what would be stored.")
@project_option
@registry_options(THE_REGISTRY)
@as_json
def publish(
    paths: tuple[str, ...],
    application: str,
    version: str,
    branch: str,
    commit: str,
    build_url: str,
    dry_run: bool,
    config: str | None,
    registry: RegistryAccess,
    as_json: bool,
) -> ExitCode:
    """Store the contract files (ODCS) and product files (ODPS) in PATHS, all of them or none.

    PATHS are files and folders; without any, the current folder. Files are found as by `counterfoil lint`, which must
    find no error in them. Each is sent with the schema files to which it refers; where there is no such file, the
    registry takes the latest version of the subject. A published version of a contract never changes; publishing the
    same again changes nothing. The migrations of contracts are stored with the names of their bridges.

    Exit codes: 0 stored (with --dry-run: it can be), 1 a file is invalid, 2 usage, 4 there is no contract or product
    file, 11 registry unreachable, 12 registry refused, 13 a version is published with other content, 14 a file or a
    registered schema is missing.
    """
    from dataclasses import replace
    from datetime import UTC, datetime

    from counterfoil.contracts.linting.collecting import collect
    from counterfoil.contracts.linting.lint import lint_files
    from counterfoil.contracts.linting.selection import is_failing, selected
    from counterfoil.contracts.model import FailOn
    from counterfoil.contracts.publication import ContractFiles
    from counterfoil.schema.errors import ContractExists, InvalidContract
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.rest.contracts import NewPublication
    from counterfoil.sdk import operations

    collected = collect(".", paths, config=config)
    if not collected.given.agreements:
        click.echo("There is no contract or product file here, so nothing was published.")
        return ExitCode.CANNOT_SAY
    files = ContractFiles(collected.given, collected.project)
    today = datetime.now(UTC).date()
    found = lint_files(replace(collected.given, schemas=files.schemas, project=None), today=today)
    report = selected(found, None, collected.project, today=today)
    if errors := tuple(one for one in report.findings if is_failing(one, FailOn.ERROR)):
        _print_errors(replace(report, findings=errors), prefix=collected.prefix)
        return ExitCode.BROKEN
    with registry_of(registry, collected.project).open() as client:
        new = NewPublication(application, version, files.contracts(client), branch, commit, build_url)
        try:
            publication = client.call(operations.publish(new, dry_run=dry_run))
        except ContractExists as conflict:
            _print_differences(conflict)
            raise
        except InvalidContract as mistake:
            click.echo(f"counterfoil: {mistake}", err=True)
            return ExitCode.BROKEN
        migrations = () if dry_run else _put_migrations(client, files)
    if as_json:
        from counterfoil.schema.rest.contracts import PUBLICATION
        from counterfoil.schema.rest.migrations import MIGRATION

        stored = [MIGRATION.write(each) for each in migrations]
        print_json({"stored": not dry_run, **PUBLICATION.write(publication), "migrations": stored})
    else:
        _print(publication, is_dry=dry_run)
        for each in migrations:
            click.echo(
                f"Migration {each.id}: the bridge {each.bridge} is run by {each.application}"
                f"{f', until {each.sunset}' if each.sunset else ''}."
            )
    return ExitCode.OK


def _put_migrations(client: Registry, files: ContractFiles) -> list[ContractMigration]:
    """Store the migrations of the contracts, and return them."""
    from counterfoil.contracts.publication import renewed
    from counterfoil.sdk import operations

    given = files.migrations()
    held = {each.id: each for each in client.call(operations.migrations())} if given else {}
    return [client.call(operations.put_migration(renewed(each, held.get(each.id)))) for each in given]


def _print(publication: Publication, *, is_dry: bool) -> None:
    """Print all contracts of the version, and the notices."""
    from counterfoil.contracts.reports.text import printable
    from counterfoil.schema.counting import counted

    print_rows((each.kind, each.id, each.version, each.hash[:_DIGEST_LENGTH]) for each in publication.contracts)
    for notice in publication.notices:
        click.echo(printable(f"notice: {notice}"))
    whose = f"{publication.application} {publication.version}"
    number = counted(len(publication.contracts), "contract")
    end = "Nothing was stored: this is a dry run." if is_dry else ""
    click.echo(printable(f"{whose} {'would have' if is_dry else 'has'} {number}. {end}".rstrip()))


def _print_errors(report: LintReport, *, prefix: str) -> None:
    """Print the errors in the files, because of which nothing is published."""
    from counterfoil.contracts.cli.output import ReportWriter
    from counterfoil.contracts.reports.lint import text_report
    from counterfoil.schema.exit_codes import ExitCode

    style = ReportWriter().style(prefix)
    click.echo(text_report(report, exit_code=ExitCode.BROKEN, style=style), nl=False)
    click.echo("Nothing was published.")


def _print_differences(conflict: RegistryError) -> None:
    """Print what differs from the version that is published: schemas, what changed in them, and lines of the file."""
    from counterfoil.contracts.reports.text import printable

    schemas: list[str] = []
    lines: list[str] = []
    for line in _texts(conflict, "differences"):
        (schemas if line.startswith("schema ") and not lines else lines).append(line)
    for line in (*schemas, *(f"  {each}" for each in _texts(conflict, "changes")), *lines):
        click.echo(printable(line))


def _texts(conflict: RegistryError, member: str) -> list[str]:
    found = conflict.details.get(member)
    return [str(each) for each in found] if isinstance(found, list) else []
