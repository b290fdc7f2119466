"""``counterfoil can-i-deploy``: the registry's verdict on a deployment, on a merge, or on retiring a contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from counterfoil.contracts.cli.output import output_options
from counterfoil.contracts.cli.project import chosen_project, project_option, registry_of
from counterfoil.contracts.cli.versions import VersionedName, unknown_cannot_be_judged
from counterfoil.sdk.commands.spellings import environment_option
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.cli.output import ReportWriter
    from counterfoil.contracts.cli.versions import Versioned
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.sdk.registry_options import RegistryAccess

_FORMATS: Final = ("text", "json", "junit", "markdown")


@click.command(name="can-i-deploy")
@click.argument("version", metavar="[APP@VERSION]", required=False, type=VersionedName("APP@VERSION"))
@environment_option("The environment.", former=("--env", "--to"))
@click.option(
    "--merge",
    "branch",
    metavar="BRANCH",
    help="Instead of a deployment: may the version be merged, since it fits the newest versions of all others that "
    "come from this branch?",
)
@click.option(
    "--retire",
    metavar="CONTRACT@MAJOR",
    type=VersionedName("CONTRACT@MAJOR"),
    help="Instead of a deployment: may this major version of a contract be retired, since nobody reads it?",
)
@click.option(
    "--max-age",
    type=click.IntRange(0, 36_500),
    metavar="DAYS",
    help="Demand a verification ('counterfoil test --publish') of each contract that the version offers, at most so "
    "many days old. An environment may demand it, too.",
)
@click.option("--ignore", "ignored", multiple=True, metavar="APP", help="Leave out this application. Repeatable.")
@click.option("--dry-run", is_flag=True, help="Exit 0 whatever the verdict is.")
@click.option("--explain", is_flag=True, help="Also print the pairs that are fine, and what each reason is about.")
@project_option
@registry_options(THE_REGISTRY)
@output_options(_FORMATS, has_style=False)
def can_i_deploy(
    version: Versioned | None,
    environment: str | None,
    branch: str | None,
    retire: Versioned | None,
    max_age: int | None,
    ignored: tuple[str, ...],
    dry_run: bool,
    explain: bool,
    config: str | None,
    registry: RegistryAccess,
    writer: ReportWriter,
) -> ExitCode:
    """Print whether a version of an application may be deployed to an environment, and why.

    The version is judged against everything that is live there: as a producer against all that read its contracts, and
    as a consumer against all that write what it reads. Its contracts must be published, and what is live recorded. A
    break that the registry has a live approval of ('counterfoil approve') does not count.

    Exit codes: 0 yes, 1 no, 2 usage, 4 unknown, 11 registry unreachable, 12 registry refused.
    """
    from counterfoil.contracts.reports.deployment import Question, VerdictForms, exit_code_of
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.sdk import operations

    if (environment is None) == (branch is None):
        raise click.UsageError("give --environment ENV, or --merge BRANCH instead of it")
    if version is not None and retire is None and environment is not None:
        operation = operations.can_i_deploy(
            version.name, version.version, environment, ignored=ignored, max_age_days=max_age
        )
        question = Question(str(version), "deployed to", environment)
    elif version is not None and retire is None and branch is not None and max_age is None:
        operation = operations.can_i_merge(version.name, version.version, branch=branch, ignored=ignored)
        question = Question(str(version), "merged into", branch)
    elif retire is not None and version is None and environment is not None and not ignored and max_age is None:
        operation = operations.can_i_retire(retire.name, retire.version, environment)
        question = Question(str(retire), "retired in", environment)
    else:
        raise click.UsageError(
            "the question is not one of these: APP@VERSION --environment ENV [--ignore APP] [--max-age DAYS]; "
            "APP@VERSION --merge BRANCH [--ignore APP]; --retire CONTRACT@MAJOR --environment ENV"
        )
    found = chosen_project(config)
    access = registry_of(registry, found.project if found is not None else None)
    with access.open() as client, unknown_cannot_be_judged():
        verdict = client.call(operation)
    writer.write(VerdictForms(question, verdict, explain))
    return ExitCode.OK if dry_run else exit_code_of(verdict)
