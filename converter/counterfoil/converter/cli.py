"""``counterfoil bridge`` and ``counterfoil sketch``: their options.

The modules ``command`` of the other folders, and :mod:`counterfoil.converter.commands`, carry them out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from counterfoil.converter.engines.choice import AUTO, ENGINES
from counterfoil.converter.spark.options import SparkOptions, parse_settings
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands import as_json
from counterfoil.sdk.commands.options import THE_REGISTRY, kafka_options, registry_options

if TYPE_CHECKING:
    from counterfoil.converter.run.writers import ServiceAddress


_FILE = click.argument("file", type=click.Path(path_type=Path))
_REGISTRY = registry_options(THE_REGISTRY)


class _Engines(click.Choice[str]):
    """The names of the engines, and :data:`AUTO`."""

    def __init__(self) -> None:
        super().__init__([AUTO, *ENGINES])

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name; the engine ``sql`` of earlier versions is refused with the one that has taken its place."""
        if value == "sql":
            self.fail(
                "there is no engine sql any more; java converts what it converted. Give --engine java", param, ctx
            )
        return super().convert(value, param, ctx)


_ENGINE = click.option(
    "--engine",
    type=_Engines(),
    default=AUTO,
    show_default=True,
    help="The engine: generated Java, or the reference evaluator, which defines the result (slow); auto is the fastest "
    "that covers the plan.",
)
_JARS = click.option(
    "--jars",
    envvar="COUNTERFOIL_JARS",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder with Spark's Kafka connector; without it the connector is downloaded from Maven Central. "
    "[COUNTERFOIL_JARS]",
)
_MASTER = click.option("--master", help="Spark's master.  [default: local[*], or the one that spark-submit is given]")


