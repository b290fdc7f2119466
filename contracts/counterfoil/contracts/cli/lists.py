"""``counterfoil environments``, ``applications`` and ``matrix``: lists of what a registry has of contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

from counterfoil.contracts.cli.project import chosen_project, project_option, registry_of
from counterfoil.contracts.cli.versions import unknown_cannot_be_judged
from counterfoil.sdk.commands.output import as_json, print_json, print_rows
from counterfoil.sdk.commands.spellings import environment_option
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.rest.contracts import Environment
    from counterfoil.schema.rest.object_forms import ObjectForm
    from counterfoil.schema.rest.verdicts import DeploymentVerdict, VerdictReason
    from counterfoil.sdk.registry_options import RegistryAccess

_T = TypeVar("_T")


@click.command()
@click.argument("environment", metavar="[ENV]", required=False)
@project_option
@registry_options(THE_REGISTRY)
@as_json
def environments(environment: str | None, config: str | None, registry: RegistryAccess, as_json: bool) -> None:
    """Print the environments of a registry, or the versions that are live in ENV.

    `counterfoil record` makes an environment, and records what is live in it.

    Exit codes: 0 printed, 2 usage, 4 the environment is unknown, 11 registry unreachable, 12 registry refused.
    """
    from counterfoil.schema.rest.contracts import DEPLOYMENT, ENVIRONMENT, Liveness
    from counterfoil.sdk import operations

    with _access(config, registry).open() as client, unknown_cannot_be_judged():
        if environment is None:
            known = client.call(operations.environments())
            _print(known, ENVIRONMENT, lambda each: (each.name, _demands(each)), as_json=as_json)
            return
        live = [
            each
            for liveness in Liveness
            for each in client.call(operations.deployments(environment, liveness=liveness))
        ]
    _print(
        live,
        DEPLOYMENT,
        lambda each: (each.application, each.version, str(each.liveness), each.instance),
        as_json=as_json,
    )


@click.command()
@click.argument("application", metavar="[APP]", required=False)
@project_option
@registry_options(THE_REGISTRY)
@as_json
def applications(application: str | None, config: str | None, registry: RegistryAccess, as_json: bool) -> None:
    """Print the applications of a registry, or the versions of APP with the contracts that each has published.

    Exit codes: 0 printed, 2 usage, 4 the application is unknown, 11 registry unreachable, 12 registry refused.
    """
    from counterfoil.schema.rest.contracts import APPLICATION, APPLICATION_VERSION
    from counterfoil.sdk import operations

    with _access(config, registry).open() as client, unknown_cannot_be_judged():
        if application is None:
            known = client.call(operations.applications())
            _print(known, APPLICATION, lambda each: (each.name, each.owner, each.description), as_json=as_json)
            return
        versions = client.call(operations.application_versions(application))
    _print(
        versions,
        APPLICATION_VERSION,
        lambda each: (each.version, each.branch, ", ".join(f"{one.id} {one.version}" for one in each.contracts)),
        as_json=as_json,
    )


@click.command()
@environment_option("The environment.", required=True)
@click.option("--subject", metavar="SUBJECT", help="The pairs of this subject.")
@click.option("--application", metavar="APP", help="The pairs with this application on one side.")
@project_option
@registry_options(THE_REGISTRY)
@as_json
def matrix(
    environment: str,
    subject: str | None,
    application: str | None,
    config: str | None,
    registry: RegistryAccess,
    as_json: bool,
) -> ExitCode:
    """Print each pair of versions that are live in an environment, and whether one reads what the other writes.

    Exit codes: 0 all fit, 1 a pair does not, 2 usage, 4 no pair is live, or the environment is unknown, 11 registry
    unreachable, 12 registry refused.
    """
    from counterfoil.contracts.reports.deployment import exit_code_of
    from counterfoil.contracts.reports.text import printable
    from counterfoil.schema.rest.verdicts import verdict_document
    from counterfoil.sdk import operations

    if (subject is None) == (application is None):
        raise click.UsageError("give either --subject SUBJECT or --application APP")
    with _access(config, registry).open() as client, unknown_cannot_be_judged():
        verdict = client.call(operations.matrix(environment, subject=subject, application=application))
    code = exit_code_of(verdict)
    if as_json:
        print_json({"environment": environment, "exitCode": int(code), **verdict_document(verdict)})
        return code
    print_rows([printable(cell) for cell in _row(each)] for each in verdict.reasons)
    click.echo(f"{_summary(verdict)} in {environment} (exit {int(code)})")
    return code


def _access(config: str | None, registry: RegistryAccess) -> RegistryAccess:
    found = chosen_project(config)
    return registry_of(registry, found.project if found is not None else None)


def _print(values: Sequence[_T], form: ObjectForm[_T], row: Callable[[_T], Sequence[object]], *, as_json: bool) -> None:
    """Print values of the REST API: a line of columns for each, or all of them as JSON."""
    if as_json:
        print_json([form.write(each) for each in values])
    else:
        print_rows(row(each) for each in values)


def _demands(environment: Environment) -> str:
    """Return in words that an environment is production, and the age of verifications it demands; else nothing."""
    days = environment.verified_within_days
    facts = ["production"] if environment.is_production else []
    facts += [] if days is None else [f"demands verifications that are at most {days} days old"]
    return ", ".join(facts)


def _row(reason: VerdictReason) -> tuple[str, str, str, str]:
    writer = f"{reason.producer} {reason.producer_version}".strip()
    reader = f"{reason.consumer} {reason.consumer_version}".strip()
    return str(reason.reason), writer, reader, reason.text


def _summary(verdict: DeploymentVerdict) -> str:
    if verdict.deployable is None:
        return "It is unknown whether the live versions fit together"
    return f"The live versions {'fit' if verdict.deployable else 'do not fit'} together"
