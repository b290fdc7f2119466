"""``counterfoil encode`` and ``produce``: values as messages, and a few records for a topic."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from counterfoil.contracts.cli.options import json_lines, needed, opened_once
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands import STANDARD_OUTPUT, as_json, is_printed, print_json
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, kafka_options, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.records.lines import RecordMaker, ValueWriter
    from counterfoil.contracts.records.topic import NewRecord
    from counterfoil.sdk.kafka import KafkaAccess


# ``counterfoil encode``: values as messages.


@click.command()
@click.argument("values", default="-")
@registry_options(THE_REGISTRY)
@click.option("--schema", metavar="SCHEMA", help="The schema: SUBJECT@VERSION, a file, or REF:PATH in git.")
@click.option("--id", "schema_id", type=click.IntRange(min=1), metavar="N", help="The schema with this id.")
@click.option("--subject", metavar="SUBJECT", help="The subject under which the file of --schema is registered.")
@click.option("--bare", is_flag=True, help="Write the value alone, without the prefix that names its schema.")
@click.option("--message", metavar="NAME", help="The Protobuf message type.  [default: the first of the file]")
@click.option("--base64", "is_base64", is_flag=True, help="Print base64; without this option hexadecimal.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the bytes of one message to a file; - is standard output.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document for each value.")
@click.pass_context
def encode(
    context: click.Context,
    values: str,
    registry: RegistryAccess,
    schema: str | None,
    schema_id: int | None,
    subject: str | None,
    bare: bool,
    message: str | None,
    is_base64: bool,
    output: str | None,
    as_json: bool,
) -> ExitCode:
    """Print the messages of VALUES, a file with one JSON value on each line; - is standard input.

    The values have the form that `counterfoil decode` prints. Nothing is registered.

    Exit codes: 0 written, 1 a value does not fit the schema, 2 usage, 4 there is no value, 11 registry unreachable,
    12 registry refused, 14 a file or a schema is missing.
    """
    from counterfoil.contracts.records.lines import ValueWriter, choose_schema, schema_of_id

    _check_options(schema, schema_id, output, as_json=as_json)
    client = opened_once(registry, context)
    chosen = (
        choose_schema(schema, registry=client, subject=subject) if schema else schema_of_id(client(), schema_id or 0)
    )
    if chosen.id is None and not bare:
        raise click.UsageError(f"the id of {schema} is not known; give its --subject, or --bare for the value alone")
    writer = ValueWriter(chosen, registry=client, message=message, id_location=None if bare else "prefix")
    written, has_failed = _written(writer, values)
    if output is not None and not has_failed:
        if len(written) != 1:
            raise click.UsageError(f"--output takes one message, and there are {len(written)}")
        _put(written[0][1], output)
    elif not as_json and output is None:
        for _, data in written:
            click.echo(_text(data, is_base64=is_base64))
    if as_json:
        for number, data in written:
            click.echo(_line(number, data, None if bare else chosen.id))
    if has_failed:
        return ExitCode.BROKEN
    return ExitCode.OK if written else ExitCode.CANNOT_SAY


def _check_options(schema: str | None, schema_id: int | None, output: str | None, *, as_json: bool) -> None:
    if as_json and output == STANDARD_OUTPUT:
        raise click.UsageError("--json and --output - both print; leave one of them out")
    if (schema is None) == (schema_id is None):
        raise click.UsageError("give --schema or --id, and only one of them")


def _put(data: bytes, output: str) -> None:
    """Write the bytes of a message to a file, or to standard output."""
    if is_printed(output):
        sys.stdout.buffer.write(data)
    else:
        Path(output).write_bytes(data)


def _written(writer: ValueWriter, values: str) -> tuple[list[tuple[int, bytes]], bool]:
    """Return the messages with the numbers of their lines, and whether a value was refused, which is reported."""
    from counterfoil.sdk.errors import EncodeError, SerdeError

    written: list[tuple[int, bytes]] = []
    has_failed = False
    for number, value in json_lines(values):
        try:
            if isinstance(value, ValueError):
                raise EncodeError(str(value))
            data = writer.write(value)
            if data is None:
                raise EncodeError("null is a record without a value, and has no bytes")
            written.append((number, data))
        except SerdeError as error:
            has_failed = True
            click.echo(f"counterfoil: line {number}: {error}", err=True)
    return written, has_failed


def _text(data: bytes, *, is_base64: bool) -> str:
    from counterfoil.contracts.values import shown_bytes

    return shown_bytes(data) if is_base64 else data.hex()


def _line(number: int, data: bytes, schema_id: int | None) -> str:
    from counterfoil.contracts.values import one_line, shown_bytes

    return one_line(
        {"line": number, "id": schema_id, "bytes": len(data), "hex": data.hex(), "base64": shown_bytes(data)}
    )


# ``counterfoil produce``: a few records for a topic.

_FORMS = click.Choice(["schema", "text", "base64"])


@click.command()
@click.argument("topic")
@click.argument("lines", default="-")
@registry_options(THE_REGISTRY)
@kafka_options
@click.option("--values", "are_values", is_flag=True, help="Each line is a value; without this option it is a record.")
@click.option(
    "--value-schema",
    metavar="SCHEMA",
    help="The schema of values: SUBJECT@VERSION, a file, or REF:PATH.  [default: that of the line, else "
    "TOPIC-value@latest]",
)
@click.option("--key-schema", metavar="SCHEMA", help="The schema of keys.  [default: that of the line, else text]")
@click.option("--value-as", type=_FORMS, help="What values are.  [default: what the line says, else schema]")
@click.option("--key-as", type=_FORMS, help="What keys are.  [default: what the line says, else text]")
@click.option("--value-message", metavar="NAME", help="The Protobuf message type of values.")
@click.option("--key-message", metavar="NAME", help="The Protobuf message type of keys.")
@click.option(
    "--id-location",
    type=click.Choice(["prefix", "header"]),
    help="Where the schema's id goes.  [default: where the line has it, else prefix]",
)
@click.option("--partition", type=click.IntRange(min=0), metavar="N", help="The partition of all records.")
@click.option("--any-partition", is_flag=True, help="Let the client choose partitions, also for lines that name one.")
@click.option("--dry-run", is_flag=True, help="Write nothing; encode everything and print what would be written.")
@as_json
@click.pass_context
def produce(
    context: click.Context,
    topic: str,
    lines: str,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    are_values: bool,
    value_schema: str | None,
    key_schema: str | None,
    value_as: str | None,
    key_as: str | None,
    value_message: str | None,
    key_message: str | None,
    id_location: Literal["prefix", "header"] | None,
    partition: int | None,
    any_partition: bool,
    dry_run: bool,
    as_json: bool,
) -> ExitCode:
    """Write the records of LINES, a file with one JSON object on each line, to TOPIC; - is standard input.

    A line is what `counterfoil consume --json` prints: value and perhaps key, headers, partition and timestamp; null
    is a record without a value. Schemas have to be registered. Everything is encoded first: if a line does not fit,
    nothing is written.

    Exit codes: 0 written (with --dry-run: it can be), 1 a line does not fit, 2 usage, 4 there is no line, 11 registry
    or broker unreachable, 12 registry refused, 14 the topic, a partition, a file or a schema is missing.
    """
    from counterfoil.contracts.records.lines import PartChoice, RecordMaker
    from counterfoil.contracts.records.message import PartForm

    if partition is not None and any_partition:
        raise click.UsageError("give --partition or --any-partition, and only one of them")
    maker = RecordMaker(
        topic,
        key=PartChoice(None if key_as is None else PartForm(key_as), key_schema, key_message),
        value=PartChoice(None if value_as is None else PartForm(value_as), value_schema, value_message),
        registry=opened_once(registry, context),
        id_location=id_location,
    )
    records, has_failed = _made(maker, lines, are_values=are_values)
    records = [(number, _placed(record, partition, any_partition=any_partition)) for number, record in records]
    if not (records or has_failed):
        click.echo("The input has no lines, so nothing was written.", err=True)
        return ExitCode.CANNOT_SAY
    outcomes = None if dry_run or has_failed else _write(needed(kafka, "produce"), topic, [one for _, one in records])
    _print(topic, records, outcomes, as_json=as_json)
    failures = [one for one in outcomes or () if isinstance(one, str)]
    if failures:
        raise ConnectionError(f"{len(failures)} of {len(records)} records were not written: {failures[0]}")
    return ExitCode.BROKEN if has_failed else ExitCode.OK


def _made(maker: RecordMaker, lines: str, *, are_values: bool) -> tuple[list[tuple[int, NewRecord]], bool]:
    """Return the records with the numbers of their lines, and whether a line was refused, which is reported."""
    from counterfoil.sdk.errors import EncodeError, SerdeError

    made: list[tuple[int, NewRecord]] = []
    has_failed = False
    for number, line in json_lines(lines):
        try:
            if isinstance(line, ValueError):
                raise EncodeError(str(line))
            made.append((number, maker.make({"value": line} if are_values else line)))
        except SerdeError as error:
            has_failed = True
            click.echo(f"counterfoil: line {number}: {error}", err=True)
    return made, has_failed


def _placed(record: NewRecord, partition: int | None, *, any_partition: bool) -> NewRecord:
    from dataclasses import replace

    return replace(record, partition=None if any_partition else record.partition if partition is None else partition)


def _write(kafka: KafkaAccess, name: str, records: Sequence[NewRecord]) -> list[tuple[int, int] | str]:
    from counterfoil.contracts.errors import InputNotFound
    from counterfoil.contracts.records.topic import KafkaTopic

    with KafkaTopic(kafka, name) as topic:
        known = topic.partitions()
        for record in records:
            if record.partition is not None and record.partition not in known:
                raise InputNotFound(f"topic {name!r} has no partition {record.partition}; it has {len(known)}, from 0")
        return topic.write(records)


def _print(
    topic: str,
    records: Sequence[tuple[int, NewRecord]],
    outcomes: Sequence[tuple[int, int] | str] | None,
    *,
    as_json: bool,
) -> None:
    documents = [_document(number, record) for number, record in records]
    for document, outcome in zip(documents, outcomes or (), strict=False):
        if isinstance(outcome, str):
            document["error"] = outcome
        else:
            document["partition"], document["offset"] = outcome
    if as_json:
        print_json({"topic": topic, "written": outcomes is not None, "records": documents})
        return
    for document in documents:
        size = f"key {_size(document['keyBytes'])}, value {_size(document['valueBytes'])}"
        done = "not written"
        if "offset" in document:
            done = f"partition {document['partition']}, offset {document['offset']}"
        click.echo(f"line {document['line']}: {size}: {done}")


def _document(number: int, record: NewRecord) -> JsonObject:
    key, value = record.key, record.value
    return {
        "line": number,
        "partition": record.partition,
        "keyBytes": None if key is None else len(key),
        "valueBytes": None if value is None else len(value),
    }


def _size(count: int | None) -> str:
    return "null" if count is None else f"{count} byte{'' if count == 1 else 's'}"
