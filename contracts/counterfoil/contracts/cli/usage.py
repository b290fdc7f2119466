"""``counterfoil usage``: who reads a subject and its fields, and what is in a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from counterfoil.contracts.cli.output import output_options
from counterfoil.contracts.cli.project import chosen_project, project_option, registry_of
from counterfoil.sdk.commands.spellings import environment_option
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from pathlib import Path

    from counterfoil.contracts.cli.output import ReportWriter
    from counterfoil.contracts.usage.subject import Selection
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.registry_options import RegistryAccess

_FORMATS: Final = ("text", "json", "markdown")


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
@output_options(_FORMATS, has_style=False)
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


def _selection(*, is_unused: bool, is_stale: bool) -> Selection:
    from counterfoil.contracts.usage.subject import Selection

    if is_unused:
        return Selection.UNUSED
    return Selection.STALE if is_stale else Selection.ALL


def _print_subject(
    client: Registry, subject: str, environment: str | None, selection: Selection, writer: ReportWriter
) -> None:
    from counterfoil.contracts.usage.printing import json_usage, markdown_usage, text_usage
    from counterfoil.contracts.usage.subject import usage_of

    found = usage_of(client, subject, environment=environment, selection=selection)
    forms = {"text": text_usage, "json": json_usage, "markdown": markdown_usage}
    writer.write_each(lambda form, _: forms[form](found))


def _print_topic(client: Registry, topic: str, environment: str | None, writer: ReportWriter) -> None:
    from counterfoil.contracts.errors import NotKnown
    from counterfoil.contracts.usage.printing import json_topic, markdown_topic, text_topic
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
    from counterfoil.contracts.reports.text import printable
    from counterfoil.contracts.usage.files import read_batches
    from counterfoil.schema.counting import counted
    from counterfoil.sdk import operations

    batches = read_batches(path)
    stored = 0
    for batch in batches:
        receipt = client.call(operations.post_usage(batch))
        stored += receipt.stored
        for notice in receipt.notices:
            click.echo(printable(f"notice: {notice}"))
    click.echo(f"{counted(stored, 'entry', 'entries')} of {counted(len(batches), 'batch', 'batches')} stored")
