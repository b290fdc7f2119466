"""``counterfoil environments``, ``applications``, ``matrix`` and ``usage``: lists of what a registry knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from counterfoil.contracts.cli.options import (
    ReportWriter,
    chosen_project,
    output_options,
    project_option,
    registry_of,
    unknown_cannot_be_judged,
)
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands import as_json, print_json, print_rows
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, environment_option, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.deploy.usage import UsageSelection
    from counterfoil.schema.rest.contracts import Environment
    from counterfoil.schema.rest.object_forms import ObjectForm
    from counterfoil.schema.rest.verdicts import DeploymentVerdict, VerdictReason
    from counterfoil.sdk.client import Registry


# ``counterfoil environments``, ``applications`` and ``matrix``: lists of what a registry has of contracts.

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
    from counterfoil.contracts.reports import printable
    from counterfoil.contracts.reports.deployment import exit_code_of
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


# ``counterfoil usage``: who reads a subject and its fields, and what is in a topic.

_USAGE_FORMATS: Final = ("text", "json", "markdown")


@click.command()
@click.argument("subject", metavar="[SUBJECT[.PATH]]", required=False)
@click.option("--topic", metavar="TOPIC", help="Instead: which schema ids are in a topic.")
@environment_option("Only what is known of this environment.")
@click.option("--unused", "is_unused", is_flag=True, help="Only fields that nobody reads.")
@click.option("--stale", "is_stale", is_flag=True, help="Only consumers that were not seen for long, and their fields.")
@click.option(
    "--import",
    "imported",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Instead: store the reads in a file, lines of JSON as the SDK writes them, or events of OpenLineage.",
)
@project_option
@registry_options(THE_REGISTRY)
@output_options(_USAGE_FORMATS, has_style=False)
def usage(
    subject: str | None,
    topic: str | None,
    environment: str | None,
    is_unused: bool,
    is_stale: bool,
    imported: str | None,
    config: str | None,
    registry: RegistryAccess,
    writer: ReportWriter,
) -> None:
    """Print who reads a subject, or one field of it: what consumers declare, and what was seen of them.

    A topic may stand for the subject of its values. Fields that nobody reads are listed as well; what was never seen
    may be read all the same, as by a job that runs once a month.

    Exit codes: 0 printed, 2 usage, 4 the subject, its field, the topic or the environment is unknown, 11 registry
    unreachable, 12 registry refused, 14 the file to import cannot be read.
    """
    from pathlib import Path

    if sum(each is not None for each in (subject, topic, imported)) != 1:
        raise click.UsageError("give one of SUBJECT, --topic TOPIC and --import FILE")
    if (is_unused or is_stale) and (subject is None or (is_unused and is_stale)):
        raise click.UsageError("--unused and --stale select fields of a SUBJECT; give one of them at most")
    found = chosen_project(config)
    with registry_of(registry, found.project if found is not None else None).open() as client:
        if imported is not None:
            _import(client, Path(imported))
        elif topic is not None:
            _print_topic(client, topic, environment, writer)
        elif subject is not None:
            _print_subject(client, subject, environment, _selection(is_unused=is_unused, is_stale=is_stale), writer)


def _selection(*, is_unused: bool, is_stale: bool) -> UsageSelection:
    from counterfoil.contracts.deploy.usage import UsageSelection

    if is_unused:
        return UsageSelection.UNUSED
    return UsageSelection.STALE if is_stale else UsageSelection.ALL


def _print_subject(
    client: Registry, subject: str, environment: str | None, selection: UsageSelection, writer: ReportWriter
) -> None:
    from counterfoil.contracts.deploy.usage import json_usage, markdown_usage, text_usage, usage_of

    found = usage_of(client, subject, environment=environment, selection=selection)
    forms = {"text": text_usage, "json": json_usage, "markdown": markdown_usage}
    writer.write_each(lambda form, _: forms[form](found))


def _print_topic(client: Registry, topic: str, environment: str | None, writer: ReportWriter) -> None:
    from counterfoil.contracts.deploy.usage import json_topic, markdown_topic, text_topic
    from counterfoil.contracts.errors import NotKnown
    from counterfoil.schema.errors import TopicStatsNotFound
    from counterfoil.sdk import operations

    try:
        stats = client.call(operations.topic_stats(topic, environment=environment))
    except TopicStatsNotFound as missing:
        raise NotKnown(f"{missing.message}{_known_elsewhere(client, topic)}") from None
    forms = {"text": text_topic, "json": json_topic, "markdown": markdown_topic}
    writer.write_each(lambda form, _: forms[form](stats))


def _known_elsewhere(client: Registry, topic: str) -> str:
    """Return the end of a sentence about a topic without statistics: where there are some, or how to store them."""
    from counterfoil.sdk import operations

    known = sorted(each.environment for each in client.call(operations.topics()) if each.topic == topic)
    if not known:
        return f"; counterfoil test --topic {topic} --publish stores how many records have which schema id"
    places = " and ".join(
        f"for {each} (--environment {each})" if each else "for no environment (no --environment)" for each in known
    )
    return f", but there is something {places}"


def _import(client: Registry, path: Path) -> None:
    """Post the batches of a file, and print how many entries were stored."""
    from counterfoil.contracts.deploy.usage import read_batches
    from counterfoil.contracts.reports import printable
    from counterfoil.schema.texts import counted
    from counterfoil.sdk import operations

    batches = read_batches(path)
    stored = 0
    for batch in batches:
        receipt = client.call(operations.post_usage(batch))
        stored += receipt.stored
        for notice in receipt.notices:
            click.echo(printable(f"notice: {notice}"))
    click.echo(f"{counted(stored, 'entry', 'entries')} of {counted(len(batches), 'batch', 'batches')} stored")
