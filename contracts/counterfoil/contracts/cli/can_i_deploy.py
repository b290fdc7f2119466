"""``counterfoil can-i-deploy``: the registry's verdict on a deployment, or on retiring a contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from counterfoil.contracts.cli.options import format_option, parse_outputs, render_report, write_outputs
from counterfoil.contracts.cli.project import chosen_project, project_option, registry_of
from counterfoil.contracts.cli.versions import VersionedName, unknown_cannot_be_judged
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.cli.options import Output
    from counterfoil.contracts.cli.versions import Versioned
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.sdk.registry_options import RegistryAccess

_FORMATS: Final = ("text", "json", "junit", "markdown")


@click.command(name="can-i-deploy")
@click.argument("version", metavar="[APP@VERSION]", required=False, type=VersionedName("APP@VERSION"))
@click.option("--to", "environment", required=True, metavar="ENV", help="The environment.")
@click.option(
    "--retire",
    metavar="CONTRACT@MAJOR",
    type=VersionedName("CONTRACT@MAJOR"),
    help="Instead of a deployment: may this major version of a contract be retired, since nobody reads it?",
)
@click.option("--ignore", "ignored", multiple=True, metavar="APP", help="Leave out this application. Repeatable.")
@click.option("--dry-run", is_flag=True, help="Exit 0 whatever the verdict is.")
@click.option("--explain", is_flag=True, help="Also print the pairs that are fine, and what each reason is about.")
@project_option
@registry_options(THE_REGISTRY)
@format_option(_FORMATS)
def can_i_deploy(
    version: Versioned | None,
    environment: str,
    retire: Versioned | None,
    ignored: tuple[str, ...],
    dry_run: bool,
    explain: bool,
    config: str | None,
    registry: RegistryAccess,
    formats: tuple[str, ...],
) -> ExitCode:
    """Print whether a version of an application may be deployed to an environment, and why.

    The version is judged against everything that is live there: as a producer against all that read its contracts, and
    as a consumer against all that write what it reads. Its contracts must be published, and what is live recorded.

    Exit codes: 0 yes, 1 no, 2 usage, 4 unknown, 11 registry unreachable, 12 registry refused.
    """
    from counterfoil.contracts.reports.deployment import (
        Question,
        exit_code_of,
        json_verdict,
        report_of,
        text_verdict,
    )
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.sdk import operations

    outputs = parse_outputs(formats, _FORMATS)
    if version is not None and retire is None:
        operation = operations.can_i_deploy(version.name, version.version, environment, ignored=ignored)
        question = Question(str(version), "deployed to", environment)
    elif retire is not None and version is None and not ignored:
        operation = operations.can_i_retire(retire.name, retire.version, environment)
        question = Question(str(retire), "retired in", environment)
    else:
        raise click.UsageError("give either APP@VERSION, with or without --ignore, or --retire CONTRACT@MAJOR")
    found = chosen_project(config)
    access = registry_of(registry, found.project if found is not None else None)
    with access.open() as client, unknown_cannot_be_judged():
        verdict = client.call(operation)

    def render(output: Output) -> str:
        from counterfoil.contracts.cli.installed import find_installed

        if output.format == "text":
            return text_verdict(question, verdict, is_explained=explain)
        if output.format == "json":
            return json_verdict(question, verdict)
        return render_report(output.format, report_of(question, verdict, version=find_installed().version))

    write_outputs(outputs, render)
    return ExitCode.OK if dry_run else exit_code_of(verdict)
