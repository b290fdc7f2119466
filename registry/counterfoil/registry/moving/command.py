"""``counterfoil export``, ``import`` and ``compare``. Light to import: all else is loaded when a command runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from counterfoil.sdk.commands import as_json, require_file
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryRole, registry_options

if TYPE_CHECKING:
    from collections.abc import Callable


_Command = TypeVar("_Command", bound="Callable[..., Any]")

_STORE_HELP: Final = (
    "The URL of the store: sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/database."
)
_REGISTRY: Final = THE_REGISTRY._replace(about="The URL of a running registry, used through its REST API.")
_ORIGIN: Final = RegistryRole(
    "origin",
    "COUNTERFOIL_FROM_",
    prefix="from-",
    spellings=("--from",),
    whose="the registry of --from",
    about="Copy this running registry instead of a file.",
)
_LEFT: Final = RegistryRole("left", "COUNTERFOIL_LEFT_", prefix="left-", whose="URL1")
_RIGHT: Final = RegistryRole("right", "COUNTERFOIL_RIGHT_", prefix="right-", whose="URL2")


def _working_options(command: _Command) -> _Command:
    """Add the options for the number of simultaneous requests and for progress reports."""
    concurrency = click.option(
        "--concurrency",
        type=click.IntRange(min=1, max=256),
        default=16,
        show_default=True,
        help="How many requests are sent at the same time.",
    )
    quiet = click.option("--quiet", is_flag=True, help="Print only errors on standard error.")
    return concurrency(quiet(command))


_STORE: Final = click.option("--store", envvar="COUNTERFOIL_STORE", show_envvar=True, help=_STORE_HELP)


@click.command(name="export")
@click.argument("file", type=click.Path(dir_okay=False), callback=require_file)
@_STORE
@registry_options(_REGISTRY)
@click.option("--skip-unreadable", is_flag=True, help="Leave out what cannot be read, and list it.")
@click.option(
    "--with-access", is_flag=True, help="Also users, tokens and rules, with the hashes of passwords (with --store)."
)
@as_json
@_working_options
def export_command(file: str, **options: Any) -> int:
    """Write the whole content of a registry to FILE: JSON Lines with a checksum, compressed when the name ends in .gz.

    It has schemas with ids, versions, soft-deleted versions and times, contexts, config, modes, and what is stored with
    schemas. An existing file is replaced when the new one is complete.

    Exit codes: 0 written, 2 usage, 11 registry unreachable, 12 registry refused, 13 the registry changed during the
    export, 14 store or file cannot be used.
    """
    from counterfoil.registry.moving.runs import run_export

    return run_export(file, options)


@click.command(name="import")
@click.argument("file", type=click.Path(dir_okay=False), required=False)
@click.option(
    "--from-topic", metavar="FILE", type=click.Path(dir_okay=False),
    help="Read a dump of the topic _schemas, made with print.key=true or as JSON lines.",
)  # fmt: skip
@_STORE
@registry_options(_REGISTRY, _ORIGIN)
@click.option("--dry-run", is_flag=True, help="Write nothing; list every clash and everything that cannot be read.")
@click.option("--skip-unreadable", is_flag=True, help="Leave out what cannot be read, and list it.")
@as_json
@_working_options
def import_command(file: str | None, **options: Any) -> int:
    """Import the backup FILE, the registry of --from, or the topic of --from-topic into a registry.

    Ids and version numbers are kept. Nothing is written when any content contradicts existing content (a clash). To
    continue an interrupted import, run the same command again; repeating a complete import changes nothing.

    Exit codes: 0 imported (with --dry-run: no clash), 1 read back with other content than written, 2 usage, 11 registry
    unreachable, 12 registry refused, 13 clashes, 14 file damaged, content unreadable, store cannot be used.
    """
    from counterfoil.registry.moving.runs import run_import

    return run_import(file, options)


@click.command(name="compare")
@click.argument("url1")
@click.argument("url2")
@registry_options(_LEFT, _RIGHT)
@click.option(
    "--verdicts",
    is_flag=True,
    help="Also compare the verdicts of both on every version against the latest of its subject.",
)
@as_json
@_working_options
def compare_command(url1: str, url2: str, **options: Any) -> int:
    """List every difference between the registries URL1 (left) and URL2 (right).

    Compared are contexts, subjects, versions with the soft-deleted ones, ids, canonical texts, references, metadata,
    rules, config and modes.

    Exit codes: 0 the same, 1 different, 2 usage, 11 registry unreachable, 12 registry refused.
    """
    from counterfoil.registry.moving.runs import run_compare

    return run_compare(url1, url2, options)
