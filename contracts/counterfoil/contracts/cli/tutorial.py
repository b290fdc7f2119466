"""``counterfoil tutorial``: the files and the start state of a tutorial, in an empty folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from counterfoil.sdk.commands.output import as_json, print_json
from counterfoil.sdk.kafka.options import BOOTSTRAP_SERVERS
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.sdk.registry_options import RegistryAccess

_FOLDER: Final = click.argument("folder", type=click.Path(path_type=Path))
_DEFAULT_BROKERS: Final = "localhost:9092"


@click.group()
def tutorial() -> None:
    """Make the start of a tutorial in a folder: its files, and what a registry has before the first step.

    The folder must be empty, or not exist yet. The pages of the tutorials say which commands follow.
    """


@tutorial.command()
@_FOLDER
@as_json
def quickstart(folder: Path, as_json: bool) -> None:
    """Make a git repository with a schema and a change of it that breaks (docs/quickstart-check.md).

    Exit codes: 0 made, 2 usage, 14 the folder is not empty, or git is not installed.
    """
    from counterfoil.contracts.tutorials.quickstart import lay_quickstart

    _print("quickstart", folder, lay_quickstart(folder), ("counterfoil check",), as_json=as_json)


@tutorial.command(name="intended-break")
@_FOLDER
@registry_options(THE_REGISTRY)
@as_json
def intended_break(folder: Path, registry: RegistryAccess, as_json: bool) -> None:
    """Make the repository of a contract, and a registry in which it is live (docs/tutorial-intended-break.md).

    Exit codes: 0 made, 2 usage, 11 registry unreachable, 12 registry refused, 13 the registry has other content of
    these names, 14 the folder is not empty, or git is not installed.
    """
    from counterfoil.contracts.tutorials.intended_break import lay_intended_break

    with registry.open() as client:
        made = lay_intended_break(folder, client)
    steps = ("counterfoil can-i-deploy --retire orders.placed@1 --environment production",)
    _print("intended-break", folder, made, steps, as_json=as_json)


@tutorial.command()
@_FOLDER
@registry_options(THE_REGISTRY)
@click.option(
    "--bootstrap-servers",
    "brokers",
    envvar=BOOTSTRAP_SERVERS,
    default=_DEFAULT_BROKERS,
    show_default=True,
    metavar="HOST:PORT",
    help=f"The Kafka brokers that the programs connect to.  [{BOOTSTRAP_SERVERS}]",
)
@as_json
def migrate(folder: Path, registry: RegistryAccess, brokers: str, as_json: bool) -> None:
    """Write a schema, a producer and a service of a topic (docs/migrating-a-topic.md).

    Exit codes: 0 made, 2 usage, 11 registry unreachable, 12 registry refused, 13 the registry has another schema, 14
    the folder is not empty.
    """
    from counterfoil.contracts.cli.options import shown_address
    from counterfoil.contracts.tutorials.migrate import lay_migration

    with registry.open() as client:
        made = lay_migration(folder, client, address=shown_address(registry.url or ""), brokers=brokers)
    _print("migrate", folder, made, ("python old_producer.py",), as_json=as_json)


def _print(name: str, folder: Path, made: str, steps: tuple[str, ...], *, as_json: bool) -> None:
    """Print what was made, and the commands that come next."""
    if as_json:
        print_json({"tutorial": name, "folder": str(folder), "made": made, "next": [f"cd {folder}", *steps]})
        return
    click.echo(f"{made}.")
    click.echo(f"Next: cd {folder} && {' && '.join(steps)}")
