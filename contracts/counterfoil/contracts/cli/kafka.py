"""What commands share that read or write topics: required addresses, and the lines of JSON that they read.

Nothing beyond click and the standard library is imported here, since help pages load this module.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.kafka.access import KafkaAccess
    from counterfoil.sdk.registry_options import RegistryAccess


def needed(kafka: KafkaAccess | None, what: str) -> KafkaAccess:
    """Return the access to Kafka; raise ``UsageError`` if there is no address."""
    if kafka is None:
        raise click.UsageError(f"{what} needs --bootstrap-servers or COUNTERFOIL_BOOTSTRAP_SERVERS")
    return kafka


def opened_once(access: RegistryAccess, context: click.Context) -> Callable[[], Registry]:
    """Return a function that opens the registry at its first call; the end of the command closes it."""
    opened: list[Registry] = []

    def client() -> Registry:
        if not opened:
            opened.append(context.with_resource(access.open()))
        return opened[0]

    return client


def json_lines(file: str) -> Iterator[tuple[int, Any]]:
    """Yield the number and the JSON value of each line of a file (``-`` is standard input) that is not blank.

    A line that is no JSON is a ``ValueError``, which is yielded as the value.
    """
    from counterfoil.contracts.values.form import read_json

    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, read_json(line.decode())
            except ValueError as error:
                yield number, ValueError(f"the line is no JSON: {error}")
