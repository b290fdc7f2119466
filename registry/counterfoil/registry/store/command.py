"""``counterfoil db``: upgrade, check and measure a store, and build its search index anew.

Each command imports what it needs when it runs.
"""

from __future__ import annotations

import json

import click

from counterfoil.registry.settings import DEFAULT_STORE
from counterfoil.schema.errors import needed_by
from counterfoil.schema.exit_codes import ExitCode

_STORE = click.option(
    "--store",
    default=DEFAULT_STORE,
    show_default=True,
    envvar="COUNTERFOIL_STORE",
    metavar="URL",
    help="sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/database. [COUNTERFOIL_STORE]",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")


@click.group()
def db() -> None:
    """Maintain a registry's store: upgrade, check, stats, reindex."""


@db.command()
@_STORE
@click.option("--sql", is_flag=True, help="Print the SQL statements to read or to run by hand, and change nothing.")
@click.option(
    "--from",
    "found",
    type=click.IntRange(min=0),
    metavar="FORMAT",
    help="With --sql: the format to begin with, 0 for a new store; the store is not opened then.",
)
@_JSON
def upgrade(*, store: str, sql: bool, found: int | None, as_json: bool) -> ExitCode:
    """Upgrade a store to this version's format, in one transaction.

    Stop its servers and back it up first. An empty PostgreSQL database becomes a new store. A SQLite file that does not
    exist is refused, since only `counterfoil serve` and `counterfoil import` create one.
    """
    if found is not None and not sql:
        raise click.UsageError("--from is the format that --sql begins with; give both options")
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.store import upgrading
        from counterfoil.registry.store.protocol import FORMAT
    if sql:
        begun = upgrading.find_format(store) if found is None else found
        text = upgrading.upgrade_sql(store, begun)
        if as_json:
            click.echo(json.dumps({"from": begun, "to": FORMAT, "sql": text}, indent=2))
        else:
            click.echo(text, nl=False)
        return ExitCode.OK
    done = upgrading.upgrade(store)
    if as_json:
        facts = {"store": done.shown, "from": done.found, "to": done.format, "changed": done.is_changed}
        click.echo(json.dumps(facts, indent=2))
    else:
        click.echo(done.sentence)
    return ExitCode.OK


@db.command()
@_STORE
@_JSON
def check(*, store: str, as_json: bool) -> ExitCode:
    """Check that the content of a store is consistent; exit code 1 when it is not.

    Servers may run at the same time: the store is read as it was at one moment.
    """
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.store.inspection.invariants import write_check
    return ExitCode.OK if write_check(store, click.echo, as_json=as_json) else ExitCode.BROKEN


@db.command()
@_STORE
@_JSON
def stats(*, store: str, as_json: bool) -> ExitCode:
    """Count the entries of a store, and measure its size."""
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.store.inspection.invariants import write_stats
    write_stats(store, click.echo, as_json=as_json)
    return ExitCode.OK


@db.command()
@_STORE
@_JSON
def reindex(*, store: str, as_json: bool) -> ExitCode:
    """Build the search index of a store anew; its servers may run, and go on searching meanwhile.

    Of a SQLite store that a server has open, that server builds it.
    """
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.search.reindexing import reindex as build
    done = build(store, tell=None if as_json else lambda line: click.echo(line, err=True))
    if as_json:
        facts = {"change": done.change, "unreadable": [list(each) for each in done.unreadable]}
        click.echo(json.dumps({**facts, "sizeBytes": done.size_bytes}, indent=2))
    else:
        for line in done.lines:
            click.echo(line)
    return ExitCode.OK