def _spark_settings(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    try:
        return parse_settings(texts)
    except ValueError as mistake:
        raise click.BadParameter(str(mistake)) from None


_SIZES: Final = {
    "driver_memory": "spark.driver.memory",
    "executor_memory": "spark.executor.memory",
    "executor_cores": "spark.executor.cores",
    "total_executor_cores": "spark.cores.max",
    "num_executors": "spark.executor.instances",
    "packages": "spark.jars.packages",
}
"""The options that spark-submit has, too, and the setting of each."""


def _spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of Spark's session, as ``spark``."""
    given = (
        _MASTER,
        _JARS,
        click.option(
            "--conf",
            multiple=True,
            callback=_spark_settings,
            metavar="NAME=VALUE",
            help="A setting of Spark, such as spark.ui.enabled=true. Repeatable.",
        ),
        click.option("--driver-memory", metavar="SIZE", help="The memory of Spark's driver, such as 2g."),
        click.option("--executor-memory", metavar="SIZE", help="The memory of each executor of a cluster."),
        click.option("--executor-cores", type=click.IntRange(min=1), help="The cores of each executor of a cluster."),
        click.option(
            "--total-executor-cores", type=click.IntRange(min=1), help="The cores that all executors may have together."
        ),
        click.option("--num-executors", type=click.IntRange(min=1), help="The executors, on Kubernetes and YARN."),
        click.option("--packages", metavar="GROUP:NAME:VERSION,…", help="Further jars, from Maven Central."),
    )

    def with_spark(*, master: str | None, jars: Path | None, conf: dict[str, str], **options: object) -> Any:
        sizes = {setting: options.pop(name) for name, setting in _SIZES.items()}
        settings = {**conf, **{setting: str(size) for setting, size in sizes.items() if size is not None}}
        return command(spark=SparkOptions(master, jars, settings), **options)

    return _options(*given)(update_wrapper(with_spark, command))  # type: ignore[no-any-return]  # a decorator


_UNKNOWN_IDS = click.option(
    "--unknown-ids",
    type=click.Choice(["stop", "dead-letters"]),
    default="stop",
    show_default=True,
    help="What to do with records whose schema the registry has and the plan cannot convert; new versions that it can "
    "convert are converted, and ids that the registry does not have are dead letters.",
)


class _CheckpointPlace(click.Path):
    """A folder, or the URI of one in a file system of Hadoop, which stays a text."""

    name = "folder"

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of a folder, or the URI."""
        from counterfoil.converter.run.checkpoint import is_remote

        return value if is_remote(value) else super().convert(value, param, ctx)


_CHECKPOINT = click.option(
    "--checkpoint",
    type=_CheckpointPlace(),
    metavar="FOLDER|URI",
    help="Where the progress is stored: a folder that is local or mounted, or s3a://…, gs://…, abfss://…, hdfs://…, "
    "dbfs:/…. Give a restart the same one.  [default: checkpoints/BRIDGE beside FILE]",
)


def _formats(names: str) -> Callable[..., Any]:
    """Return the options ``--format`` and ``--json`` of a report that has these formats, as ``formats``."""
    given = click.option(
        "--format",
        "formats",
        multiple=True,
        metavar=f"{names}[=FILE]",
        help="The format of the report; with =FILE it is written to a file. Repeatable.  [default: text]",
    )
    short = click.option("--json", "is_json", is_flag=True, help="The same as --format json.")

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        def with_formats(*, formats: tuple[str, ...], is_json: bool, **options: object) -> Any:
            return command(formats=(*formats, "json") if is_json else formats, **options)

        return _options(given, short)(update_wrapper(with_formats, command))  # type: ignore[no-any-return]  # a decorator

    return decorate


_PLAN_FORMAT = _formats("text|json")
_FORMAT = _formats("text|json|junit")
_PROGRESS_TOPIC = click.option(
    "--progress-topic",
    metavar="TOPIC",
    help="The compacted topic with the latest progress of each bridge.  [default: progress.topic in FILE]",
)


def _service_address(_context: click.Context, _parameter: click.Parameter, text: str | None) -> ServiceAddress | None:
    if text is None:
        return None
    from counterfoil.converter.run.writers import parse_address

    try:
        return parse_address(text)
    except ValueError as mistake:
        raise click.BadParameter(str(mistake)) from None


def _options(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Return one decorator that applies all of ``options``, in the order of the help page."""
    return lambda function: reduce(lambda inner, option: option(inner), reversed(options), function)


@click.group()
def bridge() -> None:
    """Run a bridge of a file: plan, check, run, verify it (a Spark job).

    A bridge copies the records of a topic to another topic and schema. What a registry stores of bridges, and their
    states, are 'counterfoil bridges'.
    """


@bridge.command()
@_options(_FILE, _REGISTRY, kafka_options, _PLAN_FORMAT)
@click.option(
    "--source-schema",
    type=click.Path(path_type=Path),
    help="A schema file (.avsc, .proto, .schema.json) instead of the source's subject; with --target-schema, no "
    "registry is needed.",
)
@click.option("--target-schema", type=click.Path(path_type=Path), help="A schema file instead of the target's subject.")
@click.option("--suggest", is_flag=True, help="Suggest rules for open fields, as YAML comments with evidence.")
@click.option(
    "--sample",
    "samples",
    multiple=True,
    metavar="TOPIC|FILE|SKETCH",
    help="Also suggest rules from values: of the source's or the target's topic, of a sketch of one of them, or of a "
    "file with a JSON object in each line (of the source; target=FILE: of the target). Repeatable; implies --suggest.",
)
def plan(**options: Any) -> ExitCode:
    """Print how every field of the target is filled; exit code 1 when a field cannot be filled."""
    from counterfoil.converter.commands.plan import show_plan

    return show_plan(**options)


@bridge.command()
@_options(_FILE, _REGISTRY, kafka_options, _ENGINE, _spark_options, _UNKNOWN_IDS, _CHECKPOINT, _FORMAT)
@click.option("--sample", default=1000, show_default=True, help="How many records to try: oldest, newest and random.")
@click.option("--seed", default=0, show_default=True, help="The seed of the random choice of records.")
def check(**options: Any) -> ExitCode:
    """Try the plan on sampled records: check the topics, and compare the engine with the reference evaluator."""
    from counterfoil.converter.check.command import check_bridge

    return check_bridge(**options)


@bridge.command()
@_options(_FILE, _REGISTRY, kafka_options, _ENGINE, _spark_options, _UNKNOWN_IDS, _CHECKPOINT)
@click.option(
    "--available-now/--continuous",
    default=True,
    show_default=True,
    help="Convert the records that exist now and end, or also convert new records until stopped.",
)
@click.option(
    "--trigger",
    "interval_s",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="With --continuous: the time from the start of one batch to the next.",
)
@click.option(
    "--real-time", is_flag=True, help="Refused: a restart would not know what Spark's real-time trigger has written."
)
@click.option(
    "--max-offsets-per-trigger",
    type=click.IntRange(min=1),
    default=500_000,
    show_default=True,
    help="The largest number of records in a batch; a restart reads at most one batch again.",
)
@click.option(
    "--create-topics",
    is_flag=True,
    help="Create the target topic with the source's settings, and the topic of progress, if they do not exist.",
)
@click.option(
    "--id-service",
    callback=_service_address,
    metavar="[HOST:]PORT",
    help="Where executors reach the driver to look up new schema ids.  [default: spark.driver.host, and a free port]",
)
@click.option(
    "--package",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="A folder of 'bridge package', whose schemas, plan and classes are used; no registry is needed then.",
)
@click.option("--force", is_flag=True, help="Continue from a checkpoint that another plan wrote.")
@click.option(
    "--progress",
    type=click.Choice(["auto", "rich", "plain", "json", "none"]),
    default="auto",
    show_default=True,
    help="How progress is displayed: redrawn in a terminal, a line for each batch, a JSON object for each batch (with "
    "all else on stderr), or not at all; auto is rich in a terminal, else plain.",
)
@_PROGRESS_TOPIC
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve measures for Prometheus on this port while the run goes on; 0 is a free one, which is printed.",
)
@click.option(
    "--metrics-host",
    default="127.0.0.1",
    show_default=True,
    metavar="HOST",
    help="The address at which the measures are served.",
)
@click.option("--json", "is_json", is_flag=True, help="The same as --progress json.")
def run(*, is_json: bool, **options: Any) -> ExitCode:
    """Convert from Kafka to Kafka, from the checkpoint's position; Ctrl-C ends it after the current batch."""
    from counterfoil.converter.commands.run import run_bridge

    if is_json:
        options["progress"] = "json"
    return run_bridge(**options)


@bridge.command()
@_options(_FILE, _REGISTRY, kafka_options, _FORMAT)
@click.option(
    "--sample",
    default="1000",
    show_default=True,
    metavar="N|all",
    help="How many values to compute again with the reference evaluator.",
)
@click.option("--seed", default=0, show_default=True, help="The seed of the random choice of values.")
@click.option(
    "--checkpoint",
    type=_CheckpointPlace(),
    metavar="FOLDER",
    help="Verify only the records that this checkpoint marks as finished; without it, the whole source.",
)
def verify(**options: Any) -> ExitCode:
    """Check that every record of the source was written once, to the target or as a dead letter."""
    from counterfoil.converter.verify import verify_bridge

    return verify_bridge(**options)


@bridge.command()
@click.argument("bridge", metavar="FILE|NAME")
@_options(_REGISTRY, kafka_options, _PROGRESS_TOPIC, _PLAN_FORMAT)
@click.option(
    "--checkpoint",
    type=_CheckpointPlace(),
    metavar="FOLDER",
    help="The checkpoint of the bridge.  [default: checkpoints/BRIDGE beside FILE]",
)
def status(**options: Any) -> ExitCode:
    """Print the state of a bridge and of its latest run: counts, rate, lag, time left, the last error.

    The latest of what the checkpoint and the topic of progress have is printed, and what the registry has stored. With
    a NAME instead of a FILE, one of --registry, --progress-topic and --checkpoint is needed. Exit code 4: nothing is
    known.
    """
    from counterfoil.converter.monitoring.status import show_status

    return show_status(**options)


@bridge.command()
@_options(_FILE, _REGISTRY, kafka_options)
@click.option(
    "--checkpoint",
    type=_CheckpointPlace(),
    metavar="FOLDER",
    help="The checkpoint with the recorded runs.  [default: checkpoints/BRIDGE beside FILE]",
)
@click.option(
    "--verification",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The JSON report of 'counterfoil bridge verify', to include.",
)
@click.option(
    "--show-values",
    is_flag=True,
    help="Show values of dead letters, and sentences that may quote them, but of no field that is tagged PII.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("bridge-report.html"),
    show_default=True,
    help="The file to write; - prints the page.",
)
@as_json
def report(**options: Any) -> ExitCode:
    """Write one HTML page about a bridge: plan, runs, throughput, lag, dead letters, verification.

    The page needs no network. Examples of dead letters are in it if the brokers are named.
    """
    from counterfoil.converter.report.page import report_bridge

    return report_bridge(**options)


