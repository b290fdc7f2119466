"""``counterfoil export``, ``import`` and ``compare``. Light to import: all else is loaded when a command runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_Command = TypeVar("_Command", bound="Callable[..., Any]")

_STORE_HELP: Final = (
    "The store itself: sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/database."
)
_URL_HELP: Final = "A running registry, asked over its REST API."


def _access_options(command: _Command) -> _Command:
    """The options that say how patiently registries are asked."""
    options = (
        click.option(
            "--timeout-s",
            type=click.FloatRange(min=0.1),
            default=30.0,
            show_default=True,
            help="How long a request may take.",
        ),
        click.option(
            "--retries",
            type=click.IntRange(min=0),
            default=5,
            show_default=True,
            help="How often a request is made again when no answer comes, or 429 or 5xx.",
        ),
        click.option(
            "--concurrency",
            type=click.IntRange(min=1, max=256),
            default=16,
            show_default=True,
            help="How many requests are under way at once.",
        ),
        click.option(
            "--ca-file",
            type=click.Path(dir_okay=False),
            help="Certificates to trust, in place of the system's.",
        ),
        click.option("--quiet", is_flag=True, help="Say nothing on standard error but errors."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _login_options(prefix: str, variable: str, whose: str) -> Callable[[_Command], _Command]:
    """``--PREFIXuser`` and ``--PREFIXtoken`` for one registry, each with its variable of the environment."""

    def add(command: _Command) -> _Command:
        name = f"--{prefix}user"
        user = click.option(
            name,
            metavar="NAME:PASSWORD",
            envvar=f"{variable}USER",
            show_envvar=True,
            help=f"Basic authentication at {whose}.",
        )
        token = click.option(
            f"--{prefix}token", envvar=f"{variable}TOKEN", show_envvar=True, help=f"Bearer token for {whose}."
        )
        return user(token(command))

    return add


def _place_options(command: _Command) -> _Command:
    store = click.option("--store", envvar="COUNTERFOIL_STORE", show_envvar=True, help=_STORE_HELP)
    url = click.option("--url", help=_URL_HELP)
    return store(url(_login_options("", "COUNTERFOIL_", "the registry of --url")(command)))


@click.command(name="export")
@click.argument("file", type=click.Path(dir_okay=False))
@_place_options
@click.option("--skip-unreadable", is_flag=True, help="Leave out what cannot be read, and say what.")
@_access_options
def export_command(file: str, **options: Any) -> int:
    """Write all of a registry into FILE: JSON Lines with a checksum, compressed when the name ends in .gz.

    Schemas with ids, versions, soft-deleted versions and times, contexts, config, modes, and what is kept beside
    schemas. A file that is there is replaced when all is written.

    Exit codes: 0 written, 2 usage, 11 registry unreachable, 12 registry refused, 13 written to meanwhile, 14 store or
    file cannot be used.
    """
    from counterfoil.registry.moving.commands import run_export

    return run_export(file, options)


@click.command(name="import")
@click.argument("file", type=click.Path(dir_okay=False), required=False)
@click.option("--from", "from_url", metavar="URL", help="Copy this running registry in place of a file.")
@click.option(
    "--from-topic", metavar="FILE", type=click.Path(dir_okay=False),
    help="Read a dump of the topic _schemas, made with print.key=true or as JSON lines.",
)  # fmt: skip
@_place_options
@_login_options("from-", "COUNTERFOIL_FROM_", "the registry of --from")
@click.option("--dry-run", is_flag=True, help="Write nothing; list every clash and everything that cannot be read.")
@click.option("--skip-unreadable", is_flag=True, help="Leave out what cannot be read, and say what.")
@_access_options
def import_command(file: str | None, **options: Any) -> int:
    """Bring the backup FILE, the registry of --from, or the topic of --from-topic into a registry.

    Ids and version numbers are kept. Nothing is written while anything clashes with what is there. An import that was
    cut off is begun again with the same command; one that is complete changes nothing.

    Exit codes: 0 imported, or nothing in the way of it, 1 read back otherwise than written, 2 usage, 11 registry
    unreachable, 12 registry refused, 13 clashes, 14 file damaged, content unreadable, store cannot be used.
    """
    from counterfoil.registry.moving.commands import run_import

    return run_import(file, options)


@click.command(name="compare")
@click.argument("url1")
@click.argument("url2")
@_login_options("left-", "COUNTERFOIL_LEFT_", "URL1")
@_login_options("right-", "COUNTERFOIL_RIGHT_", "URL2")
@click.option("--verdicts", is_flag=True, help="Also have both judge every version against its subject's latest.")
@click.option("--json", "as_json", is_flag=True, help="Report as one JSON document.")
@_access_options
def compare_command(url1: str, url2: str, **options: Any) -> int:
    """List every difference between the registries URL1 (left) and URL2 (right).

    Contexts, subjects, versions with the soft-deleted ones, ids, canonical texts, references, metadata, rules, config
    and modes.

    Exit codes: 0 the same, 1 different, 2 usage, 11 registry unreachable, 12 registry refused.
    """
    from counterfoil.registry.moving.commands import run_compare

    return run_compare(url1, url2, options)
