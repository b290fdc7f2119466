"""``counterfoil consume``: a few records of a topic."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.kafka import needed, opened_once
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.kafka.options import kafka_options
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.contracts.records.start import Start
    from counterfoil.contracts.records.topic import Topic
    from counterfoil.sdk.kafka.access import KafkaAccess
    from counterfoil.sdk.registry_options import RegistryAccess

_FORMS = click.Choice(["schema", "text", "base64"])


@click.command()
@click.argument("topic")
@registry_options(THE_REGISTRY)
@kafka_options
@click.option("--partition", "partitions", type=click.IntRange(min=0), multiple=True, help="Only this one. Repeatable.")
@click.option(
    "--from",
    "start",
    default="beginning",
    show_default=True,
    metavar="PLACE",
    help="Where to start in each partition: beginning, end, an offset, -N for the last N records, or a time.",
)
@click.option("--max", "limit", type=click.IntRange(min=1), metavar="N", help="End after this many records.")
@click.option("--follow", is_flag=True, help="Wait for new records, until --max or an interrupt.")
@click.option("--key-as", type=_FORMS, help="What keys are.  [default: what each looks like]")
@click.option("--value-as", type=_FORMS, default="schema", show_default=True, help="What values are.")
@click.option("--reader", metavar="SCHEMA", help="Read values as this schema: a file, REF:PATH, or SUBJECT@VERSION.")
@click.option("--json", "as_json", is_flag=True, help="Print each record as a line of JSON, which produce reads.")
@click.pass_context
def consume(
    context: click.Context,
    topic: str,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    partitions: tuple[int, ...],
    start: str,
    limit: int | None,
    follow: bool,
    key_as: str | None,
    value_as: str,
    reader: str | None,
    as_json: bool,
) -> ExitCode:
    """Print the records that TOPIC has now; with --follow, or from its end, also those that are written later.

    No consumer group takes part, and no offset is committed. A record that cannot be read is printed as bytes, with the
    reason, and the next one follows.

    Exit codes: 0 all were read, 1 a record cannot be read, 2 usage, 11 registry or broker unreachable, 12 registry
    refused, 14 the topic, a partition or a schema is missing.
    """
    from counterfoil.contracts.baselines.operands import read_operand
    from counterfoil.contracts.records.lines import document_of, errors_of, row_of
    from counterfoil.contracts.records.parts import PartForm, PartReader
    from counterfoil.contracts.records.start import Start
    from counterfoil.contracts.records.topic import Topic
    from counterfoil.contracts.values.form import one_line

    place = Start.parse(start)
    client = opened_once(registry, context)
    expected = None if reader is None else read_operand(reader, ".", registry=client)
    keys = PartReader(client, None if key_as is None else PartForm(key_as))
    values = PartReader(client, PartForm(value_as), reader=expected)
    code = ExitCode.OK
    with Topic(needed(kafka, "consume"), topic) as opened:
        ranges = _ranges(opened, place, partitions, follows=follow or start == "end")
        for record in islice(opened.read(ranges), limit):
            key, value = keys.read(*record.half(is_key=True)), values.read(*record.half(is_key=False))
            click.echo(one_line(document_of(record, key, value)) if as_json else row_of(record, key, value))
            if errors_of(key, value):
                code = ExitCode.BROKEN
    return code


def _ranges(topic: Topic, start: Start, wanted: Sequence[int], *, follows: bool) -> dict[int, tuple[int, int | None]]:
    """Return the first offset of each partition, and the end of what it has now, unless it is followed."""
    from counterfoil.contracts.errors import InputNotFound

    known = topic.partitions()
    for one in wanted:
        if one not in known:
            raise InputNotFound(f"topic {topic.name!r} has no partition {one}; it has {len(known)}, from 0")
    bounds = {one: topic.bounds(one) for one in wanted or known}
    first = start.offsets(topic, bounds)
    return {one: (first[one], None if follows else end) for one, (_, end) in bounds.items()}
