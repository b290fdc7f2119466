"""``counterfoil record`` and ``can-i-deploy``: which versions are live where, and the verdict on a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from counterfoil.contracts.cli.options import (
    ReportWriter,
    Versioned,
    VersionedName,
    chain,
    chosen_project,
    output_options,
    project_option,
    registry_of,
    unknown_cannot_be_judged,
)
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands import as_json, print_json
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, environment_option, registry_options

if TYPE_CHECKING:
    from counterfoil.schema.rest.contracts import Deployment, Liveness
    from counterfoil.sdk.client import Registry


# ``counterfoil can-i-deploy``: the registry's verdict on a deployment, on a merge, or on retiring a contract.

_VERDICT_FORMATS: Final = ("text", "json", "junit", "markdown")


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
@output_options(_VERDICT_FORMATS, has_style=False)
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
    from counterfoil.contracts.reports.deployment import DeploymentQuestion, VerdictForms, exit_code_of
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.sdk import operations

    if (environment is None) == (branch is None):
        raise click.UsageError("give --environment ENV, or --merge BRANCH instead of it")
    if version is not None and retire is None and environment is not None:
        operation = operations.can_i_deploy(
            version.name, version.version, environment, ignored=ignored, max_age_days=max_age
        )
        question = DeploymentQuestion(str(version), "deployed to", environment)
    elif version is not None and retire is None and branch is not None and max_age is None:
        operation = operations.can_i_merge(version.name, version.version, branch=branch, ignored=ignored)
        question = DeploymentQuestion(str(version), "merged into", branch)
    elif retire is not None and version is None and environment is not None and not ignored and max_age is None:
        operation = operations.can_i_retire(retire.name, retire.version, environment)
        question = DeploymentQuestion(str(retire), "retired in", environment)
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


# ``counterfoil record``: which version of which application is live in which environment.

_record_options: Final = chain(
    click.argument("version", metavar="APP@VERSION", type=VersionedName("APP@VERSION")),
    environment_option("The environment.", required=True),
    project_option,
    registry_options(THE_REGISTRY),
    as_json,
)
_instance: Final = click.option(
    "--instance", default="", metavar="NAME", help="Which of several instances of the application there."
)


@click.group()
def record() -> None:
    """Record which version of an application is live in an environment, and which environments there are.

    A version must have been published (`counterfoil publish`), and the environment must exist (`counterfoil record
    environment`); a deployment creates neither. Recording the same again changes nothing.

    Exit codes: 0 recorded, 2 usage, 4 the version or the environment is unknown, or it is not live there, 11 registry
    unreachable, 12 registry refused.
    """


@record.command()
@click.argument("name", metavar="ENV")
@click.option("--production/--no-production", default=None, help="Whether it is one of production.")
@click.option(
    "--verified-within",
    type=click.IntRange(0, 36_500),
    metavar="DAYS",
    help="Demand a verification ('counterfoil test --publish') of each contract that is deployed, at most so old.",
)
@project_option
@registry_options(THE_REGISTRY)
@as_json
def environment(
    name: str,
    production: bool | None,
    verified_within: int | None,
    config: str | None,
    registry: RegistryAccess,
    as_json: bool,
) -> None:
    """Record an environment, or change what the options name of one."""
    from dataclasses import replace

    from counterfoil.schema.rest.contracts import Environment
    from counterfoil.sdk import operations

    with _registry(config, registry) as client:
        known = client.call(operations.environments())
        wanted = next((each for each in known if each.name == name), Environment(name))
        if production is not None:
            wanted = replace(wanted, is_production=production)
        if verified_within is not None:
            wanted = replace(wanted, verified_within_days=verified_within)
        held = client.call(operations.put_environment(wanted))
    if as_json:
        from counterfoil.schema.rest.contracts import ENVIRONMENT

        print_json(ENVIRONMENT.write(held))
        return
    days = held.verified_within_days
    facts = ["it is one of production"] if held.is_production else []
    facts += [] if days is None else [f"it demands verifications that are at most {days} days old"]
    click.echo(f"The environment {held.name} is stored{': ' if facts else ''}{', and '.join(facts)}.")


@record.command()
@_record_options
@_instance
def deployment(
    version: Versioned, environment: str, config: str | None, registry: RegistryAccess, as_json: bool, instance: str
) -> None:
    """Record that a version runs in an environment; it replaces the version of the same instance."""
    from counterfoil.schema.rest.contracts import Liveness

    with _registry(config, registry) as client:
        _begin(client, version, environment, Liveness.DEPLOYED, instance, as_json=as_json)


@record.command()
@_record_options
@_instance
def undeployment(
    version: Versioned, environment: str, config: str | None, registry: RegistryAccess, as_json: bool, instance: str
) -> None:
    """Record that a version no longer runs in an environment."""
    from counterfoil.schema.rest.contracts import Liveness

    with _registry(config, registry) as client:
        _end(client, version, environment, Liveness.DEPLOYED, instance, as_json=as_json)


@record.command()
@_record_options
def release(version: Versioned, environment: str, config: str | None, registry: RegistryAccess, as_json: bool) -> None:
    """Record that a version was given to others, such as an app in a store; earlier releases stay live."""
    from counterfoil.schema.rest.contracts import Liveness

    with _registry(config, registry) as client:
        _begin(client, version, environment, Liveness.RELEASED, as_json=as_json)


@record.command(name="support-ended")
@_record_options
def support_ended(
    version: Versioned, environment: str, config: str | None, registry: RegistryAccess, as_json: bool
) -> None:
    """Record that the support of a released version has ended, so that it counts no longer."""
    from counterfoil.schema.rest.contracts import Liveness

    with _registry(config, registry) as client:
        _end(client, version, environment, Liveness.RELEASED, as_json=as_json)


@contextmanager
def _registry(config: str | None, access: RegistryAccess) -> Iterator[Registry]:
    found = chosen_project(config)
    project = found.project if found is not None else None
    with registry_of(access, project).open() as client, unknown_cannot_be_judged():
        yield client


def _begin(
    client: Registry, version: Versioned, environment: str, liveness: Liveness, instance: str = "", *, as_json: bool
) -> None:
    from counterfoil.sdk import operations

    held = client.call(
        operations.record_deployment(environment, version.name, version.version, instance=instance, liveness=liveness)
    )
    _print(held, f"{version} is {liveness} in {environment}{_of(instance)}", is_live=True, as_json=as_json)


def _end(
    client: Registry, version: Versioned, environment: str, liveness: Liveness, instance: str = "", *, as_json: bool
) -> None:
    """End what is live; raise ``NotKnown``, with what is live instead, if it is not."""
    from counterfoil.contracts.errors import NotKnown
    from counterfoil.sdk import operations

    live = client.call(operations.deployments(environment, liveness=liveness, application=version.name))
    held = next((each for each in live if (each.version, each.instance) == (version.version, instance)), None)
    if held is None:
        others = ", ".join(f"{each.version}{_of(each.instance)}" for each in live) or "no version"
        raise NotKnown(
            f"{version} is not {liveness} in {environment}{_of(instance)}; of {version.name}, {others} is {liveness}"
        )
    client.call(operations.end_deployment(environment, held.id, liveness=liveness))
    ended = f"{version} is no longer {liveness} in {environment}{_of(instance)}"
    _print(held, ended, is_live=False, as_json=as_json)


def _print(held: Deployment, sentence: str, *, is_live: bool, as_json: bool) -> None:
    """Print what is or was live: the sentence, or the deployment as the registry writes it with ``live``."""
    if not as_json:
        click.echo(sentence)
        return
    from counterfoil.schema.rest.contracts import DEPLOYMENT

    print_json({**DEPLOYMENT.write(held), "live": is_live})


def _of(instance: str) -> str:
    return f" (instance {instance})" if instance else ""
