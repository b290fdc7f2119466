"""The pages about the command line: one for each command, with its sub-commands, and the list of all by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.root import root_command
from counterfoil.sdk.commands.options import BriefOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.contracts.cli.root import CommandTable

_WIDTH = 100


def cli_pages() -> dict[str, str]:
    """Return the text of every page, by its name under ``docs/reference/``."""
    root = root_command()
    context = click.Context(root, info_name="counterfoil")
    pages = {"cli.md": "\n".join(_index(root, context))}
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command is not None:
            pages[f"cli/{name}.md"] = "\n".join(_page(command, name))
    return pages


def _index(root: CommandTable, context: click.Context) -> Iterator[str]:
    yield "# Command line"
    yield ""
    yield "Each command has a page. Exit codes are the same for all commands: see [exit codes](../exit-codes.md)."
    for group, rows in root.grouped(context).items():
        yield from ("", f"## {group}", "", "| command | |", "|---|---|")
        for name, line in rows:
            yield f"| [`counterfoil {name}`](cli/{name}.md) | {line} |"
    yield from ("", "## Options of a connection", "", "Every command that names a registry has these.", "", "```")
    yield from _connection_lines(root, context)
    yield "```"


def _page(command: click.Command, name: str) -> Iterator[str]:
    yield f"# counterfoil {name}"
    yield ""
    yield "[All commands](../cli.md), [options of a connection](../cli.md#options-of-a-connection),"
    yield "[exit codes](../../exit-codes.md)."
    for full, each in _with_inner(command, f"counterfoil {name}"):
        inside = click.Context(each, info_name=full, max_content_width=_WIDTH, terminal_width=_WIDTH)
        if each is not command:
            yield from ("", f"## {full}")
        yield from ("", "```", each.get_help(inside).rstrip(), "```")


def _with_inner(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and those below it, with their full names."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            if inner is not None and not inner.hidden:
                yield from _with_inner(inner, f"{name} {each}")


def _connection_lines(root: CommandTable, context: click.Context) -> list[str]:
    """Return the options that the help of commands abbreviates, each with its help."""
    command = root.get_command(context, "usage")
    formatter = click.HelpFormatter(width=_WIDTH, max_width=_WIDTH)
    brief = [each for each in (command.params if command else ()) if isinstance(each, BriefOption)]
    formatter.write_dl([record for each in brief if (record := each.own_help_record(context))])
    return formatter.getvalue().rstrip().splitlines()
