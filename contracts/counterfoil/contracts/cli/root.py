"""The root command and its table of sub-commands, which is the distribution's own entry points.

Only our own distribution's table is read, not that of every installed package, and a sub-command's module is imported
when the command is called or its help line is wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from counterfoil.contracts.cli.installed import DISTRIBUTION, find_installed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.contracts.cli.installed import CommandEntry
    from counterfoil.schema.errors import MissingExtra


def root_command() -> CommandTable:
    """The ``counterfoil`` command with the sub-commands that the installed distribution declares."""
    installed = find_installed()
    return command_table(installed.entries, version=installed.version)


def command_table(entries: Iterable[CommandEntry], *, version: str) -> CommandTable:
    """A root command over ``entries``; each must load as a click command."""
    table = CommandTable(
        name="counterfoil",
        entries=entries,
        help="Schemas, contracts and bridges of event streams: propose, check, serve, migrate.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    return click.version_option(version, prog_name="counterfoil")(table)


class CommandTable(click.Group):
    """A click group that finds its commands in entry points and imports each one when it is asked for."""

    def __init__(self, *, entries: Iterable[CommandEntry], **settings: Any) -> None:
        super().__init__(**settings)
        self._entry_by_name = {entry.name: entry for entry in entries}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all sub-commands, sorted; nothing is imported."""
        del ctx
        return sorted(self._entry_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The sub-command, imported now; one whose extra is absent says so when called, and in its help line."""
        del ctx
        entry = self._entry_by_name.get(cmd_name)
        if entry is None:
            return None
        try:
            command: click.Command = entry.load()
        except ModuleNotFoundError as missing:
            return _stand_in(cmd_name, _absent(entry, missing))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, each with its line; none is imported whose line its entry gives."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summary(ctx, name)) for name in self.list_commands(ctx)])

    def _summary(self, ctx: click.Context, name: str) -> str:
        try:
            summary = self._entry_by_name[name].summary()
        except ModuleNotFoundError:
            summary = None
        if summary is not None:
            return summary
        command = self.get_command(ctx, name)
        return command.get_short_help_str() if command else ""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The sub-command that ``args`` begin with; for a name that there is not, an error with those like it."""
        is_name = not args[0].startswith("-") and not ctx.resilient_parsing
        if is_name and args[0] not in self._entry_by_name:
            from difflib import get_close_matches

            like = " or ".join(repr(each) for each in get_close_matches(args[0], self.list_commands(ctx)))
            ctx.fail(f"No such command {args[0]!r}.{f' Did you mean {like}?' if like else ''}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """What the sub-command returns; a module that is not installed becomes a sentence that names its extra."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as missing:
            entry = self._entry_by_name[str(ctx.invoked_subcommand)]
            raise _absent(entry, missing) from missing


def _absent(entry: CommandEntry, missing: ModuleNotFoundError) -> ModuleNotFoundError | MissingExtra:
    """The error to raise for a module that is not there: ours to repair, unless an extra of the command brings it."""
    from counterfoil.schema.errors import MissingExtra

    module = missing.name or ""
    if not entry.extra or module.partition(".")[0] == DISTRIBUTION:
        return missing
    return MissingExtra(entry.name, module=module, extra=entry.extra)


def _stand_in(name: str, problem: ModuleNotFoundError | MissingExtra) -> click.Command:
    """A command that takes any arguments and raises ``problem``."""

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
