"""``counterfoil test``: records of topics, or of a file, against contracts and against a proposed schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.options import (
    ReportWriter,
    Waiting,
    fail_on_option,
    opened_once,
    output_options,
    project_option,
    registry_of,
)
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands.options import (
    THE_REGISTRY,
    RegistryAccess,
    environment_option,
    kafka_options,
    registry_options,
)

if TYPE_CHECKING:
    from counterfoil.contracts.testing.session import ResultPublisher
    from counterfoil.contracts.testing.sources import ChosenTest
    from counterfoil.contracts.testing.verdict import TestReport
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.kafka import KafkaAccess


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="Test only this topic. Repeatable.")
@click.option("--server", metavar="NAME", help="Use the address and the registry of this server of the contracts.")
@click.option(
    "--proposed",
    metavar="SCHEMA",
    help="Also read the records, and write their values, with this schema: a file, REF:PATH, or SUBJECT@VERSION.",
)
@click.option(
    "--sample",
    default="newest",
    show_default=True,
    metavar="WHICH",
    help="newest, oldest, spread, random, all, or since=MOMENT, a time or an age such as 36h.",
)
@click.option("--limit", type=click.IntRange(min=1), default=1000, show_default=True, help="Read at most N records.")
@click.option("--limit-bytes", type=click.IntRange(min=1), metavar="N", help="End after so many bytes.")
@click.option("--seed", type=int, default=0, show_default=True, help="Decides about spread and random samples.")
@click.option(
    "--window",
    metavar="DURATION",
    help="The windows of time, such as PT1H, for which rules with a metric hold that name no window of their own. "
    "Without it, they hold for all records that are read.",
)
@click.option(
    "--from-file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Test the records in a file: lines of consume --json, an object container file, or messages.",
)
@click.option(
    "--bundle",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Take schemas from a file of counterfoil bundle.",
)
@click.option(
    "--schemas", metavar="FOLDER", help="Take schemas from a folder whose files are named by their ids: 7.avsc."
)
@click.option(
    "--engine",
    type=click.Choice(["python", "spark"]),
    default="python",
    show_default=True,
    help="spark reads all partitions at once, and needs the extra converter.",
)
@click.option(
    "--show-values", is_flag=True, help="Print values of failing fields, except personal and classified ones."
)
@click.option(
    "--publish",
    is_flag=True,
    help="Store the results in the registry: as verifications of the contracts, and as statistics of the topics.",
)
@environment_option(
    "The environment of the records. Default: that of the server that --server names.",
)
@click.option("--build-url", metavar="URL", help="With --publish: the address of the build.")
@fail_on_option
@click.option("--allow-empty", is_flag=True, help="Exit 0, not 4, when there was no record to test.")
@project_option
@registry_options(THE_REGISTRY)
@kafka_options
@output_options()
@click.pass_context
def test(
    context: click.Context,
    paths: tuple[str, ...],
    topics: tuple[str, ...],
    server: str | None,
    proposed: str | None,
    sample: str,
    limit: int,
    limit_bytes: int | None,
    seed: int,
    window: str | None,
    from_file: str | None,
    bundle: str | None,
    schemas: str | None,
    engine: str,
    show_values: bool,
    publish: bool,
    environment: str | None,
    build_url: str | None,
    fail_on: str | None,
    allow_empty: bool,
    config: str | None,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    writer: ReportWriter,
) -> ExitCode:
    """Test records of the topics of contract files (ODCS) against what the contracts promise.

    PATHS are files and folders; without any, the current folder. Every record is decoded with the schema that it names.
    Then the promises of the contract are evaluated, and what consumers (product files, ODPS) among the files expect.
    Records are read without a consumer group, only committed ones, and no offset is committed.

    With --publish the contracts must be published as they are here. The results are stored whatever they are; a
    verification has passed if no check of the contract's own file has an error.

    Exit codes: 0 no finding, 1 at least one finding of --fail-on, 2 usage, 4 there was no record or no contract, or
    with --publish the registry does not know the contract or the environment, 11 registry or broker unreachable, 12
    registry or broker refused, 13 the contract is published with other content, 14 a topic, a file or an extra is
    missing.
    """
    from datetime import UTC, datetime

    from counterfoil.contracts.lint.lint import collect
    from counterfoil.contracts.reports.lint import limit_of
    from counterfoil.contracts.testing.session import TestSession, TestSettings, exit_code_of
    from counterfoil.contracts.testing.sources import SampleChoice, chosen_tests
    from counterfoil.contracts.testing.verdict import RecordForms

    _check_options(context)
    choice = SampleChoice.parse(sample, limit=limit, limit_bytes=limit_bytes, seed=seed)
    collected = collect(".", paths, config=config)
    tests = chosen_tests(collected.given, topics=topics, server=server, window_ms=_window_ms(window))
    least = limit_of(fail_on, collected.project)
    if len(tests) != 1 and (proposed is not None or from_file is not None):
        option = "--proposed" if proposed is not None else "--from-file"
        raise click.UsageError(f"{option} is about one topic, and {len(tests)} are tested; name it with --topic")
    opened = opened_once(registry_of(_at_server(registry, tests), collected.project), context)
    settings = TestSettings(
        choice=choice,
        registry=_schemas(opened, context, bundle, schemas),
        kafka=kafka,
        proposed=proposed,
        shows_values=show_values,
        from_file=from_file,
        engine=engine,
        environment=environment,
        project=collected.project,
        today=datetime.now(UTC).date(),
    )
    publisher = None
    if publish and tests:
        from counterfoil.contracts.testing.session import ResultPublisher

        given = collected.given
        publisher = ResultPublisher(
            opened(), tests, read=given.read, environment=environment, build_url=build_url or ""
        )
    with Waiting("testing records"):
        report = TestSession(settings).run(tests)
    code = exit_code_of(report, least, is_empty_fine=allow_empty)
    writer.write(RecordForms(report, code, least), prefix=collected.prefix)
    if publisher is not None:
        _publish(publisher, report, is_quiet=writer.is_quiet)
    return code


def _publish(publisher: ResultPublisher, report: TestReport, *, is_quiet: bool) -> None:
    """Store the results, and print what was stored on standard error, since reports are on standard output."""
    from counterfoil.contracts.reports import printable

    for line in publisher.publish(report):
        if not is_quiet:
            click.echo(printable(line), err=True)


def _check_options(context: click.Context) -> None:
    """Raise ``UsageError`` for options that exclude or need one another."""
    given = context.params
    if given["from_file"] is not None and given["engine"] == "spark":
        raise click.UsageError("--engine spark reads topics, and --from-file names a file")
    if given["limit_bytes"] is not None and given["engine"] == "spark":
        raise click.UsageError("--limit-bytes ends a test early, which --engine spark cannot do")
    if given["bundle"] is not None and given["schemas"] is not None:
        raise click.UsageError("give --bundle or --schemas, and not both")
    if given["build_url"] is not None and not given["publish"]:
        raise click.UsageError("--build-url is about what --publish stores; give both")


def _window_ms(text: str | None) -> int:
    """Return the length of a window; 0 without one."""
    from counterfoil.schema.sampling import read_duration_ms

    if text is None:
        return 0
    try:
        length = read_duration_ms(text)
    except ValueError:
        length = 0
    if length <= 0:
        raise click.UsageError(f"--window {text!r} is no duration such as PT1H or P1D")
    return length


def _at_server(access: RegistryAccess, tests: list[ChosenTest]) -> RegistryAccess:
    """Return the access to the registry that is given, else to that of the contracts' server."""
    named = next((each.server.registry for each in tests if each.server is not None and each.server.registry), None)
    return access if access.is_given else access.at(named)


def _schemas(
    registry: Callable[[], Registry], context: click.Context, bundle: str | None, folder: str | None
) -> Callable[[], Registry]:
    """Return the function that opens what schemas come from: the registry, a bundle, or a folder."""
    if bundle is None and folder is None:
        return registry
    from counterfoil.contracts.testing.sources import registry_of_folder
    from counterfoil.sdk.client import Registry

    held = context.with_resource(Registry.from_bundle(bundle) if bundle else registry_of_folder(folder or ""))
    return lambda: held
