"""The root command and its table of sub-commands, which is the distribution's own entry points.

Only our own distribution's table is read, not that of every installed package, and a sub-command's module is imported
when the command is called or when its help line is printed and its entry has none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from counterfoil.contracts.cli.run import (
    DISTRIBUTION,
    MAX_COLUMNS,
    OTHER_COMMANDS,
    SENTENCE,
    CommandEntry,
    by_group,
    find_installed,
)

if TYPE_CHECKING:
    from counterfoil.schema.errors import MissingExtra


def root_command() -> CommandTable:
    """Return the ``counterfoil`` command with the sub-commands that the installed distribution declares."""
    installed = find_installed()
    return command_table(installed.entries, version=installed.version)


def command_table(entries: Iterable[CommandEntry], *, version: str) -> CommandTable:
    """Return a root command over ``entries``; each must load as a click command."""
    table = CommandTable(
        name="counterfoil",
        entries=entries,
        help=SENTENCE,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_COLUMNS},
    )
    return click.version_option(version, prog_name="counterfoil")(table)


class CommandTable(click.Group):
    """A click group that finds its commands in entry points and imports each one when it is called."""

    def __init__(self, *, entries: Iterable[CommandEntry], **settings: Any) -> None:
        super().__init__(**settings)
        self._entry_by_name = {entry.name: entry for entry in entries}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all sub-commands, sorted, without importing any."""
        del ctx
        return sorted(self._entry_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the sub-command; when its extra is not installed, calling it reports that."""
        del ctx
        entry = self._entry_by_name.get(cmd_name)
        if entry is None:
            return None
        try:
            command: click.Command = entry.load()
        except ModuleNotFoundError as missing:
            return _stand_in(cmd_name, _absent(entry, missing))
        return suggesting(command)

    def grouped(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Return the names of the commands with their lines, by group in the order of the help."""
        return by_group((name, *self._listed(ctx, name)) for name in self.list_commands(ctx))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group, each with its line; one is imported only when its entry has no line."""
        width = max(map(len, self._entry_by_name), default=0)
        for group, rows in self.grouped(ctx).items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), line) for name, line in rows])

    def _listed(self, ctx: click.Context, name: str) -> tuple[str, str]:
        try:
            line, group = self._entry_by_name[name].listed()
        except ModuleNotFoundError:
            line, group = None, OTHER_COMMANDS
        if line is None:
            command = self.get_command(ctx, name)
            line = command.get_short_help_str() if command else ""
        return line, group

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the sub-command that ``args`` begin with, or fail with the names that are similar to it."""
        is_name = not args[0].startswith("-") and not ctx.resilient_parsing
        if is_name and args[0] not in self._entry_by_name:
            _refuse(args[0], self, ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the sub-command and return its result; raise ``MissingExtra`` for a module that is not installed."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as missing:
            entry = self._entry_by_name[str(ctx.invoked_subcommand)]
            raise _absent(entry, missing) from missing


class NestedCommands(click.Group):
    """A group below the table, which names the commands that are similar to an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the sub-command that ``args`` begin with, or fail with the names that are similar to it."""
        is_name = not args[0].startswith("-") and not ctx.resilient_parsing
        if is_name and self.get_command(ctx, args[0]) is None:
            _refuse(args[0], self, ctx)
        return super().resolve_command(ctx, args)


def suggesting(command: click.Command) -> click.Command:
    """Return a command as it is, and a plain group, with those inside it, as :class:`NestedCommands`."""
    if type(command) is not click.Group:
        return command
    return NestedCommands(
        name=command.name,
        commands={name: suggesting(inner) for name, inner in command.commands.items()},
        invoke_without_command=command.invoke_without_command,
        no_args_is_help=command.no_args_is_help,
        subcommand_metavar=command.subcommand_metavar,
        chain=command.chain,
        context_settings=command.context_settings,
        callback=command.callback,
        params=command.params,
        help=command.help,
        epilog=command.epilog,
        short_help=command.short_help,
        options_metavar=command.options_metavar,
        add_help_option=command.add_help_option,
        hidden=command.hidden,
        deprecated=command.deprecated,
    )


def _refuse(name: str, group: click.Group, ctx: click.Context) -> NoReturn:
    """Fail with the commands of a group that are similar to an unknown name."""
    from difflib import get_close_matches

    like = " or ".join(repr(each) for each in get_close_matches(name, group.list_commands(ctx)))
    ctx.fail(f"No such command {name!r}.{f' Did you mean {like}?' if like else ''}")


def _absent(entry: CommandEntry, missing: ModuleNotFoundError) -> ModuleNotFoundError | MissingExtra:
    """Return the error for a missing module: ``MissingExtra``, unless no extra of the command brings it."""
    from counterfoil.schema.errors import MissingExtra

    module = missing.name or ""
    is_of_python = module in sys.stdlib_module_names
    if not is_of_python and (not entry.extra or module.partition(".")[0] == DISTRIBUTION):
        return missing
    return MissingExtra(entry.name, module=module, extra=entry.extra)


def _stand_in(name: str, problem: ModuleNotFoundError | MissingExtra) -> click.Command:
    """Return a command that accepts any arguments and raises ``problem``."""

    def complain(rest: tuple[str, ...]) -> None:
        del rest
        raise problem

    return click.Command(
        name,
        callback=complain,
        params=[click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED)],
        short_help=f"Not available: {problem}",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )
