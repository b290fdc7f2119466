"""``counterfoil bridge``: the options of its sub-commands. What they do is in :mod:`counterfoil.converter.commands`."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.exit_codes import ExitCode

_FILE = click.argument("file", type=click.Path(path_type=Path))
_REGISTRY = registry_options(THE_REGISTRY)
_BROKER = click.option(
    "--bootstrap-servers",
    envvar="COUNTERFOIL_BOOTSTRAP_SERVERS",
    metavar="HOST:PORT",
    help="The Kafka cluster. [COUNTERFOIL_BOOTSTRAP_SERVERS]",
)
_ENGINE = click.option(
    "--engine",
    type=click.Choice(["sql", "reference"]),
    default="sql",
    show_default=True,
    help="What converts: Spark's own expressions, or the evaluator that defines the rules (slow, no spark-avro).",
)
_JARS = click.option(
    "--jars",
    envvar="COUNTERFOIL_JARS",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder with Spark's Kafka and Avro connectors; without it they come from Maven Central. [COUNTERFOIL_JARS]",
)
_MASTER = click.option("--master", help="Spark's master.  [default: local[*], or what spark-submit says]")
_FORMAT = click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="text|json[=FILE]",
    help="The form of the report, and where it goes; may be given more than once.  [default: text]",
)


def _options(*options: Callable[..., Any]) -> Callable[..., Any]:
    """One decorator that is all of ``options``, in the order of the help page."""
    return lambda function: reduce(lambda inner, option: option(inner), reversed(options), function)


@click.group()
def bridge() -> None:
    """Carry records from one topic and schema to another, by a plan: plan, check, run, verify."""


@bridge.command()
@_options(_FILE, _REGISTRY, _FORMAT)
@click.option(
    "--source-schema",
    type=click.Path(path_type=Path),
    help="An Avro schema file in place of the source's subject; with --target-schema, no registry is asked.",
)
@click.option(
    "--target-schema", type=click.Path(path_type=Path), help="An Avro schema file in place of the target's subject."
)
def plan(**options: Any) -> ExitCode:
    """Show how every field of the target is filled; 1 when anything is left open."""
    from counterfoil.converter.commands import show_plan

    return show_plan(**options)


@bridge.command()
@_options(_FILE, _REGISTRY, _BROKER, _ENGINE, _JARS, _MASTER, _FORMAT)
@click.option("--sample", default=1000, show_default=True, help="How many records to try: oldest, newest and random.")
@click.option("--seed", default=0, show_default=True, help="Which random records are tried.")
def check(**options: Any) -> ExitCode:
    """Try the plan on sampled records: static plan, topics, the reference and the engine side by side."""
    from counterfoil.converter.commands import check_bridge

    return check_bridge(**options)


@bridge.command()
@_options(_FILE, _REGISTRY, _BROKER, _ENGINE, _JARS, _MASTER)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder that remembers how far the bridge is; local or mounted. A restart names the same one.  "
    "[default: checkpoints/BRIDGE beside FILE]",
)
@click.option(
    "--available-now/--continuous",
    default=True,
    show_default=True,
    help="Convert what is there and end, or go on with what comes.",
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
    "--max-offsets-per-trigger",
    type=click.IntRange(min=1),
    default=500_000,
    show_default=True,
    help="The size of a batch, which is also what a restart reads again.",
)
@click.option("--create-topics", is_flag=True, help="Create the target topic, set up as the source, if it is missing.")
@click.option("--force", is_flag=True, help="Go on from a checkpoint that another plan made.")
def run(**options: Any) -> ExitCode:
    """Convert, Kafka to Kafka, from where the checkpoint stands; Ctrl-C ends it after the current batch."""
    from counterfoil.converter.commands import run_bridge

    return run_bridge(**options)


@bridge.command()
@_options(_FILE, _REGISTRY, _BROKER, _FORMAT)
@click.option(
    "--sample",
    default="1000",
    show_default=True,
    metavar="N|all",
    help="How many values to compute again with the reference evaluator.",
)
@click.option("--seed", default=0, show_default=True, help="Which values are computed again.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, file_okay=False),
    help="Look only at what this checkpoint says is finished; without it, at the whole source.",
)
def verify(**options: Any) -> ExitCode:
    """Show that every record of the source is on the target or among the dead letters, exactly once."""
    from counterfoil.converter.commands import verify_bridge

    return verify_bridge(**options)
