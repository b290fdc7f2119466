"""The options of commands that read or write topics, and the lines of JSON that commands read.

Nothing beyond click and the standard library is imported here, since help pages load this module.
"""

from __future__ import annotations

import sys
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.contracts.records.topic import KafkaAccess
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.registry_options import RegistryAccess

_Command = TypeVar("_Command", bound="Callable[..., Any]")


def kafka_options(command: _Command) -> _Command:
    """Add the options of a Kafka cluster, and pass them as ``kafka``, which is None without an address."""

    def with_access(
        *arguments: Any, bootstrap_servers: str | None, client_settings: tuple[str, ...], **given: Any
    ) -> Any:
        return command(*arguments, kafka=_access(bootstrap_servers, client_settings), **given)

    decorated: Any = update_wrapper(with_access, command)
    decorated = click.option(
        "--client-setting",
        "client_settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="A setting of librdkafka, such as security.protocol=SSL; KEY=@FILE reads it from a file. Repeatable.",
    )(decorated)
    return click.option(  # type: ignore[no-any-return]  # click's decorators return what they decorate
        "--bootstrap-servers",
        envvar="COUNTERFOIL_BOOTSTRAP_SERVERS",
        metavar="HOST:PORT,…",
        help="The address of the Kafka cluster.  [COUNTERFOIL_BOOTSTRAP_SERVERS]",
    )(decorated)


def _access(servers: str | None, given: tuple[str, ...]) -> KafkaAccess | None:
    settings = {}
    for one in given:
        key, separator, value = one.partition("=")
        if not separator or not key:
            raise click.UsageError(f"--client-setting {one!r} is not KEY=VALUE")
        settings[key] = Path(value[1:]).read_text(encoding="utf-8").strip() if value.startswith("@") else value
    if servers is None:
        return None
    from counterfoil.contracts.records.topic import KafkaAccess

    return KafkaAccess(servers, settings)


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