@bridge.command()
@_options(_FILE, _REGISTRY, kafka_options, _ENGINE, _spark_options, _CHECKPOINT)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The folder to write; an earlier package in it is replaced.",
)
@click.option(
    "--image", metavar="NAME", help="The image of the job on Kubernetes.  [default: counterfoil-bridge-BRIDGE:latest]"
)
@as_json
def package(**options: Any) -> ExitCode:
    """Write a bridge as a job: main script, jar, schemas, plan, and files for spark-submit, Kubernetes and Databricks.

    The job runs without a registry. Addresses, engine, checkpoint and settings of Spark that are given here are those
    of the job; secrets among the settings are left out.
    """
    from counterfoil.converter.commands.package import package_bridge

    return package_bridge(**options)


@bridge.command()
@_options(_JARS, as_json)
def prepare(**options: Any) -> ExitCode:
    """Write an archive of Spark's classes to the cache folder, so that later runs start in about half the CPU time."""
    from counterfoil.converter.spark.start import prepare_spark

    return prepare_spark(**options)


@bridge.command()
@_options(_FILE, _REGISTRY, kafka_options, _FORMAT)
def replay(**options: Any) -> ExitCode:
    """Convert the dead letters once more, with the plan as it is now; each is converted at most once."""
    from counterfoil.converter.commands.replay import replay_bridge

    return replay_bridge(**options)


@click.command()
@click.argument("topic")
@_options(_REGISTRY, kafka_options, _JARS, _MASTER)
@click.option(
    "--engine",
    type=click.Choice(["spark", "python"]),
    default="spark",
    show_default=True,
    help="What reads the topic: Spark, all partitions at once, or this process alone, without Java, for small topics.",
)
@click.option(
    "--since", metavar="TIME|AGE", help="Read records from this time on: 2026-01-31T12:00, or an age such as 36h or 7d."
)
@click.option(
    "--offsets",
    "ranges",
    multiple=True,
    metavar="PARTITION:FROM-TO",
    help="Read these offsets, TO exclusive; either may be left out. Repeatable; other partitions are not read.",
)
@click.option(
    "--sample",
    type=click.FloatRange(min=0, max=1, min_open=True),
    default=1.0,
    show_default=True,
    metavar="SHARE",
    help="Look at this share of the records, such as 0.01.",
)
@click.option("--seed", default=0, show_default=True, help="The seed of the random choice of records.")
@click.option("--key-subject", metavar="SUBJECT", help="The subject of the keys.  [default: TOPIC-key]")
@click.option("--value-subject", metavar="SUBJECT", help="The subject of the values.  [default: TOPIC-value]")
@click.option(
    "--no-texts", is_flag=True, help="Keep no text of a record: only counts, lengths, numbers and enum symbols."
)
@click.option(
    "--hide-tag",
    "hide",
    multiple=True,
    metavar="TAG",
    help="Keep no value of fields with this tag, in any case of letters. Repeatable.  [default: PII]",
)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the sketch to this file; - prints it."
)
@click.option(
    "--publish", "publishes", is_flag=True, help="Store the sketch in the registry, with the subjects of key and value."
)
@click.option("--json", "as_json", is_flag=True, help="Print the sketch as JSON.")
def sketch(registry: Any, kafka: Any, **options: Any) -> ExitCode:
    """Summarize the records of TOPIC for 'counterfoil check --sketch'.

    The topic is read once, committed records only. The sketch has, for each schema that records were written with and
    for each field, how many values there are, how many are null, the range of numbers and lengths, and the symbols of
    enums and of texts if there are few. It keeps no record, and no value of a field that is tagged PII.

    Exit codes: 0 done, 2 usage, 4 no record could be read, 11 broker or registry unreachable, 12 registry refused, 14
    no such topic, or something is not installed.
    """
    from dataclasses import replace

    from counterfoil.converter.sketch.command import SketchRequest, sketch_topic
    from counterfoil.converter.sketch.scan import SketchOptions

    kept = SketchOptions(options.pop("sample"), options.pop("seed"), texts=not options.pop("no_texts"))
    hide = frozenset(options.pop("hide"))
    return sketch_topic(
        SketchRequest(**options),
        replace(kept, hide=hide) if hide else kept,
        registry=registry,
        kafka=kafka,
    )
