"""``counterfoil db``: upgrade, check and measure a store. Light to import; each command loads what it needs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from counterfoil.registry.settings import DEFAULT_STORE
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

_STORE = click.option(
    "--store",
    default=DEFAULT_STORE,
    show_default=True,
    envvar="COUNTERFOIL_STORE",
    metavar="URL",
    help="sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/database. [COUNTERFOIL_STORE]",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")


@contextmanager
def _extra_is_there() -> Iterator[None]:
    """Where a package of the extra is missing, that is said."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise click.ClickException(
            f"the registry needs the package {missing.name}; install it with: pip install 'counterfoil[registry]'"
        ) from None


@click.group()
def db() -> None:
    """Look after a registry's store: upgrade, check, stats."""


@db.command()
@_STORE
@click.option("--sql", is_flag=True, help="Write the statements, and change nothing: to be read, or run by hand.")
@click.option(
    "--from",
    "found",
    type=click.IntRange(min=0),
    metavar="FORMAT",
    help="With --sql: the format to begin with, 0 for a new store; nothing is connected then.",
)
def upgrade(*, store: str, sql: bool, found: int | None) -> ExitCode:
    """Bring a store to the format of this version, in one transaction.

    Stop its servers and back it up before. An empty PostgreSQL database becomes a new store; a SQLite file that is not
    there is refused, since only `counterfoil serve` and `counterfoil import` make one.
    """
    if found is not None and not sql:
        raise click.UsageError("--from says what --sql begins with; give both")
    with _extra_is_there():
        from counterfoil.registry.store import upgrading
    if sql:
        begun = upgrading.find_format(store) if found is None else found
        click.echo(upgrading.upgrade_sql(store, begun), nl=False)
    else:
        click.echo(upgrading.upgrade(store).sentence)
    return ExitCode.OK


@db.command()
@_STORE
@_JSON
def check(*, store: str, as_json: bool) -> ExitCode:
    """Hold a store against everything that must be true of it; 1 when something is not.

    Servers may run meanwhile: the store is read as it was at one moment.
    """
    with _extra_is_there():
        from counterfoil.registry.store.inspection.reports import write_check
    return ExitCode.OK if write_check(store, click.echo, as_json=as_json) else ExitCode.BROKEN


@db.command()
@_STORE
@_JSON
def stats(*, store: str, as_json: bool) -> ExitCode:
    """Count what a store holds, and how large it is."""
    with _extra_is_there():
        from counterfoil.registry.store.inspection.reports import write_stats
    write_stats(store, click.echo, as_json=as_json)
    return ExitCode.OK
