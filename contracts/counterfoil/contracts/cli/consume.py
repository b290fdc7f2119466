"""``counterfoil decode`` and ``consume``: one message, and a few records of a topic, are read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.options import ReportWriter, needed, opened_once
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.texts import excerpt
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, kafka_options, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.records.topic import KafkaTopic, Start
    from counterfoil.sdk.kafka import KafkaAccess


# ``counterfoil decode``: one message, taken apart.


@click.command()
@click.argument("message", required=False)
@registry_options(THE_REGISTRY)
@click.option("--base64", "is_base64", is_flag=True, help="MESSAGE is base64; without this option it is hexadecimal.")
@click.option("--file", metavar="FILE", help="Read the bytes of the message from a file; - is standard input.")
@click.option("--topic", metavar="TOPIC", help="Read the message from a topic.")
@kafka_options
@click.option("--partition", type=click.IntRange(min=0), default=0, show_default=True, help="The partition of --topic.")
@click.option("--offset", type=click.IntRange(min=0), help="The offset in the partition.  [default: the last message]")
@click.option("--key", "is_key", is_flag=True, help="Take the record's key, not its value.")
@click.option("--header", metavar="HEX", help="The header of the record that names its schema (__value_schema_id).")
@click.option(
    "--reader",
    metavar="SCHEMA",
    help="Also read it as this schema: a file, REF:PATH in git, or SUBJECT@VERSION in the registry.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def decode(
    message: str | None,
    registry: RegistryAccess,
    is_base64: bool,
    file: str | None,
    topic: str | None,
    kafka: KafkaAccess | None,
    partition: int,
    offset: int | None,
    is_key: bool,
    header: str | None,
    reader: str | None,
    as_json: bool,
) -> ExitCode:
    """Print the frame, the schema and the value of one message, which is MESSAGE, a file, or a record of a topic.

    With --reader also what changed from the writer's schema to the reader's, the value as it is read, and the place
    where that fails.

    Exit codes: 0 read, 1 the message cannot be read, 2 usage, 11 registry or broker unreachable, 12 registry refused,
    14 a file, a schema or a record is missing.
    """
    from counterfoil.contracts.baselines.operands import read_operand
    from counterfoil.contracts.records.message import json_decoded, take_apart, text_decoded
    from counterfoil.sdk.errors import SerdeError

    if sum(one is not None for one in (message, file, topic)) != 1:
        raise click.UsageError("give MESSAGE, --file or --topic, and only one of them")
    named = _bytes_of(header, is_base64=False, what="--header") if header is not None else None
    if topic is not None:
        from counterfoil.contracts.records.topic import fetch_record

        data, named = fetch_record(needed(kafka, "--topic"), topic, partition, offset, is_key=is_key)
    else:
        data = _bytes_of(message, is_base64=is_base64, what="MESSAGE") if message is not None else _file_bytes(file)
    with registry.open() as client:
        expected = None if reader is None else read_operand(reader, ".", registry=lambda: client)
        try:
            found = take_apart(data, named=named, registry=client, reader=expected)
        except SerdeError as error:
            click.echo(f"counterfoil: {error}", err=True)
            return ExitCode.BROKEN
    if as_json:
        click.echo(json_decoded(found), nl=False)
    else:
        click.echo(text_decoded(found, ReportWriter(is_quiet=True).style()), nl=False)
    is_unread = found.reader is not None and found.reader[1].error is not None
    return ExitCode.BROKEN if found.written.error is not None or is_unread else ExitCode.OK


def _bytes_of(text: str, *, is_base64: bool, what: str) -> bytes:
    import base64
    import binascii

    try:
        if is_base64:
            return base64.b64decode(text, validate=True)
        return bytes.fromhex(text.replace("\\x", "").removeprefix("0x"))
    except (binascii.Error, ValueError) as error:
        form = "base64" if is_base64 else "hexadecimal: two of 0 to 9 and a to f for each byte, such as 0000000007"
        raise click.UsageError(f"{what} is {excerpt(repr(text), 60)}, which is not {form}") from error


def _file_bytes(file: str | None) -> bytes:
    from pathlib import Path

    return sys.stdin.buffer.read() if file in {None, "-"} else Path(str(file)).read_bytes()


# ``counterfoil consume``: a few records of a topic.

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
    from counterfoil.contracts.records.message import PartForm, PartReader
    from counterfoil.contracts.records.topic import KafkaTopic, Start
    from counterfoil.contracts.values import one_line

    place = Start.parse(start)
    client = opened_once(registry, context)
    expected = None if reader is None else read_operand(reader, ".", registry=client)
    keys = PartReader(client, None if key_as is None else PartForm(key_as))
    values = PartReader(client, PartForm(value_as), reader=expected)
    code = ExitCode.OK
    with KafkaTopic(needed(kafka, "consume"), topic) as opened:
        ranges = _ranges(opened, place, partitions, follows=follow or start == "end")
        for record in islice(opened.read(ranges), limit):
            key, value = keys.read(*record.half(is_key=True)), values.read(*record.half(is_key=False))
            click.echo(one_line(document_of(record, key, value)) if as_json else row_of(record, key, value))
            if errors_of(key, value):
                code = ExitCode.BROKEN
    return code


def _ranges(
    topic: KafkaTopic, start: Start, wanted: Sequence[int], *, follows: bool
) -> dict[int, tuple[int, int | None]]:
    """Return the first offset of each partition, and the end of what it has now, unless it is followed."""
    from counterfoil.contracts.errors import InputNotFound

    known = topic.partitions()
    for one in wanted:
        if one not in known:
            raise InputNotFound(f"topic {topic.name!r} has no partition {one}; it has {len(known)}, from 0")
    bounds = {one: topic.bounds(one) for one in wanted or known}
    first = start.offsets(topic, bounds)
    return {one: (first[one], None if follows else end) for one, (_, end) in bounds.items()}
