"""``counterfoil decode``: one message, taken apart."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.kafka import needed
from counterfoil.contracts.cli.output import ReportWriter
from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.kafka.options import kafka_options
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.sdk.kafka.access import KafkaAccess
    from counterfoil.sdk.registry_options import RegistryAccess


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
    from counterfoil.contracts.decoding.message import take_apart
    from counterfoil.contracts.decoding.report import json_decoded, text_decoded
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
