"""The options of commands that read or write topics.

Nothing beyond click and the standard library is imported here, since help pages load this module.
"""

from __future__ import annotations

from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.sdk.kafka.access import KafkaAccess

_Command = TypeVar("_Command", bound="Callable[..., Any]")

BOOTSTRAP_SERVERS: Final = "COUNTERFOIL_BOOTSTRAP_SERVERS"
"""The variable with the address of the Kafka cluster."""


def kafka_options(command: _Command) -> _Command:
    """Add the options of a Kafka cluster, and pass them as ``kafka``, which is None without an address."""

    def with_access(
        *arguments: Any,
        bootstrap_servers: str | None,
        kafka_config: Path | None,
        client_settings: tuple[str, ...],
        **given: Any,
    ) -> Any:
        return command(*arguments, kafka=_access(bootstrap_servers, kafka_config, client_settings), **given)

    decorated: Any = update_wrapper(with_access, command)
    decorated = click.option(
        "--client-setting",
        "client_settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="A setting of Kafka clients, such as security.protocol=SSL; KEY=@FILE reads it from a file. It replaces "
        "that of --kafka-config. Repeatable.",
    )(decorated)
    decorated = click.option(
        "--kafka-config",
        envvar="COUNTERFOIL_KAFKA_CONFIG",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="A properties file with settings of Kafka clients, such as those of a login, as Kafka's own tools take it "
        "(--command-config).  [COUNTERFOIL_KAFKA_CONFIG]",
    )(decorated)
    return click.option(  # type: ignore[no-any-return]  # click's decorators return what they decorate
        "--bootstrap-servers",
        envvar=BOOTSTRAP_SERVERS,
        metavar="HOST:PORT,…",
        help="The address of the Kafka cluster; without it, bootstrap.servers of --kafka-config.  "
        f"[{BOOTSTRAP_SERVERS}]",
    )(decorated)


def _access(servers: str | None, file: Path | None, given: tuple[str, ...]) -> KafkaAccess | None:
    settings: dict[str, str] = {}
    if file is not None:
        from counterfoil.sdk.kafka.properties import read_properties

        try:
            settings = read_properties(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise click.UsageError(f"the file {file} of --kafka-config is not UTF-8 text") from None
    if servers:
        settings["bootstrap.servers"] = servers
    for one in given:
        key, separator, value = one.partition("=")
        if not separator or not key:
            raise click.UsageError(f"--client-setting {one!r} is not KEY=VALUE")
        settings[key] = Path(value[1:]).read_text(encoding="utf-8").strip() if value.startswith("@") else value
    servers = settings.pop("bootstrap.servers", None)
    if servers is None:
        return None
    from counterfoil.sdk.kafka.access import KafkaAccess

    return KafkaAccess(servers, settings)
