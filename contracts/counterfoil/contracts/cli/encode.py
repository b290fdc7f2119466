"""``counterfoil encode``: values as messages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from counterfoil.contracts.cli.kafka import json_lines, opened_once
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands.output import STANDARD_OUTPUT, is_printed
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.sdk.registry_options import RegistryAccess


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
    from counterfoil.contracts.records.writing import ValueWriter, choose_schema, schema_of_id

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


def _written(writer: Any, values: str) -> tuple[list[tuple[int, bytes]], bool]:
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
    from counterfoil.contracts.values.form import shown_bytes

    return shown_bytes(data) if is_base64 else data.hex()


def _line(number: int, data: bytes, schema_id: int | None) -> str:
    from counterfoil.contracts.values.form import one_line, shown_bytes

    return one_line(
        {"line": number, "id": schema_id, "bytes": len(data), "hex": data.hex(), "base64": shown_bytes(data)}
    )
